// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Branches, calls, exchanges between the lanes of a warp, and settings without an effect here.

#include "access.h"
#include "decoder.h"

#include <cstring>
#include <fmt/format.h>

namespace sparsec::simulator {

namespace {

void branch(Warp &warp, const Instruction &i, uint32_t mask) { warp.jump(i, mask); }

/// One of several targets. The switches of the compiler depend on values of the whole warp.
void branchIndexed(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint32_t *index = warp.at(i.at[0]), chosen = index[std::countr_zero(mask)];
  if (chosen >= i.list.size())
    throw SimulationError(fmt::format("branches to target {} of {}", chosen, i.list.size()));
  forLanes(mask, [&](int lane) {
    if (index[lane] != chosen)
      throw SimulationError("diverges at a branch with several targets, which is not known here");
  });
  warp.next = uint32_t(i.list[chosen]);
}

/// Launches follow one another here: what a kernel waits for is there. Lanes that have not waited must not rely on it.
void waitForFront(Warp &warp, const Instruction &, uint32_t mask) { warp.behindFront |= mask; }

void leave(Warp &warp, const Instruction &, uint32_t mask) { warp.leave(mask); }
void trap(Warp &, const Instruction &, uint32_t) { throw SimulationError("executes trap"); }

/// The arguments lie in the list as triples: from, to, bytes; the results behind them, in `count` triples.
void copyLocal(Warp &warp, const Instruction &i, size_t first, size_t last, uint32_t mask) {
  for (size_t k = first; k < last; ++k)
    forLanes(mask, [&](int lane) {
      const auto bytes = uint64_t(i.list[3 * k + 2]);
      std::memcpy(warp.localMemory(lane, uint64_t(i.list[3 * k + 1]), bytes),
                  warp.localMemory(lane, uint64_t(i.list[3 * k]), bytes), bytes);
    });
}

void call(Warp &warp, const Instruction &i, uint32_t mask) {
  copyLocal(warp, i, 0, i.list.size() / 3, mask);
  warp.call(i.target, mask);
}

/// Stands behind a call: what the function stored as results goes to the caller's variables.
void takeResults(Warp &warp, const Instruction &i, uint32_t mask) { copyLocal(warp, i, 0, i.list.size() / 3, mask); }

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

enum Shuffle : uint32_t { idx, bfly, up, down };

/// The source of a lane, and whether it is in the range that c describes.
std::pair<int, bool> shuffleSource(uint32_t kind, int lane, uint32_t b, uint32_t c) {
  const int segment = int(c >> 8 & 31), clamp = int(c & 31), by = int(b & 31);
  const int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
  int source = lane;
  bool isInside = true;
  switch (kind) {
  case idx:
    source = least | (by & ~segment);
    isInside = source <= most;
    break;
  case bfly:
    source = lane ^ by;
    isInside = source <= most;
    break;
  case up:
    source = lane - by;
    isInside = source >= most;
    break;
  default:
    source = lane + by;
    isInside = source <= most;
    break;
  }
  return {isInside ? source : lane, isInside};
}

void shuffle(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint32_t *a = warp.at(i.at[2]), *b = warp.at(i.at[3]), *c = warp.at(i.at[4]);
  warp.requireLanes(warp.at(i.at[5])[std::countr_zero(mask)], mask);
  std::array<uint32_t, lanesOfWarp> result;
  uint32_t inside = 0;
  forLanes(mask, [&](int lane) {
    const auto [source, isInside] = shuffleSource(i.flags, lane, b[lane], c[lane]);
    if (!(mask >> source & 1))
      throw SimulationError(fmt::format("lane {} takes a value of lane {}, which does not take part", lane, source));
    result[size_t(lane)] = a[source];
    inside |= uint32_t(isInside) << lane;
  });
  uint32_t *d = warp.at(i.at[0]);
  forLanes(mask, [&](int lane) { d[lane] = result[size_t(lane)]; });
  warp.setPredicate(i.at[1], mask, inside);
}

enum Vote : uint32_t { all, any, uniform, ballot };

void vote(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.requireLanes(warp.at(i.at[2])[std::countr_zero(mask)], mask);
  const uint32_t votes = warp.predicate(i.at[1]) & mask;
  if (i.flags == ballot) {
    uint32_t *d = warp.at(i.at[0]);
    forLanes(mask, [=](int lane) { d[lane] = votes; });
    return;
  }
  const bool isAll = votes == mask, isAny = votes != 0;
  const bool result = i.flags == all ? isAll : i.flags == any ? isAny : isAll || !isAny;
  warp.setPredicate(i.at[0], mask, result ? allLanes : 0);
}

enum Reduction : uint32_t { sum, least, most, conjunction, disjunction, exclusive };

template <class T> T reduce(uint32_t kind, T a, T b) {
  switch (kind) {
  case sum:
    return T(uint32_t(a) + uint32_t(b));
  case least:
    return std::min(a, b);
  case most:
    return std::max(a, b);
  case conjunction:
    return a & b;
  case disjunction:
    return a | b;
  default:
    return a ^ b;
  }
}

template <class T> void reduceLanes(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.requireLanes(warp.at(i.at[2])[std::countr_zero(mask)], mask);
  const T *a = warp.at<T>(i.at[1]);
  T result = a[std::countr_zero(mask)];
  forLanes(mask & (mask - 1), [&](int lane) { result = reduce(i.flags, result, a[lane]); });
  T *d = warp.at<T>(i.at[0]);
  forLanes(mask, [=](int lane) { d[lane] = result; });
}

void elect(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.requireLanes(warp.at(i.at[2])[std::countr_zero(mask)], mask);
  const int leader = std::countr_zero(mask);
  uint32_t *d = warp.at(i.at[0]);
  forLanes(mask, [=](int lane) { d[lane] = uint32_t(leader); });
  warp.setPredicate(i.at[1], mask, 1u << leader);
}

void synchronizeWarp(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.requireLanes(warp.at(i.at[0])[std::countr_zero(mask)], mask);
}

void setRegisters(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.requireAllLanes(mask);
  if (i.immediate < 24 || i.immediate > 256 || i.immediate % 8 != 0)
    throw SimulationError(fmt::format("sets {} registers, not a multiple of 8 from 24 to 256", i.immediate));
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

bool decodeCall(Decoder &d) {
  d.take("uni");
  std::vector<Variable> results, arguments;
  if (d.peek().kind == ParsedOperand::Kind::vector)
    results = d.variableList();
  const std::string callee = d.peek().text;
  d.out.target = d.label();
  if (d.operandsLeft() != 0)
    arguments = d.variableList();
  // Results come first in the names of a function.
  for (size_t k = 0; k < arguments.size(); ++k) {
    const Variable to = d.variableNamed(fmt::format("{}:{}", callee, results.size() + k));
    for (uint64_t value : {arguments[k].address, to.address, to.bytes})
      d.out.list.push_back(Place(value));
  }
  d.finish(call);
  if (results.empty())
    return true;
  Instruction &take = d.follow();
  for (size_t k = 0; k < results.size(); ++k) {
    const Variable from = d.variableNamed(fmt::format("{}:{}", callee, k));
    for (uint64_t value : {from.address, results[k].address, from.bytes})
      take.list.push_back(Place(value));
  }
  take.run = takeResults;
  return true;
}

bool decodeShuffle(Decoder &d) {
  d.require("sync");
  constexpr std::pair<std::string_view, uint32_t> kinds[] = {{"idx", idx}, {"bfly", bfly}, {"up", up}, {"down", down}};
  bool isKnown = false;
  for (const auto &[name, kind] : kinds)
    if (d.take(name)) {
      d.out.flags = kind;
      isKnown = true;
    }
  if (!isKnown)
    d.fail("expects idx, bfly, up or down");
  d.require("b32");
  if (d.peek().kind == ParsedOperand::Kind::pair)
    std::tie(d.out.at[0], d.out.at[1]) = d.registerAndPredicate(Type::b32);
  else
    d.out.at = {d.destination(Type::b32), Place(SpecialRegister::count) + 1};
  for (int k = 2; k < 6; ++k)
    d.out.at[size_t(k)] = d.source(Type::u32);
  return d.finish(shuffle), true;
}

bool decodeVote(Decoder &d) {
  d.require("sync");
  constexpr std::pair<std::string_view, uint32_t> kinds[] = {
      {"all", all}, {"any", any}, {"uni", uniform}, {"ballot", ballot}};
  for (const auto &[name, kind] : kinds)
    if (d.take(name))
      d.out.flags = kind;
  const Type type = d.takeType();
  d.out.at = {d.destination(type), d.predicate(), d.source(Type::u32)};
  return d.finish(vote), true;
}

bool decodeReduction(Decoder &d) {
  d.require("sync");
  constexpr std::pair<std::string_view, uint32_t> kinds[] = {
      {"add", sum}, {"min", least}, {"max", most}, {"and", conjunction}, {"or", disjunction}, {"xor", exclusive}};
  for (const auto &[name, kind] : kinds)
    if (d.take(name))
      d.out.flags = kind;
  const Type type = d.takeType();
  d.out.at = {d.destination(type), d.source(type), d.source(Type::u32)};
  return d.finish(isSigned(type) ? reduceLanes<int32_t> : reduceLanes<uint32_t>), true;
}

} // namespace

bool isBranch(const Instruction &instruction) { return instruction.run == branch; }
bool isWaitForFront(const Instruction &instruction) { return instruction.run == waitForFront; }
bool isIndexedBranch(const Instruction &instruction) { return instruction.run == branchIndexed; }
bool isReturn(const Instruction &instruction) { return instruction.run == leave; }

bool decodeControl(Decoder &d) {
  const std::string &name = d.name();
  if (name == "bra") {
    d.take("uni");
    d.out.target = d.label();
    return d.finish(branch), true;
  }
  if (name == "brx") {
    d.require("idx");
    d.take("uni");
    d.out.at[0] = d.source(Type::u32);
    d.labelList();
    return d.finish(branchIndexed), true;
  }
  if (name == "ret" || name == "exit") {
    d.take("uni");
    return d.finish(leave), true;
  }
  if (name == "call")
    return decodeCall(d);
  if (name == "trap")
    return d.finish(trap), true;
  if (name == "shfl")
    return decodeShuffle(d);
  if (name == "vote")
    return decodeVote(d);
  if (name == "redux")
    return decodeReduction(d);
  if (name == "elect") {
    d.require("sync");
    std::tie(d.out.at[0], d.out.at[1]) = d.registerAndPredicate(Type::b32);
    d.out.at[2] = d.source(Type::u32);
    return d.finish(elect), true;
  }
  if (name == "bar" && d.take("warp")) {
    d.require("sync");
    d.out.at[0] = d.source(Type::u32);
    return d.finish(synchronizeWarp), true;
  }
  if (name == "setmaxnreg") {
    if (!d.take("inc"))
      d.require("dec");
    for (const char *modifier : {"sync", "aligned", "u32"})
      d.require(modifier);
    d.out.immediate = d.immediate();
    return d.finish(setRegisters), true;
  }
  if (name == "griddepcontrol") {
    if (d.take("wait"))
      return d.finish(waitForFront), true;
    d.require("launch_dependents");
    return d.finish(nothing), true;
  }
  if (name == "nanosleep") {
    d.require("u32");
    d.out.at[0] = d.source(Type::u32);
    return d.finish(nothing), true;
  }
  return false;
}

} // namespace sparsec::simulator
