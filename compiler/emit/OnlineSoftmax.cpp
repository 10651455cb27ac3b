// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OnlineSoftmax.h"

#include "Ptx.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr double log2e = 1.4426950408889634;
/// How far exponents may exceed the reference. Probabilities round best where the largest ones are just below or at a
/// power of two, as with an exact maximum: with 1 the error of the output is 1 % above that, with 8 it is 4 %.
static constexpr double tolerated = 1;

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

Rescaling OnlineSoftmax::step(const ScorePlace &place, MutableArrayRef<Value> scores, SoftmaxState &state) {
  Rescaling rescaling = beginStep(place, scores, state);
  finishStep(scores, state);
  return rescaling;
}

Rescaling OnlineSoftmax::beginStep(const ScorePlace &place, MutableArrayRef<Value> scores, SoftmaxState &state) {
  applyScore(place, scores);
  hide(place, scores);
  return raiseReference({rowMaximum(ofRow(scores, 0)), rowMaximum(ofRow(scores, 1))}, state);
}

void OnlineSoftmax::finishStep(MutableArrayRef<Value> scores, SoftmaxState &state) {
  for (int64_t half = 0; half < 2; ++half) {
    Values row = ofRow(scores, half);
    // A row that has seen no key has the reference -inf, which must not be subtracted from itself.
    Value seen = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, state.reference[half], minusInfinity(b));
    Value negative = b.select(seen, arith::NegFOp::create(b, state.reference[half]), b.f32(0));
    for (Value &score : row)
      score = ptx::exp2(b, math::FmaOp::create(b, score, factor(), negative));
    Value sum = reduce(b, row, [&](Value x, Value y) { return add(b, x, y); });
    state.sum[half] = add(b, state.sum[half], sum);
    for (auto [index, probability] : llvm::enumerate(row))
      scores[4 * (index / 2) + 2 * half + index % 2] = probability;
  }
}

Values OnlineSoftmax::rescaled(ValueRange output, const Rescaling &rescaling) {
  Values values(output);
  for (auto [i, value] : llvm::enumerate(values))
    value = multiply(b, value, rescaling.factors[i % 4 / 2]);
  return values;
}

/// Any reference serves as long as no exponential overflows and the largest ones keep their precision. So it is
/// replaced only where the maximum exceeds it by more than what is tolerated, as in FlashAttention-4. `maxima` are of
/// this thread's keys; only a replacement needs those of the row.
Rescaling OnlineSoftmax::raiseReference(ValueRange maxima, SoftmaxState &state) {
  auto isHigh = [&](int64_t half) -> Value {
    Value limit = add(b, state.reference[half], b.f32(tolerated));
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, maxima[half], limit);
  };
  Type f32 = b.getF32Type();
  Rescaling rescaling;
  rescaling.isNeeded = ptx::anyInWarp(b, b.logicalOr(isHigh(0), isHigh(1)));
  auto raised = b.ifThenElse(
      rescaling.isNeeded, SmallVector<Type>(6, f32),
      [&] {
        Values references, factors, sums;
        for (int64_t half = 0; half < 2; ++half) {
          Value reference = larger(b, state.reference[half], overRow(maxima[half], larger));
          Value seen = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, reference, minusInfinity(b));
          Value subtrahend = b.select(seen, reference, b.f32(0));
          Value factor = ptx::exp2(b, arith::SubFOp::create(b, state.reference[half], subtrahend));
          references.push_back(reference);
          factors.push_back(factor);
          sums.push_back(multiply(b, state.sum[half], factor));
        }
        return Values{references[0], references[1], factors[0], factors[1], sums[0], sums[1]};
      },
      [&] { return Values{state.reference[0], state.reference[1], b.f32(1), b.f32(1), state.sum[0], state.sum[1]}; });
  state.reference = {raised[0], raised[1]};
  rescaling.factors = {raised[2], raised[3]};
  state.sum = {raised[4], raised[5]};
  return rescaling;
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

/// Changes scores by something that depends on their places, `ahead` scores at a time. Left to itself, the compiler
/// computes all places and addresses first, which takes the registers of the output. What keeps it in order is a true
/// dependence, as in the epilogues of products.
Values OnlineSoftmax::inOrder(const ScorePlace &place, ValueRange scores, size_t ahead, Change change) {
  Values changed;
  ScorePlace current = place;
  for (auto [index, score] : llvm::enumerate(scores)) {
    if (index >= ahead && index % 4 == 0)
      current = startAfter(place, changed[index - ahead]);
    changed.push_back(change(current, index, score));
  }
  return changed;
}

/// The same place, known only when `score` is: a zero made of it is added. The sign of a size is a zero, but no
/// compiler knows that.
ScorePlace OnlineSoftmax::startAfter(const ScorePlace &place, Value score) {
  Value zero = arith::AndIOp::create(b, arith::ShRSIOp::create(b, context.keys(), b.i32(31)),
                                     arith::BitcastOp::create(b, b.i32Type(), score));
  ScorePlace later = place;
  later.query = b.bitOr(place.query, zero);
  for (KeyPlace &block : later.blocks)
    block.firstKey = b.bitOr(block.firstKey, zero);
  return later;
}

