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
// busy the machine is. 1500 operations take at most a microsecond.
constexpr int64_t operationsPerBlock = 1500, leastOperations = int64_t(1) << 24;
/// More swaps for a row than this gain nothing that can be measured.
constexpr int64_t swapsPerRow = 3000;
/// The words of the bits below: at most so many a block. Rows of sparser patterns share few columns.
constexpr int64_t wordsPerBlock = 16, leastWords = int64_t(1) << 18;
/// The operations of a swap: those for a word to see what it changes, and those beside all words.
constexpr int64_t operationsPerWord = 8, operationsPerSwap = 16;

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
  int64_t wordCount() const { return words; }
  const uint64_t *of(int32_t row) const { return bits.data() + row * words; }

private:
  int64_t words;
  std::vector<uint64_t> bits;
};

/// Gives every window a weight, by the number of its columns. An order of rows is good if the sum of the weights is
/// small. The greater the power, the more a long window weighs beside a short one. A further column adds about 1 to the
/// weight of a mean window, whatever the power is.
class WindowWeights {
public:
  WindowWeights(int64_t blockColumns, double columnsPerWindow, double power)
      : areColumnCounts(power == 1), weights(blockColumns + 1) {
    for (int64_t columns = 0; columns <= blockColumns; ++columns)
      weights[columns] = columnsPerWindow / power * std::pow(double(columns) / columnsPerWindow, power);
  }

  double of(int64_t columns) const { return weights[columns]; }
  /// Whether the weight of a window is the number of its columns.
  const bool areColumnCounts;

private:
  std::vector<double> weights;
};

/// An order of the rows, with the columns of its windows. Every window knows which columns some of its rows have, and
/// which columns a single one has: what a swap changes then does not depend on how many rows a window has.
class Order {
public:
  Order(const RowSets &sets, std::vector<int32_t> rows, const WindowShape &shape)
      : sets(sets), rows(std::move(rows)), shape(shape), windowOf(shape.rows), columns(shape.count()),
        bits(2 * shape.count() * sets.wordCount()) {
    for (int64_t position = 0; position < shape.rows; ++position)
      windowOf[position] = int32_t(shape.windowOf(position));
    for (int64_t window = 0; window < windowCount(); ++window)
      update(window);
  }

  int64_t rowCount() const { return int64_t(rows.size()); }
  int64_t windowCount() const { return shape.count(); }
  int64_t columnCount() const { return std::accumulate(columns.begin(), columns.end(), int64_t(0)); }
  double weightBy(const WindowWeights &weights) const {
    return std::accumulate(columns.begin(), columns.end(), 0.0,
                           [&](double sum, int64_t count) { return sum + weights.of(count); });
  }
  std::vector<int32_t> take() {
    // Which group of a window has which row changes nothing: rows in their own order read W from front to back.
    for (int64_t window = 0; window < windowCount(); ++window)
      std::sort(rows.begin() + shape.begin(window), rows.begin() + shape.begin(window + 1));
    return std::move(rows);
  }

  /// Swaps two rows unless `isAccepted(growth)` of the weight is false. Returns the effort.
  template <typename IsAccepted>
  int64_t trySwap(int64_t a, int64_t b, const WindowWeights &weights, const IsAccepted &isAccepted) {
    const int64_t windowA = windowOf[a], windowB = windowOf[b];
    if (windowA == windowB)
      return operationsPerSwap;
    if (!isAccepted(weights.areColumnCounts ? double(growthOfSwap(a, b)) : growthOfWeight(a, b, weights)))
      return effortOfTry();
    std::swap(rows[a], rows[b]);
    update(windowA);
    update(windowB);
    return effortOfTry() + 2 * sets.wordCount() * (2 * shape.groups + 1);
  }

  /// The effort of a swap that is not accepted.
  int64_t effortOfTry() const { return operationsPerWord * sets.wordCount() + operationsPerSwap; }

private:
  uint64_t *anyOf(int64_t window) { return bits.data() + 2 * window * sets.wordCount(); }
  uint64_t *onceOf(int64_t window) { return anyOf(window) + sets.wordCount(); }

  /// The columns that both windows gain, counted together.
  int64_t growthOfSwap(int64_t a, int64_t b) {
    const uint64_t *rowA = sets.of(rows[a]), *rowB = sets.of(rows[b]);
    const uint64_t *anyA = anyOf(windowOf[a]), *anyB = anyOf(windowOf[b]);
    const uint64_t *onceA = onceOf(windowOf[a]), *onceB = onceOf(windowOf[b]);
    int64_t growth = 0;
    for (int64_t word = 0; word < sets.wordCount(); ++word) {
      const uint64_t onlyA = rowA[word] & ~rowB[word], onlyB = rowB[word] & ~rowA[word];
      growth += std::popcount((onlyA & ~anyB[word]) | (onlyB & ~anyA[word]));
      growth -= std::popcount((onlyA & onceA[word]) | (onlyB & onceB[word]));
    }
    return growth;
  }

  /// The columns that the window of position `a` gains.
  int64_t growthOfFirst(int64_t a, int64_t b) {
    const uint64_t *rowA = sets.of(rows[a]), *rowB = sets.of(rows[b]);
    const uint64_t *any = anyOf(windowOf[a]), *once = onceOf(windowOf[a]);
    int64_t growth = 0;
    for (int64_t word = 0; word < sets.wordCount(); ++word)
      growth +=
          std::popcount(rowB[word] & ~rowA[word] & ~any[word]) - std::popcount(rowA[word] & ~rowB[word] & once[word]);
    return growth;
  }

