// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Joint lists of two block rows, as pure functions.

#include "plan/joint_lists.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sparsec::runtime;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

using Rows = std::vector<std::vector<int32_t>>;
using Entries = std::vector<uint32_t>;

/// Entries of a block, without its number.
constexpr uint32_t firstRow = SPARSEC_JOINT_ABSENT << 1, secondRow = SPARSEC_JOINT_ABSENT;
constexpr uint32_t firstPartial = SPARSEC_JOINT_PARTIAL, secondPartial = SPARSEC_JOINT_PARTIAL << 1;
/// In neither row.
constexpr uint32_t filling = firstRow | secondRow;
/// In a divided step.
constexpr uint32_t ofFirst = firstRow | SPARSEC_JOINT_DIVIDED, ofSecond = secondRow | SPARSEC_JOINT_DIVIDED;
constexpr JointCosts freeDivision = {.shared = 88, .divided = 100, .division = 0};

/// A pattern of 64 x 64 blocks, the lists of its heads one after the other.
class PatternOfLists {
public:
  PatternOfLists(int64_t columns, const Rows &full, const Rows &partial = {}, int64_t batches = 1, int64_t heads = 1) {
    const auto rows = int64_t(full.size()) / (batches * heads);
    pattern = sparsec_blocks_pattern(batches, heads, rows * 64, columns * 64, 64, 64);
    pattern.encoding = SPARSEC_PATTERN_INDEX_ARRAYS;
    problem.batches = problem.heads = 1;
    problem.rows = pattern.rows;
    problem.depth = pattern.columns;
    pattern.full = store(full, fullArrays);
    if (!partial.empty())
      pattern.partial = store(partial, partialArrays);
  }

  JointLists join(int64_t blocksOfStep = 1, const JointCosts &costs = {}) const {
    return makeJointLists({pattern, window, problem, blocksOfStep, costs});
  }
  /// The entries of every tile.
  std::vector<Entries> tiles(int64_t blocksOfStep = 1, const JointCosts &costs = {}) const {
    const JointLists lists = join(blocksOfStep, costs);
    std::vector<Entries> tiles;
    tiles.reserve(lists.ranges.size());
    for (const JointRange &range : lists.ranges)
      tiles.emplace_back(lists.entries.begin() + range.begin, lists.entries.begin() + range.end);
    return tiles;
  }

  sparsec_blocks_t pattern;
  sparsec::runtime::Problem problem;
  KeyWindow window;

private:
  struct Arrays {
    std::vector<int32_t> starts = {0}, indices;
  };

  static sparsec_block_lists_t store(const Rows &rows, Arrays &arrays) {
    for (const std::vector<int32_t> &row : rows) {
      arrays.indices.insert(arrays.indices.end(), row.begin(), row.end());
      arrays.starts.push_back(int32_t(arrays.indices.size()));
    }
    return {arrays.starts.data(), arrays.indices.data()};
  }

  Arrays fullArrays, partialArrays;
};

TEST(JointLists, EqualRowsShareAllBlocks) {
  const PatternOfLists pattern(8, {{1, 3, 6}, {1, 3, 6}});
  EXPECT_THAT(pattern.tiles(), ElementsAre(ElementsAre(1, 3, 6)));
  const JointLists lists = pattern.join();
  EXPECT_EQ(lists.blocks, 3);
  EXPECT_EQ(lists.blocksOfRows, 6);
}

TEST(JointLists, ShiftedWindowsAscend) {
  const PatternOfLists pattern(8, {{0, 1, 2}, {1, 2, 3}, {5, 6}, {4, 5}});
  EXPECT_THAT(pattern.tiles(),
              ElementsAre(ElementsAre(0 | firstRow, 1, 2, 3 | secondRow), ElementsAre(4 | secondRow, 5, 6 | firstRow)));
  const JointLists lists = pattern.join();
  EXPECT_EQ(lists.blocks, 7);
  EXPECT_EQ(lists.blocksOfRows, 10);
}

