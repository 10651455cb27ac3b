// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OnlineSoftmax.h"

#include "LongRegion.h"
#include "Ptx.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// How far exponents may exceed the reference. Probabilities round best where the largest ones are just below or at a
/// power of two, as with an exact maximum: with 1 the error of the output is 1 to 2 % above that, with 8 it is 4 %.
/// This is less than half of what bf16 rounds to 1, so that a reference is not replaced because it was rounded itself.
static constexpr double tolerated = 0x1p-9;
static constexpr size_t chainsOfMaximum = 4;
/// Of a row that has seen no key: finite, so that -inf of an invisible key minus the reference is -inf.
static constexpr double lowestReference = -std::numeric_limits<float>::max();
/// Of an invisible key where a reference serves all scores: 2^-127 is flushed to zero.
static constexpr double hiddenExponent = -127;
static constexpr double cubic[] = {0x1.ffcbccp-1, -0x1.40b056p-2};
static constexpr double quintic[] = {0x1.ffe3d8p-1, -0x1.4e20bap-2, 0x1.8ec49ep-4};
/// From the fewest multiply-adds to the most: one more for each score costs 5 to 10 % of a kernel's time.
static constexpr TanhPolynomial tanhPolynomials[] = {{0.4, cubic}, {0.75, quintic}};
/// Where the coefficients with powers of a cap's ratio and the multiplier are normal numbers.
static constexpr double smallestRatio = 0x1p-14, largestRatio = 0x1p14;

static Value multiply(KernelBuilder &b, Value left, Value right) { return arith::MulFOp::create(b, left, right); }
static Value add(KernelBuilder &b, Value left, Value right) { return arith::AddFOp::create(b, left, right); }
static Value larger(KernelBuilder &b, Value left, Value right) { return arith::MaxNumFOp::create(b, left, right); }

SoftmaxState OnlineSoftmax::begin() {
  Value first = b.f32(form.hasReference() ? *form.scaled->reference : lowestReference);
  return {Values{first, first}, Values{b.f32(0), b.f32(0)}};
}

/// As chains, a power of two, so that no instruction waits for the one before.
static Value reduce(KernelBuilder &b, ValueRange values, size_t count, function_ref<Value(Value, Value)> combine) {
  Values chains(values.take_front(count));
  for (auto [index, value] : llvm::enumerate(values.drop_front(count)))
    chains[index % count] = combine(chains[index % count], value);
  for (; count > 1; count /= 2)
    for (size_t i = 0; i < count / 2; ++i)
      chains[i] = combine(chains[2 * i], chains[2 * i + 1]);
  return chains[0];
}

/// Of a row of a thread. Measured: short rows lose 2 % with four, long ones 1 % with two.
static size_t chainsOfSum(size_t scores) { return scores >= 32 ? 4 : 2; }

static Values ofRow(ValueRange scores, int64_t half) {
  Values row;
  for (size_t index = 2 * half; index < scores.size(); index += 4)
    row.append({scores[index], scores[index + 1]});
  return row;
}

Rescaling OnlineSoftmax::beginStep(const ScorePlace &place, MutableArrayRef<Value> scores, SoftmaxState &state) {
  if (form.hasReference())
    return {arith::ConstantOp::create(b, b.getBoolAttr(false)), Values(2, b.f32(1))};
  if (form.isCapped())
    applyCap(place, scores);
  else
    applyScore(place, scores);
  hide(place, scores);
  return raiseReference(rowMaxima(scores, state), state);
}

Values OnlineSoftmax::finishStep(const ScorePlace &place, MutableArrayRef<Value> scores, SoftmaxState &state) {
  if (form.hasReference() && form.isCapped())
    return finishCapped(place, ValueRange(scores), state);
  if (form.hasReference()) {
    applyScore(place, scores);
    hide(place, scores);
  }
  return probabilities(ValueRange(scores), state);
}

/// What computes the exponents shares the instruction slots with the exponentials. Hidden scores are not for
/// polynomials.
Values OnlineSoftmax::finishCapped(const ScorePlace &place, ValueRange scores, SoftmaxState &state) {
  Value magnitude = b.select(needsMask(place), b.f32(INFINITY), largestMagnitude(scores));
  SmallVector<Type> types(scores.size() + 2, b.getF32Type());
  Values done = byMagnitude(tanhPolynomials, magnitude, types, [&](const TanhPolynomial *polynomial) {
    SoftmaxState changed = state;
    Values values(scores);
    if (polynomial) {
      values = probabilities(scores, changed, [&](Value score, Value negative) {
        return capped(*polynomial, score, form.scaled->multiplier * log2e, negative);
      });
    } else {
      applyScore(place, values);
      hide(place, values);
      values = probabilities(ValueRange(values), changed);
    }
    llvm::append_range(values, changed.sum);
    return values;
  });
  ValueRange results(done);
  state.sum = Values(results.take_back(2));
  return Values(results.drop_back(2));
}

