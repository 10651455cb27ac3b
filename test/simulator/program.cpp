// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.h"
#include "decoder.h"
#include "memory.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace sparsec::simulator {

namespace {

constexpr std::pair<std::string_view, SpecialRegister> specialRegisters[] = {
    {"%tid.x", SpecialRegister::tidX},
    {"%tid.y", SpecialRegister::tidY},
    {"%tid.z", SpecialRegister::tidZ},
    {"%ntid.x", SpecialRegister::ntidX},
    {"%ntid.y", SpecialRegister::ntidY},
    {"%ntid.z", SpecialRegister::ntidZ},
    {"%ctaid.x", SpecialRegister::ctaidX},
    {"%ctaid.y", SpecialRegister::ctaidY},
    {"%ctaid.z", SpecialRegister::ctaidZ},
    {"%nctaid.x", SpecialRegister::nctaidX},
    {"%nctaid.y", SpecialRegister::nctaidY},
    {"%nctaid.z", SpecialRegister::nctaidZ},
    {"%laneid", SpecialRegister::laneid},
    {"%warpid", SpecialRegister::warpid},
    {"%nwarpid", SpecialRegister::nwarpid},
    {"%lanemask_lt", SpecialRegister::laneMaskLt},
    {"%lanemask_le", SpecialRegister::laneMaskLe},
    {"%lanemask_gt", SpecialRegister::laneMaskGt},
    {"%lanemask_ge", SpecialRegister::laneMaskGe},
    {"%lanemask_eq", SpecialRegister::laneMaskEq},
    {"%cluster_ctarank", SpecialRegister::clusterRank},
    {"%cluster_nctarank", SpecialRegister::clusterSize},
    {"%cluster_ctaid.x", SpecialRegister::clusterCtaidX},
    {"%clusterid.x", SpecialRegister::clusterIdX},
    {"%nclusterid.x", SpecialRegister::clusterCount},
    {"%dynamic_smem_size", SpecialRegister::dynamicSharedBytes},
};

uint64_t alignUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

/// Decodes the functions of a module into one array of instructions.
class ModuleDecoder {
public:
  ModuleDecoder(const ParsedModule &module, Program &program) : module(module), program(program) {}

  void decode() {
    program.registerUnits = Place(SpecialRegister::count) + 2; // behind them the sinks
    for (const ParsedVariable &variable : module.variables)
      placeModuleVariable(variable);
    // Functions that are called come first, because calls name their parameters and their code.
    for (bool isEntry : {false, true})
      for (const ParsedFunction &function : module.functions)
        if (function.isEntry == isEntry)
          decodeFunction(function);
  }

private:
  void placeModuleVariable(const ParsedVariable &variable) {
    if (variable.space == Space::shared) {
      sharedVariables.push_back(&variable);
      return;
    }
    auto memory = std::make_unique<std::vector<uint8_t>>(variable.initial);
    memory->resize(std::max<uint64_t>(variable.bytes, variable.initial.size()) + variable.alignment);
    // Moved to its alignment.
    auto address = reinterpret_cast<uintptr_t>(memory->data());
    const uint64_t shift = alignUp(address, variable.alignment) - address;
    std::rotate(memory->begin(), memory->end() - int64_t(shift), memory->end());
    moduleNames[variable.name] = {variable.space, address + shift, variable.bytes};
    program.globalVariables[variable.name] = moduleNames[variable.name];
    program.globals.push_back(std::move(memory));
  }

  /// Static variables, then the one of open size.
  uint64_t placeShared(const ParsedFunction &function, Names &names) {
    uint64_t next = sharedBase;
    auto place = [&](const ParsedVariable &variable) {
      next = alignUp(next, variable.alignment);
      names.variables[variable.name] = {Space::shared, next, variable.bytes};
      next += variable.bytes;
    };
    for (const ParsedVariable *variable : sharedVariables)
      if (variable->bytes != 0)
        place(*variable);
    for (const ParsedVariable &variable : function.variables)
      if (variable.space == Space::shared)
        place(variable);
    for (const ParsedVariable *variable : sharedVariables)
      if (variable->bytes == 0)
        place(*variable);
    return next - sharedBase;
  }

  void placeLocal(const std::vector<ParsedVariable> &variables, Names &names) {
    for (const ParsedVariable &variable : variables)
      if (variable.space == Space::local) {
        program.localBytes = alignUp(program.localBytes, std::max(variable.alignment, 8u));
        names.variables[variable.name] = {Space::local, program.localBytes, variable.bytes};
        program.localBytes += variable.bytes;
      }
  }

  void placeParameters(const ParsedFunction &function, Names &names, KernelProgram &kernel) {
    for (const ParsedVariable &parameter : function.parameters) {
      kernel.parameterBytes = alignUp(kernel.parameterBytes, parameter.alignment);
      names.variables[parameter.name] = {Space::param, kernel.parameterBytes, parameter.bytes};
      kernel.parameterOffsets.push_back(kernel.parameterBytes);
      kernel.parameterBytes += parameter.bytes;
    }
    kernel.parameters = function.parameters;
  }

