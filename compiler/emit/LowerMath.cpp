// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-lower-math: the math ops of epilogues, in f32, for the GPU.
//
// Functions that the hardware computes exactly (absf, fma, floor, ceil) stay math ops for the stock conversion. The
// rest becomes arith and the hardware's approximations. Their largest errors (PTX ISA 9.0, section 9.7.3): ex2.approx
// is 2 units in the last place from the correctly rounded result, rcp.approx 1 unit in the last place; sqrt.approx has
// a relative error of 2^-23, rsqrt.approx of 2^-22.9. From lg2.approx only infinities and NaN are used. No subroutine
// is called and nothing but the large arguments of sin and cos branches.
//
// Largest errors over all f32 arguments, with the instructions at their worst, in units in the last place of f32
// (test/unit/lower_math_test.cpp sweeps them). Infinities, NaN and zeros give what libm gives, except that sin loses
// the sign of a zero.
//
//   op        method                                                       largest error
//   exp2      ex2.approx                                                   5
//   exp       ex2.approx of x log2(e), rounding error of the product       5
//             multiplied back in
//   expm1     2^n, polynomial on [-ln 2 / 2, ln 2 / 2]                     2
//   tanh      t / (t + 2) with t = expm1(2 |x|)                            3
//             with fastmath<afn>: tanh.approx, relative error 2^-10.987
//   log       exponent, polynomial of log1p on [-1/3, 1/3]                 1
//   log2      the same, times log2(e)                                      2
//   log1p     the same, with the rounding error of 1 + x put back          2
//   sqrt      sqrt.approx                                                  3
//   rsqrt     rsqrt.approx                                                 3
//   erf       |x| < 1: odd polynomial, else 1 - 2^-(polynomial)            2
//   sin, cos  x - n pi/2 in three parts for |x| <= 32768, beyond that a    3
//             fixed-point product with 2/pi; polynomials on [-pi/4, pi/4]
//
// The polynomials are minimax fits of the relative error of the whole function, with coefficients rounded to f32. Those
// that the host has too are in MathSeries.h.

#include "LongRegion.h"
#include "MathSeries.h"
#include "Passes.h"
#include "Ptx.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

namespace sparsec {
#define GEN_PASS_DEF_LOWERMATHPASS
#include "Passes.h.inc"
} // namespace sparsec

static constexpr float infinity = std::numeric_limits<float>::infinity();
using series::ln2, series::ln2Low;
static constexpr float log2eHigh = 0x1.715476p+0f, log2eLow = 0x1.4ae0c0p-26f; // log2(e) in two parts
/// Adding and subtracting 1.5 * 2^23 rounds a small f32 to the nearest integer, ties to even; in between, the low bits
/// of the sum hold that integer.
static constexpr float roundingShift = 0x1.8p23f;

namespace {

/// x = n pi/2 + remainder, |remainder| <= pi/4; the quadrant is n in its low two bits.
struct ReducedAngle {
  Value remainder, quadrant;
};

/// Writes the approximations at the builder's insertion point.
class Approximation {
public:
  explicit Approximation(Operation *op) : b(op->getLoc(), op) {}

  Value exp(Value x);
  Value exp2(Value x) { return intrinsic("llvm.nvvm.ex2.approx", x); }
  Value expm1(Value x);
  Value tanh(Value x);
  Value fastTanh(Value x);
  Value log(Value x) { return logarithm(x, 1); }
  Value log2(Value x) { return logarithm(x, log2eHigh); }
  Value log1p(Value x);
  Value sqrt(Value x) { return intrinsic("llvm.nvvm.sqrt.approx.f", x); }
  Value rsqrt(Value x) { return intrinsic("llvm.nvvm.rsqrt.approx.f", x); }
  Value erf(Value x);
  Value sin(Value x) { return sineOf(x, 0); }
  Value cos(Value x) { return sineOf(x, 1); }

private:
  Value expm1Inside(Value x);
  Value logarithm(Value x, float scale);
  Value log1pReduced(Value f);
  Value sineOf(Value x, int32_t quarterTurns);
  ReducedAngle reduceAngle(Value x);
  ReducedAngle reduceSmallAngle(Value x);
  ReducedAngle reduceLargeAngle(Value x);

