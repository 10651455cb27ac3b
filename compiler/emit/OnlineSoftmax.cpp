// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OnlineSoftmax.h"

#include "Ptx.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr double log2e = 1.4426950408889634;

static Value multiply(KernelBuilder &b, Value left, Value right) { return arith::MulFOp::create(b, left, right); }
static Value add(KernelBuilder &b, Value left, Value right) { return arith::AddFOp::create(b, left, right); }
static Value larger(KernelBuilder &b, Value left, Value right) { return arith::MaxNumFOp::create(b, left, right); }
static Value minusInfinity(KernelBuilder &b) { return b.f32(-INFINITY); }

SoftmaxState OnlineSoftmax::begin() { return {Values{minusInfinity(b), minusInfinity(b)}, Values{b.f32(0), b.f32(0)}}; }

/// Four chains, so that no instruction waits for the one before.
static Value reduce(KernelBuilder &b, ValueRange values, function_ref<Value(Value, Value)> combine) {
  Values chains(values.take_front(4));
  for (auto [index, value] : llvm::enumerate(values.drop_front(4)))
    chains[index % 4] = combine(chains[index % 4], value);
  return combine(combine(chains[0], chains[1]), combine(chains[2], chains[3]));
}

static Values ofRow(ValueRange scores, int64_t half) {
  Values row;
  for (size_t index = 2 * half; index < scores.size(); index += 4)
    row.append({scores[index], scores[index + 1]});
  return row;
}

Values OnlineSoftmax::step(const ScorePlace &place, MutableArrayRef<Value> scores, SoftmaxState &state) {
  applyScore(place, scores);
  hide(place, scores);
  Values factors;
  for (int64_t half = 0; half < 2; ++half) {
    Values row = ofRow(scores, half);
    Value maximum = larger(b, state.maximum[half], overRow(rowMaximum(row), larger));
    // A row that has seen no key keeps -inf; it must not be subtracted from itself.
    Value seen = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, maximum, minusInfinity(b));
    Value reference = b.select(seen, maximum, b.f32(0));
    Value negative = arith::NegFOp::create(b, reference);
    for (Value &score : row)
      score = ptx::exp2(b, math::FmaOp::create(b, score, factor(), negative));
    Value rescale = ptx::exp2(b, add(b, state.maximum[half], negative));
    Value sum = reduce(b, row, [&](Value x, Value y) { return add(b, x, y); });
    state.sum[half] = math::FmaOp::create(b, state.sum[half], rescale, sum);
    state.maximum[half] = maximum;
    factors.push_back(rescale);
    for (auto [index, probability] : llvm::enumerate(row))
      scores[4 * (index / 2) + 2 * half + index % 2] = probability;
  }
  return factors;
}

/// What a score is to be multiplied by to be an exponent of 2. After a score region that is a constant; else it is the
/// scale too, which no instruction of its own multiplies by. It must not be zero, because hidden scores are infinite.
Value OnlineSoftmax::factor() {
  if (!context.softmax.getScore().empty())
    return b.f32(log2e);
  Value factor = multiply(b, scale(), b.f32(log2e));
  Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, factor, b.f32(0));
  return b.select(isZero, b.f32(1e-30), factor);
}

Value OnlineSoftmax::isNegative() { return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, factor(), b.f32(0)); }

/// The largest exponent of a thread's part of a row: that of the smallest score where the scale is negative.
Value OnlineSoftmax::rowMaximum(ValueRange row) {
  auto largest = [&] { return Values{reduce(b, row, [&](Value x, Value y) { return larger(b, x, y); })}; };
  if (!context.softmax.getScore().empty() || !context.softmax.getScale())
    return multiply(b, largest()[0], factor());
  auto smallest = [&] {
    return Values{reduce(b, row, [&](Value x, Value y) -> Value { return arith::MinNumFOp::create(b, x, y); })};
  };
  return multiply(b, b.ifThenElse(isNegative(), b.getF32Type(), smallest, largest)[0], factor());
}

