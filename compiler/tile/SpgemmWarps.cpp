// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a spgemm in which all warps are one role, for products by mma.sync. A step is a part of a pair: the
// rows of A and the rows of B of tile_k elements of K. Each warp multiplies its rows of A by its columns of B.
// WarpSteps.h has the order of copies and products. The pair of the step whose copies start next is loaded one step
// ahead.
//
// A tile has a power of two of columns. Those beyond the block of B are zero, and are not stored.

#include "SpgemmParts.h"
#include "WarpSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

class SpgemmWarps : public SpgemmParts {
public:
  using SpgemmParts::SpgemmParts;

private:
  void buildBody(ImplicitLocOpBuilder &b) override;
  void buildRole(ImplicitLocOpBuilder &b);
  Value sumTile(ImplicitLocOpBuilder &b, const Tile &tile);
  Value multiplyPairs(ImplicitLocOpBuilder &b, const Tile &tile);

  int64_t groups() { return schedule.getConsumersM() * schedule.getConsumersN(); }
  int64_t rowsOfGroup() { return schedule.getTileM() / schedule.getConsumersM(); }
  int64_t columnsOfGroup() { return schedule.getTileN() / schedule.getConsumersN(); }
  Type sumType() { return AccumulatorType::get(kernel.getContext(), rowsOfGroup(), columnsOfGroup()); }

  Value viewOfA, viewOfB;
};

void SpgemmWarps::buildBody(ImplicitLocOpBuilder &b) {
  ring = makeRing(b);
  makeRole(b, "all", RoleUnit::warp, groups(), /*registers=*/0, [&] { buildRole(b); });
}

void SpgemmWarps::buildRole(ImplicitLocOpBuilder &b) {
  MLIRContext *context = b.getContext();
  int64_t depth = schedule.getTileK();
  GroupPart part = partOf(b, schedule, rowsOfGroup(), columnsOfGroup());
  viewOfA = named(ViewOp::create(b, ViewType::get(context, rowsOfGroup(), depth, elementType(), Major::k), ring,
                                 part.row, /*column=*/Value(), /*index=*/0),
                  "a");
  viewOfB = named(ViewOp::create(b, ViewType::get(context, depth, columnsOfGroup(), elementType(), Major::mn), ring,
                                 /*row=*/Value(), part.column, /*index=*/1),
                  "b");
  forEachTile(b, /*inits=*/{}, [&](const Tile &tile, ValueRange) {
    storeTile(b, tile, part, sumTile(b, tile));
    return Values();
  });
}

Value SpgemmWarps::sumTile(ImplicitLocOpBuilder &b, const Tile &tile) {
  Value hasPairs = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, tile.first, tile.end);
  auto branch = scf::IfOp::create(b, sumType(), hasPairs, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, multiplyPairs(b, tile));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, ValueRange{ZeroOp::create(b, sumType())});
  return branch.getResult(0);
}

/// The sum of a tile that has pairs.
Value SpgemmWarps::multiplyPairs(ImplicitLocOpBuilder &b, const Tile &tile) {
  BarrierOp::create(b); // all warps are done with the slots of the previous tile
  int64_t depth = schedule.getTileK();
  Value count = multiply(b, arith::SubIOp::create(b, tile.end, tile.first), steps());
  Value last = arith::SubIOp::create(b, count, i32(b, 1));
  Pair first = readPair(b, tile.first);
  SmallVector<StringRef> names{"left", "right", "k"};
  names.resize(first.values().size());
  auto copies = [&](Value number, Value slot, ValueRange pair) {
    copyStep(b, tile, Pair::of(pair), multiply(b, remainder(b, number, steps()), depth), slot);
  };
  auto advance = [&](Value number, ValueRange) {
    Value next = arith::MinSIOp::create(b, add(b, number, 1), last);
    return readPair(b, add(b, tile.first, divide(b, next, steps()))).values();
  };
  auto product = [&](Value, Value slot, Value sum, function_ref<void()> meet) -> Value {
    meet();
    return ProductOp::create(b, sumType(), viewOfA, slot, viewOfB, slot, sum, depth);
  };
  Value begin = CursorOp::create(b, ring);
  return WarpSteps(b, schedule, ring, count).run(begin, first.values(), names, sumType(), copies, advance, product);
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeSpgemmWarps(KernelOp kernel, SpgemmOp spgemm, ScheduleAttr schedule) {
  return std::make_unique<SpgemmWarps>(kernel, spgemm, schedule);
}
