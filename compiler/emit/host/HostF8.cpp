// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fp8 on the host, in integers: an fp8 value is the i8 of its bits from its load to its extension. Kernels never round
// to fp8 (spmm_c3, spmm_c20).

#include "host/HostMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace {

struct F8Format {
  int fractionBits, bias;
  /// Magnitudes from here on are infinities and NaN.
  int firstSpecial;
};

/// Writes the extension of an fp8 value, or of a vector of them, to f32 before an op.
class F8Extension {
public:
  F8Extension(arith::ExtFOp op, F8Format format) : b(op.getLoc(), op), floats(op.getType()), format(format) {}

  Value extend(Value bits);

private:
  static constexpr int f32FractionBits = 23, f32Bias = 127, f32Infinity = 0x7f800000, signOfF8 = 0x80;

  Type integers() {
    auto vector = dyn_cast<VectorType>(floats);
    return vector ? Type(vector.clone(b.getI32Type())) : b.getI32Type();
  }
  Value constant(int32_t value) {
    TypedAttr attribute = b.getI32IntegerAttr(value);
    if (auto vector = dyn_cast<VectorType>(integers()))
      attribute = DenseElementsAttr::get(vector, Attribute(attribute));
    return arith::ConstantOp::create(b, attribute);
  }
  Value toFloat(Value bits) { return arith::BitcastOp::create(b, floats, bits); }
  Value isBelow(Value magnitude, int limit) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, magnitude, constant(limit));
  }
  Value subnormal(Value magnitude);

  ImplicitLocOpBuilder b;
  Type floats;
  F8Format format;
};

} // namespace

/// An integer times the smallest number. All results are normal numbers of f32 or zero, so that the processor may treat
/// subnormal ones as it likes.
Value F8Extension::subnormal(Value magnitude) {
  int exponent = 1 - format.bias - format.fractionBits;
  Value unit = toFloat(constant((exponent + f32Bias) << f32FractionBits));
  Value product = arith::MulFOp::create(b, arith::SIToFPOp::create(b, floats, magnitude), unit);
  return arith::BitcastOp::create(b, integers(), product);
}

Value F8Extension::extend(Value bits) {
  Value wide = arith::ExtUIOp::create(b, integers(), bits);
  Value magnitude = arith::AndIOp::create(b, wide, constant(signOfF8 - 1));
  Value fields = arith::ShLIOp::create(b, magnitude, constant(f32FractionBits - format.fractionBits));
  Value normal = arith::AddIOp::create(b, fields, constant((f32Bias - format.bias) << f32FractionBits));
  Value special = arith::OrIOp::create(b, fields, constant(f32Infinity));
  Value result = arith::SelectOp::create(b, isBelow(magnitude, format.firstSpecial), normal, special);
  result = arith::SelectOp::create(b, isBelow(magnitude, 1 << format.fractionBits), subnormal(magnitude), result);
  Value sign = arith::ShLIOp::create(b, arith::AndIOp::create(b, wide, constant(signOfF8)), constant(24));
  return toFloat(arith::OrIOp::create(b, result, sign));
}

static bool isF8(Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(type)); }

/// f8E4M3FN has no infinity, and NaN only where all bits are ones.
static F8Format formatOf(Type type) {
  return isa<Float8E5M2Type>(getElementTypeOrSelf(type)) ? F8Format{2, 15, 0x7c} : F8Format{3, 7, 0x7f};
}

void sparsec::lowerHostF8(LLVM::LLVMFuncOp function) {
  IRRewriter rewriter(function.getContext());
  Type bits = rewriter.getI8Type();
  SmallVector<LLVM::LoadOp> loads;
  function.walk([&](Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case([&](LLVM::GEPOp address) {
          if (isF8(address.getElemType()))
            address.setElemType(bits);
        })
        .Case([&](arith::ExtFOp extension) {
          if (Type type = extension.getIn().getType(); isF8(type)) {
            loads.push_back(extension.getIn().getDefiningOp<LLVM::LoadOp>());
            rewriter.replaceOp(extension, F8Extension(extension, formatOf(type)).extend(extension.getIn()));
          }
        });
  });
  for (LLVM::LoadOp load : loads) {
    auto vector = dyn_cast<VectorType>(load.getType());
    load.getResult().setType(vector ? Type(vector.clone(bits)) : bits);
  }
}
