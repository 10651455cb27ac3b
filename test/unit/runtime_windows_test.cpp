// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The windows of block rows as pure functions, against an independent model of what the sections say.

#include "plan/windows.h"
#include "runtime_block_pattern.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace sparsec::runtime;
using sparsec::test::Pattern;

namespace {

Windows windowsOf(const Pattern &pattern, int64_t groups, int64_t slots, bool mayReorderRows) {
  return makeWindows({pattern.view(), groups, slots, {mayReorderRows, {}}});
}

constexpr uint32_t noBlock = 65535;

struct Step {
  int64_t column, block;
};

/// Reads the sections as a machine kernel does.
struct Reader {
  const Windows &windows;
  int64_t groups;

  int64_t columnsOf(int64_t window) const { return windows.columnOffsets[window + 1] - windows.columnOffsets[window]; }
  std::vector<Step> stepsOf(int64_t window, int64_t group) const {
    std::vector<Step> steps;
    const int64_t list = window * groups + group;
    for (int32_t i = windows.stepOffsets[list]; i < windows.stepOffsets[list + 1]; ++i)
      steps.push_back({windows.steps[i] % 65536, windows.steps[i] / 65536});
    return steps;
  }
};

/// Every block row once, and -1 only behind the last.
void expectRowsOnce(const Windows &windows, int64_t blockRows, int64_t groups) {
  ASSERT_EQ(int64_t(windows.rows.size()), (blockRows + groups - 1) / groups * groups);
  std::set<int32_t> rows(windows.rows.begin(), windows.rows.begin() + blockRows);
  EXPECT_EQ(int64_t(rows.size()), blockRows);
  EXPECT_EQ(*rows.begin(), 0);
  EXPECT_EQ(*rows.rbegin(), blockRows - 1);
  EXPECT_TRUE(std::all_of(windows.rows.begin() + blockRows, windows.rows.end(), [](int32_t row) { return row == -1; }));
}

/// Offsets begin at 0, ascend, and end at the entries, which one more follows.
void expectOffsets(const std::vector<int32_t> &offsets, size_t lists, size_t entries) {
  ASSERT_EQ(offsets.size(), lists + 1);
  EXPECT_EQ(offsets.front(), 0);
  EXPECT_TRUE(std::is_sorted(offsets.begin(), offsets.end()));
  EXPECT_EQ(size_t(offsets.back()) + 1, entries);
}

/// The columns, blocks, products and counts of one window are those of its rows.
void expectWindow(const Pattern &pattern, const Windows &windows, int64_t groups, int64_t window) {
  std::map<int32_t, std::map<int64_t, int32_t>> model; // column -> group -> block
  for (int64_t group = 0; group < groups; ++group)
    if (int32_t row = windows.rows[window * groups + group]; row >= 0)
      for (int32_t block = pattern.rowPtr[row]; block < pattern.rowPtr[row + 1]; ++block)
        model[pattern.colIdx[block]][group] = block;
  const Reader reader = {windows, groups};
  ASSERT_EQ(reader.columnsOf(window), int64_t(model.size()));
  std::vector<std::map<int64_t, int64_t>> products(groups); // of each group: column -> block, numbers in the window
  int64_t column = 0, block = 0;
  for (const auto &[blockColumn, blocks] : model) {
    const uint32_t packed = windows.columns[windows.columnOffsets[window] + column];
    EXPECT_EQ(int32_t(packed / 8), blockColumn);
    int64_t absent = groups;
    for (int64_t group = 0; group < groups; ++group)
      for (const Step &step : reader.stepsOf(window, group))
        absent -= step.column == column;
    EXPECT_EQ(packed % 8, absent);
    for (auto [group, number] : blocks) {
      const WindowBlock &entry = windows.blocks[windows.blockOffsets[window] + block];
      EXPECT_EQ(entry.block, number);
      EXPECT_EQ(entry.column, blockColumn);
      products[group][column] = block++;
    }
    ++column;
  }
  EXPECT_EQ(windows.blockOffsets[window + 1] - windows.blockOffsets[window], block);
  for (int64_t group = 0; group < groups; ++group) {
    std::map<int64_t, int64_t> found;
    for (const Step &step : reader.stepsOf(window, group))
      if (step.block != noBlock)
        found[step.column] = step.block;
    EXPECT_EQ(found, products[group]);
  }
}

/// The columns of one window that a group skips: at its begin, between two steps at most, and at its end.
void expectGaps(const Reader &reader, int64_t window, int64_t slots) {
  const int64_t columns = reader.columnsOf(window);
  for (int64_t group = 0; group < reader.groups; ++group) {
    const std::vector<Step> steps = reader.stepsOf(window, group);
    ASSERT_EQ(steps.empty(), columns == 0);
    if (steps.empty())
      continue;
    EXPECT_LE(steps.front().column, slots - slots / 2 - 1);
    EXPECT_LE(columns - 1 - steps.back().column, slots / 2);
    for (size_t i = 1; i < steps.size(); ++i) {
      EXPECT_LT(steps[i - 1].column, steps[i].column);
      EXPECT_LT(steps[i].column - steps[i - 1].column - 1, slots);
    }
  }
}

/// Workers take windows in any order: no group ever skips as many columns as the ring has slots.
void expectGapsFromWindowToWindow(const Reader &reader, int64_t slots) {
  std::mt19937 random(5);
  std::vector<int64_t> position(reader.groups); // behind the last column that each group has had
  int64_t first = 0;
  for (int i = 0; i < 100; ++i) {
    const int64_t window = int64_t(random() % reader.windows.count());
    for (int64_t group = 0; group < reader.groups; ++group)
      for (const Step &step : reader.stepsOf(window, group)) {
        ASSERT_LT(first + step.column - position[group], slots);
        position[group] = first + step.column + 1;
      }
    first += reader.columnsOf(window);
  }
}

void expectRight(const Pattern &pattern, const Windows &windows, int64_t groups, int64_t slots) {
  ASSERT_FALSE(windows.isEmpty());
  expectRowsOnce(windows, pattern.blockRows(), groups);
  const size_t count = windows.rows.size() / groups;
  EXPECT_EQ(windows.count(), int64_t(count));
  expectOffsets(windows.columnOffsets, count, windows.columns.size());
  expectOffsets(windows.blockOffsets, count, windows.blocks.size());
  expectOffsets(windows.stepOffsets, count * groups, windows.steps.size());
  EXPECT_EQ(windows.blocks.size(), pattern.colIdx.size() + 1);
  const Reader reader = {windows, groups};
  for (int64_t window = 0; window < int64_t(count); ++window) {
    expectWindow(pattern, windows, groups, window);
    expectGaps(reader, window, slots);
  }
  expectGapsFromWindowToWindow(reader, slots);
}

TEST(Windows, SectionsSayWhatThePatternSays) {
  uint32_t seed = 0;
  for (int64_t groups : {1, 2, 3, 7})
    for (int64_t slots : {2, 3, 4, 5, 8})
      for (auto [blockRows, blockColumns] : {std::pair<int64_t, int64_t>{1, 1}, {7, 1}, {8, 40}, {23, 64}, {30, 130}})
        for (double density : {0.0, 0.02, 0.2, 0.7, 1.0})
          for (bool mayReorderRows : {false, true}) {
            SCOPED_TRACE(testing::Message() << groups << " groups, " << slots << " slots, " << blockRows << " x "
                                            << blockColumns << ", " << density << ", " << mayReorderRows);
            const Pattern pattern = Pattern::random(blockRows, blockColumns, density, 0.2, ++seed);
            expectRight(pattern, windowsOf(pattern, groups, slots, mayReorderRows), groups, slots);
            if (HasFatalFailure())
              return;
          }
}

TEST(Windows, AnExample) {
  // The second row has nothing, the first one needs column 9 long after column 0.
  const Pattern pattern(10, {{9, 0}, {}, {0, 1, 2, 3, 4, 5, 6}, {4}});
  const Windows windows = windowsOf(pattern, /*groups=*/3, /*slots=*/4, /*mayReorderRows=*/false);
  EXPECT_EQ(windows.rows, (std::vector<int32_t>{0, 1, 2, 3, -1, -1}));
  EXPECT_EQ(windows.columnOffsets, (std::vector<int32_t>{0, 8, 9}));
  EXPECT_EQ(windows.blockOffsets, (std::vector<int32_t>{0, 9, 10}));
  auto step = [](uint32_t column, uint32_t block) { return column + 65536 * block; };
  // A group may skip 1 column at the begin, 3 between steps, and 2 at the end of the 8.
  EXPECT_EQ(windows.stepOffsets, (std::vector<int32_t>{0, 3, 5, 12, 13, 14, 15}));
  EXPECT_EQ(windows.steps,
            (std::vector<uint32_t>{step(0, 0), step(4, noBlock), step(7, 8), step(1, noBlock), step(5, noBlock),
                                   step(0, 1), step(1, 2), step(2, 3), step(3, 4), step(4, 5), step(5, 6), step(6, 7),
                                   step(0, 0), step(0, noBlock), step(0, noBlock), 0}));
  // Column, and the groups without a step.
  EXPECT_EQ(windows.columns, (std::vector<uint32_t>{0 * 8 + 1, 1 * 8 + 1, 2 * 8 + 2, 3 * 8 + 2, 4 * 8 + 1, 5 * 8 + 1,
                                                    6 * 8 + 2, 9 * 8 + 2, 4 * 8 + 0, 0}));
  EXPECT_EQ(windows.blocks[0].block, 1);
  EXPECT_EQ(windows.blocks[1].block, 2);
  EXPECT_EQ(windows.blocks[8].block, 0);
  EXPECT_EQ(windows.blocks[8].column, 9);
}

TEST(Windows, NothingWaitsWhereEveryRowNeedsEverything) {
  const Pattern pattern = Pattern::random(12, 30, 1, 0, 1);
  const Windows windows = windowsOf(pattern, 3, 4, true);
  EXPECT_EQ(windows.steps.size(), pattern.colIdx.size() + 1);
  EXPECT_EQ(windows.columnCount(), 4 * 30);
}

TEST(Windows, NewOrderNeverNeedsMoreColumns) {
  uint32_t seed = 0;
  for (int64_t blockRows : {2, 3, 4, 16, 50, 128})
    for (double density : {0.03, 0.1, 0.5})
      for (double emptyRows : {0.0, 0.5}) {
        const Pattern pattern = Pattern::random(blockRows, 96, density, emptyRows, ++seed);
        const Windows own = windowsOf(pattern, 3, 5, false), ordered = windowsOf(pattern, 3, 5, true);
        EXPECT_LE(ordered.columnCount(), own.columnCount());
        EXPECT_EQ(ordered.rows, windowsOf(pattern, 3, 5, true).rows) << "the same input gives the same order";
      }
}

TEST(Windows, NewOrderSharesColumns) {
  // Measured: 1.49 blocks for each column of such patterns, 1.31 in their own order.
  const Pattern pattern = Pattern::random(128, 128, 0.25, 0, 1);
  EXPECT_LT(double(windowsOf(pattern, 3, 5, true).columnCount()),
            0.9 * double(windowsOf(pattern, 3, 5, false).columnCount()));
}

TEST(Windows, RowsThatNeedTheSameShareAWindow) {
  // Eight kinds of rows; row r is of kind r % 8, three rows of each.
  std::vector<std::vector<int32_t>> rows;
  for (int32_t row = 0; row < 24; ++row)
    for (int32_t column = 0; column < 5; ++column)
      (column == 0 ? rows.emplace_back() : rows.back()).push_back(row % 8 * 5 + column);
  const Windows windows = windowsOf(Pattern(40, rows), 3, 5, true);
  EXPECT_EQ(windows.columnCount(), 40);
  for (int64_t window = 0; window < windows.count(); ++window)
    for (int i = 1; i < 3; ++i)
      EXPECT_EQ(windows.rows[3 * window + i] % 8, windows.rows[3 * window] % 8);
}

TEST(Windows, RowsInTheirOwnOrder) {
  std::vector<int32_t> own(10);
  std::iota(own.begin(), own.end(), 0);
  const Pattern pattern = Pattern::random(10, 20, 0.3, 0.3, 1);
  EXPECT_EQ(windowsOf(pattern, 5, 5, false).rows, own);
  // So sparse that rows share nothing, and bits for all columns would take too much memory.
  const Pattern sparse(1 << 20, std::vector<std::vector<int32_t>>(10000, {3}));
  const Windows windows = windowsOf(sparse, 5, 5, true);
  EXPECT_TRUE(std::is_sorted(windows.rows.begin(), windows.rows.end()));
  EXPECT_EQ(windows.columnCount(), 2000);
}

TEST(Windows, ShortOnesHaveARowLess) {
  const Pattern pattern = Pattern::random(11, 20, 0.4, 0, 1);
  const int64_t groups = 3, slots = 5;
  const Windows own = makeWindows({pattern.view(), groups, slots, {false, {}, 2}});
  // Two full ones. The last row has a window of its own.
  EXPECT_EQ(own.rows, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, -1, 8, 9, -1, 10, -1, -1}));
  const Windows ordered = makeWindows({pattern.view(), groups, slots, {true, {}, 2}});
  EXPECT_LE(ordered.columnCount(), own.columnCount());
  std::multiset<int32_t> rows(ordered.rows.begin(), ordered.rows.end());
  for (int32_t row = 0; row < 11; ++row)
    EXPECT_EQ(rows.count(row), 1u);
  for (const Windows &windows : {own, ordered}) {
    ASSERT_EQ(windows.count(), 5);
    const Reader reader = {windows, groups};
    for (int64_t window = 0; window < windows.count(); ++window) {
      expectWindow(pattern, windows, groups, window);
      expectGaps(reader, window, slots);
    }
    expectGapsFromWindowToWindow(reader, slots);
  }
}

