// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The simulated GPU: warps with a stack of diverged lanes, CTAs, clusters, and a scheduler that picks warps at random.

#ifndef SPARSEC_TEST_SIMULATOR_MACHINE_H
#define SPARSEC_TEST_SIMULATOR_MACHINE_H

#include "memory.h"
#include "program.h"

#include <algorithm>
#include <deque>
#include <random>

namespace sparsec::simulator {

class Cta;
class Cluster;
class Machine;

/// Lanes of a warp that are at one instruction. The lanes of a branch that diverges meet again at `reconvergence`.
struct Frame {
  uint32_t pc = 0;
  uint32_t reconvergence = noTarget;
  uint32_t mask = 0;
  bool isCall = false;
};

/// The event that a warp waits for.
struct Wait {
  enum class Kind : uint8_t { nothing, mbarrier, barrier, clusterBarrier, warpgroup };
  Kind kind = Kind::nothing;
  SharedMemory *memory = nullptr; // of the mbarrier
  uint64_t address = 0;           // of the mbarrier; the number of a named barrier
  uint64_t generation = 0;        // of a barrier; the parity of an mbarrier; the groups of a warpgroup
};

/// A group of asynchronous operations: copies by cp.async of a warp, or bulk copies of one thread.
struct AsyncGroup {
  int lane = 0;
  std::vector<Mark> marks;
  struct Write {
    Mark mark;
    uint32_t thread;
  };
  std::vector<Write> writes; // of cp.async: who is the writer when the copy arrives
  int line = 0;
};

/// The registers of a warp that WGMMA still uses.
enum class RegisterUse : uint8_t { none, accumulator, operand };

struct UsedRegister {
  Place place;
  RegisterUse use;
};

struct WgmmaGroup {
  uint64_t number = 0;
  std::vector<UsedRegister> registers;
};

class Warp {
public:
  Warp(Cta &cta, unsigned index);

  /// The lanes of a place.
  template <class T = uint32_t> T *at(Place place) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    return reinterpret_cast<T *>(place >= 0 ? registers.data() + size_t(place) * lanesOfWarp
                                            : const_cast<uint32_t *>(constants) + size_t(~place) * lanesOfWarp);
  }
  uint32_t predicate(Place place) { return *at(place); }
  void setPredicate(Place place, uint32_t mask, uint32_t value) {
    uint32_t &bits = *at(place);
    bits = (bits & ~mask) | (value & mask);
  }
  /// An address of one lane, with its offset.
  uint64_t addressOf(const Address &address, int lane) {
    return address.isWide ? at<uint64_t>(address.base)[lane] + uint64_t(address.offset)
                          : uint64_t(at(address.base)[lane] + uint32_t(address.offset));
  }

  /// Executes up to `budget` instructions, less if it has to wait.
  void run(int budget);
  bool isDone() const { return frames.empty(); }
  bool isReady() const;
  int line() const;

  // For handlers.
  void jump(const Instruction &branch, uint32_t taken);
  void call(uint32_t target, uint32_t mask);
  void leave(uint32_t mask);
  /// Waits behind the instruction.
  void block(const Wait &what) { wait = what; }
  /// Waits, and executes the instruction again then.
  void blockAndRepeat(const Wait &what) {
    wait = what;
    next = frames.back().pc;
  }
  void requireAllLanes(uint32_t mask) const;
  /// The lane writes or copies global memory: a kernel that may start early has waited for the one in front of it.
  void requireBehindFront(int lane) const;
  void requireLanes(uint32_t wanted, uint32_t mask) const;
  uint32_t threadOf(int lane) const { return index * lanesOfWarp + uint32_t(lane); }
  uint8_t *localMemory(int lane, uint64_t address, uint64_t bytes);

  Cta &cta;
  const unsigned index;
  uint32_t live = allLanes;
  uint32_t behindFront = 0; // lanes that have executed griddepcontrol.wait
  uint32_t next = 0;        // the instruction after this one
  Wait wait;
  int currentLane = -1; // of an access, for reports

  std::vector<AsyncGroup> openCopies, copyGroups; // cp.async: not committed, committed
  std::vector<AsyncGroup> openBulk, bulkGroups;   // bulk stores

  // WGMMA
  std::vector<RegisterUse> uses;    // of every place; empty in programs without WGMMA
  std::vector<uint32_t> accessedAt; // of every place: `fences` at the last access by an ordinary instruction
  uint32_t fences = 1;
  std::vector<UsedRegister> openRegisters;
  std::deque<WgmmaGroup> wgmmaGroups;
  uint64_t clusterGeneration = 0;
  bool hasArrivedAtCluster = false;
  bool mustCheckRegisters = false;

private:
  void checkRegisters(const Instruction &instruction);
  void noteAccesses(const Instruction &instruction);
  void dropEmptyFrames();

