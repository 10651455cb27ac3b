// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Joint lists of attention: the key blocks that one of two neighbouring block rows sees, for tiles of both
// (SPARSEC_PLAN_JOINT_RANGES).

#ifndef SPARSEC_RUNTIME_JOINT_LISTS_H
#define SPARSEC_RUNTIME_JOINT_LISTS_H

#include "arguments/blocks.h"
#include "operations/problem.h"
#include "plan/key_range.h"

namespace sparsec::runtime {

/// Times of the tiles of a variant with joint lists, as percentages of the time that a tile of single rows takes for a
/// key block.
struct JointCosts {
  uint32_t shared = 0;   // a block of a shared step
  uint32_t divided = 0;  // a divided step; 0: the variant has none
  uint32_t division = 0; // what a tile with divided steps takes more

  bool mayDivide() const { return divided != 0; }
};

JointCosts jointCosts(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant);

/// The input of makeJointLists().
struct JointListInput {
  const sparsec_blocks_t &pattern; // checked, with its lists in host memory
  KeyWindow window;
  const Problem &problem; // of the attention, whose sizes are all known
  int64_t blocksOfStep;
  JointCosts costs; // steps that may be divided have two blocks
};

/// The entry that fills up the last shared step of a list.
inline constexpr uint32_t noJointBlock = SPARSEC_JOINT_ABSENT * 3;

/// An entry has 24 bits for the number of a block.
inline constexpr int64_t mostJointBlocks = int64_t(SPARSEC_JOINT_BLOCK_MASK) + 1;
/// Kernels take this key for a block that a row does not see.
inline constexpr int64_t mostKeysOfJointLists = int64_t(1) << 30;

/// The number of the block of an entry.
constexpr uint32_t jointBlockOf(uint32_t entry) { return entry & SPARSEC_JOINT_BLOCK_MASK; }
/// The rows that do not see the block of an entry: bit 0 is that of the first row.
constexpr uint32_t absentRows(uint32_t entry) { return entry / SPARSEC_JOINT_ABSENT & 3; }

/// The key blocks of a step of a stage with joint lists.
inline int64_t blocksOfJointStep(const sparsec_stage_info_t &stage, int64_t keyBlock) {
  return std::max<int64_t>(1, int64_t(stage.tile_n) / keyBlock);
}

/// The entries of a tile.
struct JointRange {
  uint32_t begin, end;

  uint32_t count() const { return end - begin; }
};
static_assert(sizeof(JointRange) == 8, "layout of SPARSEC_PLAN_JOINT_RANGES");

struct JointLists {
  std::vector<JointRange> ranges;     // of all tiles, head after head
  std::vector<uint32_t> dividedSteps; // of all tiles, at the end of their ranges
  std::vector<uint32_t> entries;      // and one more, which is zero
  int64_t blocks = 0;                 // entries, without those that fill up steps
  int64_t blocksOfRows = 0;           // the blocks of all block rows
  int64_t dividedBlocks = 0;          // entries of divided steps
};

/// A variant with joint lists is taken if it is so many times as fast by the costs of its tiles. Where steps may not be
/// divided, these do not count the time in which blocks are hidden from a row (bench/notes/attention-joint-lists.md).
constexpr double leastGainOfJointLists(bool mayDivide) { return mayDivide ? 1.02 : 1.04; }

/// The entries of shared steps have ascending key blocks if those of the two rows ascend. Else the blocks of the first
/// row come in its order, partial ones first, and then the others of the second row in theirs. Where that costs less,
/// divided steps have blocks that one row alone sees, as many of either row, and the shared steps have the others. A
/// list that is not empty begins with a shared step.
JointLists makeJointLists(const JointListInput &input);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_JOINT_LISTS_H