namespace {
/// The time of all tiles where the worker with the least load gets the next one.
uint64_t timeOf(const Windows &windows, const WindowLoad &load) {
  std::vector<uint64_t> loads(load.workers);
  for (int64_t panel = 0; panel < load.panels; ++panel)
    for (uint32_t cost : windowCosts(windows, load.columnCost, load.tileOverhead))
      *std::min_element(loads.begin(), loads.end()) += cost;
  return *std::max_element(loads.begin(), loads.end());
}
} // namespace

TEST(Windows, ShortOnesWhereTheyEndTheTilesFirst) {
  const WindowLoad load = {16, 66, 150, 2};
  auto windowsWith = [](const Pattern &pattern, int64_t count) {
    return makeWindows({pattern.view(), 3, 5, {false, {}, count}});
  };
  for (double density : {1.0, 0.7}) {
    const Pattern pattern = Pattern::random(128, 128, density, 0, 1);
    const int64_t chosen = chooseShortWindows(pattern.view(), 3, load);
    EXPECT_GT(chosen, 0);
    EXPECT_LT(timeOf(windowsWith(pattern, chosen), load), 0.99 * double(timeOf(windowsWith(pattern, 0), load)));
  }
  const Pattern dense = Pattern::random(128, 128, 1, 0, 1);
  EXPECT_EQ(chooseShortWindows(dense.view(), 3, {16, 43 * 16, 150, 2}), 0) << "a tile for each worker";
  EXPECT_EQ(chooseShortWindows(dense.view(), 3, {160, 66, 150, 2}), 0) << "many tiles for each worker";
  EXPECT_EQ(chooseShortWindows(dense.view(), 3, {16, 66, 301, 2}), 0) << "loads of columns bound";
  EXPECT_EQ(chooseShortWindows(Pattern::random(128, 128, 0.25, 0, 1).view(), 3, load), 0) << "here, too";
  const int64_t ofOnePanel = chooseShortWindows(Pattern::random(128, 128, 0.25, 0, 1).view(), 3, {1, 66, 150, 2});
  EXPECT_EQ((WindowShape{128, 3, ofOnePanel}.count()), 64) << "windows of two rows, one for nearly every worker";
  const Pattern sparse = Pattern::random(128, 128, 0.22, 0, 1);
  const WindowLoad fewTiles = {2, 66, 150, 2};
  const int64_t chosen = chooseShortWindows(sparse.view(), 3, fewTiles);
  EXPECT_LT(timeOf(windowsWith(sparse, chosen), fewTiles), 0.95 * double(timeOf(windowsWith(sparse, 0), fewTiles)))
      << "loads of columns bound, but some workers have two tiles and some one";
  EXPECT_EQ(chooseShortWindows(dense.view(), 1, load), 0) << "no row to spare";
  EXPECT_EQ(chooseShortWindows(Pattern(128, std::vector<std::vector<int32_t>>(128)).view(), 3, load), 0) << "no block";
}

