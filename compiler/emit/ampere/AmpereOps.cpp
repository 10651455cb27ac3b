// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ampere/AmpereOps.h"

#include "ampere/ThreadCopy.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

void AmpereOps::emitCopy(CopyOp op) { makeThreadCopy(program, op)->emit(); }

MmaOperand AmpereOps::operandOf(Value view, Value cursor) {
  auto op = view.getDefiningOp<ViewOp>();
  auto firstOf = [&](Value first) { return first ? values.one(first) : b.i32(0); };
  return {op,
          program.ringOf(op.getRing()),
          program.slotOf(cursor).slot,
          firstOf(op.getRow()),
          firstOf(op.getColumn()),
          program.threadInGroup};
}

void AmpereOps::emitLoadFragment(LoadFragmentOp op) {
  values.set(op, loadMmaFragment(b, operandOf(op.getView(), op.getCursor())));
}

void AmpereOps::emitProduct(ProductOp op) {
  MmaOperand x = operandOf(op.getB(), op.getBCursor());
  Values sums = op.getAccumulator() ? Values(values.of(op.getAccumulator())) : values.zeroSums(op.getType());
  if (op.getACursor())
    sums = emitMmaProduct(b, operandOf(op.getA(), op.getACursor()), x, sums, op.getDepth());
  else
    sums = emitMmaProduct(b, values.of(op.getA()), x, sums, op.getDepth());
  values.set(op, sums);
}
