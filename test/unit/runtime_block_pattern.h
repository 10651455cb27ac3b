// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Patterns of blocks for the tests of windows and streams.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_BLOCK_PATTERN_H
#define SPARSEC_TEST_UNIT_RUNTIME_BLOCK_PATTERN_H

#include "plan/window_blocks.h"

#include <algorithm>
#include <random>

namespace sparsec::test {

/// A pattern with its arrays.
struct Pattern {
  std::vector<int32_t> rowPtr = {0}, colIdx;
  int64_t blockColumns;

  Pattern(int64_t blockColumns, const std::vector<std::vector<int32_t>> &rows) : blockColumns(blockColumns) {
    for (const auto &row : rows) {
      colIdx.insert(colIdx.end(), row.begin(), row.end());
      rowPtr.push_back(int32_t(colIdx.size()));
    }
  }
  /// Every block with a probability of its row: that of the pattern, or none at all. The columns are in any order.
  static Pattern random(int64_t blockRows, int64_t blockColumns, double density, double emptyRows, uint32_t seed) {
    std::mt19937 random(seed);
    auto happens = [&](double probability) { return double(random()) < probability * 0x1p32; };
    std::vector<std::vector<int32_t>> rows(blockRows);
    for (auto &row : rows) {
      const double rowDensity = happens(emptyRows) ? 0 : density;
      for (int32_t column = 0; column < blockColumns; ++column)
        if (happens(rowDensity))
          row.push_back(column);
      std::shuffle(row.begin(), row.end(), random);
    }
    return {blockColumns, rows};
  }

  int64_t blockRows() const { return int64_t(rowPtr.size()) - 1; }
  runtime::BlockPattern view() const { return {rowPtr.data(), colIdx.data(), blockRows(), blockColumns}; }
};

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_BLOCK_PATTERN_H
