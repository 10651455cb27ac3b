// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands in registers, from buffers that tensor copies have filled.

#ifndef SPARSEC_EMIT_FRAGMENT_LOADER_H
#define SPARSEC_EMIT_FRAGMENT_LOADER_H

#include "Ring.h"

namespace sparsec {

/// Loads 16 x 16 elements of 16 bits at a time by ldmatrix: four registers, two for each half of K with eight rows each
/// (the A operand of m16n8k16, PTX ISA 9.7.14.5.8), or two for each eight rows with a half of K each (two B operands).
/// For B operands of f16 from fp8 it loads 32 rows x 16 elements. Lane l gives the address of one row of matrix l / 8.
/// A group is a warp, or a warpgroup whose warps have 16 of every 64 rows. The swizzle mixes the number of a 16-byte
/// vector with the row.
class FragmentLoader {
public:
  /// `firstRow` and `firstColumn` are those of the view in its buffer, or null. A column begins a 16-byte vector, and
  /// the view does not go beyond its strip. `groupRows` are the rows that a group loads at a time.
  FragmentLoader(KernelBuilder &b, LoadFragmentOp op, Ring &ring, mlir::Value slot, mlir::Value firstRow,
                 mlir::Value firstColumn, mlir::Value threadInGroup, int64_t groupRows);

  /// All of the view: rows after rows, and in each of them K.
  KernelBuilder::Values loadAll();

private:
  /// Rows from `row` on and K from `k` on.
  KernelBuilder::Values load(int64_t row, int64_t k) { return isTransposed ? loadColumns(row, k) : loadRows(row, k); }
  KernelBuilder::Values loadRows(int64_t row, int64_t k);
  KernelBuilder::Values loadColumns(int64_t row, int64_t k);
  KernelBuilder::Values loadAndWiden(int64_t row, int64_t k);
  KernelBuilder::Values load(int64_t offset, mlir::Value row, mlir::Value vector);
  mlir::Value bit(int64_t number) { return b.bitAnd(b.shiftRight(lane, number), 1); }
  /// The lane modulo 8, and 8 more where its highest bit, `number`, is set.
  mlir::Value eightAndBit(int64_t number) { return b.add(b.bitAnd(lane, 7), b.mul(b.shiftRight(lane, number), 8)); }

  KernelBuilder &b;
  ViewType view;
  int64_t elementBytes, stripBytes, stripStride, groupRows;
  Swizzle swizzle;
  bool isTransposed, isOperandB, isWidened;
  mlir::Value lane, warp, first, firstVector;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_FRAGMENT_LOADER_H
