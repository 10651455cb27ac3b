// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FragmentLoader.h"

#include "Ptx.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr int64_t fragmentRows = 16, fragmentDepth = 16;
static constexpr int64_t widenedRows = 32, widenedDepth = 16;

FragmentLoader::FragmentLoader(KernelBuilder &b, LoadFragmentOp op, Ring &ring, Value slot, Value firstRow,
                               Value firstColumn, Value threadInGroup, int64_t groupRows)
    : b(b), view(op.getView().getType()), groupRows(groupRows), isTransposed(view.getMajor() == Major::mn),
      isOperandB(op.getAsB()), isWidened(view.getElementType() != op.getType().getElementType()),
      lane(b.bitAnd(threadInGroup, 31)) {
  int64_t index = op.getView().getDefiningOp<ViewOp>().getIndex();
  elementBytes = ring.elementBytes(index);
  stripBytes = ring.stripBytes(index);
  swizzle = ring.swizzle(index);
  stripStride = ring.bufferRows(index) * stripBytes;
  if (groupRows > fragmentRows)
    warp = b.shiftRight(threadInGroup, 5);
  first = ring.slotPointer(index, slot);
  if (firstRow)
    first = b.byteOffset(first, b.mul(firstRow, stripBytes));
  if (firstColumn) {
    const int64_t stripElements = stripBytes / elementBytes;
    first = b.byteOffset(first, b.mul(b.divide(firstColumn, stripElements), stripStride));
    firstVector = b.divide(b.modulo(firstColumn, stripElements), vectorBytes / elementBytes);
  }
}

Values FragmentLoader::loadAll() {
  int64_t rows = view.getRows(), depth = view.getColumns();
  if (isTransposed)
    std::swap(rows, depth);
  const int64_t stepRows = isWidened ? widenedRows : groupRows;
  const int64_t stepDepth = isWidened ? widenedDepth : fragmentDepth;
  Values fragment;
  for (int64_t row = 0; row < rows; row += stepRows)
    for (int64_t k = 0; k < depth; k += stepDepth)
      llvm::append_range(fragment, isWidened ? loadAndWiden(row, k) : load(row, k));
  return fragment;
}

/// Rows of memory have K. Lane l points to row l. A register has four neighbours in K of one row, which become the two
/// registers of a B operand.
Values FragmentLoader::loadAndWiden(int64_t row, int64_t k) {
  int64_t bytes = elementBytes * k;
  Values loaded = load(bytes / stripBytes * stripStride + row * stripBytes, lane,
                       b.i32(static_cast<int32_t>(bytes % stripBytes / vectorBytes)));
  Values widened;
  for (Value four : loaded)
    llvm::append_range(widened, ptx::widenF8(b, view.getElementType(), four));
  return widened;
}

/// Rows of memory have K. Lanes 0 to 15 point to the rows, the others to the same rows 16 bytes on. For B operands,
/// lanes 0 to 7 and 16 to 23 point to the rows.
Values FragmentLoader::loadRows(int64_t row, int64_t k) {
  int64_t bytes = elementBytes * k;
  Value rowInPart = isOperandB ? eightAndBit(4) : b.bitAnd(lane, 15);
  if (warp)
    rowInPart = b.add(b.mul(warp, fragmentRows), rowInPart);
  Value vector = b.add(isOperandB ? bit(3) : b.shiftRight(lane, 4), bytes % stripBytes / vectorBytes);
  return load(bytes / stripBytes * stripStride + row * stripBytes, rowInPart, vector);
}

/// Rows of memory are one element of K each. Lanes 0 to 7 and 16 to 23 point to the first eight rows of the operand,
/// the others to the same 16 bytes on. For B operands, lanes 0 to 15 point to the first eight rows.
Values FragmentLoader::loadColumns(int64_t row, int64_t k) {
  int64_t bytes = 2 * row;
  Value depth = isOperandB ? b.bitAnd(lane, 15) : eightAndBit(4);
  Value vector = isOperandB ? b.shiftRight(lane, 4) : bit(3);
  if (warp)
    vector = b.add(b.mul(warp, 2), vector);
  return load(bytes / stripBytes * stripStride + k * stripBytes, depth,
              b.add(vector, bytes % stripBytes / vectorBytes));
}

Values FragmentLoader::load(int64_t offset, Value row, Value vector) {
  if (firstVector)
    vector = b.add(vector, firstVector);
  Value place = swizzle.place(b, row, vector);
  Value inStrip = b.add(b.mul(row, stripBytes), b.shiftLeft(place, 4));
  return ptx::loadMatrix(b, b.byteOffset(b.byteOffset(first, offset), inStrip), 4, isTransposed);
}
