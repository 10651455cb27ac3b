// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The producer walks the tiles and the blocks of their rows, and copies A and X of each step into the next slot. Each
// warpgroup of the consumer role walks the same steps:
//
//   wait for the slot; issue the product; wait for the product before; release the slot that it read
//
// so that one product is always in flight. With sums of two levels (fp8), it multiplies some of its columns at a time,
// and adds each product to the sum when it is complete. The other warpgroup multiplies meanwhile. Before it adds the
// last product of a step, it tests whether the next slot is full, so that it has the answer when it comes to wait for
// it. Where X has scales, those of the columns times that of the block are in the slot too, and a warp puts them there.

#include "SpmmRoles.h"

#include "SpmmProducer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

constexpr int64_t rowsOfWarpgroup = 64;

class SpmmRoles : public SpmmProducer {
public:
  explicit SpmmRoles(ProgramOp program)
      : SpmmProducer(program, std::min<int64_t>(program.getSchedule().getTileM(), rowsOfWarpgroup)) {}

  void run();

private:
  struct CarriedTile : Tile {
    Value cursor;
  };

  void forEachTile(function_ref<Value(const CarriedTile &)> body);
  void buildConsumer();
  SmallVector<Value> multiplyRow(const CarriedTile &tile, Value a, Value x);
  SmallVector<Value> multiplyRowInParts(const CarriedTile &tile, Value a, ValueRange partsOfX);
  struct Step {
    Value sum, cursor, isFull; // of the columns, of the step's slot, and whether this is known to be full

    SmallVector<Value> values() const { return {sum, cursor, isFull}; }
  };
  Step multiplyInParts(Value a, ValueRange partsOfX, const Step &step, int64_t depth, Value scale);
  Values readScales(Value slot);

  Type pendingType(int64_t columns);
  Value multiply(Value a, Value x, Value slot, Value sum, int64_t depth);
};

/// A sum of as many columns that is not complete.
Type SpmmRoles::pendingType(int64_t columns) {
  auto sum = cast<AccumulatorType>(sumType(columns));
  return PendingType::get(b.getContext(), sum.getRows(), sum.getColumns());
}

/// The sum may be null.
Value SpmmRoles::multiply(Value a, Value x, Value slot, Value sum, int64_t depth) {
  const int64_t columns = sum ? columnsOfGroup() : columnsOfPart();
  if (swapsOperands())
    std::swap(a, x);
  return ProductOp::create(b, pendingType(columns), a, slot, x, slot, sum, depth);
}

void SpmmRoles::run() {
  b.setInsertionPoint(tileLoop);
  const bool hasXScale = bool(chain.getXScale());
  if (hasXScale)
    makeScaleTiles();
  makeRing(/*hasScales=*/hasXScale);
  makeRole(b, "consumer", RoleUnit::warpgroup, groups(), schedule.getConsumerRegisters(), [&] { buildConsumer(); });
  makeProducer();
  if (hasXScale)
    makeScaleStager();
  tileLoop.erase();
}

/// The body gives the cursor after the tile.
void SpmmRoles::forEachTile(function_ref<Value(const CarriedTile &)> body) {
  Value begin = CursorOp::create(b, ring);
  walkTiles(begin, [&](const Tile &tile, ValueRange carried) {
    CarriedTile at = {tile, named(carried[0], "slot")};
    return Values{body(at)};
  });
}

void SpmmRoles::buildConsumer() {
  GroupPart part = partOfGroup();
  Value a = viewOfA(part.row), x;
  Values partsOfX;
  if (chain.getTwoLevel())
    partsOfX = viewsOfParts(part.column);
  else
    x = viewOfX(part.column);
  forEachTile([&](const CarriedTile &tile) {
    beginSlices();
    // The last wait belongs to the branch that has products in flight: where a row without blocks joins before it,
    // ptxas sees its zeros as writes to accumulators in flight and serializes every product (C7515).
    auto branch =
        scf::IfOp::create(b, TypeRange{sumType(), tile.cursor.getType()}, hasBlocks(tile), /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, x ? multiplyRow(tile, a, x) : multiplyRowInParts(tile, a, partsOfX));
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, ValueRange{ZeroOp::create(b, sumType()), tile.cursor});
    }
    // The group is read anew: kept from tile to tile it would take registers that the accumulators need.
    const GroupPart own = partOfGroup();
    isCut() ? storeCut(tile, own, branch.getResult(0)) : storeSlices(tile, own, branch.getResult(0));
    return branch.getResult(1);
  });
  DrainStoresOp::create(b);
}

