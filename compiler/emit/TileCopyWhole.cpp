// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copies of a step whose rows, columns and blocks all exist: nearly all steps. They share their instruction slots
// with the chain of mma.sync, so what a thread can know before the loop over K is computed there: a unit costs one
// cp.async and at most one addition of its address.

#include "TileCopy.h"

#include "Ptx.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// Passes must cover whole rows whose number is a power of two, so that a row's swizzle key is that of its first pass
/// xor a constant, and fill the buffer without a rest.
bool TileCopy::canSkipChecks() {
  if (context.schedule.getCopy() != Copy::cp_async)
    return false;
  for (int64_t buffer : {0, 1}) {
    int64_t rowsOfPass = threads() / layout.rowUnits(buffer);
    bool fills = rowsOfPass > ring.bufferRows(buffer) || ring.bufferRows(buffer) % rowsOfPass == 0;
    if (threads() % layout.rowUnits(buffer) != 0 || !llvm::isPowerOf2_64(rowsOfPass) || !fills)
      return false;
  }
  return true;
}

Value TileCopy::isWholeTile() {
  int64_t tileM = context.schedule.getTileM(), blockRows = context.matrix.getBlockRows();
  Value whole = b.less(b.add(position.column, context.schedule.getTileN() - 1), context.columns());
  if (blockRows % tileM != 0)
    whole = b.logicalAnd(whole, b.less(b.add(position.rowInBlock, tileM - 1), blockRows));
  return whole;
}

Value TileCopy::isWholeStep(const Step &step) {
  int64_t tileK = context.schedule.getTileK(), blockColumns = context.matrix.getBlockColumns();
  Value last = step.columns[0];
  for (Value column : ArrayRef<Value>(step.columns).drop_front())
    last = arith::MaxSIOp::create(b, last, column);
  Value whole = b.logicalAnd(wholeTile, b.less(last, b.divide(context.depth(), blockColumns)));
  if (blocksPerStep > 1)
    return b.logicalAnd(whole, b.less(b.add(step.block, blocksPerStep - 1), range.last));
  if (blockColumns % tileK != 0)
    return b.logicalAnd(whole, b.less(step.chunk, blockColumns / tileK));
  return whole;
}

TileCopy::Passes TileCopy::passesOf(int64_t buffer) {
  int64_t units = layout.rowUnits(buffer), rows = threads() / units;
  return {static_cast<int64_t>(llvm::divideCeil(ring.bufferRows(buffer), rows)), rows, b.divide(context.thread, units),
          b.modulo(context.thread, units)};
}

void TileCopy::emitWhole(const Step &step, Value slot) {
  for (int64_t buffer : {0, 1}) {
    Passes passes = passesOf(buffer);
    auto copyAll = [&] {
      Values sources = buffer == 0               ? wholeA(step, passes)
                       : context.denseTransposed ? wholeTransposedX(step, passes)
                                                 : wholeX(step, passes);
      for (auto [i, source] : llvm::enumerate(sources)) {
        UnitLayout::Place place{passes.row, passes.unit, static_cast<int64_t>(i) * passes.rows};
        ptx::copyAsync16(b, layout.address(buffer, slot, place), source);
      }
    };
    if (passes.rows > ring.bufferRows(buffer))
      b.ifThen(b.less(passes.row, ring.bufferRows(buffer)), copyAll);
    else
      copyAll();
  }
}

/// Sources in the values of A: rows are a constant apart.
Values TileCopy::wholeA(const Step &step, const Passes &passes) {
  int64_t blockRows = context.matrix.getBlockRows(), blockColumns = context.matrix.getBlockColumns();
  int64_t blockSize = blockRows * blockColumns;
  Value depth = b.mul(passes.unit, unitElements);
  Value inRow = b.add(b.mul(b.divide(depth, blockColumns), blockSize), b.modulo(depth, blockColumns));
  Value inTile = b.add(b.mul(b.add(position.rowInBlock, passes.row), blockColumns), inRow);
  Value inStep = b.mul(b.extend(step.block), blockSize);
  if (chunks > 1)
    inStep = b.add(inStep, b.extend(b.mul(step.chunk, context.schedule.getTileK())));
  Value values = context.parameters.get(ParameterKind::pointer, context.matrixArgument);
  Value first = b.elementPointer(b.elementPointer(values, context.element, b.extend(inTile)), context.element, inStep);
  Values sources;
  for (int64_t i = 0; i < passes.count; ++i)
    sources.push_back(b.elementPointer(first, context.element, b.i64(i * passes.rows * blockColumns)));
  return sources;
}

/// Sources in X as K x N: the rows of a pass lie in one block, or in the same blocks of all passes' lanes.
Values TileCopy::wholeX(const Step &step, const Passes &passes) {
  int64_t blockColumns = context.matrix.getBlockColumns();
  Value stride = context.parameters.get(ParameterKind::stride, context.denseArgument, 0);
  Value x = context.parameters.get(ParameterKind::pointer, context.denseArgument);
  Value rowInBlock = b.modulo(passes.row, std::min(blockColumns, passes.rows));
  Value column = b.add(position.column, b.mul(passes.unit, unitElements));
  Value inTile = b.add(b.mul(b.extend(rowInBlock), stride), b.extend(column));
  Value tile = b.elementPointer(x, context.element, inTile);
  auto startOf = [&](Value blockInStep) {
    Value row = b.mul(columnAt(step, blockInStep), blockColumns);
    if (chunks > 1)
      row = b.add(row, b.mul(step.chunk, context.schedule.getTileK()));
    return b.elementPointer(tile, context.element, b.mul(b.extend(row), stride));
  };

  Value betweenPasses = b.mul(stride, passes.rows);
  Values sources;
  for (int64_t i = 0; i < passes.count; ++i) {
    int64_t firstRow = i * passes.rows;
    if (passes.rows > blockColumns)
      sources.push_back(startOf(b.add(b.divide(passes.row, blockColumns), firstRow / blockColumns)));
    else if (i == 0 || (blocksPerStep > 1 && firstRow % blockColumns == 0))
      sources.push_back(startOf(b.i32(firstRow / blockColumns)));
    else
      sources.push_back(b.elementPointer(sources.back(), context.element, betweenPasses));
  }
  return sources;
}

/// Sources in X as N x K: a lane stays at its place along K, rows are columns of the result.
Values TileCopy::wholeTransposedX(const Step &step, const Passes &passes) {
  int64_t blockColumns = context.matrix.getBlockColumns();
  Value stride = context.parameters.get(ParameterKind::stride, context.denseArgument, 0);
  Value x = context.parameters.get(ParameterKind::pointer, context.denseArgument);
  Value depth = b.mul(passes.unit, unitElements);
  Value blockInStep = b.i32(0);
  if (blocksPerStep > 1) {
    blockInStep = b.divide(depth, blockColumns);
    depth = b.modulo(depth, blockColumns);
  }
  Value inTile = b.add(b.mul(b.extend(b.add(position.column, passes.row)), stride), b.extend(depth));
  Value inStep = b.mul(columnAt(step, blockInStep), blockColumns);
  if (chunks > 1)
    inStep = b.add(inStep, b.mul(step.chunk, context.schedule.getTileK()));
  Value tile = b.elementPointer(x, context.element, inTile);
  Values sources{b.elementPointer(tile, context.element, b.extend(inStep))};
  Value betweenPasses = b.mul(stride, passes.rows);
  while (sources.size() < static_cast<size_t>(passes.count))
    sources.push_back(b.elementPointer(sources.back(), context.element, betweenPasses));
  return sources;
}
