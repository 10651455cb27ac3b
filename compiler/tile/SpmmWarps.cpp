// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All warps are one role. WarpSteps.h has the order of copies and products. With slices each warp has some of the
// blocks of a row, in a ring of its own, and the first warp adds up their sums. With sums of two levels (fp8), the
// product of a step starts at zero, for some columns at a time, and is then added to the sum.

#include "SpmmWarps.h"

#include "SpmmParts.h"
#include "WarpSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;

namespace {

class SpmmWarps : public SpmmParts {
public:
  explicit SpmmWarps(ProgramOp program)
      : SpmmParts(program, program.getSchedule().getTileM() / program.getSchedule().getConsumersM()) {}

  void run();

private:
  void build();
  void buildTile(const Tile &tile);
  Value buildRow(const Tile &tile);
  Value multiplyRow(const Tile &tile);
  Values scalesOfStep(const Tile &tile, Value number);
  Value multiplyStep(Value slot, ValueRange scales, Value sum);
  Value walkOf(const Tile &tile);
  Value countSteps(const Tile &tile);
  void copyStep(const Tile &tile, Value slot, Value step);

  GroupPart part;  // of the group
  Value a, x;      // views
  Values partsOfX; // with sums of two levels, instead of x
  Value walk;      // of the tile
};

void SpmmWarps::run() {
  b.setInsertionPoint(tileLoop);
  makeRing();
  makeRole(b, "all", RoleUnit::warp, groups() * int64_t(schedule.getSlices()), /*registers=*/0, [&] { build(); });
  tileLoop.erase();
}

void SpmmWarps::build() {
  part = hasSlices() ? GroupPart{i32(b, 0), i32(b, 0), i32(b, 0)} : partOfGroup();
  a = viewOfA(part.row);
  if (chain.getTwoLevel())
    partsOfX = viewsOfParts(part.column);
  else
    x = viewOfX(part.column);
  walkTiles({}, [&](const Tile &tile, ValueRange) {
    buildTile(tile);
    return SmallVector<Value>();
  });
}

/// With slices every warp multiplies its own, and the first one stores the sum.
void SpmmWarps::buildTile(const Tile &tile) {
  beginSlices();
  storeSlices(tile, part, buildRow(tile));
}

Value SpmmWarps::buildRow(const Tile &tile) {
  Value hasBlocks = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, tile.firstBlock, tile.endBlock);
  auto branch = scf::IfOp::create(b, sumType(), hasBlocks, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, multiplyRow(tile));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, ValueRange{ZeroOp::create(b, sumType())});
  return branch.getResult(0);
}

/// The steps of a block row that has blocks.
Value SpmmWarps::multiplyRow(const Tile &tile) {
  if (!hasSlices())
    BarrierOp::create(b); // all warps are done with the slots of the previous tile
  walk = walkOf(tile);
  Value count = countSteps(tile), begin = CursorOp::create(b, ring);
  Value first = FirstStepOp::create(b, walk, /*reads=*/false).getResult();
  auto copies = [&](Value, Value slot, ValueRange step) { copyStep(tile, slot, step.front()); };
  auto advance = [&](Value, ValueRange step) -> Values {
    return {NextStepOp::create(b, walk, step.front(), /*reads=*/false).getResult()};
  };
  // A scale of a block takes one load, whose latency the copies hide. One of X needs the block's column first.
  auto load = [&](Value number) { return chain.getXScale() ? scalesOfStep(tile, number) : Values(); };
  auto product = [&](Value number, Value slot, ValueRange loaded, Value sum, function_ref<void()> meet) {
    Values scales = chain.getXScale() ? Values(loaded) : scalesOfStep(tile, number);
    meet();
    return multiplyStep(slot, scales, sum);
  };
  return WarpSteps(b, schedule, ring, count).run(begin, first, {"step"}, sumType(), copies, advance, product, load);
}

