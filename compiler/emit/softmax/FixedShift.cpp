// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FixedShift.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// The exponent of an invisible key: 2^-127 is flushed to zero.
static constexpr double hiddenExponent = -127;

Values FixedShift::finishStep(const ScorePositions &positions, ValueRange scores, RowState &rows) {
  return score.capRatio ? finishCapped(positions, scores, rows) : finishByRegion(positions, scores, rows);
}

Values FixedShift::finishByRegion(const ScorePositions &positions, ValueRange scores, RowState &rows) {
  Values transformed = transform.applyRegion(positions, scores);
  Value hidden = b.f32((*score.fixedShift + hiddenExponent) / (score.multiplier * log2e));
  Values masked = mask.hide(positions, transformed, hidden);
  return exponentiate(masked, rows);
}

/// The coefficients include the factor that makes a score an exponent, so that it takes no instruction.
Values FixedShift::finishByPolynomial(const TanhPolynomial &polynomial, ValueRange scores, RowState &rows) {
  return exponentiate(scores, rows, [&](Value product, Value negativeM) {
    return cap.evaluate(polynomial, product, score.multiplier * log2e, negativeM);
  });
}

/// Polynomials and exponentials are in one branch, so that they share the instruction slots. A step with hidden scores
/// takes the region, because a polynomial would change them.
Values FixedShift::finishCapped(const ScorePositions &positions, ValueRange scores, RowState &rows) {
  Value magnitude = b.select(mask.isNeeded(positions), b.f32(INFINITY), cap.largestMagnitude(scores));
  struct Finished {
    Values probabilities, l;
    auto fields() { return std::tie(probabilities, l); }
  };
  SmallVector<Type> types(scores.size() + rows.l.size(), b.getF32Type());
  Values values = cap.withPolynomial(magnitude, types, [&](const TanhPolynomial *polynomial) {
    RowState changed = rows;
    Values probabilities =
        polynomial ? finishByPolynomial(*polynomial, scores, changed) : finishByRegion(positions, scores, changed);
    return packState(Finished{probabilities, changed.l});
  });
  auto finished = unpackState(values, Finished{Values(scores), rows.l});
  rows.l = finished.l;
  return finished.probabilities;
}
