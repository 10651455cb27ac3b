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
LaunchInfoBuilder plannedAttention(uint32_t tilesPerCta = 1, uint32_t tileKeys = 64) {
  LaunchInfoBuilder info = cudaAttention();
  info.arguments[3].block_columns = 64;
  info.stages[0].ctas_per_sm = 1;
  info.stages[0].tiles_per_cta = tilesPerCta;
  info.setTile(0, 64, tileKeys);
  info.workspaces = {{0, 0, 4, SPARSEC_LIFETIME_LAUNCHES, 1, 0}};
  info.variants[0].workspace_count = 1;
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

  void create(const sparsec_attention_sizes_t &sizes, const sparsec_blocks_t *pattern = nullptr) {
    sparsec_plan_destroy(plan);
    plan = nullptr;
    ASSERT_OK(sparsec_plan_create_attention(kernel, &sizes, pattern, &plan));
  }

  sparsec_plan_info_t info() {
    sparsec_plan_info_t result = {};
    EXPECT_OK(sparsec_plan_info(plan, &result));
    return result;
  }

  const void *section(sparsec_plan_section_t section, size_t variant = 0) {
    return plan->variants[variant].sections[section];
  }
  const void *counter(size_t variant = 0) { return plan->variants[variant].counter; }
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

  void refuses(sparsec_status_code_t code, const std::string &message, const sparsec_attention_sizes_t &sizes,
               const sparsec_blocks_t *pattern = nullptr) {
    size_t allocations = fake.allocations.size();
    plan = reinterpret_cast<sparsec_plan_t>(8);
    EXPECT_STATUS(sparsec_plan_create_attention(kernel, &sizes, pattern, &plan), code, message);
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(fake.allocations.size(), allocations);
  }

  static uint64_t word(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

  sparsec_pattern_buffer_t buffer = nullptr;
  sparsec_blocks_t view = {};
};

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

TEST_F(AttentionPlan, SaysWhatItIs) {
  load(withoutPattern(plannedAttention(/*tilesPerCta=*/3)));
  create({2, 8, 100, 300});
  EXPECT_EQ(info().tiles, 2 * 8 * 2) << "two tiles of 64 queries for every head";
  EXPECT_EQ(info().workers, 4 * 3) << "3 in each of 4 CTAs";
  EXPECT_DOUBLE_EQ(info().balance, 32.0 / 12 / 3) << "tiles alike, at most 3 for a worker";
  EXPECT_GT(info().milliseconds, 0);
}

TEST_F(AttentionPlan, EveryTileOnce) {
  for (uint32_t tilesPerCta : {1, 2, 3, 4})
    for (auto encoding : encodings) {
      load(plannedAttention(tilesPerCta));
      std::vector<uint8_t> states(3 * 5 * 4 * 7); // 3 batches, 5 heads, 4 x 7 blocks
      for (size_t i = 0; i < states.size(); ++i)
        states[i] = uint8_t(i * i % 11 % 3);
      create({3, 5, 250, 400}, lists(shapeOf(64, 64, 3, 5, 250, 400), states, encoding));
      ASSERT_EQ(info().workers, 4 * tilesPerCta);
      EXPECT_EQ(offsets()[0], 0u);
      EXPECT_TRUE(std::is_sorted(offsets(), offsets() + info().workers + 1));
      std::set<std::pair<uint32_t, uint32_t>> all;
      for (int64_t worker = 0; worker < info().workers; ++worker)
        for (auto tile : tilesOf(worker))
          EXPECT_TRUE(all.insert(tile).second);
      EXPECT_EQ(all.size(), 3u * 5 * 4);
      EXPECT_EQ(all.rbegin()->first, 14u);
      sparsec_plan_destroy(plan);
      plan = nullptr;
    }
}

/// All teams of the last CTA look for their lists.
TEST_F(AttentionPlan, TeamsWithoutTilesHaveEmptyLists) {
  load(withoutPattern(plannedAttention(/*tilesPerCta=*/3)));
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
  // Panels cost 3, 2 and 1 steps, and 2 for the rest. The last 4 tiles are sorted by cost.
  create({1, 3, 192, 192});
  EXPECT_EQ(tilesOf(0), (Tiles{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {1, 2}, {2, 2}}));
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

/// What causal hides is not visited although it is in a list.
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
  load(plannedAttention(/*tilesPerCta=*/2));
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
  two.stages[second].tiles_per_cta = 2;
  load(two);
  create({1, 1, 128, 64});
  EXPECT_EQ(info().tiles, 2) << "of the preferred one";
  EXPECT_EQ(info().workers, 2);
  EXPECT_EQ(plan->variants[1].tiles, 4);
  EXPECT_EQ(plan->variants[1].workers, 4);
  EXPECT_EQ(tilesOf(3, 1), (Tiles{{0, 3}}));
}

//===----------------------------------------------------------------------===//
// The counter
//===----------------------------------------------------------------------===//

TEST_F(AttentionPlan, UnknownListsHaveACounter) {
  load(plannedAttention(/*tilesPerCta=*/3));
  create({2, 8, 100, 300});
  EXPECT_EQ(section(SPARSEC_PLAN_TILE_OFFSETS), nullptr);
  EXPECT_EQ(section(SPARSEC_PLAN_TILES), nullptr);
  ASSERT_NE(counter(), nullptr);
  EXPECT_EQ(*static_cast<const uint32_t *>(counter()), 0u);
  EXPECT_EQ(info().tiles, 32);
  EXPECT_EQ(info().workers, 12);
  EXPECT_EQ(info().balance, 1);
  create({1, 1, 100, 300});
  EXPECT_EQ(info().workers, 2) << "no more than tiles";
}

TEST_F(AttentionPlan, VariantsHaveCountersOfTheirOwn) {
  LaunchInfoBuilder two = plannedAttention();
  two.addVariant();
  load(two);
  create({2, 8, 100, 300});
  ASSERT_NE(counter(1), nullptr);
  EXPECT_NE(counter(0), counter(1));
}

TEST_F(AttentionPlan, KnownListsHaveNoCounter) {
  load(plannedAttention());
  create({2, 8, 100, 300}, listsOfArguments());
  EXPECT_EQ(counter(), nullptr);
  load(withoutPattern(plannedAttention()));
  create({2, 8, 100, 300});
  EXPECT_EQ(counter(), nullptr);
  EXPECT_NE(section(SPARSEC_PLAN_TILES), nullptr);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

TEST_F(AttentionPlan, KernelsGetTheSections) {
  load(plannedAttention(/*tilesPerCta=*/3));
  const sparsec_blocks_t *pattern = listsOfArguments();
  for (const sparsec_blocks_t *known : {pattern, static_cast<const sparsec_blocks_t *>(nullptr)}) {
    create({2, 8, 100, 300}, known);
    ASSERT_OK(launch());
    EXPECT_EQ(fake.launches.back().gridX, 4u);
    EXPECT_THAT(fake.launches.back().words, ::testing::ElementsAre(word(section(SPARSEC_PLAN_TILE_OFFSETS)),
                                                                   word(section(SPARSEC_PLAN_TILES)), word(counter())));
  }
  sparsec_plan_destroy(plan);
  plan = nullptr;
  ASSERT_OK(launch());
  EXPECT_EQ(fake.launches.back().gridX, 4u);
  EXPECT_THAT(fake.launches.back().words, ::testing::ElementsAre(0u, 0u, 0u));
}

TEST_F(AttentionPlan, GridsHaveACtaForEveryFewWorkers) {
  fake.multiprocessors = 132;
  load(plannedAttention(/*tilesPerCta=*/3));
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
  const sparsec_attention_sizes_t others[] = {{1, 8, 100, 300}, {2, 4, 100, 300}, {2, 8, 99, 300}, {2, 8, 100, 301}};
  const char *messages[] = {
      "plan is for batches 1, heads 8, queries 100, keys 300, but the launch has batches 2, heads 8, queries 100, keys "
      "300",
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

TEST_F(AttentionPlan, NullPointers) {
  load(plannedAttention());
  const sparsec_attention_sizes_t sizes = {2, 8, 100, 300};
  plan = reinterpret_cast<sparsec_plan_t>(8);
  EXPECT_STATUS(sparsec_plan_create_attention(nullptr, &sizes, nullptr, &plan), SPARSEC_STATUS_INVALID_ARGUMENT,
                "kernel is NULL");
  EXPECT_EQ(plan, nullptr);
  EXPECT_STATUS(sparsec_plan_create_attention(kernel, nullptr, nullptr, &plan), SPARSEC_STATUS_INVALID_ARGUMENT,
                "sizes is NULL");
  EXPECT_STATUS(sparsec_plan_create_attention(kernel, &sizes, nullptr, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "out_plan is NULL");
}

TEST_F(AttentionPlan, KernelsOfTheOtherFamily) {
  load(plannedAttention());
  sparsec_blocks_t matrix = shapeOf(1, 1, 1, 1, 1, 1);
  EXPECT_STATUS(sparsec_plan_create(kernel, &matrix, 1, &plan), SPARSEC_STATUS_INVALID_ARGUMENT,
                "kernel 'attention' is no block-sparse product: use sparsec_plan_create_attention");
  load(cudaLinear());
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "kernel 'linear' is no attention kernel: use sparsec_plan_create",
          {2, 8, 100, 300});
}

TEST_F(AttentionPlan, SizesOutOfRange) {
  load(plannedAttention());
  struct {
    const char *name;
    int64_t sparsec_attention_sizes_t::*field;
  } fields[] = {{"batches", &sparsec_attention_sizes_t::batches},
                {"heads", &sparsec_attention_sizes_t::heads},
                {"queries", &sparsec_attention_sizes_t::queries},
                {"keys", &sparsec_attention_sizes_t::keys}};
  for (auto [name, field] : fields)
    for (int64_t value : {int64_t(-1), maxSize + 1, INT64_MAX}) {
      sparsec_attention_sizes_t sizes = {2, 8, 100, 300};
      sizes.*field = value;
      refuses(SPARSEC_STATUS_INVALID_ARGUMENT,
              std::string("sizes: expects ") + name + " of 0 to 2147418111, but got " + std::to_string(value), sizes);
    }
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "the result has 65536 x 65536 tiles, at most 2147418111 are possible",
          {256, 256, 65536 * 64, 1});
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "tiles, at most 2147418111 are possible", {maxSize, maxSize, maxSize, 1});
}

TEST_F(AttentionPlan, PatternsOfKernelsWithoutOne) {
  load(withoutPattern(plannedAttention()));
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "pattern must be NULL: kernel 'attention' has none", {2, 8, 100, 300},
          listsOfArguments());
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
  const sparsec_attention_sizes_t sizes = {1, 1, 128, 192};
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
  for (const char *call : {"cuMemcpyDtoHAsync", "cuMemAlloc", "cuMemcpyHtoD", "cuCtxPushCurrent"}) {
    fake.failures = {{call, CUDA_ERROR_OUT_OF_MEMORY}};
    refuses(SPARSEC_STATUS_OUT_OF_MEMORY, "made to fail", {2, 8, 100, 300}, known);
    fake.failures.clear();
  }
}

} // namespace
