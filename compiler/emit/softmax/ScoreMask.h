// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which keys a query sees: causal, window, the number of keys, and the mask region.

#ifndef SPARSEC_EMIT_SOFTMAX_SCORE_MASK_H
#define SPARSEC_EMIT_SOFTMAX_SCORE_MASK_H

#include "MaskWords.h"
#include "SoftmaxRegion.h"

namespace sparsec {

class ScoreMask {
public:
  ScoreMask(QueryContext &context, const QueryTile &tile)
      : context(context), b(context.b), tile(tile), form(formOf(*context.softmax.mask)), words(context),
        maskWords(context, tile, form), region(context, tile, *context.softmax.mask, form.rest) {}

  void computeQueryTerms(mlir::Value query);
  /// The words and the terms of the keys, where the mask region applies to a block of the step.
  KernelBuilder::Values computeKeyTerms(const ScorePositions &positions);
  llvm::SmallVector<mlir::Type> typesOfKeyTerms();

  /// Whether any of a thread's scores may be hidden. All threads that share a tile get the same answer.
  mlir::Value isNeeded(const ScorePositions &positions);
  /// Replaces the scores of invisible keys by `hidden`. Most steps have none, and pay for a branch only.
  KernelBuilder::Values hide(const ScorePositions &positions, mlir::ValueRange scores, mlir::Value hidden);

private:
  static MaskForm formOf(mlir::Region &mask);
  /// Whether the mask region applies to a block of the step.
  mlir::Value isPartial(const ScorePositions &positions);
  /// Whether causal, window or the number of keys hide a key of the step.
  mlir::Value isCut(const ScorePositions &positions);
  mlir::Value isCut(const ScorePositions::Block &block);
  using BlockTest = llvm::function_ref<mlir::Value(const ScorePositions::Block &block)>;
  mlir::Value inAnyBlock(const ScorePositions &positions, BlockTest test);
  KernelBuilder::Values hideIf(mlir::Value condition, mlir::ValueRange scores,
                               llvm::function_ref<KernelBuilder::Values()> hide);
  KernelBuilder::Values visibleWords(const ScorePositions &positions);
  KernelBuilder::Values hideByRegion(const ScorePositions &positions, mlir::ValueRange scores, mlir::Value hidden);
  KernelBuilder::Values hideByWords(mlir::ValueRange visible, mlir::ValueRange scores, mlir::Value hidden);
  KernelBuilder::Values wordsInReach(const ScorePositions &positions);

  QueryContext &context;
  KernelBuilder &b;
  QueryTile tile;
  MaskForm form;
  ScoreWords words;
  MaskWords maskWords;
  SoftmaxRegion region;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_SCORE_MASK_H