/// Windows of nine rows, of a pattern with so many block rows and columns.
TEST(Windows, OfStreamsAreAllShortOrNone) {
  auto chosenFor = [](int64_t size, double density, int64_t panels) {
    const WindowLoad load = {panels, 132, 100, 2, /*areStreams=*/true};
    return chooseShortWindows(Pattern::random(size, size, density, 0, 1).view(), 9, load);
  };
  for (double density : {0.9, 0.5, 0.1, 0.05}) {
    EXPECT_EQ(chosenFor(128, density, 32), 16) << "3.9 tiles for each worker, of which four at most are shorter";
    EXPECT_EQ(chosenFor(256, density, 4), 32) << "one for each worker";
    EXPECT_EQ(chosenFor(256, density, 64), 0) << "many tiles are level as they are";
    EXPECT_EQ(chosenFor(160, density, 40), 0) << "seven for some workers, where six are as many rows";
  }
}

namespace {
int64_t mostColumns(const Windows &windows) {
  int64_t most = 0;
  for (int64_t window = 0; window < windows.count(); ++window)
    most = std::max<int64_t>(most, windows.columnOffsets[window + 1] - windows.columnOffsets[window]);
  return most;
}
} // namespace

TEST(Windows, AreLevelWhereEachWorkerHasOne) {
  const Pattern pattern = Pattern::random(128, 128, 0.22, 0, 1);
  auto windowsWith = [&](double power) { return makeWindows({pattern.view(), 3, 5, {true, {}, 64, power}}); };
  const Windows fewest = windowsWith(1), levelled = windowsWith(8);
  EXPECT_LE(fewest.columnCount(), levelled.columnCount());
  EXPECT_LT(double(mostColumns(levelled)), 0.95 * double(mostColumns(fewest)));
  EXPECT_LT(double(levelled.columnCount()), 1.05 * double(fewest.columnCount()));
  const WindowLoad load = {1, 66, 150, 2};
  EXPECT_GT(powerOfColumns({128, 3, 64}, load), 1) << "64 windows";
  EXPECT_EQ(powerOfColumns({128, 3, 58}, {1, 60, 150, 2}), 1) << "62 windows, 60 workers";
  EXPECT_EQ(powerOfColumns({128, 3, 64}, {2, 66, 150, 2}), 1) << "two panels";
}

