// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matching blocks of two block-sparse matrices: the symbolic step of their product. A pure function of the
// patterns.

#ifndef SPARSEC_RUNTIME_PAIRS_H
#define SPARSEC_RUNTIME_PAIRS_H

#include "plan/window_blocks.h"
#include "status.h"

namespace sparsec::runtime {

/// A stored block (i, k) of A and a stored block (k, j) of B, by their numbers.
struct BlockPair {
  int32_t left, right, k;
};
static_assert(sizeof(BlockPair) == 12, "layout of SPARSEC_PLAN_PAIRS");

/// The arrays have the layout of SPARSEC_PLAN_PAIR_STARTS and SPARSEC_PLAN_PAIRS, with the pair behind the last.
struct PairIndex {
  std::vector<int32_t> starts;
  std::vector<BlockPair> pairs;

  bool isEmpty() const { return starts.empty(); }
  int32_t countOf(int64_t block) const { return starts[block + 1] - starts[block]; }
};

/// The pairs of every block of the result: of the stored blocks of `result`, or of all blocks where it is null. A has
/// as many block columns as B has block rows. The time is linear in the number of pairs of all blocks. Fails where 32
/// bits do not count the blocks of the result, or the pairs of all blocks.
Status makePairs(const BlockPattern &left, const BlockPattern &right, const BlockPattern *result, PairIndex &outIndex);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_PAIRS_H