/// Also added to the sums. `exponent` is the product with the factor where it is not given.
Values OnlineSoftmax::probabilities(ValueRange scores, SoftmaxState &state, Exponent exponent) {
  Values changed(scores);
  for (int64_t half = 0; half < 2; ++half) {
    Values row = ofRow(scores, half);
    Value negative = arith::NegFOp::create(b, state.reference[half]);
    for (Value &score : row)
      score = ptx::exp2(b, exponent ? exponent(score, negative) : exponentBy(score, negative));
    Value sum = reduce(b, row, chainsOfSum(row.size()), [&](Value x, Value y) { return add(b, x, y); });
    state.sum[half] = add(b, state.sum[half], sum);
    for (auto [index, probability] : llvm::enumerate(row))
      changed[4 * (index / 2) + 2 * half + index % 2] = probability;
  }
  return changed;
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
    Value least = exponentBy(maxima[half], b.f32(-tolerated));
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, least, state.reference[half]);
  };
  Type f32 = b.getF32Type();
  Rescaling rescaling;
  Value isFirstHigh = isHigh(0);
  rescaling.isNeeded = ptx::anyInWarp(b, b.logicalOr(isFirstHigh, isHigh(1)));
  auto raised = b.ifThenElse(
      rescaling.isNeeded, SmallVector<Type>(6, f32),
      [&] {
        Values first = raiseRow(maxima[0], state, 0), second = raiseRow(maxima[1], state, 1);
        return Values{first[0], second[0], first[1], second[1], first[2], second[2]};
      },
      [&] {
        // Nobody asks for the factors.
        Value none = LLVM::PoisonOp::create(b, f32);
        return Values{state.reference[0], state.reference[1], none, none, state.sum[0], state.sum[1]};
      });
  state.reference = {raised[0], raised[1]};
  rescaling.factors = {raised[2], raised[3]};
  state.sum = {raised[4], raised[5]};
  return rescaling;
}

/// The new reference of a row, what the output is to be multiplied by, and the sum.
///
/// A reference of 2^13 is rounded by up to 2^-11, so that the largest probability is not 1 but that far from it. f16
/// rounds that, where bf16 makes a 1 of it: the sum gets what the product with the values gets.
Values OnlineSoftmax::raiseRow(Value maximum, const SoftmaxState &state, int64_t half) {
  Value exponent = multiply(b, maximum, factor());
  Value reference = larger(b, state.reference[half], overRow(exponent, larger));
  Value decay = ptx::exp2(b, arith::SubFOp::create(b, state.reference[half], reference));
  Value sum = multiply(b, state.sum[half], decay);
  if (context.element.isF16()) {
    Value isReference = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, exponent, reference);
    Value largest = exponentBy(maximum, arith::NegFOp::create(b, reference));
    sum = add(b, sum, b.select(isReference, roundingOf(largest), b.f32(0)));
  }
  return {reference, decay, sum};
}

Value OnlineSoftmax::exponentBy(Value score, Value negativeReference) {
  return math::FmaOp::create(b, score, factor(), negativeReference);
}

/// What rounding to the element type adds to the probability of an exponent.
Value OnlineSoftmax::roundingOf(Value exponent) {
  Value probability = ptx::exp2(b, exponent);
  Value rounded = arith::TruncFOp::create(b, context.element, probability);
  return arith::SubFOp::create(b, arith::ExtFOp::create(b, b.getF32Type(), rounded), probability);
}

/// What a score is to be multiplied by to be an exponent of 2. After a score region that is a constant; else it is the
/// scale too, which no instruction of its own multiplies by. It must not be zero, because hidden scores are infinite,
/// nor so small that a bias in terms of products overflows.
Value OnlineSoftmax::factor() {
  if (form.scaled)
    return b.f32(form.scaled->multiplier * log2e);
  Value factor = multiply(b, scale(), b.f32(log2e));
  constexpr double smallest = 1e-30;
  Value magnitude = math::AbsFOp::create(b, factor);
  Value isTiny = arith::CmpFOp::create(b, form.bias ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OEQ, magnitude,
                                       b.f32(form.bias ? smallest : 0));
  return b.select(isTiny, b.f32(smallest), factor);
}

Value OnlineSoftmax::isNegative() { return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, factor(), b.f32(0)); }

