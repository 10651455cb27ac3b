// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/window_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

namespace sparsec::runtime {

namespace {

// The effort, in operations on a word of 64 bits. It is counted, not timed, so that an order does not depend on how
// busy the machine is. 1000 operations take about a microsecond.
constexpr int64_t operationsPerBlock = 1000, leastOperations = int64_t(1) << 24;
/// More swaps for a row than this gain nothing that can be measured.
constexpr int64_t swapsPerRow = 3000;
/// The words of the bits below: at most so many a block. Rows of sparser patterns share few columns.
constexpr int64_t wordsPerBlock = 16, leastWords = int64_t(1) << 18;
/// How often the temperature falls.
constexpr int stageCount = 64;

/// The block columns of every block row, as bits.
class RowSets {
public:
  explicit RowSets(const BlockPattern &pattern)
      : words(wordCount(pattern)), bits(pattern.blockRows * wordCount(pattern)) {
    for (int64_t row = 0; row < pattern.blockRows; ++row)
      for (int32_t block = pattern.rowPtr[row]; block < pattern.rowPtr[row + 1]; ++block)
        bits[row * words + pattern.colIdx[block] / 64] |= uint64_t(1) << pattern.colIdx[block] % 64;
  }

  static int64_t wordCount(const BlockPattern &pattern) { return (pattern.blockColumns + 63) / 64; }
  /// How many columns some of the rows have.
  int64_t unionSize(const int32_t *rows, int64_t count) const {
    int64_t size = 0;
    for (int64_t word = 0; word < words; ++word) {
      uint64_t any = 0;
      for (int64_t i = 0; i < count; ++i)
        any |= bits[rows[i] * words + word];
      size += std::popcount(any);
    }
    return size;
  }

private:
  int64_t words;
  std::vector<uint64_t> bits;
};

/// An order of the rows, with the sum of its windows' columns.
class Order {
public:
  Order(const RowSets &sets, std::vector<int32_t> rows, int64_t groups)
      : sets(sets), rows(std::move(rows)), groups(groups) {
    for (int64_t first = 0; first < int64_t(this->rows.size()); first += groups)
      sizes.push_back(sizeOf(first / groups));
    columns = std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
  }

  int64_t rowCount() const { return int64_t(rows.size()); }
  int64_t windowCount() const { return int64_t(sizes.size()); }
  int64_t columnCount() const { return columns; }
  std::vector<int32_t> take() {
    // Which group of a window has which row changes nothing: rows in their own order read W from front to back.
    for (int64_t first = 0; first < rowCount(); first += groups)
      std::sort(rows.begin() + first, rows.begin() + std::min(first + groups, rowCount()));
    return std::move(rows);
  }

  /// Swaps two rows unless `isAccepted(growth)` of the sum is false.
  template <typename IsAccepted> void trySwap(int64_t a, int64_t b, const IsAccepted &isAccepted) {
    const int64_t windowA = a / groups, windowB = b / groups;
    if (windowA == windowB)
      return;
    std::swap(rows[a], rows[b]);
    const int64_t sizeA = sizeOf(windowA), sizeB = sizeOf(windowB);
    const int64_t growth = sizeA + sizeB - sizes[windowA] - sizes[windowB];
    if (!isAccepted(growth)) {
      std::swap(rows[a], rows[b]);
      return;
    }
    sizes[windowA] = sizeA;
    sizes[windowB] = sizeB;
    columns += growth;
  }

private:
  int64_t sizeOf(int64_t window) const {
    const int64_t first = window * groups;
    return sets.unionSize(rows.data() + first, std::min(groups, rowCount() - first));
  }

  const RowSets &sets;
  std::vector<int32_t> rows;
  int64_t groups;
  std::vector<int64_t> sizes; // by window
  int64_t columns;
};

/// Simulated annealing: random swaps of rows. Those that need more columns are accepted less and less often.
void anneal(Order &order, int64_t swaps) {
  std::mt19937_64 random(1); // its numbers are the same everywhere
  auto below = [](uint64_t half, int64_t limit) { return int64_t((half & UINT32_MAX) * uint64_t(limit) >> 32); };
  const double columnsPerWindow = double(order.columnCount()) / double(order.windowCount());
  const double first = std::sqrt(columnsPerWindow) / 4, last = 0.15;
  for (int stage = 0; stage < stageCount; ++stage) {
    const double temperature = first * std::pow(last / first, double(stage) / (stageCount - 1));
    auto isAccepted = [&](int64_t growth) {
      if (growth <= 0)
        return true;
      const double limit = double(growth) / temperature;
      return limit < 16 && std::exp(-limit) > double(random() >> 11) * 0x1p-53;
    };
    for (int64_t i = 0; i < swaps / stageCount; ++i) {
      const uint64_t bits = random();
      order.trySwap(below(bits, order.rowCount()), below(bits >> 32, order.rowCount()), isAccepted);
    }
  }
}

std::vector<int32_t> rowsByLength(const BlockPattern &pattern) {
  std::vector<int32_t> rows(pattern.blockRows);
  std::iota(rows.begin(), rows.end(), 0);
  auto length = [&](int32_t row) { return pattern.rowPtr[row + 1] - pattern.rowPtr[row]; };
  std::stable_sort(rows.begin(), rows.end(), [&](int32_t a, int32_t b) { return length(a) > length(b); });
  return rows;
}

} // namespace

std::vector<int32_t> orderRowsForWindows(const BlockPattern &pattern, int64_t groups) {
  std::vector<int32_t> own(pattern.blockRows);
  std::iota(own.begin(), own.end(), 0);
  const int64_t blocks = pattern.rowPtr[pattern.blockRows], words = RowSets::wordCount(pattern);
  if (pattern.blockRows <= groups || pattern.blockRows * words > std::max(wordsPerBlock * blocks, leastWords))
    return own;
  const RowSets sets(pattern);
  const Order unchanged(sets, own, groups);
  // Rows of about the same length take about the same time, and long rows together need fewer columns than apart.
  const Order byLength(sets, rowsByLength(pattern), groups);
  Order order = byLength.columnCount() <= unchanged.columnCount() ? byLength : unchanged;
  const int64_t operationsPerSwap = 2 * words * (groups + 4) + 20;
  const int64_t operations = std::max(operationsPerBlock * blocks, leastOperations);
  anneal(order, std::min(operations / operationsPerSwap, swapsPerRow * pattern.blockRows));
  return order.columnCount() < unchanged.columnCount() ? order.take() : own;
}

std::vector<int32_t> rowsOfWindows(const BlockPattern &pattern, int64_t groups, bool mayReorderRows) {
  std::vector<int32_t> rows(pattern.blockRows);
  std::iota(rows.begin(), rows.end(), 0);
  if (mayReorderRows)
    rows = orderRowsForWindows(pattern, groups);
  rows.resize((rows.size() + groups - 1) / groups * groups, -1);
  return rows;
}

} // namespace sparsec::runtime
