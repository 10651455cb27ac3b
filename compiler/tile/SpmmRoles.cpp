// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The producer walks the tiles and the blocks of their rows, and copies A and X of each step into the next slot. Each
// warpgroup of the consumer role walks the same steps:
//
//   wait for the slot; issue the product; wait for the product before; release the slot that it read
//
// so that one product is always in flight.

#include "SpmmRoles.h"

#include "RoleBuilding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

constexpr int64_t rowsOfGroup = 64; // of a warpgroup

class SpmmRoles {
public:
  explicit SpmmRoles(ProgramOp program)
      : schedule(program.getSchedule()), tileLoop(*program.getBody().getOps<TileLoopOp>().begin()),
        blockLoop(*tileLoop.getBody().getOps<BlockLoopOp>().begin()),
        store(*tileLoop.getBody().getOps<StoreOp>().begin()), chain(*blockLoop.getBody().getOps<ChainOp>().begin()),
        matrix(blockLoop.getMatrix().getType()), b(program.getLoc(), program.getContext()) {
    for (LoadOp load : blockLoop.getBody().getOps<LoadOp>())
      loads.push_back(load);
  }

  void run();

private:
  struct Tile {
    TileCoordinates at;
    Value firstBlock, endBlock;
    Value cursor;
  };
  using TileBody = function_ref<Value(const Tile &)>;
  using Walk = function_ref<SmallVector<Value>(Value block, Value column, ValueRange carried)>;

  void forEachTile(TileBody body);
  WalkBlocksOp walk(const Tile &tile, ValueRange inits, Walk body);
  void buildProducer();
  void copyStep(const Tile &tile, Value block, Value column, int64_t chunk, Value cursor);
  void buildConsumer();
  Value viewOfA(Value row);
  Value viewOfX(Value column);
  SmallVector<Value> multiplyRow(const Tile &tile, Value a, Value x);
  void storeTile(const Tile &tile, Value sum);

  // The first row and column of a warpgroup's part of the tile.
  Value rowOf(Value group) { return multiply(b, divide(b, group, schedule.getConsumersN()), rowsOfGroup); }
  Value columnOf(Value group) { return multiply(b, remainder(b, group, schedule.getConsumersN()), columnsOfGroup()); }
  Type sumType() { return AccumulatorType::get(b.getContext(), rowsOfGroup, columnsOfGroup()); }
  Type pendingType() { return PendingType::get(b.getContext(), rowsOfGroup, columnsOfGroup()); }
  int64_t columnsOfGroup() { return schedule.getTileN() / schedule.getConsumersN(); }
  bool isTransposed() { return chain.getXTransposed(); }
  /// Whether K may end inside a block.
  bool mayCutBlocks() {
    auto dense = cast<RankedTensorType>(loads[1].getSource().getType());
    return matrix.mayBeCutBy(matrix.getColumns()) && matrix.mayBeCutBy(dense.getDimSize(isTransposed() ? 1 : 0));
  }
  Value depthOf(Value column, int64_t chunk) {
    return add(b, multiply(b, column, matrix.getBlockColumns()), chunk * schedule.getTileK());
  }

  ScheduleAttr schedule;
  TileLoopOp tileLoop;
  BlockLoopOp blockLoop;
  StoreOp store;
  ChainOp chain;
  BsrType matrix;
  ImplicitLocOpBuilder b;
  SmallVector<LoadOp> loads; // A, X
  Value ring;
};

void SpmmRoles::run() {
  b.setInsertionPoint(tileLoop);
  SmallVector<Type> buffers;
  for (LoadOp load : loads)
    buffers.push_back(load.getType());
  ring = RingOp::create(b, RingType::get(b.getContext(), schedule.getStages(), buffers), /*name=*/StringAttr(),
                        /*messages=*/false, DenseI64ArrayAttr(), IntegerAttr());
  int64_t consumers = schedule.getConsumersM() * schedule.getConsumersN();
  makeRole(b, "consumer", RoleUnit::warpgroup, consumers, schedule.getConsumerRegisters(), [&] { buildConsumer(); });
  makeRole(b, "producer", RoleUnit::thread, 1, schedule.getProducerRegisters(), [&] { buildProducer(); });
  tileLoop.erase();
}

/// The body gives the cursor after the tile.
void SpmmRoles::forEachTile(TileBody body) {
  Value begin = CursorOp::create(b, ring);
  auto loop = TileLoopOp::create(b, ValueRange{begin});
  OpBuilder::InsertionGuard guard(b);
  Block &block = loop.getBody().front();
  b.setInsertionPointToStart(&block);
  Tile tile;
  tile.at = tileCoordinates(b, schedule, matrix, block.getArgument(0), block.getArgument(1));
  auto blocks = RowBlocksOp::create(b, blockLoop.getMatrix(), tile.at.blockRow);
  tile.firstBlock = blocks.getFirst();
  tile.endBlock = blocks.getEnd();
  tile.cursor = named(block.getArgument(2), "slot");
  YieldOp::create(b, body(tile));
}

WalkBlocksOp SpmmRoles::walk(const Tile &tile, ValueRange inits, Walk body) {
  auto walk = WalkBlocksOp::create(b, inits.getTypes(), blockLoop.getMatrix(), tile.firstBlock, tile.endBlock, inits);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types(2, b.getI32Type());
  llvm::append_range(types, inits.getTypes());
  Block *block = b.createBlock(&walk.getBody(), {}, types, SmallVector<Location>(types.size(), b.getLoc()));
  YieldOp::create(b, body(block->getArgument(0), block->getArgument(1), block->getArguments().drop_front(2)));
  return walk;
}

//===----------------------------------------------------------------------===//
// Producer
//===----------------------------------------------------------------------===//

