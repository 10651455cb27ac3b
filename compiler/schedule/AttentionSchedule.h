// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedule of attention, as pure functions without MLIR. The pattern fixes the tile: a tile is a block of queries,
// a step a block of keys, or with mma_sync a part of one; what is left to choose is that part, and how many stages and
// CTAs share an SM.

#ifndef SPARSEC_COMPILER_SCHEDULE_ATTENTIONSCHEDULE_H
#define SPARSEC_COMPILER_SCHEDULE_ATTENTIONSCHEDULE_H

#include "Fit.h"
#include "Schedule.h"
#include "TargetInfo.h"

namespace sparsec {

struct AttentionDescription {
  int64_t elementBytes = 2;
  int64_t headDimension = 0;
  /// Blocks of the pattern; without one the tile is free, and these are the largest.
  int64_t queryBlock = 128;
  int64_t keyBlock = 128;
};

/// Offsets and sizes in bytes. With TMA values lie in the slots of the keys, which have barriers; with cp.async they
/// have as many slots of their own.
struct AttentionSharedMemory {
  int64_t queryOffset, keyOffset, valueOffset, queryBarrierOffset, keyBarrierOffset, total;
};

/// Bytes beside every slot: its full and its empty barrier, and two words from the producer to the consumers.
inline constexpr int64_t slotControlBytes = 24;

AttentionSharedMemory attentionSharedMemory(const Schedule &schedule, int64_t elementBytes);

/// Whether a schedule fits the problem and the chip.
Fit checkAttentionFit(const Schedule &schedule, const AttentionDescription &problem, const Chip &chip);

/// The compiler's choice.
Schedule chooseAttentionSchedule(const AttentionDescription &problem, const Chip &chip);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_ATTENTIONSCHEDULE_H
