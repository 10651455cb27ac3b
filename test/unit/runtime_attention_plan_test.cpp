// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans of attention on the fake driver: what they hold, what launches make of them, and what is refused.

#include "plan/plan.h"
#include "plan/tile_lists.h"
#include "runtime_attention_fixture.h"

#include <algorithm>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

enum : uint8_t { empty = SPARSEC_BLOCK_EMPTY, full = SPARSEC_BLOCK_FULL, partial = SPARSEC_BLOCK_PARTIAL };
using Tiles = std::vector<std::pair<uint32_t, uint32_t>>;

constexpr sparsec_pattern_encoding_t encodings[] = {SPARSEC_PATTERN_INDEX_ARRAYS, SPARSEC_PATTERN_PADDED_LISTS};

/// cudaAttention() with one CTA on an SM and blocks of 64 x 64. The kernel gets the sections of its plan.
LaunchInfoBuilder plannedAttention(uint32_t concurrentTiles = 1, uint32_t tileKeys = 64) {
  LaunchInfoBuilder info = cudaAttention();
  info.arguments[3].block_columns = 64;
  info.stages[0].ctas_per_sm = 1;
  info.stages[0].concurrent_tiles = concurrentTiles;
  info.setTile(0, 64, tileKeys);
  addTileCounter(info);
  info.parameters = {{SPARSEC_SOURCE_PLAN_SECTION, SPARSEC_PLAN_TILE_OFFSETS, 0, 0},
                     {SPARSEC_SOURCE_PLAN_SECTION, SPARSEC_PLAN_TILES, 0, 0},
                     {SPARSEC_SOURCE_WORKSPACE, 0, 0, 0}};
  info.stages[0].parameter_count = 3;
  return info;
}

LaunchInfoBuilder withoutPattern(LaunchInfoBuilder info) {
  removeArgument(info, 3);
  return info;
}

class AttentionPlan : public AttentionOnFake {
protected:
  void SetUp() override {
    fake.multiprocessors = 4;
    fake.parameterCount = 3;
  }
  void TearDown() override {
    sparsec_pattern_buffer_destroy(buffer);
    AttentionOnFake::TearDown();
  }

  /// A pattern in the device's memory, with the state of every block.
  const sparsec_blocks_t *lists(sparsec_blocks_t shape, const std::vector<uint8_t> &states,
                                sparsec_pattern_encoding_t encoding = SPARSEC_PATTERN_INDEX_ARRAYS) {
    shape.encoding = encoding;
    sparsec_pattern_buffer_destroy(buffer);
    buffer = nullptr;
    EXPECT_OK(sparsec_pattern_from_block_mask(&shape, states.data(), device, &buffer));
    view = viewOf(buffer);
    return &view;
  }

  /// For the arguments of the fixture: the same lists for all batches and heads.
  const sparsec_blocks_t *listsOfArguments() {
    const sparsec_blocks_t *made = lists(shapeOf(64, 64, 1, 1, 100, 300), {full, partial, empty, empty, full, //
                                                                           empty, empty, empty, empty, partial});
    setArguments(*made);
    return made;
  }

  struct Sizes {
    int64_t batches, heads, queries, keys;
  };

