// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A softmax whose scores are known to be bounded: one m serves all keys, so that nothing waits for a row maximum, and
// the output is never rescaled.

#ifndef SPARSEC_EMIT_SOFTMAX_FIXED_SHIFT_H
#define SPARSEC_EMIT_SOFTMAX_FIXED_SHIFT_H

#include "OnlineSoftmax.h"

namespace sparsec {

class FixedShift : public OnlineSoftmax {
public:
  FixedShift(QueryContext &context, const QueryTile &tile)
      : OnlineSoftmax(context, tile), score(*context.scoreForm.scaled), cap(context) {}

  RowState begin() override;
  Rescaling beginStep(const ScorePositions &, KernelBuilder::Values &, RowState &) override {
    return Rescaling::none(b);
  }
  KernelBuilder::Values finishStep(const ScorePositions &positions, mlir::ValueRange scores, RowState &rows) override;

private:
  KernelBuilder::Values finishByRegion(const ScorePositions &positions, mlir::ValueRange scores, RowState &rows);
  KernelBuilder::Values finishByPolynomial(const TanhPolynomial &polynomial, mlir::ValueRange scores, RowState &rows);
  KernelBuilder::Values finishCapped(const ScorePositions &positions, mlir::ValueRange scores, RowState &rows);

  const ScaledScore &score;
  SoftCap cap;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_FIXED_SHIFT_H
