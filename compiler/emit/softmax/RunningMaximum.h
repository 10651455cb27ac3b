// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A softmax whose m is about the largest exponent of the row so far. m is replaced lazily, only where an exponent
// exceeds it by more than is tolerated, as in FlashAttention-4, so that most steps leave the output as it is. A row
// whose sum is large tolerates more.

#ifndef SPARSEC_EMIT_SOFTMAX_RUNNING_MAXIMUM_H
#define SPARSEC_EMIT_SOFTMAX_RUNNING_MAXIMUM_H

#include "OnlineSoftmax.h"

namespace sparsec {

class RunningMaximum : public OnlineSoftmax {
public:
  RunningMaximum(QueryContext &context, const QueryTile &tile) : OnlineSoftmax(context, tile) {}

  RowState begin() override;
  Rescaling beginStep(const ScorePositions &positions, KernelBuilder::Values &scores, RowState &rows) override;
  mlir::Value mayHaveProbabilities(mlir::ValueRange scores, const RowState &rows) override;
  KernelBuilder::Values finishStep(const ScorePositions &positions, mlir::ValueRange scores, RowState &rows) override;

private:
  mlir::Value hiddenScore();
  // The scores with the largest exponents of a thread's parts of the two rows.
  KernelBuilder::Values extremeScores(mlir::ValueRange scores, const RowState &rows);
  KernelBuilder::Values extremesAsFloats(mlir::ValueRange scores);
  mlir::Value isAnyNonzero(mlir::ValueRange scoreOfRow, const RowState &rows);
  KernelBuilder::Values extremesBy(Combine larger, Combine smaller, mlir::ValueRange scores);
  KernelBuilder::Values reduceRows(mlir::ValueRange scores, Combine combine);
  Rescaling replaceMaxima(mlir::ValueRange extremes, RowState &rows);
  mlir::Value exceeds(mlir::Value score, mlir::Value m, mlir::Value l);
  mlir::Value tolerance(mlir::Value l);
  struct Replacement {
    mlir::Value m, alpha, l;
  };
  Replacement replaceMaximum(mlir::Value extreme, mlir::Value m, mlir::Value l);
  mlir::Value roundingOf(mlir::Value exponent);
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_RUNNING_MAXIMUM_H