  // Small words.
  Value constant(float value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); }
  Value integer(uint32_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)); }
  Value integer64(uint64_t value) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value abs(Value x) { return math::AbsFOp::create(b, x); }
  Value withSign(Value x, Value sign) { return math::CopySignOp::create(b, x, sign); }
  Value atMost(Value x, float limit) { return arith::MinimumFOp::create(b, x, constant(limit)); }
  Value atLeast(Value x, float limit) { return arith::MaximumFOp::create(b, x, constant(limit)); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }
  Value less(Value x, float limit) { return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, constant(limit)); }
  Value bits(Value x) { return arith::BitcastOp::create(b, b.getI32Type(), x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, b.getF32Type(), x); }
  /// x scale + shift. Not a multiply-add: an instruction holds one constant, and ptxas would keep the second one in a
  /// register from tile to tile, which the accumulators need.
  Value scaleAndShift(Value x, float scale, float shift) { return add(mul(x, constant(scale)), constant(shift)); }
  Value polynomial(Value x, ArrayRef<float> coefficients);
  Value intrinsic(StringRef name, Value x);
  Value toExponent(Value exponentBits);
  Value isPositiveFinite(Value x);
  Value positiveFiniteOr(Value condition, Value logarithm, Value x);

  ImplicitLocOpBuilder b;
};

} // namespace

//===----------------------------------------------------------------------===//
// Small words
//===----------------------------------------------------------------------===//

/// coefficients[0] + coefficients[1] x + ..., by Horner's rule.
Value Approximation::polynomial(Value x, ArrayRef<float> coefficients) {
  Value sum = scaleAndShift(x, coefficients.back(), coefficients.drop_back().back());
  for (float coefficient : llvm::reverse(coefficients.drop_back(2)))
    sum = fma(sum, x, constant(coefficient));
  return sum;
}

Value Approximation::intrinsic(StringRef name, Value x) {
  return LLVM::CallIntrinsicOp::create(b, b.getF32Type(), b.getStringAttr(name), ValueRange{x}).getResults();
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// 2^product times 2^(what rounding took from the product) = e + e * ln 2 * lost.
Value Approximation::exp(Value x) {
  // Beyond these bounds the result is infinite or zero; inside them the product has no overflow.
  Value bounded = atMost(atLeast(x, -105), 89);
  Value product = mul(bounded, constant(log2eHigh));
  Value lost = fma(bounded, constant(log2eHigh), arith::NegFOp::create(b, product));
  lost = fma(bounded, constant(log2eLow), lost);
  Value power = exp2(product);
  Value corrected = fma(power, mul(lost, constant(ln2)), power);
  Value overflow = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, power, constant(infinity));
  return select(overflow, power, corrected);
}

/// expm1 for -18 <= x <= 89: with x = n ln 2 + r, expm1(x) = 2^n expm1(r) + (2^n - 1). Computed with 2^(n-1), which is
/// finite for the largest n.
Value Approximation::expm1Inside(Value x) {
  Value shifted = scaleAndShift(x, log2eHigh, roundingShift);
  Value n = sub(shifted, constant(roundingShift));
  Value r = fma(n, constant(-ln2), x);
  r = fma(n, constant(-ln2Low), r);
  Value series = polynomial(r, series::expm1);
  Value small = fma(mul(r, r), series, r);
  // The integer n is in the low bits of `shifted`: move it to the exponent and add the exponent of 1/2.
  Value exponent = arith::ShLIOp::create(b, bits(shifted), integer(23));
  Value half = fromBits(arith::AddIOp::create(b, exponent, bits(constant(0.5f))));
  return mul(fma(small, half, sub(half, constant(0.5f))), constant(2));
}

Value Approximation::expm1(Value x) {
  Value result = expm1Inside(atMost(atLeast(x, -18), 89));
  // Keeps the sign of a zero and the last bit of a subnormal.
  return select(less(abs(x), 0x1p-25f), x, result);
}

Value Approximation::tanh(Value x) {
  // tanh(10) rounds to 1.
  Value t = expm1Inside(atMost(mul(abs(x), constant(2)), 20));
  Value divisor = add(t, constant(2));
  Value reciprocal = intrinsic("llvm.nvvm.rcp.approx.ftz.f", divisor);
  Value quotient = mul(t, reciprocal);
  // The remainder of t, divided once more, takes the reciprocal's error away.
  Value rest = fma(arith::NegFOp::create(b, quotient), divisor, t);
  return withSign(fma(rest, reciprocal, quotient), x);
}

