// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "machine.h"

#include <algorithm>
#include <fmt/format.h>

namespace sparsec::simulator {

namespace {

template <class Value> void fill(Value *lanes, const Value &value) { std::fill_n(lanes, lanesOfWarp, value); }

} // namespace

Warp::Warp(Cta &cta, unsigned index) : cta(cta), index(index) {
  const Launch &launch = cta.cluster.machine.launch;
  const Program &program = *launch.program;
  // Registers that nothing has written hold what a float calculation shows.
  registers.assign(size_t(program.registerUnits) * lanesOfWarp, 0xffffffff);
  local.assign(program.localBytes * lanesOfWarp, 0xff);
  constants = program.constants.data();
  code = program.code.data();
  if (program.usesWgmma) {
    uses.assign(size_t(program.registerUnits), RegisterUse::none);
    accessedAt.assign(size_t(program.registerUnits), 0);
  }
  const auto &[gridX, gridY, gridZ] = launch.grid;
  const auto &[blockX, blockY, blockZ] = launch.block;
  const unsigned threads = blockX * blockY * blockZ, first = index * lanesOfWarp;
  live = threads - first >= unsigned(lanesOfWarp) ? allLanes : (1u << (threads - first)) - 1;
  frames.push_back({launch.kernel->begin, noTarget, live, false});

  auto set = [&](SpecialRegister name, uint32_t value) { fill(at(Place(name)), value); };
  using enum SpecialRegister;
  const unsigned cluster = unsigned(cta.cluster.ctas.capacity());
  set(ntidX, blockX), set(ntidY, blockY), set(ntidZ, blockZ);
  set(ctaidX, cta.number % gridX), set(ctaidY, cta.number / gridX % gridY), set(ctaidZ, cta.number / gridX / gridY);
  set(nctaidX, gridX), set(nctaidY, gridY), set(nctaidZ, gridZ);
  set(warpid, index), set(nwarpid, (threads + lanesOfWarp - 1) / lanesOfWarp);
  set(clusterRank, cta.rank), set(clusterSize, cluster), set(clusterCtaidX, cta.rank);
  set(clusterIdX, cta.cluster.number), set(clusterCount, gridX * gridY * gridZ / cluster);
  set(dynamicSharedBytes, uint32_t(launch.dynamicShared));
  for (int lane = 0; lane < lanesOfWarp; ++lane) {
    const uint32_t thread = threadOf(lane), before = (uint32_t(1) << lane) - 1;
    at(Place(tidX))[lane] = thread % blockX;
    at(Place(tidY))[lane] = thread / blockX % blockY;
    at(Place(tidZ))[lane] = thread / blockX / blockY;
    at(Place(laneid))[lane] = uint32_t(lane);
    at(Place(laneMaskEq))[lane] = before + 1;
    at(Place(laneMaskLt))[lane] = before;
    at(Place(laneMaskLe))[lane] = before | (before + 1);
    at(Place(laneMaskGe))[lane] = ~before;
    at(Place(laneMaskGt))[lane] = ~(before | (before + 1));
  }
}

void Warp::run(int budget) {
  const bool tracksAccesses = !accessedAt.empty();
  wait.kind = Wait::Kind::nothing;
  while (budget-- > 0 && !frames.empty() && wait.kind == Wait::Kind::nothing) {
    const uint32_t pc = frames.back().pc;
    const Instruction &instruction = code[pc];
    uint32_t mask = frames.back().mask;
    if (instruction.hasGuard)
      mask &= instruction.isGuardNegated ? ~predicate(instruction.guard) : predicate(instruction.guard);
    next = pc + 1;
    if (mask != 0) {
      if (mustCheckRegisters)
        checkRegisters(instruction);
      instruction.run(*this, instruction, mask);
      if (tracksAccesses)
        noteAccesses(instruction);
    }
    if (frames.empty())
      break;
    frames.back().pc = next;
    while (frames.size() > 1 && frames.back().pc == frames.back().reconvergence) {
      frames.pop_back();
      next = frames.back().pc;
    }
  }
  if (frames.empty())
    cta.warpDone();
}

bool Warp::isReady() const {
  switch (wait.kind) {
  case Wait::Kind::nothing:
    return true;
  case Wait::Kind::mbarrier:
    return (wait.memory->barrier(wait.address).phase & 1) != wait.generation;
  case Wait::Kind::barrier:
    return cta.barriers[wait.address].generation != wait.generation;
  case Wait::Kind::clusterBarrier:
    return cta.cluster.generation != wait.generation;
  case Wait::Kind::warpgroup:
    return cta.warpgroups[index / 4].completed() >= wait.generation;
  }
  return true;
}

int Warp::line() const {
  if (frames.empty())
    return 0;
  // A warp that waits behind its instruction waits for that one.
  const uint32_t pc = frames.back().pc;
  return code[wait.kind == Wait::Kind::barrier && pc > 0 ? pc - 1 : pc].line;
}

void Warp::jump(const Instruction &branch, uint32_t taken) {
  Frame &top = frames.back();
  if (taken == top.mask) {
    next = branch.target;
    return;
  }
  const uint32_t others = top.mask & ~taken;
  if (branch.reconvergence == noTarget) {
    // The lanes meet only at the end: two frames take the place of this one.
    const Frame whole = top;
    top.mask = others;
    top.pc = next;
    frames.push_back({branch.target, whole.reconvergence, taken, false});
    if (whole.isCall)
      throw SimulationError("diverges in a function without a place where the lanes meet again");
  } else {
    const uint32_t through = next;
    top.pc = branch.reconvergence;
    frames.push_back({through, branch.reconvergence, others, false});
    frames.push_back({branch.target, branch.reconvergence, taken, false});
  }
  next = branch.target;
}

void Warp::call(uint32_t target, uint32_t mask) {
  if (mask != frames.back().mask)
    throw SimulationError("calls a function from some of the lanes by a guard");
  frames.back().pc = next;
  frames.push_back({target, noTarget, mask, true});
  next = target;
}

void Warp::leave(uint32_t mask) {
  size_t base = frames.size();
  while (base-- > 0) {
    const bool isCall = frames[base].isCall;
    frames[base].mask &= ~mask;
    if (isCall)
      break;
  }
  const bool endsThreads = base == size_t(-1);
  if (endsThreads)
    live &= ~mask;
  frames.back().pc = next;
  dropEmptyFrames();
  if (!frames.empty())
    next = frames.back().pc;
}

void Warp::dropEmptyFrames() {
  while (!frames.empty() && frames.back().mask == 0)
    frames.pop_back();
}

void Warp::requireAllLanes(uint32_t mask) const {
  if (mask != live)
    throw SimulationError(
        fmt::format("an .aligned instruction is executed by the lanes {:#010x} of {:#010x}", mask, live));
}

void Warp::requireBehindFront(int lane) const {
  if (cta.cluster.machine.launch.kernel->waitsForFront && (behindFront >> lane & 1) == 0)
    throw SimulationError("touches global memory before griddepcontrol.wait, although the kernel has one");
}

void Warp::requireLanes(uint32_t wanted, uint32_t mask) const {
  if ((wanted & live & ~mask) != 0 || (mask & ~wanted) != 0)
    throw SimulationError(
        fmt::format("the member mask is {:#010x}, but the lanes {:#010x} of {:#010x} are here", wanted, mask, live));
}

uint8_t *Warp::localMemory(int lane, uint64_t address, uint64_t bytes) {
  const uint64_t size = local.size() / lanesOfWarp;
  if (address + bytes > size)
    throw SimulationError(
        fmt::format("touches {} bytes of local memory at {:#x}, but a thread has {} bytes", bytes, address, size));
  return local.data() + uint64_t(lane) * size + address;
}

void Warp::checkRegisters(const Instruction &instruction) {
  for (Place place : instruction.writes)
    if (uses[size_t(place)] != RegisterUse::none)
      throw SimulationError(uses[size_t(place)] == RegisterUse::accumulator
                                ? "writes a register to which a WGMMA that is not waited for still adds"
                                : "writes a register that a WGMMA that is not waited for still reads");
  for (Place place : instruction.reads)
    if (place >= 0 && uses[size_t(place)] == RegisterUse::accumulator)
      throw SimulationError("reads a register to which a WGMMA that is not waited for still adds");
}

/// A copy is as old as what it copies: the compiler places copies of accumulators behind the fence, and ptxas makes one
/// register of both.
void Warp::noteAccesses(const Instruction &instruction) {
  if (instruction.isCopy) {
    accessedAt[size_t(instruction.at[0])] = accessedAt[size_t(instruction.at[1])];
    return;
  }
  for (const std::vector<Place> *places : {&instruction.reads, &instruction.writes})
    for (Place place : *places)
      if (place >= 0)
        accessedAt[size_t(place)] = fences;
}

} // namespace sparsec::simulator
