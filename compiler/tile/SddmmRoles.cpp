// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a sddmm, of roles from the start. A tile is the rows of one block row, or a part of them, and the next
// few stored blocks of that row. Its blocks are shared out evenly to the CTAs of the cluster, which share the rows of
// A, and to the groups that lie side by side in a CTA; a share is never cut. For each step of K
//
//   the producer copies the rows of A, and for every block of this CTA the rows of B of the block's columns;
//   each group of consumers multiplies its rows of A by the columns of its blocks, with one product in flight.
//
// A group whose blocks fill at most half of its columns multiplies half as many.

#include "ProgramBuilder.h"
#include "RoleBuilding.h"
#include "ScheduleAttribute.h"
#include "SharedMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

constexpr int64_t rowsOfGroup = 64;      // of a warpgroup
constexpr int64_t bytesOfPanelRow = 128; // of a buffer, whose elements have 2 bytes

class SddmmBuilder : public ProgramBuilder {
public:
  SddmmBuilder(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule)
      : ProgramBuilder(kernel, schedule), sddmm(sddmm), pattern(sddmm.getPattern().getType()),
        problem(describeProblem(sddmm, /*density=*/1)) {}

private:
  /// The blocks of a tile. All i32.
  struct Tile {
    TileCoordinates at;
    Value first, count; // of the blocks of all CTAs and groups
    Value share;        // the most blocks of one group
  };
  struct Range {
    Value first, end; // empty where the end is not behind the first
  };
  using TileBody = function_ref<Value(const Tile &, Value cursor)>;
  using StepBody = function_ref<SmallVector<Value>(Value k, ValueRange carried)>;

  void buildBody(ImplicitLocOpBuilder &b) override;
  Type elementType() override { return sddmm.getLeft().getType().getElementType(); }

  void forEachTile(ImplicitLocOpBuilder &b, TileBody body);
  SmallVector<Value> walkDepth(ImplicitLocOpBuilder &b, ValueRange inits, StepBody body);
  Range blocksOf(ImplicitLocOpBuilder &b, const Tile &tile, Value groupColumn);
  void buildProducer(ImplicitLocOpBuilder &b);
  Value announcedBytes(ImplicitLocOpBuilder &b, const Tile &tile);
  void copyBlocks(ImplicitLocOpBuilder &b, Range blocks, int64_t groupColumn, Value k, Value cursor);
  void buildConsumer(ImplicitLocOpBuilder &b);
  Value buildConsumerTile(ImplicitLocOpBuilder &b, const Tile &tile, int64_t columns, Value cursor);
  SmallVector<Value> multiplyTile(ImplicitLocOpBuilder &b, int64_t columns, Value cursor);
  void storeTile(ImplicitLocOpBuilder &b, const Tile &tile, Value sum);

  Value operand(Value kernelValue) { return mapping.lookup(kernelValue); }
  Value sizeOf(ImplicitLocOpBuilder &b, Value tensor, unsigned dimension) {
    return SizeOp::create(b, operand(tensor), dimension);
  }
  Value depthOf(ImplicitLocOpBuilder &b) { return sizeOf(b, sddmm.getLeft(), 1 - sddmm.getRowDimension()); }
  bool isLeftTransposed() { return sddmm.getALayout() == LeftLayout::km; }
  int64_t stride() { return problem.blockStride; }
  int64_t columnsOfGroup() { return schedule.getTileN() / schedule.getConsumersN(); }
  int64_t blocksOfGroup() { return columnsOfGroup() / stride(); }
  int64_t groupsOfTile() { return int64_t(schedule.getCluster()) * schedule.getConsumersN(); }
  Value rowOf(ImplicitLocOpBuilder &b, Value group) {
    return multiply(b, divide(b, group, schedule.getConsumersN()), rowsOfGroup);
  }
  Value columnOf(ImplicitLocOpBuilder &b, Value group) { return remainder(b, group, schedule.getConsumersN()); }

  SddmmOp sddmm;
  BsrType pattern;
  SampledDescription problem;
  Value ring;
  Value viewOfA, viewsOfB[2]; // of a consumer; those of B have all columns of its group, and half of them
};