Value Approximation::fastTanh(Value x) {
  KernelBuilder kernel(b.getLoc(), b.getContext());
  kernel.restoreInsertionPoint(b.saveInsertionPoint());
  return ptx::tanhApproximate(kernel, x);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

/// log1p(f) for -1/3 <= f <= 1/3.
Value Approximation::log1pReduced(Value f) {
  Value series = polynomial(f, {-0x1.000000p-1f, 0x1.555506p-2f, -0x1.fffef6p-3f, 0x1.99d060p-3f, -0x1.559cf6p-3f,
                                0x1.1ed3e4p-3f, -0x1.f324acp-4f, 0x1.1e7592p-3f, -0x1.07e1f6p-3f});
  return fma(mul(f, f), series, f);
}

/// The exponent, from its place in the bits of an f32.
Value Approximation::toExponent(Value exponentBits) {
  return mul(arith::SIToFPOp::create(b, b.getF32Type(), exponentBits), constant(0x1p-23f));
}

/// The bits of positive finite numbers are 1 to 0x7f7fffff. One comparison takes fewer registers than two.
Value Approximation::isPositiveFinite(Value x) {
  Value fromOne = arith::SubIOp::create(b, bits(x), integer(1));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, fromOne, integer(0x7f7fffff));
}

/// The hardware's logarithm of everything else: -inf of zeros, inf of inf, NaN of negative numbers and NaN. `x` must
/// not be subnormal.
Value Approximation::positiveFiniteOr(Value condition, Value logarithm, Value x) {
  return select(condition, logarithm, intrinsic("llvm.nvvm.lg2.approx.ftz.f", x));
}

/// The bits of 2/3: subtracting them from the bits of x leaves the exponent e of x = 2^e m with 2/3 <= m < 4/3.
static constexpr uint32_t twoThirdsBits = 0x3f2aaaab, exponentMask = 0xff800000;

/// scale * log(x).
Value Approximation::logarithm(Value x, float scale) {
  Value subnormal = less(x, 0x1p-126f);
  Value normal = select(subnormal, mul(x, constant(0x1p23f)), x);
  Value exponentBits =
      arith::AndIOp::create(b, arith::SubIOp::create(b, bits(normal), integer(twoThirdsBits)), integer(exponentMask));
  Value mantissa = fromBits(arith::SubIOp::create(b, bits(normal), exponentBits));
  Value unscaledBits = arith::SubIOp::create(b, exponentBits, integer(23 << 23));
  Value exponent = toExponent(select(subnormal, unscaledBits, exponentBits));
  Value small = log1pReduced(sub(mantissa, constant(1)));
  Value result = scale == 1 ? fma(exponent, constant(ln2), small) : fma(small, constant(scale), exponent);
  return positiveFiniteOr(isPositiveFinite(x), result, normal);
}

/// With u = 1 + x = 2^e m: log1p(x) = e ln 2 + log1p(f), f = 2^-e (1 + x) - 1 from x itself, so that what rounding took
/// from u counts.
Value Approximation::log1p(Value x) {
  Value u = add(x, constant(1));
  Value exponentBits =
      arith::AndIOp::create(b, arith::SubIOp::create(b, bits(u), integer(twoThirdsBits)), integer(exponentMask));
  Value exponent = toExponent(exponentBits);
  // 4 * 2^-e: 2^-e alone would be subnormal for the largest x.
  Value scale = fromBits(arith::SubIOp::create(b, bits(constant(4)), exponentBits));
  Value f = fma(mul(x, constant(0.25f)), scale, scaleAndShift(scale, 0.25f, -1));
  Value result = fma(exponent, constant(ln2), log1pReduced(f));
  result = positiveFiniteOr(isPositiveFinite(u), result, u);
  return select(less(abs(x), 0x1p-25f), x, result);
}

//===----------------------------------------------------------------------===//
// Error function
//===----------------------------------------------------------------------===//

Value Approximation::erf(Value x) {
  Value a = atMost(abs(x), 4); // erf(4) rounds to 1
  Value inner = polynomial(mul(a, a), series::erf);
  inner = fma(a, inner, a);
  // The logarithm of 1 - erf(a) to base 2.
  Value tail = polynomial(a, series::log2OfErfc);
  Value outer = sub(constant(1), intrinsic("llvm.nvvm.ex2.approx.ftz", tail));
  return withSign(select(less(a, 1), inner, outer), x);
}

//===----------------------------------------------------------------------===//
// Sine and cosine
//===----------------------------------------------------------------------===//

/// pi/2 in three parts: n times the first is exact in the multiply-add for n < 2^15, so nothing is lost when x is close
/// to a multiple of pi/2.
ReducedAngle Approximation::reduceSmallAngle(Value x) {
  Value shifted = scaleAndShift(x, 0x1.45f306p-1f, roundingShift); // 2/pi
  Value n = sub(shifted, constant(roundingShift));
  Value r = fma(n, constant(-0x1.921fb6p+0f), x);
  r = fma(n, constant(0x1.777a5cp-25f), r);
  r = fma(n, constant(0x1.ee59dap-50f), r);
  return {r, bits(shifted)};
}

