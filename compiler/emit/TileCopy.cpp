// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TileCopy.h"

#include "Ptx.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

TileCopy::TileCopy(SpmmContext &context, Ring ring)
    : context(context), b(context.b), ring(ring), layout(context.b, ring) {}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Values TileCopy::Step::values() const {
  Values all{block, chunk};
  llvm::append_range(all, columns);
  return all;
}

void TileCopy::beginTile(const TilePosition &tile, RowBlocks blocks, BlockLoopOp loop) {
  position = tile;
  range = blocks;
  blocksPerStep = loop.getBlocksPerStep();
  chunks = loop.getChunks();
  wholeTile = canSkipChecks() ? isWholeTile() : Value();
}

Value TileCopy::stepCount() {
  Value blocks = b.sub(range.last, range.first);
  if (blocksPerStep > 1)
    return b.divide(b.add(blocks, blocksPerStep - 1), blocksPerStep);
  return b.mul(blocks, chunks);
}

Value TileCopy::columnOf(Value block) {
  Value columns = context.parameters.get(ParameterKind::col_idx, context.matrixArgument);
  return b.loadElement(b.i32Type(), columns, b.minimum(block, b.sub(range.last, 1)));
}

Values TileCopy::columnsOf(Value block) {
  Values columns;
  for (int64_t i = 0; i < blocksPerStep; ++i)
    columns.push_back(columnOf(b.add(block, i)));
  return columns;
}

TileCopy::Step TileCopy::firstStep() {
  Step step;
  step.block = range.first;
  step.chunk = b.i32(0);
  step.columns = columnsOf(step.block);
  return step;
}

