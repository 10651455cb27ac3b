// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decoder.h"

#include <algorithm>
#include <fmt/format.h>

namespace sparsec::simulator {

namespace {

/// Behind the special registers: what nothing reads.
constexpr Place sinkPlace = Place(SpecialRegister::count);

std::vector<std::string> splitAtDots(const std::string &opcode) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= opcode.size();) {
    const size_t end = std::min(opcode.find('.', begin), opcode.size());
    parts.push_back(opcode.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

} // namespace

Decoder::Decoder(const ParsedInstruction &parsed, const Names &names, Program &program, Instruction &out)
    : out(out), parsed(parsed), names(names), program(program), modifiers(splitAtDots(parsed.opcode)),
      taken(modifiers.size()) {
  taken[0] = true;
  out.line = parsed.line;
  if (parsed.guard.empty())
    return;
  auto found = names.registers.find(parsed.guard);
  if (found == names.registers.end() || found->second.second != Type::pred)
    fail(fmt::format("expects a predicate as guard, but got '{}'", parsed.guard));
  out.hasGuard = true;
  out.isGuardNegated = parsed.isGuardNegated;
  out.guard = found->second.first;
}

void Decoder::fail(const std::string &message) const {
  throw SimulationError(fmt::format("PTX line {}: '{}': {}", parsed.line, parsed.opcode, message));
}

bool Decoder::take(std::string_view modifier) {
  for (size_t i = 1; i < modifiers.size(); ++i)
    if (!taken[i] && modifiers[i] == modifier)
      return taken[i] = true;
  return false;
}

void Decoder::require(std::string_view modifier) {
  if (!take(modifier))
    fail(fmt::format("expects the modifier .{}", modifier));
}

std::string Decoder::takeNext() {
  for (size_t i = 1; i < modifiers.size(); ++i)
    if (!taken[i]) {
      taken[i] = true;
      return modifiers[i];
    }
  fail("expects one more modifier");
}

Type Decoder::takeType() {
  for (size_t i = 1; i < modifiers.size(); ++i)
    if (const std::optional<Type> type = typeNamed(modifiers[i]); !taken[i] && type) {
      taken[i] = true;
      return *type;
    }
  fail("expects a type");
}

Space Decoder::takeSpace() {
  constexpr std::pair<std::string_view, Space> spaces[] = {{"global", Space::global},
                                                           {"shared", Space::shared},
                                                           {"shared::cta", Space::shared},
                                                           {"local", Space::local},
                                                           {"shared::cluster", Space::sharedCluster},
                                                           {"param", Space::param},
                                                           {"const", Space::constant}};
  // The first of several counts: others say where a copy comes from.
  for (size_t i = 1; i < modifiers.size(); ++i)
    for (const auto &[text, space] : spaces)
      if (!taken[i] && modifiers[i] == text) {
        taken[i] = true;
        return space;
      }
  return Space::generic;
}

const ParsedOperand &Decoder::peek() const {
  if (nextOperand >= parsed.operands.size())
    fail("expects one more operand");
  return parsed.operands[nextOperand];
}

const ParsedOperand &Decoder::next() {
  const ParsedOperand &operand = peek();
  ++nextOperand;
  return operand;
}

uint64_t Decoder::immediateBits(const ParsedOperand &operand, Type type) const {
  if (operand.kind == ParsedOperand::Kind::integer)
    return operand.bits;
  if (type == Type::f64)
    return operand.isDouble ? operand.bits
                            : std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(operand.bits))));
  return operand.isDouble ? std::bit_cast<uint32_t>(float(std::bit_cast<double>(operand.bits))) : operand.bits;
}

Place Decoder::constant(uint64_t bits, Type type) {
  auto [known, isNew] = program.constantPlaces.try_emplace({bits, type});
  if (!isNew)
    return known->second;
  const auto unit = Place(program.constants.size() / lanesOfWarp);
  if (type == Type::pred) {
    program.constants.insert(program.constants.end(), lanesOfWarp, bits ? allLanes : 0);
  } else if (isWide(type)) {
    for (int lane = 0; lane < lanesOfWarp; ++lane) {
      program.constants.push_back(uint32_t(bits));
      program.constants.push_back(uint32_t(bits >> 32));
    }
  } else {
    program.constants.insert(program.constants.end(), lanesOfWarp, uint32_t(bits));
  }
  return known->second = ~unit;
}

Place Decoder::placeOf(const ParsedOperand &operand, Type type, bool isWritten) {
  using Kind = ParsedOperand::Kind;
  if (operand.kind == Kind::sink && isWritten)
    return sinkPlace;
  if (!isWritten && (operand.kind == Kind::integer || operand.kind == Kind::real))
    return constant(immediateBits(operand, type), type);
  if (operand.kind != Kind::name)
    fail("expects a register");
  if (auto found = names.registers.find(operand.text); found != names.registers.end()) {
    const auto [place, registerType] = found->second;
    if ((registerType == Type::pred) != (type == Type::pred))
      fail(fmt::format("'{}' is {}a predicate", operand.text, registerType == Type::pred ? "" : "not "));
    if (isWide(registerType) != isWide(type))
      fail(fmt::format("'{}' has not the width of the operand", operand.text));
    (isWritten ? out.writes : out.reads).push_back(place);
    return place;
  }
  if (auto found = names.variables.find(operand.text); !isWritten && found != names.variables.end())
    return constant(found->second.address + uint64_t(operand.offset), type);
  fail(fmt::format("does not know the name '{}'", operand.text));
}