/// Lists that do not ascend keep their order, tile by tile.
TEST(JointLists, TheOrderOfTheFirstRowComesFirst) {
  const PatternOfLists pattern(8, {{6, 0, 3}, {7, 3, 1, 6}, {4, 6}, {2, 4}, {1, 5}, {5, 0}});
  EXPECT_THAT(pattern.tiles(),
              ElementsAre(ElementsAre(6, 0 | firstRow, 3, 7 | secondRow, 1 | secondRow),
                          ElementsAre(2 | secondRow, 4, 6 | firstRow), ElementsAre(1 | firstRow, 5, 0 | secondRow)));
}

TEST(JointLists, PartialBlocksComeFirstInShuffledLists) {
  const PatternOfLists pattern(8, {{6, 0}, {1}}, {{5}, {6}});
  EXPECT_THAT(pattern.tiles(),
              ElementsAre(ElementsAre(5 | firstRow | firstPartial, 6 | secondPartial, 0 | firstRow, 1 | secondRow)));
}

/// Two lists that ascend are one list that does.
TEST(JointLists, BothKindsOfBlocksAscendTogether) {
  const PatternOfLists pattern(8, {{0, 5}, {0, 1}}, {{3, 7}, {3, 5}});
  EXPECT_THAT(pattern.tiles(), ElementsAre(ElementsAre(0, 1 | secondRow, 3 | firstPartial | secondPartial,
                                                       5 | secondPartial, 7 | firstRow | firstPartial)));
}

TEST(JointLists, ABlockMayBePartialInOneRow) {
  const PatternOfLists pattern(4, {{}, {0, 2}}, {{0, 1}, {1}});
  EXPECT_THAT(pattern.tiles(),
              ElementsAre(ElementsAre(0 | firstPartial, 1 | firstPartial | secondPartial, 2 | secondRow)));
}

TEST(JointLists, ThePartialListsMayBeMissing) {
  PatternOfLists pattern(4, {{}, {}}, {{2}, {2}});
  pattern.pattern.full = {nullptr, nullptr};
  EXPECT_THAT(pattern.tiles(), ElementsAre(ElementsAre(2 | firstPartial | secondPartial)));
}

TEST(JointLists, TheLastRowMayBeAlone) {
  const PatternOfLists pattern(4, {{0}, {0}, {1, 2}});
  EXPECT_THAT(pattern.tiles(), ElementsAre(ElementsAre(0), ElementsAre(1 | firstRow, 2 | firstRow)));
  EXPECT_EQ(pattern.join().blocksOfRows, 4);
}

/// The row behind the last one of a head belongs to the next head.
TEST(JointLists, HeadsDoNotMeetInATile) {
  PatternOfLists pattern(4, {{0}, {3}}, {}, /*batches=*/1, /*heads=*/2);
  pattern.problem.heads = 2;
  EXPECT_THAT(pattern.tiles(), ElementsAre(ElementsAre(0 | firstRow), ElementsAre(3 | firstRow)));
}

TEST(JointLists, RowsMayBeEmpty) {
  const PatternOfLists pattern(4, {{}, {1}, {}, {}, {2}, {}});
  EXPECT_THAT(pattern.tiles(2),
              ElementsAre(ElementsAre(1 | secondRow, filling), IsEmpty(), ElementsAre(2 | firstRow, filling)));
  const JointLists lists = pattern.join();
  EXPECT_THAT(lists.entries, ElementsAre(1 | secondRow, 2 | firstRow, 0)) << "a zero is behind the end";
  EXPECT_THAT(PatternOfLists(4, {{}, {}}).join().entries, ElementsAre(0));
}

/// An entry that fills up a step counts as no block.
TEST(JointLists, ListsHaveWholeSteps) {
  const PatternOfLists pattern(8, {{0, 1, 2}, {0, 1, 2}, {4}, {5}});
  EXPECT_THAT(pattern.tiles(2), ElementsAre(ElementsAre(0, 1, 2, filling), ElementsAre(4 | firstRow, 5 | secondRow)));
  EXPECT_THAT(pattern.tiles(4),
              ElementsAre(ElementsAre(0, 1, 2, filling), ElementsAre(4 | firstRow, 5 | secondRow, filling, filling)));
  const JointLists lists = pattern.join(4);
  EXPECT_EQ(lists.blocks, 5);
  EXPECT_EQ(lists.blocksOfRows, 8);
  EXPECT_EQ(lists.entries.size(), 9u);
  EXPECT_EQ(noJointBlock, filling);
}

