// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies of rows of Q, K or V from global to shared memory by all threads of a CTA, 8 elements (one unit) at a time:
// cp.async where the operands are aligned, element by element where they are not.

#ifndef SPARSEC_EMIT_ROW_COPY_H
#define SPARSEC_EMIT_ROW_COPY_H

#include "AttentionContext.h"
#include "UnitLayout.h"

namespace sparsec {

class RowCopy {
public:
  RowCopy(AttentionContext &context, Ring ring);

  /// The rows of one batch and head, as this thread copies them.
  struct Source {
    mlir::Value first;  // its first element of row 0
    mlir::Value stride; // i64, elements
    mlir::Value rows;   // i32
  };
  Source source(int64_t argument, mlir::Value batch, mlir::Value head);
  /// Copies as many rows, or starts to copy them, as a slot holds. Rows beyond the tensor become zero and are not read.
  void emit(const Source &source, mlir::Value firstRow, mlir::Value slot);

private:
  mlir::Value unit() { return b.modulo(context.thread, layout.rowUnits(0)); }
  mlir::Value row() { return b.divide(context.thread, layout.rowUnits(0)); }
  mlir::Value pointer(const Source &source, mlir::Value row);
  /// A row that does not exist is not used, but its address must be valid all the same: that of the last one.
  mlir::Value validRow(const Source &source, mlir::Value row) { return b.minimum(row, b.sub(source.rows, 1)); }
  void emitWhole(const Source &source, mlir::Value firstRow, mlir::Value slot);
  void emitChecked(const Source &source, mlir::Value firstRow, mlir::Value slot);
  void emitElements(const Source &source, mlir::Value firstRow, mlir::Value slot);

  AttentionContext &context;
  KernelBuilder &b;
  Ring ring;
  UnitLayout layout;
  int64_t rowsOfPass; // a pass of all threads
};

} // namespace sparsec

#endif // SPARSEC_EMIT_ROW_COPY_H
