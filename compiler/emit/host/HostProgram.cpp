// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "host/HostProgram.h"

#include "host/HostMerge.h"
#include "host/HostProducts.h"
#include "host/HostQueries.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

std::unique_ptr<HostProgram> sparsec::makeHostProgram(ProgramOp program) {
  KeyLoopOp keyLoop;
  program.walk([&](KeyLoopOp loop) { keyLoop = loop; });
  if (keyLoop)
    return std::make_unique<HostQueries>(program, keyLoop);
  bool isMerge = program.walk([](MergeRowsOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (isMerge)
    return std::make_unique<HostMerge>(program);
  return std::make_unique<HostProducts>(program);
}

LLVM::LLVMFuncOp HostProgram::emit() {
  begin();
  for (Operation &op : program.getBody().front())
    translate(op);
  LLVM::LLVMFuncOp function = finish();
  if (isComplete)
    return function;
  function.erase();
  return {};
}

void HostProgram::translate(Operation &op) {
  TypeSwitch<Operation *>(&op)
      .Case<TileLoopOp, scf::ForOp, scf::IfOp, ReadPlanOp, SizeOp, arith::ConstantOp>([&](auto known) { emit(known); })
      .Default([&](Operation *other) {
        if (isa<arith::ArithDialect>(other->getDialect()))
          return emitArithmetic(*other);
        if (translateOther(*other))
          return;
        other->emitOpError("expects a program in values form on the host, which does not have this op");
        isComplete = false;
      });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The runtime distributes the tiles to threads: a call computes some that follow one another.
void HostProgram::emit(TileLoopOp op) {
  Value rowsOfPanel = tileRows(), length = rowsOfPanel ? rowsOfPanel : panels();
  forTiles([&](Value index) {
    Value outer = arith::DivSIOp::create(b, index, length), inner = arith::RemSIOp::create(b, index, length);
    if (rowsOfPanel)
      std::swap(outer, inner);
    Block &body = op.getBody().front();
    set(body.getArgument(0), outer);
    set(body.getArgument(1), inner);
    translate(body);
  });
}

void HostProgram::emit(scf::ForOp op) {
  carry(op.getInits(), op.getRegionIterArgs());
  loop(number(op.getLowerBound()), number(op.getUpperBound()), number(op.getStep()), [&](Value index) {
    set(op.getInductionVar(), index);
    translate(*op.getBody());
  });
  carry(op.getInits(), op.getResults());
}

void HostProgram::emit(scf::IfOp op) {
  auto branch = scf::IfOp::create(b, number(op.getCondition()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  translate(*op.thenBlock());
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

Value HostProgram::sectionParameter(PlanSection section) {
  return parameter(pointer, ParameterKind::plan_section, 0, static_cast<int64_t>(section));
}

HostProgram::Tensor HostProgram::tensorOf(Value argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  int64_t number = argumentOf(argument);
  Tensor tensor{parameter(pointer, ParameterKind::pointer, number), type.getElementType(), {}};
  for (int64_t dimension = 0; dimension + 1 < type.getRank(); ++dimension)
    tensor.strides.push_back(parameter(i64, ParameterKind::stride, number, dimension));
  return tensor;
}

Value HostProgram::elementAddress(const Tensor &tensor, ArrayRef<Value> indices) {
  Value offset = indices.empty() ? constant(0) : indices.back();
  for (auto [index, stride] : llvm::zip_first(tensor.strides, indices))
    offset = add(offset, multiply(stride, index));
  return address(tensor.elementType, tensor.data, offset);
}

void HostProgram::emit(ReadPlanOp op) {
  set(op.getResult(), loadIndex(sectionParameter(op.getSection()), number(op.getIndex())));
}

void HostProgram::emit(SizeOp op) { set(op.getResult(), sizeOf(op.getSource(), op.getDimension())); }

void HostProgram::emit(arith::ConstantOp op) {
  set(op.getResult(), constant(cast<IntegerAttr>(op.getValue()).getInt()));
}

/// The same op on i64.
void HostProgram::emitArithmetic(Operation &op) {
  IRMapping operands;
  for (Value operand : op.getOperands())
    operands.map(operand, number(operand));
  Operation *copy = b.clone(op, operands);
  for (auto [result, onHost] : llvm::zip_equal(op.getResults(), copy->getResults())) {
    if (result.getType() == i32)
      onHost.setType(i64);
    set(result, onHost);
  }
}
