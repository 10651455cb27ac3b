// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products by ldmatrix and mma.sync m16n8k16 (fp8: m16n8k32), by one warp. Accumulators are the f32 of
// AccumulatorFragment.

#ifndef SPARSEC_EMIT_AMPERE_PRODUCTS_H
#define SPARSEC_EMIT_AMPERE_PRODUCTS_H

#include "Ring.h"

namespace sparsec {

/// Rows of A that one instruction has.
inline constexpr int64_t rowsOfMma = 16;

/// The part of a slot that a view shows: its first row and column in the buffer.
struct MmaOperand {
  ViewOp view;
  Ring &ring;
  mlir::Value slot, row, column, lane;
  mlir::Value elementsOfRow = {}; // where rows of the buffer are adjacent (BufferType), else null
};

/// All registers of an A operand with these elements, f16 or those of the view: instruction after instruction along K,
/// in each 16 rows after 16 rows.
KernelBuilder::Values loadMmaFragment(KernelBuilder &b, MmaOperand a, mlir::Type element);

// sums + A X over `depth` elements of K. A is a view, of which the K of one instruction at a time is loaded, or the
// registers of a fragment. With a fragment of A, X may be one too: that of its transpose, loaded as B. `isWidened`:
// views of fp8 are multiplied as f16.
KernelBuilder::Values emitMmaProduct(KernelBuilder &b, MmaOperand a, MmaOperand x, mlir::ValueRange sums, int64_t depth,
                                     bool isWidened);
KernelBuilder::Values emitMmaProduct(KernelBuilder &b, mlir::ValueRange a, MmaOperand x, mlir::ValueRange sums,
                                     int64_t depth);
KernelBuilder::Values emitMmaProduct(KernelBuilder &b, FragmentType typeOfX, mlir::ValueRange a, mlir::ValueRange x,
                                     mlir::ValueRange sums, int64_t depth);

} // namespace sparsec

#endif // SPARSEC_EMIT_AMPERE_PRODUCTS_H
