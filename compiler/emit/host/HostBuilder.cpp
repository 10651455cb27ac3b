// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "host/HostBuilder.h"

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void HostBuilder::begin() {
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64, i64});
  // The kernel op keeps its name, so the function needs another one.
  function = LLVM::LLVMFuncOp::create(b, (kernel.getSymName() + ".host").str(), type);
  entry = function.addEntryBlock(b);
  b.setInsertionPointToEnd(entry);
}

LLVM::LLVMFuncOp HostBuilder::finish(TileSizes sizes, Body tile) {
  loop(function.getArgument(1), function.getArgument(2), tile);
  LLVM::ReturnOp::create(b, ValueRange{});

  function->setAttr("sparsec.kernel", FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
  function->setAttr("sparsec.variant", b.getI64IntegerAttr(0));
  function->setAttr("sparsec.alignment", b.getI64IntegerAttr(alignment()));
  function->setAttr("sparsec.parameters", b.getArrayAttr(recipe));
  function->setAttr("sparsec.tile_m", b.getI64IntegerAttr(sizes.m));
  function->setAttr("sparsec.tile_n", b.getI64IntegerAttr(sizes.n));
  function->setAttr("sparsec.tile_k", b.getI64IntegerAttr(sizes.k));
  return function;
}

/// The bytes that every pointer and stride must be a multiple of: the smallest element.
int64_t HostBuilder::alignment() {
  unsigned bits = 64;
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes())) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bits = std::min(bits, tensor.getElementTypeBitWidth());
    if (auto matrix = dyn_cast<BsrType>(type))
      bits = std::min(bits, matrix.getElementType().getIntOrFloatBitWidth());
  }
  return bits / 8;
}

/// Adds a parameter to the recipe and loads it from its 8-byte slot.
Value HostBuilder::parameter(Type type, ParameterKind kind, int64_t argument, int64_t index) {
  Value slot = address(i64, function.getArgument(0), constant(recipe.size()));
  recipe.push_back(ParameterAttr::get(b.getContext(), kind, argument, index));
  return LLVM::LoadOp::create(b, type, slot);
}

Value HostBuilder::indexParameter(ParameterKind kind, int64_t argument, int64_t index) {
  return arith::ExtSIOp::create(b, i64, parameter(i32, kind, argument, index));
}

//===----------------------------------------------------------------------===//
// Operands of products
//===----------------------------------------------------------------------===//

HostBuilder::Matrix HostBuilder::matrixParameter(int64_t argument, Type elementType, bool transposed) {
  Value data = parameter(pointer, ParameterKind::pointer, argument);
  Value stride = parameter(i64, ParameterKind::stride, argument, 0);
  return {data, stride, elementType, transposed};
}

HostBuilder::Matrix HostBuilder::matrixParameter(Value operand, bool transposed) {
  return matrixParameter(argumentOf(operand), cast<RankedTensorType>(operand.getType()).getElementType(), transposed);
}

Value HostBuilder::elementAddress(const Matrix &matrix, Value row, Value column) {
  if (matrix.transposed)
    std::swap(row, column);
  return address(matrix.elementType, matrix.data, add(multiply(row, matrix.stride), column));
}

/// A full operand has the layout of the result. One of rank 3 is a matrix of all rows of its blocks.
HostBuilder::Extra HostBuilder::extraParameter(Value operand, Broadcast broadcast, const Matrix &result) {
  int64_t argument = argumentOf(operand);
  Extra extra{broadcast, {}, {}};
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  if (!type)
    extra.value = parameter(f32, ParameterKind::scalar, argument);
  else if (broadcast == Broadcast::full && type.getRank() == 2)
    extra.matrix = matrixParameter(operand, result.transposed);
  else
    extra.matrix = {parameter(pointer, ParameterKind::pointer, argument), result.stride, type.getElementType()};
  return extra;
}

