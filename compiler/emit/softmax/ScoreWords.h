// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mask words: the bits of all scores of a thread. An op works on all bits of a word, so that a score costs one
// instruction for its bit and one that uses it.

#ifndef SPARSEC_EMIT_SOFTMAX_SCORE_WORDS_H
#define SPARSEC_EMIT_SOFTMAX_SCORE_WORDS_H

#include "ScorePositions.h"

namespace sparsec {

/// The words of a thread's first row, then as many of its second one. Bits are in the order of the keys (KeyOrder).
class ScoreWords {
public:
  using Values = KernelBuilder::Values;

  explicit ScoreWords(QueryContext &context) : context(context), b(context.b), order(context.tileKeys) {}

  int64_t count() const { return 2 * order.words(); }
  /// The same word for all keys and both rows.
  Values all(mlir::Value word) const { return Values(count(), word); }
  /// The scores whose key is less than that of their row.
  Values before(const ScorePositions &positions, mlir::Value keyOfFirstRow, mlir::Value keyOfSecondRow) const;
  /// The scores in blocks to which the mask region does not apply.
  Values inFullBlocks(const ScorePositions &positions) const;
  /// `ballots` are registers of KeyTermLayout, for a term that is an i1.
  Values ofKeys(mlir::ValueRange ballots) const;
  /// Combines words with words, one by one.
  Values combine(mlir::ValueRange left, mlir::ValueRange right, Combine op) const;
  /// Whether the bit of score `index` is set.
  mlir::Value bit(mlir::ValueRange words, int64_t index) const;

private:
  using Bits = llvm::function_ref<mlir::Value(const ScorePositions::Block &block, int64_t begin, int64_t keys)>;
  Values ofRow(const ScorePositions &positions, Bits bitsOfPart) const;
  mlir::Value lowestBits(mlir::Value count) const;

  QueryContext &context;
  KernelBuilder &b;
  KeyOrder order;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_SCORE_WORDS_H
