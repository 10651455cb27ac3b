// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Soft caps, multiplier * tanh(ratio * score), by polynomials where scores are small, as those of a trained model are.

#ifndef SPARSEC_EMIT_SOFTMAX_SOFT_CAP_H
#define SPARSEC_EMIT_SOFTMAX_SOFT_CAP_H

#include "ScoreScale.h"

namespace sparsec {

/// tanh(y) = y (c0 + c1 y^2 + ...) up to a magnitude of y. Where the hardware's precision is enough, the relative error
/// is less than its 2^-11. Else they are minimax for the error, which is at most 2^-10 of a capped score.
struct TanhPolynomial {
  double largestOperand;
  llvm::ArrayRef<double> coefficients;
};

/// The coefficients as a kernel uses them: tanh(y) = leading y p(t), t = y^2 + shift, where p has the leading
/// coefficient 1 and no next one, so that it is t, t^2 + p0 or (t^2 + p0) t + p1. That takes as many instructions as
/// Horner's scheme, but those of constants and one register are more, and they do not wait for as many others.
struct ShiftedPolynomial {
  explicit ShiftedPolynomial(const TanhPolynomial &polynomial);

  double leading, shift;
  llvm::SmallVector<double, 2> rest;
};

/// Those of a soft cap, from the one with the fewest multiply-adds to the one with the most.
llvm::ArrayRef<TanhPolynomial> tanhPolynomials(const ScaledScore &score);

class SoftCap {
public:
  explicit SoftCap(QueryContext &context) : b(context.b), form(context.scoreForm), scale(context) {}

  using Compute = llvm::function_ref<KernelBuilder::Values(const TanhPolynomial *)>;
  /// Computes values of `types` with the first polynomial that is valid for the scores of all threads of the warp, or
  /// with a null pointer where none is. `isHidden` is true where none may be taken, or null.
  KernelBuilder::Values withPolynomial(mlir::ValueRange scores, mlir::Value isHidden, llvm::ArrayRef<mlir::Type> types,
                                       Compute compute);
  /// The same where queries have been multiplied such that the first polynomial is valid for scores below 2. Changes
  /// `hadTwo`, that of RowState.
  KernelBuilder::Values withTestOfBits(mlir::ValueRange scores, mlir::Value isHidden, mlir::Value &hadTwo,
                                       llvm::ArrayRef<mlir::Type> types, Compute compute);
  /// multiplier * tanh(ratio * score) + addend
  mlir::Value evaluate(const TanhPolynomial &polynomial, mlir::Value score, double multiplier, mlir::Value addend);
  /// tanh(ratio * score) for all scores, with an error of less than 2^-20.
  mlir::Value evaluateByExponential(mlir::Value score);

private:
  mlir::Value largestMagnitude(mlir::ValueRange scores);
  mlir::Value hasTwo(mlir::ValueRange scores);
  mlir::Value isTwo(mlir::Value magnitude);
  mlir::Value magnitudeOfStep(mlir::ValueRange scores, mlir::Value isHidden);
  mlir::Value isBeyond(mlir::Value magnitude, const TanhPolynomial &polynomial);
  KernelBuilder::Values withFirstValid(llvm::ArrayRef<TanhPolynomial> polynomials, mlir::Value magnitude,
                                       llvm::ArrayRef<mlir::Type> types, Compute compute);
  mlir::Value largestScore(const TanhPolynomial &polynomial);
  mlir::Value ratio();

  KernelBuilder &b;
  const ScoreForm &form;
  ScoreScale scale;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_SOFT_CAP_H
