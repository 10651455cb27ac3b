// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The score and the mask region of the softmax, applied to the scores of a thread.

#ifndef SPARSEC_EMIT_SOFTMAX_SOFTMAX_REGION_H
#define SPARSEC_EMIT_SOFTMAX_SOFTMAX_REGION_H

#include "ScorePositions.h"

namespace sparsec {

class SoftmaxRegion {
public:
  /// `wanted` is a value of the region that is computed in place of the one that it yields.
  SoftmaxRegion(AttentionContext &context, const QueryTile &tile, mlir::Region &region, mlir::Value wanted = {})
      : context(context), tile(tile), region(region), wanted(wanted) {}

  bool isEmpty() { return region.empty(); }

  /// The changed score. Positions that `later` gives are known only when an earlier score is changed.
  using Change = llvm::function_ref<mlir::Value(const ScorePositions &later, int64_t index, mlir::Value score)>;
  using ChangeInLoop = llvm::function_ref<mlir::Value(const ScorePosition &position, mlir::Value score)>;
  /// Changes all scores by this region: a short one is repeated for every score, a long one is in a loop over them.
  KernelBuilder::Values changeScores(const ScorePositions &positions, mlir::ValueRange scores, Change change,
                                     ChangeInLoop changeInLoop);

  /// The value of the region for one score. `leading` is the score where the region takes it.
  mlir::Value apply(mlir::ValueRange leading, const ScorePosition &position, ReplaceOp replace = {});
  mlir::Value apply(mlir::ValueRange leading, const ScorePositions &positions, const ScorePositions &later,
                    int64_t index);

private:
  size_t scoresAhead();

  AttentionContext &context;
  QueryTile tile;
  mlir::Region &region;
  mlir::Value wanted;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_SOFTMAX_REGION_H
