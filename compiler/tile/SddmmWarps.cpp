// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a sddmm in which all warps are one role, for products by mma.sync. For each step of K the warps copy
// the rows of A, and the columns of B that belong to the blocks of the tile, side by side. Each multiplies its rows of
// A by its columns, which are a part of a block or several blocks. WarpSteps.h has the order of copies and products.
//
// A tile with fewer blocks than it has room for copies the last one again. Warps that have columns of no block multiply
// nothing.

#include "SddmmParts.h"
#include "WarpSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

class SddmmWarps : public SddmmParts {
public:
  using SddmmParts::SddmmParts;

private:
  void buildBody(ImplicitLocOpBuilder &b) override;
  void buildRole(ImplicitLocOpBuilder &b);
  Values columnsOfBlocks(ImplicitLocOpBuilder &b, const Tile &tile);
  Value multiplyTile(ImplicitLocOpBuilder &b, const Tile &tile, Value hasBlocks);
  Value multiplyStep(ImplicitLocOpBuilder &b, Value slot, Value sum, Value hasBlocks);

  int64_t rowsOfGroup() { return schedule.getTileM() / schedule.getConsumersM(); }
  Type sumType() { return AccumulatorType::get(kernel.getContext(), rowsOfGroup(), columnsOfGroup()); }

  Value viewOfA, viewOfB;
};

void SddmmWarps::buildBody(ImplicitLocOpBuilder &b) {
  ring = makeRing(b);
  makeRole(b, "all", RoleUnit::warp, groups(), /*registers=*/0, [&] { buildRole(b); });
}

void SddmmWarps::buildRole(ImplicitLocOpBuilder &b) {
  GroupPart part = partOf(b, schedule, rowsOfGroup(), columnsOfGroup());
  viewOfA = viewOfLeft(b, part.row, rowsOfGroup());
  viewOfB = viewOfRight(b, part.column, columnsOfGroup(), "b");
  Value blockOfTile = divide(b, part.column, stride()), columnOfBlock = remainder(b, part.column, stride());
  forEachTile(b, /*inits=*/{}, [&](const Tile &tile, ValueRange) {
    Value hasBlocks = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, blockOfTile, tile.count);
    Value sum = multiplyTile(b, tile, hasBlocks);
    Value first = add(b, tile.first, blockOfTile), end = add(b, tile.first, tile.count);
    storeTile(b, tile, {part.group, part.row, columnOfBlock, first, end}, sum);
    return Values();
  });
}

/// The first column of B of each block that a tile has room for.
SddmmWarps::Values SddmmWarps::columnsOfBlocks(ImplicitLocOpBuilder &b, const Tile &tile) {
  Value end = add(b, tile.first, tile.count), last = arith::SubIOp::create(b, end, i32(b, 1));
  Values columns;
  for (int64_t i = 0; i < int64_t(schedule.getTileN()) / stride(); ++i) {
    Value block = i == 0 ? tile.first : arith::MinSIOp::create(b, add(b, tile.first, i), last);
    Value walk = BlockWalkOp::create(b, operand(sddmm.getPattern()), block, end);
    Value blockColumn = FirstStepOp::create(b, walk, /*reads=*/true).getVisited()[1];
    columns.push_back(named(columnOfRight(b, blockColumn), "column"));
  }
  return columns;
}

Value SddmmWarps::multiplyTile(ImplicitLocOpBuilder &b, const Tile &tile, Value hasBlocks) {
  Values columns = columnsOfBlocks(b, tile);
  Value row = rowOfLeft(b, tile);
  int64_t depth = schedule.getTileK();
  Value count = divide(b, add(b, depthOf(b), depth - 1), depth);
  BarrierOp::create(b); // all warps are done with the slots of the previous tile
  auto copies = [&](Value number, Value slot, ValueRange) {
    Value k = named(multiply(b, number, depth), "k");
    copyLeft(b, row, k, slot);
    CopyOp copy = copyRight(b, columns.front(), k, slot);
    if (columns.size() > 1) {
      copy.getPartsMutable().assign(ValueRange(columns).drop_front());
      copy.setPartDimension(isRightTransposed() ? 0 : 1);
    }
  };
  auto nothing = [](Value, ValueRange) { return Values(); };
  auto product = [&](Value, Value slot, Value sum, function_ref<void()> meet) {
    meet();
    return multiplyStep(b, slot, sum, hasBlocks);
  };
  return WarpSteps(b, schedule, ring, count)
      .run(CursorOp::create(b, ring), /*inits=*/{}, /*names=*/{}, sumType(), copies, nothing, product);
}

Value SddmmWarps::multiplyStep(ImplicitLocOpBuilder &b, Value slot, Value sum, Value hasBlocks) {
  auto branch = scf::IfOp::create(b, TypeRange{sumType()}, hasBlocks, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, sum);
  b.setInsertionPointToStart(branch.thenBlock());
  Value product = ProductOp::create(b, sumType(), viewOfA, slot, viewOfB, slot, sum, schedule.getTileK());
  scf::YieldOp::create(b, product);
  return branch.getResult(0);
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeSddmmWarps(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule) {
  return std::make_unique<SddmmWarps>(kernel, sddmm, schedule);
}
