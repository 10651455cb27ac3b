// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where everything is in shared memory. One allocator serves the fit check, which asks it with the needs of a schedule,
// and the pass sparsec-assign-shared-memory, which asks it with the needs of a program.

#ifndef SPARSEC_COMPILER_SCHEDULE_SHAREDMEMORY_H
#define SPARSEC_COMPILER_SCHEDULE_SHAREDMEMORY_H

#include "Schedule.h"

#include <vector>

namespace sparsec {

/// A ring of slots between copies and products.
struct RingNeeds {
  int64_t slots = 0;
  std::vector<int64_t> bufferBytes; // of one slot, for each buffer
  int64_t barriers = 0;             // of all slots; 0 where threads wait for their own copies
  bool hasMessages = false;         // every slot has two i32 from producers to consumers
};

struct SharedMemoryNeeds {
  std::vector<RingNeeds> rings;
  int64_t stagingBytes = 0; // of staged stores
  int64_t sumsBytes = 0;    // of a slice that has roles, and hands over its sums
  int64_t tiles = 1;        // side by side in a CTA; each has all of the above
  int64_t slices = 1;       // of a tile; so has each of them
  int64_t onesBytes = 0;    // that all tiles share, for products that sum rows
};

/// Offsets in bytes from the begin of the part of shared memory that a tile or slice has.
struct RingPlace {
  std::vector<int64_t> buffers; // of slot 0 of each buffer, behind which its other slots follow
  int64_t barriers = 0;         // its barriers, then its messages
};

struct SharedMemoryPlaces {
  std::vector<RingPlace> rings;
  int64_t staging = 0;   // of several slices the first one stores, and this is behind the parts of all
  int64_t sums = 0;      // from the begin of the CTA's: those of all slices but the first
  int64_t tileBytes = 0; // from the part of a tile or slice to the next one's
  int64_t issuer = 0;    // from the begin of the CTA's: the i32 that tells which of several tiles issues products
  int64_t ones = 0;      // from the begin of the CTA's
  int64_t total = 0;     // of the CTA
};

/// Places the buffers of all rings, then the staging area, then the barriers.
SharedMemoryPlaces placeSharedMemory(const SharedMemoryNeeds &needs);

/// A staged store of a consumer goes through buffers of so many columns of the result and the rows of an instruction.
struct StagingShape {
  int64_t columns, buffers;
};
StagingShape stagingShape(const Schedule &schedule);
/// That of all consumers.
int64_t stagingBytes(const Schedule &schedule);

/// The bytes by which a slice that has roles hands over its sums: those of a tile. 0 if there are no such slices.
int64_t bytesOfSums(const Schedule &schedule);

/// True when the store goes through shared memory (stmatrix, then TMA): 16-bit results whose 64-row parts never reach
/// into the next block row.
bool usesStagedStore(const Schedule &schedule, int64_t blockRows, int64_t outputBytes);

bool usesStagedStore(const Schedule &schedule, const ProblemDescription &problem);

/// The shared memory that the program of a product needs.
SharedMemoryNeeds sharedMemoryNeeds(const Schedule &schedule, const ProblemDescription &problem);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_SHAREDMEMORY_H
