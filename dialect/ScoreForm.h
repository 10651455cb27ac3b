// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The meaning of a whole score region of attention, where it saves instructions for every score.

#ifndef SPARSEC_DIALECT_SCOREFORM_H
#define SPARSEC_DIALECT_SCOREFORM_H

#include "ElementwiseRegion.h"

namespace sparsec {

/// Exponents of the softmax are those of 2.
inline constexpr double log2e = 1.4426950408889634;

/// score + sign * slope * f32(distance). The slope is a value of the region that is the same for a head: ALiBi.
struct LinearBias {
  mlir::Value slope;
  double sign;
  PositionSum distance;
};

/// The largest multiplier of a soft cap whose scores are computed with an error of at most 2^-10. Beyond, they are
/// exact.
inline constexpr double largestCap = 120;

/// multiplier * value: `value` is what is left to compute for each score, `multiplier` a positive constant.
struct ScaledScore {
  mlir::Value value;
  double multiplier;
  /// The value is tanh(score * ratio), a soft cap, of which probabilities do not show every bit.
  std::optional<double> capRatio;
  /// The hardware's precision of tanh is enough.
  bool hasApproximateCap = false;
  /// An m of the softmax, an exponent of 2, that serves whatever the scores are: they are known to be bounded, and
  /// neither probabilities nor their products with values leave the range of the element type and of f32.
  std::optional<double> fixedShift;

  /// The largest operand of tanh that a polynomial of degree 3 serves.
  double largestCubicOperand() const;
  /// The exponent of the power of two that makes scores of queries times keys, before their scale of 1 / sqrt(d), such
  /// that a polynomial of degree 3 serves those below 2. There is none where the polynomial serves many larger scores
  /// too, where m is not fixed, or where the power would not be from 2^-24 to 2^-1.
  std::optional<int64_t> exponentOfQueries(int64_t headDimension) const;
};

/// A score region; at most one of the two has a value. Without a region none has.
struct ScoreForm {
  ScoreForm() = default;
  /// `element` is the type of the probabilities.
  ScoreForm(mlir::Region &score, mlir::Type element);

  std::optional<LinearBias> bias;
  std::optional<ScaledScore> scaled;

  bool isCapped() const { return scaled && scaled->capRatio; }
  bool hasFixedShift() const { return scaled && scaled->fixedShift; }
};

} // namespace sparsec

#endif // SPARSEC_DIALECT_SCOREFORM_H