  /// The arguments that a plan gets: sizes, and lists where they are known.
  ArgumentList planArguments(const Sizes &sizes, const sparsec_blocks_t *known) {
    ArgumentList list(sparsec_kernel_info(kernel)->argument_count);
    list[q] = sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_BF16, sizes.batches, sizes.heads, sizes.queries, 64);
    list[k] = sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_BF16, sizes.batches, SPARSEC_DYNAMIC, sizes.keys, 64);
    if (known)
      list[pattern] = *known;
    return list;
  }

  void create(const Sizes &sizes, const sparsec_blocks_t *known = nullptr) {
    ASSERT_OK(createPlan(planArguments(sizes, known)));
  }

  sparsec_plan_info_t info() { return planInfo(); }

  const void *section(sparsec_plan_section_t section, size_t variant = 0) {
    return plan->variants[variant].sections[section];
  }
  const uint32_t *offsets(size_t variant = 0) {
    return static_cast<const uint32_t *>(section(SPARSEC_PLAN_TILE_OFFSETS, variant));
  }

  Tiles tilesOf(size_t worker, size_t variant = 0) {
    const auto *list = static_cast<const Tile *>(section(SPARSEC_PLAN_TILES, variant));
    Tiles tiles;
    for (uint32_t i = offsets(variant)[worker]; i < offsets(variant)[worker + 1]; ++i)
      tiles.emplace_back(list[i].row, list[i].panel);
    return tiles;
  }

  /// The first tile of every worker, where there are as many workers as tiles: by falling cost.
  Tiles byCost() {
    Tiles first;
    for (int64_t worker = 0; worker < info().workers; ++worker) {
      EXPECT_EQ(tilesOf(worker).size(), 1u);
      first.push_back(tilesOf(worker).front());
    }
    return first;
  }

  void refuses(sparsec_status_code_t code, const std::string &message, const Sizes &sizes,
               const sparsec_blocks_t *known = nullptr) {
    refusesPlan(code, message, planArguments(sizes, known));
  }

  static uint64_t word(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

  sparsec_pattern_buffer_t buffer = nullptr;
  sparsec_blocks_t view = {};
};

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

TEST_F(AttentionPlan, SaysWhatItIs) {
  load(withoutPattern(plannedAttention(/*concurrentTiles=*/3)));
  create({2, 8, 100, 300});
  EXPECT_EQ(info().tiles, 2 * 8 * 2) << "two tiles of 64 queries for every head";
  EXPECT_EQ(info().workers, 4 * 3) << "3 in each of 4 CTAs";
  EXPECT_DOUBLE_EQ(info().balance, 32.0 / 12 / 3) << "tiles alike, at most 3 for a worker";
  EXPECT_GT(info().milliseconds, 0);
}

/// The image holds the cost of a tile beyond its steps.
TEST_F(AttentionPlan, HasTheCostsOfItsVariant) {
  for (auto [overhead, balance] : {std::pair(0u, 2.5 / 4), {2u, 4.5 / 6}, {100u, 102.5 / 104}}) {
    LaunchInfoBuilder causal = withoutPattern(plannedAttention());
    causal.attribute(SPARSEC_ATTRIBUTE_CAUSAL).value = 1;
    causal.planCost(SPARSEC_PLAN_COST_TILE_OVERHEAD) = overhead;
    load(causal);
    create({1, 1, 256, 256});
    EXPECT_DOUBLE_EQ(info().balance, balance) << "4, 3, 2 and 1 steps, and " << overhead;
  }
}

TEST_F(AttentionPlan, EveryTileOnce) {
  for (uint32_t concurrentTiles : {1, 2, 3, 4})
    for (auto encoding : encodings) {
      load(plannedAttention(concurrentTiles));
      std::vector<uint8_t> states(3 * 5 * 4 * 7); // 3 batches, 5 heads, 4 x 7 blocks
      for (size_t i = 0; i < states.size(); ++i)
        states[i] = uint8_t(i * i % 11 % 3);
      create({3, 5, 250, 400}, lists(shapeOf(64, 64, 3, 5, 250, 400), states, encoding));
      ASSERT_EQ(info().workers, 4 * concurrentTiles);
      EXPECT_EQ(offsets()[0], 0u);
      EXPECT_TRUE(std::is_sorted(offsets(), offsets() + info().workers + 1));
      std::set<std::pair<uint32_t, uint32_t>> all;
      for (int64_t worker = 0; worker < info().workers; ++worker)
        for (auto tile : tilesOf(worker))
          EXPECT_TRUE(all.insert(tile).second);
      EXPECT_EQ(all.size(), 3u * 5 * 4);
      EXPECT_EQ(all.rbegin()->first, 14u);
    }
}

