// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RunningMaximum.h"

#include "Ptx.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

// How far exponents may exceed m. Probabilities round best where the largest ones are just below or at a power of two,
// as with an exact maximum.
/// Always: less than half of what bf16 rounds to 1, so that no m is replaced only because it was rounded itself.
static constexpr double leastTolerated = 0x1p-9;
/// Where the sum is large: f16 holds 2^8 times the largest probability, and 2^-8 times a small one.
static constexpr double mostTolerated = 8;
/// m of a row that has seen no key: finite, so that -inf of an invisible key minus m is -inf.
static constexpr double lowestMaximum = -std::numeric_limits<float>::max();
/// 2^-127 is flushed to zero.
static constexpr double largestZeroExponent = -127;

RowState RunningMaximum::begin() { return emptyRows(b, lowestMaximum); }

Rescaling RunningMaximum::beginStep(const ScorePositions &positions, Values &scores, RowState &rows) {
  scores = transform.apply(positions, scores);
  scores = mask.hide(positions, scores, hiddenScore());
  return replaceMaxima(extremeScores(scores, rows), rows);
}

/// Few of the scores say whether it is worthwhile to look at all.
Value RunningMaximum::mayHaveProbabilities(ValueRange scores, const RowState &rows) {
  Values first = scoresOfRow(scores, 0), second = scoresOfRow(scores, 1);
  Value isLikely = b.logicalOr(isAnyNonzero({first.front(), second.front()}, rows),
                               isAnyNonzero({first.back(), second.back()}, rows));
  isLikely = ptx::anyInWarp(b, isLikely);
  auto lookAtAll = [&]() -> Values {
    // A NaN among the scores is one of their extremes.
    auto larger = [&](Value x, Value y) -> Value { return arith::MaximumFOp::create(b, x, y); };
    auto smaller = [&](Value x, Value y) -> Value { return arith::MinimumFOp::create(b, x, y); };
    return {ptx::anyInWarp(b, isAnyNonzero(extremesBy(larger, smaller, scores), rows))};
  };
  return b.ifThenElse(isLikely, b.getI1Type(), [&]() -> Values { return {isLikely}; }, lookAtAll)[0];
}

/// Whether a score of one of the two rows has a probability that is not zero. That of a NaN is NaN.
Value RunningMaximum::isAnyNonzero(ValueRange scoreOfRow, const RowState &rows) {
  auto isNonzero = [&](int64_t row) {
    Value exponent = scale.exponent(scoreOfRow[row], b.negateF(rows.m[row]));
    return b.compareF(arith::CmpFPredicate::UGT, exponent, b.f32(largestZeroExponent));
  };
  return b.logicalOr(isNonzero(0), isNonzero(1));
}

Values RunningMaximum::finishStep(const ScorePositions &, ValueRange scores, RowState &rows) {
  return exponentiate(scores, rows);
}

/// The score with an exponent of -inf.
Value RunningMaximum::hiddenScore() {
  Value hidden = b.f32(-INFINITY);
  return scale.mayBeNegative() ? b.select(scale.isNegative(), b.f32(INFINITY), hidden) : hidden;
}

/// Where no m is negative, only positive exponents can exceed it. Then the bits of the scores serve: the result for
/// a row of negative scores is wrong, but negative.
Values RunningMaximum::extremeScores(ValueRange scores, const RowState &rows) {
  if (context.schedule.getInstruction() != Instruction::wgmma)
    return extremesAsFloats(scores);
  auto isNegative = [&](int64_t row) { return b.compareF(arith::CmpFPredicate::OLT, rows.m[row], b.f32(0)); };
  Value needsFloats = ptx::anyInWarp(b, b.logicalOr(isNegative(0), isNegative(1)));
  if (scale.mayBeNegative())
    needsFloats = b.logicalOr(needsFloats, scale.isNegative());
  return b.ifThenElse(
      needsFloats, SmallVector<Type>(2, b.getF32Type()), [&] { return extremesAsFloats(scores); },
      [&] { return Values{largestByBits(b, scoresOfRow(scores, 0)), largestByBits(b, scoresOfRow(scores, 1))}; });
}

Values RunningMaximum::extremesAsFloats(ValueRange scores) {
  return extremesBy([&](Value x, Value y) { return b.larger(x, y); }, [&](Value x, Value y) { return b.smaller(x, y); },
                    scores);
}