  std::vector<uint32_t> registers;
  const uint32_t *constants;
  const Instruction *code;
  std::vector<Frame> frames;
  std::vector<uint8_t> local;
};

struct NamedBarrier {
  unsigned arrived = 0, expected = 0;
  uint64_t generation = 0;
};

/// Four warps that issue WGMMA together.
struct Warpgroup {
  uint64_t committed[4] = {};
  struct Group {
    uint64_t number = 0;
    std::vector<Mark> marks;
  };
  std::deque<Group> groups;
  std::vector<Mark> openMarks[4];
  // The instructions of the warp that is ahead, for the others to agree with.
  struct Issue {
    int line;
    uint64_t a, b;
  };
  std::deque<Issue> issues;
  uint64_t firstIssue = 0, issued[4] = {};

  uint64_t completed() const { return std::min({committed[0], committed[1], committed[2], committed[3]}); }
};

class Cta {
public:
  Cta(Cluster &cluster, unsigned rank, unsigned number);

  /// The threads of a warp have ended.
  void warpDone();
  void arrive(Warp &warp, unsigned barrier, unsigned threads, bool waits);
  bool isDone() const { return liveWarps == 0; }

  Cluster &cluster;
  const unsigned rank, number;
  SharedMemory shared;
  std::array<NamedBarrier, 16> barriers;
  std::vector<uint32_t> proxyFences; // of every thread
  std::vector<Warpgroup> warpgroups;
  std::vector<std::unique_ptr<Warp>> warps;
  unsigned liveWarps = 0;
  unsigned copiesOnTheWay = 0; // to its shared memory, that an mbarrier waits for

private:
  void completeBarrierOfAll(unsigned barrier);
};

/// The copies of a group by cp.async are there.
void completeWrites(Cta &cta, const std::vector<AsyncGroup::Write> &writes, std::vector<Mark> &marks);

class Cluster {
public:
  Cluster(Machine &machine, unsigned number);

  SharedMemory &sharedOf(unsigned rank);
  /// The shared memory that an address of a CTA means, and the address in it.
  std::pair<SharedMemory *, uint64_t> resolve(Cta &cta, uint64_t address, Space space);
  void arrive(Warp &warp, uint32_t mask);
  void completeBarrier();
  bool isDone() const;

  Machine &machine;
  const unsigned number;
  std::vector<std::unique_ptr<Cta>> ctas;
  unsigned arrived = 0;
  uint64_t generation = 0;
};

struct Launch {
  const Program *program = nullptr;
  const KernelProgram *kernel = nullptr;
  std::array<unsigned, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint64_t dynamicShared = 0;
  std::span<uint8_t> parameters;
};

/// A tensor copy whose bytes have not arrived, or copies by cp.async of threads that arrive at an mbarrier with them.
struct CopyOnTheWay {
  uint64_t due = 0; // in turns of the scheduler
  Cta *cta = nullptr;
  uint64_t barrier = 0;
  int64_t bytes = 0;
  std::vector<Mark> marks;
  std::vector<AsyncGroup::Write> writes = {};
  int64_t arrivals = 0;
  int line = 0;
};

class Machine {
public:
  Machine(DeviceMemory &memory, uint64_t seed) : memory(memory), random(seed) {}

  /// Throws SimulationError with a report of where, or of all warps if none can move.
  void run(const Launch &launch);

  void send(CopyOnTheWay copy);
  void completeTransaction(SharedMemory &shared, uint64_t barrier, int64_t bytes);
  void arriveAt(SharedMemory &shared, uint64_t address, int64_t count);
  uint32_t pick(uint32_t below) { return uint32_t(random() % below); }

  DeviceMemory &memory;
  Launch launch;
  DeviceMemory::Allocation recent; // the allocation of the last access

private:
  void admit();
  bool runOne();
  void deliver(size_t index);
  void deliverDue();
  void retire();
  [[noreturn]] void reportDeadlock();
  std::string textOf(const Warp &warp) const;
  std::string describe(const Warp &warp) const;

  std::mt19937_64 random;
  std::vector<std::unique_ptr<Cluster>> residents;
  std::vector<Warp *> warps;
  unsigned admitted = 0;
  std::vector<CopyOnTheWay> copies;
  uint64_t turn = 0;
};

} // namespace sparsec::simulator

#endif // SPARSEC_TEST_SIMULATOR_MACHINE_H