/// All teams of the last CTA look for their lists.
TEST_F(AttentionPlan, TeamsWithoutTilesHaveEmptyLists) {
  load(withoutPattern(plannedAttention(/*concurrentTiles=*/3)));
  create({1, 4, 64, 64});
  EXPECT_EQ(info().tiles, 4);
  ASSERT_EQ(info().workers, 6);
  for (size_t worker = 0; worker < 6; ++worker)
    EXPECT_EQ(tilesOf(worker).size(), worker < 4 ? 1u : 0u);
}

TEST_F(AttentionPlan, HeadAfterHeadFromTheLastQueriesOn) {
  fake.multiprocessors = 1;
  LaunchInfoBuilder causal = withoutPattern(plannedAttention());
  causal.attribute(SPARSEC_ATTRIBUTE_CAUSAL).value = 1;
  load(causal);
  // Panels cost 3, 2 and 1 steps, and 2 for the rest.
  create({1, 3, 192, 192});
  EXPECT_EQ(tilesOf(0), (Tiles{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}}));
}

TEST_F(AttentionPlan, CausalAndWindowLimitTheSteps) {
  struct {
    uint32_t causal;
    int32_t left, right;
    int64_t keys;
    std::vector<uint32_t> panels; // by falling cost
    double balance;
  } cases[] = {
      {0, -1, -1, 256, {0, 1, 2, 3}, 1},        {1, -1, -1, 256, {0, 1, 2, 3}, 4.5 / 6}, // 4, 3, 2, 1 steps
      {0, 64, -1, 256, {2, 3, 1, 0}, 5.25 / 6},                                          // 2, 3, 4, 4
      {0, -1, 64, 256, {0, 1, 2, 3}, 5.25 / 6},                                          // 4, 4, 3, 2
      {1, 64, -1, 256, {0, 1, 2, 3}, 3.75 / 4},                                          // 2, 2, 2, 1
      {1, -1, -1, 64, {0, 1, 2, 3}, 2.25 / 3}, // 1, and none for the first 192 queries
      {0, -1, -1, 0, {0, 1, 2, 3}, 1},
  };
  for (const auto &[causal, left, right, keys, panels, balance] : cases) {
    LaunchInfoBuilder limited = withoutPattern(plannedAttention());
    limited.attribute(SPARSEC_ATTRIBUTE_CAUSAL).value = causal;
    limited.attribute(SPARSEC_ATTRIBUTE_WINDOW_LEFT).value = left;
    limited.attribute(SPARSEC_ATTRIBUTE_WINDOW_RIGHT).value = right;
    load(limited);
    create({1, 1, 256, keys});
    Tiles expected;
    for (uint32_t panel : panels)
      expected.emplace_back(0, panel);
    EXPECT_EQ(byCost(), expected) << causal << " " << left << " " << right << " " << keys;
    EXPECT_DOUBLE_EQ(info().balance, balance) << causal << " " << left << " " << right << " " << keys;
    sparsec_plan_destroy(plan);
    plan = nullptr;
  }
}

/// Two heads of two rows of eight blocks, two of which are a step.
TEST_F(AttentionPlan, ListsOfBothKindsAreCounted) {
  load(plannedAttention(1, /*tileKeys=*/128));
  const std::vector<uint8_t> states = {
      full,  partial, empty, partial, empty, partial, empty, full,    // 5 blocks: 3 steps
      empty, empty,   empty, empty,   empty, empty,   empty, empty,   // none
      full,  full,    full,  full,    full,  full,    full,  full,    // 4 steps
      empty, empty,   empty, empty,   empty, empty,   empty, partial, // 1 step
  };
  for (auto encoding : encodings) {
    create({1, 2, 128, 512}, lists(shapeOf(64, 64, 1, 2, 128, 512), states, encoding));
    EXPECT_EQ(byCost(), (Tiles{{1, 1}, {0, 1}, {1, 0}, {0, 0}}));
    EXPECT_DOUBLE_EQ(info().balance, 4.0 / 6) << "costs 6, 5, 3 and 2";
  }
}