  void nameRegisters(const ParsedFunction &function, Names &names) {
    for (const auto &[name, place] : specialRegisters)
      names.registers.emplace(name, std::pair(Place(place), Type::u32));
    Place next = function.isEntry ? firstKernelRegister : program.registerUnits;
    for (const auto &[name, type] : function.registers) {
      names.registers[name] = {next, type};
      next += isWide(type) ? 2 : 1;
    }
    program.registerUnits = std::max(program.registerUnits, next);
    // Kernels share registers, but not with the functions that they may call.
    if (!function.isEntry)
      firstKernelRegister = next;
  }

  void decodeFunction(const ParsedFunction &function) {
    Names names;
    names.variables = moduleNames;
    firstKernelRegister = std::max(firstKernelRegister, Place(SpecialRegister::count) + 2);
    nameRegisters(function, names);
    KernelProgram kernel;
    kernel.name = function.name;
    kernel.begin = uint32_t(program.code.size());
    kernel.mostThreads = function.mostThreads;
    kernel.cluster = function.cluster;
    if (function.isEntry) {
      placeParameters(function, names, kernel);
      kernel.staticShared = placeShared(function, names);
    }
    placeLocal(function.results, names);
    placeLocal(function.parameters, names);
    placeLocal(function.variables, names);
    for (const auto &[label, index] : function.labels)
      names.labels[label] = kernel.begin + uint32_t(index);
    names.branchTargets = function.branchTargets;
    for (const auto &[called, begin] : functionStarts)
      names.labels[called] = begin;
    decodeBody(function, names);
    kernel.waitsForFront = std::any_of(program.code.begin() + kernel.begin, program.code.end(), isWaitForFront);
    if (!function.isEntry)
      publish(function, names, kernel.begin);
    else
      program.kernels.push_back(std::move(kernel));
  }

  /// The parts that calls need: the code, and the variables of results and parameters as NAME:i.
  void publish(const ParsedFunction &function, const Names &names, uint32_t begin) {
    functionStarts[function.name] = begin;
    size_t i = 0;
    for (const std::vector<ParsedVariable> *variables : {&function.results, &function.parameters})
      for (const ParsedVariable &variable : *variables)
        moduleNames[fmt::format("{}:{}", function.name, i++)] = names.variables.at(variable.name);
  }

  void decodeBody(const ParsedFunction &function, const Names &names) {
    constexpr bool (*families[])(Decoder &) = {decodeArithmetic, decodeLogic,   decodeComparison, decodeConversion,
                                               decodeMemory,     decodeControl, decodeBarrier,    decodeMatrix,
                                               decodeWgmma,      decodeAsync};
    const auto begin = uint32_t(program.code.size());
    // Where calls are there are more instructions than in the text: labels move.
    std::vector<uint32_t> positions;
    for (const ParsedInstruction &parsed : function.body) {
      positions.push_back(uint32_t(program.code.size()));
      Instruction instruction;
      Decoder decoder(parsed, names, program, instruction);
      if (std::none_of(std::begin(families), std::end(families), [&](auto decode) { return decode(decoder); }))
        decoder.fail("does not know this instruction");
      program.code.push_back(std::move(instruction));
      for (Instruction &follower : decoder.followers)
        program.code.push_back(std::move(follower));
    }
    positions.push_back(uint32_t(program.code.size()));
    for (uint32_t pc = begin; pc < program.code.size(); ++pc) {
      Instruction &instruction = program.code[pc];
      if (isBranch(instruction))
        instruction.target = positions[instruction.target - begin];
      if (isIndexedBranch(instruction))
        for (Place &target : instruction.list)
          target = Place(positions[uint32_t(target) - begin]);
    }
    findReconvergence(program.code, begin, uint32_t(program.code.size()));
  }

  const ParsedModule &module;
  Program &program;
  std::map<std::string, Variable> moduleNames;
  std::map<std::string, uint32_t> functionStarts;
  std::vector<const ParsedVariable *> sharedVariables;
  Place firstKernelRegister = 0;
};

} // namespace

Program::Program(std::string_view ptx) {
  ParsedModule module = parsePtx(ptx);
  target = module.target;
  ModuleDecoder(module, *this).decode();
  lines = std::move(module.lines);
}

const KernelProgram *Program::find(std::string_view name) const {
  auto found = std::find_if(kernels.begin(), kernels.end(), [&](const auto &kernel) { return kernel.name == name; });
  return found == kernels.end() ? nullptr : &*found;
}

std::string_view Program::textOfLine(int line) const {
  if (line < 1 || size_t(line) > lines.size())
    return "";
  std::string_view text = lines[size_t(line) - 1];
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

} // namespace sparsec::simulator
