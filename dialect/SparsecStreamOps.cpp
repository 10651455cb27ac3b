// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SparsecDialect.h"

using namespace mlir;
using namespace sparsec;

/// The threads of one warp have the numbers.
static LogicalResult expectWarps(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  if (role && role.getUnit() == RoleUnit::warp)
    return success();
  return op->emitOpError("expects to be in a role of warps");
}

void ReadBlocksOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getBlocks(), "blocks"); }

// read_blocks_c1
LogicalResult ReadBlocksOp::verify() { return expectWarps(*this); }

LogicalResult CopyBlocksOp::verify() {
  // copy_blocks_c1
  if (failed(expectWarps(*this)))
    return failure();
  // copy_blocks_c2
  BsrType matrix = getSource().getType();
  const bool isTransposed = matrix.getTransposed();
  const int64_t rows = isTransposed ? matrix.getBlockColumns() : matrix.getBlockRows();
  const int64_t columns = isTransposed ? matrix.getBlockRows() : matrix.getBlockColumns();
  auto buffer = cast<BufferType>(getRing().getType().getBuffers().front());
  const int64_t count = getBlocks().getType().getCount();
  if (buffer.getColumns() != columns || buffer.getRows() % (count * rows) != 0 ||
      buffer.getElementType() != matrix.getElementType())
    return emitOpError("expects a buffer of ")
           << matrix.getElementType() << " with " << columns << " columns and a multiple of " << count * rows
           << " rows, but got " << buffer.getRows() << "x" << buffer.getColumns() << " of " << buffer.getElementType();
  // copy_blocks_c3
  constexpr int64_t vectorBytes = 16, lanes = 32;
  const int64_t rowBytes = columns * matrix.getElementType().getIntOrFloatBitWidth() / 8;
  if (rowBytes % vectorBytes != 0 || lanes / count % (rowBytes / vectorBytes) != 0 ||
      count * rows * rowBytes % (lanes * vectorBytes) != 0)
    return emitOpError("expects blocks whose rows ") << lanes / count << " threads copy, 16 bytes each";
  return success();
}

void CountProductsOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getCount(), "count"); }

LogicalResult CountProductsOp::verify() {
  // count_products_c1
  if (failed(expectWarps(*this)))
    return failure();
  // count_products_c2
  if (getWords() >= 1)
    return success();
  return emitOpError("expects words to be at least 1, but got ") << getWords();
}

void JoinPartsOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getTotal(), "total");
  setName(getIsLast(), "is_last");
}

LogicalResult JoinPartsOp::verify() {
  // join_parts_c1
  if (failed(expectWarps(*this)))
    return failure();
  // join_parts_c2
  if ((*this)->getParentOfType<ProgramOp>().getSplit())
    return success();
  return emitOpError("expects to be in a program that is split");
}

LogicalResult BlockNumbersType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count) {
  // block_numbers_c1
  constexpr int64_t lanes = 32;
  if (count >= 1 && lanes % count == 0)
    return success();
  return emitError() << "expects the number of blocks to divide " << lanes << ", but got " << count;
}
