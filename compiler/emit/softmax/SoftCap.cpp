// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SoftCap.h"

#include "Ptx.h"
#include "RowReduction.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

// A multiply-add more for each score costs 5 to 10 % of a kernel's time, and the way beyond the last polynomial more
// than two of them.
static constexpr double cubicTo30[] = {0x1.ffc36ep-1, -0x1.439bd4p-2};
static constexpr double septicTo30[] = {0x1.ffda5ep-1, -0x1.50fd46p-2, 0x1.dac0a4p-4, -0x1.9971bap-6};
static constexpr TanhPolynomial polynomialsTo30[] = {{0.33, cubicTo30}, {0.99, septicTo30}};
static constexpr double cubic[] = {0x1.ffcbccp-1, -0x1.40b056p-2};
static constexpr TanhPolynomial approximatePolynomials[] = {{0.4, cubic}, {0.99, septicTo30}};
static constexpr double cubicTo50[] = {0x1.ffdb54p-1, -0x1.477fc0p-2};
static constexpr double septicTo50[] = {0x1.ffe8a8p-1, -0x1.523eaap-2, 0x1.e83262p-4, -0x1.c148a6p-6};
static constexpr TanhPolynomial polynomialsTo50[] = {{0.29, cubicTo50}, {0.92, septicTo50}};
static constexpr double cubicTo120[] = {0x1.ffeb7ap-1, -0x1.4af4acp-2};
static constexpr double septicTo120[] = {0x1.fff538p-1, -0x1.539002p-2, 0x1.f91b3ap-4, -0x1.fd8822p-6};
static constexpr TanhPolynomial polynomialsTo120[] = {{0.25, cubicTo120}, {0.82, septicTo120}};

ArrayRef<TanhPolynomial> sparsec::tanhPolynomials(const ScaledScore &score) {
  assert((score.hasApproximateCap || score.multiplier <= largestCap) && "expects a cap with polynomials");
  if (score.hasApproximateCap)
    return approximatePolynomials;
  if (score.multiplier <= 30)
    return polynomialsTo30;
  return score.multiplier <= 50 ? ArrayRef(polynomialsTo50) : ArrayRef(polynomialsTo120);
}

ShiftedPolynomial::ShiftedPolynomial(const TanhPolynomial &polynomial) {
  ArrayRef<double> c = polynomial.coefficients;
  size_t degree = c.size() - 1;
  assert(degree >= 1 && degree <= 3 && "expects a polynomial of degree 3, 5 or 7");
  leading = c.back();
  shift = c[degree - 1] / (double(degree) * leading);
  if (degree == 2)
    rest = {c[0] / leading - shift * shift};
  if (degree == 3) {
    double linear = c[1] / leading - 3 * shift * shift;
    rest = {linear, c[0] / leading - shift * (shift * shift + linear)};
  }
}

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

/// Whether a score of this thread is 2 or more: others have no bit of 2 in their exponents. LLVM would make one chain
/// of ORs, each of which waits for the one before.
Value SoftCap::hasTwo(ValueRange scores) {
  Values bits = llvm::map_to_vector(scores, [&](Value score) { return b.bitsOf(score); });
  Values partial(ValueRange(bits).take_front(chainsOfMaximum));
  for (size_t index = chainsOfMaximum; index < bits.size(); index += 2) {
    Value &chain = partial[index / 2 % chainsOfMaximum];
    chain = ptx::bitOr3(b, chain, bits[index], bits[index + 1]);
  }
  Value all = ptx::bitOr3(b, b.bitOr(partial[0], partial[1]), partial[2], partial[3]);
  return isTwo(b.magnitude(b.fromBits(all)));
}

Value SoftCap::isTwo(Value magnitude) { return b.compareF(arith::CmpFPredicate::UGE, magnitude, b.f32(2)); }

/// Gives the largest magnitude of this thread's scores, or infinity where scores are hidden. No polynomial is valid for
/// infinity.
Value SoftCap::magnitudeOfStep(ValueRange scores, Value isHidden) {
  Value largest = largestMagnitude(scores);
  return isHidden ? b.select(isHidden, b.f32(INFINITY), largest) : largest;
}

Values SoftCap::withPolynomial(ValueRange scores, Value isHidden, ArrayRef<Type> types, Compute compute) {
  return withFirstValid(tanhPolynomials(*form.scaled), magnitudeOfStep(scores, isHidden), types, compute);
}