/// The scores of the largest exponents of a thread's parts of the two rows: the smallest where the scale is negative.
/// Where no reference is negative, so that only positive exponents can exceed it, the bits of the scores serve:
/// positive floats are in the order of their bits, of which Hopper compares three at once. Whatever comes out for
/// negative scores alone is negative.
Values OnlineSoftmax::rowMaxima(ValueRange scores, const SoftmaxState &state) {
  using Reduce = function_ref<Value(ValueRange)>;
  auto ofRows = [&](Reduce reduceRow) { return Values{reduceRow(ofRow(scores, 0)), reduceRow(ofRow(scores, 1))}; };
  auto largest = [&] {
    return ofRows([&](ValueRange row) {
      return reduce(b, row, chainsOfMaximum, [&](Value x, Value y) { return larger(b, x, y); });
    });
  };
  auto smallest = [&] {
    return ofRows([&](ValueRange row) {
      return reduce(b, row, chainsOfMaximum,
                    [&](Value x, Value y) -> Value { return arith::MinNumFOp::create(b, x, y); });
    });
  };
  auto largestBits = [&] { return ofRows([&](ValueRange row) { return largestByBits(row); }); };
  auto isNegative = [&](int64_t half) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, state.reference[half], b.f32(0));
  };
  SmallVector<Type> types(2, b.getF32Type());
  bool mayBeNegative = !form.scaled && context.softmax.getScale();
  auto floats = [&] { return mayBeNegative ? b.ifThenElse(this->isNegative(), types, smallest, largest) : largest(); };
  auto floatsOrBits = [&] {
    Value needsFloats = ptx::anyInWarp(b, b.logicalOr(isNegative(0), isNegative(1)));
    if (mayBeNegative)
      needsFloats = b.logicalOr(needsFloats, this->isNegative());
    return b.ifThenElse(needsFloats, types, floats, largestBits);
  };
  bool isHopper = context.schedule.getInstruction() == Instruction::wgmma;
  return isHopper ? floatsOrBits() : floats();
}

