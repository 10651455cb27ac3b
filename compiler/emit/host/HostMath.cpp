// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// exp on the host: arithmetic without branches or calls, so that it runs on vectors, and LLVM can make vectors of loops
// that hold it. With x = n ln 2 + r, exp(x) = 2^n exp(r), and exp(r) = 1 + r + r^2 q(r) for |r| <= ln 2 / 2, where q is
// a minimax fit of the relative error of the whole, with coefficients rounded to f32.
//
// Its largest error over all f32 arguments is 1.02 units in the last place of f32, subnormal results included;
// infinities and NaN give what libm gives (test/unit/host_math_test.cpp).

#include "host/HostMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace {

/// Writes exp of an f32, or of a vector of f32, before an op.
class Exponential {
public:
  explicit Exponential(math::ExpOp op) : b(op.getLoc(), op), type(op.getType()) {}

  Value of(Value x);

private:
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

  Value fma(Value x, Value y, Value z) { return LLVM::FMAOp::create(b, x, y, z); }
  Value multiply(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value bits(Value x) { return arith::BitcastOp::create(b, integerType(), x); }
  /// `limit` where x compares to it like this, which NaN does not.
  Value replaceWhere(arith::CmpFPredicate predicate, Value x, float limit) {
    Value bound = constant(limit);
    return arith::SelectOp::create(b, arith::CmpFOp::create(b, predicate, x, bound), bound, x);
  }
  /// 2^n for -127 < n < 128.
  Value powerOfTwo(Value n) {
    Value exponent = arith::ShLIOp::create(b, arith::AddIOp::create(b, n, integer(127)), integer(23));
    return arith::BitcastOp::create(b, type, exponent);
  }

  ImplicitLocOpBuilder b;
  Type type;
};

} // namespace

Value Exponential::of(Value x) {
  // exp(-104) rounds to 0, exp(89) to infinity.
  x = replaceWhere(arith::CmpFPredicate::OLT, x, -104);
  x = replaceWhere(arith::CmpFPredicate::OGT, x, 89);
  // Adding 1.5 * 2^23 rounds to an integer, which is then in the low bits.
  Value shift = constant(0x1.8p23f);
  Value shifted = fma(x, constant(0x1.715476p+0f), shift); // log2(e)
  Value n = arith::SubFOp::create(b, shifted, shift);
  Value r = fma(n, constant(-0x1.62e430p-1f), x); // ln 2 in two parts
  r = fma(n, constant(0x1.05c610p-29f), r);

  Value series = constant(0x1.6a23cep-10f);
  for (float coefficient : {0x1.123a20p-7f, 0x1.5558f2p-5f, 0x1.555492p-3f, 0x1.fffffcp-2f})
    series = fma(series, r, constant(coefficient));
  Value result = arith::AddFOp::create(b, fma(multiply(r, r), series, r), constant(1));

  // 2^n in two factors: n goes from -150 to 128. Only the second product rounds, where the result is subnormal.
  Value exponent = arith::SubIOp::create(b, bits(shifted), bits(shift));
  Value half = arith::ShRSIOp::create(b, exponent, integer(1));
  result = multiply(result, powerOfTwo(half));
  return multiply(result, powerOfTwo(arith::SubIOp::create(b, exponent, half)));
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
        .Case([&](math::ExpOp exp) { rewriter.replaceOp(exp, Exponential(exp).of(exp.getOperand())); });
  });
}
