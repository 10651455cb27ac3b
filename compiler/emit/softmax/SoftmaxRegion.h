// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The score and the mask region of the softmax, applied to the scores of a thread.

#ifndef SPARSEC_EMIT_SOFTMAX_SOFTMAX_REGION_H
#define SPARSEC_EMIT_SOFTMAX_SOFTMAX_REGION_H

#include "RegionSplit.h"
#include "ScorePositions.h"

namespace sparsec {

class SoftmaxRegion {
public:
  /// `split` is that of `wanted`, a value of the region that is computed in place of the one that it yields.
  SoftmaxRegion(QueryContext &context, const QueryTile &tile, mlir::Region &region, const RegionSplit &split,
                mlir::Value wanted = {});

  bool isEmpty() { return region.empty(); }

  // Terms of the region: values that are not computed for every score. A long region has none.
  /// Computes the terms of a thread's two queries, the first of which is `query`.
  void computeQueryTerms(mlir::Value query);
  /// Computes the terms of the keys of a step, if `condition` holds (always, if null), as registers of KeyTermLayout.
  KernelBuilder::Values computeKeyTerms(const ScorePositions &positions, mlir::Value condition = {});
  llvm::SmallVector<mlir::Type> typesOfKeyTerms() { return keyTermLayout().types(); }

  /// A score that is to be changed.
  struct Place {
    const ScorePositions &positions;
    const ScorePositions &later; // positions that are known only when an earlier score is changed
    int64_t index;
    KnownValues terms;
  };
  using Change = llvm::function_ref<mlir::Value(const Place &place, mlir::Value score)>;
  using ChangeInLoop = llvm::function_ref<mlir::Value(const ScorePosition &position, mlir::Value score)>;
  /// Changes all scores by this region: a short one is repeated for every score, a long one is in a loop over them.
  /// `keyTerms` are the terms of their keys; if there are none, each score computes them.
  KernelBuilder::Values changeScores(const ScorePositions &positions, mlir::ValueRange keyTerms,
                                     mlir::ValueRange scores, Change change, ChangeInLoop changeInLoop);

  /// The value of the region for one score. `leading` is the score where the region takes it.
  mlir::Value apply(mlir::ValueRange leading, const ScorePosition &position, KnownValues terms = {},
                    ReplaceOp replace = {});
  mlir::Value apply(mlir::ValueRange leading, const Place &place);

private:
  size_t scoresAhead();
  KeyTermLayout keyTermLayout() { return KeyTermLayout(context.b, context.tileKeys, split.ofKey); }
  KernelBuilder::Values computeTerms(mlir::ValueRange terms, mlir::Value query, mlir::Value key);
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> termsOf(mlir::ValueRange ofKey, int64_t index);

  QueryContext &context;
  QueryTile tile;
  mlir::Region &region;
  mlir::Value wanted;
  RegionSplit split;
  KernelBuilder::Values queryTerms; // of the first query, then of the second
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_SOFTMAX_REGION_H
