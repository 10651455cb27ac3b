// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a sddmm by wgmma and tensor copies. The blocks of a tile are shared out evenly to the CTAs of the
// cluster, which share the rows of A, and to the groups that are side by side in a CTA; a share is never cut. For each
// step of K
//
//   the producer copies the rows of A, and for every block of this CTA the rows of B of the block's columns;
//   each group of consumers multiplies its rows of A by the columns of its blocks, with one product in flight.
//
// A group whose blocks fill at most half of its columns multiplies half as many.

#include "SddmmParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

constexpr int64_t bytesOfPanelRow = 128; // of a buffer, whose elements have 2 bytes

class SddmmRoles : public SddmmParts {
public:
  using SddmmParts::SddmmParts;

private:
  struct SharedTile : Tile {
    Value share; // the most blocks of one group, i32
  };
  struct Range {
    Value first, end; // empty where the end is not behind the first
  };
  using TileBody = function_ref<Value(const SharedTile &, Value cursor)>;
  using StepBody = function_ref<SmallVector<Value>(Value k, ValueRange carried)>;

  void buildBody(ImplicitLocOpBuilder &b) override;
  void forEachSharedTile(ImplicitLocOpBuilder &b, TileBody body);
  SmallVector<Value> walkDepth(ImplicitLocOpBuilder &b, ValueRange inits, StepBody body);
  Range blocksOf(ImplicitLocOpBuilder &b, const SharedTile &tile, Value groupColumn);
  void buildProducer(ImplicitLocOpBuilder &b);
  Value announcedBytes(ImplicitLocOpBuilder &b, const SharedTile &tile);
  void copyBlocks(ImplicitLocOpBuilder &b, Range blocks, int64_t groupColumn, Value k, Value cursor);
  void buildConsumer(ImplicitLocOpBuilder &b);
  Value buildConsumerTile(ImplicitLocOpBuilder &b, const SharedTile &tile, int64_t columns, Value cursor);
  SmallVector<Value> multiplyTile(ImplicitLocOpBuilder &b, int64_t columns, Value cursor);
  void storeShare(ImplicitLocOpBuilder &b, const SharedTile &tile, Value sum);

  int64_t groupsOfTile() { return int64_t(schedule.getCluster()) * schedule.getConsumersN(); }
  Value rowOf(ImplicitLocOpBuilder &b, Value group) {
    return multiply(b, divide(b, group, schedule.getConsumersN()), rowsOfWarpgroup);
  }
  Value columnOf(ImplicitLocOpBuilder &b, Value group) { return remainder(b, group, schedule.getConsumersN()); }

  Value viewOfA, viewsOfB[2]; // of a consumer; those of B have all columns of its group, and half of them
};