/// x = m 2^e with a 24-bit integer m. Of the bits of 2/pi only 96 matter: those before give multiples of 4 quadrants,
/// those behind are below the precision. m times these 96 bits, modulo 2^96, is x * 2/pi modulo 4.
ReducedAngle Approximation::reduceLargeAngle(Value x) {
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Value exponent = arith::AndIOp::create(b, arith::ShRUIOp::create(b, bits(x), integer(23)), integer(255));
  Value mantissa = arith::OrIOp::create(b, arith::AndIOp::create(b, bits(x), integer(0x7fffff)), integer(0x800000));
  // The first bit that matters, with 32 zeros in front of 2/pi. |x| > 2^15, so the position is at least 22.
  Value position = arith::SubIOp::create(b, exponent, integer(120));
  Value wordIndex = arith::ShRUIOp::create(b, position, integer(5));
  Value shift = arith::AndIOp::create(b, position, integer(31));

  static constexpr uint32_t twoOverPi[8] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                            0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
  SmallVector<Value> words;
  for (unsigned offset = 0; offset < 4; ++offset) {
    Value word = integer(twoOverPi[offset]);
    for (unsigned index = 1; index + offset < 8; ++index) {
      Value here = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, wordIndex, integer(index));
      word = select(here, integer(twoOverPi[index + offset]), word);
    }
    words.push_back(word);
  }
  auto wide = [&](Value word) -> Value { return arith::ExtUIOp::create(b, i64, word); };
  auto product = [&](unsigned index) -> Value {
    Value word = LLVM::FshlOp::create(b, words[index], words[index + 1], shift);
    return arith::MulIOp::create(b, wide(mantissa), wide(word));
  };
  Value high = arith::ShLIOp::create(b, product(0), integer64(32));
  Value carry = arith::ShRUIOp::create(b, product(2), integer64(32));
  // Two bits of quadrant, 62 of fraction.
  Value turns = arith::AddIOp::create(b, high, arith::AddIOp::create(b, product(1), carry));
  Value quadrant =
      arith::ShRUIOp::create(b, arith::AddIOp::create(b, turns, integer64(uint64_t(1) << 61)), integer64(62));
  Value fraction = arith::SubIOp::create(b, turns, arith::ShLIOp::create(b, quadrant, integer64(62)));
  Value r = mul(arith::SIToFPOp::create(b, b.getF32Type(), fraction), constant(0x1.921fb6p-62f)); // pi/2 * 2^-62

  Value negative = less(x, 0);
  quadrant = arith::TruncIOp::create(b, i32, quadrant);
  quadrant = select(negative, arith::SubIOp::create(b, integer(0), quadrant), quadrant);
  r = select(negative, arith::NegFOp::create(b, r), r);
  // 0 x is NaN for infinities and NaN.
  return {fma(x, constant(0), r), quadrant};
}

ReducedAngle Approximation::reduceAngle(Value x) {
  Value small = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, abs(x), constant(32768));
  auto branch = scf::IfOp::create(b, TypeRange{b.getF32Type(), b.getI32Type()}, small, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  ReducedAngle angle = reduceSmallAngle(x);
  scf::YieldOp::create(b, ValueRange{angle.remainder, angle.quadrant});
  b.setInsertionPointToStart(branch.elseBlock());
  angle = reduceLargeAngle(x);
  scf::YieldOp::create(b, ValueRange{angle.remainder, angle.quadrant});
  return {branch.getResult(0), branch.getResult(1)};
}

