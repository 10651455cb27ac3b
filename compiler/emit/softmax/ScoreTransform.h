// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From products of queries and keys to scores: scale and score region.

#ifndef SPARSEC_EMIT_SOFTMAX_SCORE_TRANSFORM_H
#define SPARSEC_EMIT_SOFTMAX_SCORE_TRANSFORM_H

#include "ScoreScale.h"
#include "SoftCap.h"
#include "SoftmaxRegion.h"

namespace sparsec {

class ScoreTransform {
public:
  ScoreTransform(QueryContext &context, const QueryTile &tile);

  void computeQueryTerms(mlir::Value query) { region.computeQueryTerms(query); }
  KernelBuilder::Values computeKeyTerms(const ScorePositions &positions) { return region.computeKeyTerms(positions); }
  llvm::SmallVector<mlir::Type> typesOfKeyTerms() { return region.typesOfKeyTerms(); }

  /// The sums that the products of a step start from: zeros, or the linear bias in terms of products. ScoreScale makes
  /// exponents of both, so that the bias costs one multiply-add for each score. Its operands are the slope, the
  /// distance of the first score, and a constant.
  KernelBuilder::Values initialProducts(const ScorePositions &positions, int64_t count);
  /// The scores up to the factor of ScoreScale. These are the products where there is no region or a linear bias.
  KernelBuilder::Values applyRegion(const ScorePositions &positions, mlir::ValueRange products);
  /// The same, but a soft cap is computed by a polynomial where the products are small enough.
  KernelBuilder::Values apply(const ScorePositions &positions, mlir::ValueRange products);

private:
  mlir::Value biasSlope();
  KernelBuilder::Values applyCap(const ScorePositions &positions, mlir::ValueRange products);

  QueryContext &context;
  KernelBuilder &b;
  const ScoreForm &form;
  QueryTile tile;
  ScoreScale scale;
  SoftCap cap;
  SoftmaxRegion region;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_SCORE_TRANSFORM_H
