// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/windows.h"
#include "operations/kernel_shape.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace sparsec::runtime {

namespace {

constexpr size_t maxInWindow = noWindowBlock;
constexpr int64_t maxBlockColumns = int64_t(1) << (32 - windowGroupBits);

constexpr uint32_t step(uint32_t column, uint32_t block) { return column | block << 16; }

/// Fills the sections, window after window. The arrays grow once for a window and are written by index: a branch for
/// each element, to grow or to see a new column, took most of the time.
class WindowBuilder {
public:
  explicit WindowBuilder(const WindowInput &input)
      : input(input), gatherer(input.pattern), products(input.groups), productCounts(input.groups) {
    windows.columnOffsets = windows.blockOffsets = windows.stepOffsets = {0};
    const auto blocks = size_t(input.pattern.count());
    windows.columns.reserve(blocks + 1);
    windows.blocks.reserve(blocks + 1);
    windows.steps.reserve(blocks + blocks / 4 + 1);
  }

  /// False where the window has more than the sections can number.
  bool add(const int32_t *rows);
  Windows finish();

private:
  void addBlocks(const std::vector<PlacedBlock> &blocks);
  void addSteps(int64_t group);
  void addColumns();

  const WindowInput &input;
  BlockGatherer gatherer;
  Windows windows;
  // The window that is being added has these.
  std::vector<uint32_t> columns;               // block columns
  std::vector<std::vector<uint32_t>> products; // the steps of each group that multiply, in the first places
  std::vector<size_t> productCounts;
};

void WindowBuilder::addBlocks(const std::vector<PlacedBlock> &blocks) {
  columns.resize(blocks.size());
  for (int64_t group = 0; group < input.groups; ++group) {
    products[group].resize(blocks.size());
    productCounts[group] = 0;
  }
  const size_t first = windows.blocks.size();
  windows.blocks.resize(first + blocks.size());
  size_t columnCount = 0;
  for (uint32_t number = 0; number < blocks.size(); ++number) {
    const PlacedBlock &each = blocks[number];
    columnCount += number == 0 || each.column != blocks[number - 1].column;
    columns[columnCount - 1] = each.column;
    products[each.place][productCounts[each.place]++] = step(uint32_t(columnCount - 1), number);
    windows.blocks[first + number] = {each.block, int32_t(each.column)};
  }
  columns.resize(columnCount);
}

/// Adds the steps of one group, with steps that only wait wherever it would skip too many columns. The limits at both
/// ends of a window add up to what may be skipped inside, so that windows may follow each other in any order.
void WindowBuilder::addSteps(int64_t group) {
  const auto count = int64_t(columns.size()), skippedAtEnd = input.slots / 2;
  const std::span<const uint32_t> ofGroup(products[group].data(), productCounts[group]);
  const size_t first = windows.steps.size();
  // A step that only waits passes over as many columns as there are slots, but for those at the ends.
  windows.steps.resize(first + ofGroup.size() + size_t(count / input.slots) + 2);
  uint32_t *end = windows.steps.data() + first;
  int64_t next = 0, limit = input.slots - input.slots / 2 - 1; // the next step is for a column in [next, limit]
  auto add = [&](uint32_t added) {
    *end++ = added;
    next = stepColumn(added) + 1;
    limit = next + input.slots - 1;
  };
  for (uint32_t product : ofGroup) {
    while (stepColumn(product) > limit)
      add(step(uint32_t(limit), noWindowBlock));
    add(product);
  }
  while (count != 0 && (next == 0 || count - next > skippedAtEnd)) {
    // The first column that ends the window: the group goes on to its epilogue then.
    const int64_t last = std::max<int64_t>(count - 1 - skippedAtEnd, 0);
    add(step(uint32_t(std::min(last, limit)), noWindowBlock));
  }
  windows.steps.resize(size_t(end - windows.steps.data()));
  windows.stepOffsets.push_back(int32_t(windows.steps.size()));
}

/// After the steps of all groups, which say how many groups use a column.
void WindowBuilder::addColumns() {
  const size_t first = windows.columns.size();
  windows.columns.resize(first + columns.size());
  uint32_t *entries = windows.columns.data() + first;
  for (size_t i = 0; i < columns.size(); ++i)
    entries[i] = columns[i] << windowGroupBits | uint32_t(input.groups);
  const auto begin = windows.stepOffsets.end() - input.groups - 1;
  for (int32_t number = *begin; number < windows.stepOffsets.back(); ++number)
    --entries[stepColumn(windows.steps[number])];
}

bool WindowBuilder::add(const int32_t *rows) {
  const std::vector<PlacedBlock> &blocks = gatherer.gather(rows, input.groups);
  windows.rows.insert(windows.rows.end(), rows, rows + input.groups);
  if (blocks.size() > maxInWindow)
    return false;
  addBlocks(blocks);
  for (int64_t group = 0; group < input.groups; ++group)
    addSteps(group);
  addColumns();
  windows.columnOffsets.push_back(int32_t(windows.columns.size()));
  windows.blockOffsets.push_back(int32_t(windows.blocks.size()));
  return int64_t(windows.steps.size()) < INT32_MAX - input.groups * int64_t(maxInWindow);
}

Windows WindowBuilder::finish() {
  // Readers may load one entry more than there are.
  windows.columns.push_back(0);
  windows.blocks.push_back({0, 0});
  windows.steps.push_back(0);
  return std::move(windows);
}

} // namespace

Windows makeWindows(const WindowInput &input) {
  if (input.pattern.blockRows == 0 || input.pattern.blockColumns > maxBlockColumns)
    return {};
  const std::vector<int32_t> rows = rowsOfWindows(input.pattern, input.groups, input.rowOrder);
  WindowBuilder builder(input);
  for (size_t first = 0; first < rows.size(); first += input.groups)
    if (!builder.add(rows.data() + first))
      return {};
  return builder.finish();
}

