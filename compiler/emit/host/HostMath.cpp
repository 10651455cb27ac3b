// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// exp, tanh and erf on the host: arithmetic without branches or calls, so that it runs on vectors, and LLVM can make
// vectors of loops that hold it. With x = n ln 2 + r, exp(x) = 2^n exp(r), and exp(r) = 1 + r + r^2 q(r) for
// |r| <= ln 2 / 2, where q is a minimax fit of the relative error of the whole, with coefficients rounded to f32.
// tanh(x) is t / (t + 2) with t = expm1(2 |x|). erf has one polynomial for |x| < 1, and one in an exponent beyond it.
//
// The largest errors over all f32 arguments are, in units in the last place of f32, 1.02 (exp, subnormal results
// included), 2.57 (tanh) and 1.16 (erf); infinities and NaN give what libm gives (test/unit/host_math_test.cpp).

#include "host/HostMath.h"

#include "MathSeries.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

namespace {

/// Writes a function of an f32, or of a vector of f32, before the op that it replaces.
class HostFunction {
public:
  explicit HostFunction(Operation *op) : b(op->getLoc(), op), type(op->getResult(0).getType()) {}

  Value exp(Value x);
  Value tanh(Value x);
  Value erf(Value x);

private:
  /// x = n ln 2 + remainder.
  struct Reduced {
    Value exponent; // n as an integer
    Value remainder;
  };
  Reduced reduce(Value x);
  Value expm1Inside(Value x);
  Value exp2Inside(Value x);
  Value expOfRemainder(Value r);

  Value constant(float value) { return constant(type, b.getF32FloatAttr(value)); }
  Value integer(int32_t value) { return constant(integerType(), b.getI32IntegerAttr(value)); }
  Value constant(Type of, TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(of))
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(b, value);
  }
  Type integerType() {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(b.getI32Type())) : b.getI32Type();
  }

  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value subtract(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value multiply(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) { return LLVM::FMAOp::create(b, x, y, z); }
  Value magnitude(Value x) { return LLVM::FAbsOp::create(b, x); }
  Value withSign(Value x, Value sign) { return LLVM::CopySignOp::create(b, x, sign); }
  Value bits(Value x) { return arith::BitcastOp::create(b, integerType(), x); }
  Value polynomial(Value x, ArrayRef<float> coefficients);
  /// `limit` where x compares to it like this, which NaN does not.
  Value replaceWhere(arith::CmpFPredicate predicate, Value x, float limit) {
    Value bound = constant(limit);
    return arith::SelectOp::create(b, arith::CmpFOp::create(b, predicate, x, bound), bound, x);
  }
  Value atMost(Value x, float limit) { return replaceWhere(arith::CmpFPredicate::OGT, x, limit); }
  Value atLeast(Value x, float limit) { return replaceWhere(arith::CmpFPredicate::OLT, x, limit); }
  /// 2^n for -127 < n < 128.
  Value powerOfTwo(Value n) {
    Value exponent = arith::ShLIOp::create(b, arith::AddIOp::create(b, n, integer(127)), integer(23));
    return arith::BitcastOp::create(b, type, exponent);
  }

  ImplicitLocOpBuilder b;
  Type type;
};

} // namespace

/// Adding 1.5 * 2^23 rounds to an integer, which is then in the low bits.
static constexpr float roundingShift = 0x1.8p23f;

/// coefficients[0] + coefficients[1] x + ..., by Horner's rule.
Value HostFunction::polynomial(Value x, ArrayRef<float> coefficients) {
  Value sum = constant(coefficients.back());
  for (float coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, constant(coefficient));
  return sum;
}

HostFunction::Reduced HostFunction::reduce(Value x) {
  Value shift = constant(roundingShift);
  Value shifted = fma(x, constant(0x1.715476p+0f), shift); // log2(e)
  Value n = subtract(shifted, shift);
  Value r = fma(n, constant(-series::ln2), x);
  r = fma(n, constant(-series::ln2Low), r);
  return {arith::SubIOp::create(b, bits(shifted), bits(shift)), r};
}

Value HostFunction::expOfRemainder(Value r) {
  Value q = polynomial(r, {0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558f2p-5f, 0x1.123a20p-7f, 0x1.6a23cep-10f});
  return add(fma(multiply(r, r), q, r), constant(1));
}

Value HostFunction::exp(Value x) {
  // exp(-104) rounds to 0, exp(89) to infinity.
  auto [exponent, r] = reduce(atMost(atLeast(x, -104), 89));
  // 2^n in two factors: n goes from -150 to 128. Only the second product rounds, where the result is subnormal.
  Value half = arith::ShRSIOp::create(b, exponent, integer(1));
  Value result = multiply(expOfRemainder(r), powerOfTwo(half));
  return multiply(result, powerOfTwo(arith::SubIOp::create(b, exponent, half)));
}

