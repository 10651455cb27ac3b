// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a spgemm, of roles from the start. A tile is one block of the result, or some rows of one. The plan
// lists its pairs: blocks of A and B that match.
//
//   The producer copies, for each pair and each step of K inside its blocks, the rows of A and the rows of B.
//   Each group of consumers multiplies its 64 rows of A by all columns of B, with one product in flight.
//
// Without a pattern a tile that has no pair is stored, too: it is the epilogue of zeros.

#include "ProgramBuilder.h"
#include "RoleBuilding.h"
#include "ScheduleAttribute.h"
#include "SharedMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

constexpr int64_t rowsOfGroup = 64;  // of a warpgroup
constexpr int64_t numbersOfPair = 3; // of an entry of SPARSEC_PLAN_PAIRS

class SpgemmBuilder : public ProgramBuilder {
public:
  SpgemmBuilder(KernelOp kernel, SpgemmOp spgemm, ScheduleAttr schedule)
      : ProgramBuilder(kernel, schedule), spgemm(spgemm), left(spgemm.getLeft().getType()),
        right(spgemm.getRight().getType()) {}

private:
  struct Tile {
    TileCoordinates at;
    Value number;     // of the block of the result
    Value first, end; // of its pairs
    Value column;     // of the result without a pattern
  };
  /// A pair of stored blocks, and the number of their block along K.
  struct Pair {
    Value left, right, k;
  };
  using TileBody = function_ref<Value(const Tile &, Value cursor)>;

  void buildBody(ImplicitLocOpBuilder &b) override;
  Type elementType() override { return left.getElementType(); }

  void forEachTile(ImplicitLocOpBuilder &b, TileBody body);
  Value blockNumber(ImplicitLocOpBuilder &b, Value blockRow, Value panel);
  Value exists(ImplicitLocOpBuilder &b, Value blockRow, Value panel);
  Tile readTile(ImplicitLocOpBuilder &b, const TileCoordinates &at, Value panel);
  Pair readPair(ImplicitLocOpBuilder &b, Value position);
  void buildProducer(ImplicitLocOpBuilder &b);
  Value copyPair(ImplicitLocOpBuilder &b, const Tile &tile, const Pair &pair, Value cursor);
  void buildConsumer(ImplicitLocOpBuilder &b);
  Value buildConsumerTile(ImplicitLocOpBuilder &b, const Tile &tile, Value cursor);
  SmallVector<Value> multiplyPairs(ImplicitLocOpBuilder &b, const Tile &tile, Value cursor);
  void storeTile(ImplicitLocOpBuilder &b, const Tile &tile, Value sum);

  Value operand(Value kernelValue) { return mapping.lookup(kernelValue); }
  bool isSampled() { return spgemm.getPattern() != Value(); }
  int64_t columns() { return right.getBlockColumns(); }
  int64_t steps() { return llvm::divideCeil(left.getBlockColumns(), schedule.getTileK()); }
  /// Elements of K in a step inside a block.
  int64_t depthOf(int64_t step) {
    return std::min<int64_t>(schedule.getTileK(), left.getBlockColumns() - step * schedule.getTileK());
  }
  /// Whether K may end inside a block.
  bool mayCutBlocks() { return left.mayBeCutBy(left.getColumns()) && left.mayBeCutBy(right.getRows()); }
  Type sumType() { return AccumulatorType::get(kernel.getContext(), rowsOfGroup, columns()); }
  Type pendingType() { return PendingType::get(kernel.getContext(), rowsOfGroup, columns()); }

  SpgemmOp spgemm;
  BsrType left, right;
  Value ring;
  Value viewOfA, viewOfB; // of a consumer
};

/// The buffer of B has the columns of the schedule, which are whole panels of a tensor copy.
void SpgemmBuilder::buildBody(ImplicitLocOpBuilder &b) {
  MLIRContext *context = b.getContext();
  Type buffers[] = {BufferType::get(context, schedule.getTileM(), schedule.getTileK(), elementType()),
                    BufferType::get(context, schedule.getTileK(), schedule.getTileN(), elementType())};
  ring = RingOp::create(b, RingType::get(context, schedule.getStages(), buffers), /*name=*/StringAttr(),
                        /*messages=*/false);
  makeRole(b, "consumer", RoleUnit::warpgroup, schedule.getConsumersM(), schedule.getConsumerRegisters(),
           [&] { buildConsumer(b); });
  makeRole(b, "producer", RoleUnit::thread, 1, schedule.getProducerRegisters(), [&] { buildProducer(b); });
}

//===----------------------------------------------------------------------===//
// Tiles and pairs
//===----------------------------------------------------------------------===//