TEST_F(AttentionPlan, AbsentListsAreEmpty) {
  load(plannedAttention());
  for (auto encoding : encodings) {
    sparsec_blocks_t pattern = *lists(shapeOf(64, 64, 1, 1, 256, 192),
                                      {full, full, full, full, full, empty, //
                                       full, empty, empty, full, empty, empty},
                                      encoding);
    pattern.partial = {nullptr, nullptr};
    create({1, 1, 256, 192}, &pattern);
    EXPECT_DOUBLE_EQ(info().balance, 3.75 / 5) << "3, 2, 1 and 1 blocks";
    std::swap(pattern.partial, pattern.full);
    create({1, 1, 256, 192}, &pattern);
    EXPECT_DOUBLE_EQ(info().balance, 3.75 / 5) << "the same ones, partial";
    pattern.partial = {nullptr, nullptr};
    create({1, 1, 256, 192}, &pattern);
    EXPECT_DOUBLE_EQ(info().balance, 1) << "none";
  }
}

/// Blocks that causal hides are not visited although they are in a list.
TEST_F(AttentionPlan, UnreachableBlocksAreNotCounted) {
  LaunchInfoBuilder causal = plannedAttention();
  causal.attribute(SPARSEC_ATTRIBUTE_CAUSAL).value = 1;
  load(causal);
  create({1, 1, 256, 256}, lists(shapeOf(64, 64, 1, 1, 256, 256), std::vector<uint8_t>(16, full)));
  EXPECT_EQ(byCost(), (Tiles{{0, 0}, {0, 1}, {0, 2}, {0, 3}}));
  EXPECT_DOUBLE_EQ(info().balance, 4.5 / 6);
  // More queries than keys: the first 192 see none.
  create({1, 1, 256, 64}, lists(shapeOf(64, 64, 1, 1, 256, 64), std::vector<uint8_t>(4, partial)));
  EXPECT_DOUBLE_EQ(info().balance, 2.25 / 3);
}

TEST_F(AttentionPlan, BatchesAndHeadsMayShareLists) {
  load(plannedAttention());
  const std::vector<uint8_t> few = {full, empty, empty}, many = {full, full, partial};
  std::vector<uint8_t> both = few;
  both.insert(both.end(), many.begin(), many.end());
  create({2, 2, 64, 192}, lists(shapeOf(64, 64, 1, 1, 64, 192), many));
  EXPECT_DOUBLE_EQ(info().balance, 1);
  create({2, 2, 64, 192}, lists(shapeOf(64, 64, 2, 1, 64, 192), both));
  EXPECT_EQ(byCost(), (Tiles{{2, 0}, {3, 0}, {0, 0}, {1, 0}})) << "the second batch";
  create({2, 2, 64, 192}, lists(shapeOf(64, 64, 1, 2, 64, 192), both));
  EXPECT_EQ(byCost(), (Tiles{{1, 0}, {3, 0}, {0, 0}, {2, 0}})) << "the second head of both";
}

TEST_F(AttentionPlan, TilesMayBeHalvesOfBlocks) {
  LaunchInfoBuilder halves = plannedAttention();
  halves.arguments[pattern].block_rows = 128;
  load(halves);
  create({1, 1, 256, 128}, lists(shapeOf(128, 64, 1, 1, 256, 128), {full, full, full, empty}));
  EXPECT_EQ(byCost(), (Tiles{{0, 2}, {0, 3}, {0, 0}, {0, 1}})) << "both halves of the first block, then of the second";
  EXPECT_DOUBLE_EQ(info().balance, 3.5 / 4);
}

