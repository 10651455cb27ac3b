// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors (batches, heads, rows, columns), and (batches, heads, rows) without columns: those of attention and of
// merges. Their dimensions may be in any order in memory, but for the columns, which come last.

#ifndef SPARSEC_RUNTIME_OPERATIONS_HEAD_ROWS_H
#define SPARSEC_RUNTIME_OPERATIONS_HEAD_ROWS_H

#include "arguments/checked_argument.h"
#include "operations/problem.h"

namespace sparsec::runtime {

/// Strides that kernels can follow.
Status checkStrideRange(const Checked &argument);

/// Rows none of which reaches into the next one of its head.
Status checkRows(const Checked &argument);

/// Refuses results of which two elements share memory.
Status checkApart(const Checked &argument);

/// Kernels count the rows of all heads and batches in 32 bits.
Status checkRowCount(const Checked &argument, const Problem &problem);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_OPERATIONS_HEAD_ROWS_H
