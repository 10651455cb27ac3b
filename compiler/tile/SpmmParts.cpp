// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SpmmParts.h"

#include "ScheduleAttribute.h"

#include "sparsec/launch_info.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

SpmmParts::SpmmParts(ProgramOp program, int64_t rowsOfGroup)
    : schedule(program.getSchedule()), tileLoop(*program.getBody().getOps<TileLoopOp>().begin()),
      blockLoop(*tileLoop.getBody().getOps<BlockLoopOp>().begin()),
      store(*tileLoop.getBody().getOps<StoreOp>().begin()), chain(*blockLoop.getBody().getOps<ChainOp>().begin()),
      matrix(blockLoop.getMatrix().getType()), b(program.getLoc(), program.getContext()),
      loads(llvm::to_vector(blockLoop.getBody().getOps<LoadOp>())), rowsOfGroup(rowsOfGroup) {}

/// Lines of memory that threads copy hold rows of one block. Shared memory takes a line at a time where it has the same
/// order: blocks that lie side by side are strips. So are blocks that one tensor copy brings, and with X as N x K their
/// parts of X. Rows of X that begin anywhere are few elements of a matrix that has no gaps as a rule: whole vectors of
/// it are copied.
void SpmmParts::makeRing(bool hasScales) {
  constexpr int64_t vectorBytes = 16;
  const bool isTma = schedule.getCopy() == Copy::tma, hasBlocksAside = isTma && blocksPerStep() > 1;
  const bool hasStrips = hasBlocksAside || (!isTma && !matrix.getTransposed());
  auto program = tileLoop->getParentOfType<ProgramOp>();
  const bool isMisaligned = int64_t(program.getAlignment()) < vectorBytes && schedule.getCopy() == Copy::cp_async;
  SmallVector<Type> buffers = llvm::map_to_vector(loads, [&](LoadOp load) -> Type {
    BufferType type = load.getType();
    const bool isMatrix = load == loads.front();
    if (isMisaligned && !isMatrix)
      return adjacentBufferOf(type);
    return bufferOf(schedule, type.getRows(), type.getColumns(), type.getElementType(),
                    (hasStrips && isMatrix) || (hasBlocksAside && isTransposed()) ? matrix.getBlockColumns() : 0);
  });
  if (hasScales)
    buffers.push_back(BufferType::get(b.getContext(), /*rows=*/1, schedule.getTileN(), b.getF32Type()));
  ring = sparsec::makeRing(b, schedule, buffers);
}

bool SpmmParts::copiesLines() {
  ProblemDescription problem;
  problem.elementType = toElementType(matrix.getElementType());
  problem.blockColumns = matrix.getBlockColumns();
  problem.wTransposed = matrix.getTransposed();
  problem.xTransposed = isTransposed();
  return sparsec::copiesLines(toSchedule(schedule), problem);
}

bool SpmmParts::mayCutBlocks() {
  if (copiesLines())
    return false;
  return sparsec::mayCutBlocks(matrix, cast<RankedTensorType>(loads[1].getSource().getType()), isTransposed());
}

void SpmmParts::walkTiles(ValueRange inits, function_ref<Values(const Tile &, ValueRange carried)> body) {
  if (isCut())
    return walkCutTiles(inits, body);
  sparsec::walkTiles(b, inits, [&](Value tileRow, Value panel, ValueRange carried) {
    Tile tile = tileAt(tileRow, panel);
    return body(hasSlices() ? sliceOf(tile) : tile, carried);
  });
}

SpmmParts::Tile SpmmParts::tileAt(Value tileRow, Value panel) {
  Tile tile;
  tile.at = tileCoordinates(b, schedule, matrix, tileRow, panel);
  auto blocks = RowBlocksOp::create(b, blockLoop.getMatrix(), tile.at.blockRow);
  tile.firstBlock = blocks.getFirst();
  tile.endBlock = blocks.getEnd();
  return tile;
}

