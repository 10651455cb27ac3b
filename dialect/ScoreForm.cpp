// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScoreForm.h"

#include "SparsecDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace sparsec;

/// Whether a value of the region depends on the head and the batch at most. Their elements are loaded once a tile;
/// those of computed indices are not, and do not count.
static bool isOfHead(Value value) {
  llvm::SetVector<Value> needed;
  needed.insert(value);
  for (size_t i = 0; i < needed.size(); ++i) { // grows
    Operation *op = needed[i].getDefiningOp();
    bool isArgumentOfHead = placeOfIndex(needed[i]) == 0 || placeOfIndex(needed[i]) == 1;
    if (!op && !isArgumentOfHead)
      return false;
    auto element = dyn_cast_or_null<ElementOp>(op);
    if (element && !isLoadOfTile(element))
      return false;
    if (op && !element)
      needed.insert_range(op->getOperands());
  }
  return true;
}

/// slope * f32(distance), in either order.
static std::optional<LinearBias> slopeTimesDistance(Value left, Value right, double sign) {
  for (auto [slope, factor] : {std::pair(left, right), std::pair(right, left)}) {
    auto convert = factor.getDefiningOp<arith::SIToFPOp>();
    auto distance = convert ? positionSum(convert.getIn()) : std::nullopt;
    if (distance && isOfHead(slope))
      return LinearBias{slope, sign, *distance};
  }
  return std::nullopt;
}

static std::optional<LinearBias> product(Value value, double sign) {
  auto multiply = value.getDefiningOp<arith::MulFOp>();
  return multiply ? slopeTimesDistance(multiply.getLhs(), multiply.getRhs(), sign) : std::nullopt;
}

static std::optional<LinearBias> linearBias(Region &score) {
  Value s = score.getArgument(0), result = yieldedValue(score);
  if (auto fma = result.getDefiningOp<math::FmaOp>())
    return fma.getC() == s ? slopeTimesDistance(fma.getA(), fma.getB(), 1) : std::nullopt;
  if (auto add = result.getDefiningOp<arith::AddFOp>()) {
    if (add.getLhs() == s)
      return product(add.getRhs(), 1);
    return add.getRhs() == s ? product(add.getLhs(), 1) : std::nullopt;
  }
  if (auto subtract = result.getDefiningOp<arith::SubFOp>())
    return subtract.getLhs() == s ? product(subtract.getRhs(), -1) : std::nullopt;
  return std::nullopt;
}

/// A finite constant that is not zero.
static std::optional<double> constantFactor(Value constant) {
  FloatAttr attribute;
  if (!matchPattern(constant, m_Constant(&attribute)) || !attribute.getValue().isFiniteNonZero())
    return std::nullopt;
  return attribute.getValueAsDouble();
}

static bool isApproximate(math::TanhOp tanh) {
  return arith::bitEnumContainsAll(tanh.getFastmath(), arith::FastMathFlags::afn);
}

/// The form of tanh(score * ratio) or tanh(score / cap), unless it is to be exact.
static std::optional<double> capRatio(Value value, Value score) {
  auto tanh = value.getDefiningOp<math::TanhOp>();
  if (!tanh || tanh->hasAttr(exactAttribute))
    return std::nullopt;
  if (auto multiply = tanh.getOperand().getDefiningOp<arith::MulFOp>()) {
    if (multiply.getLhs() == score)
      return constantFactor(multiply.getRhs());
    return multiply.getRhs() == score ? constantFactor(multiply.getLhs()) : std::nullopt;
  }
  auto divide = tanh.getOperand().getDefiningOp<arith::DivFOp>();
  auto cap = divide && divide.getLhs() == score ? constantFactor(divide.getRhs()) : std::nullopt;
  return cap ? std::optional(1 / *cap) : std::nullopt;
}

/// No magnitude of the value is larger, where that is known.
static std::optional<double> bound(Value value) {
  bool isBounded = isa_and_nonnull<math::TanhOp, math::ErfOp, math::SinOp, math::CosOp>(value.getDefiningOp());
  return isBounded ? std::optional(1.0) : std::nullopt;
}

/// The exponents lie between -100 and 50. Half-precision probabilities have too few exponents for that.
static std::optional<double> fixedShift(double largestExponent, Type element) {
  constexpr double lowest = -100, highest = 50;
  if (!element.isBF16() || 2 * largestExponent > highest - lowest)
    return std::nullopt;
  return std::min(largestExponent, -lowest - largestExponent);
}

/// With a larger or smaller multiplier that of exponents could overflow, or lose digits.
static bool isModerate(double multiplier) { return multiplier >= 0x1p-64 && multiplier <= 0x1p64; }

static ScaledScore scaledScore(Region &score, Type element) {
  ScaledScore scaled{yieldedValue(score), 1, std::nullopt, false, std::nullopt};
  if (auto multiply = scaled.value.getDefiningOp<arith::MulFOp>())
    for (auto [constant, value] :
         {std::pair(multiply.getLhs(), multiply.getRhs()), std::pair(multiply.getRhs(), multiply.getLhs())})
      if (auto factor = constantFactor(constant); factor && isModerate(*factor)) {
        scaled.value = value;
        scaled.multiplier = *factor;
        break;
      }
  scaled.capRatio = capRatio(scaled.value, score.getArgument(0));
  scaled.hasApproximateCap = scaled.capRatio && isApproximate(scaled.value.getDefiningOp<math::TanhOp>());
  if (!scaled.hasApproximateCap && scaled.multiplier > largestCap)
    scaled.capRatio = std::nullopt;
  if (auto largest = bound(scaled.value))
    scaled.fixedShift = fixedShift(*largest * scaled.multiplier * log2e, element);
  return scaled;
}

ScoreForm::ScoreForm(Region &score, Type element) {
  if (score.empty())
    return;
  bias = linearBias(score);
  if (!bias)
    scaled = scaledScore(score, element);
}

double ScaledScore::largestCubicOperand() const {
  if (hasApproximateCap)
    return 0.4;
  return multiplier <= 30 ? 0.33 : multiplier <= 50 ? 0.29 : 0.25;
}

std::optional<int64_t> ScaledScore::exponentOfQueries(int64_t headDimension) const {
  // The limit may be a power of two but for the rounding of the ratio.
  constexpr double slack = 1 + 0x1p-20, leastPart = 0.7;
  // Larger queries might overflow, and much smaller ones lose bits.
  constexpr int64_t leastExponent = -24, largestExponent = -1;
  if (!capRatio || !fixedShift)
    return std::nullopt;
  double limit = slack * largestCubicOperand() * std::sqrt(double(headDimension)) / std::abs(*capRatio);
  auto exponent = -int64_t(std::floor(std::log2(limit / 2)));
  if (exponent < leastExponent || exponent > largestExponent || std::ldexp(2.0, int(-exponent)) < leastPart * limit)
    return std::nullopt;
  return exponent;
}
