// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "host/HostBuilder.h"

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void HostBuilder::begin() {
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64, i64});
  function = LLVM::LLVMFuncOp::create(b, program.getSymName(), type);
  entry = function.addEntryBlock(b);
  b.setInsertionPointToEnd(entry);
}

void HostBuilder::forTiles(Body tile) {
  auto loop = scf::ForOp::create(b, function.getArgument(1), function.getArgument(2), constant(1));
  tileLoop = loop;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  tile(loop.getInductionVar());
}

LLVM::LLVMFuncOp HostBuilder::finish() {
  LLVM::ReturnOp::create(b, ValueRange{});
  ScheduleAttr schedule = program.getSchedule();
  function->setAttr("sparsec.kernel", program.getKernelAttr());
  function->setAttr("sparsec.variant", program.getVariantAttr());
  function->setAttr("sparsec.alignment", program.getAlignmentAttr());
  function->setAttr("sparsec.parameters", b.getArrayAttr(recipe));
  function->setAttr("sparsec.tile_m", b.getI64IntegerAttr(schedule.getTileM()));
  function->setAttr("sparsec.tile_n", b.getI64IntegerAttr(schedule.getTileN()));
  function->setAttr("sparsec.tile_k", b.getI64IntegerAttr(schedule.getTileK()));
  return function;
}

void HostBuilder::beforeTiles(llvm::function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(b);
  if (tileLoop)
    b.setInsertionPoint(tileLoop);
  body();
}

/// Adds a parameter to the recipe and loads it from its 8-byte slot.
Value HostBuilder::parameter(Type type, ParameterKind kind, int64_t argument, int64_t index) {
  auto attribute = ParameterAttr::get(b.getContext(), kind, argument, index);
  Value &result = parameters[attribute];
  if (!result)
    beforeTiles([&] {
      Value slot = address(i64, function.getArgument(0), constant(recipe.size()));
      recipe.push_back(attribute);
      result = LLVM::LoadOp::create(b, type, slot);
    });
  return result;
}

Value HostBuilder::indexParameter(ParameterKind kind, int64_t argument, int64_t index) {
  Value &result = indexParameters[ParameterAttr::get(b.getContext(), kind, argument, index)];
  if (!result)
    beforeTiles([&] { result = arith::ExtSIOp::create(b, i64, parameter(i32, kind, argument, index)); });
  return result;
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

Value HostBuilder::buffer(int64_t vectors) {
  return LLVM::AllocaOp::create(b, pointer, f32, constant(vectors * vectorSize), vectorAlignment);
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

void HostBuilder::loop(Value begin, Value end, Value step, Body body) {
  auto loop = scf::ForOp::create(b, begin, end, step);
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