TEST_F(AttentionPlan, LongRowsAreSpreadOverAllWorkers) {
  load(plannedAttention(/*concurrentTiles=*/2));
  // 8 workers; 8 heads with one row of 32 blocks and three of one.
  std::vector<uint8_t> states(8 * 4 * 32, empty);
  for (int row = 0; row < 8 * 4; ++row)
    std::fill_n(states.begin() + row * 32, row % 4 == 1 ? 32 : 1, full);
  create({1, 8, 256, 32 * 64}, lists(shapeOf(64, 64, 1, 8, 256, 32 * 64), states));
  ASSERT_EQ(info().workers, 8);
  for (size_t worker = 0; worker < 8; ++worker) {
    Tiles tiles = tilesOf(worker);
    EXPECT_EQ(tiles.size(), 4u);
    EXPECT_EQ(tiles.front().second, 2u) << "the second row is panel 2 of 4";
    EXPECT_EQ(std::count_if(tiles.begin(), tiles.end(), [](auto tile) { return tile.second == 2; }), 1);
  }
  EXPECT_DOUBLE_EQ(info().balance, 1);
}

TEST_F(AttentionPlan, EveryVariantHasItsOwnTiles) {
  LaunchInfoBuilder two = withoutPattern(plannedAttention());
  uint32_t second = two.addVariant();
  two.setTile(second, 32, 64);
  two.stages[second].concurrent_tiles = 2;
  load(two);
  create({1, 1, 128, 64});
  EXPECT_EQ(info().tiles, 2) << "of the preferred one";
  EXPECT_EQ(info().workers, 2);
  EXPECT_EQ(planInfo(1).tiles, 4);
  EXPECT_EQ(planInfo(1).workers, 4);
  EXPECT_EQ(tilesOf(3, 1), (Tiles{{0, 3}}));
}

//===----------------------------------------------------------------------===//
// The counter
//===----------------------------------------------------------------------===//

TEST_F(AttentionPlan, UnknownListsHaveACounter) {
  load(plannedAttention(/*concurrentTiles=*/3));
  create({2, 8, 100, 300});
  EXPECT_EQ(info().order, SPARSEC_TILE_ORDER_COUNTER);
  EXPECT_EQ(info().bytes, 0);
  EXPECT_EQ(info().workspace_bytes, 16);
  EXPECT_EQ(workspaceBytes(), 16u);
  EXPECT_EQ(info().tiles, 32);
  EXPECT_EQ(info().workers, 12);
  EXPECT_EQ(info().balance, 1);
  create({1, 1, 100, 300});
  EXPECT_EQ(info().workers, 2) << "no more than tiles";
}