namespace {

/// The time that a window takes, in hundredths of the product of a block: it loads columns and multiplies blocks at the
/// same time. The numbers are whole or expected ones.
template <typename Number>
Number windowCost(Number columns, Number blocks, uint32_t columnCost, uint32_t tileOverhead) {
  return std::max(columnCost * columns, 100 * blocks) + 100 * Number(tileOverhead);
}

/// The costs of windows of `rows` block rows whose blocks are at random columns: a mean, and a standard deviation.
struct ExpectedCosts {
  ExpectedCosts(const BlockPattern &pattern, int64_t rows, const WindowLoad &load) {
    const auto width = double(pattern.blockColumns);
    const double density = double(pattern.count()) / (double(pattern.blockRows) * width);
    const double absence = std::pow(1 - density, double(rows)), columns = width * (1 - absence);
    const double blocks = double(rows) * density * width;
    if (load.areStreams) { // windows of so many rows cost nearly the same
      mean = load.columnCost * columns + 100 * (blocks + load.tileOverhead);
      return;
    }
    loadsBound = load.columnCost * columns > 100 * blocks;
    mean = windowCost(columns, blocks, load.columnCost, load.tileOverhead);
    deviation = loadsBound ? load.columnCost * std::sqrt(columns * absence) : 100 * std::sqrt(blocks * (1 - density));
  }
  bool loadsBound = false; // loads of columns take longer than the products
  double mean, deviation = 0;
};

/// The expected time of all tiles, where workers with many tiles have those that cost least. A worker has a single tile
/// only if the order of rows levels the windows (powerOfColumns).
double timeOfTiles(const WindowShape &shape, const std::vector<ExpectedCosts> &byRows, const WindowLoad &load) {
  const int64_t windows = shape.count();
  if (windows * load.panels <= load.workers)
    return byRows[shape.begin(1)].mean;
  std::vector<double> costs(windows);
  std::vector<int64_t> seen(byRows.size()), counts(byRows.size());
  auto rowsOf = [&](int64_t window) { return shape.begin(window + 1) - shape.begin(window); };
  for (int64_t window = 0; window < windows; ++window)
    ++counts[rowsOf(window)];
  for (int64_t window = 0; window < windows; ++window) {
    // Costs of as many rows are spread evenly around their mean, from -sqrt(3) to sqrt(3) deviations.
    const int64_t rows = rowsOf(window);
    const double place = (2 * double(seen[rows]++) + 1) / double(counts[rows]) - 1;
    costs[window] = byRows[rows].mean + std::sqrt(3.0) * place * byRows[rows].deviation;
  }
  std::sort(costs.begin(), costs.end());
  const int64_t tiles = windows * load.panels, most = ceilDivide(tiles, load.workers);
  const int64_t withMost = tiles - load.workers * (most - 1); // workers
  double sum = 0, sumOfLeast = 0;
  int64_t left = most * withMost;
  for (double cost : costs) {
    const int64_t taken = std::min(left, load.panels);
    left -= taken;
    sumOfLeast += cost * double(taken);
    sum += cost * double(load.panels);
  }
  return std::max(sum / double(load.workers), sumOfLeast / double(withMost));
}

} // namespace

int64_t chooseShortWindows(const BlockPattern &pattern, int64_t groups, const WindowLoad &load) {
  // With more tiles for a worker one of them is a small part of its time.
  constexpr int64_t mostTiles = 32, mostShortWindows = 40, fewTiles = 6;
  WindowShape shape = {pattern.blockRows, groups};
  const int64_t tiles = load.panels * shape.count();
  if (pattern.count() == 0 || groups < 2 || tiles == 0 || tiles > mostTiles * load.workers)
    return 0;
  std::vector<ExpectedCosts> costs;
  for (int64_t rows = 0; rows <= groups; ++rows)
    costs.emplace_back(pattern, rows, load);
  const bool haveFewTiles = tiles <= fewTiles * load.workers;
  if (costs.back().loadsBound && !haveFewTiles)
    return 0;
  int64_t best = 0; // short windows are the last ones
  double leastTime = timeOfTiles(shape, costs, load);
  const int64_t all = ceilDivide(pattern.blockRows, groups - 1), least = load.areStreams ? all : 1;
  const int64_t most = haveFewTiles || load.areStreams ? all : mostShortWindows;
  for (shape.shortWindows = least; shape.shortWindows <= std::min(most, shape.count()); ++shape.shortWindows)
    if (const double time = timeOfTiles(shape, costs, load); time < leastTime) {
      best = shape.shortWindows;
      leastTime = time;
    }
  return best;
}

double powerOfColumns(const WindowShape &shape, const WindowLoad &load) {
  constexpr double powerOfSingleTiles = 8; // a larger one needs more columns, and levels no further
  return shape.count() * load.panels <= load.workers ? powerOfSingleTiles : 1;
}

std::vector<uint32_t> windowCosts(const Windows &windows, uint32_t columnCost, uint32_t tileOverhead) {
  std::vector<uint32_t> costs(windows.count());
  for (size_t i = 0; i < costs.size(); ++i) {
    const uint64_t columns = windows.columnOffsets[i + 1] - windows.columnOffsets[i];
    const uint64_t blocks = windows.blockOffsets[i + 1] - windows.blockOffsets[i];
    costs[i] = uint32_t(std::min<uint64_t>(windowCost(columns, blocks, columnCost, tileOverhead), UINT32_MAX));
  }
  return costs;
}

} // namespace sparsec::runtime
