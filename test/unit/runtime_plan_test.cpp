// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tile lists as pure functions, and plans on the fake driver.

#include "plan/plan.h"
#include "plan/tile_lists.h"
#include "runtime_linear_fixture.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

std::vector<int32_t> rowPtrOf(const std::vector<int> &rowLengths) {
  std::vector<int32_t> rowPtr = {0};
  for (int length : rowLengths)
    rowPtr.push_back(rowPtr.back() + length);
  return rowPtr;
}

/// Lists of a pattern with these row lengths, one tile row for each block row.
TileLists tileListsOf(const std::vector<int> &rowLengths, int64_t blockColumns, int64_t panels, int64_t workers,
                      int64_t tilesPerBlockRow = 1, int64_t panelsPerUnit = 1, uint32_t tileOverhead = 2,
                      uint32_t groupedDensity = 70) {
  std::vector<int32_t> rowPtr = rowPtrOf(rowLengths);
  auto rows = int64_t(rowLengths.size());
  const TileGrid grid = {tilesPerBlockRow, rows * tilesPerBlockRow, panels};
  const bool isGrouped = isNearlyDense(rowPtr.back(), rows, blockColumns, groupedDensity);
  return makeTileLists({costsOfBlockRows(rowPtr.data(), grid, /*chunksPerBlock=*/1, tileOverhead), grid, workers,
                        isGrouped ? 16 : 0, panelsPerUnit});
}

std::vector<std::pair<uint32_t, uint32_t>> tilesOf(const TileLists &lists, size_t worker) {
  std::vector<std::pair<uint32_t, uint32_t>> tiles;
  for (uint32_t i = lists.offsets[worker]; i < lists.offsets[worker + 1]; ++i)
    tiles.emplace_back(lists.tiles[i].row, lists.tiles[i].panel);
  return tiles;
}

TEST(TileLists, EveryTileOnce) {
  std::mt19937 random(1);
  for (auto [workers, panelsPerUnit] :
       {std::pair<int64_t, int64_t>{1, 1}, {3, 1}, {66, 1}, {132, 1}, {3, 4}, {66, 4}}) {
    std::vector<int> lengths(37);
    for (int &length : lengths)
      length = int(random() % 20);
    TileLists lists = tileListsOf(lengths, 20, 11, workers, 2, panelsPerUnit);
    ASSERT_EQ(lists.offsets.size(), size_t(workers + 1));
    EXPECT_EQ(lists.offsets.front(), 0u);
    EXPECT_EQ(lists.offsets.back(), 37u * 2 * 11);
    EXPECT_TRUE(std::is_sorted(lists.offsets.begin(), lists.offsets.end()));
    std::set<std::pair<uint32_t, uint32_t>> all;
    for (int64_t w = 0; w < workers; ++w)
      for (auto tile : tilesOf(lists, w))
        all.insert(tile);
    EXPECT_EQ(all.size(), 37u * 2 * 11);
    EXPECT_LT(all.rbegin()->first, 37u * 2);
  }
}

TEST(TileLists, AllRowsOfAPanelBeforeTheNextPanel) {
  // One worker shows the order: in each panel the longest row first.
  TileLists lists = tileListsOf({1, 3, 2}, 10, 4, 1);
  using Tiles = std::vector<std::pair<uint32_t, uint32_t>>;
  EXPECT_EQ(tilesOf(lists, 0),
            (Tiles{{1, 0}, {2, 0}, {0, 0}, {1, 1}, {2, 1}, {0, 1}, {1, 2}, {2, 2}, {0, 2}, {1, 3}, {2, 3}, {0, 3}}));
}

TEST(TileLists, PanelsOfAUnitStayTogether) {
  using Tiles = std::vector<std::pair<uint32_t, uint32_t>>;
  TileLists lists = tileListsOf({1, 1}, 10, 5, 1, 1, /*panelsPerUnit=*/2);
  EXPECT_EQ(tilesOf(lists, 0), (Tiles{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {0, 4}, {1, 4}}));
  // The last unit is one tile: loads 2 and 1.
  EXPECT_DOUBLE_EQ(tileListsOf({1}, 10, 3, 2, 1, /*panelsPerUnit=*/2).balance, 1.5 / 2);
}

