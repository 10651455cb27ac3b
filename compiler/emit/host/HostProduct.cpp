// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "host/HostProduct.h"

#include "InlineRegion.h"

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

Value HostProduct::sectionParameter(PlanSection section) {
  return parameter(pointer, ParameterKind::plan_section, 0, static_cast<int64_t>(section));
}

HostBuilder::Matrix HostProduct::blockValuesParameter(int64_t argument, int64_t blockColumns, Type elementType) {
  return {parameter(pointer, ParameterKind::pointer, argument), constant(blockColumns), elementType};
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void HostProduct::forElements(const Matrix &matrix, Value rows, Value columns, Element body) {
  if (matrix.transposed)
    loop(constant(0), columns, [&](Value column) { loop(constant(0), rows, [&](Value row) { body(row, column); }); });
  else
    loop(constant(0), rows, [&](Value row) { loop(constant(0), columns, [&](Value column) { body(row, column); }); });
}

void HostProduct::forBlockOfPanel(Value rowPtr, Value blockRow, Value panelIndex, Body body) {
  Value first = add(loadIndex(rowPtr, blockRow), panelIndex);
  Value end = smaller(add(first, constant(1)), loadIndex(rowPtr, add(blockRow, constant(1))));
  loop(first, end, body); // once, or not at all
}

void HostProduct::forParts(Value number, Value blockRow, Value firstOfBlock, int64_t blockRows, int64_t blockColumns,
                           function_ref<void(const BlockPart &)> body) {
  loop(constant(0), constant((blockColumns + rowSize - 1) / rowSize), [&](Value index) {
    BlockPart part;
    part.number = number;
    part.firstRow = multiply(blockRow, constant(blockRows));
    part.columnInBlock = multiply(index, constant(rowSize));
    part.firstColumn = add(firstOfBlock, part.columnInBlock);
    part.columns = inside(constant(blockColumns), part.columnInBlock, rowSize);
    part.rows = inside(rowCount, part.firstRow, blockRows);
    part.validColumns = smaller(part.columns, subtract(columnCount, part.firstColumn)); // may be negative
    body(part);
  });
}

//===----------------------------------------------------------------------===//
// The computation
//===----------------------------------------------------------------------===//

void HostProduct::storeInPanel(Value k, Value column, Type elementType, Value source) {
  Value element = toF32(LLVM::LoadOp::create(b, elementType, source));
  LLVM::StoreOp::create(b, element, address(f32, bufferRow(panel, k), column));
}

void HostProduct::clearRows(Value buffer, Value rows) {
  loop(constant(0), rows, [&](Value row) { storeRow(zeroRow, buffer, row); });
}

Value HostProduct::multiplyRow(Value init, Value begin, Value end, function_ref<Value(Value k)> weight) {
  return multiplyAdd(
             begin, end, init, [&](Value k, unsigned) { return weight(k); }, [&](Value k) { return loadRow(panel, k); })
      .front();
}

void HostProduct::storeResult(Region &epilogue, Value sum, const ExtraPosition &at) {
  SmallVector<Value> elements;
  for (const Extra &extra : extras)
    elements.push_back(extraElement(extra, at));
  Value value = fromF32(inlineEpilogue(b, epilogue, sum, elements), result.elementType);
  LLVM::StoreOp::create(b, value, elementAddress(result, at.fullRow, at.fullColumn));
}