bool Decoder::isWideRegister(const ParsedOperand &operand) const {
  auto found = names.registers.find(operand.text);
  return found != names.registers.end() && isWide(found->second.second);
}

Place Decoder::destination(Type type) { return placeOf(next(), type, /*isWritten=*/true); }
Place Decoder::source(Type type) { return placeOf(next(), type, /*isWritten=*/false); }

Place Decoder::predicate() {
  const ParsedOperand &operand = next();
  if (operand.isNegated)
    fail("does not know negated predicates here");
  return placeOf(operand, Type::pred, /*isWritten=*/false);
}

std::pair<Place, Place> Decoder::predicatePair() {
  const ParsedOperand &operand = next();
  if (operand.kind != ParsedOperand::Kind::pair)
    return {placeOf(operand, Type::pred, true), sinkPlace};
  return {placeOf(operand.parts[0], Type::pred, true), placeOf(operand.parts[1], Type::pred, true)};
}

std::pair<Place, Place> Decoder::registerAndPredicate(Type type) {
  const ParsedOperand &operand = next();
  if (operand.kind != ParsedOperand::Kind::pair)
    fail("expects a register and a predicate");
  return {placeOf(operand.parts[0], type, true), placeOf(operand.parts[1], Type::pred, true)};
}

void Decoder::address() {
  const ParsedOperand &operand = next();
  if (operand.kind != ParsedOperand::Kind::address)
    fail("expects an address");
  const ParsedOperand &base = operand.parts[0];
  Address &address = out.addresses.at(nextAddress++);
  address.offset = operand.offset;
  auto variable = names.variables.find(base.text);
  address.isWide = variable != names.variables.end() || isWideRegister(base);
  if (variable != names.variables.end()) {
    // Parameters of functions lie with the variables of the thread.
    if (out.space == Space::param)
      out.space = variable->second.space;
    address.base = constant(variable->second.address, Type::u64);
  } else {
    address.base = placeOf(base, address.isWide ? Type::u64 : Type::u32, false);
  }
  for (size_t i = 1; i < operand.parts.size(); ++i)
    out.list.push_back(placeOf(operand.parts[i], Type::s32, false));
}

void Decoder::destinations(Type type) {
  const ParsedOperand &operand = next();
  for (const ParsedOperand &part : operand.kind == ParsedOperand::Kind::vector ? operand.parts : std::vector{operand})
    out.list.push_back(placeOf(part, type, true));
}

void Decoder::sources(Type type) {
  const ParsedOperand &operand = next();
  for (const ParsedOperand &part : operand.kind == ParsedOperand::Kind::vector ? operand.parts : std::vector{operand})
    out.list.push_back(placeOf(part, type, false));
}

int64_t Decoder::immediate() {
  const ParsedOperand &operand = next();
  if (operand.kind != ParsedOperand::Kind::integer)
    fail("expects an immediate");
  return int64_t(operand.bits);
}

uint32_t Decoder::label() { return labelNamed(next().text); }

void Decoder::labelList() {
  auto targets = names.branchTargets.find(next().text);
  if (targets == names.branchTargets.end())
    fail("expects a list of targets");
  for (const std::string &target : targets->second)
    out.list.push_back(Place(labelNamed(target)));
}

uint32_t Decoder::labelNamed(const std::string &name) const {
  auto found = names.labels.find(name);
  if (found == names.labels.end())
    fail(fmt::format("does not know the label '{}'", name));
  return found->second;
}

Variable Decoder::variableNamed(const std::string &name) const {
  auto found = names.variables.find(name);
  if (found == names.variables.end())
    fail(fmt::format("does not know the variable '{}'", name));
  return found->second;
}

std::vector<Variable> Decoder::variableList() {
  std::vector<Variable> list;
  for (const ParsedOperand &part : next().parts)
    list.push_back(variableNamed(part.text));
  return list;
}

Instruction &Decoder::follow() {
  Instruction &follower = followers.emplace_back();
  follower.line = parsed.line;
  return follower;
}

void Decoder::finish(Handler handler) {
  for (size_t i = 0; i < modifiers.size(); ++i)
    if (!taken[i])
      fail(fmt::format("does not know the modifier .{}", modifiers[i]));
  if (nextOperand != parsed.operands.size())
    fail(fmt::format("expects {} operands, but got {}", nextOperand, parsed.operands.size()));
  out.run = handler;
}

} // namespace sparsec::simulator