TEST(Windows, NumbersThatDoNotFitGiveNone) {
  auto rowOf = [](int32_t count) {
    std::vector<int32_t> row(count);
    std::iota(row.begin(), row.end(), 0);
    return row;
  };
  EXPECT_FALSE(windowsOf(Pattern(70000, {rowOf(65535)}), 1, 5, false).isEmpty());
  EXPECT_TRUE(windowsOf(Pattern(70000, {rowOf(65536)}), 1, 5, false).isEmpty());
  const Pattern two(70000, {rowOf(32767), rowOf(32768)}), oneMore(70000, {rowOf(32768), rowOf(32768)});
  EXPECT_FALSE(windowsOf(two, 2, 5, false).isEmpty());
  EXPECT_TRUE(windowsOf(oneMore, 2, 5, false).isEmpty());
  EXPECT_FALSE(windowsOf(oneMore, 1, 5, false).isEmpty());
  EXPECT_FALSE(windowsOf(Pattern(1 << 29, {{(1 << 29) - 1}}), 1, 5, false).isEmpty());
  EXPECT_TRUE(windowsOf(Pattern((1 << 29) + 1, {{0}}), 1, 5, false).isEmpty());
  EXPECT_TRUE(windowsOf(Pattern(3, {}), 2, 5, true).isEmpty());
}

