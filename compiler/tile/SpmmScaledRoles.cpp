// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread has sums in few rows of an accumulator and in many columns. Where X has scales, its columns are therefore
// the rows of the accumulators: the program computes Y^T = X^T W^T, with X as the A operand. A group has some columns
// of the tile and all its rows, in parts that are multiplied one after the other, each with an accumulator of its own.
//
// A group reads its few scales of a slot while it multiplies its first part, and releases the slot at once.

#include "SpmmScaledRoles.h"

#include "ScheduleAttribute.h"
#include "SpmmProducer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;

namespace {

class SpmmScaledRoles : public SpmmProducer {
public:
  /// Every group has all rows of the tile.
  explicit SpmmScaledRoles(ProgramOp program) : SpmmProducer(program, program.getSchedule().getTileM()) {}

  void run();

private:
  /// A group carries the sums of its parts, and a slot of each ring.
  struct State {
    State(ValueRange sums, Value slot, Value scaleSlot) : sums(sums), slot(slot), scaleSlot(scaleSlot) {}
    explicit State(ValueRange carried);
    Values values() const;

    Values sums;
    Value slot, scaleSlot;
  };

  void makeScaleRing();
  void buildConsumer();
  State zeroSums(Value slot, Value scaleSlot);
  State multiplyRow(const Tile &tile, Value w, ValueRange partsOfX, const State &begin);
  Values readScales(State &state);
  /// A chunk of a block: whether scales of X are read for it and for those behind it, and the scale of the block or
  /// null.
  struct Chunk {
    int64_t depth;
    bool beginsScale;
    Value scale;
  };
  void multiplyChunk(Value w, ValueRange partsOfX, const Chunk &chunk, Values &rowScales, State &state);
  void storeParts(const Tile &tile, ValueRange sums);

  Type sumOfPart() { return AccumulatorType::get(b.getContext(), columnsOfPart(), rowsOfGroup); }

