// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists that serve every width: as pure functions, and in plans and launches on the fake driver.

#include "plan/tile_lists.h"
#include "runtime_linear_fixture.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

/// The tiles that one worker computes of a result with so many panels: what emitTileLoop makes of the sections.
std::vector<std::pair<uint32_t, uint32_t>> walk(const uint32_t *offsets, const Tile *tiles, int64_t period,
                                                int64_t panels, size_t worker) {
  std::vector<std::pair<uint32_t, uint32_t>> done;
  for (int64_t first = 0; first < panels; first += period)
    for (uint32_t i = offsets[worker]; i < offsets[worker + 1] && first + tiles[i].panel < panels; ++i)
      done.emplace_back(tiles[i].row, uint32_t(first + tiles[i].panel));
  return done;
}

/// Lists of a period for block rows of these lengths.
class Lists {
public:
  Lists(const std::vector<int> &rowLengths, int64_t blockColumns, int64_t period, int64_t workers,
        int64_t tilesPerBlockRow = 1, uint32_t groupedDensity = 70)
      : workers(workers), tilesPerBlockRow(tilesPerBlockRow), rowLengths(rowLengths) {
    std::vector<int32_t> rowPtr(1);
    for (int length : rowLengths)
      rowPtr.push_back(rowPtr.back() + length);
    const TileGrid grid = {tilesPerBlockRow, rows(), period};
    const bool isGrouped = isNearlyDense(rowPtr.back(), int64_t(rowLengths.size()), blockColumns, groupedDensity);
    lists = makePeriodicLists({costsOfBlockRows(rowPtr.data(), grid, /*chunksPerBlock=*/1, /*tileOverhead=*/2), grid,
                               workers, isGrouped ? 16 : 0, /*panelsPerUnit=*/1});
  }

  int64_t rows() const { return int64_t(rowLengths.size()) * tilesPerBlockRow; }
  std::vector<std::pair<uint32_t, uint32_t>> tilesOf(size_t worker, int64_t panels) const {
    return walk(lists.offsets.data(), lists.tiles.data(), lists.period, panels, worker);
  }
  /// As the plan counts: a step for every block, and two for the tile.
  int64_t costOf(uint32_t row) const { return rowLengths[row / tilesPerBlockRow] + 2; }
  std::vector<int64_t> loads(int64_t panels) const {
    std::vector<int64_t> result(workers);
    for (int64_t w = 0; w < workers; ++w)
      for (auto [row, panel] : tilesOf(w, panels))
        result[w] += costOf(row);
    return result;
  }

  int64_t workers, tilesPerBlockRow;
  std::vector<int> rowLengths;
  TileLists lists;
};

/// Few rows are long, and some are empty.
std::vector<int> skewedRows(size_t count) {
  std::mt19937 random(7);
  std::vector<int> lengths(count);
  for (int &length : lengths)
    length = int(200 / (1 + random() % 100)) - (random() % 3 == 0 ? 1 : 0);
  lengths[count / 2] = 0;
  return lengths;
}

TEST(PeriodicLists, EveryTileOfEveryWidthOnce) {
  struct Case {
    int64_t workers, period, tilesPerBlockRow;
  };
  for (auto [workers, period, tilesPerBlockRow] : {Case{1, 1, 1}, {3, 4, 1}, {66, 5, 2}, {132, 2, 1}, {132, 9, 2}}) {
    const Lists lists(skewedRows(37), 1000, period, workers, tilesPerBlockRow);
    EXPECT_EQ(lists.lists.period, period);
    EXPECT_EQ(lists.lists.tiles.size(), size_t(lists.rows() * period));
    for (int64_t panels = 1; panels <= 3 * period; ++panels) {
      std::vector<std::pair<uint32_t, uint32_t>> all;
      for (int64_t w = 0; w < workers; ++w)
        for (auto tile : lists.tilesOf(w, panels))
          all.push_back(tile);
      std::sort(all.begin(), all.end());
      ASSERT_EQ(all.size(), size_t(lists.rows() * panels)) << panels << " panels";
      EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "no tile twice";
      EXPECT_EQ(all.back().first, lists.rows() - 1);
      auto isBeyond = [&](auto tile) { return tile.second >= panels; };
      EXPECT_TRUE(std::none_of(all.begin(), all.end(), isBeyond));
    }
  }
}