/// Four tiles for each worker, whose loads no swaps in a panel level. All sorted by cost they would be level, too.
TEST(TileLists, FewTilesAreLevelInTheOrderOfThePanels) {
  const std::vector<uint32_t> rowCosts = {6, 10, 10, 2, 12, 4, 8, 6, 8, 8,  6,  4,  6, 6,  10, 8,
                                          8, 4,  16, 6, 12, 8, 6, 8, 8, 12, 10, 14, 6, 10, 10, 8};
  const TileLists lists = makeTileLists({rowCosts, {1, 32, 8}, /*workers=*/66, /*groupRows=*/0, /*panelsPerUnit=*/1});
  EXPECT_GE(lists.balance, 0.95);
  for (size_t worker = 0; worker < 66; ++worker) {
    std::vector<uint32_t> panels;
    for (auto [row, panel] : tilesOf(lists, worker))
      panels.push_back(panel);
    EXPECT_TRUE(std::is_sorted(panels.begin(), panels.end())) << worker;
  }
}

/// Lists of three rows, the second one the longest, for one worker.
std::vector<std::pair<uint32_t, uint32_t>> tilesOfPanelsAtOnce(int64_t panels, int64_t panelsAtOnce,
                                                               int64_t groupRows = 0) {
  return tilesOf(makeTileLists({.rowCosts = {1, 3, 2},
                                .grid = {1, 3, panels},
                                .workers = 1,
                                .groupRows = groupRows,
                                .panelsPerUnit = 1,
                                .panelsAtOnce = panelsAtOnce}),
                 0);
}

TEST(TileLists, TilesOfARowFollowEachOtherInPanelsThatRunAtOnce) {
  using Tiles = std::vector<std::pair<uint32_t, uint32_t>>;
  EXPECT_EQ(tilesOfPanelsAtOnce(3, 2), (Tiles{{1, 0}, {1, 1}, {2, 0}, {2, 1}, {0, 0}, {0, 1}, {1, 2}, {2, 2}, {0, 2}}));
  EXPECT_EQ(tilesOfPanelsAtOnce(2, 5), (Tiles{{1, 0}, {1, 1}, {2, 0}, {2, 1}, {0, 0}, {0, 1}}));
  EXPECT_EQ(tilesOfPanelsAtOnce(2, 2, /*groupRows=*/3), tilesOfPanelsAtOnce(2, 1, /*groupRows=*/3));
}

TEST(TileLists, PanelsAtOnceReadTheFewestBytes) {
  for (double row : {1.0, 3.0, 40.0})
    for (double panel : {1.0, 16.0}) {
      // A launch of `workers` tiles reads p panels, and the blocks of workers / p rows.
      constexpr int64_t workers = 66;
      auto bytesOf = [&](double panels) { return panels * panel + double(workers) / panels * row; };
      const double best = panelsOfFewestBytes(workers, {row, panel});
      EXPECT_LT(bytesOf(best), bytesOf(1.01 * best));
      EXPECT_LT(bytesOf(best), bytesOf(best / 1.01));
    }
}

TEST(TileLists, LimitsOfPanelsAreThoseOfTheFewestBytesAndOfTheCache) {
  constexpr double large = 1e9;
  // A block has 1 byte for each of the tile rows: with 64 workers 10 blocks are as many bytes as one panel.
  const PanelLimits limits = panelLimits(64, {1, 640}, 100, large);
  EXPECT_EQ(limits.most, 100);
  EXPECT_EQ(limits.blocksOfOne, 10);
  for (double blocks : {10, 39, 40, 89, 90, 5000})
    EXPECT_EQ(choosePanelsAtOnce(limits, int64_t(blocks)), int64_t(panelsOfFewestBytes(64, {blocks, 640})));
  EXPECT_EQ(choosePanelsAtOnce(limits, 0), 1);
  EXPECT_EQ(choosePanelsAtOnce(limits, INT32_MAX), 100);
  EXPECT_EQ(panelLimits(64, {1, 7}, 100, 14).most, 2);
  EXPECT_EQ(panelLimits(64, {1, 7}, 100, 13.9).most, 1);
  EXPECT_EQ(panelLimits(64, {1, 7}, 100, 0).most, 1);
  EXPECT_EQ(panelLimits(64, {1, 7}, 1, 14).most, 1) << "one panel is all there is";
  EXPECT_EQ(panelLimits(64, {1, 7}, 100, 14).blocksOfOne, 1) << "less than a block";
  EXPECT_EQ(panelLimits(1, {1e-3, 1e9}, 100, large).blocksOfOne, INT32_MAX);
}

