// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host kernel of sparsec.sddmm.
//
//   for tile in [tile_begin, tile_end)                  one stored block of a block row
//     for 64 columns of the block
//       accumulator = 0                                 block rows x 64 f32, on the stack
//       for 256 elements of K
//         panel = B[256 of K, 64 columns] as f32        256 x 64 f32, on the stack: one form for both layouts
//         for row, for k: accumulator[row] += A[row, k] * panel[k]
//       for row, for column: S[block, row, column] = round(epilogue(accumulator[row, column], extra operands))
//
// The multiplication works on vectors of 64 f32, as that of sparsec.spmm does.

#include "host/HostProduct.h"

using namespace mlir;
using namespace sparsec;

namespace {

constexpr int64_t depthOfPanel = 256;

class SddmmEmitter : HostProduct {
public:
  SddmmEmitter(KernelOp kernel, SddmmOp sddmm)
      : HostProduct(kernel), sddmm(sddmm), patternType(sddmm.getPattern().getType()) {}

  LLVM::LLVMFuncOp emit();

private:
  void emitParameters();
  void emitTile(Value tile);
  void emitPart(const BlockPart &part);
  void emitUnpack(const BlockPart &part, Value firstK, Value depth);
  void emitMultiply(const BlockPart &part, Value firstK, Value depth);
  void emitEpilogue(const BlockPart &part);

  SddmmOp sddmm;
  BsrType patternType;
  Value rowPtr, colIdx;
  Matrix left, right;
};

} // namespace

void SddmmEmitter::emitParameters() {
  int64_t pattern = argumentOf(sddmm.getPattern()), resultArgument = kernel.getArgumentTypes().size();
  rowPtr = parameter(pointer, ParameterKind::row_ptr, pattern);
  colIdx = parameter(pointer, ParameterKind::col_idx, pattern);
  rowCount = sizeParameter(pattern, 0);
  columnCount = sizeParameter(pattern, 1);
  left = matrixParameter(sddmm.getLeft(), sddmm.getALayout() == LeftLayout::km);
  right = matrixParameter(sddmm.getRight(), sddmm.getBLayout() == DenseLayout::kn);
  depth = sizeParameter(argumentOf(sddmm.getLeft()), 1 - sddmm.getRowDimension());
  result =
      blockValuesParameter(resultArgument, patternType.getBlockColumns(), sddmm.getResult().getType().getElementType());
  panels = indexParameter(ParameterKind::tile_panels);
  emitExtraParameters(sddmm);
}

/// Rows k of the panel; columns beyond N are zero.
void SddmmEmitter::emitUnpack(const BlockPart &part, Value firstK, Value depthOfStep) {
  clearRows(panel, depthOfStep);
  forElements(right, part.validColumns, depthOfStep, [&](Value column, Value k) {
    storeInPanel(k, column, right.elementType, elementAddress(right, add(part.firstColumn, column), add(firstK, k)));
  });
}

/// accumulator[row] += A[row, k] * panel[k], with the sum in registers over k.
void SddmmEmitter::emitMultiply(const BlockPart &part, Value firstK, Value depthOfStep) {
  loop(constant(0), part.rows, [&](Value row) {
    Value sum = multiplyRow(loadRow(accumulator, row), constant(0), depthOfStep, [&](Value k) {
      Value source = elementAddress(left, add(part.firstRow, row), add(firstK, k));
      return toF32(LLVM::LoadOp::create(b, left.elementType, source));
    });
    storeRow(sum, accumulator, row);
  });
}

/// Elements beyond M or N have an accumulator of zero, and the last element of a vector.
void SddmmEmitter::emitEpilogue(const BlockPart &part) {
  Value rowsOfBlock = constant(patternType.getBlockRows()), one = constant(1);
  Value lastRow = subtract(rowCount, one), lastColumn = subtract(columnCount, one);
  forElements(result, rowsOfBlock, part.columns, [&](Value row, Value column) {
    ExtraPosition at = {smaller(add(part.firstRow, row), lastRow), smaller(add(part.firstColumn, column), lastColumn),
                        add(multiply(part.number, rowsOfBlock), row), add(part.columnInBlock, column)};
    storeResult(sddmm.getEpilogue(), load(f32, bufferRow(accumulator, row), column), at);
  });
}

void SddmmEmitter::emitPart(const BlockPart &part) {
  clearRows(accumulator, constant(patternType.getBlockRows()));
  Value steps = arith::DivSIOp::create(b, add(depth, constant(depthOfPanel - 1)), constant(depthOfPanel));
  loop(constant(0), steps, [&](Value step) {
    Value firstK = multiply(step, constant(depthOfPanel));
    Value depthOfStep = inside(depth, firstK, depthOfPanel);
    emitUnpack(part, firstK, depthOfStep);
    emitMultiply(part, firstK, depthOfStep);
  });
  emitEpilogue(part);
}

void SddmmEmitter::emitTile(Value index) {
  Value blockRow = arith::DivSIOp::create(b, index, panels), panelIndex = arith::RemSIOp::create(b, index, panels);
  int64_t r = patternType.getBlockRows(), c = patternType.getBlockColumns();
  forBlockOfPanel(rowPtr, blockRow, panelIndex, [&](Value block) {
    Value firstOfBlock = multiply(loadIndex(colIdx, block), constant(c));
    forParts(block, blockRow, firstOfBlock, r, c, [&](const BlockPart &part) { emitPart(part); });
  });
}

LLVM::LLVMFuncOp SddmmEmitter::emit() {
  begin();
  accumulator = buffer(patternType.getBlockRows());
  panel = buffer(depthOfPanel);
  emitParameters();
  zeroRow = LLVM::ZeroOp::create(b, rowType);
  return finish({patternType.getBlockRows(), patternType.getBlockColumns(), depthOfPanel},
                [&](Value tile) { emitTile(tile); });
}

LLVM::LLVMFuncOp sparsec::emitHostSddmm(KernelOp kernel, SddmmOp sddmm) { return SddmmEmitter(kernel, sddmm).emit(); }
