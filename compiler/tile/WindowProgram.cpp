// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WindowProgram.h"

#include "ScheduleAttribute.h"
#include "SharedMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

void WindowProgram::forEachTile(ImplicitLocOpBuilder &b, ValueRange inits,
                                function_ref<Values(const Tile &, ValueRange carried)> body) {
  walkTiles(b, inits, [&](Value tileRow, Value panel, ValueRange carried) {
    TilePartOp part = use == Use::parts ? TilePartOp::create(b, panel) : TilePartOp();
    Value panelOfCta = part ? part.getPanel() : panel;
    if (int64_t cluster = schedule.getCluster(); cluster > 1 && !sharesWindows())
      panelOfCta = add(b, multiply(b, panelOfCta, cluster), ClusterRankOp::create(b));
    Value column = named(multiply(b, panelOfCta, schedule.getTileN()), "column");
    return body({named(tileRow, "window"), column, panel, part}, carried);
  });
}

WindowProgram::Range WindowProgram::readRange(ImplicitLocOpBuilder &b, PlanSection offsets, Value index) {
  Value first = ReadPlanOp::create(b, offsets, index);
  return {first, ReadPlanOp::create(b, offsets, add(b, index, 1))};
}

WindowProgram::Values WindowProgram::coordinatesOfX(Value k, Value column) {
  return isTransposed() ? Values{column, k} : Values{k, column};
}

void WindowProgram::storeRow(ImplicitLocOpBuilder &b, Value row, Value column, Value sum, bool isSwapped,
                             bool inLines) {
  Value zero = i32(b, 0);
  Value blockRow = ReadPlanOp::create(b, PlanSection::window_rows, row);
  auto branch = scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::sge, blockRow, zero),
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> extras;
  for (Value extra : spmm.getExtras())
    extras.push_back(operand(extra));
  int64_t resultBytes = cast<RankedTensorType>(results[0].getType()).getElementTypeBitWidth() / 8;
  auto store = StoreOp::create(b, sum, results[0], blockRow, /*row=*/zero, column, GroupOp::create(b),
                               /*group_row=*/zero, /*group_column=*/zero, extras, spmm.getBroadcast(),
                               matrix.getBlockRows(), /*transposed=*/spmm.getYLayout() == ResultLayout::nm,
                               usesStagedStore(toSchedule(schedule), matrix.getBlockRows(), resultBytes),
                               /*staging=*/DenseI64ArrayAttr());
  store.setSwapped(isSwapped);
  store.setLines(inLines);
  setEpilogue(b, store, spmm.getEpilogue());
}
