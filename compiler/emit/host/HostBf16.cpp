// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bf16 on the host, in integers. A bf16 is the upper half of an f32, so that an extension is a shift. A bf16 may only
// be loaded, extended, rounded to and stored (spmm_c20, attention_c20).
//
// The integers stay integers: a bitcast to bf16 that LLVM moves away from its store becomes a rounding again, which is
// a call of __truncsfbf2, a function of the compiler's library that a process need not have.

#include "host/HostMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace {

/// Writes the conversions of an f32, or of a vector of f32, before an op.
class Bf16Converter {
public:
  Bf16Converter(Operation *op, Type floats) : b(op->getLoc(), op), floats(floats) {}

  Value extend(Value half);
  Value round(Value x);

private:
  Type withElement(Type element) {
    auto vector = dyn_cast<VectorType>(floats);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(Type element, int64_t value) {
    auto attribute = b.getIntegerAttr(element, value);
    if (auto vector = dyn_cast<VectorType>(withElement(element)))
      return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, Attribute(attribute)));
    return arith::ConstantOp::create(b, attribute);
  }

  ImplicitLocOpBuilder b;
  Type floats;
  Type i16 = b.getI16Type(), i32 = b.getI32Type();
};

} // namespace

Value Bf16Converter::extend(Value half) {
  Value wide = arith::ExtUIOp::create(b, withElement(i32), half);
  return arith::BitcastOp::create(b, floats, arith::ShLIOp::create(b, wide, constant(i32, 16)));
}

/// To nearest even: half a unit is added, and what makes a tie even. That carries into the exponent where it must, up
/// to infinity.
Value Bf16Converter::round(Value x) {
  Value bits = arith::BitcastOp::create(b, withElement(i32), x);
  Value upper = arith::ShRUIOp::create(b, bits, constant(i32, 16));
  Value odd = arith::AndIOp::create(b, upper, constant(i32, 1));
  Value sum = arith::AddIOp::create(b, arith::AddIOp::create(b, bits, constant(i32, 0x7fff)), odd);
  Value rounded = arith::ShRUIOp::create(b, sum, constant(i32, 16));
  Value isNan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
  Value narrow = arith::TruncIOp::create(b, withElement(i16), rounded);
  return arith::SelectOp::create(b, isNan, constant(i16, 0x7fc0), narrow);
}

static bool isBf16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

void sparsec::lowerHostBf16(LLVM::LLVMFuncOp function) {
  IRRewriter rewriter(function.getContext());
  // Values are defined before they are used, so that an extension is of a bf16 that is an integer already.
  function.walk([&](Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case([&](LLVM::LoadOp load) {
          Type type = load.getType();
          if (auto vector = dyn_cast<VectorType>(type); vector && isBf16(type))
            load.getResult().setType(vector.clone(rewriter.getI16Type()));
          else if (isBf16(type))
            load.getResult().setType(rewriter.getI16Type());
        })
        .Case([&](arith::ExtFOp extension) {
          if (getElementTypeOrSelf(extension.getIn().getType()).isInteger(16))
            rewriter.replaceOp(extension, Bf16Converter(op, extension.getType()).extend(extension.getIn()));
        })
        .Case([&](arith::TruncFOp rounding) {
          if (isBf16(rounding.getType()))
            rewriter.replaceOp(rounding, Bf16Converter(op, rounding.getIn().getType()).round(rounding.getIn()));
        });
  });
}