TileCopy::Step TileCopy::nextStep(const Step &step) {
  Step next;
  if (chunks == 1) {
    next.block = b.add(step.block, blocksPerStep);
    next.chunk = step.chunk;
  } else {
    Value chunk = b.add(step.chunk, 1);
    Value wraps = b.equal(chunk, chunks);
    next.block = b.select(wraps, b.add(step.block, 1), step.block);
    next.chunk = b.select(wraps, b.i32(0), chunk);
  }
  next.columns = columnsOf(next.block);
  return next;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void TileCopy::emit(const Step &step, Value slot) {
  if (!wholeTile)
    return emitChecked(step, slot);
  b.ifThenElse(
      isWholeStep(step), {},
      [&] {
        emitWhole(step, slot);
        return Values();
      },
      [&] {
        emitChecked(step, slot);
        return Values();
      });
}

SmallVector<TileCopy::Unit> TileCopy::unitsOf(int64_t buffer) {
  int64_t units = layout.rowUnits(buffer), total = ring.bufferRows(buffer) * units;
  int64_t threads = this->threads();
  bool depthIsRow = buffer == 1 && !context.denseTransposed;
  bool even = threads % units == 0; // each pass covers whole rows
  SmallVector<Unit> result;
  for (int64_t first = 0; first < total; first += threads) {
    Unit unit;
    Value index = b.add(context.thread, first);
    Value laneRow = b.divide(even ? context.thread : index, units);
    int64_t constantRow = even ? first / units : 0;
    unit.row = b.add(laneRow, constantRow);
    unit.unit = b.modulo(even ? context.thread : index, units);
    if (depthIsRow)
      unit.depth = {laneRow, constantRow, even ? threads / units : ring.bufferRows(buffer)};
    else
      unit.depth = {b.mul(unit.unit, unitElements), 0, units * unitElements};
    if (first + threads > total)
      unit.exists = b.less(index, total);
    result.push_back(unit);
  }
  return result;
}

TileCopy::DepthInBlock TileCopy::locate(const Step &step, DepthInStep depth) {
  int64_t blockColumns = context.matrix.getBlockColumns();
  Value inStep = b.add(depth.lane, depth.constant);
  if (blocksPerStep == 1)
    return {b.i32(0), b.add(inStep, b.mul(step.chunk, context.schedule.getTileK()))};
  int64_t inBlock = depth.constant % blockColumns;
  if (inBlock + depth.range <= blockColumns)
    return {b.i32(depth.constant / blockColumns), b.add(depth.lane, inBlock)};
  return {b.divide(inStep, blockColumns), b.modulo(inStep, blockColumns)};
}

/// False for blocks after the last of the row and for columns beyond the block; null when neither can happen.
Value TileCopy::isInBlock(const Step &step, DepthInBlock depth) {
  if (blocksPerStep > 1)
    return b.less(b.add(step.block, depth.blockInStep), range.last);
  if (context.matrix.getBlockColumns() % context.schedule.getTileK() != 0)
    return b.less(depth.column, context.matrix.getBlockColumns());
  return {};
}

void TileCopy::emitChecked(const Step &step, Value slot) {
  for (int64_t buffer = 0; buffer < 2; ++buffer)
    for (const Unit &unit : unitsOf(buffer)) {
      auto copyOne = [&] {
        Value destination = layout.address(buffer, slot, {unit.row, unit.unit});
        if (buffer == 0)
          copyA(step, destination, unit);
        else
          copyX(step, destination, unit);
      };
      if (unit.exists)
        b.ifThen(unit.exists, copyOne);
      else
        copyOne();
    }
}

void TileCopy::copyA(const Step &step, Value destination, const Unit &unit) {
  int64_t blockRows = context.matrix.getBlockRows(), blockColumns = context.matrix.getBlockColumns();
  DepthInBlock depth = locate(step, unit.depth);
  Value row = b.add(position.rowInBlock, unit.row);
  Value inBlock = isInBlock(step, depth);
  if (blockRows % context.schedule.getTileM() != 0) {
    Value rowExists = b.less(row, blockRows);
    inBlock = inBlock ? b.logicalAnd(inBlock, rowExists) : rowExists;
  }
  // Elements beyond K do not count: zeros take the place of what may be a NaN.
  Value existing = b.i32(unitElements);
  if (context.mayCutBlocks()) {
    Value k = b.add(b.mul(columnAt(step, depth.blockInStep), blockColumns), depth.column);
    existing = arith::MaxSIOp::create(b, b.minimum(b.sub(context.depth(), k), existing), b.i32(0));
  }
  Value valid = inBlock ? b.select(inBlock, existing, b.i32(0)) : existing;
  Value block = b.extend(b.add(step.block, depth.blockInStep));
  Value inValues = b.extend(b.add(b.mul(row, blockColumns), depth.column));
  Value values = context.parameters.get(ParameterKind::pointer, context.matrixArgument);
  copyUnit(destination, values, b.add(b.mul(block, blockRows * blockColumns), inValues), valid);
}

/// The block column of one of the step's blocks.
Value TileCopy::columnAt(const Step &step, Value blockInStep) {
  Value column = step.columns[0];
  for (int64_t i = 1; i < blocksPerStep; ++i)
    column = b.select(b.equal(blockInStep, i), step.columns[i], column);
  return column;
}

void TileCopy::copyX(const Step &step, Value destination, const Unit &unit) {
  DepthInBlock depth = locate(step, unit.depth);
  Value k = b.add(b.mul(columnAt(step, depth.blockInStep), context.matrix.getBlockColumns()), depth.column);

  Value outer, inner, outerCount, innerCount;
  if (context.denseTransposed) {
    outer = b.add(position.column, unit.row);
    outerCount = context.columns();
    inner = k;
    innerCount = context.depth();
  } else {
    outer = k;
    outerCount = context.depth();
    inner = b.add(position.column, b.mul(unit.unit, unitElements));
    innerCount = context.columns();
  }
  Value exists = b.less(outer, outerCount);
  if (Value inBlock = isInBlock(step, depth))
    exists = b.logicalAnd(exists, inBlock);
  Value rest = arith::MaxSIOp::create(b, b.minimum(b.sub(innerCount, inner), b.i32(unitElements)), b.i32(0));
  Value valid = b.select(exists, rest, b.i32(0));

  Value stride = context.parameters.get(ParameterKind::stride, context.denseArgument, 0);
  Value index = b.add(b.mul(b.extend(outer), stride), b.extend(inner));
  copyUnit(destination, context.parameters.get(ParameterKind::pointer, context.denseArgument), index, valid);
}

void TileCopy::copyUnit(Value destination, Value base, Value index, Value valid) {
  if (context.schedule.getCopy() == Copy::scalar)
    return copyScalars(destination, base, index, valid);
  int64_t elementBytes = unitBytes / unitElements;
  // Nothing is read for a unit that does not exist, but its address must be valid all the same.
  Value safeIndex = b.select(b.less(b.i32(0), valid), index, b.i64(0));
  ptx::copyAsync16(b, destination, b.elementPointer(base, context.element, safeIndex), b.mul(valid, elementBytes));
}

/// Elements that are not valid are read from a place that is, and replaced.
void TileCopy::copyScalars(Value destination, Value base, Value index, Value valid) {
  Value any = b.less(b.i32(0), valid);
  Value start = b.select(any, index, b.i64(0));
  Value lastValid = b.select(any, b.sub(valid, 1), b.i32(0));
  storeUnit(b, destination, [&](int64_t i) {
    Value place = b.add(start, b.extend(b.minimum(b.i32(i), lastValid)));
    Value zero = arith::ConstantOp::create(b, b.getI16IntegerAttr(0));
    return b.select(b.less(b.i32(i), valid), b.loadElement(zero.getType(), base, place), zero);
  });
}
