// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of tiles that are cut along K, as pure functions.

#include "plan/cut_lists.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <random>

using namespace sparsec::runtime;

namespace {

constexpr CutCosts costs = {.chunksPerBlock = 2, .tileOverhead = 2, .sum = 3, .leastGain = 2};

struct Problem {
  std::vector<Tile> order; // panel by panel
  std::vector<uint32_t> rowCosts;
  int64_t workers;

  Problem(const std::vector<uint32_t> &blocks, uint32_t panels, int64_t workers) : workers(workers) {
    for (uint32_t count : blocks)
      rowCosts.push_back(count * costs.chunksPerBlock + costs.tileOverhead);
    for (uint32_t panel = 0; panel < panels; ++panel)
      for (uint32_t row = 0; row < blocks.size(); ++row)
        order.push_back({row, panel});
  }
  /// The load of a worker with one tile more than others, where all cost the same.
  uint64_t wholeLoad() const {
    return (order.size() + workers - 1) / workers * *std::max_element(rowCosts.begin(), rowCosts.end());
  }
  CutLists cut() const { return cut(wholeLoad()); }
  CutLists cut(uint64_t load, bool areRestsResumed = false, uint32_t listBlocks = 1) const {
    std::vector<uint32_t> orderedCosts;
    orderedCosts.reserve(order.size());
    for (const Tile &tile : order)
      orderedCosts.push_back(rowCosts[tile.row]);
    return makeCutLists({order, orderedCosts, costs, workers, load, areRestsResumed, listBlocks});
  }
  uint32_t blocksOf(uint32_t row) const { return (rowCosts[row] - costs.tileOverhead) / costs.chunksPerBlock; }
};

/// Each tile is whole in one list, or its first blocks are in one and the others last in the next.
void expectEveryBlockOnce(const Problem &problem, const CutLists &lists) {
  ASSERT_EQ(lists.offsets.size(), size_t(problem.workers + 1));
  ASSERT_EQ(lists.offsets.back(), lists.tiles.size());
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> covered;
  const CutTile *cut = nullptr; // by the worker before
  for (int64_t w = 0; w < problem.workers; ++w) {
    const CutTile *first = nullptr;
    for (uint32_t i = lists.offsets[w]; i < lists.offsets[w + 1]; ++i) {
      const CutTile &each = lists.tiles[i];
      uint32_t &blocks = covered[{each.tile.row, each.tile.panel}];
      EXPECT_EQ(blocks, each.first);
      EXPECT_GT(each.count(), 0u);
      blocks += each.count();
      if (each.kind() == CutKind::first) {
        EXPECT_EQ(first, nullptr);
        first = &each;
      } else if (each.kind() == CutKind::rest) {
        EXPECT_EQ(i + 1, lists.offsets[w + 1]);
        ASSERT_NE(cut, nullptr);
        EXPECT_EQ(cut->tile.row, each.tile.row);
        EXPECT_EQ(cut->tile.panel, each.tile.panel);
        cut = nullptr;
      } else {
        EXPECT_EQ(each.count(), problem.blocksOf(each.tile.row));
      }
    }
    EXPECT_EQ(cut, nullptr) << "no one adds the sum of worker " << w - 1;
    cut = first;
  }
  EXPECT_EQ(cut, nullptr);
  EXPECT_EQ(covered.size(), problem.order.size());
  for (const auto &[tile, blocks] : covered)
    EXPECT_EQ(blocks, problem.blocksOf(tile.first));
}

/// In steps, without those of sums.
std::vector<uint64_t> loadsOf(const CutLists &lists) {
  std::vector<uint64_t> loads(lists.offsets.size() - 1);
  for (size_t w = 0; w < loads.size(); ++w)
    for (uint32_t i = lists.offsets[w]; i < lists.offsets[w + 1]; ++i)
      loads[w] += lists.tiles[i].count() * costs.chunksPerBlock + costs.tileOverhead;
  return loads;
}

TEST(CutLists, EveryBlockOnce) {
  const Problem problem(std::vector<uint32_t>(64, 64), 16, 66); // 8192 cubed
  CutLists lists = problem.cut();
  expectEveryBlockOnce(problem, lists);
  // Shares may end with a tile.
  EXPECT_LE(lists.tiles.size(), 64u * 16 + 65);
  EXPECT_GE(lists.tiles.size(), 64u * 16 + 60);
}

TEST(CutLists, LoadsAreLevel) {
  const Problem problem(std::vector<uint32_t>(40, 40), 10, 66); // 5120 cubed: 6.06 tiles for each worker
  const std::vector<uint64_t> loads = loadsOf(problem.cut());
  const uint64_t most = *std::max_element(loads.begin(), loads.end());
  const uint64_t sum = std::accumulate(loads.begin(), loads.end(), uint64_t(0));
  EXPECT_LT(double(most), 1.02 * double(sum) / double(problem.workers));
  EXPECT_LT(double(most), 0.9 * double(problem.wholeLoad()));
}

TEST(CutLists, RowsMayDiffer) {
  std::mt19937 random(1);
  for (int64_t workers : {2, 7, 66, 132}) {
    std::vector<uint32_t> blocks(61);
    for (uint32_t &count : blocks)
      count = 90 + random() % 11;
    const Problem problem(blocks, 13, workers);
    CutLists lists = problem.cut(UINT32_MAX);
    expectEveryBlockOnce(problem, lists);
  }
}

/// All clusters walk K together in whole rounds: parts come behind them.
TEST(CutLists, WholeRoundsComeFirst) {
  const Problem problem(std::vector<uint32_t>(64, 64), 16, 66);
  CutLists lists = problem.cut();
  for (int64_t w = 0; w < problem.workers; ++w)
    for (uint32_t i = 0; i < 14; ++i) {
      const CutTile &each = lists.tiles[lists.offsets[w] + i];
      EXPECT_EQ(each.kind(), CutKind::whole);
      EXPECT_EQ(each.tile.panel * 64 + each.tile.row, i * problem.workers + w);
    }
}

/// The worker of a rest goes on where the other one has stopped: first parts come before all else, so that it does not
/// wait. Lists have two blocks in a step, and may become longer.
TEST(CutLists, FirstPartsComeFirstWhereRestsGoOn) {
  const Problem problem(std::vector<uint32_t>(64, 64), 16, 66);
  const CutLists added = problem.cut(),
                 lists = problem.cut(problem.wholeLoad(), /*areRestsResumed=*/true, /*listBlocks=*/2);
  ASSERT_EQ(lists.offsets, added.offsets);
  EXPECT_EQ(lists.balance, added.balance);
  for (int64_t w = 0; w < problem.workers; ++w) {
    std::vector<CutTile> expected(added.tiles.begin() + added.offsets[w], added.tiles.begin() + added.offsets[w + 1]);
    std::stable_partition(expected.begin(), expected.end(),
                          [](const CutTile &each) { return each.kind() == CutKind::first; });
    for (size_t i = 0; i < expected.size(); ++i) {
      const CutTile &each = lists.tiles[lists.offsets[w] + i];
      EXPECT_EQ(each.kind(), expected[i].kind());
      EXPECT_EQ(each.tile.row, expected[i].tile.row);
      EXPECT_EQ(each.tile.panel, expected[i].tile.panel);
      EXPECT_EQ(each.first, 2 * expected[i].first);
      EXPECT_EQ(each.count(), each.kind() == CutKind::first ? 2 * expected[i].count() : allBlocks - each.first);
    }
  }
}

/// Few rounds are tried: the largest one of these tiles takes as long as all others.
TEST(CutLists, NoneWhereOneTileTakesTooLong) {
  std::vector<uint32_t> blocks(2000, 10);
  blocks.back() = 300;
  const Problem problem(blocks, 1, 66);
  EXPECT_TRUE(problem.cut(UINT32_MAX).offsets.empty());
}

TEST(CutLists, NoneWhereTheyGainLittle) {
  EXPECT_TRUE(Problem(std::vector<uint32_t>(66, 64), 16, 66).cut().offsets.empty()); // whole rounds
  EXPECT_TRUE(Problem(std::vector<uint32_t>(32, 32), 8, 66).cut().offsets.empty());  // 4096 cubed
  EXPECT_TRUE(Problem(std::vector<uint32_t>(56, 56), 14, 66).cut().offsets.empty()); // 7168 cubed
}

TEST(CutLists, NoneWhereSharesAreShorterThanTiles) {
  EXPECT_TRUE(Problem(std::vector<uint32_t>(40, 64), 1, 66).cut().offsets.empty());
  std::vector<uint32_t> blocks(70, 10);
  blocks.back() = 1000;
  const Problem problem(blocks, 1, 66);
  EXPECT_TRUE(problem.cut(UINT32_MAX).offsets.empty());
}

} // namespace
