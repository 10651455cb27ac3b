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

#include "InlineRegion.h"
#include "host/HostBuilder.h"

using namespace mlir;
using namespace sparsec;

namespace {

constexpr int64_t depthOfPanel = 256;

class SddmmEmitter : HostBuilder {
public:
  SddmmEmitter(KernelOp kernel, SddmmOp sddmm)
      : HostBuilder(kernel), sddmm(sddmm), patternType(sddmm.getPattern().getType()) {}

  LLVM::LLVMFuncOp emit();

private:
  /// Some columns of one stored block.
  struct Part {
    Value block, firstRow, firstColumn; // in the product
    Value columnInBlock;
    Value columns;            // of the block
    Value rows, validColumns; // those inside the matrix
  };

  void emitParameters();
  void emitTile(Value tile);
  void emitPart(const Part &part);
  void emitUnpack(const Part &part, Value firstK, Value depth);
  void emitMultiply(const Part &part, Value firstK, Value depth);
  void emitEpilogue(const Part &part);

  SddmmOp sddmm;
  BsrType patternType;
  Value rowPtr, colIdx, rowCount, columnCount, depth, panels;
  Matrix left, right, result;
  SmallVector<Extra> extras;
  Value accumulator, panel, zeroRow;
};

} // namespace

/// The values of all blocks are a matrix whose rows are those of the blocks.
void SddmmEmitter::emitParameters() {
  int64_t pattern = argumentOf(sddmm.getPattern()), resultArgument = kernel.getArgumentTypes().size();
  rowPtr = parameter(pointer, ParameterKind::row_ptr, pattern);
  colIdx = parameter(pointer, ParameterKind::col_idx, pattern);
  rowCount = sizeParameter(pattern, 0);
  columnCount = sizeParameter(pattern, 1);
  left = matrixParameter(sddmm.getLeft(), sddmm.getALayout() == LeftLayout::km);
  right = matrixParameter(sddmm.getRight(), sddmm.getBLayout() == DenseLayout::kn);
  depth = sizeParameter(argumentOf(sddmm.getLeft()), 1 - sddmm.getRowDimension());
  result = {parameter(pointer, ParameterKind::pointer, resultArgument), constant(patternType.getBlockColumns()),
            sddmm.getResult().getType().getElementType()};
  panels = indexParameter(ParameterKind::tile_panels);
  for (unsigned index = 0; index < sddmm.getExtras().size(); ++index)
    extras.push_back(extraParameter(sddmm.getExtras()[index], sddmm.getBroadcastOf(index), result));
}

/// Rows k of the panel; columns beyond N are zero.
void SddmmEmitter::emitUnpack(const Part &part, Value firstK, Value depthOfStep) {
  auto copy = [&](Value k, Value column) {
    Value source = elementAddress(right, add(part.firstColumn, column), add(firstK, k));
    Value element = toF32(LLVM::LoadOp::create(b, right.elementType, source));
    LLVM::StoreOp::create(b, element, address(f32, bufferRow(panel, k), column));
  };
  loop(constant(0), depthOfStep, [&](Value k) { storeRow(zeroRow, panel, k); });
  // The contiguous dimension of B is the inner loop.
  if (right.transposed)
    loop(constant(0), depthOfStep,
         [&](Value k) { loop(constant(0), part.validColumns, [&](Value column) { copy(k, column); }); });
  else
    loop(constant(0), part.validColumns,
         [&](Value column) { loop(constant(0), depthOfStep, [&](Value k) { copy(k, column); }); });
}

/// accumulator[row] += A[row, k] * panel[k], with the sum in registers over k.
void SddmmEmitter::emitMultiply(const Part &part, Value firstK, Value depthOfStep) {
  loop(constant(0), part.rows, [&](Value row) {
    Values sum = multiplyAdd(
        constant(0), depthOfStep, loadRow(accumulator, row),
        [&](Value k, unsigned) {
          Value source = elementAddress(left, add(part.firstRow, row), add(firstK, k));
          return toF32(LLVM::LoadOp::create(b, left.elementType, source));
        },
        [&](Value k) { return loadRow(panel, k); });
    storeRow(sum.front(), accumulator, row);
  });
}

/// Elements beyond M or N have an accumulator of zero, and the last element of a vector.
void SddmmEmitter::emitEpilogue(const Part &part) {
  Value rowsOfBlock = constant(patternType.getBlockRows()), one = constant(1);
  Value lastRow = subtract(rowCount, one), lastColumn = subtract(columnCount, one);
  loop(constant(0), rowsOfBlock, [&](Value row) {
    loop(constant(0), part.columns, [&](Value column) {
      ExtraPosition at = {smaller(add(part.firstRow, row), lastRow), smaller(add(part.firstColumn, column), lastColumn),
                          add(multiply(part.block, rowsOfBlock), row), add(part.columnInBlock, column)};
      Value sum = load(f32, bufferRow(accumulator, row), column);
      SmallVector<Value> elements;
      for (const Extra &extra : extras)
        elements.push_back(extraElement(extra, at));
      Value value = fromF32(inlineEpilogue(b, sddmm.getEpilogue(), sum, elements), result.elementType);
      LLVM::StoreOp::create(b, value, elementAddress(result, at.fullRow, at.fullColumn));
    });
  });
}

void SddmmEmitter::emitPart(const Part &part) {
  loop(constant(0), constant(patternType.getBlockRows()), [&](Value row) { storeRow(zeroRow, accumulator, row); });
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
  Value first = add(loadIndex(rowPtr, blockRow), panelIndex);
  Value end = smaller(add(first, constant(1)), loadIndex(rowPtr, add(blockRow, constant(1))));
  int64_t r = patternType.getBlockRows(), c = patternType.getBlockColumns();
  loop(first, end, [&](Value block) { // once, or not at all
    Value firstOfBlock = multiply(loadIndex(colIdx, block), constant(c));
    loop(constant(0), constant((c + rowSize - 1) / rowSize), [&](Value number) {
      Part part;
      part.block = block;
      part.firstRow = multiply(blockRow, constant(r));
      part.columnInBlock = multiply(number, constant(rowSize));
      part.firstColumn = add(firstOfBlock, part.columnInBlock);
      part.columns = inside(constant(c), part.columnInBlock, rowSize);
      part.rows = inside(rowCount, part.firstRow, r);
      part.validColumns = smaller(part.columns, subtract(columnCount, part.firstColumn)); // may be negative
      emitPart(part);
    });
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