/// The row may have fewer blocks than the plan says, if the pattern is another one: no role then reads beyond the row,
/// and all have the same steps.
void SpmmParts::walkCutTiles(ValueRange inits, function_ref<Values(const Tile &, ValueRange carried)> body) {
  auto loop = TileLoopOp::create(b, inits, /*cut=*/true);
  OpBuilder::InsertionGuard guard(b);
  Block &block = loop.getBody().front();
  block.clear(); // a loop that carries nothing has its terminator already
  b.setInsertionPointToStart(&block);
  Tile tile = tileAt(block.getArgument(0), block.getArgument(1));
  Value count = arith::AndIOp::create(b, block.getArgument(3), i32(b, (1 << SPARSEC_CUT_KIND_SHIFT) - 1));
  tile.kind = arith::ShRUIOp::create(b, block.getArgument(3), i32(b, SPARSEC_CUT_KIND_SHIFT));
  Value end = tile.endBlock;
  tile.firstBlock = arith::MinSIOp::create(b, add(b, tile.firstBlock, block.getArgument(2)), end);
  tile.endBlock = arith::MinSIOp::create(b, add(b, tile.firstBlock, count), end);
  YieldOp::create(b, body(tile, block.getArguments().drop_front(loop.getCoordinateCount())));
}

/// A slice has whole steps: as many of the row's blocks as the others, but for the last ones.
SpmmParts::Tile SpmmParts::sliceOf(const Tile &tile) {
  const int64_t blocksOfSteps = schedule.getSlices() * blocksPerStep();
  Value blocks = arith::SubIOp::create(b, tile.endBlock, tile.firstBlock);
  Value count = multiply(b, divide(b, add(b, blocks, blocksOfSteps - 1), blocksOfSteps), blocksPerStep());
  Tile own = tile;
  Value first = add(b, tile.firstBlock, Value(arith::MulIOp::create(b, SliceOp::create(b), count)));
  own.firstBlock = arith::MinSIOp::create(b, first, tile.endBlock);
  own.endBlock = arith::MinSIOp::create(b, add(b, own.firstBlock, count), tile.endBlock);
  return own;
}

Value SpmmParts::viewOfA(Value row) {
  MLIRContext *context = b.getContext();
  Type element = matrix.getElementType();
  ViewOp view;
  if (matrix.getTransposed()) {
    auto type = ViewType::get(context, schedule.getTileK(), rowsOfGroup, element, Major::mn);
    view = ViewOp::create(b, type, ring, /*row=*/Value(), /*column=*/row, /*index=*/0);
  } else {
    auto type = ViewType::get(context, rowsOfGroup, schedule.getTileK(), element, Major::k);
    view = ViewOp::create(b, type, ring, row, /*column=*/Value(), /*index=*/0);
  }
  return named(view, "a");
}

Value SpmmParts::viewOfX(Value first, int64_t columns) {
  Type element = loads[1].getType().getElementType();
  MLIRContext *context = b.getContext();
  ViewOp view;
  if (isTransposed()) {
    auto type = ViewType::get(context, columns, schedule.getTileK(), element, Major::k);
    view = ViewOp::create(b, type, ring, /*row=*/first, /*column=*/Value(), /*index=*/1);
  } else {
    auto type = ViewType::get(context, schedule.getTileK(), columns, element, Major::mn);
    view = ViewOp::create(b, type, ring, /*row=*/Value(), first, /*index=*/1);
  }
  return named(view, "x");
}

bool SpmmParts::swapsOperands() { return sparsec::swapsOperands(toSchedule(schedule), bool(chain.getXScale())); }

Type SpmmParts::sumType(int64_t columns) {
  auto [first, second] = swapsOperands() ? std::pair(columns, rowsOfGroup) : std::pair(rowsOfGroup, columns);
  return AccumulatorType::get(b.getContext(), first, second);
}