TEST(TileLists, NearlyDensePatternsGoInGroupsOf16Rows) {
  auto order = [](int length) { return tilesOf(tileListsOf(std::vector<int>(32, length), 10, 2, 1), 0); };
  auto grouped = order(7); // density 0.7
  EXPECT_EQ(grouped[15], std::pair(15u, 0u));
  EXPECT_EQ(grouped[16], std::pair(0u, 1u)) << "the next panel of the same group";
  EXPECT_EQ(grouped[32], std::pair(16u, 0u)) << "the next group";
  EXPECT_EQ(tilesOf(tileListsOf({7, 10}, 10, 1, 1), 0).front(), std::pair(1u, 0u)) << "the last tiles by falling cost";
  auto panels = order(6);
  EXPECT_EQ(panels[16], std::pair(16u, 0u));
  EXPECT_EQ(panels[32], std::pair(0u, 1u));
}

TEST(TileLists, LoadIsBalanced) {
  // Twenty rows of cost 4 and a last one of cost 62 on 2 workers. The long one comes first, and 16 short ones go to the
  // other worker before it has as much: 62 + 2 * 4 = 70 and 18 * 4 = 72, of 142 in all.
  std::vector<int> lengths(20, 2);
  lengths.push_back(60);
  EXPECT_DOUBLE_EQ(tileListsOf(lengths, 100, 1, 2).balance, 71.0 / 72);
  // All rows alike and as many tiles as workers: perfect.
  EXPECT_DOUBLE_EQ(tileListsOf(std::vector<int>(12, 5), 100, 1, 12).balance, 1.0);
  // One tile of cost 9 + 2 and one of 0 + 2: mean 6.5 of 11.
  EXPECT_DOUBLE_EQ(tileListsOf({9, 0}, 100, 1, 2).balance, 6.5 / 11);
}

TEST(TileLists, HeavyRowsOfTheLastPanelsBeginEarly) {
  // One row of 8 and ten rows of 1 in three panels. In the order of the panels, the last long tile begins when its
  // worker has 8 of its share, 13.5: balance .84. Among the last 16 tiles by falling cost it begins early.
  std::vector<int> lengths(11, 1);
  lengths.front() = 8;
  const TileLists lists = tileListsOf(lengths, 100, 3, 4, 1, 1, /*tileOverhead=*/0);
  EXPECT_DOUBLE_EQ(lists.balance, 13.5 / 14);
  EXPECT_EQ(lists.tiles.size(), 33u);
  std::set<std::pair<uint32_t, uint32_t>> all;
  for (const Tile &tile : lists.tiles)
    all.insert({tile.row, tile.panel});
  EXPECT_EQ(all.size(), 33u) << "every tile once";
  // Nothing makes this one better: it keeps the order of the panels.
  using Tiles = std::vector<std::pair<uint32_t, uint32_t>>;
  EXPECT_EQ(tilesOf(tileListsOf({10, 1}, 100, 2, 3, 1, 1, /*tileOverhead=*/0), 1), (Tiles{{1, 0}, {1, 1}}));
}

