// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host kernel of sparsec.spgemm.
//
//   for tile in [tile_begin, tile_end)                   one block of the result
//     for 64 columns of the block
//       accumulator = 0                                  block rows x 64 f32, on the stack
//       for pair of the block                            a block of A and a block of B, from the plan
//         panel = B[block, 64 columns] as f32            block rows of B x 64 f32, on the stack
//         for row, for k: accumulator[row] += A[block, row, k] * panel[k]
//       for row, for column: C[row, column] = round(epilogue(accumulator[row, column], extra operands))
//
// The multiplication works on vectors of 64 f32, as that of sparsec.spmm does.

#include "host/HostProduct.h"

using namespace mlir;
using namespace sparsec;

namespace {

constexpr int64_t numbersOfPair = 3; // of an entry of SPARSEC_PLAN_PAIRS

class SpgemmEmitter : HostProduct {
public:
  SpgemmEmitter(KernelOp kernel, SpgemmOp spgemm)
      : HostProduct(kernel), spgemm(spgemm), leftType(spgemm.getLeft().getType()),
        rightType(spgemm.getRight().getType()) {}

  LLVM::LLVMFuncOp emit();

private:
  bool isSampled() { return spgemm.getPattern() != Value(); }
  void emitParameters();
  void emitTile(Value tile);
  void emitBlock(Value number, Value blockRow, Value blockColumn);
  void emitPart(const BlockPart &part);
  void emitPair(const BlockPart &part, Value position);
  void emitUnpack(const BlockPart &part, Value block, Value depth);
  void emitMultiply(const BlockPart &part, Value block, Value depth);
  void emitEpilogue(const BlockPart &part);
  void emitElement(const BlockPart &part, Value row, Value column);

  SpgemmOp spgemm;
  BsrType leftType, rightType;
  Value leftValues, rightValues, pairStarts, pairs;
  Value rowPtr, colIdx; // of the pattern
};

} // namespace

void SpgemmEmitter::emitParameters() {
  int64_t left = argumentOf(spgemm.getLeft()), right = argumentOf(spgemm.getRight());
  int64_t resultArgument = kernel.getArgumentTypes().size();
  leftValues = parameter(pointer, ParameterKind::pointer, left);
  rightValues = parameter(pointer, ParameterKind::pointer, right);
  pairStarts = sectionParameter(PlanSection::pair_starts);
  pairs = sectionParameter(PlanSection::pairs);
  rowCount = sizeParameter(left, 0);
  columnCount = sizeParameter(right, 1);
  depth = sizeParameter(left, 1);
  panels = indexParameter(ParameterKind::tile_panels);
  Type resultElement = spgemm.getResult().getType().getElementType();
  if (isSampled()) {
    int64_t pattern = argumentOf(spgemm.getPattern());
    rowPtr = parameter(pointer, ParameterKind::row_ptr, pattern);
    colIdx = parameter(pointer, ParameterKind::col_idx, pattern);
    result = blockValuesParameter(resultArgument, rightType.getBlockColumns(), resultElement);
  } else {
    result = matrixParameter(resultArgument, resultElement, spgemm.getCLayout() == ResultLayout::nm);
  }
  emitExtraParameters(spgemm);
}

/// Rows k of the panel. Columns beyond N only reach columns of the accumulator that are not stored, or are replaced.
void SpgemmEmitter::emitUnpack(const BlockPart &part, Value block, Value depthOfPair) {
  Value first =
      add(multiply(block, constant(rightType.getBlockRows() * rightType.getBlockColumns())), part.columnInBlock);
  loop(constant(0), depthOfPair, [&](Value k) {
    Value row = add(first, multiply(k, constant(rightType.getBlockColumns())));
    loop(constant(0), part.columns, [&](Value column) {
      storeInPanel(k, column, rightType.getElementType(),
                   address(rightType.getElementType(), rightValues, add(row, column)));
    });
  });
}

