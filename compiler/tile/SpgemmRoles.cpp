// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a spgemm by wgmma and tensor copies.
//
//   The producer copies, for each pair and each step of K inside its blocks, the rows of A and the rows of B.
//   Each group of consumers multiplies its 64 rows of A by all columns of B, with one product in flight.

#include "SpgemmParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

class SpgemmRoles : public SpgemmParts {
public:
  using SpgemmParts::SpgemmParts;

private:
  void buildBody(ImplicitLocOpBuilder &b) override;
  void forEachTileOfRing(ImplicitLocOpBuilder &b, function_ref<Value(const Tile &, Value cursor)> body);
  void buildProducer(ImplicitLocOpBuilder &b);
  Value copyPair(ImplicitLocOpBuilder &b, const Tile &tile, const Pair &pair, Value cursor);
  void buildConsumer(ImplicitLocOpBuilder &b);
  Value buildConsumerTile(ImplicitLocOpBuilder &b, const Tile &tile, Value cursor);
  SmallVector<Value> multiplyPairs(ImplicitLocOpBuilder &b, const Tile &tile, Value cursor);
  void storeRows(ImplicitLocOpBuilder &b, const Tile &tile, Value sum);

  /// Elements of K in a step inside a block.
  int64_t depthOf(int64_t step) {
    return std::min<int64_t>(schedule.getTileK(), left.getBlockColumns() - step * schedule.getTileK());
  }
  Type sumType() { return AccumulatorType::get(kernel.getContext(), rowsOfWarpgroup, columns()); }
  Type pendingType() { return PendingType::get(kernel.getContext(), rowsOfWarpgroup, columns()); }

  Value viewOfA, viewOfB; // of a consumer
};

void SpgemmRoles::buildBody(ImplicitLocOpBuilder &b) {
  ring = makeRing(b);
  makeRole(b, "consumer", RoleUnit::warpgroup, schedule.getConsumersM(), schedule.getConsumerRegisters(),
           [&] { buildConsumer(b); });
  makeRole(b, "producer", RoleUnit::thread, 1, schedule.getProducerRegisters(), [&] { buildProducer(b); });
}

/// The body gives the cursor after the tile.
void SpgemmRoles::forEachTileOfRing(ImplicitLocOpBuilder &b, function_ref<Value(const Tile &, Value cursor)> body) {
  Value begin = CursorOp::create(b, ring);
  forEachTile(b, begin,
              [&](const Tile &tile, ValueRange carried) -> Values { return {body(tile, named(carried[0], "slot"))}; });
}

//===----------------------------------------------------------------------===//
// Producer
//===----------------------------------------------------------------------===//

/// The next pair is loaded while this one is copied. The plan has one pair more than there are.
void SpgemmRoles::buildProducer(ImplicitLocOpBuilder &b) {
  forEachTileOfRing(b, [&](const Tile &tile, Value begin) -> Value {
    SmallVector<Value> inits{begin};
    llvm::append_range(inits, readPair(b, tile.first).values());
    auto loop = scf::ForOp::create(b, tile.first, tile.end, i32(b, 1), inits);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange carried = loop.getRegionIterArgs();
    Pair pair = Pair::of(carried.drop_front());
    Pair next = readPair(b, add(b, loop.getInductionVar(), 1));
    SmallVector<Value> results{copyPair(b, tile, pair, named(carried[0], "slot"))};
    llvm::append_range(results, next.values());
    scf::YieldOp::create(b, results);
    return loop.getResult(0);
  });
}

/// Gives the cursor after the pair.
Value SpgemmRoles::copyPair(ImplicitLocOpBuilder &b, const Tile &tile, const Pair &pair, Value cursor) {
  for (int64_t step = 0; step < steps(); ++step) {
    Value k = i32(b, step * schedule.getTileK());
    AcquireOp::create(b, ring, cursor);
    PostOp::create(b, ring, cursor, /*messages=*/ValueRange(), /*empty=*/false);
    copyStep(b, tile, pair, k, cursor);
    cursor = NextOp::create(b, ring, cursor);
  }
  return cursor;
}

//===----------------------------------------------------------------------===//
// Consumer
//===----------------------------------------------------------------------===//

void SpgemmRoles::buildConsumer(ImplicitLocOpBuilder &b) {
  MLIRContext *context = b.getContext();
  int64_t depth = schedule.getTileK();
  Value row = multiply(b, GroupOp::create(b), rowsOfWarpgroup);
  viewOfA = named(ViewOp::create(b, ViewType::get(context, rowsOfWarpgroup, depth, elementType(), Major::k), ring, row,
                                 /*column=*/Value(), /*index=*/0),
                  "a");
  viewOfB = named(ViewOp::create(b, ViewType::get(context, depth, columns(), elementType(), Major::mn), ring,
                                 /*row=*/Value(), /*column=*/Value(), /*index=*/1),
                  "b");
  forEachTileOfRing(b, [&](const Tile &tile, Value cursor) { return buildConsumerTile(b, tile, cursor); });
  DrainStoresOp::create(b);
}

Value SpgemmRoles::buildConsumerTile(ImplicitLocOpBuilder &b, const Tile &tile, Value cursor) {
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
  storeRows(b, tile, branch.getResult(0));
  return branch.getResult(1);
}

/// Gives the sum and the cursor after the pairs.
SmallVector<Value> SpgemmRoles::multiplyPairs(ImplicitLocOpBuilder &b, const Tile &tile, Value begin) {
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
void SpgemmRoles::storeRows(ImplicitLocOpBuilder &b, const Tile &tile, Value sum) {
  Value group = GroupOp::create(b);
  storeTile(b, tile, {group, multiply(b, group, rowsOfWarpgroup), /*column=*/i32(b, 0)}, sum);
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeSpgemmRoles(KernelOp kernel, SpgemmOp spgemm, ScheduleAttr schedule) {
  return std::make_unique<SpgemmRoles>(kernel, spgemm, schedule);
}