Values RunningMaximum::extremesBy(Combine larger, Combine smaller, ValueRange scores) {
  auto largest = [&] { return reduceRows(scores, larger); };
  auto smallest = [&] { return reduceRows(scores, smaller); };
  if (!scale.mayBeNegative())
    return largest();
  return b.ifThenElse(scale.isNegative(), SmallVector<Type>(2, b.getF32Type()), smallest, largest);
}

Values RunningMaximum::reduceRows(ValueRange scores, Combine combine) {
  return {reduceInThread(scoresOfRow(scores, 0), chainsOfMaximum, combine),
          reduceInThread(scoresOfRow(scores, 1), chainsOfMaximum, combine)};
}

/// `extremes` are those of this thread's keys; only a replacement needs those of the whole row.
Rescaling RunningMaximum::replaceMaxima(ValueRange extremes, RowState &rows) {
  struct Replaced {
    Values m, alpha, l;
    auto fields() { return std::tie(m, alpha, l); }
  };
  // No one reads alpha where nothing is replaced.
  Replaced unchanged = {rows.m, Values(2, LLVM::PoisonOp::create(b, b.getF32Type())), rows.l};
  Value isFirstHigh = exceeds(extremes[0], rows.m[0], rows.l[0]);
  Value isNeeded = ptx::anyInWarp(b, b.logicalOr(isFirstHigh, exceeds(extremes[1], rows.m[1], rows.l[1])));
  auto replaced = b.changeIf(isNeeded, unchanged, [&]() -> Replaced {
    Replacement first = replaceMaximum(extremes[0], rows.m[0], rows.l[0]);
    Replacement second = replaceMaximum(extremes[1], rows.m[1], rows.l[1]);
    return {{first.m, second.m}, {first.alpha, second.alpha}, {first.l, second.l}};
  });
  rows = {replaced.m, replaced.l, /*hadTwo=*/{}};
  return {isNeeded, replaced.alpha};
}

/// Whether the exponent of a score exceeds m by more than is tolerated.
Value RunningMaximum::exceeds(Value score, Value m, Value l) {
  return b.compareF(arith::CmpFPredicate::OGT, scale.exponent(score, b.negateF(tolerance(l))), m);
}

/// How far an exponent may exceed m where the thread's sum is l. The rounding of a probability above 1 shows only where
/// it is a large part of its row's sum. A quarter of the sum of one of the row's four threads is not: the tolerance is
/// log2(l / 4), by the bits of l, with a logarithm between two powers of two that is up to 0.09 too small.
Value RunningMaximum::tolerance(Value l) {
  constexpr int64_t droppedBits = 8, exponentOfMantissa = 23; // 2^23 plus bits is a float with these bits
  constexpr int64_t bitsOfBase = (127 + exponentOfMantissa) << exponentOfMantissa;
  constexpr double base = 1 << droppedBits, bias = 127;
  Value number = b.fromBits(b.bitOr(b.shiftRight(b.bitsOf(l), droppedBits), b.i32(bitsOfBase)));
  Value logarithm = b.fma(number, b.f32(std::ldexp(1.0, droppedBits - exponentOfMantissa)), b.f32(-base - bias - 2));
  return b.smaller(b.larger(logarithm, b.f32(leastTolerated)), b.f32(mostTolerated));
}

/// An m of 2^13 is rounded by up to 2^-11, so that the largest probability is that far from 1. f16 rounds that, where
/// bf16 makes a 1 of it: l gets the rounded probability, by which the values are multiplied.
RunningMaximum::Replacement RunningMaximum::replaceMaximum(Value extreme, Value m, Value l) {
  Value exponent = b.mulF(extreme, scale.factor());
  Value newM = b.larger(m, reduceOverThreads(b, exponent, [&](Value x, Value y) { return b.larger(x, y); }));
  Value alpha = ptx::exp2(b, b.subF(m, newM));
  Value newL = b.mulF(l, alpha);
  if (context.element.isF16()) {
    Value isMaximum = b.compareF(arith::CmpFPredicate::OEQ, exponent, newM);
    Value largest = scale.exponent(extreme, b.negateF(newM));
    newL = b.addF(newL, b.select(isMaximum, roundingOf(largest), b.f32(0)));
  }
  return {newM, alpha, newL};
}

/// The difference that rounding to the element type makes to the probability of an exponent.
Value RunningMaximum::roundingOf(Value exponent) {
  Value probability = ptx::exp2(b, exponent);
  Value rounded = arith::TruncFOp::create(b, context.element, probability);
  return b.subF(arith::ExtFOp::create(b, b.getF32Type(), rounded), probability);
}
