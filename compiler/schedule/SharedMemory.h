// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where everything lies in shared memory. The one formula: the fit check counts with it and the pass
// sparsec-assign-shared-memory places buffers by it.

#ifndef SPARSEC_COMPILER_SCHEDULE_SHAREDMEMORY_H
#define SPARSEC_COMPILER_SCHEDULE_SHAREDMEMORY_H

#include "Schedule.h"

namespace sparsec {

/// Offsets and sizes in bytes, in this order: A (all stages), X (all stages), staging area of the store, barriers.
struct SharedMemoryLayout {
  /// Slot s of A starts at aOffset + s * aSlotBytes; the same for X.
  int64_t aOffset;
  int64_t aSlotBytes;
  int64_t xOffset;
  int64_t xSlotBytes;
  /// Every consumer warpgroup has stagingBuffers buffers of 64 rows x stagingColumns result elements, one warpgroup
  /// after the other. All zero when the store is not staged.
  int64_t stagingOffset;
  int64_t stagingColumns;
  int64_t stagingBuffers;
  int64_t stagingBytes;
  /// Stage s has its full barrier at barrierOffset + 8 * s and its empty barrier `stages` barriers later. Only where
  /// roles are split. With windows and streams, X has its own and A too; with windows, full barriers are twice as many
  /// as stages.
  int64_t barrierOffset;
  int64_t aBarrierOffset;
  int64_t barrierBytes;
  int64_t total;
};

/// True when the store goes through shared memory (stmatrix, then TMA): 16-bit results whose 64-row parts never reach
/// into the next block row.
bool usesStagedStore(const Schedule &schedule, int64_t blockRows, int64_t outputBytes);

bool usesStagedStore(const Schedule &schedule, const ProblemDescription &problem);

SharedMemoryLayout sharedMemoryLayout(const Schedule &schedule, int64_t blockColumns, int64_t elementBytes,
                                      bool stagedStore);

/// The layout for a problem, with the store it implies.
SharedMemoryLayout sharedMemoryLayout(const Schedule &schedule, const ProblemDescription &problem);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_SHAREDMEMORY_H
