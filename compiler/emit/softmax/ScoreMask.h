// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which keys a query sees: causal, window, the number of keys, and the mask region.

#ifndef SPARSEC_EMIT_SOFTMAX_SCORE_MASK_H
#define SPARSEC_EMIT_SOFTMAX_SCORE_MASK_H

#include "SoftmaxRegion.h"

namespace sparsec {

class ScoreMask {
public:
  ScoreMask(QueryContext &context, const QueryTile &tile)
      : context(context), b(context.b), tile(tile),
        region(context, tile, *context.softmax.mask, RegionSplit::ofMask(*context.softmax.mask)) {}

  void computeQueryTerms(mlir::Value query) { region.computeQueryTerms(query); }
  /// The terms of the keys where the mask region applies to a block of the step.
  KernelBuilder::Values computeKeyTerms(const ScorePositions &positions);
  llvm::SmallVector<mlir::Type> typesOfKeyTerms() { return region.typesOfKeyTerms(); }

  /// Whether any of a thread's scores may be hidden. All threads that share a tile get the same answer.
  mlir::Value isNeeded(const ScorePositions &positions);
  /// Replaces the scores of invisible keys by `hidden`. Most steps have none, and pay for a branch only.
  KernelBuilder::Values hide(const ScorePositions &positions, mlir::ValueRange scores, mlir::Value hidden);

private:
  mlir::Value isNeeded(const ScorePositions::Block &block);
  KernelBuilder::Values hideInBlocks(const ScorePositions &positions, mlir::ValueRange scores, mlir::Value hidden);
  mlir::Value isInReach(const ScorePositions &positions, int64_t index);

  QueryContext &context;
  KernelBuilder &b;
  QueryTile tile;
  SoftmaxRegion region;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_SCORE_MASK_H
