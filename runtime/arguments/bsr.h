// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Block-sparse (BSR) patterns: sizes and the rules for row_ptr and col_idx.

#ifndef SPARSEC_RUNTIME_BSR_H
#define SPARSEC_RUNTIME_BSR_H

#include "status.h"

namespace sparsec::runtime {

int64_t blockRowCount(const sparsec_bsr_t &matrix);
int64_t blockColumnCount(const sparsec_bsr_t &matrix);
/// Elements of row_ptr; a matrix without rows needs none.
size_t rowPtrCount(const sparsec_bsr_t &matrix);

/// Sizes, counts and the index pointers: what can be known without reading the indices. Messages start with
/// the subject.
Status checkBsrSizes(const sparsec_bsr_t &matrix, const Subject &subject);

/// Ascending row_ptr from 0 to block_count, column indices in range and not repeated within a row. Both arrays are in
/// host memory.
Status checkBsrPattern(const sparsec_bsr_t &matrix, const int32_t *rowPtr, const int32_t *colIdx,
                       const Subject &subject);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_BSR_H