TEST_F(AttentionPlan, KnownListsHaveNoCounter) {
  load(plannedAttention());
  create({2, 8, 100, 300}, listsOfArguments());
  EXPECT_EQ(info().order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(info().workspace_bytes, 0);
  load(withoutPattern(plannedAttention()));
  create({2, 8, 100, 300});
  EXPECT_EQ(info().order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_NE(section(SPARSEC_PLAN_TILES), nullptr);
}

/// One plan for all batches and lengths.
TEST_F(AttentionPlan, OpenSizesHaveACounterAndServeAllLaunches) {
  load(plannedAttention());
  const sparsec_blocks_t *known = listsOfArguments();
  constexpr int64_t open = SPARSEC_DYNAMIC;
  for (const Sizes &sizes : {Sizes{open, 8, 100, 300}, {2, open, 100, 300}, {2, 8, open, 300}, {2, 8, 100, open}}) {
    create(sizes, known);
    EXPECT_EQ(info().order, SPARSEC_TILE_ORDER_COUNTER);
    EXPECT_EQ(info().tiles, SPARSEC_DYNAMIC);
    EXPECT_EQ(info().workers, SPARSEC_DYNAMIC);
    fake.launches.clear();
    ASSERT_OK(launch());
    EXPECT_EQ(fake.launches.back().gridX, 4u);
  }
  create({open, open, open, open});
  ASSERT_OK(launch());
  for (int tensor : {q, o})
    arguments[tensor].dense.sizes[0] = 1;
  arguments[k].dense.sizes[0] = arguments[v].dense.sizes[0] = arguments[lse].dense.sizes[0] = 1;
  ASSERT_OK(launch());
  create({2, open, open, open});
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT,
                "plan is for batches 2, heads open, queries open, keys open, but the launch has batches 1, heads 8,");
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

TEST_F(AttentionPlan, KernelsGetTheSections) {
  load(plannedAttention(/*concurrentTiles=*/3));
  const sparsec_blocks_t *known = listsOfArguments();
  auto options = sized<sparsec_launch_options_t>();
  options.workspace = at(0x700000);
  options.workspace_bytes = 16;
  create({2, 8, 100, 300}, known);
  ASSERT_OK(launchWith(options));
  EXPECT_EQ(fake.launches.back().gridX, 4u);
  EXPECT_THAT(fake.launches.back().words,
              ::testing::ElementsAre(word(section(SPARSEC_PLAN_TILE_OFFSETS)), word(section(SPARSEC_PLAN_TILES)), 0u));
  create({2, 8, 100, 300});
  ASSERT_OK(launchWith(options));
  EXPECT_EQ(fake.launches.back().gridX, 4u);
  EXPECT_THAT(fake.launches.back().words, ::testing::ElementsAre(0u, 0u, 0x700000u));
  ASSERT_OK(launch());
  EXPECT_THAT(fake.launches.back().words, ::testing::ElementsAre(0u, 0u, 0u)) << "no workspace: in fixed order";
  sparsec_plan_destroy(plan);
  plan = nullptr;
  ASSERT_OK(launchWith(options));
  EXPECT_EQ(fake.launches.back().gridX, 4u);
  EXPECT_THAT(fake.launches.back().words, ::testing::ElementsAre(0u, 0u, 0u));
}

TEST_F(AttentionPlan, BadWorkspacesAreRefused) {
  load(plannedAttention());
  listsOfArguments();
  create({2, 8, 100, 300});
  auto good = sized<sparsec_launch_options_t>();
  good.workspace = at(0x700000);
  good.workspace_bytes = 16;
  auto refusesOptions = [&](const std::string &message, const std::function<void(sparsec_launch_options_t &)> &change) {
    sparsec_launch_options_t broken = good;
    change(broken);
    EXPECT_STATUS(launchWith(broken), SPARSEC_STATUS_INVALID_ARGUMENT, message);
    EXPECT_TRUE(fake.launches.empty());
  };
  refusesOptions("options: expects workspace_bytes of at least 16, but got 15",
                 [](auto &o) { o.workspace_bytes = 15; });
  refusesOptions("options: workspace is not aligned to 16 bytes", [](auto &o) { o.workspace = at(0x700008); });
  refusesOptions("options: expects flags of 0, but got 1", [](auto &o) { o.flags = 1; });
  refusesOptions("options: expects a size of at least 40 bytes, but got 39", [](auto &o) { o.size = 39; });
  const ArgumentArray array(arguments);
  EXPECT_STATUS(sparsec_launch_with_options(kernel, plan, array.data(), array.size(), nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "options is NULL");
}

TEST_F(AttentionPlan, GridsHaveACtaForEveryFewWorkers) {
  fake.multiprocessors = 132;
  load(plannedAttention(/*concurrentTiles=*/3));
  const sparsec_blocks_t *pattern = listsOfArguments();
  for (const sparsec_blocks_t *known : {pattern, static_cast<const sparsec_blocks_t *>(nullptr)}) {
    create({2, 8, 100, 300}, known);
    ASSERT_OK(launch());
    EXPECT_EQ(fake.launches.back().gridX, 11u) << "32 tiles in threes, rounded up";
  }
  sparsec_plan_destroy(plan);
  plan = nullptr;
  ASSERT_OK(launch());
  EXPECT_EQ(fake.launches.back().gridX, 11u);
}

TEST_F(AttentionPlan, ListsMayChangeAfterwards) {
  load(plannedAttention());
  create({2, 8, 100, 300}, listsOfArguments());
  arguments[pattern].blocks.full = {nullptr, nullptr};
  arguments[pattern].blocks.heads = 8;
  EXPECT_OK(launch());
}

TEST_F(AttentionPlan, OtherSizesAreRefused) {
  load(plannedAttention());
  const sparsec_blocks_t *known = listsOfArguments();
  const Sizes others[] = {{1, 8, 100, 300}, {2, 4, 100, 300}, {2, 8, 99, 300}, {2, 8, 100, 301}};
  const char *messages[] = {
      "plan is for batches 1, heads 8, queries 100, keys 300, but the launch has batches 2, heads 8, queries 100, keys",
      "plan is for batches 2, heads 4,", "queries 99, keys 300, but", "keys 301, but"};
  for (size_t i = 0; i < std::size(others); ++i) {
    create(others[i]);
    EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, messages[i]);
  }
  create({2, 8, 100, 300}, known);
  sparsec_kernel_t first = kernel;
  sparsec_module_t own = module;
  module = nullptr;
  load(plannedAttention());
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, "plan is for a kernel of another module, 'attention'");
  EXPECT_TRUE(fake.launches.empty());
  kernel = first;
  sparsec_module_destroy(own);
}

TEST_F(AttentionPlan, EmptyProblems) {
  load(plannedAttention());
  listsOfArguments();
  arguments[q].dense.sizes[2] = arguments[o].dense.sizes[2] = arguments[lse].dense.sizes[2] = 0;
  arguments[pattern].blocks.rows = 0;
  for (const sparsec_blocks_t *known : {&arguments[pattern].blocks, static_cast<sparsec_blocks_t *>(nullptr)}) {
    create({2, 8, 0, 300}, known);
    EXPECT_EQ(info().tiles, 0);
    EXPECT_EQ(info().workers, 0);
    EXPECT_OK(launch());
    EXPECT_TRUE(fake.launches.empty());
  }
  create({0, 8, 100, 300});
  create({2, 0, 100, 300});
  EXPECT_EQ(info().tiles, 0);
  // Without keys rows of the result are zero, which takes a launch.
  create({2, 8, 100, 0}, lists(shapeOf(64, 64, 1, 1, 100, 0), {}));
  EXPECT_EQ(info().tiles, 32);
}

TEST_F(AttentionPlan, OutlivesItsModule) {
  load(plannedAttention());
  create({2, 8, 100, 300});
  sparsec_module_destroy(module);
  sparsec_device_destroy(device);
  module = nullptr;
  device = nullptr;
  EXPECT_EQ(fake.loadedModules, 1);
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

TEST_F(AttentionPlan, SizesOutOfRange) {
  load(plannedAttention());
  struct {
    int64_t Sizes::*field;
    const char *message;
  } fields[] = {{&Sizes::batches, "argument 0 'q': expects sizes of 0 to 2147418111, but size 0 is "},
                {&Sizes::heads, "argument 0 'q': expects sizes of 0 to 2147418111, but size 1 is "},
                {&Sizes::queries, "argument 0 'q': expects sizes of 0 to 2147418111, but size 2 is "},
                {&Sizes::keys, "argument 1 'k': expects sizes of 0 to 2147418111, but size 2 is "}};
  for (auto [field, message] : fields)
    for (int64_t value : {int64_t(-2), maxSize + 1, INT64_MAX}) {
      Sizes sizes = {2, 8, 100, 300};
      sizes.*field = value;
      refuses(SPARSEC_STATUS_INVALID_ARGUMENT, message + std::to_string(value), sizes);
    }
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT,
          "argument 0 'q': expects batches * heads * queries of at most 2147418111, but got 256 * 256 * 4194304",
          {256, 256, 65536 * 64, 1});
}

TEST_F(AttentionPlan, HeadsThatDoNotDivide) {
  load(plannedAttention());
  ArgumentList list = planArguments({2, 8, 100, 300}, nullptr);
  list[v] = sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_BF16, 2, 3, 300, 64);
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, "argument 1 'k': expects size 1 (heads) to divide the 8 heads of 'q'",
              list);
}