Value OnlineSoftmax::largestByBits(ValueRange values) {
  Values bits;
  for (Value value : values)
    bits.push_back(arith::BitcastOp::create(b, b.i32Type(), value));
  auto largerBits = [&](Value x, Value y) -> Value { return arith::MaxSIOp::create(b, x, y); };
  Values chains(ValueRange(bits).take_front(chainsOfMaximum));
  for (size_t index = chainsOfMaximum; index < bits.size(); index += 2) {
    Value &chain = chains[index / 2 % chainsOfMaximum];
    chain = largerBits(largerBits(chain, bits[index]), bits[index + 1]);
  }
  return arith::BitcastOp::create(b, b.getF32Type(), reduce(b, chains, chainsOfMaximum, largerBits));
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

/// As inOrder, for a long region.
Values OnlineSoftmax::inLoop(const ScorePlace &place, Region &region, ValueRange scores, ChangeAlone change) {
  return changeInLoop(context, region, scores,
                      [&](Value index, Value score) { return change(placeOf(place, index), score); });
}

/// Score 4 * group + 2 * half + index of the fragment.
OnlineSoftmax::LonePlace OnlineSoftmax::placeOf(const ScorePlace &place, Value index) {
  Value column = b.shiftLeft(b.divide(index, 4), 3), half = b.bitAnd(b.shiftRight(index, 1), 1);
  LonePlace lone = {b.add(place.query, b.shiftLeft(half, 3)), place.blocks[0].firstKey, place.blocks[0].isPartial};
  Value inBlock = column;
  if (place.blocks.size() > 1) {
    Value isFirst = b.less(column, context.keyBlock);
    lone.key = b.select(isFirst, lone.key, place.blocks[1].firstKey);
    lone.isPartial = b.select(isFirst, lone.isPartial, place.blocks[1].isPartial);
    inBlock = b.modulo(column, context.keyBlock);
  }
  lone.key = b.add(lone.key, b.add(inBlock, b.bitAnd(index, 1)));
  return lone;
}

void OnlineSoftmax::applyScore(const ScorePlace &place, MutableArrayRef<Value> scores) {
  if (!form.scaled)
    return;
  Region &region = context.softmax.getScore();
  auto factored = [&](Value score) -> Value {
    // Whoever lets the ops of the region be regrouped has the factors merged.
    return arith::MulFOp::create(b, score, scale(), arith::FastMathFlags::reassoc);
  };
  Values changed;
  if (isLong(region))
    changed = inLoop(place, region, ValueRange(scores), [&](const LonePlace &at, Value score) {
      return applyRegion(region, {factored(score)}, at.query, at.key);
    });
  else
    changed =
        inOrder(place, ValueRange(scores), scoresAhead(region), [&](const ScorePlace &at, int64_t index, Value score) {
          return applyRegion(region, {factored(score)}, place, at, index);
        });
  llvm::copy(changed, scores.begin());
}

//===----------------------------------------------------------------------===//
// Linear biases
//===----------------------------------------------------------------------===//

/// What is to be added to the products of queries and keys so that the factor makes exponents of both: one multiply-add
/// for each score, of which the slope, the distance of the first score and a constant are the operands.
Values OnlineSoftmax::firstSums(const ScorePlace &place, int64_t count) {
  Values sums(count, b.f32(0));
  if (!form.bias)
    return sums;
  Value slope = biasSlope();
  for (auto [index, sum] : llvm::enumerate(sums)) {
    double step = positionStep(form.bias->distance, index);
    sum = math::FmaOp::create(b, slope, b.f32(step),
                              multiply(b, slope, firstPosition(form.bias->distance, place, index)));
  }
  return sums;
}

/// In terms of products.
Value OnlineSoftmax::biasSlope() {
  Value zero = b.i32(0);
  Value slope = context.applyRegion(context.softmax.getScore(), {b.f32(0), tile.batch, tile.head, zero, zero},
                                    /*replace=*/{}, form.bias->slope);
  return multiply(b, slope, arith::DivFOp::create(b, b.f32(form.bias->sign * log2e), factor()));
}

//===----------------------------------------------------------------------===//
// Soft caps
//===----------------------------------------------------------------------===//

/// What a product is to be multiplied by to be the operand of tanh.
Value OnlineSoftmax::capRatio() { return multiply(b, scale(), b.f32(*form.scaled->capRatio)); }

/// Magnitudes are in the order of their bits, of which Hopper compares three at once.
Value OnlineSoftmax::largestMagnitude(ValueRange scores) {
  Values pairs;
  for (size_t index = 0; index < scores.size(); index += 2)
    pairs.push_back(larger(b, math::AbsFOp::create(b, scores[index]), math::AbsFOp::create(b, scores[index + 1])));
  return largestByBits(pairs);
}

/// Computes with the first polynomial that serves for all scores of the warp, or with none. `magnitude` is the largest
/// of this thread's scores.
Values OnlineSoftmax::byMagnitude(ArrayRef<TanhPolynomial> polynomials, Value magnitude, ArrayRef<Type> types,
                                  function_ref<Values(const TanhPolynomial *)> compute) {
  if (polynomials.empty())
    return compute(nullptr);
  Value limit = largestScore(polynomials.front());
  Value isBeyond = arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, magnitude, limit);
  return b.ifThenElse(
      ptx::anyInWarp(b, isBeyond), types,
      [&] { return byMagnitude(polynomials.drop_front(), magnitude, types, compute); },
      [&] { return compute(&polynomials.front()); });
}

/// With a limit of -1 no score passes.
Value OnlineSoftmax::largestScore(const TanhPolynomial &polynomial) {
  Value ratio = math::AbsFOp::create(b, capRatio());
  auto compare = [&](arith::CmpFPredicate predicate, double limit) -> Value {
    return arith::CmpFOp::create(b, predicate, ratio, b.f32(limit));
  };
  Value isModerate =
      b.logicalAnd(compare(arith::CmpFPredicate::OGE, smallestRatio), compare(arith::CmpFPredicate::OLE, largestRatio));
  return b.select(isModerate, arith::DivFOp::create(b, b.f32(polynomial.largestOperand), ratio), b.f32(-1));
}

/// multiplier * tanh(ratio * score) + addend.
Value OnlineSoftmax::capped(const TanhPolynomial &polynomial, Value score, double multiplier, Value addend) {
  Value ratio = capRatio(), square = multiply(b, ratio, ratio), power = ratio;
  Values coefficients;
  for (double coefficient : polynomial.coefficients) {
    coefficients.push_back(multiply(b, power, b.f32(multiplier * coefficient)));
    power = multiply(b, power, square);
  }
  Value squaredScore = multiply(b, score, score), sum = coefficients.back();
  for (Value coefficient : llvm::reverse(ValueRange(coefficients).drop_back()))
    sum = math::FmaOp::create(b, squaredScore, sum, coefficient);
  return math::FmaOp::create(b, score, sum, addend);
}

