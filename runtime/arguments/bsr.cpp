// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments/bsr.h"
#include "arguments/index_arrays.h"
#include "image/launch_info_reader.h"

namespace sparsec::runtime {

int64_t blockRowCount(const sparsec_bsr_t &matrix) { return ceilDivide(matrix.rows, matrix.block_rows); }
int64_t blockColumnCount(const sparsec_bsr_t &matrix) { return ceilDivide(matrix.columns, matrix.block_columns); }
size_t rowPtrCount(const sparsec_bsr_t &matrix) { return matrix.rows != 0 ? size_t(blockRowCount(matrix)) + 1 : 0; }

Status checkBsrSizes(const sparsec_bsr_t &matrix, const Subject &subject) {
  if (matrix.block_rows < 1 || matrix.block_rows > maxTile || matrix.block_columns < 1 ||
      matrix.block_columns > maxTile)
    return invalidArgument(subject, ": expects blocks of 1 to ", maxTile, " rows and columns, but got ",
                           matrix.block_rows, " x ", matrix.block_columns);
  if (matrix.rows < 0 || matrix.rows > maxSize || matrix.columns < 0 || matrix.columns > maxSize)
    return invalidArgument(subject, ": expects 0 to ", maxSize, " rows and columns, but got ", matrix.rows, " x ",
                           matrix.columns);
  // At most 2^62: both factors are below 2^31.
  int64_t most = blockRowCount(matrix) * blockColumnCount(matrix);
  if (matrix.block_count < 0 || matrix.block_count > std::min(most, maxSize))
    return invalidArgument(subject, ": expects a block_count of 0 to ", std::min(most, maxSize), ", but got ",
                           matrix.block_count);
  SPARSEC_RETURN_IF_ERROR(checkIndexPointer(matrix.row_ptr, matrix.rows != 0, subject, "row_ptr"));
  return checkIndexPointer(matrix.col_idx, matrix.block_count != 0, subject, "col_idx");
}

Status checkBsrPattern(const sparsec_bsr_t &matrix, const int32_t *rowPtr, const int32_t *colIdx,
                       const Subject &subject) {
  auto broken = [&](const auto &...pieces) {
    return makeStatus(SPARSEC_STATUS_INVALID_PATTERN, subject, ": ", pieces...);
  };
  int64_t blockRows = blockRowCount(matrix), blockColumns = blockColumnCount(matrix);
  if (blockRows == 0)
    return {};
  if (rowPtr[0] != 0)
    return broken("expects row_ptr[0] to be 0, but got ", rowPtr[0]);
  for (int64_t row = 0; row < blockRows; ++row)
    if (rowPtr[row + 1] < rowPtr[row])
      return broken("expects an ascending row_ptr, but row_ptr[", row + 1, "] is ", rowPtr[row + 1], " and row_ptr[",
                    row, "] is ", rowPtr[row]);
  if (rowPtr[blockRows] != matrix.block_count)
    return broken("expects row_ptr[", blockRows, "] to be the block_count, ", matrix.block_count, ", but got ",
                  rowPtr[blockRows]);
  IndexSet seen(blockColumns);
  for (int64_t row = 0; row < blockRows; ++row) {
    for (int32_t i = rowPtr[row]; i < rowPtr[row + 1]; ++i) {
      if (colIdx[i] < 0 || colIdx[i] >= blockColumns)
        return broken("expects col_idx[", i, "] (block row ", row, ") to be 0 to ", blockColumns - 1, ", but got ",
                      colIdx[i]);
      if (!seen.insert(colIdx[i]))
        return broken("block column ", colIdx[i], " is repeated in block row ", row, " at col_idx[", i, "]");
    }
    for (int32_t i = rowPtr[row]; i < rowPtr[row + 1]; ++i)
      seen.erase(colIdx[i]);
  }
  return {};
}

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_bsr_check(const sparsec_bsr_t *host_pattern) {
  return guarded([&]() -> Status {
    if (!host_pattern)
      return invalidArgument("host_pattern is NULL");
    constexpr Subject subject = {"pattern"};
    SPARSEC_RETURN_IF_ERROR(checkBsrSizes(*host_pattern, subject));
    return checkBsrPattern(*host_pattern, host_pattern->row_ptr, host_pattern->col_idx, subject);
  });
}
