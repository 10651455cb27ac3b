// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FixedShift.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// The exponent of an invisible key: 2^-127 is flushed to zero.
static constexpr double hiddenExponent = -127;

RowState FixedShift::begin() {
  RowState rows = emptyRows(b, *score.fixedShift);
  if (context.queryExponent != 0)
    rows.hadTwo = {b.boolean(false)};
  return rows;
}

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
  Value isHidden = mask.isNeeded(positions);
  struct Finished {
    Values probabilities, l;
    auto fields() { return std::tie(probabilities, l); }
  };
  SmallVector<Type> types(scores.size() + rows.l.size(), b.getF32Type());
  auto finish = [&](const TanhPolynomial *polynomial) {
    RowState changed = rows;
    Values probabilities =
        polynomial ? finishByPolynomial(*polynomial, scores, changed) : finishByRegion(positions, scores, changed);
    return packState(Finished{probabilities, changed.l});
  };
  Values values = rows.hadTwo.empty() ? cap.withPolynomial(scores, isHidden, types, finish)
                                      : cap.withTestOfBits(scores, isHidden, rows.hadTwo.front(), types, finish);
  auto finished = unpackState(values, Finished{Values(scores), rows.l});
  rows.l = finished.l;
  return finished.probabilities;
}
