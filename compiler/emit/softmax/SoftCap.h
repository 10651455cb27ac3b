// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Soft caps, multiplier * tanh(ratio * score), by polynomials where scores are small, as those of a trained model are.

#ifndef SPARSEC_EMIT_SOFTMAX_SOFT_CAP_H
#define SPARSEC_EMIT_SOFTMAX_SOFT_CAP_H

#include "ScoreScale.h"

namespace sparsec {

/// tanh(y) = y (c0 + c1 y^2 + ...) up to a magnitude of y: minimax for the relative error, which is less than the
/// hardware's 2^-11.
struct TanhPolynomial {
  double largestOperand;
  llvm::ArrayRef<double> coefficients;
};

class SoftCap {
public:
  explicit SoftCap(QueryContext &context) : b(context.b), form(context.scoreForm), scale(context) {}

  /// The largest magnitude of a thread's scores.
  mlir::Value largestMagnitude(mlir::ValueRange scores);
  using Compute = llvm::function_ref<KernelBuilder::Values(const TanhPolynomial *)>;
  /// Computes values of `types` with the first polynomial that is valid for the scores of all threads of the warp, or
  /// with a null pointer where none is. `magnitude` is the largest of this thread's scores.
  KernelBuilder::Values withPolynomial(mlir::Value magnitude, llvm::ArrayRef<mlir::Type> types, Compute compute);
  /// multiplier * tanh(ratio * score) + addend
  mlir::Value evaluate(const TanhPolynomial &polynomial, mlir::Value score, double multiplier, mlir::Value addend);

private:
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