int64_t SpmmParts::columnsOfPart() { return promotedColumns(toSchedule(schedule), bool(chain.getXScale())); }

SpmmParts::Values SpmmParts::viewsOfParts(Value firstColumn) {
  Values parts;
  for (int64_t column = 0; column < columnsOfGroup(); column += columnsOfPart())
    parts.push_back(viewOfX(add(b, firstColumn, column), columnsOfPart()));
  return parts;
}

Value SpmmParts::scaleOf(Value block) {
  return chain.getScales() ? Value(BlockScaleOp::create(b, b.getF32Type(), chain.getScales(), block)) : Value();
}

/// All k of a chunk have the same scale: the schedule's tile_k divides the depth of a scale.
int64_t SpmmParts::chunksOfScale() { return mostDepthOfPart / schedule.getTileK(); }

Value SpmmParts::partOfK(Value blockColumn, Value chunk) {
  return divide(b, add(b, multiply(b, blockColumn, blockLoop.getChunks()), chunk), chunksOfScale());
}

Value SpmmParts::scaleOfPart(Value first, const Chunk &chunk) {
  if (!chain.getXScale())
    return chunk.scale;
  Value number = partOfK(chunk.blockColumn, chunk.number);
  auto type = ColumnScalesType::get(b.getContext(), columnsOfPart());
  return ColumnScalesOp::create(b, type, chain.getXScale(), first, number, chunk.scale);
}

Value SpmmParts::addProducts(Value sum, function_ref<Value(int64_t part)> scaleOf,
                             function_ref<Value(int64_t part)> multiply) {
  for (int64_t part = 0; part < partCount(); ++part) {
    Value product = multiply(part);
    sum = named(PromoteOp::create(b, product, sum, scaleOf(part), /*rows=*/Value(), part * columnsOfPart()), "sum");
  }
  return sum;
}

SpmmParts::Values SpmmParts::coordinatesOfX(Value k, Value column) {
  return isTransposed() ? Values{column, k} : Values{k, column};
}

void SpmmParts::beginSlices() {
  if (hasSlices())
    BarrierOp::create(b);
}

void SpmmParts::storeSlices(const Tile &tile, const GroupPart &part, Value sum) {
  if (!hasSlices())
    return storeTile(tile, part, sum);
  Value all = AddSlicesOp::create(b, sum, /*offset=*/IntegerAttr());
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, SliceOp::create(b), i32(b, 0));
  carryIf(b, isFirst, {}, [&] { return storeTile(tile, part, all), Values(); });
}

void SpmmParts::storeCut(const Tile &tile, const GroupPart &part, Value sum) {
  auto isOfKind = [&](sparsec_cut_kind_t kind) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, tile.kind, i32(b, kind));
  };
  auto branch = scf::IfOp::create(b, TypeRange(), isOfKind(SPARSEC_CUT_FIRST), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  WriteSumsOp::create(b, sum, /*rows=*/Value());
  ReleaseSumsOp::create(b);
  b.setInsertionPointToStart(branch.elseBlock());
  auto addSums = [&]() -> Value {
    AcquireSumsOp::create(b);
    return AddSumsOp::create(b, sum);
  };
  storeTile(tile, part, choose(b, sum.getType(), isOfKind(SPARSEC_CUT_REST), addSums, [&] { return sum; }));
}

void SpmmParts::storeTile(const Tile &tile, const GroupPart &part, Value sum) {
  store->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  store.getAccumulatorMutable().assign(sum);
  store.getBlockRowMutable().assign(tile.at.blockRow);
  store.getRowMutable().assign(tile.at.row);
  store.getColumnMutable().assign(tile.at.column);
  store.getGroupMutable().assign(part.group);
  store.getGroupRowMutable().assign(swapsOperands() ? part.column : part.row);
  store.getGroupColumnMutable().assign(swapsOperands() ? part.row : part.column);
  store.setSwapped(swapsOperands());
  store.setLines(copiesLines());
}
