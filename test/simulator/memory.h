// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of the simulated device, and the shared memory of a CTA with what is known about every 16 bytes of it.

#ifndef SPARSEC_TEST_SIMULATOR_MEMORY_H
#define SPARSEC_TEST_SIMULATOR_MEMORY_H

#include "types.h"

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace sparsec::simulator {

/// Allocations of the host that kernels may touch. Addresses of the device are addresses of the host.
class DeviceMemory {
public:
  struct Allocation {
    uint64_t begin = 0, end = 0;
    bool isReadOnly = false;
  };

  void add(uint64_t begin, uint64_t bytes, bool isReadOnly = false) { all[begin] = {begin, begin + bytes, isReadOnly}; }
  bool remove(uint64_t begin) { return all.erase(begin) != 0; }
  /// The allocation that holds the address, or the one in front of it; null if there is none.
  const Allocation *find(uint64_t address) const;
  /// Throws SimulationError unless all of the bytes are in one allocation.
  void check(uint64_t address, uint64_t bytes, bool isWrite) const;

private:
  std::map<uint64_t, Allocation> all;
};

/// Where shared memory begins in its window: a GPU keeps the first KiB for itself.
inline constexpr uint32_t sharedBase = 1024;
/// Addresses of the shared memory of another CTA of the cluster have its rank + 1 from this bit on.
inline constexpr uint32_t rankShift = 24;
/// Generic addresses of shared and local memory.
inline constexpr uint64_t sharedWindow = uint64_t(1) << 60, localWindow = uint64_t(1) << 61;

/// The state of 16 bytes of shared memory.
struct Granule {
  uint16_t readers = 0;      // asynchronous operations that still read it
  uint16_t writers = 0;      // copies that have not arrived
  int32_t pendingLine = 0;   // the operation counted last
  uint32_t writer = 0;       // thread + 1 that wrote it by an ordinary instruction; 0: nobody since the async proxy
  uint32_t writerFences = 0; // proxy fences of this thread at that time
  int32_t writerLine = 0;
};
inline constexpr uint32_t granuleBytes = 16;

struct Mbarrier {
  uint32_t expected = 0;          // arrivals of a phase
  int64_t pending = 0;            // arrivals that are left in this phase
  int64_t bytes = 0;              // transactions that are announced and not here
  uint32_t phase = 0;             // phases that are complete
  bool isVisibleToCopies = false; // a fence followed the initialisation
};

class SharedMemory;

/// Granules that an asynchronous operation uses, in any CTA of the cluster.
struct Mark {
  SharedMemory *memory;
  uint32_t granule;
};

class SharedMemory {
public:
  explicit SharedMemory(uint64_t bytes);

  /// Null unless the bytes are inside.
  uint8_t *find(uint64_t address, uint64_t bytes) {
    return address >= sharedBase && address - sharedBase + bytes <= data.size() ? data.data() + (address - sharedBase)
                                                                                : nullptr;
  }
  uint8_t *get(uint64_t address, uint64_t bytes);
  Granule &granule(uint64_t address) { return granules[(address - sharedBase) / granuleBytes]; }
  Granule &granuleAt(uint32_t index) { return granules[index]; }

  /// The barrier at an address, which must have been initialised.
  Mbarrier &barrier(uint64_t address);
  /// Whether bytes touch an initialised barrier.
  bool hasBarrier(uint64_t address) const { return !barriers.empty() && barriers.contains(address / 8 * 8); }
  std::unordered_map<uint64_t, Mbarrier> barriers;

  // Accesses of asynchronous operations. The line is theirs.
  void checkAsyncRead(uint64_t address, std::span<const uint32_t> fencesOfThreads);
  void checkAsyncWrite(uint64_t address, std::span<const uint32_t> fencesOfThreads);
  void markRead(uint64_t address, int line, std::vector<Mark> &marks);
  void markWrite(uint64_t address, int line, std::vector<Mark> &marks);

private:
  std::vector<uint8_t> data;
  std::vector<Granule> granules;
};

void releaseReads(std::vector<Mark> &marks);
void releaseWrites(std::vector<Mark> &marks);

} // namespace sparsec::simulator

#endif // SPARSEC_TEST_SIMULATOR_MEMORY_H