void SddmmBuilder::buildBody(ImplicitLocOpBuilder &b) {
  MLIRContext *context = b.getContext();
  int64_t m = schedule.getTileM(), n = schedule.getTileN(), k = schedule.getTileK();
  auto bufferOf = [&](bool isDepthContiguous, int64_t outer) -> Type {
    return isDepthContiguous ? BufferType::get(context, outer, k, elementType())
                             : BufferType::get(context, k, outer, elementType());
  };
  Type buffers[] = {bufferOf(!isLeftTransposed(), m), bufferOf(problem.xTransposed, n)};
  ring = RingOp::create(b, RingType::get(context, schedule.getStages(), buffers), /*name=*/StringAttr(),
                        /*messages=*/false);
  int64_t consumers = schedule.getConsumersM() * schedule.getConsumersN();
  makeRole(b, "consumer", RoleUnit::warpgroup, consumers, schedule.getConsumerRegisters(), [&] { buildConsumer(b); });
  makeRole(b, "producer", RoleUnit::thread, 1, schedule.getProducerRegisters(), [&] { buildProducer(b); });
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The body gives the cursor after the tile. Tiles behind the last block of their row have none, and are passed over.
void SddmmBuilder::forEachTile(ImplicitLocOpBuilder &b, TileBody body) {
  Value begin = CursorOp::create(b, ring);
  auto loop = TileLoopOp::create(b, ValueRange{begin});
  loop.setPeriodic(true);
  OpBuilder::InsertionGuard guard(b);
  Block &block = loop.getBody().front();
  b.setInsertionPointToStart(&block);
  Value panel = block.getArgument(1), cursor = named(block.getArgument(2), "slot");
  Tile tile;
  tile.at = tileCoordinates(b, schedule, pattern, block.getArgument(0), panel);
  auto row = RowBlocksOp::create(b, operand(sddmm.getPattern()), tile.at.blockRow);
  int64_t most = groupsOfTile() * blocksOfGroup();
  tile.first = named(add(b, row.getFirst(), multiply(b, panel, most)), "tile_first");
  Value rest = arith::SubIOp::create(b, row.getEnd(), tile.first);
  Value hasBlocks = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rest, i32(b, 0));
  auto branch = scf::IfOp::create(b, TypeRange{cursor.getType()}, hasBlocks, /*withElseRegion=*/true);
  YieldOp::create(b, branch.getResults());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, cursor);
  b.setInsertionPointToStart(branch.thenBlock());
  tile.count = named(arith::MinSIOp::create(b, rest, i32(b, most)), "count");
  tile.share = named(divide(b, add(b, tile.count, groupsOfTile() - 1), groupsOfTile()), "share");
  scf::YieldOp::create(b, body(tile, cursor));
}

/// The blocks of a group of this CTA.
SddmmBuilder::Range SddmmBuilder::blocksOf(ImplicitLocOpBuilder &b, const Tile &tile, Value groupColumn) {
  Value number = groupColumn;
  if (int64_t(schedule.getCluster()) > 1)
    number = add(b, multiply(b, ClusterRankOp::create(b), schedule.getConsumersN()), groupColumn);
  Value first = add(b, tile.first, arith::MulIOp::create(b, number, tile.share));
  Value end = arith::MinSIOp::create(b, add(b, first, tile.share), add(b, tile.first, tile.count));
  return {named(first, "first"), named(end, "end")};
}