/// expm1 for 0 <= x <= 20: 2^n expm1(r) + (2^n - 1).
Value HostFunction::expm1Inside(Value x) {
  auto [exponent, r] = reduce(x);
  Value small = fma(multiply(r, r), polynomial(r, series::expm1), r);
  Value power = powerOfTwo(exponent);
  return fma(small, power, subtract(power, constant(1)));
}

Value HostFunction::tanh(Value x) {
  Value t = expm1Inside(atMost(multiply(magnitude(x), constant(2)), 20)); // tanh(10) rounds to 1
  return withSign(arith::DivFOp::create(b, t, add(t, constant(2))), x);
}

/// 2^x for -126 < x < 127.
Value HostFunction::exp2Inside(Value x) {
  Value shift = constant(roundingShift);
  Value shifted = add(x, shift);
  Value r = subtract(x, subtract(shifted, shift));
  Value exponent = arith::SubIOp::create(b, bits(shifted), bits(shift));
  return multiply(expOfRemainder(multiply(r, constant(series::ln2))), powerOfTwo(exponent));
}

Value HostFunction::erf(Value x) {
  Value a = atMost(magnitude(x), 4);
  Value inner = fma(a, polynomial(multiply(a, a), series::erf), a);
  Value outer = subtract(constant(1), exp2Inside(polynomial(a, series::log2OfErfc)));
  Value isInner = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, a, constant(1));
  return withSign(arith::SelectOp::create(b, isInner, inner, outer), x);
}

/// The larger (OGT) or smaller (OLT) operand, or the one that is not NaN. LLVM's intrinsic for it moves to f16 where
/// both operands come from there, and of f16 it is a call of the C library for each element.
static void lowerNumber(IRRewriter &rewriter, Operation *op, arith::CmpFPredicate predicate) {
  Value a = op->getOperand(0), b = op->getOperand(1);
  Value takesA = arith::CmpFOp::create(rewriter, op->getLoc(), predicate, a, b);
  Value number = arith::SelectOp::create(rewriter, op->getLoc(), takesA, a, b); // b if one of them is NaN
  Value isNan = arith::CmpFOp::create(rewriter, op->getLoc(), arith::CmpFPredicate::UNO, b, b);
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNan, a, number);
}

void sparsec::lowerHostMath(LLVM::LLVMFuncOp function) {
  IRRewriter rewriter(function.getContext());
  function.walk([&](Operation *op) {
    rewriter.setInsertionPoint(op);
    TypeSwitch<Operation *>(op)
        .Case([&](arith::MaxNumFOp max) { lowerNumber(rewriter, max, arith::CmpFPredicate::OGT); })
        .Case([&](arith::MinNumFOp min) { lowerNumber(rewriter, min, arith::CmpFPredicate::OLT); })
        .Case([&](math::AbsFOp abs) { rewriter.replaceOpWithNewOp<LLVM::FAbsOp>(abs, abs.getOperand()); })
        .Case([&](math::SqrtOp sqrt) { rewriter.replaceOpWithNewOp<LLVM::SqrtOp>(sqrt, sqrt.getOperand()); })
        .Case([&](math::RsqrtOp rsqrt) {
          Value one = arith::ConstantOp::create(rewriter, rsqrt.getLoc(), rewriter.getF32FloatAttr(1));
          Value root = LLVM::SqrtOp::create(rewriter, rsqrt.getLoc(), rsqrt.getOperand());
          rewriter.replaceOpWithNewOp<arith::DivFOp>(rsqrt, one, root);
        })
        .Case([&](math::FloorOp floor) { rewriter.replaceOpWithNewOp<LLVM::FFloorOp>(floor, floor.getOperand()); })
        .Case([&](math::CeilOp ceil) { rewriter.replaceOpWithNewOp<LLVM::FCeilOp>(ceil, ceil.getOperand()); })
        .Case(
            [&](math::FmaOp fma) { rewriter.replaceOpWithNewOp<LLVM::FMAOp>(fma, fma.getA(), fma.getB(), fma.getC()); })
        .Case([&](math::ExpOp exp) { rewriter.replaceOp(exp, HostFunction(exp).exp(exp.getOperand())); })
        .Case([&](math::TanhOp tanh) { rewriter.replaceOp(tanh, HostFunction(tanh).tanh(tanh.getOperand())); })
        .Case([&](math::ErfOp erf) { rewriter.replaceOp(erf, HostFunction(erf).erf(erf.getOperand())); });
  });
}
