// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SpgemmParts.h"

#include "ScheduleAttribute.h"
#include "SharedMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;

static constexpr int64_t numbersOfPair = 3; // of an entry of SPARSEC_PLAN_PAIRS

SpgemmParts::Pair SpgemmParts::Pair::of(ValueRange values) {
  return {named(values[0], "left"), named(values[1], "right"), values.size() > 2 ? named(values[2], "k") : Value()};
}

/// The buffer of B has the columns of the schedule: whole panels of a tensor copy, or a power of two.
Value SpgemmParts::makeRing(ImplicitLocOpBuilder &b) {
  Type buffers[] = {bufferOf(schedule, schedule.getTileM(), schedule.getTileK(), elementType()),
                    bufferOf(schedule, schedule.getTileK(), schedule.getTileN(), elementType())};
  return sparsec::makeRing(b, schedule, buffers);
}

int64_t SpgemmParts::steps() { return llvm::divideCeil(left.getBlockColumns(), schedule.getTileK()); }

//===----------------------------------------------------------------------===//
// Tiles and pairs
//===----------------------------------------------------------------------===//

void SpgemmParts::forEachTile(ImplicitLocOpBuilder &b, ValueRange inits,
                              function_ref<Values(const Tile &tile, ValueRange carried)> body) {
  walkTiles(b, inits, [&](Value tileRow, Value panel, ValueRange carried) {
    TileCoordinates at = tileCoordinates(b, schedule, left, tileRow, panel);
    auto build = [&] { return body(readTile(b, at, panel), carried); };
    return isSampled() ? carryIf(b, exists(b, at.blockRow, panel), carried, build) : build();
  });
}

/// Whether a block row of the pattern has a block of this number in the row.
Value SpgemmParts::exists(ImplicitLocOpBuilder &b, Value blockRow, Value panel) {
  auto row = RowBlocksOp::create(b, operand(spgemm.getPattern()), blockRow);
  Value count = arith::SubIOp::create(b, row.getEnd(), row.getFirst());
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, panel, count);
}

/// The number of a block of the result: of all blocks, or of the stored ones of the pattern.
Value SpgemmParts::blockNumber(ImplicitLocOpBuilder &b, Value blockRow, Value panel) {
  if (isSampled())
    return add(b, RowBlocksOp::create(b, operand(spgemm.getPattern()), blockRow).getFirst(), panel);
  Value width = SizeOp::create(b, operand(spgemm.getRight()), /*dimension=*/1);
  Value blocksOfRow = divide(b, add(b, width, columns() - 1), columns());
  return add(b, arith::MulIOp::create(b, blockRow, blocksOfRow), panel);
}

SpgemmParts::Tile SpgemmParts::readTile(ImplicitLocOpBuilder &b, const TileCoordinates &at, Value panel) {
  Tile tile;
  tile.at = at;
  tile.number = named(blockNumber(b, at.blockRow, panel), "number");
  tile.first = named(ReadPlanOp::create(b, PlanSection::pair_starts, tile.number), "first");
  tile.end = named(ReadPlanOp::create(b, PlanSection::pair_starts, add(b, tile.number, 1)), "end");
  tile.column = isSampled() ? i32(b, 0) : multiply(b, panel, columns());
  return tile;
}

SpgemmParts::Pair SpgemmParts::readPair(ImplicitLocOpBuilder &b, Value position) {
  Value entry = multiply(b, position, numbersOfPair);
  Values numbers;
  for (int64_t field = 0; field < (mayCutBlocks() ? 3 : 2); ++field)
    numbers.push_back(ReadPlanOp::create(b, PlanSection::pairs, add(b, entry, field)));
  return Pair::of(numbers);
}

void SpgemmParts::copyStep(ImplicitLocOpBuilder &b, const Tile &tile, const Pair &pair, Value k, Value cursor) {
  auto copyOfA =
      CopyOp::create(b, operand(spgemm.getLeft()), ValueRange{pair.left, tile.at.row, k}, ring, cursor, /*index=*/0);
  auto copyOfB =
      CopyOp::create(b, operand(spgemm.getRight()), ValueRange{pair.right, k, i32(b, 0)}, ring, cursor, /*index=*/1);
  copyOfB.setDepthRows(true);
  if (pair.k) {
    copyOfA.getBlockColumnsMutable().assign(pair.k);
    copyOfB.getBlockColumnsMutable().assign(pair.k);
  }
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

void SpgemmParts::storeTile(ImplicitLocOpBuilder &b, const Tile &tile, const GroupPart &part, Value sum) {
  Value end = isSampled() ? add(b, tile.number, 1) : Value(); // of the blocks that are stored
  SmallVector<Value> extras;
  for (Value extra : spgemm.getExtras())
    extras.push_back(operand(extra));
  bool isStaged = usesStagedStore(toSchedule(schedule), describeProblem(spgemm, /*density=*/1));
  auto store = StoreOp::create(b, sum, results[0], tile.at.blockRow, tile.at.row, tile.column, part.group, part.row,
                               part.column, extras, spgemm.getBroadcast(), left.getBlockRows(),
                               /*transposed=*/spgemm.getCLayout() == ResultLayout::nm, isStaged,
                               /*staging=*/DenseI64ArrayAttr());
  if (isSampled()) {
    store.getFirstBlockMutable().assign(tile.number);
    store.getEndBlockMutable().assign(end);
    store.getPatternMutable().assign(operand(spgemm.getPattern()));
    // A group has columns of one block alone.
    store.setBlockStride(std::max(columns(), cast<AccumulatorType>(sum.getType()).getColumns()));
  }
  setEpilogue(b, store, spgemm.getEpilogue());
}

std::unique_ptr<ProgramBuilder> sparsec::makeSpgemmBuilder(KernelOp kernel, SpgemmOp spgemm, ScheduleAttr schedule) {
  return schedule.getCopy() == Copy::tma ? makeSpgemmRoles(kernel, spgemm, schedule)
                                         : makeSpgemmWarps(kernel, spgemm, schedule);
}