TEST(Windows, CostIsThatOfTheSlowerSide) {
  // 2 columns with 4 blocks; 3 columns with 3 blocks; nothing.
  const Windows windows = windowsOf(Pattern(5, {{0, 1}, {0, 1}, {0, 1, 2}, {}, {}, {}}), 2, 5, false);
  EXPECT_EQ(windowCosts(windows, 150, 0), (std::vector<uint32_t>{400, 450, 0}));
  EXPECT_EQ(windowCosts(windows, 201, 2), (std::vector<uint32_t>{602, 803, 200}));
  const Windows wide = windowsOf(Pattern::random(2, 65000, 1, 0, 1), 1, 5, false);
  EXPECT_EQ(windowCosts(wide, 65535, 65535), (std::vector<uint32_t>(2, 65535u * 65000 + 6553500)));
  EXPECT_EQ(windowCosts(windowsOf(Pattern::random(1, 65535, 1, 0, 1), 1, 5, false), 65535, 65535),
            (std::vector<uint32_t>{UINT32_MAX}));
}

/// The time of plans on the host: 8192 x 8192 with blocks of 64, and 100 352 blocks.
TEST(Windows, TimeForLargePatterns) {
  for (auto [rows, columns, density] :
       {std::tuple(128, 128, 0.1), {128, 128, 0.25}, {128, 128, 0.5}, {896, 1024, 0.11}})
    for (bool mayReorderRows : {false, true}) {
      const Pattern pattern = Pattern::random(rows, columns, density, 0, 1);
      auto begin = std::chrono::steady_clock::now();
      const Windows windows = windowsOf(pattern, 3, 5, mayReorderRows);
      double milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
      std::printf("%d x %d blocks, density %.2f, %s: %zu blocks, %lld columns (%.2f a column), %zu steps, %.2f ms\n",
                  rows, columns, density, mayReorderRows ? "reordered" : "own order", pattern.colIdx.size(),
                  static_cast<long long>(windows.columnCount()),
                  double(pattern.colIdx.size()) / double(windows.columnCount()), windows.steps.size() - 1,
                  milliseconds);
    }
}

} // namespace