TEST(JointLists, StepsHaveOneBlockAtLeast) {
  sparsec_stage_info_t stage = {};
  stage.tile_n = 128;
  EXPECT_EQ(blocksOfJointStep(stage, 64), 2);
  EXPECT_EQ(blocksOfJointStep(stage, 128), 1);
  EXPECT_EQ(blocksOfJointStep(stage, 32), 4);
  stage.tile_n = 64;
  EXPECT_EQ(blocksOfJointStep(stage, 128), 1);
}

/// Blocks of 128 keys reach as far as causal lets their first key be seen.
TEST(JointLists, BlocksMayHaveMoreKeysThanARowHasQueries) {
  PatternOfLists pattern(4, Rows(4, {0, 1, 2, 3}));
  pattern.pattern.block_columns = 128;
  pattern.pattern.columns = 256;
  pattern.pattern.full = {};
  const std::vector<int32_t> starts = {0, 2, 4, 6, 8}, indices = {0, 1, 0, 1, 0, 1, 0, 1};
  pattern.pattern.full = {starts.data(), indices.data()};
  pattern.problem.depth = 256;
  EXPECT_THAT(pattern.tiles(), ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1)));
  pattern.window.isCausal = true;
  EXPECT_THAT(pattern.tiles(), ElementsAre(ElementsAre(0), ElementsAre(0, 1)));
}

/// Query 64 r + 63 is the last of block row r, and sees the keys up to its own.
TEST(JointLists, CausalReachIsThatOfEachRow) {
  PatternOfLists pattern(4, Rows(4, {0, 1, 2, 3}));
  pattern.window.isCausal = true;
  EXPECT_THAT(pattern.tiles(), ElementsAre(ElementsAre(0, 1 | secondRow), ElementsAre(0, 1, 2, 3 | secondRow)));
  EXPECT_EQ(pattern.join().blocksOfRows, 1 + 2 + 3 + 4);
}

/// The last query sees the last key: here the first two rows see none.
TEST(JointLists, CausalIsAlignedAtTheEnd) {
  PatternOfLists pattern(2, Rows(4, {0, 1}));
  pattern.window.isCausal = true;
  EXPECT_THAT(pattern.tiles(), ElementsAre(IsEmpty(), ElementsAre(0, 1 | secondRow)));
}

/// Query 64 r sees from key 64 r - 64 on, and query 64 r + 63 up to key 64 r + 63 + 1.
TEST(JointLists, WindowReachIsThatOfEachRow) {
  PatternOfLists pattern(6, Rows(6, {0, 1, 2, 3, 4, 5}));
  pattern.window = {.isCausal = false, .left = 64, .right = 1};
  EXPECT_THAT(pattern.tiles(),
              ElementsAre(ElementsAre(0, 1, 2 | secondRow), ElementsAre(1 | firstRow, 2, 3, 4 | secondRow),
                          ElementsAre(3 | firstRow, 4, 5)));
  pattern.window.left = 65;
  EXPECT_THAT(pattern.tiles()[1], ElementsAre(0 | firstRow, 1, 2, 3, 4 | secondRow));
  pattern.window.right = 0;
  EXPECT_THAT(pattern.tiles()[1], ElementsAre(0 | firstRow, 1, 2, 3 | secondRow));
}

/// Query 0 is at key 54: 138 queries end with 192 keys.
TEST(JointLists, TheLastRowMayBeShort) {
  PatternOfLists pattern(3, Rows(3, {0, 1, 2}));
  pattern.window.isCausal = true;
  pattern.pattern.rows = pattern.problem.rows = 138;
  EXPECT_THAT(pattern.tiles(),
              ElementsAre(ElementsAre(0, 1, 2 | secondRow), ElementsAre(0 | firstRow, 1 | firstRow, 2 | firstRow)));
}