/// The bound of list scheduling (Graham 1969), which holds after every panel of a period: the worker that ends last had
/// the least load when it got its last tile.
TEST(PeriodicLists, LoadsAreLevelAfterEveryPanel) {
  for (int64_t workers : {3, 66, 132}) {
    const Lists lists(skewedRows(100), 1000, choosePeriod(100, workers), workers);
    int64_t rowSum = 0, largestCost = 0;
    for (uint32_t row = 0; row < 100; ++row) {
      rowSum += lists.costOf(row);
      largestCost = std::max(largestCost, lists.costOf(row));
    }
    double slack = double(largestCost) * double(workers - 1) / double(workers);
    for (int64_t panels = 1; panels <= lists.lists.period; ++panels) {
      std::vector<int64_t> loads = lists.loads(panels);
      ASSERT_EQ(std::accumulate(loads.begin(), loads.end(), int64_t(0)), rowSum * panels);
      double mean = double(rowSum * panels) / double(workers);
      EXPECT_LE(double(*std::max_element(loads.begin(), loads.end())), mean + slack + 1e-9) << panels << " panels";
    }
    // Rounds add up: two and a half periods are off by three times as much at most.
    int64_t panels = lists.lists.period * 5 / 2;
    std::vector<int64_t> loads = lists.loads(panels);
    double mean = double(rowSum * panels) / double(workers);
    EXPECT_LE(double(*std::max_element(loads.begin(), loads.end())), mean + 3 * slack + 1e-9);
  }
}

/// Rows whose lengths differ by up to twice their mean: 64 tiles for a worker are off by less than one of them.
TEST(PeriodicLists, RandomRowsAreLevelToOnePercent) {
  std::mt19937 random(3);
  std::vector<int> lengths(128);
  for (int &length : lengths)
    length = int(random() % 41);
  const Lists lists(lengths, 1000, choosePeriod(128, 132), 132);
  for (int64_t panels : {lists.lists.period, 3 * lists.lists.period}) {
    std::vector<int64_t> loads = lists.loads(panels);
    auto sum = double(std::accumulate(loads.begin(), loads.end(), int64_t(0)));
    EXPECT_LE(double(*std::max_element(loads.begin(), loads.end())), 1.01 * sum / 132);
  }
}

/// One worker shows the order: panel after panel, rows by falling cost, those of one cost in their order.
TEST(PeriodicLists, RowsOfAPanelByFallingCost) {
  using Tiles = std::vector<std::pair<uint32_t, uint32_t>>;
  EXPECT_EQ(Lists({1, 3, 0, 3}, 10, 2, 1).tilesOf(0, 2),
            (Tiles{{1, 0}, {3, 0}, {0, 0}, {2, 0}, {1, 1}, {3, 1}, {0, 1}, {2, 1}}));
  EXPECT_EQ(Lists({1, 3}, 10, 1, 1, /*tilesPerBlockRow=*/2).tilesOf(0, 1), (Tiles{{2, 0}, {3, 0}, {0, 0}, {1, 0}}));
}

/// Costs are compared to 16 bits: 200002 and 200003 are the same then, 102 and 2 are not.
TEST(PeriodicLists, HugeCosts) {
  const Lists lists({100, 200000, 200001, 0}, 1000000, 3, 2);
  using Tiles = std::vector<std::pair<uint32_t, uint32_t>>;
  EXPECT_EQ(lists.tilesOf(0, 1), (Tiles{{1, 0}, {3, 0}}));
  EXPECT_EQ(lists.tilesOf(1, 1), (Tiles{{2, 0}, {0, 0}}));
  EXPECT_EQ(lists.tilesOf(0, 3).size() + lists.tilesOf(1, 3).size(), 12u);
}