Value HostBuilder::extraElement(const Extra &extra, const ExtraPosition &at) {
  if (extra.value)
    return extra.value;
  Type type = extra.matrix.elementType;
  switch (extra.broadcast) {
  case Broadcast::per_row:
    return load(type, extra.matrix.data, at.row);
  case Broadcast::per_column:
    return load(type, extra.matrix.data, at.column);
  case Broadcast::scalar:
    return load(type, extra.matrix.data, constant(0));
  case Broadcast::full:
    return LLVM::LoadOp::create(b, type, elementAddress(extra.matrix, at.fullRow, at.fullColumn));
  }
  llvm_unreachable("all broadcasts are handled");
}

//===----------------------------------------------------------------------===//
// Small words
//===----------------------------------------------------------------------===//

Value HostBuilder::constant(TypedAttr attribute) {
  Value &result = constants[attribute];
  if (!result) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(entry);
    result = arith::ConstantOp::create(b, attribute);
  }
  return result;
}

Value HostBuilder::constant(int64_t value) { return constant(b.getI64IntegerAttr(value)); }
Value HostBuilder::f32Constant(float value) { return constant(b.getF32FloatAttr(value)); }

Value HostBuilder::address(Type elementType, Value base, Value index) {
  return LLVM::GEPOp::create(b, pointer, elementType, base, ArrayRef<LLVM::GEPArg>{index});
}

Value HostBuilder::load(Type type, Value base, Value index) {
  return LLVM::LoadOp::create(b, type, address(type, base, index));
}

Value HostBuilder::loadIndex(Value base, Value index) { return arith::ExtSIOp::create(b, i64, load(i32, base, index)); }

void HostBuilder::store(Value value, Value base, Value index) {
  LLVM::StoreOp::create(b, value, address(value.getType(), base, index));
}

Value HostBuilder::buffer(int64_t rows) {
  return LLVM::AllocaOp::create(b, pointer, f32, constant(rows * rowSize), bufferAlignment);
}

Value HostBuilder::bufferRow(Value buffer, Value row) { return address(f32, buffer, multiply(row, constant(rowSize))); }

Value HostBuilder::loadRow(Value buffer, Value row) {
  return LLVM::LoadOp::create(b, rowType, bufferRow(buffer, row), bufferAlignment);
}

void HostBuilder::storeRow(Value value, Value buffer, Value row) {
  LLVM::StoreOp::create(b, value, bufferRow(buffer, row), bufferAlignment);
}

Value HostBuilder::toF32(Value value) {
  return value.getType() == f32 ? value : arith::ExtFOp::create(b, f32, value).getResult();
}

Value HostBuilder::fromF32(Value value, Type type) {
  return type == f32 ? value : arith::TruncFOp::create(b, type, value).getResult();
}

Value HostBuilder::splat(Value scalar, VectorType type) {
  Value first = LLVM::InsertElementOp::create(b, LLVM::PoisonOp::create(b, type), scalar, constant(0));
  return LLVM::ShuffleVectorOp::create(b, first, first, SmallVector<int32_t>(type.getNumElements(), 0));
}

void HostBuilder::loop(Value begin, Value end, Body body) {
  auto loop = scf::ForOp::create(b, begin, end, constant(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

HostBuilder::Values HostBuilder::reduce(Value begin, Value end, ValueRange init,
                                        llvm::function_ref<Values(Value index, ValueRange carried)> body) {
  auto loop = scf::ForOp::create(b, begin, end, constant(1), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return Values(loop.getResults());
}

HostBuilder::Values HostBuilder::multiplyAdd(Value begin, Value end, ValueRange init,
                                             llvm::function_ref<Value(Value k, unsigned i)> weight,
                                             llvm::function_ref<Value(Value k)> row) {
  return reduce(begin, end, init, [&](Value k, ValueRange sums) {
    Value factors = row(k);
    Values next;
    for (auto [i, sum] : llvm::enumerate(sums)) {
      Value factor = splat(weight(k, i), cast<VectorType>(factors.getType()));
      next.push_back(LLVM::FMulAddOp::create(b, factor, factors, sum));
    }
    return next;
  });
}
