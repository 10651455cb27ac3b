// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The way from a score to an exponent of 2.

#ifndef SPARSEC_EMIT_SOFTMAX_SCORE_SCALE_H
#define SPARSEC_EMIT_SOFTMAX_SCORE_SCALE_H

#include "QueryContext.h"

namespace sparsec {

class ScoreScale {
public:
  explicit ScoreScale(QueryContext &context) : context(context), b(context.b), form(context.scoreForm) {}

  /// The scale of the products of queries and keys, whose queries may have been multiplied by a power of two.
  mlir::Value scale();
  /// The factor that makes a score an exponent of 2. After a score region it is a constant. Without one it is the scale
  /// too, so that no instruction of its own multiplies by that. It is neither zero, because invisible scores are
  /// infinite, nor so small that a bias in terms of products overflows.
  mlir::Value factor();
  /// score * factor - m
  mlir::Value exponent(mlir::Value score, mlir::Value negativeM) { return b.fma(score, factor(), negativeM); }

  /// Whether the factor may be negative, so that the smallest score has the largest exponent.
  bool mayBeNegative() { return !form.scaled && bool(context.softmax.scale); }
  mlir::Value isNegative() { return b.compareF(mlir::arith::CmpFPredicate::OLT, factor(), b.f32(0)); }

private:
  QueryContext &context;
  KernelBuilder &b;
  const ScoreForm &form;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_SCORE_SCALE_H
