// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedule of attention, as pure functions without MLIR. A tile is a block of queries of the pattern or half of
// one; a step is one or two blocks of keys, or a part of one.

#ifndef SPARSEC_COMPILER_SCHEDULE_ATTENTIONSCHEDULE_H
#define SPARSEC_COMPILER_SCHEDULE_ATTENTIONSCHEDULE_H

#include "Fit.h"
#include "Schedule.h"
#include "SharedMemory.h"
#include "TargetInfo.h"

namespace sparsec {

struct AttentionDescription {
  ElementType elementType = ElementType::Bf16;
  int64_t headDimension = 0;
  /// The dimension of values; 0: that of queries and keys.
  int64_t valueDimension = 0;
  /// Blocks of the pattern; without one the tile is free, and these are the largest.
  int64_t queryBlock = 128;
  int64_t keyBlock = 128;
  /// A mask region, or a score region that loads elements by query or key: conditions, places and addresses of many
  /// scores at once take registers. So do the coefficients of a soft cap with a scale, or one that needs maxima too.
  bool regionsNeedRegisters = false;
  /// The scores are bounded, so that one m serves all keys.
  bool hasFixedShift = false;
  /// The sequences have numbers of queries of their own.
  bool hasPackedQueries = false;

  int64_t valueColumns() const { return valueDimension == 0 ? headDimension : valueDimension; }
  /// The wider one of keys and values.
  int64_t mostColumns() const { return headDimension > valueColumns() ? headDimension : valueColumns(); }
};

/// The problem whose tiles have two block rows of the pattern.
AttentionDescription withJointRows(AttentionDescription problem);

/// The widest product of scores that leaves registers for the rest.
inline constexpr int64_t mostKeys = 128;
inline constexpr int64_t leastStepKeys = 32, leastTileRows = 64;
/// The keys of the smallest part in which a launch splits the keys of a tile. Shorter parts cost more time to fill
/// their pipeline and to merge than they save.
inline constexpr int64_t leastPartKeys = 512;

/// Slots for keys and values. With one role, keys of a step are copied while the step before works.
inline constexpr int64_t leastStagesOfTwoRoles = 3, leastStagesOfOneRole = 2;

/// Whether the second product sums the probabilities of rows, as columns of a V of ones. Wider values fill more than
/// one strip of shared memory, behind which no ones fit.
inline constexpr int64_t columnsBesideOnes = 64, columnsOfOnes = 8;
bool sumsRowsByProducts(const Schedule &schedule, const AttentionDescription &problem);
/// The ones of one instruction: 16 rows of a strip.
inline constexpr int64_t bytesOfOnes = 16 * 128;

/// Slots for the queries of a tile.
int64_t queryStages(const Schedule &schedule);

/// Whether the queries of a warp of mma.sync stay in registers for all steps.
bool keepsQueries(const Schedule &schedule, const AttentionDescription &problem);

/// The shared memory that the program needs: slots of queries, and slots that keys and values share. With one role,
/// values have as many slots of their own.
SharedMemoryNeeds sharedMemoryNeeds(const Schedule &schedule, const AttentionDescription &problem);

/// Registers that a thread of a consumer is expected to need (Chosen), or cannot do without (HandWritten).
int64_t estimatedRegisters(const Schedule &schedule, const AttentionDescription &problem, Origin origin);

/// Whether a schedule fits the problem and the chip.
Fit checkFit(const Schedule &schedule, const AttentionDescription &problem, const Chip &chip, Origin origin);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_ATTENTIONSCHEDULE_H
