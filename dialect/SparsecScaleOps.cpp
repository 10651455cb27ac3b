// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SparsecDialect.h"

using namespace mlir;
using namespace sparsec;

void BlockScaleOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getScale(), "scale"); }

void ColumnScalesOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getScales(), "scales"); }

void RowScalesOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getScales(), "row_scales"); }

LogicalResult ColumnScalesOp::verify() {
  // column_scales_c1
  if (cast<RankedTensorType>(getXScale().getType()).getRank() != 2)
    return emitOpError("expects x_scale to have rank 2, but got ") << getXScale().getType();
  // column_scales_c2
  if (getType().getColumns() < 8 || getType().getColumns() % 8 != 0)
    return emitOpError("expects a multiple of 8 columns, but got ") << getType().getColumns();
  return success();
}

/// A ring of scales has a place for each column of X in a tile (copy_scales_c2, row_scales_c2).
static LogicalResult verifyScaleRing(Operation *op, RingType ring, int64_t places) {
  auto buffer = ring.getBuffers().size() == 1 ? dyn_cast<BufferType>(ring.getBuffers().front()) : BufferType();
  if (!buffer || buffer.getRows() != 1 || !buffer.getElementType().isF32() || buffer.getColumns() < places)
    return op->emitOpError("expects a ring with one buffer, a row of at least ") << places << " f32, but got " << ring;
  return success();
}

LogicalResult CopyScalesOp::verify() {
  // copy_scales_c1
  if (cast<RankedTensorType>(getXScale().getType()).getRank() != 2)
    return emitOpError("expects x_scale to have rank 2, but got ") << getXScale().getType();
  return verifyScaleRing(*this, getRing().getType(), /*places=*/1);
}

LogicalResult RowScalesOp::verify() {
  constexpr int64_t rowsOfWarpgroup = 64;
  // row_scales_c1
  if (int64_t rows = getType().getRows(); rows < rowsOfWarpgroup || rows % rowsOfWarpgroup != 0)
    return emitOpError("expects a multiple of 64 rows, but got ") << rows;
  return verifyScaleRing(*this, getRing().getType(), getType().getRows());
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
  auto scales = getScale() ? dyn_cast<ColumnScalesType>(getScale().getType()) : ColumnScalesType();
  if (scales && scales.getColumns() != part.getColumns())
    return emitOpError("expects a scale for each column of ") << part << ", but got " << scales;
  // promote_c3
  if (getRows() && getRows().getType().getRows() != part.getRows())
    return emitOpError("expects a scale for each row of ") << part << ", but got " << getRows().getType();
  // promote_c4
  if (getRows() && scales)
    return emitOpError("expects scales of rows or of columns, but got both");
  return success();
}
