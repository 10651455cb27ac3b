// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Block patterns in host memory.

#ifndef SPARSEC_BENCH_HARNESS_PATTERN_H
#define SPARSEC_BENCH_HARNESS_PATTERN_H

#include <cstdint>
#include <vector>

namespace sparsec::harness {

struct BlockPattern {
  int64_t blockRows = 0, blockColumns = 0; // number of block rows and columns
  std::vector<int32_t> rowPtr, colIdx;

  int64_t blockCount() const { return static_cast<int64_t>(colIdx.size()); }
};

/// A pattern from a predicate: block (i, j) is there when keep(i, j) says so. Columns ascend.
template <typename Keep> BlockPattern makePattern(int64_t blockRows, int64_t blockColumns, const Keep &keep) {
  BlockPattern pattern{blockRows, blockColumns, {0}, {}};
  for (int64_t i = 0; i < blockRows; ++i) {
    for (int64_t j = 0; j < blockColumns; ++j)
      if (keep(i, j))
        pattern.colIdx.push_back(static_cast<int32_t>(j));
    pattern.rowPtr.push_back(static_cast<int32_t>(pattern.colIdx.size()));
  }
  return pattern;
}

/// Every block is there with probability `density`, independently.
BlockPattern bernoulliPattern(int64_t blockRows, int64_t blockColumns, double density, uint64_t seed);

} // namespace sparsec::harness

#endif // SPARSEC_BENCH_HARNESS_PATTERN_H
