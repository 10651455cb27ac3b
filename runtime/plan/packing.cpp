// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/packing.h"
#include "operations/kernel_shape.h"

#include <algorithm>
#include <functional>

namespace sparsec::runtime {

namespace {

/// The rows [begin, end) of a matrix.
struct RowSpan {
  int64_t begin, end;
};

RowSpan rowsOf(const BlockPattern &pattern, const PackedShape &shape, int64_t packedRow) {
  return {packedRow * shape.rows, std::min((packedRow + 1) * shape.rows, pattern.blockRows)};
}

/// Finds the columns of one row of packed blocks after the other.
class PackedColumns {
public:
  PackedColumns(const BlockPattern &pattern, const PackedShape &shape)
      : pattern(pattern), shape(shape), lastRow(ceilDivide(pattern.blockColumns, shape.columns), -1) {}

  /// The columns of the row, each once, in the order of the blocks. They stay until the next call.
  std::vector<int32_t> &find(int64_t packedRow) {
    columns.clear();
    const RowSpan rows = rowsOf(pattern, shape, packedRow);
    for (int32_t i = pattern.rowPtr[rows.begin]; i < pattern.rowPtr[rows.end]; ++i)
      if (const auto column = int32_t(pattern.colIdx[i] / shape.columns); lastRow[column] != packedRow) {
        lastRow[column] = packedRow;
        columns.push_back(column);
      }
    return columns;
  }

private:
  const BlockPattern &pattern;
  const PackedShape &shape;
  std::vector<int64_t> lastRow; // in which each column was found
  std::vector<int32_t> columns;
};

/// Writes the number of every block of a row of packed blocks to its place among `sources`.
void placeBlocks(const BlockPattern &pattern, const PackedShape &shape, const RowSpan &rows,
                 const std::vector<int32_t> &packedOfColumn, std::vector<int32_t> &sources) {
  for (int64_t row = rows.begin; row < rows.end; ++row)
    for (int32_t i = pattern.rowPtr[row]; i < pattern.rowPtr[row + 1]; ++i) {
      const int64_t column = pattern.colIdx[i], packed = packedOfColumn[column / shape.columns];
      const int64_t place = (row - rows.begin) * shape.columns + column % shape.columns;
      sources[packed * shape.blocks() + place] = pattern.numberOf(i);
    }
}

} // namespace

int64_t countPackedBlocks(const BlockPattern &pattern, const PackedShape &shape) {
  PackedColumns columns(pattern, shape);
  int64_t count = 0;
  if (pattern.count() != 0)
    for (int64_t row = 0; row < ceilDivide(pattern.blockRows, shape.rows); ++row)
      count += int64_t(columns.find(row).size());
  return count;
}

bool canPack(int64_t packedBlocks, const PackedShape &shape) { return packedBlocks <= INT32_MAX / shape.blocks(); }

Packing packBlocks(const BlockPattern &pattern, const PackedShape &shape) {
  Packing packing;
  packing.blockColumns = ceilDivide(pattern.blockColumns, shape.columns);
  packing.starts = {0};
  PackedColumns columns(pattern, shape);
  std::vector<int32_t> packedOfColumn(packing.blockColumns);
  for (int64_t row = 0; row < ceilDivide(pattern.blockRows, shape.rows); ++row) {
    if (pattern.count() != 0) {
      std::vector<int32_t> &ofRow = columns.find(row);
      std::sort(ofRow.begin(), ofRow.end());
      for (int32_t column : ofRow) {
        packedOfColumn[column] = int32_t(packing.columns.size());
        packing.columns.push_back(column);
      }
      packing.sources.resize(packing.columns.size() * shape.blocks(), -1);
      placeBlocks(pattern, shape, rowsOf(pattern, shape, row), packedOfColumn, packing.sources);
    }
    packing.starts.push_back(int32_t(packing.columns.size()));
  }
  return packing;
}

} // namespace sparsec::runtime