/// Steps of tile_k from 0 to K.
SmallVector<Value> SddmmBuilder::walkDepth(ImplicitLocOpBuilder &b, ValueRange inits, StepBody body) {
  auto loop = scf::ForOp::create(b, i32(b, 0), depthOf(b), i32(b, schedule.getTileK()), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, body(named(loop.getInductionVar(), "k"), loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Producer
//===----------------------------------------------------------------------===//

void SddmmBuilder::buildProducer(ImplicitLocOpBuilder &b) {
  forEachTile(b, [&](const Tile &tile, Value begin) -> Value {
    SmallVector<Range> blocks;
    for (int64_t column = 0; column < int64_t(schedule.getConsumersN()); ++column)
      blocks.push_back(blocksOf(b, tile, i32(b, column)));
    Value bytes = announcedBytes(b, tile);
    Value row = add(b, multiply(b, tile.at.blockRow, pattern.getBlockRows()), tile.at.row);
    auto step = [&](Value k, ValueRange carried) -> SmallVector<Value> {
      Value cursor = named(carried[0], "slot");
      AcquireOp::create(b, ring, cursor);
      PostOp::create(b, ring, cursor, /*messages=*/ValueRange(), bytes, /*empty=*/false);
      SmallVector<Value> coordinates{row, k};
      if (isLeftTransposed())
        std::swap(coordinates[0], coordinates[1]);
      auto copy = CopyOp::create(b, operand(sddmm.getLeft()), coordinates, ring, cursor, /*index=*/0);
      copy.setMulticast(int64_t(schedule.getCluster()) > 1);
      for (auto [column, range] : llvm::enumerate(blocks))
        copyBlocks(b, range, int64_t(column), k, cursor);
      return {NextOp::create(b, ring, cursor)};
    };
    return walkDepth(b, begin, step)[0];
  });
}

/// The bytes that this CTA receives in a step: those of A, and those of its blocks.
Value SddmmBuilder::announcedBytes(ImplicitLocOpBuilder &b, const Tile &tile) {
  Value ofCta = multiply(b, tile.share, schedule.getConsumersN()), rest = tile.count;
  if (int64_t(schedule.getCluster()) > 1) {
    Value before = arith::MulIOp::create(b, ClusterRankOp::create(b), ofCta);
    rest = arith::MaxSIOp::create(b, arith::SubIOp::create(b, tile.count, before), i32(b, 0));
  }
  Value blocks = arith::MinSIOp::create(b, ofCta, rest);
  int64_t columnsOfCopy = problem.xTransposed ? pattern.getBlockColumns() : stride();
  return named(
      add(b, multiply(b, blocks, columnsOfCopy * bytesOfPanelRow), int64_t(schedule.getTileM()) * bytesOfPanelRow),
      "bytes");
}

/// The rows of B of each block, for one step of K.
void SddmmBuilder::copyBlocks(ImplicitLocOpBuilder &b, Range blocks, int64_t groupColumn, Value k, Value cursor) {
  auto walk = WalkBlocksOp::create(b, TypeRange(), operand(sddmm.getPattern()), blocks.first, blocks.end, ValueRange());
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&walk.getBody(), {}, {b.getI32Type(), b.getI32Type()}, {b.getLoc(), b.getLoc()});
  Value inGroup = arith::SubIOp::create(b, body->getArgument(0), blocks.first);
  Value at = add(b, multiply(b, inGroup, stride()), groupColumn * columnsOfGroup());
  SmallVector<Value> coordinates{multiply(b, body->getArgument(1), pattern.getBlockColumns()), k};
  DenseI64ArrayAttr rows;
  IntegerAttr columns;
  if (problem.xTransposed) {
    rows = b.getDenseI64ArrayAttr({0, pattern.getBlockColumns()});
  } else {
    columns = b.getI64IntegerAttr(stride());
    std::swap(coordinates[0], coordinates[1]);
  }
  auto copy = CopyOp::create(b, operand(sddmm.getRight()), coordinates, ring, cursor, /*index=*/1);
  copy.getAtMutable().assign(at);
  copy.setRowsAttr(rows);
  copy.setColumnsAttr(columns);
  YieldOp::create(b);
}

//===----------------------------------------------------------------------===//
// Consumer
//===----------------------------------------------------------------------===//

void SddmmBuilder::buildConsumer(ImplicitLocOpBuilder &b) {
  MLIRContext *context = b.getContext();
  int64_t k = schedule.getTileK();
  Value group = GroupOp::create(b);
  auto viewOf = [&](int64_t index, bool isDepthContiguous, Value first, int64_t outer) -> Value {
    if (isDepthContiguous)
      return ViewOp::create(b, ViewType::get(context, outer, k, elementType(), Major::k), ring, /*row=*/first,
                            /*column=*/Value(), index);
    return ViewOp::create(b, ViewType::get(context, k, outer, elementType(), Major::mn), ring, /*row=*/Value(),
                          /*column=*/first, index);
  };
  viewOfA = named(viewOf(0, !isLeftTransposed(), rowOf(b, group), rowsOfGroup), "a");
  Value column = multiply(b, columnOf(b, group), columnsOfGroup());
  int64_t half = columnsOfGroup() / 2;
  viewsOfB[0] = named(viewOf(1, problem.xTransposed, column, columnsOfGroup()), "b");
  viewsOfB[1] = named(viewOf(1, problem.xTransposed, column, half), "b_half");
  forEachTile(b, [&](const Tile &tile, Value cursor) -> Value {
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

Value SddmmBuilder::buildConsumerTile(ImplicitLocOpBuilder &b, const Tile &tile, int64_t columns, Value cursor) {
  auto sumType = AccumulatorType::get(b.getContext(), rowsOfGroup, columns);
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
  storeTile(b, tile, branch.getResult(0));
  return branch.getResult(1);
}

/// Gives the sum and the cursor after the steps of K.
SmallVector<Value> SddmmBuilder::multiplyTile(ImplicitLocOpBuilder &b, int64_t columns, Value begin) {
  auto pending = PendingType::get(b.getContext(), rowsOfGroup, columns);
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
  auto sumType = AccumulatorType::get(b.getContext(), rowsOfGroup, columns);
  Value sum = AwaitOp::create(b, sumType, results[0], /*outstanding=*/0);
  ReleaseOp::create(b, ring, results[1], /*condition=*/Value());
  return {sum, results[2]};
}

/// The group is read anew: kept from tile to tile it would take registers that the accumulators need.
void SddmmBuilder::storeTile(ImplicitLocOpBuilder &b, const Tile &tile, Value sum) {
  Value group = GroupOp::create(b), zero = i32(b, 0);
  Range blocks = blocksOf(b, tile, columnOf(b, group));
  SmallVector<Value> extras;
  for (Value extra : sddmm.getExtras())
    extras.push_back(operand(extra));
  auto store =
      StoreOp::create(b, sum, results[0], tile.at.blockRow, tile.at.row, /*column=*/zero, group, rowOf(b, group),
                      /*group_column=*/zero, blocks.first, blocks.end, operand(sddmm.getPattern()), extras,
                      sddmm.getBroadcast(), pattern.getBlockRows(), b.getI64IntegerAttr(stride()), /*transposed=*/false,
                      /*swapped=*/false, /*lines=*/false, usesStagedStore(toSchedule(schedule), problem),
                      /*staging=*/DenseI64ArrayAttr());
  setEpilogue(b, store, sddmm.getEpilogue());
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeSddmmBuilder(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule) {
  return std::make_unique<SddmmBuilder>(kernel, sddmm, schedule);
}
