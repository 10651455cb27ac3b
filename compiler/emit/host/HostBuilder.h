// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts that the host kernels of all families are made of: parameters in 8-byte slots, loops, buffers of f32 on the
// stack, and sums over vectors of f32 that LLVM splits to the width of the processor.

#ifndef SPARSEC_EMIT_HOST_BUILDER_H
#define SPARSEC_EMIT_HOST_BUILDER_H

#include "Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sparsec {

class HostBuilder {
protected:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;
  using Type = mlir::Type;
  using Body = llvm::function_ref<void(Value)>;

  /// Elements of a vector: two registers of eight f32, a cache line.
  static constexpr int64_t vectorSize = 16;
  /// Vectors of sums that a loop of a product computes: eight registers, enough independent sums to hide the latency of
  /// a multiply-add, for two loads of vectors and four of scalars.
  static constexpr int64_t productRows = 4;
  static constexpr unsigned vectorAlignment = vectorSize * sizeof(float);
  /// A matrix in memory: element (i, j) is at data + i * stride + j, or at data + j * stride + i when transposed.
  struct Matrix {
    Value data, stride;
    Type elementType;
    bool transposed = false;
  };

  /// One extra operand of an epilogue: `matrix` for full operands, `value` for an f32 by value.
  struct Extra {
    Broadcast broadcast;
    Matrix matrix;
    Value value;
  };

  /// Where the extra operands of one element have theirs.
  struct ExtraPosition {
    Value row, column;         // of vectors
    Value fullRow, fullColumn; // of full operands as matrices
  };

  explicit HostBuilder(ProgramOp program) : program(program), b(program.getLoc(), program) {}

  /// Starts the function; the builder is then in its first block.
  void begin();
  /// Calls `tile` for every tile of the function's range.
  void forTiles(Body tile);
  /// Ends the function and describes it in attributes.
  mlir::LLVM::LLVMFuncOp finish();
  /// Emits the ops of `body` in front of the loop over tiles.
  void beforeTiles(llvm::function_ref<void()> body);

  // Parameters, in the order of their slots. Each is loaded once, before the tiles.
  static int64_t argumentOf(Value operand) { return llvm::cast<mlir::BlockArgument>(operand).getArgNumber(); }
  Value parameter(Type type, ParameterKind kind, int64_t argument = 0, int64_t index = 0);
  /// An i32 parameter as i64.
  Value indexParameter(ParameterKind kind, int64_t argument = 0, int64_t index = 0);
  Value sizeParameter(int64_t argument, int64_t dimension) {
    return indexParameter(ParameterKind::size, argument, dimension);
  }

  // Operands of products.
  Matrix matrixParameter(Value operand, bool transposed);
  Matrix matrixParameter(int64_t argument, Type elementType, bool transposed);
  Value elementAddress(const Matrix &matrix, Value row, Value column);
  Extra extraParameter(Value operand, Broadcast broadcast, const Matrix &result);
  Value extraElement(const Extra &extra, const ExtraPosition &at);

  /// Every constant is defined once, at the start of the function.
  Value constant(mlir::TypedAttr attribute);

  // Integers (i64).
  Value constant(int64_t value);
  Value add(Value x, Value y) { return mlir::arith::AddIOp::create(b, x, y); }
  Value subtract(Value x, Value y) { return mlir::arith::SubIOp::create(b, x, y); }
  Value multiply(Value x, Value y) { return mlir::arith::MulIOp::create(b, x, y); }
  Value divide(Value x, int64_t y) { return mlir::arith::DivSIOp::create(b, x, constant(y)); }
  /// x / y, rounded up.
  Value ceilDivide(Value x, int64_t y) { return divide(add(x, constant(y - 1)), y); }
  Value smaller(Value x, Value y) { return mlir::arith::MinSIOp::create(b, x, y); }
  Value larger(Value x, Value y) { return mlir::arith::MaxSIOp::create(b, x, y); }
  /// min(limit, size - first): how many of `limit` positions from `first` on are below `size`.
  Value inside(Value size, Value first, int64_t limit) { return smaller(constant(limit), subtract(size, first)); }

  // Memory.
  Value address(Type elementType, Value base, Value index);
  Value load(Type type, Value base, Value index);
  /// An i32 of an index array.
  Value loadIndex(Value base, Value index);
  void store(Value value, Value base, Value index);

  // Buffers of vectors.
  Value buffer(int64_t vectors);
  Value vectorAddress(Value buffer, Value index) { return address(f32, buffer, multiply(index, constant(vectorSize))); }
  Value loadVector(Value buffer, Value index) {
    return mlir::LLVM::LoadOp::create(b, vectorType, vectorAddress(buffer, index), vectorAlignment);
  }
  void storeVector(Value value, Value buffer, Value index) {
    mlir::LLVM::StoreOp::create(b, value, vectorAddress(buffer, index), vectorAlignment);
  }
  Value constantVector(float value) { return constant(mlir::DenseElementsAttr::get(vectorType, value)); }

  // f32.
  Value f32Constant(float value);
  Value toF32(Value value);
  Value fromF32(Value value, Type type);
  Value splat(Value scalar, mlir::VectorType type);

  // Loops.
  void loop(Value begin, Value end, Value step, Body body);
  void loop(Value begin, Value end, Body body) { loop(begin, end, constant(1), body); }
  /// Carries values through the loop and returns the last ones.
  Values reduce(Value begin, Value end, mlir::ValueRange init,
                llvm::function_ref<Values(Value index, mlir::ValueRange carried)> body);
  /// init[i] + the sum of weight(k, i) * row(k) over [begin, end) for all i, on vectors, in registers over k.
  Values multiplyAdd(Value begin, Value end, mlir::ValueRange init,
                     llvm::function_ref<Value(Value k, unsigned i)> weight, llvm::function_ref<Value(Value k)> row);

  ProgramOp program;
  mlir::ImplicitLocOpBuilder b;
  Type i32 = b.getI32Type(), i64 = b.getI64Type(), f32 = b.getF32Type();
  Type pointer = mlir::LLVM::LLVMPointerType::get(b.getContext());
  mlir::VectorType vectorType = mlir::VectorType::get(vectorSize, b.getF32Type());

private:
  mlir::LLVM::LLVMFuncOp function;
  mlir::Block *entry = nullptr;
  mlir::Operation *tileLoop = nullptr;
  llvm::DenseMap<mlir::Attribute, Value> constants, parameters, indexParameters;
  llvm::SmallVector<mlir::Attribute> recipe;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_BUILDER_H