void OnlineSoftmax::applyCap(const ScorePlace &place, MutableArrayRef<Value> scores) {
  SmallVector<Type> types(scores.size(), b.getF32Type());
  Value magnitude = largestMagnitude(ValueRange(scores));
  Values changed = byMagnitude(tanhPolynomials, magnitude, types, [&](const TanhPolynomial *polynomial) {
    Values values(scores.begin(), scores.end());
    if (!polynomial)
      applyScore(place, values);
    else
      for (Value &value : values)
        value = capped(*polynomial, value, 1, b.f32(0));
    return values;
  });
  llvm::copy(changed, scores.begin());
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Scores that are under way at once: more where there are registers for them.
size_t OnlineSoftmax::scoresAhead(Region &region) {
  constexpr int64_t manyRegisters = 200;
  return loadsByPosition(region) || context.schedule.getConsumerRegisters() < manyRegisters ? 4 : 8;
}

/// Scores of invisible keys become infinitely unlikely. Most blocks lie wholly inside: only the others pay for it.
void OnlineSoftmax::hide(const ScorePlace &place, MutableArrayRef<Value> scores) {
  Value hidden = b.f32(-INFINITY);
  if (!form.scaled && context.softmax.getScale())
    hidden = b.select(isNegative(), b.f32(INFINITY), hidden);
  if (form.hasReference())
    hidden = b.f32((*form.scaled->reference + hiddenExponent) / (form.scaled->multiplier * log2e));
  auto masked = b.ifThenElse(
      needsMask(place), SmallVector<Type>(scores.size(), b.getF32Type()),
      [&] {
        Region &mask = context.softmax.getMask();
        if (!mask.empty() && isLong(mask))
          return inLoop(place, mask, ValueRange(scores), [&](const LonePlace &at, Value score) {
            Value allowed = b.logicalOr(b.logicalNot(at.isPartial), applyRegion(mask, {}, at.query, at.key));
            return b.select(b.logicalAnd(context.isInReach(at.query, at.key), allowed), score, hidden);
          });
        size_t ahead = mask.empty() ? scores.size() : scoresAhead(mask);
        return inOrder(place, ValueRange(scores), ahead, [&](const ScorePlace &at, int64_t index, Value score) {
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
  Value query = queryOf(at, index), key = keyOf(at, index);
  return applyRegion(region, leading, query, key, [&](Operation &op) -> Value {
    auto convert = dyn_cast<arith::SIToFPOp>(op);
    auto sum = convert ? positionSum(convert.getIn()) : std::nullopt;
    return sum ? positionAsFloat(*sum, place, index) : Value();
  });
}

Value OnlineSoftmax::applyRegion(Region &region, ArrayRef<Value> leading, Value query, Value key, ReplaceOp replace) {
  Values arguments(leading);
  llvm::append_range(arguments, Values{tile.batch, tile.head, query, key});
  bool isScaled = form.scaled && &region == &context.softmax.getScore();
  return context.applyRegion(region, arguments, replace, isScaled ? form.scaled->value : Value());
}

/// Sums of positions become floats by one conversion for all scores of a block, to which constants are added: the
/// conversions of all would take as long as the exponentials. Exact up to 2^24, beyond that within a unit in the last
/// place.
Value OnlineSoftmax::positionAsFloat(const PositionSum &sum, const ScorePlace &place, int64_t index) {
  return add(b, firstPosition(sum, place, index), b.f32(positionStep(sum, index)));
}

/// That of the thread's first row and of its first key in the score's block.
Value OnlineSoftmax::firstPosition(const PositionSum &sum, const ScorePlace &place, int64_t index) {
  Value query = b.mul(place.query, sum.queries), key = b.mul(blockOf(place, index).firstKey, sum.keys);
  return arith::SIToFPOp::create(b, b.getF32Type(), b.add(b.add(query, key), sum.constant));
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
  Value visible = isInReach(place, index);
  Region &mask = context.softmax.getMask();
  if (mask.empty())
    return visible;
  Value allowed = applyRegion(mask, {}, place, at, index);
  Value isFull = b.logicalNot(blockOf(place, index).isPartial);
  return b.logicalAnd(visible, b.logicalOr(isFull, allowed));
}

/// In terms of distances to the thread's first key of the block, so that the keys themselves are constants.
Value OnlineSoftmax::isInReach(const ScorePlace &place, int64_t index) {
  Value query = queryOf(place, index), firstKey = blockOf(place, index).firstKey, key = b.i32(keyInBlock(index));
  Value reach = b.less(key, b.sub(context.endOfReach(query), firstKey));
  if (Value first = context.firstInReach(query))
    reach = b.logicalAnd(reach, b.compare(arith::CmpIPredicate::sge, key, b.sub(first, firstKey)));
  return reach;
}
