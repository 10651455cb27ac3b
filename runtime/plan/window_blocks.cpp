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

BlockGatherer::BlockGatherer(const BlockPattern &pattern)
    : pattern(pattern), columnBits(std::bit_width(uint64_t(std::max<int64_t>(pattern.blockColumns - 1, 0)))) {}

/// The first pass of a radix sort reads the pattern itself. All passes keep the order of blocks with the same digit.
const std::vector<PlacedBlock> &BlockGatherer::gather(const int32_t *rows, int64_t count) {
  size_t size = 0;
  for (int64_t place = 0; place < count; ++place)
    if (rows[place] >= 0)
      size += pattern.rowPtr[rows[place] + 1] - pattern.rowPtr[rows[place]];
  const Digits digits = digitsFor(size);
  begins.assign(digits.mask + 1, 0);
  forEachBlock(rows, count, [&](uint32_t column, uint32_t, int32_t) { ++begins[column & digits.mask]; });
  std::exclusive_scan(begins.begin(), begins.end(), begins.begin(), 0u);
  blocks.resize(size);
  forEachBlock(rows, count, [&](uint32_t column, uint32_t place, int32_t block) {
    blocks[begins[column & digits.mask]++] = {column, place, block};
  });
  for (int shift = digits.bits; shift < columnBits; shift += digits.bits)
    sortByDigit(shift, digits.mask);
  return blocks;
}

template <typename Function>
void BlockGatherer::forEachBlock(const int32_t *rows, int64_t count, const Function &function) const {
  for (int64_t place = 0; place < count; ++place) {
    if (rows[place] < 0)
      continue;
    const int32_t end = pattern.rowPtr[rows[place] + 1];
    for (int32_t position = pattern.rowPtr[rows[place]]; position < end; ++position)
      function(uint32_t(pattern.colIdx[position]), uint32_t(place), pattern.numberOf(position));
  }
}

BlockGatherer::Digits BlockGatherer::digitsFor(size_t size) const {
  // No more counts than blocks: windows of wide, sparse matrices have few blocks.
  const int mostBits = std::clamp(int(std::bit_width(size)), 4, mostDigitBits);
  const int passes = (columnBits + mostBits - 1) / mostBits;
  const int bits = passes != 0 ? (columnBits + passes - 1) / passes : 1;
  return {bits, (1u << bits) - 1};
}

void BlockGatherer::sortByDigit(int shift, uint32_t mask) {
  begins.assign(mask + 1, 0);
  for (const PlacedBlock &each : blocks)
    ++begins[each.column >> shift & mask];
  std::exclusive_scan(begins.begin(), begins.end(), begins.begin(), 0u);
  sorted.resize(blocks.size());
  for (const PlacedBlock &each : blocks)
    sorted[begins[each.column >> shift & mask]++] = each;
  blocks.swap(sorted);
}

} // namespace sparsec::runtime
