// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowCopy.h"

#include "Ptx.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

RowCopy::RowCopy(AttentionContext &context, Ring ring)
    : context(context), b(context.b), ring(ring), layout(context.b, ring),
      rowsOfPass(threadsOfWarps(context.schedule) / layout.rowUnits(0)) {}

RowCopy::Source RowCopy::source(int64_t argument, Value batch, Value head) {
  Value first = context.elementAddress(argument, context.element, {batch, head, b.i32(0), b.mul(unit(), unitElements)});
  return {first, context.parameters.get(ParameterKind::stride, argument, 2), context.size(argument, 2)};
}

Value RowCopy::pointer(const Source &source, Value row) {
  return b.elementPointer(source.first, context.element, b.mul(b.extend(row), source.stride));
}

void RowCopy::emit(const Source &source, Value firstRow, Value slot) {
  if (context.schedule.getCopy() == Copy::scalar)
    return emitElements(source, firstRow, slot);
  Value isWhole = b.compare(arith::CmpIPredicate::sle, b.add(firstRow, ring.bufferRows(0)), source.rows);
  b.ifThenElse(
      isWhole, {},
      [&] {
        emitWhole(source, firstRow, slot);
        return Values();
      },
      [&] {
        emitChecked(source, firstRow, slot);
        return Values();
      });
}

/// Nearly all copies: they share their instruction slots with the products, so a unit costs one cp.async and one
/// addition.
void RowCopy::emitWhole(const Source &source, Value firstRow, Value slot) {
  Value from = pointer(source, b.add(firstRow, row()));
  Value betweenPasses = b.mul(source.stride, rowsOfPass);
  for (int64_t begin = 0; begin < ring.bufferRows(0); begin += rowsOfPass) {
    ptx::copyAsync16(b, layout.address(0, slot, {row(), unit(), begin}), from);
    from = b.elementPointer(from, context.element, betweenPasses);
  }
}

void RowCopy::emitChecked(const Source &source, Value firstRow, Value slot) {
  for (int64_t begin = 0; begin < ring.bufferRows(0); begin += rowsOfPass) {
    Value row = b.add(b.add(firstRow, this->row()), begin);
    Value bytes = b.select(b.less(row, source.rows), b.i32(unitBytes), b.i32(0));
    ptx::copyAsync16(b, layout.address(0, slot, {this->row(), unit(), begin}), pointer(source, validRow(source, row)),
                     bytes);
  }
}

void RowCopy::emitElements(const Source &source, Value firstRow, Value slot) {
  Value zero = arith::ConstantOp::create(b, b.getI16IntegerAttr(0));
  for (int64_t begin = 0; begin < ring.bufferRows(0); begin += rowsOfPass) {
    Value row = b.add(b.add(firstRow, this->row()), begin);
    Value exists = b.less(row, source.rows), from = pointer(source, validRow(source, row));
    storeUnit(b, layout.address(0, slot, {this->row(), unit(), begin}),
              [&](int64_t i) { return b.select(exists, b.loadElement(zero.getType(), from, b.i64(i)), zero); });
  }
}