/// accumulator[row] += A[block, row, k] * panel[k], with the sum in registers over k.
void SpgemmEmitter::emitMultiply(const BlockPart &part, Value block, Value depthOfPair) {
  Value first = multiply(block, constant(leftType.getBlockRows() * leftType.getBlockColumns()));
  loop(constant(0), part.rows, [&](Value row) {
    Value start = add(first, multiply(row, constant(leftType.getBlockColumns())));
    Value sum = multiplyRow(loadRow(accumulator, row), constant(0), depthOfPair,
                            [&](Value k) { return toF32(load(leftType.getElementType(), leftValues, add(start, k))); });
    storeRow(sum, accumulator, row);
  });
}

void SpgemmEmitter::emitPair(const BlockPart &part, Value position) {
  Value entry = multiply(position, constant(numbersOfPair));
  auto number = [&](int64_t field) { return loadIndex(pairs, add(entry, constant(field))); };
  Value firstK = multiply(number(2), constant(leftType.getBlockColumns()));
  Value depthOfPair = inside(depth, firstK, leftType.getBlockColumns());
  emitUnpack(part, number(1), depthOfPair);
  emitMultiply(part, number(0), depthOfPair);
}

/// Elements of a stored block beyond M or N have an accumulator of zero, and the last element of a vector.
void SpgemmEmitter::emitElement(const BlockPart &part, Value row, Value column) {
  Value resultRow = add(part.firstRow, row), resultColumn = add(part.firstColumn, column);
  Value sum = load(f32, bufferRow(accumulator, row), column);
  ExtraPosition at = {resultRow, resultColumn, resultRow, resultColumn};
  if (isSampled()) {
    auto isInside = [&](Value position, Value count) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, position, count);
    };
    Value isCounted = arith::AndIOp::create(b, isInside(row, part.rows), isInside(column, part.validColumns));
    sum = arith::SelectOp::create(b, isCounted, sum, f32Constant(0));
    at = {smaller(resultRow, subtract(rowCount, constant(1))),
          smaller(resultColumn, subtract(columnCount, constant(1))),
          add(multiply(part.number, constant(leftType.getBlockRows())), row), add(part.columnInBlock, column)};
  }
  storeResult(spgemm.getEpilogue(), sum, at);
}

void SpgemmEmitter::emitEpilogue(const BlockPart &part) {
  Value rows = isSampled() ? constant(leftType.getBlockRows()) : part.rows;
  Value columns = isSampled() ? part.columns : part.validColumns;
  forElements(result, rows, columns, [&](Value row, Value column) { emitElement(part, row, column); });
}

void SpgemmEmitter::emitPart(const BlockPart &part) {
  clearRows(accumulator, constant(leftType.getBlockRows()));
  Value begin = loadIndex(pairStarts, part.number), end = loadIndex(pairStarts, add(part.number, constant(1)));
  loop(begin, end, [&](Value position) { emitPair(part, position); });
  emitEpilogue(part);
}

void SpgemmEmitter::emitBlock(Value number, Value blockRow, Value blockColumn) {
  int64_t r = leftType.getBlockRows(), t = rightType.getBlockColumns();
  forParts(number, blockRow, multiply(blockColumn, constant(t)), r, t, [&](const BlockPart &part) { emitPart(part); });
}

void SpgemmEmitter::emitTile(Value index) {
  Value blockRow = arith::DivSIOp::create(b, index, panels), panelIndex = arith::RemSIOp::create(b, index, panels);
  if (!isSampled())
    return emitBlock(index, blockRow, panelIndex);
  forBlockOfPanel(rowPtr, blockRow, panelIndex,
                  [&](Value block) { emitBlock(block, blockRow, loadIndex(colIdx, block)); });
}

LLVM::LLVMFuncOp SpgemmEmitter::emit() {
  begin();
  accumulator = buffer(leftType.getBlockRows());
  panel = buffer(leftType.getBlockColumns());
  emitParameters();
  zeroRow = LLVM::ZeroOp::create(b, rowType);
  clearRows(panel, constant(leftType.getBlockColumns()));
  return finish({leftType.getBlockRows(), rightType.getBlockColumns(), leftType.getBlockColumns()},
                [&](Value tile) { emitTile(tile); });
}

LLVM::LLVMFuncOp sparsec::emitHostSpgemm(KernelOp kernel, SpgemmOp spgemm) {
  return SpgemmEmitter(kernel, spgemm).emit();
}
