// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which query and which key each score of a thread belongs to. A thread has the scores of two queries, 8 apart, and of
// pairs of keys, 8 apart (the layout of AccumulatorFragment, one slab): score 4 * group + 2 * row + i is that of query
// row * 8 and key group * 8 + i after the thread's first ones.

#ifndef SPARSEC_EMIT_SOFTMAX_SCORE_POSITIONS_H
#define SPARSEC_EMIT_SOFTMAX_SCORE_POSITIONS_H

#include "KeyTerms.h"
#include "QueryContext.h"
#include "RowReduction.h"

namespace sparsec {

/// The position of one score.
struct ScorePosition {
  mlir::Value query, key; // i32
  mlir::Value isPartial;  // i1: the mask region applies
};

/// The positions of a thread's scores in one step.
class ScorePositions {
public:
  /// A block of keys of the step.
  struct Block {
    mlir::Value key;       // i32, the first of the block, the same for all threads
    mlir::Value firstKey;  // i32, of the thread's first score in the block
    mlir::Value isPartial; // i1: the mask region applies
    // Where blocks come one by one from a walk: twice the number of the block, one more if it is partial. Else null.
    mlir::Value step = {};
    int64_t keys = 0; // of the block, where it has a step
  };

  /// `query` (i32) is the first of the thread's two. `terms` are those of the keys, as far as they have been computed.
  ScorePositions(QueryContext &context, mlir::Value query, llvm::ArrayRef<Block> blocks, const KeyTerms &terms)
      : context(&context), query(query), blocks(blocks), terms(terms) {}

  llvm::ArrayRef<Block> allBlocks() const { return blocks; }
  const KeyTerms &keyTerms() const { return terms; }
  const Block &blockOf(int64_t index) const { return blocks[index / 4 * 8 / context->keyBlock]; }
  mlir::Value queryOf(int64_t index) const { return context->b.add(query, queryDistance(index)); }
  mlir::Value keyOf(int64_t index) const { return context->b.add(blockOf(index).firstKey, keyDistance(index)); }
  /// Distance of a score's key to the thread's first key of the block.
  int64_t keyDistance(int64_t index) const { return index / 4 * 8 % context->keyBlock + index % 2; }

  /// The position of a score whose number (i32) is known at run time only.
  ScorePosition at(mlir::Value index) const;

  /// The same positions, known only when `score` is.
  ScorePositions knownAfter(mlir::Value score) const;

  // A sum of query and key as f32, in two parts: one conversion serves all scores of a block, and each adds a constant.
  // The conversions of all would take as long as the exponentials. The sum is exact up to 2^24, and beyond that within
  // a unit in the last place.
  mlir::Value firstAsFloat(const PositionSum &sum, int64_t index) const;
  double distanceFromFirst(const PositionSum &sum, int64_t index) const {
    return double(sum.queries * queryDistance(index) + sum.keys * keyDistance(index));
  }
  mlir::Value asFloat(const PositionSum &sum, int64_t index) const;

private:
  static int64_t queryDistance(int64_t index) { return rowOfScore(index) * 8; }

  QueryContext *context;
  mlir::Value query;
  llvm::SmallVector<Block, 2> blocks;
  KeyTerms terms;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_SCORE_POSITIONS_H
