// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "machine.h"

#include <algorithm>
#include <fmt/format.h>

namespace sparsec::simulator {

//===----------------------------------------------------------------------===//
// CTAs and clusters
//===----------------------------------------------------------------------===//

Cta::Cta(Cluster &cluster, unsigned rank, unsigned number)
    : cluster(cluster), rank(rank), number(number),
      shared(cluster.machine.launch.kernel->staticShared + cluster.machine.launch.dynamicShared) {
  const auto &block = cluster.machine.launch.block;
  const unsigned threads = block[0] * block[1] * block[2];
  liveWarps = (threads + lanesOfWarp - 1) / lanesOfWarp;
  proxyFences.assign(size_t(liveWarps) * lanesOfWarp, 0);
  warpgroups.resize((liveWarps + 3) / 4);
}

void Cta::warpDone() {
  --liveWarps;
  // A barrier of all threads does not wait for those that have ended.
  for (unsigned i = 0; i < barriers.size(); ++i)
    completeBarrierOfAll(i);
  cluster.completeBarrier();
}

void Cta::arrive(Warp &warp, unsigned number, unsigned threads, bool waits) {
  if (number >= barriers.size())
    throw SimulationError(fmt::format("uses barrier {}, but there are {}", number, barriers.size()));
  NamedBarrier &barrier = barriers[number];
  if (threads % lanesOfWarp != 0)
    throw SimulationError(fmt::format("barrier {} expects {} threads, not a multiple of a warp", number, threads));
  if (barrier.arrived != 0 && barrier.expected != threads)
    throw SimulationError(fmt::format("barrier {} expects {} threads here, but {} at the warp that came first", number,
                                      threads, barrier.expected));
  barrier.expected = threads;
  barrier.arrived += lanesOfWarp;
  const uint64_t generation = barrier.generation;
  if (threads != 0 && barrier.arrived == threads) {
    barrier.arrived = 0;
    ++barrier.generation;
  } else {
    completeBarrierOfAll(number);
  }
  if (waits && barrier.generation == generation)
    warp.block({Wait::Kind::barrier, nullptr, number, generation});
}

/// A barrier without a number of threads is complete when all warps that have not ended are there.
void Cta::completeBarrierOfAll(unsigned number) {
  NamedBarrier &barrier = barriers[number];
  if (barrier.arrived != 0 && barrier.expected == 0 && barrier.arrived >= liveWarps * lanesOfWarp) {
    barrier.arrived = 0;
    ++barrier.generation;
  }
}

Cluster::Cluster(Machine &machine, unsigned number) : machine(machine), number(number) {
  const unsigned size = machine.launch.kernel->cluster;
  ctas.reserve(size);
  for (unsigned rank = 0; rank < size; ++rank)
    ctas.push_back(std::make_unique<Cta>(*this, rank, number * size + rank));
  for (auto &cta : ctas)
    for (unsigned i = 0, count = cta->liveWarps; i < count; ++i)
      cta->warps.push_back(std::make_unique<Warp>(*cta, i));
}

SharedMemory &Cluster::sharedOf(unsigned rank) {
  if (rank >= ctas.size())
    throw SimulationError(fmt::format("names CTA {} of a cluster of {}", rank, ctas.size()));
  if (ctas[rank]->isDone())
    throw SimulationError(fmt::format("uses the shared memory of CTA {} of the cluster, which has ended", rank));
  return ctas[rank]->shared;
}

std::pair<SharedMemory *, uint64_t> Cluster::resolve(Cta &cta, uint64_t address, Space space) {
  const auto owner = unsigned(address >> rankShift);
  if (owner == 0)
    return {&cta.shared, address};
  if (space == Space::shared && owner - 1 != cta.rank)
    throw SimulationError(fmt::format("the address {:#x} is not in the shared memory of the CTA", address));
  return {&sharedOf(owner - 1), address & ((uint64_t(1) << rankShift) - 1)};
}

void Cluster::arrive(Warp &warp, uint32_t mask) {
  if (warp.hasArrivedAtCluster)
    throw SimulationError("arrives twice at the barrier of the cluster");
  warp.hasArrivedAtCluster = true;
  warp.clusterGeneration = generation;
  ++arrived;
  completeBarrier();
}

void Cluster::completeBarrier() {
  unsigned liveWarps = 0;
  for (const auto &cta : ctas)
    liveWarps += cta->liveWarps;
  if (arrived == 0 || arrived < liveWarps)
    return;
  arrived = 0;
  ++generation;
}

bool Cluster::isDone() const {
  return std::all_of(ctas.begin(), ctas.end(), [](const auto &cta) { return cta->isDone(); });
}

//===----------------------------------------------------------------------===//
// Scheduling
//===----------------------------------------------------------------------===//

namespace {

constexpr unsigned mostResidentCtas = 8;
/// Instructions that a warp executes in one turn, at most.
constexpr uint32_t longestTurn = 200;
/// The latest turn in which a copy arrives that does not wait until all warps wait.
constexpr uint32_t longestCopy = 60;
/// The turns after which any copy arrives: warps that poll memory never wait.
constexpr uint64_t longestDelay = uint64_t(1) << 14;

/// Checks the state that one warp leaves behind at its end.
void checkWarpAtEnd(const Warp &warp) {
  if (!warp.openBulk.empty() || !warp.bulkGroups.empty())
    for (const AsyncGroup &group : warp.openBulk.empty() ? warp.bulkGroups : warp.openBulk)
      if (!group.marks.empty())
        throw SimulationError(fmt::format("the thread ends while the bulk copy of PTX line {} may still read shared "
                                          "memory",
                                          group.line));
  if (!warp.openCopies.empty() || !warp.copyGroups.empty())
    for (const AsyncGroup &group : warp.openCopies.empty() ? warp.copyGroups : warp.openCopies)
      if (!group.marks.empty())
        throw SimulationError(
            fmt::format("the warp ends while the cp.async of PTX line {} is not waited for", group.line));
  if (!warp.wgmmaGroups.empty() || !warp.openRegisters.empty())
    throw SimulationError("the warp ends while a WGMMA is not waited for");
}

} // namespace

void Machine::run(const Launch &what) {
  launch = what;
  recent = {};
  admitted = 0;
  turn = 0;
  admit();
  while (!warps.empty())
    if (!runOne()) {
      if (copies.empty())
        reportDeadlock();
      deliver(pick(uint32_t(copies.size())));
    }
}

/// Makes as many clusters as fit.
void Machine::admit() {
  const unsigned size = launch.kernel->cluster, clusters = launch.grid[0] * launch.grid[1] * launch.grid[2] / size;
  const unsigned most = std::max(1u, mostResidentCtas / size);
  while (admitted < clusters && residents.size() < most) {
    residents.push_back(std::make_unique<Cluster>(*this, admitted++));
    for (const auto &cta : residents.back()->ctas)
      for (const auto &warp : cta->warps)
        warps.push_back(warp.get());
  }
}

/// Lets one warp run that is ready. False if there is none.
bool Machine::runOne() {
  ++turn;
  deliverDue();
  const auto count = uint32_t(warps.size()), first = pick(count);
  for (uint32_t i = 0; i < count; ++i) {
    Warp &warp = *warps[(first + i) % count];
    if (!warp.isReady())
      continue;
    try {
      warp.run(1 + int(pick(longestTurn)));
      if (warp.isDone())
        checkWarpAtEnd(warp);
    } catch (const SimulationError &error) {
      throw SimulationError(fmt::format("{}\n  at {}", error.what(), describe(warp)));
    }
    if (warp.isDone()) {
      std::erase(warps, &warp);
      retire();
    }
    return true;
  }
  return false;
}

void Machine::retire() {
  auto done = std::find_if(residents.begin(), residents.end(), [](const auto &cluster) { return cluster->isDone(); });
  if (done == residents.end())
    return;
  for (const auto &cta : (*done)->ctas)
    if (cta->copiesOnTheWay != 0)
      throw SimulationError(fmt::format("CTA {} ends while copies to its shared memory are on their way", cta->number));
  residents.erase(done);
  admit();
}

/// cp.async writes as the thread itself does: the async proxy sees the data after a fence.
void completeWrites(Cta &cta, const std::vector<AsyncGroup::Write> &writes, std::vector<Mark> &marks) {
  for (const AsyncGroup::Write &write : writes) {
    Granule &granule = write.mark.memory->granuleAt(write.mark.granule);
    granule.writerFences = cta.proxyFences[write.thread];
  }
  releaseWrites(marks);
}

void Machine::send(CopyOnTheWay copy) {
  // Half of the copies take as long as possible: they arrive when all warps wait. A warp that polls memory never waits.
  copy.due = turn + (pick(2) ? longestDelay : 1 + pick(longestCopy));
  ++copy.cta->copiesOnTheWay;
  copies.push_back(std::move(copy));
}

void Machine::deliverDue() {
  for (size_t i = copies.size(); i-- > 0;)
    if (copies[i].due <= turn)
      deliver(i);
}

void Machine::deliver(size_t index) {
  CopyOnTheWay copy = std::move(copies[index]);
  copies.erase(copies.begin() + int64_t(index));
  completeWrites(*copy.cta, copy.writes, copy.marks);
  --copy.cta->copiesOnTheWay;
  try {
    if (copy.arrivals > 0)
      arriveAt(copy.cta->shared, copy.barrier, copy.arrivals);
    else
      completeTransaction(copy.cta->shared, copy.barrier, -copy.bytes);
  } catch (const SimulationError &error) {
    throw SimulationError(fmt::format("{}\n  at the arrival of the copy of PTX line {}: {}", error.what(), copy.line,
                                      launch.program->textOfLine(copy.line)));
  }
}

void Machine::arriveAt(SharedMemory &shared, uint64_t address, int64_t count) {
  Mbarrier &barrier = shared.barrier(address);
  if (count < 1 || count > barrier.pending)
    throw SimulationError(fmt::format("arrives {} times at the mbarrier at {:#x}, whose phase {} expects {} of {} more",
                                      count, address, barrier.phase, barrier.pending, barrier.expected));
  barrier.pending -= count;
  completeTransaction(shared, address, 0);
}

/// Adds to the bytes that a phase expects, and completes the phase where nothing is left.
void Machine::completeTransaction(SharedMemory &shared, uint64_t address, int64_t bytes) {
  Mbarrier &barrier = shared.barrier(address);
  constexpr int64_t limit = (int64_t(1) << 20) - 1;
  barrier.bytes += bytes;
  if (barrier.bytes > limit || barrier.bytes < -limit)
    throw SimulationError(
        fmt::format("the mbarrier at {:#x} has {} bytes to come, more than it can count", address, barrier.bytes));
  if (barrier.pending == 0 && barrier.bytes == 0) {
    ++barrier.phase;
    barrier.pending = barrier.expected;
  }
}

/// "PTX line 12: add.s32 ...", shortened.
std::string Machine::textOf(const Warp &warp) const {
  constexpr size_t mostCharacters = 160;
  return fmt::format("PTX line {}: {}", warp.line(), launch.program->textOfLine(warp.line()).substr(0, mostCharacters));
}

std::string Machine::describe(const Warp &warp) const {
  std::string lane = warp.currentLane >= 0 ? fmt::format(", lane {}", warp.currentLane) : "";
  return fmt::format("{}\n  in kernel {}, CTA {}, warp {}{}", textOf(warp), launch.kernel->name, warp.cta.number,
                     warp.index, lane);
}

void Machine::reportDeadlock() {
  std::string report = "deadlock: no warp can go on\n";
  for (const Warp *warp : warps) {
    std::string what = "a barrier";
    if (warp->wait.kind == Wait::Kind::mbarrier) {
      const Mbarrier &barrier = warp->wait.memory->barrier(warp->wait.address);
      what = fmt::format("the mbarrier at {:#x}, parity {}: {} arrivals and {} bytes are missing in phase {}",
                         warp->wait.address, warp->wait.generation, barrier.pending, barrier.bytes, barrier.phase);
    } else if (warp->wait.kind == Wait::Kind::barrier) {
      const NamedBarrier &barrier = warp->cta.barriers[warp->wait.address];
      what =
          fmt::format("barrier {}: {} of {} threads are there", warp->wait.address, barrier.arrived, barrier.expected);
    } else if (warp->wait.kind == Wait::Kind::clusterBarrier) {
      what = "the barrier of the cluster";
    } else if (warp->wait.kind == Wait::Kind::warpgroup) {
      what = "the other warps of its warpgroup";
    }
    report +=
        fmt::format("  CTA {}, warp {}: waits for {}\n    at {}\n", warp->cta.number, warp->index, what, textOf(*warp));
  }
  throw SimulationError(fmt::format("{}  in kernel {}", report, launch.kernel->name));
}

} // namespace sparsec::simulator
