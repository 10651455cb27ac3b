// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScoreScale.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;

static constexpr double smallestFactor = 1e-30;

Value ScoreScale::scale() {
  if (Value scale = context.softmax.scale)
    return context.parameters.get(ParameterKind::scalar, cast<BlockArgument>(scale).getArgNumber());
  return b.f32(std::ldexp(1 / std::sqrt(double(context.headDimension)), int(-context.queryExponent)));
}

Value ScoreScale::factor() {
  if (form.scaled)
    return b.f32(form.scaled->multiplier * log2e);
  Value factor = b.mulF(scale(), b.f32(log2e));
  Value isTiny = b.compareF(form.bias ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OEQ, b.magnitude(factor),
                            b.f32(form.bias ? smallestFactor : 0));
  return b.select(isTiny, b.f32(smallestFactor), factor);
}