void SddmmRoles::buildBody(ImplicitLocOpBuilder &b) {
  ring = makeRing(b);
  makeRole(b, "consumer", RoleUnit::warpgroup, groups(), schedule.getConsumerRegisters(), [&] { buildConsumer(b); });
  makeRole(b, "producer", RoleUnit::thread, 1, schedule.getProducerRegisters(), [&] { buildProducer(b); });
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The body gives the cursor after the tile.
void SddmmRoles::forEachSharedTile(ImplicitLocOpBuilder &b, TileBody body) {
  Value begin = CursorOp::create(b, ring);
  forEachTile(b, begin, [&](const Tile &tile, ValueRange carried) -> Values {
    Value share = divide(b, add(b, tile.count, groupsOfTile() - 1), groupsOfTile());
    return {body({tile, named(share, "share")}, named(carried[0], "slot"))};
  });
}

/// The blocks of a group of this CTA.
SddmmRoles::Range SddmmRoles::blocksOf(ImplicitLocOpBuilder &b, const SharedTile &tile, Value groupColumn) {
  Value number = groupColumn;
  if (int64_t(schedule.getCluster()) > 1)
    number = add(b, multiply(b, ClusterRankOp::create(b), schedule.getConsumersN()), groupColumn);
  Value first = add(b, tile.first, arith::MulIOp::create(b, number, tile.share));
  Value end = arith::MinSIOp::create(b, add(b, first, tile.share), add(b, tile.first, tile.count));
  return {named(first, "first"), named(end, "end")};
}

/// Steps of tile_k from 0 to K.
SmallVector<Value> SddmmRoles::walkDepth(ImplicitLocOpBuilder &b, ValueRange inits, StepBody body) {
  auto loop = scf::ForOp::create(b, i32(b, 0), depthOf(b), i32(b, schedule.getTileK()), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, body(named(loop.getInductionVar(), "k"), loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Producer
//===----------------------------------------------------------------------===//

void SddmmRoles::buildProducer(ImplicitLocOpBuilder &b) {
  forEachSharedTile(b, [&](const SharedTile &tile, Value begin) -> Value {
    SmallVector<Range> blocks;
    for (int64_t column = 0; column < int64_t(schedule.getConsumersN()); ++column)
      blocks.push_back(blocksOf(b, tile, i32(b, column)));
    Value bytes = announcedBytes(b, tile);
    Value row = rowOfLeft(b, tile);
    auto step = [&](Value k, ValueRange carried) -> SmallVector<Value> {
      Value cursor = named(carried[0], "slot");
      AcquireOp::create(b, ring, cursor);
      PostOp::create(b, ring, cursor, /*messages=*/ValueRange(), bytes, /*empty=*/false);
      CopyOp copy = copyLeft(b, row, k, cursor);
      copy.setMulticast(int64_t(schedule.getCluster()) > 1);
      for (auto [column, range] : llvm::enumerate(blocks))
        copyBlocks(b, range, int64_t(column), k, cursor);
      return {NextOp::create(b, ring, cursor)};
    };
    return walkDepth(b, begin, step)[0];
  });
}

/// The bytes that this CTA receives in a step: those of A, and those of its blocks.
Value SddmmRoles::announcedBytes(ImplicitLocOpBuilder &b, const SharedTile &tile) {
  Value ofCta = multiply(b, tile.share, schedule.getConsumersN()), rest = tile.count;
  if (int64_t(schedule.getCluster()) > 1) {
    Value before = arith::MulIOp::create(b, ClusterRankOp::create(b), ofCta);
    rest = arith::MaxSIOp::create(b, arith::SubIOp::create(b, tile.count, before), i32(b, 0));
  }
  Value blocks = arith::MinSIOp::create(b, ofCta, rest);
  int64_t columnsOfCopy = isRightTransposed() ? pattern.getBlockColumns() : stride();
  return named(
      add(b, multiply(b, blocks, columnsOfCopy * bytesOfPanelRow), int64_t(schedule.getTileM()) * bytesOfPanelRow),
      "bytes");
}

/// The rows of B of each block, for one step of K.
void SddmmRoles::copyBlocks(ImplicitLocOpBuilder &b, Range blocks, int64_t groupColumn, Value k, Value cursor) {
  auto walk = WalkOp::create(b, BlockWalkOp::create(b, operand(sddmm.getPattern()), blocks.first, blocks.end));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&walk.getBody().front());
  Value position = walk.getVisited()[0], column = walk.getVisited()[1];
  Value inGroup = arith::SubIOp::create(b, position, blocks.first);
  Value at = add(b, multiply(b, inGroup, stride()), groupColumn * columnsOfGroup());
  CopyOp copy = copyRight(b, columnOfRight(b, column), k, cursor);
  copy.getAtMutable().assign(at);
  if (isRightTransposed())
    copy.setRows(ArrayRef<int64_t>{0, pattern.getBlockColumns()});
  else
    copy.setColumns(stride());
  YieldOp::create(b);
}

//===----------------------------------------------------------------------===//
// Consumer
//===----------------------------------------------------------------------===//

void SddmmRoles::buildConsumer(ImplicitLocOpBuilder &b) {
  Value group = GroupOp::create(b);
  viewOfA = viewOfLeft(b, rowOf(b, group), rowsOfWarpgroup);
  Value column = multiply(b, columnOf(b, group), columnsOfGroup());
  int64_t half = columnsOfGroup() / 2;
  viewsOfB[0] = viewOfRight(b, column, columnsOfGroup(), "b");
  viewsOfB[1] = viewOfRight(b, column, half, "b_half");
  forEachSharedTile(b, [&](const SharedTile &tile, Value cursor) -> Value {
    if (half % stride() != 0)
      return buildConsumerTile(b, tile, columnsOfGroup(), cursor);
    Value isHalf = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, tile.share, i32(b, half / stride()));
    auto branch = scf::IfOp::create(b, TypeRange{cursor.getType()}, isHalf, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    for (auto [block, columns] :
         {std::pair(branch.thenBlock(), half), std::pair(branch.elseBlock(), columnsOfGroup())}) {
      b.setInsertionPointToStart(block);
      scf::YieldOp::create(b, buildConsumerTile(b, tile, columns, cursor));
    }
    return branch.getResult(0);
  });
  DrainStoresOp::create(b);
}

Value SddmmRoles::buildConsumerTile(ImplicitLocOpBuilder &b, const SharedTile &tile, int64_t columns, Value cursor) {
  auto sumType = AccumulatorType::get(b.getContext(), rowsOfWarpgroup, columns);
  // The last wait belongs to the branch that has products in flight (see SpmmRoles.cpp).
  Value hasDepth = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, depthOf(b), i32(b, 0));
  auto branch = scf::IfOp::create(b, TypeRange{sumType, cursor.getType()}, hasDepth, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, multiplyTile(b, columns, cursor));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, ValueRange{ZeroOp::create(b, sumType), cursor});
  }
  storeShare(b, tile, branch.getResult(0));
  return branch.getResult(1);
}