void OnlineSoftmax::applyScore(const ScorePlace &place, MutableArrayRef<Value> scores) {
  Region &region = context.softmax.getScore();
  if (region.empty())
    return;
  for (auto [index, score] : llvm::enumerate(scores))
    score = applyRegion(region, {multiply(b, score, scale())}, place, index);
}

/// Scores of invisible keys become infinitely unlikely. Most blocks lie wholly inside: only the others pay for it.
void OnlineSoftmax::hide(const ScorePlace &place, MutableArrayRef<Value> scores) {
  Value hidden = minusInfinity(b);
  if (context.softmax.getScore().empty() && context.softmax.getScale())
    hidden = b.select(isNegative(), b.f32(INFINITY), hidden);
  auto masked = b.ifThenElse(
      needsMask(place), SmallVector<Type>(scores.size(), b.getF32Type()),
      [&] {
        Values values;
        for (auto [index, score] : llvm::enumerate(scores))
          values.push_back(b.select(isVisible(place, index), score, hidden));
        return values;
      },
      [&] { return Values(scores.begin(), scores.end()); });
  llvm::copy(masked, scores.begin());
}

void OnlineSoftmax::finish(SoftmaxState &state) {
  for (Value &sum : state.sum)
    sum = overRow(sum, add);
}

/// Combines the values of the four threads that share a row.
Value OnlineSoftmax::overRow(Value value, function_ref<Value(KernelBuilder &, Value, Value)> combine) {
  for (int64_t mask : {1, 2}) {
    Value bits = arith::BitcastOp::create(b, b.i32Type(), value);
    Value other = arith::BitcastOp::create(b, b.getF32Type(), ptx::exchange(b, bits, mask));
    value = combine(b, value, other);
  }
  return value;
}

Value OnlineSoftmax::scale() {
  if (Value scale = context.softmax.getScale())
    return context.parameters.get(ParameterKind::scalar, cast<BlockArgument>(scale).getArgNumber());
  return b.f32(1 / std::sqrt(double(context.headDimension)));
}

Value OnlineSoftmax::applyRegion(Region &region, ArrayRef<Value> leading, const ScorePlace &place, int64_t index) {
  Values arguments(leading);
  llvm::append_range(arguments, Values{tile.batch, tile.head, queryOf(place, index), keyOf(place, index)});
  return context.applyRegion(region, arguments);
}

/// Whether any of a thread's scores may be invisible: the same for all threads of the warpgroup but for its rows.
Value OnlineSoftmax::needsMask(const ScorePlace &place) {
  Value block = b.divide(place.firstKey, context.keyBlock);
  Value first = b.mul(block, context.keyBlock), last = b.add(first, context.keyBlock - 1);
  Value needs = b.compare(arith::CmpIPredicate::sge, last, context.keys());
  auto either = [&](Value condition) { needs = arith::OrIOp::create(b, needs, condition); };
  Value firstPosition = b.add(tile.first, context.queryOffset());
  if (context.windowRight >= 0)
    either(b.compare(arith::CmpIPredicate::sgt, last, b.add(firstPosition, context.windowRight)));
  if (context.windowLeft >= 0)
    either(b.less(first, b.sub(b.add(firstPosition, context.tileRows - 1), context.windowLeft)));
  if (!context.softmax.getMask().empty())
    either(place.isPartial);
  return needs;
}

Value OnlineSoftmax::isVisible(const ScorePlace &place, int64_t index) {
  Value visible = context.isInReach(queryOf(place, index), keyOf(place, index));
  Region &mask = context.softmax.getMask();
  if (mask.empty())
    return visible;
  Value allowed = applyRegion(mask, {}, place, index);
  Value isFull = b.logicalNot(place.isPartial);
  return b.logicalAnd(visible, arith::OrIOp::create(b, isFull, allowed));
}
