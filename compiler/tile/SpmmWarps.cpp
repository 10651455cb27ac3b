// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All warps are one role. Step q of a tile multiplies slot q mod stages, after it has started the copies of step
// q + stages - 1 into the slot that step q - 1 has left:
//
//   copies of steps 0 .. stages - 2
//   for each step: wait for its copies; barrier of the CTA; copies `ahead` steps later; product
//
// With sums of two levels (fp8), the product of a step starts at zero, for some columns at a time, and is then added to
// the sum.

#include "SpmmWarps.h"

#include "SpmmParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;

namespace {

class SpmmWarps : public SpmmParts {
public:
  explicit SpmmWarps(ProgramOp program)
      : SpmmParts(program, program.getSchedule().getTileM() / program.getSchedule().getConsumersM()),
        ahead(schedule.getStages() - 1) {}

  void run();

private:
  /// A step whose copies start: its slot, and the step itself.
  struct NextCopies {
    Value slot, step;
  };

  void build();
  Value buildRow(const Tile &tile);
  Value multiplyRow(const Tile &tile);
  Value scaleOfStep(const Tile &tile, Value number);
  Value multiplyStep(Value slot, Value scale, Value sum);
  Value stepsOf(const Tile &tile);
  Value countSteps(const Tile &tile);
  NextCopies startCopies(const Tile &tile, Value number, const NextCopies &next);
  void copyStep(const Tile &tile, const NextCopies &next);
  SmallVector<Value> loop(Value count, ValueRange inits, ArrayRef<StringRef> names,
                          function_ref<SmallVector<Value>(Value index, ValueRange carried)> body);

  int64_t blocksPerStep() { return blockLoop.getBlocksPerStep(); }
  bool isAsynchronous() { return schedule.getCopy() == Copy::cp_async; }

  int64_t ahead;
  Value a, x;         // views
  Values partsOfX;    // with sums of two levels, instead of x
  Value steps, count; // of the tile: its walk, and how many steps that has
};

void SpmmWarps::run() {
  b.setInsertionPoint(tileLoop);
  makeRing();
  makeRole(b, "all", RoleUnit::warp, groups(), /*registers=*/0, [&] { build(); });
  tileLoop.erase();
}

void SpmmWarps::build() {
  GroupPart part = partOf(GroupOp::create(b));
  a = viewOfA(part.row);
  if (chain.getTwoLevel())
    partsOfX = viewsOfParts(part.column);
  else
    x = viewOfX(part.column);
  walkTiles({}, [&](const Tile &tile, ValueRange) {
    storeTile(tile, part, buildRow(tile));
    return SmallVector<Value>();
  });
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
  BarrierOp::create(b); // all warps are done with the slots of the previous tile
  steps = stepsOf(tile);
  count = countSteps(tile);
  Value begin = CursorOp::create(b, ring);
  int64_t values = steps.getDefiningOp<StepsOpInterface>().getStepValues();
  Value first = FirstStepOp::create(b, StepType::get(b.getContext(), values), steps);
  auto started = loop(i32(b, ahead), {begin, first}, {"free_slot", "step"}, [&](Value index, ValueRange carried) {
    NextCopies next = startCopies(tile, index, {carried[0], carried[1]});
    return SmallVector<Value>{next.slot, next.step};
  });
  Value zero = ZeroOp::create(b, sumType());
  auto finished = loop(count, {begin, started[0], started[1], zero}, {"slot", "free_slot", "step", "sum"},
                       [&](Value index, ValueRange carried) {
                         Value slot = carried[0];
                         Value scale = scaleOfStep(tile, index);
                         if (isAsynchronous())
                           AwaitCopiesOp::create(b, ahead - 1);
                         BarrierOp::create(b);
                         NextCopies next = startCopies(tile, add(b, index, ahead), {carried[1], carried[2]});
                         Value sum = multiplyStep(slot, scale, carried[3]);
                         return SmallVector<Value>{NextOp::create(b, ring, slot), next.slot, next.step, sum};
                       });
  return finished.back();
}

/// A step has several blocks only where they have no scales.
Value SpmmWarps::scaleOfStep(const Tile &tile, Value number) {
  if (!chain.getScales())
    return {};
  return scaleOf(add(b, tile.firstBlock, divide(b, number, blockLoop.getChunks())));
}

Value SpmmWarps::multiplyStep(Value slot, Value scale, Value sum) {
  int64_t depth = schedule.getTileK();
  if (x)
    return ProductOp::create(b, sumType(), a, slot, x, slot, sum, depth);
  Type type = AccumulatorType::get(b.getContext(), rowsOfGroup, columnsOfPart());
  return addProducts(sum, partsOfX, scale, [&](Value x) -> Value {
    return ProductOp::create(b, type, a, slot, x, slot, /*accumulator=*/Value(), depth);
  });
}

Value SpmmWarps::stepsOf(const Tile &tile) {
  return BlockStepsOp::create(b, blockLoop.getMatrix(), tile.firstBlock, tile.endBlock, blocksPerStep(),
                              blockLoop.getChunks(), std::min(schedule.getTileK(), matrix.getBlockColumns()));
}

Value SpmmWarps::countSteps(const Tile &tile) {
  Value blocks = arith::SubIOp::create(b, tile.endBlock, tile.firstBlock);
  if (blocksPerStep() > 1)
    return divide(b, add(b, blocks, blocksPerStep() - 1), blocksPerStep());
  return multiply(b, blocks, blockLoop.getChunks());
}

/// Starts the copies of step `number`, if there is one.
SpmmWarps::NextCopies SpmmWarps::startCopies(const Tile &tile, Value number, const NextCopies &next) {
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, count);
  auto group = CopyGroupOp::create(b, exists);
  {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&group.getBody());
    copyStep(tile, next);
  }
  return {NextOp::create(b, ring, next.slot), NextStepOp::create(b, next.step.getType(), steps, next.step)};
}