  Value scaleRing;
};

SpmmScaledRoles::State::State(ValueRange carried)
    : sums(carried.drop_back(2)), slot(named(carried.drop_back().back(), "slot")),
      scaleSlot(named(carried.back(), "scale_slot")) {
  for (Value sum : sums)
    named(sum, "sum");
}

SmallVector<Value> SpmmScaledRoles::State::values() const {
  Values all = sums;
  all.push_back(slot);
  all.push_back(scaleSlot);
  return all;
}

void SpmmScaledRoles::run() {
  b.setInsertionPoint(tileLoop);
  makeRing();
  makeScaleRing();
  makeRole(b, "consumer", RoleUnit::warpgroup, groups(), schedule.getConsumerRegisters(), [&] { buildConsumer(); });
  makeProducer();
  makeScaleProducer(scaleRing, chunksOfScale());
  tileLoop.erase();
}

/// A slot has a scale for each column of the tile.
void SpmmScaledRoles::makeScaleRing() {
  auto buffer = BufferType::get(b.getContext(), /*rows=*/1, schedule.getTileN(), b.getF32Type());
  auto type = RingType::get(b.getContext(), scaleStages(schedule.getTileN()), SmallVector<Type>{buffer});
  scaleRing = RingOp::create(b, type, b.getStringAttr("scale_ring"), /*messages=*/false);
}

void SpmmScaledRoles::buildConsumer() {
  Value w = named(viewOfA(i32(b, 0)), "w");
  Values partsOfX = viewsOfParts(partOfGroup().column);
  Value begin = CursorOp::create(b, ring), beginOfScales = CursorOp::create(b, scaleRing);
  walkTiles({begin, beginOfScales}, [&](const Tile &tile, ValueRange carried) -> Values {
    Value slot = named(carried[0], "slot"), scaleSlot = named(carried[1], "scale_slot");
    SmallVector<Type> types(partCount(), sumOfPart());
    llvm::append_range(types, carried.getTypes());
    auto branch = scf::IfOp::create(b, types, hasBlocks(tile), /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      for (Block *block : {branch.thenBlock(), branch.elseBlock()}) {
        b.setInsertionPointToStart(block);
        State zero = zeroSums(slot, scaleSlot);
        bool hasRow = block == branch.thenBlock();
        scf::YieldOp::create(b, (hasRow ? multiplyRow(tile, w, partsOfX, zero) : zero).values());
      }
    }
    storeParts(tile, branch.getResults().take_front(partCount()));
    return Values(branch.getResults().drop_front(partCount()));
  });
  DrainStoresOp::create(b);
}

SpmmScaledRoles::State SpmmScaledRoles::zeroSums(Value slot, Value scaleSlot) {
  Values sums;
  for (int64_t part = 0; part < partCount(); ++part)
    sums.push_back(ZeroOp::create(b, sumOfPart()));
  return State(sums, slot, scaleSlot);
}

SpmmScaledRoles::State SpmmScaledRoles::multiplyRow(const Tile &tile, Value w, ValueRange partsOfX,
                                                    const State &begin) {
  auto loop = walkWithScales(tile, begin.values(), [&](const Visited &block, ValueRange carried) {
    State state(carried);
    Values rowScales;
    for (auto [chunk, depth] : llvm::enumerate(chain.getDepth())) {
      bool beginsScale = chunk % chunksOfScale() == 0;
      multiplyChunk(w, partsOfX, {depth, beginsScale, block.scale}, rowScales, state);
    }
    return state.values();
  });
  return State(loop.getResults());
}

/// Those of the group's columns, for each part.
SmallVector<Value> SpmmScaledRoles::readScales(State &state) {
  WaitOp::create(b, TypeRange(), scaleRing, state.scaleSlot);
  // The group is read anew: kept from tile to tile it would take registers that the accumulators need.
  Value first = partOfGroup().column;
  auto type = RowScalesType::get(b.getContext(), columnsOfPart());
  Values scales;
  for (int64_t part = 0; part < partCount(); ++part)
    scales.push_back(RowScalesOp::create(b, type, scaleRing, state.scaleSlot, add(b, first, part * columnsOfPart())));
  ReleaseOp::create(b, scaleRing, state.scaleSlot, /*condition=*/Value());
  state.scaleSlot = NextOp::create(b, scaleRing, state.scaleSlot);
  return scales;
}

/// The scales are read while the first part is multiplied, and the slot of the operands is released before the last
/// part is added. All products have the same registers: ptxas would give them others, of which some are the same, and
/// spill what is in the way.
void SpmmScaledRoles::multiplyChunk(Value w, ValueRange partsOfX, const Chunk &chunk, Values &rowScales, State &state) {
  WaitOp::create(b, TypeRange(), ring, state.slot);
  Type pending = PendingType::get(b.getContext(), columnsOfPart(), rowsOfGroup);
  Value part;
  for (auto [number, x, sum] : llvm::enumerate(partsOfX, state.sums)) {
    auto product = ProductOp::create(b, pending, x, state.slot, w, state.slot, /*accumulator=*/Value(), chunk.depth);
    product.getRegistersMutable().assign(part ? ValueRange(part) : ValueRange());
    if (number == 0 && chunk.beginsScale)
      rowScales = readScales(state);
    part = AwaitOp::create(b, sumOfPart(), product, /*outstanding=*/0);
    if (x == partsOfX.back())
      ReleaseOp::create(b, ring, state.slot, /*condition=*/Value());
    sum = named(PromoteOp::create(b, part, sum, chunk.scale, rowScales[number], /*column=*/0), "sum");
  }
  state.slot = NextOp::create(b, ring, state.slot);
}

/// The columns of a part of the tile are rows of its accumulator.
void SpmmScaledRoles::storeParts(const Tile &tile, ValueRange sums) {
  GroupPart part = partOfGroup();
  Value first = add(b, tile.at.column, part.column), zero = i32(b, 0);
  for (auto [number, sum] : llvm::enumerate(sums)) {
    Value column = add(b, first, number * columnsOfPart());
    auto each = cast<StoreOp>(b.clone(*store));
    each.setSwapped(true);
    each.getAccumulatorMutable().assign(sum);
    each.getBlockRowMutable().assign(tile.at.blockRow);
    each.getRowMutable().assign(tile.at.row);
    each.getColumnMutable().assign(column);
    each.getGroupMutable().assign(part.group);
    each.getGroupRowMutable().assign(zero);
    each.getGroupColumnMutable().assign(zero);
  }
}

} // namespace

void sparsec::splitScaledSpmmRoles(ProgramOp program) { SpmmScaledRoles(program).run(); }