/// The body gives the cursor after the tile. With a pattern, panels behind the last block of a row are passed over.
void SpgemmBuilder::forEachTile(ImplicitLocOpBuilder &b, TileBody body) {
  Value begin = CursorOp::create(b, ring);
  auto loop = TileLoopOp::create(b, ValueRange{begin});
  loop.setPeriodic(true);
  OpBuilder::InsertionGuard guard(b);
  Block &block = loop.getBody().front();
  b.setInsertionPointToStart(&block);
  Value panel = block.getArgument(1), cursor = named(block.getArgument(2), "slot");
  TileCoordinates at = tileCoordinates(b, schedule, left, block.getArgument(0), panel);
  if (!isSampled()) {
    YieldOp::create(b, body(readTile(b, at, panel), cursor));
    return;
  }
  auto branch =
      scf::IfOp::create(b, TypeRange{cursor.getType()}, exists(b, at.blockRow, panel), /*withElseRegion=*/true);
  YieldOp::create(b, branch.getResults());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, cursor);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, body(readTile(b, at, panel), cursor));
}

/// Whether a block row of the pattern has a block of this number in the row.
Value SpgemmBuilder::exists(ImplicitLocOpBuilder &b, Value blockRow, Value panel) {
  auto row = RowBlocksOp::create(b, operand(spgemm.getPattern()), blockRow);
  Value count = arith::SubIOp::create(b, row.getEnd(), row.getFirst());
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, panel, count);
}

/// The number of a block of the result: of all blocks, or of the stored ones of the pattern.
Value SpgemmBuilder::blockNumber(ImplicitLocOpBuilder &b, Value blockRow, Value panel) {
  if (isSampled())
    return add(b, RowBlocksOp::create(b, operand(spgemm.getPattern()), blockRow).getFirst(), panel);
  Value width = SizeOp::create(b, operand(spgemm.getRight()), /*dimension=*/1);
  Value blocksOfRow = divide(b, add(b, width, columns() - 1), columns());
  return add(b, arith::MulIOp::create(b, blockRow, blocksOfRow), panel);
}

SpgemmBuilder::Tile SpgemmBuilder::readTile(ImplicitLocOpBuilder &b, const TileCoordinates &at, Value panel) {
  Tile tile;
  tile.at = at;
  tile.number = named(blockNumber(b, at.blockRow, panel), "number");
  tile.first = named(ReadPlanOp::create(b, PlanSection::pair_starts, tile.number), "first");
  tile.end = named(ReadPlanOp::create(b, PlanSection::pair_starts, add(b, tile.number, 1)), "end");
  tile.column = isSampled() ? i32(b, 0) : multiply(b, panel, columns());
  return tile;
}

SpgemmBuilder::Pair SpgemmBuilder::readPair(ImplicitLocOpBuilder &b, Value position) {
  Value entry = multiply(b, position, numbersOfPair);
  auto read = [&](int64_t field) -> Value { return ReadPlanOp::create(b, PlanSection::pairs, add(b, entry, field)); };
  return {named(read(0), "left"), named(read(1), "right"), mayCutBlocks() ? named(read(2), "k") : Value()};
}

//===----------------------------------------------------------------------===//
// Producer
//===----------------------------------------------------------------------===//

/// The next pair is loaded while this one is copied. The plan has one pair more than there are.
void SpgemmBuilder::buildProducer(ImplicitLocOpBuilder &b) {
  forEachTile(b, [&](const Tile &tile, Value begin) -> Value {
    Pair first = readPair(b, tile.first);
    SmallVector<Value> inits{begin, first.left, first.right};
    if (first.k)
      inits.push_back(first.k);
    auto loop = scf::ForOp::create(b, tile.first, tile.end, i32(b, 1), inits);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange carried = loop.getRegionIterArgs();
    Pair pair = {named(carried[1], "left"), named(carried[2], "right"), first.k ? named(carried[3], "k") : Value()};
    Pair next = readPair(b, add(b, loop.getInductionVar(), 1));
    SmallVector<Value> results{copyPair(b, tile, pair, named(carried[0], "slot")), next.left, next.right};
    if (next.k)
      results.push_back(next.k);
    scf::YieldOp::create(b, results);
    return loop.getResult(0);
  });
}

/// Gives the cursor after the pair.
Value SpgemmBuilder::copyPair(ImplicitLocOpBuilder &b, const Tile &tile, const Pair &pair, Value cursor) {
  for (int64_t step = 0; step < steps(); ++step) {
    Value k = i32(b, step * schedule.getTileK());
    AcquireOp::create(b, ring, cursor);
    PostOp::create(b, ring, cursor, /*messages=*/ValueRange(), /*empty=*/false);
    auto copyOfA = CopyOp::create(b, operand(spgemm.getLeft()), ValueRange{pair.left, tile.at.row, k}, ring, cursor,
                                  /*index=*/0);
    auto copyOfB = CopyOp::create(b, operand(spgemm.getRight()), ValueRange{pair.right, k, i32(b, 0)}, ring, cursor,
                                  /*index=*/1);
    copyOfB.setDepthRows(true);
    if (pair.k) {
      copyOfA.getBlockColumnsMutable().assign(pair.k);
      copyOfB.getBlockColumnsMutable().assign(pair.k);
    }
    cursor = NextOp::create(b, ring, cursor);
  }
  return cursor;
}