/// Gives the sum and the cursor after the row's steps.
SmallVector<Value> SpmmRoles::multiplyRow(const CarriedTile &tile, Value a, Value x) {
  Value zero = ZeroOp::create(b, pendingType(columnsOfGroup()));
  auto loop = walk(tile, {zero, tile.cursor, tile.cursor}, [&](const Visited &block, ValueRange carried) {
    Value sum = named(carried[0], "sum"), previous = named(carried[1], "previous"), cursor = named(carried[2], "slot");
    Value hasPrevious = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, block.position, tile.firstBlock);
    for (int64_t chunk = 0; chunk < int64_t(blockLoop.getChunks()); ++chunk) {
      WaitOp::create(b, TypeRange(), ring, cursor);
      Value product = multiply(a, x, cursor, sum, chain.getDepth()[chunk]);
      sum = AwaitOp::create(b, sum.getType(), product, /*outstanding=*/1);
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

/// The same with sums of two levels: no product is in flight from step to step.
SmallVector<Value> SpmmRoles::multiplyRowInParts(const CarriedTile &tile, Value a, ValueRange partsOfX) {
  Step first = {ZeroOp::create(b, sumType()), tile.cursor, arith::ConstantIntOp::create(b, 0, 1)};
  auto loop = walk(tile, first.values(), [&](const Visited &block, ValueRange carried) {
    Step step = {named(carried[0], "sum"), named(carried[1], "slot"), named(carried[2], "is_full")};
    Value scale = chain.getXScale() ? Value() : scaleOf(block.block); // else it is in those of X
    for (int64_t depth : chain.getDepth())
      step = multiplyInParts(a, partsOfX, step, depth, scale);
    return step.values();
  });
  return {loop.getResult(0), loop.getResult(1)};
}

/// Gives the next step. The slot is released, and that of the next step is tested, before the last part is added.
SpmmRoles::Step SpmmRoles::multiplyInParts(Value a, ValueRange partsOfX, const Step &step, int64_t depth, Value scale) {
  Value isEmpty = arith::XOrIOp::create(b, step.isFull, arith::ConstantIntOp::create(b, 1, 1));
  auto branch = scf::IfOp::create(b, isEmpty, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    WaitOp::create(b, TypeRange(), ring, step.cursor);
  }
  Step next;
  Values scales(partCount(), scale);
  next.sum = addProducts(
      step.sum, [&](int64_t number) { return scales[number]; },
      [&](int64_t number) -> Value {
        Value x = partsOfX[number];
        Value product = multiply(a, x, step.cursor, /*sum=*/Value(), depth);
        if (number == 0 && chain.getXScale())
          scales = readScales(step.cursor);
        Value part = AwaitOp::create(b, sumType(columnsOfPart()), product, /*outstanding=*/0);
        if (x == partsOfX.back()) {
          ReleaseOp::create(b, ring, step.cursor, /*condition=*/Value());
          next.cursor = NextOp::create(b, ring, step.cursor);
          next.isFull = TestOp::create(b, b.getI1Type(), ring, next.cursor);
        }
        return part;
      });
  return next;
}

/// The scales of X of the group's columns, for each part, times that of the block if there is one.
SmallVector<Value> SpmmRoles::readScales(Value slot) {
  Value first = partOfGroup().column;
  auto type = ThreadScalesType::get(b.getContext(), columnsOfPart());
  Values scales;
  for (int64_t part = 0; part < partCount(); ++part)
    scales.push_back(StagedScalesOp::create(b, type, ring, slot, add(b, first, part * columnsOfPart())));
  return scales;
}

} // namespace

void sparsec::splitSpmmRoles(ProgramOp program) { SpmmRoles(program).run(); }
