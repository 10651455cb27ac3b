// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ampere/AmpereOps.h"

#include "FragmentLoader.h"
#include "ampere/AdjacentRows.h"
#include "ampere/ThreadCopy.h"
#include "hopper/TensorCopy.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// One thread starts tensor copies. Warps copy themselves.
void AmpereOps::emitCopy(CopyOp op) {
  if (op->getParentOfType<RoleOp>().getUnit() == RoleUnit::warp)
    return program.ringOf(op.getRing()).isAdjacent(op.getIndex()) ? emitAdjacentCopy(program, op)
                                                                  : makeThreadCopy(program, op)->emit();
  emitTensorCopy(context, op, program.ringOf(op.getRing()), program.slotOf(op.getCursor()),
                 values.flat(op.getCoordinates()), /*blockColumns=*/ValueRange(), values.one(op.getAt()));
}

MmaOperand AmpereOps::operandOf(Value view, Value cursor) {
  auto op = view.getDefiningOp<ViewOp>();
  auto firstOf = [&](Value first) { return first ? values.one(first) : b.i32(0); };
  return {op,
          program.ringOf(op.getRing()),
          program.slotOf(cursor).slot,
          firstOf(op.getRow()),
          firstOf(op.getColumn()),
          program.threadInGroup,
          elementsOfAdjacentRow(context, op, program.ringOf(op.getRing()))};
}

/// Buffers of rings between roles are filled by tensor copies.
void AmpereOps::emitLoadFragment(LoadFragmentOp op) {
  MmaOperand operand = operandOf(op.getView(), op.getCursor());
  if (!operand.ring.hasBarriers())
    return values.set(op, loadMmaFragment(b, operand, op.getType().getElementType()));
  FragmentLoader loader(b, op, operand.ring, operand.slot, operand.row, operand.column, operand.lane, rowsOfMma);
  values.set(op, loader.loadAll());
}

void AmpereOps::emitProduct(ProductOp op) {
  Values sums = op.getAccumulator() ? Values(values.of(op.getAccumulator())) : values.zeroSums(op.getType());
  values.set(op, product(op, sums));
}

KernelBuilder::Values AmpereOps::product(ProductOp op, ValueRange sums) {
  if (!op.getBCursor())
    return emitMmaProduct(b, cast<FragmentType>(op.getB().getType()), values.of(op.getA()), values.of(op.getB()), sums,
                          op.getDepth());
  MmaOperand x = operandOf(op.getB(), op.getBCursor());
  if (op.getACursor())
    return emitMmaProduct(b, operandOf(op.getA(), op.getACursor()), x, sums, op.getDepth(), op.getWidened());
  return emitMmaProduct(b, values.of(op.getA()), x, sums, op.getDepth());
}
