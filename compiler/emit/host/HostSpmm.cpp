// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host kernel of sparsec.spmm.
//
//   for tile in [tile_begin, tile_end)              one block row x 64 columns of the result
//     accumulator = 0                               block rows x 64 f32, on the stack
//     for block in the block row
//       panel = X[block column, 64 columns] as f32  block columns x 64 f32, on the stack: one form for both layouts
//       for row, for k: accumulator[row] += W[row, k] * panel[k]; with scales the block's sum is added, times its scale
//       (that of X counts for 128 of K: a wider block has several sums)
//     for row, for column: Y[row, column] = round(epilogue(accumulator[row, column], extra operands))
//
// The multiplication works on vectors of 64 f32 that LLVM splits to the width of the processor; the other loops are
// plain, for LLVM to vectorise.

#include "host/HostProduct.h"

#include "sparsec/launch_info.h"

using namespace mlir;
using namespace sparsec;

namespace {

/// The part of the result that one tile covers.
struct Tile {
  Value blockRow, firstRow, firstColumn;
  Value rows, columns; // those inside the result
};

class SpmmEmitter : HostProduct {
public:
  SpmmEmitter(KernelOp kernel, SpmmOp spmm) : HostProduct(kernel), spmm(spmm), matrixType(spmm.getMatrix().getType()) {}

  LLVM::LLVMFuncOp emit();

private:
  void emitParameters();

  // The computation.
  void emitTile(Value tile);
  void emitBlock(const Tile &tile, Value position);
  void emitUnpack(const Tile &tile, Value firstK, Value depth);
  void emitFactors(const Tile &tile, Value block, Value part);
  void emitMultiply(const Tile &tile, Value block, Value begin, Value end);
  void emitEpilogue(const Tile &tile);

  SpmmOp spmm;
  BsrType matrixType;
  Value values, scales, rowPtr, colIdx;
  Value numbers; // of the blocks in memory, by their positions; null where these are the same
  Matrix dense, xScale;
  Value factors; // of the columns of a tile, for the block or the part of it that is multiplied; null without scales
};

} // namespace

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

void SpmmEmitter::emitParameters() {
  int64_t matrixArgument = argumentOf(spmm.getMatrix());
  int64_t resultArgument = kernel.getArgumentTypes().size();
  values = parameter(pointer, ParameterKind::pointer, matrixArgument);
  if (spmm.getScales())
    scales = parameter(pointer, ParameterKind::pointer, argumentOf(spmm.getScales()));
  if (spmm.getXScale())
    xScale = matrixParameter(spmm.getXScale(), /*transposed=*/false);
  if (matrixType.getTransposed()) {
    rowPtr = sectionParameter(PlanSection::row_starts);
    colIdx = sectionParameter(PlanSection::row_columns);
    numbers = sectionParameter(PlanSection::row_blocks);
  } else {
    rowPtr = parameter(pointer, ParameterKind::row_ptr, matrixArgument);
    colIdx = parameter(pointer, ParameterKind::col_idx, matrixArgument);
  }
  rowCount = sizeParameter(matrixArgument, matrixType.getStoredRowDimension());
  depth = sizeParameter(matrixArgument, matrixType.getStoredColumnDimension());
  dense = matrixParameter(spmm.getDense(), spmm.getXLayout() == DenseLayout::nk);
  bool transposed = spmm.getYLayout() == ResultLayout::nm;
  result =
      matrixParameter(resultArgument, cast<RankedTensorType>(spmm.getResult().getType()).getElementType(), transposed);
  columnCount = sizeParameter(resultArgument, transposed ? 0 : 1);
  panels = indexParameter(ParameterKind::tile_panels);
  emitExtraParameters(spmm);
}

//===----------------------------------------------------------------------===//
// The computation
//===----------------------------------------------------------------------===//

/// The tile's block of X as f32. Columns beyond N keep what an earlier tile left there: they only reach columns of the
/// accumulator that are not stored.
void SpmmEmitter::emitUnpack(const Tile &tile, Value firstK, Value depth) {
  forElements(dense, depth, tile.columns, [&](Value k, Value column) {
    storeInPanel(k, column, dense.elementType, elementAddress(dense, add(firstK, k), add(tile.firstColumn, column)));
  });
}

/// The scale of each column of X for a part of K, times that of a block. Columns beyond N keep what an earlier tile
/// left there.
void SpmmEmitter::emitFactors(const Tile &tile, Value block, Value part) {
  Value scale = scales ? load(f32, scales, block) : f32Constant(1);
  loop(constant(0), tile.columns, [&](Value column) {
    Value ofColumn = LLVM::LoadOp::create(b, f32, elementAddress(xScale, add(tile.firstColumn, column), part));
    store(arith::MulFOp::create(b, ofColumn, scale), factors, column);
  });
}