TEST(JointLists, HeadsMayHaveTheirOwn) {
  PatternOfLists pattern(4, {{0}, {0}, {1}, {1}, {2}, {2}, {3}, {3}}, {}, /*batches=*/2, /*heads=*/2);
  pattern.problem.batches = pattern.problem.heads = 2;
  EXPECT_THAT(pattern.tiles(), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(3)));
}

/// Shared lists are there once.
TEST(JointLists, HeadsAndBatchesMayShareThem) {
  const Rows four = {{0}, {0}, {1}, {1}};
  PatternOfLists ofBatches(4, four, {}, /*batches=*/2, /*heads=*/1);
  ofBatches.problem.batches = ofBatches.problem.heads = 2;
  EXPECT_THAT(ofBatches.tiles(), ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(1), ElementsAre(1)));
  PatternOfLists ofHeads(4, four, {}, /*batches=*/1, /*heads=*/2);
  ofHeads.problem.batches = ofHeads.problem.heads = 2;
  EXPECT_THAT(ofHeads.tiles(), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(0), ElementsAre(1)));
  PatternOfLists ofAll(4, four);
  ofAll.problem.batches = 3;
  ofAll.problem.heads = 2;
  const JointLists lists = ofAll.join();
  ASSERT_EQ(lists.ranges.size(), 3u * 2 * 2);
  for (size_t tile = 0; tile < lists.ranges.size(); ++tile) {
    EXPECT_EQ(lists.ranges[tile].begin, tile % 2);
    EXPECT_EQ(lists.ranges[tile].end, tile % 2 + 1);
  }
  EXPECT_THAT(lists.entries, ElementsAre(0, 1, 0));
  EXPECT_EQ(lists.blocks, 2) << "of the pattern";
}

TEST(JointLists, ListsMayBePadded) {
  PatternOfLists pattern(4, {{}, {}, {}, {}});
  const std::vector<int32_t> counts = {1, 2, 0, 1}, indices = {0, -1, 0, 3, -1, -1, 2, -1};
  pattern.pattern.encoding = SPARSEC_PATTERN_PADDED_LISTS;
  pattern.pattern.capacity = 2;
  pattern.pattern.full = {counts.data(), indices.data()};
  EXPECT_THAT(pattern.tiles(), ElementsAre(ElementsAre(0, 3 | secondRow), ElementsAre(2 | secondRow)));
}

//===----------------------------------------------------------------------===//
// Divided steps
//===----------------------------------------------------------------------===//

TEST(DividedSteps, HaveTheBlocksOfOneRow) {
  const PatternOfLists pattern(12, {{0, 2, 3, 5, 8, 9}, {1, 2, 5, 7, 10, 11}, {0}, {0}});
  EXPECT_THAT(pattern.tiles(2, freeDivision),
              ElementsAre(ElementsAre(2, 5, 0 | ofFirst, 1 | ofSecond, 3 | ofFirst, 7 | ofSecond, 8 | ofFirst,
                                      10 | ofSecond, 9 | ofFirst, 11 | ofSecond),
                          ElementsAre(0, filling)));
  const JointLists lists = pattern.join(2, freeDivision);
  EXPECT_THAT(lists.dividedSteps, ElementsAre(4u, 0u));
  EXPECT_EQ(lists.blocks, 11);
  EXPECT_EQ(lists.dividedBlocks, 8);
  EXPECT_EQ(lists.blocksOfRows, 14);
}

/// The longer row has as many blocks in divided steps as the other one. Its last ones are in shared steps.
TEST(DividedSteps, TheLongerRowSharesItsLastBlocks) {
  const PatternOfLists pattern(12, {{0, 1, 3, 4, 7, 8}, {2, 3, 5}, {6}, {0, 5, 6, 8, 9}});
  EXPECT_THAT(
      pattern.tiles(2, freeDivision),
      ElementsAre(ElementsAre(3, 4 | firstRow, 7 | firstRow, 8 | firstRow, 0 | ofFirst, 2 | ofSecond, 1 | ofFirst,
                              5 | ofSecond),
                  ElementsAre(0 | secondRow, 5 | secondRow, 8 | secondRow, 9 | secondRow, 6 | ofFirst, 6 | ofSecond)));
}