TEST(TileLists, TilesOfAPanelAreSwappedUntilLoadsAreLevel) {
  // 43 rows in 16 panels for 66 workers: some have 10 tiles and some 11, which have to be those that cost less.
  std::mt19937 random(1);
  std::vector<int> lengths(43);
  for (int &length : lengths)
    length = 50 + int(random() % 20);
  const TileLists lists = tileListsOf(lengths, 200, 16, 66);
  EXPECT_GT(lists.balance, 0.995);
  std::set<std::pair<uint32_t, uint32_t>> all;
  for (size_t worker = 0; worker < 66; ++worker) {
    const auto tiles = tilesOf(lists, worker);
    all.insert(tiles.begin(), tiles.end());
    EXPECT_TRUE(std::is_sorted(tiles.begin(), tiles.end(), [](auto a, auto b) { return a.second < b.second; }))
        << "panel after panel";
  }
  EXPECT_EQ(all.size(), 43u * 16) << "every tile once";
  // So are units of several panels, of which the last ones have fewer.
  const TileLists ofUnits = tileListsOf(lengths, 200, 39, 66, 1, /*panelsPerUnit=*/2);
  EXPECT_GT(ofUnits.balance, 0.99);
  uint64_t largest = 0, sum = 0;
  for (size_t worker = 0; worker < 66; ++worker) {
    uint64_t load = 0;
    for (auto [row, panel] : tilesOf(ofUnits, worker))
      load += lengths[row] + 2;
    largest = std::max(largest, load);
    sum += load;
  }
  EXPECT_DOUBLE_EQ(ofUnits.balance, double(sum) / 66 / double(largest));
}

TEST(TileLists, HeavyTilesGoFirst) {
  // Two rows of 100 and 62 of 2 in 16 panels: 32 heavy tiles, and a load of 236 for each of 22 workers. The last panels
  // have heavy tiles that would end long after the others, also if the last 88 tiles are sorted.
  std::vector<int> lengths(64, 2);
  lengths[10] = lengths[50] = 100;
  const TileLists lists = tileListsOf(lengths, 200, 16, 22, 1, 1, /*tileOverhead=*/0);
  EXPECT_GT(lists.balance, 0.95);
  EXPECT_EQ(lists.tiles.size(), 64u * 16);
  auto isHeavy = [](const std::pair<uint32_t, uint32_t> &tile) { return tile.first == 10 || tile.first == 50; };
  for (size_t worker = 0; worker < 22; ++worker) {
    const auto tiles = tilesOf(lists, worker);
    EXPECT_TRUE(std::is_partitioned(tiles.begin(), tiles.end(), isHeavy));
    const auto light = std::find_if_not(tiles.begin(), tiles.end(), isHeavy);
    EXPECT_TRUE(std::is_sorted(light, tiles.end(), [](auto a, auto b) { return a.second < b.second; }))
        << "the others go panel after panel";
  }
}

TEST(TileLists, OverheadCountsAsSteps) {
  auto balance = [](uint32_t overhead) { return tileListsOf({9, 0}, 100, 1, 2, 1, 1, overhead).balance; };
  EXPECT_DOUBLE_EQ(balance(0), 4.5 / 9);
  EXPECT_DOUBLE_EQ(balance(9), 13.5 / 18);
}

TEST(TileLists, GroupsFromAnyDensityOn) {
  auto isGrouped = [](int length, uint32_t density) {
    return tilesOf(tileListsOf(std::vector<int>(32, length), 10, 2, 1, 1, 1, 2, density), 0)[16] == std::pair(0u, 1u);
  };
  EXPECT_TRUE(isGrouped(6, 60));
  EXPECT_FALSE(isGrouped(6, 61));
  EXPECT_TRUE(isGrouped(0, 0));
  EXPECT_TRUE(isGrouped(10, 100));
  EXPECT_FALSE(isGrouped(10, 101)) << "never";
}

TEST(TileLists, DeepBlocksCountTheirChunks) {
  const std::vector<int32_t> rowPtr = {0, 2, 2};
  const TileGrid grid = {1, 2, 1};
  std::vector<uint32_t> costs = costsOfBlockRows(rowPtr.data(), grid, /*chunksPerBlock=*/4, /*tileOverhead=*/2);
  EXPECT_EQ(costs, (std::vector<uint32_t>{10, 2})) << "2 blocks of 4 steps and 2 for the rest, against 2";
  TileLists lists = makeTileLists({costs, grid, /*workers=*/2, /*groupRows=*/0, /*panelsPerUnit=*/1});
  EXPECT_DOUBLE_EQ(lists.balance, (10 + 2) / 2.0 / 10);
}

