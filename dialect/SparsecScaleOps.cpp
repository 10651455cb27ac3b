// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SparsecDialect.h"

using namespace mlir;
using namespace sparsec;

void BlockScaleOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getScale(), "scale"); }

void ColumnScalesOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getScales(), "scales"); }

void StagedScalesOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getScales(), "scales"); }

void RowScalesOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getScales(), "row_scales"); }

/// Sums come in groups of 8 columns (column_scales_c2, staged_scales_c1).
static LogicalResult verifyColumns(Operation *op, int64_t columns) {
  if (columns < 8 || columns % 8 != 0)
    return op->emitOpError("expects a multiple of 8 columns, but got ") << columns;
  return success();
}

LogicalResult ColumnScalesOp::verify() {
  // column_scales_c1
  if (cast<RankedTensorType>(getXScale().getType()).getRank() != 2)
    return emitOpError("expects x_scale to have rank 2, but got ") << getXScale().getType();
  return verifyColumns(*this, getType().getColumns());
}

/// The last buffer of a ring with scales has a place for each column of X in a tile (copy_scales_c2, stage_scales_c2,
/// staged_scales_c2, row_scales_c2).
static LogicalResult verifyScaleRing(Operation *op, RingType ring, int64_t places) {
  auto buffer = dyn_cast<BufferType>(ring.getBuffers().back());
  if (!buffer || buffer.getRows() != 1 || !buffer.getElementType().isF32() || buffer.getColumns() < places)
    return op->emitOpError("expects a ring whose last buffer is a row of at least ")
           << places << " f32, but got " << ring;
  return success();
}

LogicalResult CopyScalesOp::verify() {
  // copy_scales_c1
  if (cast<RankedTensorType>(getXScale().getType()).getRank() != 2)
    return emitOpError("expects x_scale to have rank 2, but got ") << getXScale().getType();
  return verifyScaleRing(*this, getRing().getType(), /*places=*/1);
}

LogicalResult StageScalesOp::verify() {
  constexpr int64_t warpLanes = 32;
  // stage_scales_c1
  auto tile = dyn_cast<BufferType>(getTiles().getType().getBuffers().front());
  if (!tile || !tile.getElementType().isF32() || tile.getRows() % warpLanes != 0 ||
      tile.getStripBytes() != tile.getRowBytes())
    return emitOpError("expects tiles of f32 in one strip, with a multiple of 32 rows, but got ")
           << getTiles().getType();
  return verifyScaleRing(*this, getRing().getType(), tile.getRows());
}

LogicalResult StagedScalesOp::verify() {
  if (failed(verifyColumns(*this, getType().getColumns())))
    return failure();
  return verifyScaleRing(*this, getRing().getType(), getType().getColumns());
}

LogicalResult RowScalesOp::verify() {
  constexpr int64_t rowsOfWarpgroup = 64;
  // row_scales_c1
  if (int64_t rows = getType().getRows(); rows < rowsOfWarpgroup || rows % rowsOfWarpgroup != 0)
    return emitOpError("expects a multiple of 64 rows, but got ") << rows;
  return verifyScaleRing(*this, getRing().getType(), getType().getRows());
}

static int64_t columnsOf(Type scales) {
  if (auto ofThread = dyn_cast<ThreadScalesType>(scales))
    return ofThread.getColumns();
  return cast<ColumnScalesType>(scales).getColumns();
}

LogicalResult PromoteOp::verify() {
  AccumulatorType part = getPart().getType(), accumulator = getType();
  // promote_c1
  int64_t column = getColumn();
  bool fits = part.getRows() == accumulator.getRows() && column >= 0 && column % 8 == 0 && part.getColumns() % 8 == 0 &&
              column + part.getColumns() <= accumulator.getColumns();
  if (!fits)
    return emitOpError("expects a part with the rows of ")
           << accumulator << " and columns of it from a multiple of 8 on, but got " << part << " at column " << column;
  // promote_c2
  const bool hasScales = getScale() && !getScale().getType().isF32();
  if (hasScales && columnsOf(getScale().getType()) != part.getColumns())
    return emitOpError("expects a scale for each column of ") << part << ", but got " << getScale().getType();
  // promote_c3
  if (getRows() && getRows().getType().getRows() != part.getRows())
    return emitOpError("expects a scale for each row of ") << part << ", but got " << getRows().getType();
  // promote_c4
  if (getRows() && hasScales)
    return emitOpError("expects scales of rows or of columns, but got both");
  return success();
}