TEST_F(AttentionPlan, PatternsOfOtherSizes) {
  load(plannedAttention());
  const sparsec_blocks_t good = *listsOfArguments();
  auto change = [&](const std::string &message, const std::function<void(sparsec_blocks_t &)> &body) {
    sparsec_blocks_t broken = good;
    body(broken);
    refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "argument 3 'pattern': " + message, {2, 8, 100, 300}, &broken);
  };
  change("expects blocks of 64 queries x 64 keys, but got 128 x 64", [](auto &p) { p.block_rows = 128; });
  change("expects blocks of 64 queries x 64 keys, but got 64 x 32", [](auto &p) { p.block_columns = 32; });
  change("expects batches to be 1 or 2, but got 3", [](auto &p) { p.batches = 3; });
  change("expects heads to be 1 or 8, but got 2", [](auto &p) { p.heads = 2; });
  change("expects 2 block rows, the blocks of 64 in 100 queries, but its 129 rows have 3",
         [](auto &p) { p.rows = 129; });
  change("expects 5 block columns, the blocks of 64 in 300 keys, but its 256 columns have 4",
         [](auto &p) { p.columns = 256; });
  change("expects capacity of 0 to 2147418111, but got -1", [](auto &p) { p.capacity = -1; });
  change("expects encoding 1 (index arrays) or 2 (padded lists), but got 3",
         [](auto &p) { p.encoding = sparsec_pattern_encoding_t(3); });
}