void SpmmRoles::buildProducer() {
  forEachTile([&](const Tile &tile) -> Value {
    return walk(tile, tile.cursor,
                [&](Value block, Value column, ValueRange carried) {
                  Value cursor = named(carried[0], "slot");
                  for (int64_t chunk = 0; chunk < int64_t(blockLoop.getChunks()); ++chunk) {
                    AcquireOp::create(b, ring, cursor);
                    PostOp::create(b, ring, cursor, /*messages=*/ValueRange(), /*empty=*/false);
                    copyStep(tile, block, column, chunk, cursor);
                    cursor = NextOp::create(b, ring, cursor);
                  }
                  return SmallVector<Value>{cursor};
                })
        .getResult(0);
  });
}

/// The CTAs of a cluster work on one tile row, so that they share A.
void SpmmRoles::copyStep(const Tile &tile, Value block, Value column, int64_t chunk, Value cursor) {
  Value k = i32(b, chunk * schedule.getTileK());
  CopyOp::create(b, loads[0].getSource(), ValueRange{block, tile.at.row, k}, mayCutBlocks() ? column : Value(), ring,
                 cursor, /*index=*/0, /*multicast=*/schedule.getCluster() > 1, DenseI64ArrayAttr());
  Value depth = depthOf(column, chunk);
  SmallVector<Value> coordinates{depth, tile.at.column};
  if (isTransposed())
    std::swap(coordinates[0], coordinates[1]);
  CopyOp::create(b, loads[1].getSource(), coordinates, /*block_column=*/Value(), ring, cursor, /*index=*/1,
                 /*multicast=*/false, DenseI64ArrayAttr());
}

//===----------------------------------------------------------------------===//
// Consumer
//===----------------------------------------------------------------------===//

Value SpmmRoles::viewOfA(Value row) {
  auto type = ViewType::get(b.getContext(), rowsOfGroup, schedule.getTileK(), matrix.getElementType(), Major::k);
  return ViewOp::create(b, type, ring, row, /*column=*/Value(), /*index=*/0);
}

Value SpmmRoles::viewOfX(Value column) {
  Type element = matrix.getElementType();
  MLIRContext *context = b.getContext();
  if (isTransposed()) {
    auto type = ViewType::get(context, columnsOfGroup(), schedule.getTileK(), element, Major::k);
    return ViewOp::create(b, type, ring, /*row=*/column, /*column=*/Value(), /*index=*/1);
  }
  auto type = ViewType::get(context, schedule.getTileK(), columnsOfGroup(), element, Major::mn);
  return ViewOp::create(b, type, ring, /*row=*/Value(), column, /*index=*/1);
}

void SpmmRoles::buildConsumer() {
  Value group = GroupOp::create(b);
  Value a = named(viewOfA(rowOf(group)), "a");
  Value x = named(viewOfX(columnOf(group)), "x");
  forEachTile([&](const Tile &tile) {
    // The last wait belongs to the branch that has products in flight: where a row without blocks joins before it,
    // ptxas sees its zeros as writes to accumulators in flight and serializes every product (C7515).
    Value hasBlocks = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, tile.firstBlock, tile.endBlock);
    auto branch = scf::IfOp::create(b, TypeRange{sumType(), tile.cursor.getType()}, hasBlocks, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, multiplyRow(tile, a, x));
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, ValueRange{ZeroOp::create(b, sumType()), tile.cursor});
    }
    storeTile(tile, branch.getResult(0));
    return branch.getResult(1);
  });
  DrainStoresOp::create(b);
}

/// Gives the sum and the cursor after the row's steps.
SmallVector<Value> SpmmRoles::multiplyRow(const Tile &tile, Value a, Value x) {
  Value zero = ZeroOp::create(b, pendingType());
  auto loop = walk(tile, {zero, tile.cursor, tile.cursor}, [&](Value block, Value /*column*/, ValueRange carried) {
    Value sum = named(carried[0], "sum"), previous = named(carried[1], "previous"), cursor = named(carried[2], "slot");
    Value hasPrevious = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, block, tile.firstBlock);
    for (int64_t chunk = 0; chunk < int64_t(blockLoop.getChunks()); ++chunk) {
      WaitOp::create(b, TypeRange(), ring, cursor);
      Value product = ProductOp::create(b, pendingType(), a, cursor, x, cursor, sum, chain.getDepth()[chunk]);
      sum = AwaitOp::create(b, pendingType(), product, /*outstanding=*/1);
      ReleaseOp::create(b, ring, previous, chunk == 0 ? hasPrevious : Value());
      previous = cursor;
      cursor = NextOp::create(b, ring, cursor);
    }
    return SmallVector<Value>{sum, previous, cursor};
  });
  Value sum = AwaitOp::create(b, sumType(), loop.getResult(0), /*outstanding=*/0);
  ReleaseOp::create(b, ring, loop.getResult(1), /*condition=*/Value());
  return {sum, loop.getResult(2)};
}

/// The group is read anew: kept from tile to tile it would take registers that the accumulators need.
void SpmmRoles::storeTile(const Tile &tile, Value sum) {
  Value group = GroupOp::create(b);
  Value row = rowOf(group), column = columnOf(group);
  store->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  store.getAccumulatorMutable().assign(sum);
  store.getBlockRowMutable().assign(tile.at.blockRow);
  store.getRowMutable().assign(tile.at.row);
  store.getColumnMutable().assign(tile.at.column);
  store.getGroupMutable().assign(group);
  store.getGroupRowMutable().assign(row);
  store.getGroupColumnMutable().assign(column);
}

} // namespace

void sparsec::splitSpmmRoles(ProgramOp program) { SpmmRoles(program).run(); }