void SpmmWarps::copyStep(const Tile &tile, const NextCopies &next) {
  auto walk = steps.getDefiningOp<StepsOpInterface>();
  SmallVector<Type> types(walk.getReadValues(), b.getI32Type());
  auto read = ReadStepOp::create(b, types, steps, next.step);
  Value block = read.getResult(0), k = read.getResult(1);
  ValueRange columns = read.getResults().slice(2, blocksPerStep());
  ValueRange otherBlocks = read.getResults().drop_front(2 + blocksPerStep());
  auto copyOfA =
      CopyOp::create(b, loads[0].getSource(), ValueRange{block, tile.at.row, k}, ring, next.slot, /*index=*/0);
  if (mayCutBlocks() || blocksPerStep() > 1)
    copyOfA.getBlockColumnsMutable().assign(columns);
  if (!otherBlocks.empty()) {
    copyOfA.getPartsMutable().assign(otherBlocks);
    copyOfA.setPartDimension(0);
  }

  SmallVector<Value> depths = llvm::map_to_vector(columns, [&](Value column) {
    Value depth = multiply(b, column, matrix.getBlockColumns());
    return int64_t(blockLoop.getChunks()) > 1 ? add(b, depth, k) : depth;
  });
  auto copyOfX =
      CopyOp::create(b, loads[1].getSource(), coordinatesOfX(depths[0], tile.at.column), ring, next.slot, /*index=*/1);
  if (depths.size() > 1) {
    copyOfX.getPartsMutable().assign(ValueRange(depths).drop_front());
    copyOfX.setPartDimension(isTransposed() ? 1 : 0);
  }
}

SmallVector<Value> SpmmWarps::loop(Value count, ValueRange inits, ArrayRef<StringRef> names,
                                   function_ref<SmallVector<Value>(Value index, ValueRange carried)> body) {
  auto loop = scf::ForOp::create(b, i32(b, 0), count, i32(b, 1), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  for (auto [argument, name] : llvm::zip(loop.getRegionIterArgs(), names))
    named(argument, name);
  scf::YieldOp::create(b, body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

} // namespace

void sparsec::makeSpmmWarps(ProgramOp program) { SpmmWarps(program).run(); }
