// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/transpose.h"

#include <numeric>

namespace sparsec::runtime {

/// A counting sort by column, which keeps the order of the rows.
TransposedIndex transpose(const BlockPattern &pattern) {
  const auto blocks = int32_t(pattern.count());
  TransposedIndex index;
  index.blockColumns = pattern.blockRows;
  index.starts.assign(pattern.blockColumns + 1, 0);
  index.columns.resize(blocks);
  index.blocks.resize(blocks);
  for (int32_t block = 0; block < blocks; ++block)
    ++index.starts[pattern.colIdx[block] + 1];
  std::inclusive_scan(index.starts.begin(), index.starts.end(), index.starts.begin());
  std::vector<int32_t> next(index.starts.begin(), index.starts.end() - 1);
  for (int64_t row = 0; blocks != 0 && row < pattern.blockRows; ++row)
    for (int32_t block = pattern.rowPtr[row]; block < pattern.rowPtr[row + 1]; ++block) {
      const int32_t position = next[pattern.colIdx[block]]++;
      index.columns[position] = int32_t(row);
      index.blocks[position] = block;
    }
  return index;
}

} // namespace sparsec::runtime