/// A launch with fewer tiles than workers has only the first ones.
TEST(PeriodicLists, FirstTilesGoToTheFirstWorkers) {
  const Lists lists(skewedRows(10), 1000, 40, 132);
  for (int64_t panels : {1, 2, 13}) {
    for (int64_t w = 0; w < 132; ++w)
      EXPECT_EQ(lists.tilesOf(w, panels).size(), w < 10 * panels ? 1u : 0u) << "worker " << w;
  }
}

TEST(PeriodicLists, NoneWhereTheRasterIsBetter) {
  EXPECT_TRUE(Lists(std::vector<int>(32, 7), 10, 2, 4).lists.tiles.empty()) << "density 0.7";
  EXPECT_FALSE(Lists(std::vector<int>(32, 6), 10, 2, 4).lists.tiles.empty());
  EXPECT_TRUE(Lists(std::vector<int>(32, 6), 10, 2, 4, 1, /*groupedDensity=*/60).lists.tiles.empty());
  EXPECT_FALSE(Lists(std::vector<int>(32, 10), 10, 2, 4, 1, /*groupedDensity=*/101).lists.tiles.empty());
  EXPECT_TRUE(Lists({}, 10, 2, 4).lists.tiles.empty()) << "no rows";
}

TEST(PeriodicLists, PeriodsHaveEnoughTilesForEveryWorker) {
  EXPECT_EQ(choosePeriod(128, 132), 66) << "64 tiles for each";
  EXPECT_EQ(choosePeriod(100, 132), 99) << "85 would do, but 33 panels are 25 tiles for each";
  EXPECT_EQ(choosePeriod(1, 132), 64 * 132);
  EXPECT_EQ(choosePeriod(8448, 132), 1);
  EXPECT_EQ(choosePeriod(8449, 132), 1) << "a multiple of the workers would take 132 panels";
  EXPECT_EQ(choosePeriod(1000000, 132), 1);
  EXPECT_EQ(choosePeriod(7, 1), 10);
}

TEST(PeriodicLists, EqualRowsAreLevel) {
  EXPECT_DOUBLE_EQ(Lists(std::vector<int>(100, 5), 100, choosePeriod(100, 132), 132).lists.balance, 1);
  EXPECT_DOUBLE_EQ(Lists({9, 0}, 100, 1, 2).lists.balance, 6.5 / 11) << "costs 11 and 2";
}

//===----------------------------------------------------------------------===//
// Plans and launches
//===----------------------------------------------------------------------===//

class OpenWidth : public LinearOnFake {
protected:
  void SetUp() override {
    LinearOnFake::SetUp();
    setSizes(10, 1000);
    fake.parameterCount = 14;
  }

  /// Block row i of 5 block columns has i % 4 blocks.
  void setSizes(int64_t blockRows, int64_t width) {
    setArguments(blockRows * 64, 320, width);
    arguments[x].dense.data = at(uintptr_t(1) << 44); // room for any width
    arguments[y].dense.data = at(uintptr_t(1) << 50);
    std::vector<std::vector<int32_t>> rows(blockRows);
    for (int64_t i = 0; i < blockRows; ++i)
      for (int32_t column = 0; column < i % 4; ++column)
        rows[i].push_back(column);
    setPattern(rows);
  }

  Status createOpenPlan() {
    ArgumentList open(arguments.size());
    open[w] = arguments[w];
    return createPlan(open);
  }

