// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/window_blocks.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace sparsec::runtime {

namespace {

/// The counts of a digit of so many bits stay in the first-level cache.
constexpr int mostDigitBits = 11;

} // namespace

const std::vector<PlacedBlock> &BlockGatherer::gather(const int32_t *rows, int64_t count) {
  size_t size = 0;
  for (int64_t place = 0; place < count; ++place)
    if (rows[place] >= 0)
      size += pattern.rowPtr[rows[place] + 1] - pattern.rowPtr[rows[place]];
  blocks.resize(size);
  PlacedBlock *next = blocks.data();
  for (int64_t place = 0; place < count; ++place) {
    if (rows[place] < 0)
      continue;
    const int32_t *range = pattern.rowPtr + rows[place];
    for (int32_t block = range[0]; block < range[1]; ++block)
      *next++ = {uint32_t(pattern.colIdx[block]), uint32_t(place), block};
  }
  sortByColumn();
  return blocks;
}

/// A radix sort: it keeps the order of blocks with the same column.
void BlockGatherer::sortByColumn() {
  const int columnBits = std::bit_width(uint64_t(std::max<int64_t>(pattern.blockColumns - 1, 0)));
  // No more counts than blocks: windows of wide, sparse matrices have few blocks.
  const int mostBits = std::clamp(int(std::bit_width(blocks.size())), 4, mostDigitBits);
  const int passes = (columnBits + mostBits - 1) / mostBits;
  const int digitBits = passes != 0 ? (columnBits + passes - 1) / passes : 0;
  const uint32_t mask = (1u << digitBits) - 1;
  sorted.resize(blocks.size());
  for (int shift = 0; shift < columnBits; shift += digitBits) {
    begins.assign(mask + 1, 0);
    for (const PlacedBlock &each : blocks)
      ++begins[each.column >> shift & mask];
    std::exclusive_scan(begins.begin(), begins.end(), begins.begin(), 0u);
    for (const PlacedBlock &each : blocks)
      sorted[begins[each.column >> shift & mask]++] = each;
    blocks.swap(sorted);
  }
}

} // namespace sparsec::runtime
