// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffers of adjacent rows (BufferType): parts of a K x N matrix of few columns, as they are in memory.

#ifndef SPARSEC_EMIT_AMPERE_ADJACENT_ROWS_H
#define SPARSEC_EMIT_AMPERE_ADJACENT_ROWS_H

#include "ProgramEmitter.h"
#include "ampere/Products.h"

namespace sparsec {

/// sparsec.copy into a buffer of adjacent rows. Where the matrix has no gaps and begins at a vector, whole vectors are
/// copied by cp.async, else vectors of its rows or elements. Rows beyond the matrix become zeros.
void emitAdjacentCopy(ProgramEmitter &program, CopyOp op);

/// The elements of a row of such a buffer of a view (i32), or null where the buffer has none.
mlir::Value elementsOfAdjacentRow(ProgramContext &context, ViewOp view, Ring &ring);

/// Tiles of at most so many columns have another program for rows of whole vectors, whatever lies between them.
inline constexpr int64_t columnsOfWholeRows = 16;

/// Whether the rows of such a buffer are whole vectors, so that ldmatrix reads them.
mlir::Value hasVectorsOfColumns(KernelBuilder &b, MmaOperand x);

/// The B operands that BufferLayout::loadB gives for 16 columns, where rows are whole vectors.
KernelBuilder::Values loadVectorsOfAdjacentB(KernelBuilder &b, MmaOperand x, int64_t pair, int64_t k);

/// The B operands that BufferLayout::loadB gives. Columns beyond the matrix repeat its last one: no other column of a
/// product depends on them.
KernelBuilder::Values loadAdjacentB(KernelBuilder &b, MmaOperand x, int64_t pair, int64_t k, int64_t groups);

} // namespace sparsec

#endif // SPARSEC_EMIT_AMPERE_ADJACENT_ROWS_H