/// The scales of the parts, if there are any. A step has several blocks only where there are none.
SpmmParts::Values SpmmWarps::scalesOfStep(const Tile &tile, Value number) {
  if (!chain.getScales() && !chain.getXScale())
    return {};
  Value block = add(b, tile.firstBlock, divide(b, number, blockLoop.getChunks()));
  Chunk chunk = {{}, {}, scaleOf(block)};
  if (!chain.getXScale())
    return {chunk.scale};
  chunk.blockColumn = BlockColumnOp::create(b, b.getI32Type(), blockLoop.getMatrix(), block);
  chunk.number = remainder(b, number, blockLoop.getChunks());
  Value first = add(b, tile.at.column, part.column);
  Values scales;
  for (int64_t part = 0; part < partCount(); ++part)
    scales.push_back(scaleOfPart(add(b, first, part * columnsOfPart()), chunk));
  return scales;
}

Value SpmmWarps::multiplyStep(Value slot, ValueRange scales, Value sum) {
  int64_t depth = schedule.getTileK();
  auto product = [&](Type type, Value ofX, Value accumulator) -> Value {
    auto op = ProductOp::create(b, type, a, slot, ofX, slot, accumulator, depth);
    op.setWidened(chain.getWidened());
    return op;
  };
  if (x)
    return product(sumType(), x, sum);
  Type type = AccumulatorType::get(b.getContext(), rowsOfGroup, columnsOfPart());
  return addProducts(
      sum, [&](int64_t part) { return scales.empty() ? Value() : scales[scales.size() == 1 ? 0 : part]; },
      [&](int64_t part) { return product(type, partsOfX[part], /*accumulator=*/Value()); });
}

Value SpmmWarps::walkOf(const Tile &tile) {
  bool hasChunks = int64_t(blockLoop.getChunks()) > 1;
  return BlockWalkOp::create(b, blockLoop.getMatrix(), /*scales=*/Value(), tile.firstBlock, tile.endBlock,
                             blocksPerStep(), hasChunks ? b.getI64IntegerAttr(schedule.getTileK()) : IntegerAttr());
}

Value SpmmWarps::countSteps(const Tile &tile) {
  Value blocks = arith::SubIOp::create(b, tile.endBlock, tile.firstBlock);
  if (blocksPerStep() > 1)
    return divide(b, add(b, blocks, blocksPerStep() - 1), blocksPerStep());
  return multiply(b, blocks, blockLoop.getChunks());
}

void SpmmWarps::copyStep(const Tile &tile, Value slot, Value step) {
  ValueRange visited = ReadStepOp::create(b, walk, step).getVisited();
  ValueRange columns = visited.slice(1, blocksPerStep()), otherBlocks;
  bool hasChunks = int64_t(blockLoop.getChunks()) > 1;
  Value block = visited.front(), k = hasChunks ? visited.back() : i32(b, 0);
  if (matrix.getTransposed()) {
    ValueRange blocks = visited.slice(1 + blocksPerStep(), blocksPerStep());
    block = blocks.front();
    otherBlocks = blocks.drop_front();
  }
  auto copyOfA = CopyOp::create(b, loads[0].getSource(), ValueRange{block, tile.at.row, k}, ring, slot, /*index=*/0);
  if (mayCutBlocks() || blocksPerStep() > 1)
    copyOfA.getBlockColumnsMutable().assign(columns);
  if (!otherBlocks.empty()) {
    copyOfA.getPartsMutable().assign(otherBlocks);
    copyOfA.setPartDimension(0);
  }

  SmallVector<Value> depths = llvm::map_to_vector(columns, [&](Value column) {
    Value depth = multiply(b, column, matrix.getBlockColumns());
    return hasChunks ? add(b, depth, k) : depth;
  });
  auto copyOfX =
      CopyOp::create(b, loads[1].getSource(), coordinatesOfX(depths[0], tile.at.column), ring, slot, /*index=*/1);
  if (depths.size() > 1) {
    copyOfX.getPartsMutable().assign(ValueRange(depths).drop_front());
    copyOfX.setPartDimension(isTransposed() ? 1 : 0);
  }
}

} // namespace

void sparsec::makeSpmmWarps(ProgramOp program) { SpmmWarps(program).run(); }