/// sin(x + quarterTurns pi/2).
Value Approximation::sineOf(Value x, int32_t quarterTurns) {
  auto [r, quadrant] = reduceAngle(x);
  quadrant = arith::AddIOp::create(b, quadrant, integer(quarterTurns));
  Value square = mul(r, r);
  Value sine = fma(mul(r, square), polynomial(square, {-0x1.555544p-3f, 0x1.1106c6p-7f, -0x1.991c26p-13f}), r);
  Value cosine = polynomial(square, {1, -0x1.000000p-1f, 0x1.55554ap-5f, -0x1.6c0c1ep-10f, 0x1.99e336p-16f});
  Value odd = arith::TruncIOp::create(b, b.getI1Type(), quadrant);
  // The second bit of the quadrant is the sign.
  Value sign = arith::ShLIOp::create(b, arith::AndIOp::create(b, quadrant, integer(2)), integer(30));
  return fromBits(arith::XOrIOp::create(b, bits(select(odd, cosine, sine)), sign));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Whether who wrote the op asked for speed before accuracy.
static bool mayApproximate(math::TanhOp op) {
  return arith::bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
}

/// The replacement of a math op, null when the op is one that the hardware has. Fails for others.
static FailureOr<Value> approximate(Operation *op) {
  Approximation a(op);
  Value x = op->getOperand(0);
  if (op->getResult(0).getType() != Float32Type::get(op->getContext()))
    return op->emitError("expects a math op of f32, but got ") << op->getResult(0).getType();
  return TypeSwitch<Operation *, FailureOr<Value>>(op)
      .Case<math::AbsFOp, math::FmaOp, math::FloorOp, math::CeilOp>([](auto) { return Value(); })
      .Case([&](math::ExpOp) { return a.exp(x); })
      .Case([&](math::Exp2Op) { return a.exp2(x); })
      .Case([&](math::ExpM1Op) { return a.expm1(x); })
      .Case([&](math::TanhOp tanh) { return mayApproximate(tanh) ? a.fastTanh(x) : a.tanh(x); })
      .Case([&](math::LogOp) { return a.log(x); })
      .Case([&](math::Log2Op) { return a.log2(x); })
      .Case([&](math::Log1pOp) { return a.log1p(x); })
      .Case([&](math::SqrtOp) { return a.sqrt(x); })
      .Case([&](math::RsqrtOp) { return a.rsqrt(x); })
      .Case([&](math::ErfOp) { return a.erf(x); })
      .Case([&](math::SinOp) { return a.sin(x); })
      .Case([&](math::CosOp) { return a.cos(x); })
      .Default([](Operation *other) {
        return other->emitError("expects a math op with a GPU lowering, but got ") << other->getName();
      });
}

/// Whether an op is in the loop of a region that is long enough for calls, and long enough itself.
static bool isCalled(Operation *op) {
  auto loop = op->getParentOfType<scf::ForOp>();
  return loop && loop->hasAttr(callsMathAttribute) && instructionsOf(*op) > 1 &&
         !(isa<math::TanhOp>(op) && mayApproximate(cast<math::TanhOp>(op)));
}

/// The function of the module that computes an op, made at the first call. No kernel has a $ in its name.
static LLVM::LLVMFuncOp functionFor(Operation *op, Operation *module) {
  std::string name = ("sparsec$" + op->getName().stripDialect()).str();
  if (auto function = dyn_cast_or_null<LLVM::LLVMFuncOp>(SymbolTable::lookupSymbolIn(module, name)))
    return function;
  OpBuilder b = OpBuilder::atBlockEnd(&module->getRegion(0).front());
  Type f32 = b.getF32Type();
  auto function =
      LLVM::LLVMFuncOp::create(b, op->getLoc(), name, LLVM::LLVMFunctionType::get(f32, {f32}), LLVM::Linkage::Internal);
  function.setNoInline(true);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  Operation *copy = b.clone(*op);
  copy->setOperand(0, function.getArgument(0));
  LLVM::ReturnOp::create(b, op->getLoc(), copy->getResults());
  return function;
}

namespace {

struct LowerMathPass : sparsec::impl::LowerMathPassBase<LowerMathPass> {
  using LowerMathPassBase::LowerMathPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> mathOps = getMathOps();
    if (mathOps.empty())
      return markAllAnalysesPreserved(); // the module needs no verification then
    for (Operation *op : mathOps)
      if (isCalled(op)) {
        OpBuilder b(op);
        auto function = functionFor(op, op->getParentOfType<LLVM::LLVMFuncOp>()->getParentOp());
        auto call = LLVM::CallOp::create(b, op->getLoc(), function, op->getOperands());
        op->replaceAllUsesWith(call);
        op->erase();
      }
    for (Operation *op : getMathOps()) {
      FailureOr<Value> replacement = approximate(op);
      if (failed(replacement))
        return signalPassFailure();
      if (!*replacement)
        continue;
      op->getResult(0).replaceAllUsesWith(*replacement);
      op->erase();
    }
  }

private:
  /// The math ops of machine kernels and of functions that they call: the epilogue of a sparsec.kernel describes the
  /// interface.
  SmallVector<Operation *> getMathOps() {
    SmallVector<Operation *> mathOps;
    getOperation().walk([&](LLVM::LLVMFuncOp function) {
      function.walk([&](Operation *op) {
        if (isa<math::MathDialect>(op->getDialect()))
          mathOps.push_back(op);
      });
    });
    return mathOps;
  }
};

} // namespace