  /// Every tile of the launch's grid is one CTA's or cluster's, by the parameters that it got.
  void expectEveryTileOnce(const FakeLaunch &launch, int64_t tileRows, int64_t panels, size_t firstWord,
                           unsigned cluster) {
    const auto *offsets = reinterpret_cast<const uint32_t *>(launch.words[firstWord]);
    const auto *tiles = reinterpret_cast<const Tile *>(launch.words[firstWord + 1]);
    ASSERT_NE(offsets, nullptr);
    EXPECT_EQ(uint32_t(launch.words[firstWord + 2]), tileRows);
    ASSERT_EQ(uint32_t(launch.words[firstWord + 3]), panels);
    auto period = int64_t(uint32_t(launch.words[firstWord + 4]));
    EXPECT_EQ(period, choosePeriod(tileRows, planInfo(firstWord == 8).workers));
    std::set<std::pair<uint32_t, uint32_t>> all;
    size_t count = 0;
    for (unsigned worker = 0; worker < launch.gridX / cluster; ++worker)
      for (auto tile : walk(offsets, tiles, period, panels, worker)) {
        all.insert(tile);
        ++count;
      }
    EXPECT_EQ(count, size_t(tileRows * panels));
    EXPECT_EQ(all.size(), count);
  }
};

TEST_F(OpenWidth, SaysWhatItIs) {
  ASSERT_OK(createOpenPlan());
  sparsec_plan_info_t info = planInfo();
  EXPECT_EQ(info.order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(info.workers, 66) << "all clusters of two CTAs that fit at once";
  EXPECT_EQ(info.tiles, SPARSEC_DYNAMIC);
  // 64 * 66 / 10 is 423 panels, 429 are a multiple of the 33 of which each worker gets 5 tiles.
  EXPECT_EQ(info.bytes, 512 + 429 * 10 * 8 + 256 - 429 * 10 * 8 % 256);
  EXPECT_GT(info.balance, 0.98);
  EXPECT_LE(info.balance, 1);
  EXPECT_EQ(info.workspace_bytes, 0);
  EXPECT_EQ(planInfo(1).order, SPARSEC_TILE_ORDER_LISTS) << "and so has the fallback";
  EXPECT_EQ(planInfo(1).workers, 264) << "two CTAs on each of 132 SMs";
}

TEST_F(OpenWidth, ServesEveryLaunch) {
  ASSERT_OK(createOpenPlan());
  for (int64_t width : {8, 512, 520, 1000, 8192, 512 * 429, 512 * 1000 + 8}) {
    SCOPED_TRACE(width);
    setSizes(10, width);
    ASSERT_OK(launch());
    int64_t panels = (width + 511) / 512;
    EXPECT_EQ(fake.launches.back().function, "linear_aligned");
    EXPECT_EQ(fake.launches.back().gridX, 2 * std::min<int64_t>(66, 10 * panels)) << "no more clusters than tiles";
    expectEveryTileOnce(fake.launches.back(), 10, panels, 9, 2);
  }
  // Odd widths take the fallback, which has a plan of its own.
  fake.parameterCount = 13;
  for (int64_t width : {1, 127, 129, 4097}) {
    SCOPED_TRACE(width);
    setSizes(10, width);
    ASSERT_OK(launch());
    EXPECT_EQ(fake.launches.back().function, "linear_any");
    expectEveryTileOnce(fake.launches.back(), 10, (width + 127) / 128, 8, 1);
  }
}

TEST_F(OpenWidth, OtherMatricesAreRefused) {
  ASSERT_OK(createOpenPlan());
  setSizes(9, 1000);
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT,
                "plan is for M 640, N open, K 320, blocks 13, but the launch has M 576, N 1000, K 320, blocks 12");
}

/// Kernels count tiles in 32 bits, whatever the plan.
TEST_F(OpenWidth, TilesAreCounted) {
  setSizes(1024, 512);
  ASSERT_OK(createOpenPlan());
  EXPECT_OK(launch());
  for (int tensor : {x, y}) {
    arguments[tensor].dense.sizes[1] = 2147418111;
    arguments[tensor].dense.strides[0] = 2147418111;
  }
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, "at most 2147418111 are possible");
}

