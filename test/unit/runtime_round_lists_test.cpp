// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of tiles that are made in rounds, as pure functions. test/device compares them with those of the machine
// kernel.

#include "plan/round_lists.h"

#include <gmock/gmock.h>
#include <numeric>
#include <random>

using namespace sparsec::runtime;

namespace {

using Tiles = std::vector<std::pair<uint32_t, uint32_t>>; // row, panel

TileLists roundListsOf(const std::vector<uint32_t> &rowCosts, int64_t panels, int64_t workers,
                       int64_t panelsAtOnce = 1) {
  const TileGrid grid = {1, int64_t(rowCosts.size()), panels};
  return makeRoundLists({rowCosts, grid, workers, /*groupRows=*/0, /*panelsPerUnit=*/1, panelsAtOnce});
}

Tiles tilesOfWorker(const TileLists &lists, size_t worker) {
  Tiles tiles;
  for (uint32_t i = lists.offsets[worker]; i < lists.offsets[worker + 1]; ++i)
    tiles.emplace_back(lists.tiles[i].row, lists.tiles[i].panel);
  return tiles;
}

std::vector<uint32_t> randomCosts(size_t rows, uint32_t seed, uint32_t least, uint32_t most) {
  std::mt19937 random(seed);
  std::vector<uint32_t> costs(rows);
  for (uint32_t &cost : costs)
    cost = least + random() % (most - least + 1);
  return costs;
}

TEST(RoundLists, EveryTileOnceInListsThatDifferByOne) {
  for (int64_t workers : {1, 3, 66, 132, 407})
    for (uint32_t most : {1u, 20u, 1000u}) {
      const TileLists lists = roundListsOf(randomCosts(37, most, 1, most), 11, workers, /*panelsAtOnce=*/1 + most % 7);
      ASSERT_EQ(lists.offsets.size(), size_t(workers + 1));
      Tiles all;
      for (int64_t worker = 0; worker < workers; ++worker) {
        const Tiles tiles = tilesOfWorker(lists, worker);
        EXPECT_EQ(int64_t(tiles.size()), 407 / workers + (worker < 407 % workers ? 1 : 0))
            << "so that a refill leaves the offsets as they are";
        all.insert(all.end(), tiles.begin(), tiles.end());
      }
      std::sort(all.begin(), all.end());
      Tiles wanted;
      for (uint32_t row = 0; row < 37; ++row)
        for (uint32_t panel = 0; panel < 11; ++panel)
          wanted.emplace_back(row, panel);
      EXPECT_EQ(all, wanted);
    }
}

/// Four rows in two panels on three workers. The first round has two tiles.
TEST(RoundLists, TheLeastLoadedWorkerGetsTheCostliestTile) {
  const TileLists lists = roundListsOf({5, 7, 4, 6}, 2, 3);
  // Rows 1 and 3 of panel 0. Then rows 0 and 2 of it and row 1 of panel 1: the worker without any gets row 1.
  EXPECT_EQ(tilesOfWorker(lists, 0), (Tiles{{1, 0}, {2, 0}, {0, 1}}));
  EXPECT_EQ(tilesOfWorker(lists, 1), (Tiles{{3, 0}, {0, 0}, {2, 1}}));
  EXPECT_EQ(tilesOfWorker(lists, 2), (Tiles{{1, 1}, {3, 1}}));
  EXPECT_DOUBLE_EQ(lists.balance, 44.0 / 3 / 16);
}

TEST(RoundLists, EqualCostsGoByTheirNumbers) {
  const TileLists lists = roundListsOf({3, 3, 3, 3}, 3, 4);
  // Two rounds are two panels, the last ones.
  EXPECT_EQ(tilesOfWorker(lists, 0), (Tiles{{0, 0}, {0, 1}, {2, 1}}));
  EXPECT_EQ(tilesOfWorker(lists, 1), (Tiles{{1, 0}, {0, 2}, {2, 2}}));
  EXPECT_EQ(tilesOfWorker(lists, 2), (Tiles{{2, 0}, {1, 1}, {3, 1}}));
  EXPECT_EQ(tilesOfWorker(lists, 3), (Tiles{{3, 0}, {1, 2}, {3, 2}}));
  EXPECT_EQ(lists.balance, 1);
}

TEST(RoundLists, TilesOfARowFollowEachOtherInPanelsThatRunAtOnce) {
  auto order = [](int64_t panels, int64_t panelsAtOnce) {
    return tilesOfWorker(roundListsOf({10, 12, 11}, panels, /*workers=*/1, panelsAtOnce), 0);
  };
  EXPECT_EQ(order(2, 2), (Tiles{{1, 0}, {1, 1}, {2, 0}, {2, 1}, {0, 0}, {0, 1}}));
  EXPECT_EQ(order(2, 5), order(2, 2));
  EXPECT_EQ(order(3, 2), (Tiles{{1, 0}, {1, 1}, {2, 0}, {2, 1}, {0, 0}, {0, 1}, {1, 2}, {2, 2}, {0, 2}}));
  EXPECT_EQ(roundListsOf({1, 2}, 3, 1, 2).panelsAtOnce, 2);
}

/// Two rows in six panels on four workers: the last four panels are the tiles of two rounds.
TEST(RoundLists, TheLastPanelsHaveTheTilesOfTwoRounds) {
  const TileLists lists = roundListsOf({5, 5}, 6, 4);
  EXPECT_EQ(tilesOfWorker(lists, 0), (Tiles{{0, 0}, {0, 2}, {1, 2}}));
  EXPECT_EQ(tilesOfWorker(lists, 3), (Tiles{{1, 1}, {0, 5}, {1, 5}}));
}

/// A round of all rows leaves as much uneven as the rows differ if loads were level before.
TEST(RoundLists, TheLastRoundsLevelWhatOneMoreLeaves) {
  std::vector<uint32_t> costs(32);
  std::iota(costs.begin(), costs.end(), 100);
  EXPECT_GE(roundListsOf(costs, 3, 32).balance, 0.99) << "one panel at a time leaves 0.96";
}

TEST(RoundLists, RowsOfMoreThanTwiceTheMiddleCostComeFirst) {
  // The middle row costs 10: of the rows that cost 21 and 22, half is more than 10 for one of them.
  const TileLists lists = roundListsOf({10, 22, 21, 10, 9}, 3, 1);
  EXPECT_EQ(tilesOfWorker(lists, 0), (Tiles{{1, 0},
                                            {1, 1},
                                            {1, 2},
                                            {2, 0},
                                            {0, 0},
                                            {3, 0},
                                            {4, 0},
                                            {2, 1},
                                            {0, 1},
                                            {3, 1},
                                            {4, 1},
                                            {2, 2},
                                            {0, 2},
                                            {3, 2},
                                            {4, 2}}));
}

TEST(RoundLists, OverflowingLoadsAreLegal) {
  const TileLists lists = roundListsOf(std::vector<uint32_t>(5, UINT32_MAX), 7, 3);
  EXPECT_EQ(lists.tiles.size(), 35u);
  EXPECT_DOUBLE_EQ(lists.balance, 35.0 / 3 / 12);
}

/// The shapes of 8192 cubed with blocks of 128, 64, 32 and 16, and rows that differ as those of random masks.
TEST(RoundLists, LoadsOfRandomRowsAreLevel) {
  struct Case {
    size_t rows;
    int64_t panels, workers;
    uint32_t spread; // percent of the mean
  };
  for (auto [rows, panels, workers, spread] :
       {Case{64, 16, 66, 60}, {43, 16, 66, 30}, {29, 64, 132, 20}, {43, 64, 132, 10}})
    for (uint32_t seed = 0; seed < 20; ++seed) {
      const std::vector<uint32_t> costs = randomCosts(rows, seed, 1000 - 10 * spread, 1000 + 10 * spread);
      EXPECT_GE(roundListsOf(costs, panels, workers).balance, 0.94) << rows << " rows, seed " << seed;
    }
}

/// The k-th row costs 1 / k of the first one, at most half of it: tiles of two rows take half of a worker's time.
TEST(RoundLists, LoadsOfSkewedRowsAreLevel) {
  std::vector<uint32_t> costs(64);
  for (uint32_t row = 0; row < 64; ++row)
    costs[row] = 20 + std::min(5000u, 10000 / (1 + row * 37 % 64));
  EXPECT_GE(roundListsOf(costs, 16, 66).balance, 0.93);
}

} // namespace