/// The tiles and their costs are whatever the caller says.
TEST(TileLists, OfAnyOrder) {
  const std::vector<Tile> order = {{3, 0}, {1, 2}, {0, 0}, {2, 1}, {5, 0}, {4, 4}};
  using Tiles = std::vector<std::pair<uint32_t, uint32_t>>;
  TileLists one = makeTileLists(order, {1, 9, 2, 5, 3, 5}, 1);
  EXPECT_EQ(tilesOf(one, 0), (Tiles{{3, 0}, {1, 2}, {2, 1}, {4, 4}, {5, 0}, {0, 0}})) << "the last 4 by falling cost";
  TileLists two = makeTileLists({order.begin() + 1, order.end()}, {9, 2, 5, 3, 5}, 2);
  EXPECT_EQ(tilesOf(two, 0), (Tiles{{1, 2}, {5, 0}})) << "9 and, when the other one has 10, 3";
  EXPECT_EQ(tilesOf(two, 1), (Tiles{{2, 1}, {4, 4}, {0, 0}})) << "5, 5 and 2";
  EXPECT_DOUBLE_EQ(two.balance, 1);
}

/// In a row by falling cost, and of equal costs the first panel first.
TEST(TileLists, RowByRow) {
  using Tiles = std::vector<std::pair<uint32_t, uint32_t>>;
  const TileGrid grid = {1, /*tileRows=*/2, /*panels=*/4};
  TileLists one = makeRowByRowLists({1, 3, 2, 3, 5, 4, 6, 4}, grid, 1);
  EXPECT_EQ(tilesOf(one, 0), (Tiles{{0, 1}, {0, 3}, {0, 2}, {0, 0}, {1, 2}, {1, 0}, {1, 1}, {1, 3}}));
}

TEST(TileLists, RowByRowWithALevelEnd) {
  using Tiles = std::vector<std::pair<uint32_t, uint32_t>>;
  const TileGrid grid = {1, /*tileRows=*/10, /*panels=*/1};
  TileLists last = makeRowByRowLists({19, 20, 20, 20, 20, 20, 20, 20, 1, 3}, grid, 2);
  EXPECT_EQ(tilesOf(last, 0), (Tiles{{0, 0}, {2, 0}, {4, 0}, {6, 0}, {9, 0}})) << "3 before 1";
  EXPECT_EQ(tilesOf(last, 1), (Tiles{{1, 0}, {3, 0}, {5, 0}, {7, 0}, {8, 0}}));
  TileLists few = makeRowByRowLists({1, 1, 1, 1, 1, 1, 1, 1, 2, 30}, grid, 2);
  EXPECT_EQ(tilesOf(few, 1), (Tiles{{1, 0}, {9, 0}})) << "34 and 6 otherwise: the last 8 are sorted";
  EXPECT_DOUBLE_EQ(few.balance, 20.0 / 31);
  TileLists all = makeRowByRowLists({8, 1, 2, 9}, {1, /*tileRows=*/4, /*panels=*/1}, 2);
  EXPECT_EQ(tilesOf(all, 0), (Tiles{{3, 0}, {1, 0}})) << "two tiles for each worker: all are sorted";
  EXPECT_EQ(tilesOf(all, 1), (Tiles{{0, 0}, {2, 0}}));
}

/// Workers that get tiles by falling cost have 5 + 4 and 5 + 3 + 3.
TEST(TileLists, WorkersSwapTilesOfARow) {
  TileLists row = makeRowByRowLists({5, 5, 4, 3, 3}, {1, /*tileRows=*/1, /*panels=*/5}, 2);
  EXPECT_DOUBLE_EQ(row.balance, 1) << "5 against 4";
  TileLists rows = makeRowByRowLists({5, 5, 4, 3, 3}, {1, /*tileRows=*/5, /*panels=*/1}, 2);
  EXPECT_DOUBLE_EQ(rows.balance, 10.0 / 11) << "there is no other tile in a row";
}

