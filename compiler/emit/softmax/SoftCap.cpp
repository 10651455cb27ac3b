// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SoftCap.h"

#include "Ptx.h"
#include "RowReduction.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr double cubic[] = {0x1.ffcbccp-1, -0x1.40b056p-2};
static constexpr double quintic[] = {0x1.ffe3d8p-1, -0x1.4e20bap-2, 0x1.8ec49ep-4};
/// From the fewest multiply-adds to the most: one more for each score costs 5 to 10 % of a kernel's time.
static constexpr TanhPolynomial polynomials[] = {{0.4, cubic}, {0.75, quintic}};
/// Between these ratios the coefficients with powers of the ratio and the multiplier are normal numbers.
static constexpr double smallestRatio = 0x1p-14, largestRatio = 0x1p14;

/// The factor that makes a product the operand of tanh.
Value SoftCap::ratio() { return b.mulF(scale.scale(), b.f32(*form.scaled->capRatio)); }

/// Magnitudes are in the order of their bits.
Value SoftCap::largestMagnitude(ValueRange scores) {
  Values pairs;
  for (size_t index = 0; index < scores.size(); index += 2)
    pairs.push_back(b.larger(b.magnitude(scores[index]), b.magnitude(scores[index + 1])));
  return largestByBits(b, pairs);
}

Values SoftCap::withPolynomial(Value magnitude, ArrayRef<Type> types, Compute compute) {
  return withFirstValid(polynomials, magnitude, types, compute);
}

Values SoftCap::withFirstValid(ArrayRef<TanhPolynomial> polynomials, Value magnitude, ArrayRef<Type> types,
                               Compute compute) {
  if (polynomials.empty())
    return compute(nullptr);
  Value limit = largestScore(polynomials.front());
  Value isBeyond = b.compareF(arith::CmpFPredicate::UGT, magnitude, limit);
  return b.ifThenElse(
      ptx::anyInWarp(b, isBeyond), types,
      [&] { return withFirstValid(polynomials.drop_front(), magnitude, types, compute); },
      [&] { return compute(&polynomials.front()); });
}

/// The largest score for which a polynomial is valid, or -1, which no magnitude is below.
Value SoftCap::largestScore(const TanhPolynomial &polynomial) {
  Value magnitude = b.magnitude(ratio());
  auto compare = [&](arith::CmpFPredicate predicate, double limit) {
    return b.compareF(predicate, magnitude, b.f32(limit));
  };
  Value isModerate =
      b.logicalAnd(compare(arith::CmpFPredicate::OGE, smallestRatio), compare(arith::CmpFPredicate::OLE, largestRatio));
  return b.select(isModerate, b.divF(b.f32(polynomial.largestOperand), magnitude), b.f32(-1));
}

Value SoftCap::evaluate(const TanhPolynomial &polynomial, Value score, double multiplier, Value addend) {
  Value ratio = this->ratio(), square = b.mulF(ratio, ratio), power = ratio;
  Values coefficients;
  for (double coefficient : polynomial.coefficients) {
    coefficients.push_back(b.mulF(power, b.f32(multiplier * coefficient)));
    power = b.mulF(power, square);
  }
  Value squaredScore = b.mulF(score, score), sum = coefficients.back();
  for (Value coefficient : llvm::reverse(ValueRange(coefficients).drop_back()))
    sum = b.fma(squaredScore, sum, coefficient);
  return b.fma(score, sum, addend);
}