/// A step with scores of 2 and more mostly follows another one. Such a step skips the test of bits, which does not tell
/// how large scores are, and compares magnitudes at once. The control flow consists of blocks, because both tests lead
/// to the polynomial for small scores. Nested conditions would copy its code, or need one more branch.
Values SoftCap::withTestOfBits(ValueRange scores, Value isHidden, Value &hadTwo, ArrayRef<Type> types,
                               Compute compute) {
  ArrayRef<TanhPolynomial> polynomials = tanhPolynomials(*form.scaled);
  SmallVector<Type> resultTypes(types);
  resultTypes.push_back(b.getI1Type());
  auto ways = scf::ExecuteRegionOp::create(b, resultTypes);
  OpBuilder::InsertionGuard guard(b);
  auto addBlock = [&](TypeRange arguments = {}) {
    return b.createBlock(&ways.getRegion(), ways.getRegion().end(), arguments,
                         SmallVector<Location>(arguments.size(), b.getLoc()));
  };
  Block *entry = addBlock(), *bits = addBlock(), *magnitudes = addBlock(), *larger = addBlock();
  Block *small = addBlock(b.getI1Type());
  auto branch = [&](Value condition, Block *then, Block *otherwise, ValueRange arguments) {
    cf::CondBranchOp::create(b, condition, then, ValueRange(), otherwise, arguments);
  };
  auto finish = [&](Value hasTwo, Values results) {
    results.push_back(hasTwo);
    scf::YieldOp::create(b, results);
  };
  b.setInsertionPointToStart(entry);
  branch(hadTwo, magnitudes, bits, {});
  b.setInsertionPointToStart(bits);
  Value hasTwoInWarp = ptx::anyInWarp(b, b.logicalOr(hasTwo(scores), isHidden));
  branch(hasTwoInWarp, magnitudes, small, b.boolean(false));
  b.setInsertionPointToStart(magnitudes);
  Value magnitude = magnitudeOfStep(scores, isHidden);
  Value stillHasTwo = ptx::anyInWarp(b, isTwo(magnitude));
  branch(isBeyond(magnitude, polynomials.front()), larger, small, stillHasTwo);
  b.setInsertionPointToStart(larger);
  finish(b.boolean(true), withFirstValid(polynomials.drop_front(), magnitude, types, compute));
  b.setInsertionPointToStart(small);
  finish(small->getArgument(0), compute(&polynomials.front()));
  Values results(ways.getResults());
  hadTwo = results.pop_back_val();
  return results;
}

Values SoftCap::withFirstValid(ArrayRef<TanhPolynomial> polynomials, Value magnitude, ArrayRef<Type> types,
                               Compute compute) {
  if (polynomials.empty())
    return compute(nullptr);
  return b.ifThenElse(
      isBeyond(magnitude, polynomials.front()), types,
      [&] { return withFirstValid(polynomials.drop_front(), magnitude, types, compute); },
      [&] { return compute(&polynomials.front()); });
}

/// Whether a polynomial is not valid for all scores of the warp.
Value SoftCap::isBeyond(Value magnitude, const TanhPolynomial &polynomial) {
  return ptx::anyInWarp(b, b.compareF(arith::CmpFPredicate::UGT, magnitude, largestScore(polynomial)));
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
  ShiftedPolynomial shifted(polynomial);
  Value ratio = this->ratio(), square = b.mulF(ratio, ratio), inverse = b.divF(b.f32(1), square);
  Value leading = b.mulF(ratio, b.f32(multiplier * shifted.leading)), power = inverse;
  auto nextConstant = [&](double constant) {
    leading = b.mulF(leading, square);
    Value scaled = b.mulF(b.f32(constant), power);
    power = b.mulF(power, inverse);
    return scaled;
  };
  Value argument = b.fma(score, score, nextConstant(shifted.shift)), sum = argument;
  for (double constant : shifted.rest)
    sum = b.fma(argument, sum, nextConstant(constant));
  return b.fma(b.mulF(score, leading), sum, addend);
}

/// tanh(y) = 1 - 2 / (1 + e^(2 y)). Its error is absolute, which is one of the exponent in a softmax.
Value SoftCap::evaluateByExponential(Value score) {
  Value power = ptx::exp2(b, b.mulF(score, b.mulF(ratio(), b.f32(2 * log2e))));
  return b.fma(ptx::reciprocal(b, b.addF(power, b.f32(1))), b.f32(-2), b.f32(1));
}
