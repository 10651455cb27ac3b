// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Joint lists of attention: the key blocks that one of two neighbouring block rows sees, for tiles of both
// (SPARSEC_PLAN_JOINT_RANGES).

#ifndef SPARSEC_RUNTIME_JOINT_LISTS_H
#define SPARSEC_RUNTIME_JOINT_LISTS_H

#include "arguments/blocks.h"
#include "operations/problem.h"
#include "plan/key_range.h"

namespace sparsec::runtime {

/// The input of makeJointLists().
struct JointListInput {
  const sparsec_blocks_t &pattern; // checked, with its lists in host memory
  KeyWindow window;
  const Problem &problem; // of the attention, whose sizes are all known
  int64_t blocksOfStep;
};

/// The entry that fills up the last step of a list.
inline constexpr uint32_t noJointBlock = SPARSEC_JOINT_ABSENT * 3;

/// An entry has 24 bits for the number of a block.
inline constexpr int64_t mostJointBlocks = int64_t(SPARSEC_JOINT_BLOCK_MASK) + 1;
/// Kernels take this key for a block that a row does not see.
inline constexpr int64_t mostKeysOfJointLists = int64_t(1) << 30;

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
  std::vector<JointRange> ranges; // of all tiles, head after head
  std::vector<uint32_t> entries;  // and one more, which is zero
  int64_t blocks = 0;             // entries, without those that fill up steps
  int64_t blocksOfRows = 0;       // the blocks of all block rows
};

/// A variant with joint lists is taken if it is so many times as fast by the costs of its tiles. These do not count the
/// time in which blocks are hidden from a row (bench/notes/attention-joint-lists.md).
inline constexpr double leastGainOfJointLists = 1.04;

/// The entries of a list have ascending key blocks if those of its two rows ascend. Else the blocks of the first row
/// come in its order, partial ones first, and then the others of the second row in theirs.
JointLists makeJointLists(const JointListInput &input);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_JOINT_LISTS_H
