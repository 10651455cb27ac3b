// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variants with joint lists: checks of their images, which plans have lists for them, saved plans and launches on the
// fake driver.

#include "image/launch_info_reader.h"
#include "plan/joint_lists.h"
#include "plan/plan.h"
#include "plan/tile_lists.h"
#include "runtime_attention_fixture.h"
#include "runtime_joint_image.h"
#include "runtime_saved_plan.h"

#include <set>

using namespace sparsec::runtime;
using namespace sparsec::test;
using ::testing::ElementsAre;
using ::testing::StartsWith;

namespace {

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

using ChangeInfo = std::function<void(LaunchInfoBuilder &)>;

Status parseJoint(const LaunchInfoBuilder &good, const ChangeInfo &change) {
  LaunchInfoBuilder builder = good;
  change(builder);
  LaunchInfo info;
  return LaunchInfo::parse(builder.build(), info);
}

constexpr uint32_t jointStage = 1;

TEST(JointImage, IsChecked) {
  constexpr const char *together = ", but those of joint lists go together and alone, in attention of a GPU without";
  constexpr uint32_t pattern = 3;
  struct {
    std::string message;
    ChangeInfo change;
  } cases[] = {
      {std::string("variant 0 requires plan sections 268435456") + together,
       [](auto &i) {
         i.variants[0].required_sections = 1u << SPARSEC_PLAN_JOINT_RANGES;
         i.stages[jointStage].parameter_count = 3;
       }},
      {std::string("variant 0 requires plan sections 536870912") + together,
       [](auto &i) {
         i.variants[0].required_sections = 1u << SPARSEC_PLAN_JOINT_BLOCKS;
         i.stages[jointStage].parameter_count = 0;
       }},
      {std::string("variant 0 requires plan sections 805306376") + together,
       [](auto &i) { i.variants[0].required_sections |= 1u << SPARSEC_PLAN_COLUMN_OFFSETS; }},
      {together, [](auto &i) { makeHostInfo(i); }},
      {together,
       [](auto &i) {
         i.variants[0].part_keys = 64;
         i.stages.push_back(i.stages[jointStage]);
         i.variants[0].stage_count = 2;
       }},
      {"variant 0 has joint lists, but its tiles of 64 queries are not two blocks of a pattern",
       [](auto &i) { i.setTile(jointStage, 64, 64); }},
      {"variant 0 has joint lists, but its tiles of 128 queries are not two blocks of a pattern",
       [](auto &i) { i.arguments[pattern].block_rows = 128; }},
      {"variant 0 has joint lists, but its tiles of 128 queries are not two blocks of a pattern",
       [](auto &i) {
         i.stages[0].parameter_count = i.stages[jointStage].parameter_count = 0;
         removeArgument(i, pattern);
       }},
      {"but its tiles of 128 queries are not two blocks of a pattern",
       [](auto &i) { i.extents[i.stages[jointStage].panel_first].block = 64; }},
      {"but its tiles of 128 queries are not two blocks of a pattern",
       [](auto &i) { i.extents[i.stages[jointStage].panel_first].dimension = 1; }},
      {"but its tiles of 128 queries are not two blocks of a pattern",
       [](auto &i) { i.extents[i.stages[jointStage].panel_first].argument = 1; }},
      {"but its tiles of 128 queries are not two blocks of a pattern",
       [](auto &i) { i.stages[jointStage].row_count = 1; }},
      {"but its tiles of 128 queries are not two blocks of a pattern",
       [](auto &i) {
         std::swap(i.extents[i.stages[jointStage].row_first].dimension,
                   i.extents[i.stages[jointStage].row_first + 1].dimension);
       }},
      {"the time of joint rows in percent of variant 0 is there 0 times",
       [](auto &i) { i.variants[0].plan_cost_count = 1; }},
      {"the time of joint rows in percent of variant 0 is 0, 1 to 250 is expected",
       [](auto &i) { i.planCost(SPARSEC_PLAN_COST_JOINT_ROWS) = 0; }},
      {"the time of joint rows in percent of variant 0 is 251, 1 to 250 is expected",
       [](auto &i) { i.planCost(SPARSEC_PLAN_COST_JOINT_ROWS) = 251; }},
      {"variant 1 requires plan sections, but the last variant must run without a plan",
       [](auto &i) { std::swap(i.variants[0], i.variants[1]); }},
  };
  EXPECT_OK(parseJoint(attentionWithJointLists(), [](auto &) {}));
  EXPECT_OK(parseJoint(attentionWithJointLists(1), [](auto &) {}));
  EXPECT_OK(parseJoint(attentionWithJointLists(250), [](auto &) {}));
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseJoint(attentionWithJointLists(), change), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(JointImage, DividedStepsHaveTwoBlocks) {
  struct {
    std::string message;
    ChangeInfo change;
  } cases[] = {
      {"variant 0 has divided steps, but its steps of 64 keys are not two blocks of 64",
       [](auto &i) { i.setTile(jointStage, 128, 64); }},
      {"variant 0 has divided steps, but its steps of 128 keys are not two blocks of 128",
       [](auto &i) { i.arguments[3].block_columns = 128; }},
      {"the time of a divided step in percent of variant 0 is 0, 1 to 250 is expected",
       [](auto &i) { i.planCost(SPARSEC_PLAN_COST_DIVIDED_STEP) = 0; }},
      {"the time of a divided step in percent of variant 0 is 251, 1 to 250 is expected",
       [](auto &i) { i.planCost(SPARSEC_PLAN_COST_DIVIDED_STEP) = 251; }},
      {"the time of a division in percent of variant 0 is 65536, 0 to 65535 is expected",
       [](auto &i) { i.planCost(SPARSEC_PLAN_COST_DIVISION) = 65536; }},
  };
  EXPECT_OK(parseJoint(attentionWithDividedSteps(), [](auto &) {}));
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseJoint(attentionWithDividedSteps(), change), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(JointImage, ProductsHaveNone) {
  EXPECT_STATUS(parseJoint(cudaLinear(), [](auto &i) { i.variants[0].required_sections = jointSections; }),
                SPARSEC_STATUS_INVALID_IMAGE, "in attention of a GPU without parts");
  EXPECT_STATUS(parseJoint(cudaLinear(), [](auto &i) { i.planCosts[0].key = SPARSEC_PLAN_COST_JOINT_ROWS; }),
                SPARSEC_STATUS_INVALID_IMAGE, "unknown plan cost of spmm 9");
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

using Rows = std::vector<std::vector<int32_t>>;

/// Two heads of eight rows of 64 x 64 blocks, which both heads share, for four workers.
class JointPlan : public AttentionOnFake {
protected:
  enum { joint, own }; // variants
  static constexpr int64_t heads = 2;
  static constexpr uint32_t blocks = 11;

  void SetUp() override {
    fake.multiprocessors = 4;
    fake.parameterCount = jointParameters;
    loadJoint();
  }

  void loadJoint(const LaunchInfoBuilder &info = attentionWithJointLists()) {
    sparsec_plan_destroy(std::exchange(plan, nullptr));
    load(info);
    setRows(windows());
  }

  /// Row r sees the blocks r to r + 3: two neighbours see 5 together.
  static Rows windows() {
    Rows rows;
    for (int32_t r = 0; r < 8; ++r)
      rows.push_back({r, r + 1, r + 2, r + 3});
    return rows;
  }

  void setRows(const Rows &rows, int64_t batches = 1) {
    starts = {0}, indices.clear();
    for (const std::vector<int32_t> &row : rows) {
      indices.insert(indices.end(), row.begin(), row.end());
      starts.push_back(int32_t(indices.size()));
    }
    const auto queries = int64_t(rows.size()) * 64, keys = int64_t(blocks) * 64;
    sparsec_blocks_t lists = sparsec_blocks_pattern(1, 1, queries, keys, 64, 64);
    lists.capacity = int64_t(indices.size());
    lists.full = {starts.data(), indices.data()};
    auto tensor = [&](uintptr_t address, int64_t length) {
      return sparsec_dense_bhsd(at(address), SPARSEC_DTYPE_BF16, batches, heads, length, 64);
    };
    arguments = {tensor(0x1000000, queries),
                 tensor(0x2000000, keys),
                 tensor(0x3000000, keys),
                 lists,
                 0.125,
                 sparsec_dense_1d(at(0x50000), SPARSEC_DTYPE_F32, heads),
                 sparsec_dense_2d(at(0x60000), SPARSEC_DTYPE_I32, batches, keys),
                 tensor(0x4000000, queries),
                 sparsec_dense_3d(at(0x5000000), SPARSEC_DTYPE_F32, batches, heads, queries)};
  }

  Status createWith(uint32_t flags, const ArgumentList &of) {
    auto options = sized<sparsec_plan_options_t>();
    options.flags = flags;
    return createPlan(of, options);
  }
  Status createStatic() { return createWith(SPARSEC_PLAN_STATIC_PATTERN, arguments); }

  std::string reason(size_t variant = joint) { return planInfo(variant).reason; }
  const void *section(sparsec_plan_section_t section) { return plan->variants[joint].sections[section]; }
  template <typename Element> std::vector<Element> elements(sparsec_plan_section_t number) {
    const auto *begin = static_cast<const Element *>(section(number));
    return begin ? std::vector<Element>(begin, begin + plan->variants[joint].sectionBytes[number] / sizeof(Element))
                 : std::vector<Element>();
  }

  std::string launched() {
    fake.launches.clear();
    EXPECT_OK(launch());
    return fake.launches.empty() ? "" : fake.launches.back().function;
  }

  /// The plan has no joint lists for this reason, and launches take the other variant.
  void expectNone(const std::string &why) {
    EXPECT_EQ(reason(), why);
    EXPECT_NE(planInfo(joint).order, SPARSEC_TILE_ORDER_LISTS);
    EXPECT_EQ(section(SPARSEC_PLAN_JOINT_RANGES), nullptr);
    EXPECT_EQ(section(SPARSEC_PLAN_JOINT_BLOCKS), nullptr);
    EXPECT_EQ(section(SPARSEC_PLAN_TILES), nullptr);
    EXPECT_EQ(launched(), "attention_any");
  }

  std::vector<int32_t> starts, indices;
};

/// A worker of the other variant has 4 tiles of 4 + 2 steps. One of this has 2 tiles of 5 + 1 steps of 1.6.
TEST_F(JointPlan, WindowsTakeThem) {
  ASSERT_OK(createStatic());
  EXPECT_EQ(reason(), "joint lists: 1.60 block rows see a block, 1.25 times as fast; lists: the costs of all tiles are "
                      "known");
  EXPECT_EQ(reason(own), "lists: the costs of all tiles are known");
  EXPECT_EQ(planInfo(joint).order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(planInfo(joint).workers, 4);
  EXPECT_EQ(planInfo(joint).tiles, 8);
  EXPECT_EQ(planInfo(joint).balance, 1);
  EXPECT_EQ(planInfo(own).tiles, 16);
}

TEST_F(JointPlan, HasTheListsOfEveryTile) {
  ASSERT_OK(createStatic());
  const auto ranges = elements<JointRange>(SPARSEC_PLAN_JOINT_RANGES);
  ASSERT_EQ(ranges.size(), 8u);
  for (uint32_t tile = 0; tile < 8; ++tile) {
    EXPECT_EQ(ranges[tile].begin, tile % 4 * 5) << "both heads have the same lists";
    EXPECT_EQ(ranges[tile].end, tile % 4 * 5 + 5);
  }
  std::vector<uint32_t> expected;
  for (uint32_t row : {0, 2, 4, 6}) {
    expected.push_back(row | SPARSEC_JOINT_ABSENT << 1);
    expected.insert(expected.end(), {row + 1, row + 2, row + 3, (row + 4) | SPARSEC_JOINT_ABSENT});
  }
  expected.push_back(0);
  EXPECT_EQ(elements<uint32_t>(SPARSEC_PLAN_JOINT_BLOCKS), expected);
}

TEST_F(JointPlan, EveryTileIsThereOnce) {
  ASSERT_OK(createStatic());
  const auto offsets = elements<uint32_t>(SPARSEC_PLAN_TILE_OFFSETS);
  EXPECT_THAT(offsets, ElementsAre(0u, 2u, 4u, 6u, 8u));
  std::set<std::pair<uint32_t, uint32_t>> all;
  for (const Tile &tile : elements<Tile>(SPARSEC_PLAN_TILES)) {
    EXPECT_LT(tile.row, 2u);
    EXPECT_LT(tile.panel, 4u);
    EXPECT_TRUE(all.insert({tile.row, tile.panel}).second);
  }
  EXPECT_EQ(all.size(), 8u);
}

/// Tiles 0 and 1 of a head have 1 and 5 blocks: 2 and 6 steps. Panel 0 is tile 1. A worker of the other variant has
/// tiles of 7 and 3 steps.
TEST_F(JointPlan, TilesCostWhatTheirListsSay) {
  loadJoint(attentionWithJointLists(/*percentage=*/100));
  setRows({{0}, {0}, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}});
  ASSERT_OK(createStatic());
  EXPECT_THAT(reason(), StartsWith("joint lists: 2.00 block rows see a block, 1.67 times as fast"));
  EXPECT_DOUBLE_EQ(planInfo(joint).balance, 4.0 / 6);
  const auto tiles = elements<Tile>(SPARSEC_PLAN_TILES);
  ASSERT_EQ(tiles.size(), 4u);
  for (size_t worker = 0; worker < 4; ++worker)
    EXPECT_EQ(tiles[worker].panel, worker / 2) << "the tiles with most steps come first";
}

TEST_F(JointPlan, LaunchesGetTheSections) {
  ASSERT_OK(createStatic());
  EXPECT_EQ(launched(), "attention_joint");
  EXPECT_EQ(fake.launches.back().gridX, 4u);
  auto word = [&](sparsec_plan_section_t number) { return reinterpret_cast<uintptr_t>(section(number)); };
  EXPECT_THAT(fake.launches.back().words,
              ElementsAre(word(SPARSEC_PLAN_TILE_OFFSETS), word(SPARSEC_PLAN_TILES), word(SPARSEC_PLAN_JOINT_RANGES),
                          word(SPARSEC_PLAN_JOINT_BLOCKS)));
  sparsec_plan_destroy(std::exchange(plan, nullptr));
  EXPECT_EQ(launched(), "attention_any");
}

/// A tile sees 8 blocks, and two rows that are tiles of their own see 4 each.
TEST_F(JointPlan, RowsWithOtherBlocksDoNot) {
  Rows rows;
  for (int r = 0; r < 8; ++r)
    rows.push_back(r % 2 == 0 ? std::vector<int32_t>{0, 2, 4, 6} : std::vector<int32_t>{1, 3, 5, 7});
  setRows(rows);
  ASSERT_OK(createStatic());
  expectNone("no joint lists: 1.00 block rows see a block, 0.83 times as fast");
  EXPECT_EQ(planInfo(own).order, SPARSEC_TILE_ORDER_LISTS);
}

/// 24 steps against 2 tiles of 4 + 1 steps.
TEST_F(JointPlan, ATwentyFifthIsLeast) {
  for (auto [percentage, why] : {std::pair(230u, "joint lists: 2.00 block rows see a block, 1.04 times as fast; lists"),
                                 {231u, "no joint lists: 2.00 block rows see a block, 1.04 times as fast"}}) {
    loadJoint(attentionWithJointLists(percentage));
    setRows(Rows(8, {1, 3, 5, 7}));
    ASSERT_OK(createStatic());
    EXPECT_THAT(reason(), StartsWith(why)) << percentage;
    EXPECT_EQ(launched(), percentage == 230 ? "attention_joint" : "attention_any");
  }
}

/// 5 blocks are 3 steps of two, and 1 beside them: 24 steps of one take 24 / (2 * 4 * 2 * .8) times as long.
TEST_F(JointPlan, StepsMayHaveTwoBlocks) {
  loadJoint(attentionWithJointLists(80, /*stepKeys=*/128));
  ASSERT_OK(createStatic());
  EXPECT_THAT(reason(), StartsWith("joint lists: 1.60 block rows see a block, 1.88 times as fast"));
  EXPECT_EQ(elements<uint32_t>(SPARSEC_PLAN_JOINT_BLOCKS).size(), 4u * 6 + 1);
}

/// Both rows see 3 blocks of 5: two of them make a shared step, and the third one is in a divided step for each row.
/// The other divided step has what a row sees alone. A tile costs 2 * .8 for its shared step, 2 for the divided ones
/// and 2 * .8 beside them. A worker has two tiles.
TEST_F(JointPlan, StepsMayBeDivided) {
  loadJoint(attentionWithDividedSteps());
  ASSERT_OK(createStatic());
  EXPECT_THAT(reason(),
              StartsWith("joint lists: 1.33 block rows see a block, 66.67 % of the blocks are in divided steps, "
                         "2.31 times as fast"));
  constexpr uint32_t ofFirst = SPARSEC_JOINT_DIVIDED | SPARSEC_JOINT_ABSENT << 1;
  constexpr uint32_t ofSecond = SPARSEC_JOINT_DIVIDED | SPARSEC_JOINT_ABSENT;
  const auto entries = elements<uint32_t>(SPARSEC_PLAN_JOINT_BLOCKS);
  ASSERT_EQ(entries.size(), 4u * 6 + 1);
  EXPECT_THAT(std::vector(entries.begin(), entries.begin() + 6),
              ElementsAre(1, 2, 0 | ofFirst, 4 | ofSecond, 3 | ofFirst, 3 | ofSecond));
}

/// A tile has a shared step of 2 blocks, an overhead of as much, and 2 divided steps. A worker has two tiles. A worker
/// of the other variant has four tiles of 4 + 2 steps.
TEST_F(JointPlan, AFiftiethIsLeastWithDividedSteps) {
  Rows rows;
  for (int r = 0; r < 8; ++r)
    rows.push_back(r % 2 == 0 ? std::vector<int32_t>{0, 2, 4, 6} : std::vector<int32_t>{0, 2, 5, 7});
  for (auto [percentage, why] :
       {std::pair(244u, "joint lists: 1.33 block rows see a block, 66.67 % of the blocks are in "
                        "divided steps, 1.02 times as fast"),
        {245u, "no joint lists: 1.33 block rows see a block, 66.67 % of the blocks are in "
               "divided steps, 1.02 times as fast"}}) {
    loadJoint(attentionWithDividedSteps(percentage));
    setRows(rows);
    ASSERT_OK(createStatic());
    EXPECT_THAT(reason(), StartsWith(why)) << percentage;
    EXPECT_EQ(launched(), percentage == 244 ? "attention_joint" : "attention_any");
  }
}

/// 8 tiles of 2 steps in 4 lists, against 4 of 1.6.
TEST_F(JointPlan, RowsMayBeEmpty) {
  setRows(Rows(8));
  ASSERT_OK(createStatic());
  EXPECT_THAT(reason(), StartsWith("joint lists: 0.00 block rows see a block, 2.50 times as fast"));
  EXPECT_EQ(launched(), "attention_joint");
}

TEST_F(JointPlan, PatternsThatMayChangeDoNot) {
  ASSERT_OK(createWith(0, arguments));
  expectNone("no joint lists: the pattern may change");
  EXPECT_EQ(planInfo(own).order, SPARSEC_TILE_ORDER_LISTS);
}

TEST_F(JointPlan, NoPlanIsRefilled) {
  auto options = sized<sparsec_plan_options_t>();
  options.flags = SPARSEC_PLAN_REFILL;
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, "takes no block-sparse matrix, as plans with SPARSEC_PLAN_REFILL expect",
              arguments, options);
}

TEST_F(JointPlan, OpenSizesAndListsDoNot) {
  const ArgumentList known = arguments;
  ArgumentList open(known.size());
  open[q] = known[q], open[k] = known[k];
  ASSERT_OK(createWith(SPARSEC_PLAN_STATIC_PATTERN, open));
  expectNone("no joint lists: fixed order: the lists are open");
  open[pattern] = known[pattern];
  open[q].dense.sizes[0] = SPARSEC_DYNAMIC;
  open[k].dense.sizes[0] = SPARSEC_DYNAMIC;
  ASSERT_OK(createWith(SPARSEC_PLAN_STATIC_PATTERN, open));
  expectNone("no joint lists: fixed order: open sizes batches");
}

TEST_F(JointPlan, EveryWorkerNeedsATile) {
  setRows({{0}, {0}, {0}});
  ASSERT_OK(createStatic());
  EXPECT_THAT(reason(), StartsWith("joint lists: ")) << "two heads of two tiles, for four workers";
  setRows({{0}, {0}});
  ASSERT_OK(createStatic());
  expectNone("no joint lists: there are fewer tiles than workers");
}

/// 2^30 keys have 2^24 blocks.
TEST_F(JointPlan, KeysHaveALimit) {
  setRows(Rows(8));
  for (int64_t beyond : {0, 1}) {
    const int64_t keys = (int64_t(1) << 30) + beyond;
    arguments[pattern].blocks.columns = keys;
    ArgumentList sizes(arguments.size());
    sizes[q] = arguments[q], sizes[pattern] = arguments[pattern];
    sizes[k] = sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_BF16, 1, heads, keys, 64);
    ASSERT_OK(createWith(SPARSEC_PLAN_STATIC_PATTERN, sizes));
    EXPECT_THAT(reason(), StartsWith(beyond == 0 ? "joint lists: 0.00 block rows see a block"
                                                 : "no joint lists: an entry has no room for the numbers of the key"));
  }
}

TEST_F(JointPlan, NothingMayBeThereToCompute) {
  setRows(windows(), /*batches=*/0);
  ASSERT_OK(createStatic());
  EXPECT_EQ(reason(), "fixed order: there are no tiles");
  EXPECT_EQ(section(SPARSEC_PLAN_JOINT_RANGES), nullptr);
}

/// Query 0 is at key 3 * 64, and a query sees its own key alone.
TEST_F(JointPlan, HaveTheReachOfTheKernel) {
  LaunchInfoBuilder info = attentionWithJointLists();
  info.attribute(SPARSEC_ATTRIBUTE_CAUSAL).value = 1;
  info.attribute(SPARSEC_ATTRIBUTE_WINDOW_LEFT).value = 0;
  loadJoint(info);
  ASSERT_OK(createStatic());
  const auto ranges = elements<JointRange>(SPARSEC_PLAN_JOINT_RANGES);
  const auto entries = elements<uint32_t>(SPARSEC_PLAN_JOINT_BLOCKS);
  ASSERT_EQ(ranges.size(), 8u);
  EXPECT_THAT(entries, ElementsAre(3 | SPARSEC_JOINT_ABSENT << 1, 4 | SPARSEC_JOINT_ABSENT, //
                                   5 | SPARSEC_JOINT_ABSENT << 1, 6 | SPARSEC_JOINT_ABSENT, //
                                   7 | SPARSEC_JOINT_ABSENT << 1, 8 | SPARSEC_JOINT_ABSENT, //
                                   9 | SPARSEC_JOINT_ABSENT << 1, 10 | SPARSEC_JOINT_ABSENT, 0));
}

//===----------------------------------------------------------------------===//
// Saved plans
//===----------------------------------------------------------------------===//

TEST_F(JointPlan, ComesBackFromBytes) {
  ASSERT_OK(createStatic());
  const PlanContents contents = contentsOf(*plan);
  const ByteVector saved = savePlan();
  ASSERT_OK(loadPlan(saved));
  EXPECT_TRUE(contentsOf(*plan) == contents);
  EXPECT_EQ(savePlan(), saved);
  EXPECT_EQ(launched(), "attention_joint");
}

TEST_F(JointPlan, ComesBackWithoutLists) {
  ASSERT_OK(createWith(0, arguments));
  const PlanContents contents = contentsOf(*plan);
  const ByteVector saved = savePlan();
  ASSERT_OK(loadPlan(saved));
  EXPECT_TRUE(contentsOf(*plan) == contents);
  expectNone("no joint lists: the pattern may change");
}

TEST_F(JointPlan, ComesBackFromBytesWithDividedSteps) {
  loadJoint(attentionWithDividedSteps());
  ASSERT_OK(createStatic());
  const PlanContents contents = contentsOf(*plan);
  ASSERT_OK(loadPlan(savePlan()));
  EXPECT_TRUE(contentsOf(*plan) == contents);
}

/// Steps have two blocks: tile 0 has the entries 0 to 6, of the blocks 0 to 4 and of none.
class DamagedJointPlan : public JointPlan {
protected:
  void SetUp() override {
    JointPlan::SetUp();
    loadJoint(attentionWithJointLists(80, /*stepKeys=*/128));
    ASSERT_OK(createStatic());
    good = savePlan();
    ASSERT_THAT(std::vector(elements<uint32_t>(SPARSEC_PLAN_JOINT_BLOCKS)), ::testing::SizeIs(4 * 6 + 1));
  }

  void refusesBytes(const std::string &message, const ByteVector &bytes) {
    EXPECT_STATUS(loadPlan(mended(bytes)), SPARSEC_STATUS_INVALID_PLAN, "saved plan: " + message);
  }
  void refusesWord(const std::string &message, sparsec_plan_section_t section, int64_t index, uint32_t value) {
    ByteVector bytes = good;
    setWord(bytes, joint, section, index, value);
    refusesBytes(message, bytes);
  }
  void refusesEntry(const std::string &message, int64_t index, uint32_t value) {
    refusesWord("joint blocks of variant 0: " + message, SPARSEC_PLAN_JOINT_BLOCKS, index, value);
  }
  void refusesRange(const std::string &message, uint32_t tile, uint32_t begin, uint32_t end) {
    ByteVector bytes = good;
    setWord(bytes, joint, SPARSEC_PLAN_JOINT_RANGES, 2 * int64_t(tile), begin);
    setWord(bytes, joint, SPARSEC_PLAN_JOINT_RANGES, 2 * int64_t(tile) + 1, end);
    refusesBytes("joint ranges of variant 0: tile " + message, bytes);
  }
  /// With a field of the record of a section changed.
  void refusesRecord(const std::string &message, uint32_t section, size_t field, uint64_t value, size_t size) {
    ByteVector bytes = good;
    std::memcpy(bytes.data() + recordOf(good, joint, section) + field, &value, size);
    refusesBytes(message, bytes);
  }
  void refusesSize(const std::string &message, size_t number, int64_t size) {
    ByteVector bytes = good;
    std::memcpy(bytes.data() + offsetof(SavedPlanHeader, sizes) + number * sizeof(size), &size, sizeof(size));
    refusesBytes(message, bytes);
  }

  ByteVector good;
};

TEST_F(DamagedJointPlan, BitsOfEntries) {
  refusesEntry("entry 0 has bits 16777216", 0, 0x1000000);
  refusesEntry("entry 0 has bits 2147483648", 0, 0x80000000);
  refusesEntry("entry 0 has bits 335544320", 0, SPARSEC_JOINT_ABSENT | SPARSEC_JOINT_PARTIAL);
  refusesEntry("entry 0 has bits 671088640", 0, (SPARSEC_JOINT_ABSENT | SPARSEC_JOINT_PARTIAL) << 1);
}

TEST_F(DamagedJointPlan, BlocksOfEntries) {
  refusesEntry("entry 0 is of block 11 of 11", 0, blocks);
  refusesEntry("entry 0 is of block 16777215 of 11", 0, SPARSEC_JOINT_BLOCK_MASK);
  refusesEntry("entry 1 is of block 0, as another one of tile 0", 1, 0);
  refusesEntry("entry 5 is of block 3, as another one of tile 0", 5, 3 | SPARSEC_JOINT_ABSENT);
}

/// An entry that fills up a step is in the last step, and behind another entry.
TEST_F(DamagedJointPlan, RowsOfEntries) {
  refusesEntry("entry 0 is in neither row", 0, noJointBlock);
  refusesEntry("entry 1 is in neither row", 1, noJointBlock);
  refusesEntry("entry 3 is in neither row", 3, noJointBlock);
  refusesEntry("entry 4 is in neither row", 4, noJointBlock);
  refusesEntry("entry 5 is in neither row", 5, noJointBlock | 7);
}

/// Tile 0 has a shared step, and two divided ones of the entries 2 to 6.
TEST_F(DamagedJointPlan, DividedSteps) {
  loadJoint(attentionWithDividedSteps());
  ASSERT_OK(createStatic());
  good = savePlan();
  constexpr uint32_t ofFirst = SPARSEC_JOINT_DIVIDED | SPARSEC_JOINT_ABSENT << 1;
  constexpr uint32_t ofSecond = SPARSEC_JOINT_DIVIDED | SPARSEC_JOINT_ABSENT;
  refusesEntry("entry 3 is in a step that is divided in part", 3, 4 | SPARSEC_JOINT_ABSENT);
  refusesEntry("entry 1 is in a step that is divided in part", 1, 2 | ofSecond);
  refusesEntry("entry 2 is not of row 0 alone", 2, 0 | ofSecond);
  refusesEntry("entry 3 is not of row 1 alone", 3, 4 | ofFirst);
  refusesEntry("entry 2 is not of row 0 alone", 2, 0 | SPARSEC_JOINT_DIVIDED);
  refusesEntry("entry 4 is of block 0, as another one of tile 0", 4, 0 | ofFirst);
  refusesEntry("entry 5 is of block 1, as another one of tile 0", 5, 1 | ofSecond);
  refusesEntry("entry 0 is in neither row", 0, noJointBlock);
}

TEST_F(DamagedJointPlan, OrderOfDividedSteps) {
  loadJoint(attentionWithDividedSteps());
  ASSERT_OK(createStatic());
  good = savePlan();
  auto refusesStep = [&](const std::string &message, int64_t first, uint32_t entry, uint32_t second) {
    ByteVector bytes = good;
    setWord(bytes, joint, SPARSEC_PLAN_JOINT_BLOCKS, first, entry);
    setWord(bytes, joint, SPARSEC_PLAN_JOINT_BLOCKS, first + 1, second);
    refusesBytes("joint blocks of variant 0: " + message, bytes);
  };
  refusesStep("entry 0 is of a divided step, but tile 0 has none in front", 0,
              7 | SPARSEC_JOINT_DIVIDED | SPARSEC_JOINT_ABSENT << 1, 8 | SPARSEC_JOINT_DIVIDED | SPARSEC_JOINT_ABSENT);
  refusesStep("entry 4 is of a shared step behind a divided one", 4, 7, 8);
}

TEST_F(DamagedJointPlan, Ends) {
  refusesEntry("expects a zero behind the end", -1, 1);
  refusesRecord("joint blocks of variant 0: expects a zero behind the end", SPARSEC_PLAN_JOINT_BLOCKS,
                offsetof(SavedSection, bytes), 0, 8);
}

TEST_F(DamagedJointPlan, Ranges) {
  refusesRange("0 has entries 1 to 6 of 24, in steps of 2", 0, 1, 6);
  refusesRange("1 has entries 6 to 11 of 24, in steps of 2", 1, 6, 11);
  refusesRange("7 has entries 18 to 26 of 24, in steps of 2", 7, 18, 26);
  refusesRange("2 has entries 14 to 12 of 24, in steps of 2", 2, 14, 12);
}

/// The bytes end with the blocks: a range must not reach behind them.
TEST_F(DamagedJointPlan, RangesEndBeforeTheZero) {
  LaunchInfoBuilder info = attentionWithJointLists();
  loadJoint(info);
  ASSERT_OK(createStatic());
  good = savePlan();
  refusesRange("7 has entries 15 to 21 of 20, in steps of 1", 7, 15, 21);
}

TEST_F(DamagedJointPlan, SizesOfSections) {
  constexpr size_t length = offsetof(SavedSection, bytes);
  refusesRecord("joint ranges of variant 0: expects 8 elements, but got 7", SPARSEC_PLAN_JOINT_RANGES, length, 56, 8);
  refusesRecord("joint ranges of variant 0: 60 bytes are no whole number of elements of 8", SPARSEC_PLAN_JOINT_RANGES,
                length, 60, 8);
  refusesRecord("joint blocks of variant 0: 98 bytes are no whole number of elements of 4", SPARSEC_PLAN_JOINT_BLOCKS,
                length, 98, 8);
}

TEST_F(DamagedJointPlan, OpenSizes) {
  for (size_t number : {0, 1, 2, 4}) // batches, heads, queries and keys
    refusesSize("variant 0 has joint lists, but sizes are open", number, SPARSEC_DYNAMIC);
}

TEST_F(DamagedJointPlan, SizesOfTheProblem) {
  refusesSize("joint ranges of variant 0: expects 12 elements, but got 8", /*heads*/ 1, 3);
  refusesSize("joint blocks of variant 0: entry 4 is of block 4 of 4", /*keys*/ 4, 256);
}

TEST_F(DamagedJointPlan, Presence) {
  constexpr size_t variant = offsetof(SavedSection, variant);
  refusesRecord("variant 0 has some sections of a kind, but not all: 268435459 of 805306368", SPARSEC_PLAN_JOINT_BLOCKS,
                variant, own, 4);
  refusesRecord("variant 0 has some sections of a kind, but not all: 536870915 of 805306368", SPARSEC_PLAN_JOINT_RANGES,
                variant, own, 4);
  ByteVector bytes = good;
  for (uint32_t section : {SPARSEC_PLAN_JOINT_RANGES, SPARSEC_PLAN_JOINT_BLOCKS}) {
    const uint32_t other = own;
    std::memcpy(bytes.data() + recordOf(good, joint, section) + variant, &other, sizeof(other));
  }
  refusesBytes("variant 0 has tile lists, but nothing to compute or no pattern", bytes);
  refusesBytes("variant 0 holds a pattern, but the plan does not know its lists", withoutList(good));
}

/// As of a plan without joint lists, whose variant takes none.
TEST_F(DamagedJointPlan, OrderIsThatOfItsSections) {
  ByteVector bytes = good;
  bytes[recordOfVariant(bytes, joint) + offsetof(SavedVariant, order)] = SPARSEC_TILE_ORDER_FIXED;
  refusesBytes("what it says of variant 0 is not what its sections say", bytes);
}

} // namespace
