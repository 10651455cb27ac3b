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

void HopperOps::emitProduct(ProductOp op) {
  auto operandOf = [&](Value view, Value cursor) -> WgmmaOperand {
    auto viewOp = view.getDefiningOp<ViewOp>();
    return {values.one(view), viewOp, program.ringOf(viewOp.getRing()), program.slotOf(cursor).slot, Value()};
  };
  WgmmaOperand x = operandOf(op.getB(), op.getBCursor());
  if (std::optional<uint64_t> ones = op.getOnes())
    x.ones = ptx::wgmmaAddress(b, b.byteOffset(context.sharedMemory, int64_t(*ones)));
  bool startsAtZero = !op.getAccumulator();
  Value sum = values.one(startsAtZero ? op.getRegisters() : op.getAccumulator());
  auto type = cast<PendingType>(op.getType());
  WgmmaShape shape = {type.getRows(), type.getColumns(), int64_t(op.getColumns().value_or(type.getColumns())),
                      int64_t(op.getDepth()), startsAtZero};
  values.set(op, op.getACursor() ? emitWgmmaProduct(b, shape, operandOf(op.getA(), op.getACursor()), x, sum)
                                 : emitWgmmaProduct(b, shape, values.of(op.getA()), x, sum));
}

void HopperOps::emitAwait(AwaitOp op) {
  values.set(op, ptx::wgmmaWait(b, op.getOutstanding(), values.one(op.getPending())));
}