//===----------------------------------------------------------------------===//
// Consumer
//===----------------------------------------------------------------------===//

void SpgemmBuilder::buildConsumer(ImplicitLocOpBuilder &b) {
  MLIRContext *context = b.getContext();
  int64_t depth = schedule.getTileK();
  Value row = multiply(b, GroupOp::create(b), rowsOfGroup);
  viewOfA = named(ViewOp::create(b, ViewType::get(context, rowsOfGroup, depth, elementType(), Major::k), ring, row,
                                 /*column=*/Value(), /*index=*/0),
                  "a");
  viewOfB = named(ViewOp::create(b, ViewType::get(context, depth, columns(), elementType(), Major::mn), ring,
                                 /*row=*/Value(), /*column=*/Value(), /*index=*/1),
                  "b");
  forEachTile(b, [&](const Tile &tile, Value cursor) { return buildConsumerTile(b, tile, cursor); });
  DrainStoresOp::create(b);
}

Value SpgemmBuilder::buildConsumerTile(ImplicitLocOpBuilder &b, const Tile &tile, Value cursor) {
  // The last wait belongs to the branch that has products in flight (see SpmmRoles.cpp).
  Value hasPairs = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, tile.first, tile.end);
  auto branch = scf::IfOp::create(b, TypeRange{sumType(), cursor.getType()}, hasPairs, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, multiplyPairs(b, tile, cursor));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, ValueRange{ZeroOp::create(b, sumType()), cursor});
  }
  storeTile(b, tile, branch.getResult(0));
  return branch.getResult(1);
}

/// Gives the sum and the cursor after the pairs.
SmallVector<Value> SpgemmBuilder::multiplyPairs(ImplicitLocOpBuilder &b, const Tile &tile, Value begin) {
  Value zero = ZeroOp::create(b, pendingType());
  auto loop = scf::ForOp::create(b, tile.first, tile.end, i32(b, 1), ValueRange{zero, begin, begin});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange carried = loop.getRegionIterArgs();
    Value sum = named(carried[0], "sum"), previous = named(carried[1], "previous"), cursor = named(carried[2], "slot");
    Value hasPrevious =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, named(loop.getInductionVar(), "position"), tile.first);
    for (int64_t step = 0; step < steps(); ++step) {
      WaitOp::create(b, TypeRange(), ring, cursor);
      Value product = ProductOp::create(b, pendingType(), viewOfA, cursor, viewOfB, cursor, sum, depthOf(step));
      sum = AwaitOp::create(b, pendingType(), product, /*outstanding=*/1);
      ReleaseOp::create(b, ring, previous, step == 0 ? hasPrevious : Value());
      previous = cursor;
      cursor = NextOp::create(b, ring, cursor);
    }
    scf::YieldOp::create(b, ValueRange{sum, previous, cursor});
  }
  Value sum = AwaitOp::create(b, sumType(), loop.getResult(0), /*outstanding=*/0);
  ReleaseOp::create(b, ring, loop.getResult(1), /*condition=*/Value());
  return {sum, loop.getResult(2)};
}

/// The group is read anew: kept from tile to tile it would take registers that the accumulators need.
void SpgemmBuilder::storeTile(ImplicitLocOpBuilder &b, const Tile &tile, Value sum) {
  Value group = GroupOp::create(b), zero = i32(b, 0), row = multiply(b, group, rowsOfGroup);
  Value end = isSampled() ? add(b, tile.number, 1) : Value(); // of the blocks that are stored
  SmallVector<Value> extras;
  for (Value extra : spgemm.getExtras())
    extras.push_back(operand(extra));
  bool isStaged = usesStagedStore(toSchedule(schedule), describeProblem(spgemm, /*density=*/1));
  auto store = StoreOp::create(b, sum, results[0], tile.at.blockRow, tile.at.row, tile.column, group, row,
                               /*group_column=*/zero, extras, spgemm.getBroadcast(), left.getBlockRows(),
                               /*transposed=*/spgemm.getCLayout() == ResultLayout::nm, isStaged,
                               /*staging=*/DenseI64ArrayAttr());
  if (isSampled()) {
    store.getFirstBlockMutable().assign(tile.number);
    store.getEndBlockMutable().assign(end);
    store.getPatternMutable().assign(operand(spgemm.getPattern()));
    store.setBlockStride(columns());
  }
  setEpilogue(b, store, spgemm.getEpilogue());
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeSpgemmBuilder(KernelOp kernel, SpgemmOp spgemm, ScheduleAttr schedule) {
  return std::make_unique<SpgemmBuilder>(kernel, spgemm, schedule);
}
