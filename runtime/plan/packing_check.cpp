// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/host_lists.h"
#include "plan/packed_matrix.h"
#include "plan/section_check.h"

#include <utility>

namespace sparsec::runtime {

namespace {

/// Columns of packed blocks ascend in each row.
Status checkColumns(const SectionCheck &check, std::span<const int32_t> starts, int64_t blockColumns,
                    std::span<const int32_t> &outColumns) {
  SPARSEC_RETURN_IF_ERROR(check.read(SPARSEC_PLAN_PACKED_COLUMNS, starts.back(), outColumns));
  for (size_t row = 0; row + 1 < starts.size(); ++row)
    for (int32_t i = starts[row], least = 0; i < starts[row + 1]; least = outColumns[i++] + 1)
      if (outColumns[i] < least || outColumns[i] >= blockColumns)
        return check.broken(SPARSEC_PLAN_PACKED_COLUMNS, "expects ", least, " to ", blockColumns - 1, " at ", i,
                            ", but got ", outColumns[i]);
  return {};
}

/// Every stored block is in one place.
Status checkSources(const SectionCheck &check, int64_t places, int64_t blocks) {
  std::span<const int32_t> sources;
  SPARSEC_RETURN_IF_ERROR(check.read(SPARSEC_PLAN_PACKED_SOURCES, places, sources));
  OnceEach all(blocks);
  for (const int32_t &source : sources)
    if (source != -1 && !all.insert(source))
      return check.broken(SPARSEC_PLAN_PACKED_SOURCES, "block ", source, " at ", &source - sources.data(),
                          " is out of range or there twice");
  if (!all.isComplete())
    return check.broken(SPARSEC_PLAN_PACKED_SOURCES, "a block of the matrix is missing");
  return {};
}

} // namespace

Status checkPacking(const SectionCheck &check, uint32_t argument, const MatrixShape &stored, MatrixShape &outPacked) {
  const sparsec_variant_info_t &variant = *check.variant().info;
  // The sections are those of the matrix as the caller stores it.
  const bool isStoredTransposed = isTransposed(check.kernel, argument);
  int64_t rows = check.problem.rows, columns = check.problem.depth;
  if (isStoredTransposed)
    std::swap(rows, columns);
  int64_t blockRows = ceilDivide(rows, int64_t(variant.packed_block_rows));
  int64_t blockColumns = ceilDivide(columns, int64_t(variant.packed_block_columns));
  std::span<const int32_t> starts, packedColumns;
  SPARSEC_RETURN_IF_ERROR(check.readOffsets(SPARSEC_PLAN_PACKED_STARTS, blockRows, starts));
  SPARSEC_RETURN_IF_ERROR(checkColumns(check, starts, blockColumns, packedColumns));
  const PackedShape shape = packedShape(check.kernel, variant, argument);
  const auto count = int64_t(packedColumns.size());
  SPARSEC_RETURN_IF_ERROR(checkSources(check, count * shape.blocks(), stored.blocks));
  int64_t rowsOfBlock = variant.packed_block_rows, columnsOfBlock = variant.packed_block_columns;
  if (isStoredTransposed) {
    std::swap(rowsOfBlock, columnsOfBlock);
    std::swap(blockRows, blockColumns);
  }
  outPacked = {rowsOfBlock, columnsOfBlock, blockRows, blockColumns, count, stored.depth};
  return {};
}

} // namespace sparsec::runtime