/// accumulator[row] += W[row, k] * panel[k] for k in [begin, end), with the sum in registers over k.
void SpmmEmitter::emitMultiply(const Tile &tile, Value block, Value begin, Value end) {
  int64_t rowStride = matrixType.getBlockColumns(), depthStride = 1;
  if (matrixType.getTransposed())
    std::tie(rowStride, depthStride) = std::pair(int64_t(1), matrixType.getBlockRows());
  Value first = multiply(block, constant(matrixType.getBlockRows() * matrixType.getBlockColumns()));
  loop(constant(0), tile.rows, [&](Value row) {
    Value rowStart = add(first, multiply(row, constant(rowStride)));
    auto element = [&](Value k) {
      Value place = depthStride == 1 ? k : multiply(k, constant(depthStride));
      return toF32(load(matrixType.getElementType(), values, add(rowStart, place)));
    };
    Value total = multiplyRow(factors ? zeroRow : loadRow(accumulator, row), begin, end, element);
    if (factors)
      total = LLVM::FMulAddOp::create(b, loadRow(factors, constant(0)), total, loadRow(accumulator, row));
    storeRow(total, accumulator, row);
  });
}

void SpmmEmitter::emitBlock(const Tile &tile, Value position) {
  Value firstK = multiply(loadIndex(colIdx, position), constant(matrixType.getBlockColumns()));
  Value blockDepth = inside(depth, firstK, matrixType.getBlockColumns());
  emitUnpack(tile, firstK, blockDepth);
  Value block = numbers ? loadIndex(numbers, position) : position;
  if (!xScale.data) {
    if (scales)
      storeRow(splat(load(f32, scales, block), rowType), factors, constant(0));
    return emitMultiply(tile, block, constant(0), blockDepth);
  }
  Value depthOfScale = constant(std::min<int64_t>(SPARSEC_X_SCALE_DEPTH, matrixType.getBlockColumns()));
  loop(constant(0), arith::CeilDivSIOp::create(b, blockDepth, depthOfScale), [&](Value part) {
    Value begin = multiply(part, depthOfScale);
    emitFactors(tile, block, arith::DivSIOp::create(b, add(firstK, begin), constant(SPARSEC_X_SCALE_DEPTH)));
    emitMultiply(tile, block, begin, smaller(blockDepth, add(begin, depthOfScale)));
  });
}

void SpmmEmitter::emitEpilogue(const Tile &tile) {
  forElements(result, tile.rows, tile.columns, [&](Value tileRow, Value tileColumn) {
    Value row = add(tile.firstRow, tileRow), column = add(tile.firstColumn, tileColumn);
    storeResult(spmm.getEpilogue(), load(f32, bufferRow(accumulator, tileRow), tileColumn), {row, column, row, column});
  });
}

void SpmmEmitter::emitTile(Value index) {
  Tile tile;
  tile.blockRow = arith::DivSIOp::create(b, index, panels);
  tile.firstRow = multiply(tile.blockRow, constant(matrixType.getBlockRows()));
  Value panelIndex = arith::RemSIOp::create(b, index, panels);
  tile.firstColumn = multiply(panelIndex, constant(rowSize));
  tile.rows = inside(rowCount, tile.firstRow, matrixType.getBlockRows());
  tile.columns = inside(columnCount, tile.firstColumn, rowSize);

  clearRows(accumulator, tile.rows);
  Value begin = loadIndex(rowPtr, tile.blockRow);
  Value end = loadIndex(rowPtr, add(tile.blockRow, constant(1)));
  loop(begin, end, [&](Value position) { emitBlock(tile, position); });
  emitEpilogue(tile);
}

LLVM::LLVMFuncOp SpmmEmitter::emit() {
  begin();
  accumulator = buffer(matrixType.getBlockRows());
  panel = buffer(matrixType.getBlockColumns());
  emitParameters();
  zeroRow = LLVM::ZeroOp::create(b, rowType);
  if (spmm.getScales() || spmm.getXScale()) {
    factors = buffer(1);
    storeRow(zeroRow, factors, constant(0));
  }
  clearRows(panel, constant(matrixType.getBlockColumns()));
  return finish({matrixType.getBlockRows(), rowSize, matrixType.getBlockColumns()},
                [&](Value tile) { emitTile(tile); });
}

LLVM::LLVMFuncOp sparsec::emitHostSpmm(KernelOp kernel, SpmmOp spmm) { return SpmmEmitter(kernel, spmm).emit(); }