TEST(TileLists, MoreWorkersThanTiles) {
  TileLists lists = makeTileLists({{0, 0}, {7, 1}}, {1, 4}, 4);
  EXPECT_EQ(lists.offsets, (std::vector<uint32_t>{0, 1, 2, 2, 2}));
  EXPECT_EQ(tilesOf(lists, 0).front(), std::pair(7u, 1u));
  EXPECT_DOUBLE_EQ(lists.balance, 5.0 / 4 / 4);
}

class Plan : public LinearOnFake {
protected:
  void SetUp() override {
    LinearOnFake::SetUp();
    setArguments(128, 192, 1000);
    setPattern({{0, 2}, {1}});
  }

  void refuses(sparsec_status_code_t code, const std::string &message, const sparsec_blocks_t &broken) {
    ArgumentList changed = arguments;
    changed[w].blocks = broken;
    refusesPlan(code, message, changed);
  }
};

TEST_F(Plan, SaysWhatItIs) {
  ASSERT_OK(createPlan(arguments));
  sparsec_plan_info_t info = planInfo();
  EXPECT_EQ(info.order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(info.tiles, 4);
  EXPECT_EQ(info.workers, 4) << "no more than tiles";
  EXPECT_DOUBLE_EQ(info.balance, 3.5 / 4) << "costs 4, 3, 4, 3";
  EXPECT_EQ(info.bytes, 2 * 256) << "5 offsets and 4 tiles";
  EXPECT_EQ(info.workspace_bytes, 0);
  EXPECT_GT(info.milliseconds, 0);
  EXPECT_EQ(planInfo(1).tiles, 16);
  EXPECT_EQ(workspaceBytes(), 0u);
}

/// The image holds the costs that were measured on a chip.
TEST_F(Plan, HasTheCostsOfItsVariant) {
  LaunchInfoBuilder info = cudaLinear();
  info.planCost(SPARSEC_PLAN_COST_TILE_OVERHEAD) = 0;
  load(info);
  ASSERT_OK(createPlan(arguments));
  EXPECT_DOUBLE_EQ(planInfo(0).balance, 1.5 / 2) << "costs 2, 1, 2, 1";
  EXPECT_DOUBLE_EQ(planInfo(1).balance, 5.0 / 6) << "the fallback has costs of its own: two steps a block, and 2";
}

TEST_F(Plan, GroupsTilesFromTheDensityOfItsVariantOn) {
  // Whole panels begin with the longest row, groups of one row with the first row.
  auto firstRow = [&](uint32_t density) {
    LaunchInfoBuilder info = cudaLinear();
    info.planCost(SPARSEC_PLAN_COST_GROUPED_DENSITY) = density;
    load(info);
    setArguments(5 * 64, 192, 512 * 80);
    setPattern({{0}, {0}, {0}, {0}, {0, 1}}); // 6 of 15 blocks: 40 %
    EXPECT_OK(createPlan(arguments));
    return static_cast<const Tile *>(plan->variants[0].sections[SPARSEC_PLAN_TILES])->row;
  };
  EXPECT_EQ(firstRow(41), 4u);
  EXPECT_EQ(firstRow(40), 0u);
}

/// The fallback has a panel of 128 columns where the preferred variant's cluster has one of 512.
TEST_F(Plan, FallbackKeepsTilesOfAPreferredPanelTogether) {
  auto firstTiles = [&](int64_t blockRows, int64_t width) {
    setArguments(blockRows * 64, 192, width);
    setPattern(std::vector<std::vector<int32_t>>(blockRows, {1}));
    EXPECT_OK(createPlan(arguments));
    const auto *tiles = static_cast<const Tile *>(plan->variants[1].sections[SPARSEC_PLAN_TILES]);
    std::vector<std::pair<uint32_t, uint32_t>> first;
    first.reserve(4);
    for (int i = 0; i < 4; ++i)
      first.emplace_back(tiles[i].row, tiles[i].panel);
    return first;
  };
  using Tiles = std::vector<std::pair<uint32_t, uint32_t>>;
  EXPECT_EQ(firstTiles(4096, 2048), (Tiles{{0, 0}, {0, 1}, {0, 2}, {0, 3}}));
  Tiles few = firstTiles(512, 512);
  EXPECT_NE(few[0].first, few[1].first) << "8 tiles for a worker: evenness counts more";
}

TEST_F(Plan, EmptyProblems) {
  for (auto [m, width] : {std::pair<int64_t, int64_t>{0, 100}, {64, 0}}) {
    setArguments(m, 192, width);
    if (m)
      setPattern({{1}});
    else
      arguments[w].blocks.full.starts = nullptr;
    ASSERT_OK(createPlan(arguments));
    EXPECT_OK(launch());
    EXPECT_TRUE(fake.launches.empty());
  }
}

TEST_F(Plan, OutlivesItsModule) {
  ASSERT_OK(createPlan(arguments));
  sparsec_module_destroy(module);
  sparsec_device_destroy(device);
  module = nullptr;
  device = nullptr;
  EXPECT_EQ(fake.loadedModules, 1);
}

TEST_F(Plan, BadPatternsAreRefused) {
  const sparsec_blocks_t pattern = arguments[w].blocks;
  sparsec_blocks_t broken = pattern;
  colIdx[1] = 3;
  refuses(SPARSEC_STATUS_INVALID_PATTERN,
          "argument 0 'w': expects full.indices[1] (block row 0) to be 0 to 2, but got 3", pattern);
  colIdx[1] = 0;
  refuses(SPARSEC_STATUS_INVALID_PATTERN, "block column 0 is repeated", pattern);
  colIdx[1] = 2;
  rowPtr[1] = 4;
  refuses(SPARSEC_STATUS_INVALID_PATTERN,
          "expects full.starts[1], the end of list 0 (block row 0), to be 0 to the capacity, 3, but got 4", pattern);
  rowPtr[1] = 2;
  broken.block_rows = 32;
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "argument 0 'w': expects blocks of 64 x 64, but got 32 x 64", broken);
  broken = pattern;
  broken.rows = -1;
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "expects rows of 0 to 2147418111, but got -1", broken);
  broken = pattern;
  broken.full.starts = reinterpret_cast<const int32_t *>(2);
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "full.starts is not aligned", broken);
}