void OnlineSoftmax::applyScore(const ScorePlace &place, MutableArrayRef<Value> scores) {
  Region &region = context.softmax.getScore();
  if (region.empty())
    return;
  Values changed =
      inOrder(place, ValueRange(scores), scoresAhead(region), [&](const ScorePlace &at, int64_t index, Value score) {
        // Whoever lets the ops of the region be regrouped has the factors merged.
        auto regroup = arith::FastMathFlags::reassoc;
        Value scaled = arith::MulFOp::create(b, score, scale(), regroup);
        return applyRegion(region, {scaled}, place, at, index);
      });
  llvm::copy(changed, scores.begin());
}

/// Scores that are under way at once: more where there are registers for them.
size_t OnlineSoftmax::scoresAhead(Region &region) {
  constexpr int64_t manyRegisters = 200;
  return loadsByPosition(region) || context.schedule.getConsumerRegisters() < manyRegisters ? 4 : 8;
}

/// Scores of invisible keys become infinitely unlikely. Most blocks lie wholly inside: only the others pay for it.
void OnlineSoftmax::hide(const ScorePlace &place, MutableArrayRef<Value> scores) {
  Value hidden = minusInfinity(b);
  if (context.softmax.getScore().empty() && context.softmax.getScale())
    hidden = b.select(isNegative(), b.f32(INFINITY), hidden);
  auto masked = b.ifThenElse(
      needsMask(place), SmallVector<Type>(scores.size(), b.getF32Type()),
      [&] {
        return inOrder(place, ValueRange(scores), scoresAhead(context.softmax.getMask()),
                       [&](const ScorePlace &at, int64_t index, Value score) {
                         return b.select(isVisible(place, at, index), score, hidden);
                       });
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

/// `at` is the same place as `place`, but known later (see inOrder).
Value OnlineSoftmax::applyRegion(Region &region, ArrayRef<Value> leading, const ScorePlace &place, const ScorePlace &at,
                                 int64_t index) {
  Values arguments(leading);
  llvm::append_range(arguments, Values{tile.batch, tile.head, queryOf(at, index), keyOf(at, index)});
  return context.applyRegion(region, arguments, [&](Operation &op) -> Value {
    auto convert = dyn_cast<arith::SIToFPOp>(op);
    auto sum = convert ? positionSum(convert.getIn()) : std::nullopt;
    return sum ? positionAsFloat(*sum, place, index) : Value();
  });
}

/// Sums of positions become floats by one conversion for all scores of a block, to which constants are added: the
/// conversions of all would take as long as the exponentials. Exact up to 2^24, beyond that within a unit in the last
/// place.
Value OnlineSoftmax::positionAsFloat(const PositionSum &sum, const ScorePlace &place, int64_t index) {
  const KeyPlace &block = blockOf(place, index);
  Value first = b.add(b.add(b.mul(place.query, sum.queries), b.mul(block.firstKey, sum.keys)), sum.constant);
  Value converted = arith::SIToFPOp::create(b, b.getF32Type(), first);
  int64_t queries = index % 4 / 2 * 8, keys = index / 4 * 8 % context.keyBlock + index % 2;
  return add(b, converted, b.f32(double(sum.queries * queries + sum.keys * keys)));
}

/// Whether any of a thread's scores may be invisible: the same for all threads of the warpgroup but for its rows.
Value OnlineSoftmax::needsMask(const ScorePlace &place) {
  Value needs = needsMask(place.blocks[0]);
  for (const KeyPlace &block : llvm::drop_begin(place.blocks))
    needs = b.logicalOr(needs, needsMask(block));
  return needs;
}

Value OnlineSoftmax::needsMask(const KeyPlace &block) {
  Value first = b.sub(block.firstKey, b.modulo(block.firstKey, context.keyBlock));
  Value last = b.add(first, context.keyBlock - 1);
  Value needs = b.compare(arith::CmpIPredicate::sge, last, context.keys());
  auto either = [&](Value condition) { needs = b.logicalOr(needs, condition); };
  Value firstPosition = b.add(tile.first, context.queryOffset());
  if (context.windowRight >= 0)
    either(b.compare(arith::CmpIPredicate::sgt, last, b.add(firstPosition, context.windowRight)));
  if (context.windowLeft >= 0)
    either(b.less(first, b.sub(b.add(firstPosition, context.tileRows - 1), context.windowLeft)));
  if (!context.softmax.getMask().empty())
    either(block.isPartial);
  return needs;
}

Value OnlineSoftmax::isVisible(const ScorePlace &place, const ScorePlace &at, int64_t index) {
  Value visible = context.isInReach(queryOf(at, index), keyOf(at, index));
  Region &mask = context.softmax.getMask();
  if (mask.empty())
    return visible;
  Value allowed = applyRegion(mask, {}, place, at, index);
  Value isFull = b.logicalNot(blockOf(place, index).isPartial);
  return b.logicalAnd(visible, b.logicalOr(isFull, allowed));
}