/// Three shared blocks are one step and a half. The last one that both rows see becomes two halves of a step.
TEST(DividedSteps, NoSharedStepIsHalfEmpty) {
  const PatternOfLists pattern(12, {{0, 1, 2, 4}, {0, 1, 2, 6}});
  EXPECT_THAT(pattern.tiles(2, freeDivision),
              ElementsAre(ElementsAre(0, 1, 4 | ofFirst, 6 | ofSecond, 2 | ofFirst, 2 | ofSecond)));
  const JointLists lists = pattern.join(2, freeDivision);
  EXPECT_EQ(lists.blocks, 6);
  EXPECT_EQ(lists.blocksOfRows, 8);
}

TEST(DividedSteps, BlocksArePartialInTheirOwnRow) {
  const PatternOfLists pattern(12, {{0, 4}, {0, 2}}, {{1, 2}, {1, 6}});
  EXPECT_THAT(pattern.tiles(2, freeDivision),
              ElementsAre(ElementsAre(0, 1 | firstPartial | secondPartial, 4 | ofFirst, 6 | ofSecond | secondPartial,
                                      2 | ofFirst | firstPartial, 2 | ofSecond)));
}

TEST(DividedSteps, KeepTheOrderOfListsThatDoNotAscend) {
  const PatternOfLists pattern(12, {{9, 4, 0, 6}, {8, 6, 2, 4}});
  EXPECT_THAT(pattern.tiles(2, freeDivision),
              ElementsAre(ElementsAre(4, 6, 9 | ofFirst, 8 | ofSecond, 0 | ofFirst, 2 | ofSecond)));
}

/// Without one the program would have no step to begin with.
TEST(DividedSteps, AreBehindASharedStep) {
  const PatternOfLists pattern(12, {{0, 2}, {1, 3}, {}, {}, {5, 6}, {}});
  EXPECT_THAT(pattern.tiles(2, freeDivision),
              ElementsAre(ElementsAre(0 | firstRow, 1 | secondRow, 2 | firstRow, 3 | secondRow), IsEmpty(),
                          ElementsAre(5 | firstRow, 6 | firstRow)));
}

/// Two shared steps of two blocks cost 4 * 88, and one before a divided one 2 * 88 + `divided` + `division`.
TEST(DividedSteps, AreMadeWhereTheyCostLess) {
  const PatternOfLists pattern(12, {{0, 1, 2}, {0, 1, 3}});
  const auto shared = ElementsAre(0, 1, 2 | firstRow, 3 | secondRow);
  const auto divided = ElementsAre(0, 1, 2 | ofFirst, 3 | ofSecond);
  EXPECT_THAT(pattern.tiles(2, {88, 100, 75}), ElementsAre(divided));
  EXPECT_THAT(pattern.tiles(2, {88, 100, 76}), ElementsAre(shared));
  EXPECT_THAT(pattern.tiles(2, {88, 175, 0}), ElementsAre(divided));
  EXPECT_THAT(pattern.tiles(2, {88, 176, 0}), ElementsAre(shared));
  EXPECT_THAT(pattern.tiles(2, {88, 0, 0}), ElementsAre(shared)) << "the variant has none";
}

TEST(DividedSteps, AreThoseOfEveryHead) {
  PatternOfLists pattern(12, {{0, 1, 2}, {0, 1, 3}, {0}, {0}});
  pattern.problem.batches = 2;
  EXPECT_THAT(pattern.join(2, freeDivision).dividedSteps, ElementsAre(1u, 0u, 1u, 0u));
}

TEST(JointLists, ThereMayBeNoQueries) {
  const PatternOfLists pattern(4, {});
  EXPECT_THAT(pattern.join().ranges, IsEmpty());
  EXPECT_THAT(pattern.join().entries, ElementsAre(0));
}

} // namespace
