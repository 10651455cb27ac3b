// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The errors of the polynomials of soft caps, which SPEC.md states (softmax/SoftCap.h).

#include "softmax/SoftCap.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace sparsec;

namespace {

/// Calls `see` with tanh and the polynomial, as a kernel computes it in f32, of operands that lie close together.
void sweep(const TanhPolynomial &polynomial, llvm::function_ref<void(double exact, double computed)> see) {
  constexpr int64_t operands = 100000;
  ShiftedPolynomial shifted(polynomial);
  for (int64_t i = 1; i <= operands; ++i) {
    float y = float(polynomial.largestOperand * double(i) / operands);
    float argument = std::fma(y, y, float(shifted.shift)), sum = argument;
    for (double constant : shifted.rest)
      sum = std::fma(argument, sum, float(constant));
    see(std::tanh(double(y)), double(y * float(shifted.leading) * sum));
  }
}

ScaledScore capOf(double multiplier, bool isApproximate) {
  ScaledScore score{};
  score.multiplier = multiplier;
  score.capRatio = 1 / multiplier;
  score.hasApproximateCap = isApproximate;
  return score;
}

TEST(SoftCapPolynomials, ApproximateOnesHaveTheRelativeErrorsOfTheSpecification) {
  llvm::ArrayRef<TanhPolynomial> polynomials = tanhPolynomials(capOf(20, /*isApproximate=*/true));
  constexpr double operands[] = {0.4, 0.99}, errors[] = {4.0e-4, 2.9e-4};
  ASSERT_EQ(polynomials.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    double largest = 0;
    sweep(polynomials[i],
          [&](double exact, double computed) { largest = std::max(largest, std::abs(computed - exact) / exact); });
    EXPECT_EQ(polynomials[i].largestOperand, operands[i]);
    EXPECT_LE(largest, errors[i]);
  }
}

TEST(SoftCapPolynomials, OthersHaveAnErrorOfTwoToMinusTenOfAScore) {
  for (double cap : {1.0, 20.0, 30.0, 31.0, 50.0, 51.0, largestCap})
    for (const TanhPolynomial &polynomial : tanhPolynomials(capOf(cap, /*isApproximate=*/false))) {
      double largest = 0;
      sweep(polynomial,
            [&](double exact, double computed) { largest = std::max(largest, std::abs(computed - exact)); });
      EXPECT_LE(largest * cap, 0x1p-10) << cap << " up to " << polynomial.largestOperand;
    }
}

TEST(SoftCapPolynomials, ScoreFormKnowsTheRangeOfTheFirstOne) {
  for (double cap : {20.0, 30.0, 31.0, 50.0, 51.0, largestCap})
    for (bool isApproximate : {false, true}) {
      ScaledScore score = capOf(cap, isApproximate);
      EXPECT_EQ(score.largestCubicOperand(), tanhPolynomials(score).front().largestOperand) << cap;
    }
}

} // namespace