/// Gives the sum and the cursor after the steps of K.
SmallVector<Value> SddmmRoles::multiplyTile(ImplicitLocOpBuilder &b, int64_t columns, Value begin) {
  auto pending = PendingType::get(b.getContext(), rowsOfWarpgroup, columns);
  Value viewOfB = viewsOfB[columns == columnsOfGroup() ? 0 : 1];
  Value zero = ZeroOp::create(b, pending);
  auto step = [&](Value k, ValueRange carried) -> SmallVector<Value> {
    Value sum = named(carried[0], "sum"), previous = named(carried[1], "previous"), cursor = named(carried[2], "slot");
    Value hasPrevious = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, k, i32(b, 0));
    WaitOp::create(b, TypeRange(), ring, cursor);
    Value product = ProductOp::create(b, pending, viewOfA, cursor, viewOfB, cursor, sum, schedule.getTileK());
    Value inFlight = AwaitOp::create(b, pending, product, /*outstanding=*/1);
    ReleaseOp::create(b, ring, previous, hasPrevious);
    return {inFlight, cursor, NextOp::create(b, ring, cursor)};
  };
  SmallVector<Value> results = walkDepth(b, {zero, begin, begin}, step);
  auto sumType = AccumulatorType::get(b.getContext(), rowsOfWarpgroup, columns);
  Value sum = AwaitOp::create(b, sumType, results[0], /*outstanding=*/0);
  ReleaseOp::create(b, ring, results[1], /*condition=*/Value());
  return {sum, results[2]};
}

/// The group is read anew: kept from tile to tile it would take registers that the accumulators need.
void SddmmRoles::storeShare(ImplicitLocOpBuilder &b, const SharedTile &tile, Value sum) {
  Value group = GroupOp::create(b);
  Range blocks = blocksOf(b, tile, columnOf(b, group));
  storeTile(b, tile, {group, rowOf(b, group), /*column=*/i32(b, 0), blocks.first, blocks.end}, sum);
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeSddmmRoles(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule) {
  return std::make_unique<SddmmRoles>(kernel, sddmm, schedule);
}
