// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Invariants of everything that a reader accepts.

#ifndef SPARSEC_TEST_FUZZ_INVARIANTS_H
#define SPARSEC_TEST_FUZZ_INVARIANTS_H

#include "block_matrix.h"
#include "reference/float_format.h"

#include <cstdlib>

namespace sparsec::fuzz {

/// Small, so that a reader that trusts a false size exceeds the fuzzer's memory limit.
constexpr readers::Limits limits = {uint64_t(64) << 20};
constexpr readers::BlockFormat format = {2, 3, SPARSEC_DTYPE_BF16};

inline void require(bool condition) {
  if (!condition)
    std::abort();
}

/// A valid BSR matrix, or an error.
inline void checkMatrix(llvm::Expected<readers::BlockMatrix> matrix) {
  if (!matrix) {
    require(!llvm::toString(matrix.takeError()).empty());
    return;
  }
  require(matrix->rows >= 0 && matrix->rows <= readers::maxSize);
  require(matrix->columns >= 0 && matrix->columns <= readers::maxSize);
  require(matrix->blockRowCount() == (matrix->rows + format.blockRows - 1) / format.blockRows);
  require(matrix->rowPtr.front() == 0 && matrix->rowPtr.back() == matrix->blockCount());
  for (int64_t row = 0; row < matrix->blockRowCount(); ++row)
    require(matrix->rowPtr[row] <= matrix->rowPtr[row + 1]);
  for (int32_t column : matrix->colIdx)
    require(column >= 0 && column < matrix->blockColumnCount());
  require(matrix->values.size() == size_t(matrix->blockCount() * format.blockRows * format.blockColumns) *
                                       runtime::getFloatFormat(format.dtype)->bytes);
}

} // namespace sparsec::fuzz

#endif // SPARSEC_TEST_FUZZ_INVARIANTS_H