/// Without a plan and with one for the width the lists, if any, cover all panels.
TEST_F(OpenWidth, OtherLaunchesHaveOneRound) {
  ASSERT_OK(launch());
  EXPECT_EQ(uint32_t(fake.launches.back().words[13]), 2u);
  ASSERT_OK(createPlan(arguments));
  ASSERT_OK(launch());
  EXPECT_NE(fake.launches.back().words[9], 0u);
  EXPECT_EQ(uint32_t(fake.launches.back().words[13]), 2u);
}

TEST_F(OpenWidth, LaunchersRunAsLaunchesDo) {
  ASSERT_OK(createOpenPlan());
  setSizes(10, 512 * 500);
  ASSERT_OK(launch());
  const FakeLaunch launched = fake.launches.back();
  const ArgumentArray array(arguments);
  auto options = sized<sparsec_launch_options_t>();
  sparsec_launcher_t launcher = nullptr;
  ASSERT_EQ(sparsec_launcher_create(kernel, plan, array.data(), array.size(), &options, &launcher), nullptr);
  for (bool isRebound : {false, true}) {
    if (isRebound) {
      ASSERT_EQ(sparsec_launcher_rebind(launcher, array.data(), array.size()), nullptr);
    }
    ASSERT_EQ(sparsec_launcher_run(launcher, nullptr), nullptr);
    const FakeLaunch &run = fake.launches.back();
    EXPECT_EQ(run.gridX, launched.gridX);
    EXPECT_TRUE(std::equal(run.words.begin() + 9, run.words.end(), launched.words.begin() + 9));
  }
  sparsec_launcher_destroy(launcher);
}

/// A kernel that runs its list once would miss tiles, or compute others: it has lists for a known width only.
TEST_F(OpenWidth, KernelsWithoutAPeriodHaveNoSuchLists) {
  LaunchInfoBuilder info = cudaLinear();
  --info.stages[0].parameter_count; // the last one is the period
  load(info);
  ASSERT_OK(createOpenPlan());
  EXPECT_EQ(planInfo(0).order, SPARSEC_TILE_ORDER_FIXED);
  EXPECT_EQ(planInfo(0).workers, SPARSEC_DYNAMIC);
  EXPECT_EQ(planInfo(0).bytes, 0);
  EXPECT_EQ(planInfo(1).order, SPARSEC_TILE_ORDER_LISTS);
}

TEST_F(OpenWidth, NoListsForNearlyDenseAndForNoRows) {
  setArguments(128, 192, 1000);
  setPattern({{0, 1, 2}, {0, 2}});
  ASSERT_OK(createOpenPlan());
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_FIXED) << "density 5/6";
  EXPECT_OK(launch());
  setArguments(0, 192, 1000);
  arguments[w].blocks.full.starts = nullptr;
  ASSERT_OK(createOpenPlan());
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_FIXED);
}

/// The density is a number of the image.
TEST_F(OpenWidth, ListsForTheDenseWhereTheImageSaysSo) {
  LaunchInfoBuilder info = cudaLinear();
  info.planCost(SPARSEC_PLAN_COST_GROUPED_DENSITY) = 101;
  load(info);
  setArguments(128, 192, 1000);
  setPattern({{0, 1, 2}, {0, 1, 2}});
  ASSERT_OK(createOpenPlan());
  EXPECT_EQ(planInfo(0).order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(planInfo(1).order, SPARSEC_TILE_ORDER_FIXED) << "the fallback has 70 %";
}

TEST_F(OpenWidth, TimeForALargePattern) {
  // 100 352 blocks: 896 block rows of 64 with 112 blocks each.
  setArguments(896 * 64, 1024 * 64, 8192);
  std::vector<std::vector<int32_t>> rows(896, std::vector<int32_t>(112));
  for (auto &row : rows)
    std::iota(row.begin(), row.end(), 0);
  setPattern(rows);
  ASSERT_OK(createOpenPlan());
  std::printf("plan of %zu blocks for every width: %.2f ms, %lld bytes\n", colIdx.size(), planInfo().milliseconds,
              static_cast<long long>(planInfo().bytes));
  EXPECT_GT(planInfo().balance, 0.99);
}

} // namespace