TEST_F(AttentionPlan, BrokenLists) {
  load(plannedAttention());
  const Sizes sizes = {1, 1, 128, 192};
  auto refusesLists = [&](const std::string &message, sparsec_pattern_encoding_t encoding, std::vector<int32_t> starts,
                          std::vector<int32_t> indices, int64_t capacity) {
    const int32_t none[8] = {}; // the full lists have the same capacity
    sparsec_blocks_t broken = shapeOf(64, 64, 1, 1, 128, 192, encoding);
    broken.capacity = capacity;
    broken.partial = {starts.data(), indices.data()};
    broken.full = {none, none};
    refuses(SPARSEC_STATUS_INVALID_PATTERN, "argument 3 'pattern': " + message, sizes, &broken);
  };
  constexpr auto arrays = SPARSEC_PATTERN_INDEX_ARRAYS, padded = SPARSEC_PATTERN_PADDED_LISTS;
  refusesLists("expects partial.indices[2] (block row 1) to be 0 to 2, but got 3", arrays, {0, 2, 3}, {0, 1, 3}, 3);
  refusesLists("expects partial.indices[2] (block row 1) to be 0 to 2, but got -1", padded, {2, 1}, {0, 1, -1, 0}, 2);
  refusesLists("block column 1 is repeated at partial.indices[1] (block row 0)", arrays, {0, 2, 3}, {1, 1, 2}, 3);
  refusesLists("expects partial.starts[0] to be 0, but got 1", arrays, {1, 2, 3}, {0, 1, 2}, 3);
  refusesLists("expects partial.starts[2], the end of list 1 (block row 1), to be 2 to the capacity, 3, but "
               "got 4",
               arrays, {0, 2, 4}, {0, 1, 2}, 3);
  refusesLists("expects partial.starts[1] (block row 1) to be 0 to the capacity, 2, but got 3", padded, {2, 3},
               {0, 1, 0, 1}, 2);
}

TEST_F(AttentionPlan, FailuresAreReportedAndUndone) {
  load(plannedAttention());
  const sparsec_blocks_t *known = listsOfArguments();
  for (const char *call : {"cuMemcpyDtoHAsync", "cuMemAlloc", "cuMemcpyHtoDAsync", "cuCtxPushCurrent"}) {
    fake.failures = {{call, CUDA_ERROR_OUT_OF_MEMORY}};
    refuses(SPARSEC_STATUS_OUT_OF_MEMORY, "made to fail", {2, 8, 100, 300}, known);
    fake.failures.clear();
  }
}

} // namespace
