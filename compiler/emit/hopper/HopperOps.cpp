// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "hopper/HopperOps.h"

#include "FragmentLoader.h"
#include "Ptx.h"
#include "hopper/Products.h"
#include "hopper/TensorCopy.h"

using namespace mlir;
using namespace sparsec;

void HopperOps::emitCopy(CopyOp op) {
  emitTensorCopy(context, op, program.ringOf(op.getRing()), program.slotOf(op.getCursor()),
                 values.flat(op.getCoordinates()), values.flat(op.getBlockColumns()), values.one(op.getAt()));
}

void HopperOps::emitView(ViewOp op) {
  values.set(op,
             emitWgmmaView(b, op, program.ringOf(op.getRing()), values.one(op.getRow()), values.one(op.getColumn())));
}

void HopperOps::emitLoadFragment(LoadFragmentOp op) {
  auto view = op.getView().getDefiningOp<ViewOp>();
  FragmentLoader loader(b, op, program.ringOf(view.getRing()), program.slotOf(op.getCursor()).slot,
                        values.one(view.getRow()), values.one(view.getColumn()), program.threadInGroup, rowsOfWgmma);
  values.set(op, loader.loadAll());
}

WgmmaOperand HopperOps::operandOf(Value view, Value cursor) {
  auto op = view.getDefiningOp<ViewOp>();
  return {values.one(view), op, program.ringOf(op.getRing()), program.slotOf(cursor).slot, Value()};
}

/// Where instructions keep their descriptors, those of a step are made together, because the assembler lets descriptors
/// share registers that are not there at once. Those of the left operand, the queries, are made before the loop.
HopperOps::Descriptors HopperOps::describe(ProductOp op, WgmmaShape shape) {
  bool keeps = op.getKeepsDescriptors();
  Descriptors descriptors;
  OpBuilder::InsertionGuard guard(b);
  OpBuilder::InsertPoint here = b.saveInsertionPoint();
  zeros.zero = Value();
  if (keeps) {
    b.setInsertionPointAfterValue(values.one(op.getB()));
    zeros.zero = program.unknownZero();
    b.restoreInsertionPoint(here);
  }
  if (op.getACursor()) {
    if (keeps)
      b.setInsertionPoint(b.getInsertionBlock()->getParentOp());
    descriptors.left = describeLeft(b, shape, operandOf(op.getA(), op.getACursor()), zeros);
    b.restoreInsertionPoint(here);
  }
  if (keeps && firstOfStep && firstOfStep->getBlock() == b.getInsertionBlock())
    b.setInsertionPoint(firstOfStep);
  WgmmaOperand x = operandOf(op.getB(), op.getBCursor());
  if (std::optional<uint64_t> ones = op.getOnes())
    x.ones = ptx::wgmmaAddress(b, b.byteOffset(context.sharedMemory, int64_t(*ones)));
  descriptors.right = describeRight(b, shape, x, zeros);
  if (keeps)
    firstOfStep = descriptors.right.front().getDefiningOp();
  return descriptors;
}

void HopperOps::emitProduct(ProductOp op) {
  bool startsAtZero = !op.getAccumulator();
  Value sum = values.one(startsAtZero ? op.getRegisters() : op.getAccumulator());
  auto type = cast<PendingType>(op.getType());
  WgmmaShape shape = {type.getRows(), type.getColumns(), int64_t(op.getColumns().value_or(type.getColumns())),
                      int64_t(op.getDepth()), startsAtZero};
  Descriptors of = describe(op, shape);
  auto x = cast<ViewType>(op.getB().getType());
  values.set(op, op.getACursor()
                     ? emitWgmmaProduct(b, shape, cast<ViewType>(op.getA().getType()), of.left, x, of.right, sum)
                     : emitWgmmaProduct(b, shape, values.of(op.getA()), x, of.right, sum));
}

void HopperOps::emitAwait(AwaitOp op) {
  values.set(op, ptx::wgmmaWait(b, op.getOutstanding(), values.one(op.getPending())));
}