TEST_F(Plan, StaticSizes) {
  LaunchInfoBuilder info = cudaLinear();
  info.arguments[w].sizes[1] = 256;
  load(info);
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "argument 0 'w': expects 256 columns, but got 192", arguments[w].blocks);
}

TEST_F(Plan, FailuresAreReportedAndUndone) {
  for (const char *call :
       {"cuMemcpyDtoHAsync", "cuMemAlloc", "cuMemcpyHtoDAsync", "cuStreamSynchronize", "cuCtxPushCurrent"}) {
    fake.failures = {{call, CUDA_ERROR_OUT_OF_MEMORY}};
    refusesPlan(SPARSEC_STATUS_OUT_OF_MEMORY, "made to fail", arguments);
    fake.failures.clear();
  }
}

TEST_F(Plan, TimeForALargePattern) {
  // 100 352 blocks: 896 block rows of 64 with 112 blocks each, 1024 block columns, N = 8192.
  setArguments(896 * 64, 1024 * 64, 8192);
  std::vector<std::vector<int32_t>> rows(896);
  std::mt19937 random(1);
  for (auto &row : rows) {
    std::vector<int32_t> columns(1024);
    std::iota(columns.begin(), columns.end(), 0);
    std::shuffle(columns.begin(), columns.end(), random);
    row.assign(columns.begin(), columns.begin() + 112);
  }
  setPattern(rows);
  ASSERT_OK(createPlan(arguments));
  sparsec_plan_info_t info = planInfo();
  std::printf("plan of %zu blocks, %lld tiles (and 4 times as many for the fallback): %.2f ms, balance %.3f\n",
              colIdx.size(), static_cast<long long>(info.tiles), info.milliseconds, info.balance);
  EXPECT_GT(info.balance, 0.99);
}

} // namespace