  /// The weight that both windows gain. This takes twice as long as growthOfSwap(), which is enough where the weight of
  /// a window is the number of its columns.
  double growthOfWeight(int64_t a, int64_t b, const WindowWeights &weights) {
    const int64_t columnsA = columns[windowOf[a]], columnsB = columns[windowOf[b]];
    return weights.of(columnsA + growthOfFirst(a, b)) - weights.of(columnsA) +
           weights.of(columnsB + growthOfFirst(b, a)) - weights.of(columnsB);
  }

  void update(int64_t window) {
    uint64_t *any = anyOf(window), *once = onceOf(window);
    const int64_t first = shape.begin(window), end = shape.begin(window + 1);
    columns[window] = 0;
    for (int64_t word = 0; word < sets.wordCount(); ++word) {
      uint64_t one = 0, two = 0;
      for (int64_t i = first; i < end; ++i) {
        const uint64_t row = sets.of(rows[i])[word];
        two |= one & row;
        one |= row;
      }
      any[word] = one;
      columns[window] += std::popcount(one);
      once[word] = one & ~two;
    }
  }

  const RowSets &sets;
  std::vector<int32_t> rows;
  WindowShape shape;
  std::vector<int32_t> windowOf; // by position
  std::vector<int64_t> columns;  // by window
  std::vector<uint64_t> bits;
};

/// Simulated annealing: random swaps of rows. Those that add weight are accepted less and less often. The temperature
/// falls after each stage.
void anneal(Order &order, const WindowWeights &weights, int64_t operations, const OrderProgress &progress) {
  std::mt19937_64 random(1); // its numbers are the same everywhere
  auto below = [](uint64_t half, int64_t limit) { return int64_t((half & UINT32_MAX) * uint64_t(limit) >> 32); };
  const double columnsPerWindow = double(order.columnCount()) / double(order.windowCount());
  // Measured with windows of 3 to 24 rows: a warmer begin takes longer and ends no better.
  const double last = 0.15, first = std::max(std::sqrt(columnsPerWindow) / 16, last);
  int64_t effort = 0;
  for (int stage = 0; stage < orderStages; ++stage) {
    const double temperature = first * std::pow(last / first, double(stage) / (orderStages - 1));
    auto isAccepted = [&](double growth) {
      if (growth <= 0)
        return true;
      const double limit = growth / temperature;
      return limit < 16 && std::exp(-limit) > double(random() >> 11) * 0x1p-53;
    };
    while (effort < operations / orderStages * (stage + 1)) {
      const uint64_t bits = random();
      effort += order.trySwap(below(bits, order.rowCount()), below(bits >> 32, order.rowCount()), weights, isAccepted);
    }
    if (progress && !progress())
      return;
  }
}

#ifdef __x86_64__
/// Does the same with the instruction that counts bits. Not every x86-64 has it. Without it, two thirds of the time go
/// into these counts.
__attribute__((target("popcnt"), flatten)) void annealByPopcnt(Order &order, const WindowWeights &weights,
                                                               int64_t operations, const OrderProgress &progress) {
  anneal(order, weights, operations, progress);
}
#endif

void annealFast(Order &order, const WindowWeights &weights, int64_t operations, const OrderProgress &progress) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("popcnt"))
    return annealByPopcnt(order, weights, operations, progress);
#endif
  anneal(order, weights, operations, progress);
}

std::vector<int32_t> rowsByLength(const BlockPattern &pattern) {
  std::vector<int32_t> rows(pattern.blockRows);
  std::iota(rows.begin(), rows.end(), 0);
  auto length = [&](int32_t row) { return pattern.rowPtr[row + 1] - pattern.rowPtr[row]; };
  std::stable_sort(rows.begin(), rows.end(), [&](int32_t a, int32_t b) { return length(a) > length(b); });
  return rows;
}

} // namespace

std::vector<int32_t> orderRowsForWindows(const BlockPattern &pattern, const WindowShape &shape, double power,
                                         const OrderProgress &progress) {
  std::vector<int32_t> own(pattern.blockRows);
  std::iota(own.begin(), own.end(), 0);
  const int64_t blocks = pattern.rowPtr[pattern.blockRows], words = RowSets::wordCount(pattern);
  if (pattern.blockRows <= shape.groups || pattern.blockRows * words > std::max(wordsPerBlock * blocks, leastWords))
    return own;
  const RowSets sets(pattern);
  const Order unchanged(sets, own, shape);
  const auto columnsPerWindow = double(unchanged.columnCount()) / double(shape.count());
  const WindowWeights weights(pattern.blockColumns, std::max(columnsPerWindow, 1.0), power);
  // Rows of about the same length take about the same time, and long rows together need fewer columns than apart.
  const Order byLength(sets, rowsByLength(pattern), shape);
  Order order = byLength.weightBy(weights) <= unchanged.weightBy(weights) ? byLength : unchanged;
  const int64_t operations = std::max(operationsPerBlock * blocks, leastOperations);
  annealFast(order, weights, std::min(operations, swapsPerRow * pattern.blockRows * order.effortOfTry()), progress);
  return order.weightBy(weights) < unchanged.weightBy(weights) ? order.take() : own;
}

std::vector<int32_t> rowsOfWindows(const BlockPattern &pattern, int64_t groups, const RowOrder &order) {
  const WindowShape shape = {pattern.blockRows, groups, order.shortWindows};
  std::vector<int32_t> rows(pattern.blockRows);
  std::iota(rows.begin(), rows.end(), 0);
  if (order.mayReorder)
    rows = orderRowsForWindows(pattern, shape, order.power, order.progress);
  std::vector<int32_t> places(shape.count() * groups, -1);
  for (int64_t window = 0; window < shape.count(); ++window)
    std::copy(rows.begin() + shape.begin(window), rows.begin() + shape.begin(window + 1),
              places.begin() + window * groups);
  return places;
}

} // namespace sparsec::runtime
