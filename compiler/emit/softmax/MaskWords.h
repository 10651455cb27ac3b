// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values of a mask region that are made of words (MaskForm), computed before the scores are there.

#ifndef SPARSEC_EMIT_SOFTMAX_MASK_WORDS_H
#define SPARSEC_EMIT_SOFTMAX_MASK_WORDS_H

#include "MaskForm.h"
#include "ScoreWords.h"

namespace sparsec {

class MaskWords {
public:
  using Values = KernelBuilder::Values;

  MaskWords(QueryContext &context, const QueryTile &tile, const MaskForm &form)
      : context(context), b(context.b), tile(tile), form(form), words(context) {}

  /// Computes what the words take from the thread's two queries, the first of which is `query`.
  void computeQueryValues(mlir::Value query);
  int64_t count() const { return form.words.size() * words.count(); }
  /// The words of all values of the form, one value after the other.
  Values compute(const ScorePositions &positions);
  /// The values of a score, of which `computed` are the words.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> valuesOf(mlir::ValueRange computed, int64_t index) const;

private:
  Values wordsOf(mlir::Value value, const ScorePositions &positions);
  Values makeWords(mlir::Value value, const ScorePositions &positions);
  Values wordsOfQuery(mlir::Value value);
  Values wordsOfKey(mlir::Value value, const ScorePositions &positions);
  Values wordsOfInterval(const KeyInterval &interval, const ScorePositions &positions);
  Values keysBefore(const KeyInterval &interval, int64_t limit, const ScorePositions &positions);
  Values wordsOfEquality(const TermEquality &terms, const ScorePositions &positions);
  Values keysEqualTo(mlir::Value term, mlir::ValueRange terms);
  Values wordsOfLogic(mlir::Operation &op, const ScorePositions &positions);
  Values inverse(mlir::ValueRange all) const;
  mlir::Value ofQuery(mlir::Value value, int64_t row) const;
  Values compute(mlir::ValueRange wanted, mlir::Value query, mlir::Value key);
  Values termsOfKeys(mlir::Value term, const ScorePositions &positions);

  QueryContext &context;
  KernelBuilder &b;
  QueryTile tile;
  const MaskForm &form;
  ScoreWords words;
  Values queryValues;                        // of the first query, then of the second
  llvm::DenseMap<mlir::Value, Values> known; // words of this step
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_MASK_WORDS_H
