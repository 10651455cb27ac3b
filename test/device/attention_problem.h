// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The problems of the tests of attention: sizes, and lists of blocks in both encodings.

#ifndef SPARSEC_TEST_DEVICE_ATTENTION_PROBLEM_H
#define SPARSEC_TEST_DEVICE_ATTENTION_PROBLEM_H

#include "placed_tensor.h"

namespace sparsec::device_test {

/// The order of the dimensions of Q, K, V and O in memory.
enum class SequenceOrder { BatchHeadSequence, BatchSequenceHead };

/// How the scores of a query go along the keys, with the usual scale.
enum class ScoreCourse {
  Random, ///< normal numbers
  Ramp,   ///< from -spread to spread for even queries, down again for odd ones
  Spikes, ///< near 0, but every 61st key has spread for even queries and -spread for odd ones
};

struct AttentionShape {
  const char *name;
  int64_t batches, heads, keyHeads, queries, keys;
  SequenceOrder order;
  Placement placement; // of Q, K, V and O
  double spread;       // of random scores the standard deviation, about
  ScoreCourse course = ScoreCourse::Random;
};

/// Odd and even sizes, one head of keys for one, several or all heads, more and fewer queries than keys, scores near to
/// and far from one another, in any order and in those that a running maximum likes least, operands aligned and not.
/// `quick` leaves small ones.
std::vector<AttentionShape> attentionShapes(bool quick);
/// More tiles than a GPU holds at a time, so that workers take several.
AttentionShape manyTilesAttention(Placement placement);
/// A tile of two blocks of 64 queries for each worker, every second one with one block alone.
AttentionShape jointListsAttention(int64_t workers);
/// A few more tiles of `tileRows` queries than workers, so that plans cut them along the keys.
AttentionShape cutTilesAttention(int64_t workers, int64_t tileRows);
/// Launches split their keys into parts, where a workspace has room for them: at most 5, and 25 where the device has as
/// many multiprocessors, which is more than a warp of the merge loads at once.
std::vector<AttentionShape> fewTilesAttention();

enum class BlockChoice {
  Random,    ///< full, partial and empty blocks
  EmptyRows, ///< as Random in some rows, nothing in the others
  AllFull,
  AllPartial,
  NoBlocks,
};

/// How the lists of a pattern are made.
struct ListCase {
  const char *name;
  BlockChoice choice;
  bool perBatch, perHead; // own lists, or the same for all
  bool isUnsorted;
};
std::vector<ListCase> listCases(bool quick);

/// The kind of every block of keys for every block of queries.
struct BlockStates {
  sparsec_blocks_t shape;      // without lists
  int64_t rows, columns;       // blocks of queries and of keys
  std::vector<uint8_t> states; // sparsec_block_state_t [batches][heads][rows][columns]

  int64_t listCount() const { return shape.batches * shape.heads * rows; }
  bool has(sparsec_block_state_t state) const;
};
BlockStates chooseBlocks(const AttentionShape &shape, int64_t queryBlock, int64_t keyBlock, const ListCase &lists,
                         uint64_t seed);

/// The blocks of one state in a pattern's encoding.
struct BlockLists {
  std::vector<int32_t> starts, indices;
};

/// The lists of a pattern in host memory. The arrays are as long as any lists of these sizes need, so that other lists
/// fit into the same memory; what is not used of them is -1, a block that is not there.
struct PatternLists {
  PatternLists(const BlockStates &blocks, sparsec_pattern_encoding_t encoding, bool isUnsorted);

  /// The pattern without its lists.
  sparsec_blocks_t header;
  BlockLists partial, full;

  /// The pattern with the lists in host memory; valid as long as this. Null where there is no block of a state.
  sparsec_blocks_t hostView(const BlockStates &blocks) const;
};

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_ATTENTION_PROBLEM_H
