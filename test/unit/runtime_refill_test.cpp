// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans that are refilled: the records of the kernels that write their sections, the room of the sections, and the
// launches of a refill on the fake driver. test/device runs the kernels.

#include "image/launch_info_reader.h"
#include "plan/refill.h"
#include "plan/round_lists.h"
#include "runtime_refill_image.h"
#include "runtime_static_plan_fixture.h"
#include "runtime_stream_image.h"
#include "runtime_transposed_image.h"
#include "runtime_window_image.h"

#include <gmock/gmock.h>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

void addWindowKernels(LaunchInfoBuilder &info, uint32_t writtenSection) {
  addRefillKernel(info, SPARSEC_AUXILIARY_COUNT_WINDOWS, "linear_count_windows", SPARSEC_PLAN_WINDOW_COUNTS);
  addRefillKernel(info, SPARSEC_AUXILIARY_WRITE_WINDOWS, "linear_write_windows", writtenSection);
}

LaunchInfoBuilder refilledWindows() {
  LaunchInfoBuilder info = linearWithWindows();
  addWindowKernels(info, SPARSEC_PLAN_STEPS);
  return info;
}

/// The same, whose plans have lists that refills write. Workers are two CTAs.
LaunchInfoBuilder refilledLists(uint32_t mostWorkers = 4, uint32_t mostTileRows = 2) {
  LaunchInfoBuilder info = refilledWindows();
  addListWriter(info, mostWorkers, mostTileRows);
  return info;
}

LaunchInfoBuilder refilledStreams() {
  LaunchInfoBuilder info = linearWithStreams();
  addWindowKernels(info, SPARSEC_PLAN_CHUNK_BLOCKS);
  return info;
}

LaunchInfoBuilder refilledTranspose() {
  LaunchInfoBuilder info = transposed(linearWithStreams());
  addRefillKernel(info, SPARSEC_AUXILIARY_COUNT_COLUMNS, "linear_count_columns", SPARSEC_PLAN_COLUMN_COUNTS);
  addRefillKernel(info, SPARSEC_AUXILIARY_WRITE_INDEX, "linear_write_index", SPARSEC_PLAN_ROW_BLOCKS);
  addWindowKernels(info, SPARSEC_PLAN_CHUNK_BLOCKS);
  return info;
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

Status parse(LaunchInfoBuilder builder, const std::function<void(LaunchInfoBuilder &)> &change = {}) {
  if (change)
    change(builder);
  LaunchInfo info;
  return LaunchInfo::parse(builder.build(), info);
}

TEST(RefillImage, KernelsNeedWhatTheyWrite) {
  EXPECT_OK(parse(refilledWindows()));
  EXPECT_OK(parse(refilledStreams()));
  EXPECT_OK(parse(refilledTranspose()));
  LaunchInfoBuilder plain = cudaLinear();
  addRefillKernel(plain, SPARSEC_AUXILIARY_COUNT_WINDOWS, "linear_count_windows", SPARSEC_PLAN_WINDOW_COUNTS);
  EXPECT_STATUS(parse(plain), SPARSEC_STATUS_INVALID_IMAGE,
                "the counter of windows expects a variant with windows or streams of stored blocks");
  plain.auxiliaries[0].kind = SPARSEC_AUXILIARY_WRITE_WINDOWS;
  EXPECT_STATUS(parse(plain), SPARSEC_STATUS_INVALID_IMAGE,
                "the writer of windows expects a variant with windows or streams of stored blocks");
  plain.auxiliaries[0].kind = SPARSEC_AUXILIARY_COUNT_COLUMNS;
  EXPECT_STATUS(parse(plain), SPARSEC_STATUS_INVALID_IMAGE,
                "the counter of columns expects a GPU and the transpose of a matrix");
  plain.auxiliaries[0].kind = SPARSEC_AUXILIARY_WRITE_INDEX;
  EXPECT_STATUS(parse(plain), SPARSEC_STATUS_INVALID_IMAGE,
                "the writer of the index expects a GPU and the transpose of a matrix");
}

TEST(RefillImage, ListsAreThoseOfProducts) {
  EXPECT_OK(parse(refilledLists()));
  LaunchInfoBuilder plain = cudaLinear();
  addListWriter(plain, 4, 2);
  EXPECT_OK(parse(plain)) << "block rows, without windows";
  plain.parameters.back().index = SPARSEC_PLAN_WINDOW_SIZES;
  EXPECT_OK(parse(plain));
  plain.parameters.back().index = SPARSEC_PLAN_STEPS;
  EXPECT_STATUS(parse(plain), SPARSEC_STATUS_INVALID_IMAGE,
                "parameter 8 of the writer of lists is plan section 8, which is not required");
  plain.parameters.back() = {SPARSEC_SOURCE_NUMBER, SPARSEC_LIST_NUMBERS, 0, 0};
  EXPECT_STATUS(parse(plain), SPARSEC_STATUS_INVALID_IMAGE, "parameter 8 of the writer of lists is number 7 of 7");
  LaunchInfoBuilder sampled = cudaSampled();
  addListWriter(sampled, 4, 2);
  EXPECT_STATUS(parse(sampled), SPARSEC_STATUS_INVALID_IMAGE, "the writer of lists expects a GPU and a product");
}

TEST(RefillImage, KernelsTakeTheirOwnSections) {
  auto takes = [](uint32_t auxiliary, uint32_t section) {
    return [=](LaunchInfoBuilder &i) {
      i.parameters[i.stages[i.auxiliaries[auxiliary].stage].parameter_first + 2].index = section;
    };
  };
  EXPECT_STATUS(parse(refilledTranspose(), takes(0, SPARSEC_PLAN_ROW_BLOCKS)), SPARSEC_STATUS_INVALID_IMAGE,
                "parameter 2 of the counter of columns is plan section 16, which is not required");
  EXPECT_STATUS(parse(refilledTranspose(), takes(1, SPARSEC_PLAN_STEPS)), SPARSEC_STATUS_INVALID_IMAGE,
                "parameter 2 of the writer of the index is plan section 8, which is not required");
  EXPECT_STATUS(parse(refilledWindows(), takes(0, SPARSEC_PLAN_COLUMN_COUNTS)), SPARSEC_STATUS_INVALID_IMAGE,
                "parameter 2 of the counter of windows is plan section 22, which is not required");
  EXPECT_STATUS(parse(refilledWindows(), takes(1, SPARSEC_PLAN_PAIRS)), SPARSEC_STATUS_INVALID_IMAGE,
                "parameter 2 of the writer of windows is plan section 18, which is not required");
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

class RefilledPlan : public StaticPlanOnFake {
protected:
  Status refill(const ArgumentList &of, void *stream = nullptr) {
    const ArgumentArray array(of);
    return Status(sparsec_plan_refill(plan, array.data(), array.size(), stream));
  }

  size_t entries(sparsec_plan_section_t section, size_t variant = 0) {
    return plan->variants[variant].sectionBytes[section] / sizeof(int32_t);
  }

  void prepareTranspose() {
    load(refilledTranspose());
    setArguments(5 * 64, 4 * 64, 1024);
    std::swap(arguments[w].blocks.rows, arguments[w].blocks.columns);
    setPattern({{0, 2, 4}, {4, 2, 0}, {3}, {3, 1}});
  }
};

TEST_F(RefilledPlan, BeginsWithoutBlocksAndReadsNoLists) {
  loadWithPattern(withWindowSharing(refilledWindows(), 1000), 3); // which a refill does not know
  colIdx[0] = 99;                                                 // a plan that reads the lists refuses it
  fake.calls.clear();
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  EXPECT_THAT(fake.calls, testing::Not(testing::Contains(testing::HasSubstr("DtoH"))));
  EXPECT_EQ(planInfo().windows, 2);
  EXPECT_EQ(planInfo().columns, 0);
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_WINDOW_ROWS, 6), (std::vector<int32_t>{0, 1, 2, 3, 4, -1}));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_COLUMN_OFFSETS, 3), std::vector<int32_t>(3, 0));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_STEP_OFFSETS, 7), std::vector<int32_t>(7, 0));
  EXPECT_STREQ(planInfo().reason, "windows for refills; lists of tiles of equal cost: refills change what they cost");
  // Two windows of ten tiles each, in two panels, on as many workers.
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(planInfo().balance, 1);
}

/// The matrix has nine blocks. Its ring has five slots.
TEST_F(RefilledPlan, WindowsHaveRoomForAllBlocks) {
  loadWithPattern(refilledWindows(), 3);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  EXPECT_EQ(entries(SPARSEC_PLAN_COLUMNS), 8u + 1) << "two windows of four columns at most";
  EXPECT_EQ(entries(SPARSEC_PLAN_BLOCKS), 2u * (9 + 1));
  EXPECT_EQ(entries(SPARSEC_PLAN_STEPS), 9u + (8 / 5 * 3 + 2 * 6) + 1) << "and all waypoints";
  EXPECT_EQ(entries(SPARSEC_PLAN_WINDOW_COUNTS), 2u * (1 + 3));
  EXPECT_EQ(entries(SPARSEC_PLAN_WINDOW_SIZES), 2u * 2);
}

/// A stage has two columns, a chunk two products of one block, a window four rows and two consumers.
TEST_F(RefilledPlan, StreamsHaveRoomForAllBlocks) {
  loadWithPattern(refilledStreams(), 3);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  const sparsec_stage_info_t &stage = *kernel->variants[0].first().info;
  const size_t columns = stage.tile_k / 64, consumers = stage.tile_m / stage.consumer_rows,
               chunk = stage.chunk_products * stage.product_rows / 64;
  const size_t stages = std::min<size_t>(9 / columns + 2, 2 * ceilDivide(4, int64_t(columns)));
  EXPECT_EQ(entries(SPARSEC_PLAN_STAGE_COLUMNS), (stages + 1) * columns);
  EXPECT_EQ(entries(SPARSEC_PLAN_STAGE_PRODUCTS), (stages + 1) * consumers);
  EXPECT_EQ(entries(SPARSEC_PLAN_CHUNK_BLOCKS), (9 / stage.chunk_products + 2 * consumers + 1) * chunk);
  EXPECT_EQ(entries(SPARSEC_PLAN_WINDOW_COUNTS), 2u * (1 + consumers));
  EXPECT_EQ(entries(SPARSEC_PLAN_WINDOW_SIZES), 2u * 2);
}

TEST_F(RefilledPlan, RoomThatCannotBeCountedIsRefused) {
  loadWithPattern(refilledWindows(), 3);
  const int32_t starts[] = {0, 0, 0};
  const BlockPattern pattern = {starts, nullptr, 2, 2};
  const WindowInput windowInput = {pattern, 3, 5};
  Windows windows = makeWindows(windowInput);
  EXPECT_FALSE(makeRoom(windows, windowInput, INT32_MAX));
  EXPECT_TRUE(makeRoom(windows, windowInput, 4));
  const StreamInput streamInput = {
      .pattern = pattern, .windowRows = 2, .consumers = 1, .bundle = 1, .stageColumns = 2, .chunkProducts = 2};
  Streams streams = makeStreams(streamInput);
  EXPECT_FALSE(makeRoom(streams, streamInput, INT32_MAX));
  EXPECT_TRUE(makeRoom(streams, streamInput, 4));
}

TEST_F(RefilledPlan, TheIndexIsSharedAndHasRoomForAllBlocks) {
  prepareTranspose();
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_ROW_STARTS, 6), std::vector<int32_t>(6, 0));
  EXPECT_EQ(entries(SPARSEC_PLAN_ROW_BLOCKS), 9u);
  EXPECT_EQ(entries(SPARSEC_PLAN_COLUMN_COUNTS), 5u) << "one slice of the stored matrix, which has five block columns";
  for (uint32_t each : {SPARSEC_PLAN_ROW_STARTS, SPARSEC_PLAN_ROW_COLUMNS, SPARSEC_PLAN_ROW_BLOCKS})
    EXPECT_EQ(plan->variants[0].sections[each], plan->variants[1].sections[each]);
}

TEST_F(RefilledPlan, WideMatricesHaveNoWindows) {
  loadWithPattern(refilledWindows(), 3);
  arguments[w].blocks.columns = arguments[x].dense.sizes[0] = 9 * 64;
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  EXPECT_EQ(planInfo().windows, 0);
  EXPECT_STREQ(planInfo().reason, "no windows: refills take at most 8 block columns");
}

TEST_F(RefilledPlan, FilesWithoutTheKernelsHaveNoWindows) {
  loadWithPattern(linearWithWindows(), 12);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  EXPECT_STREQ(planInfo().reason, "no windows: the file has no kernels that refill them");
  ASSERT_OK(refill(arguments));
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(RefilledPlan, AKernelAloneRefillsNothing) {
  LaunchInfoBuilder info = linearWithWindows();
  addRefillKernel(info, SPARSEC_AUXILIARY_WRITE_WINDOWS, "linear_write_windows", SPARSEC_PLAN_STEPS);
  loadWithPattern(info, 3);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  EXPECT_STREQ(planInfo().reason, "no windows: the file has no kernels that refill them");
  ASSERT_OK(refill(arguments));
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(RefilledPlan, OnlyTheFirstVariantHasWindows) {
  LaunchInfoBuilder info = refilledWindows();
  info.variants.insert(info.variants.begin(), info.variants[0]);
  ++info.kernels[0].variant_count;
  loadWithPattern(info, 3);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  EXPECT_EQ(planInfo(0).windows, 2);
  EXPECT_EQ(planInfo(1).windows, 0);
  EXPECT_STREQ(planInfo(1).reason, "no windows: refills write those of another variant");
}

TEST_F(RefilledPlan, PlansThatCannotBeRefilledAreRefused) {
  loadWithPattern(refilledWindows(), 3);
  auto options = sized<sparsec_plan_options_t>();
  options.flags = SPARSEC_PLAN_REFILL;
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT,
              "kernel 'linear': a plan with SPARSEC_PLAN_REFILL needs its block-sparse matrices, with their capacities",
              ArgumentList(arguments.size()), options);
  options.flags = SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_PACK | SPARSEC_PLAN_REFILL;
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT,
              "options: expects SPARSEC_PLAN_PACK or SPARSEC_PLAN_REFILL, but got both in flags 13", arguments,
              options);
  options.flags = SPARSEC_PLAN_REFILL;
  load(cudaAttention());
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, "takes no block-sparse matrix, as plans with SPARSEC_PLAN_REFILL expect",
              ArgumentList(kernel->info->argument_count), options);
}

TEST_F(RefilledPlan, AnIndexWithTooManyColumnsIsRefused) {
  prepareTranspose();
  arguments[w].blocks.columns = 9 * 64;
  auto options = sized<sparsec_plan_options_t>();
  options.flags = SPARSEC_PLAN_REFILL;
  ArgumentList matrixOnly(arguments.size());
  matrixOnly[w] = arguments[w];
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT,
              "kernel 'linear': the plan needs an index, but refills take at most 8 block columns", matrixOnly,
              options);
}

//===----------------------------------------------------------------------===//
// Refills
//===----------------------------------------------------------------------===//

TEST_F(RefilledPlan, CountsThenWritesOnTheStream) {
  loadWithPattern(refilledWindows(), 3);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  ArgumentList matrixOnly(arguments.size());
  matrixOnly[w] = arguments[w];
  const size_t allocations = fake.allocations.size();
  fake.calls.clear();
  ASSERT_OK(refill(matrixOnly, at(0x77)));
  ASSERT_EQ(fake.launches.size(), 2u);
  const struct {
    const char *symbol;
    sparsec_plan_section_t section;
  } expected[] = {{"linear_count_windows", SPARSEC_PLAN_WINDOW_COUNTS}, {"linear_write_windows", SPARSEC_PLAN_STEPS}};
  for (size_t i = 0; i < 2; ++i) {
    const FakeLaunch &each = fake.launches[i];
    EXPECT_EQ(each.function, expected[i].symbol);
    EXPECT_EQ(each.stream, at(0x77));
    EXPECT_EQ(each.gridX, 2u) << "a CTA for every window";
    EXPECT_EQ(each.words[0], reinterpret_cast<uintptr_t>(rowPtr.data()));
    EXPECT_EQ(each.words[1], reinterpret_cast<uintptr_t>(colIdx.data()));
    EXPECT_EQ(each.words[2], reinterpret_cast<uintptr_t>(plan->variants[0].sections[expected[i].section]));
  }
  EXPECT_EQ(fake.allocations.size(), allocations);
  EXPECT_THAT(fake.calls, testing::Not(testing::Contains(testing::HasSubstr("Synchronize"))));
}

/// Two windows in two panels, on four workers.
TEST_F(RefilledPlan, ListsAreWrittenLast) {
  loadWithPattern(refilledLists(), 3);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  EXPECT_STREQ(planInfo().reason, "windows for refills; lists for refills");
  EXPECT_EQ(section<uint32_t>(SPARSEC_PLAN_TILE_OFFSETS, 5), (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  ASSERT_OK(refill(arguments, at(0x77)));
  ASSERT_EQ(fake.launches.size(), 3u);
  const FakeLaunch &lists = fake.launches.back();
  EXPECT_EQ(lists.function, "linear_write_lists");
  EXPECT_EQ(lists.stream, at(0x77));
  EXPECT_EQ(lists.gridX, 1u);
  EXPECT_EQ(lists.words, (std::vector<uint64_t>{2, 2, 4})) << "tile rows, panels and workers";
}

/// The first variant for any width, in rows of blocks.
TEST_F(RefilledPlan, ListsOfBlockRowsHaveNoWindows) {
  LaunchInfoBuilder info = cudaLinear();
  addListWriter(info, 10, 5);
  loadWithPattern(info, SPARSEC_LIST_NUMBERS + 2);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  EXPECT_STREQ(planInfo(0).reason, "lists for refills");
  EXPECT_STREQ(planInfo(1).reason, "lists of tiles of equal cost: refills change what they cost");
  ASSERT_OK(refill(arguments));
  ASSERT_EQ(fake.launches.size(), 1u);
  const FakeLaunch &lists = fake.launches.back();
  const std::vector<uint64_t> numbers(lists.words.begin(), lists.words.begin() + SPARSEC_LIST_NUMBERS);
  EXPECT_EQ(numbers, (std::vector<uint64_t>{5, 2, 10, 2, 0, 1, 1})) << "and the costs of the image";
  EXPECT_EQ(lists.words[SPARSEC_LIST_NUMBERS + 1],
            reinterpret_cast<uintptr_t>(plan->variants[0].sections[SPARSEC_PLAN_TILES]));
}

TEST_F(RefilledPlan, ListsThatTheKernelCannotWriteStay) {
  for (const LaunchInfoBuilder &info : {refilledLists(/*mostWorkers=*/3), refilledLists(4, /*mostTileRows=*/1)}) {
    loadWithPattern(info, 3);
    ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
    EXPECT_STREQ(planInfo().reason, "windows for refills; lists of tiles of equal cost: refills change what they cost");
    fake.launches.clear();
    ASSERT_OK(refill(arguments));
    EXPECT_EQ(fake.launches.size(), 2u);
  }
  // Those that serve every width.
  loadWithPattern(refilledLists(), 3);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL, /*isWidthOpen=*/true));
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_LISTS);
  fake.launches.clear();
  ASSERT_OK(refill(arguments));
  EXPECT_EQ(fake.launches.size(), 2u);
}

/// The lists of a fast plan are those that a refill writes, here with two windows in 99 panels on 66 workers.
TEST_F(RefilledPlan, FastPlansHaveTheListsOfRefills) {
  loadWithPattern(refilledLists(), 3);
  setArguments(5 * 64, 4 * 64, 99 * 512);
  setPattern({{0, 1}, {3}, {0, 1}, {3, 2}, {1, 0}});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  const TileLists expected = makeRoundLists({{100 * 5 + 200, 150 * 4 + 200},
                                             {1, 2, 99},
                                             66,
                                             /*groupRows=*/0,
                                             /*panelsPerUnit=*/1,
                                             /*panelsAtOnce=*/1,
                                             /*lastRounds=*/0});
  const std::vector<Tile> tiles = section<Tile>(SPARSEC_PLAN_TILES, 198);
  for (size_t i = 0; i < tiles.size(); ++i) {
    EXPECT_EQ(tiles[i].row, expected.tiles[i].row) << i;
    EXPECT_EQ(tiles[i].panel, expected.tiles[i].panel) << i;
  }
  EXPECT_EQ(planInfo().balance, expected.balance);
}

/// A cluster has panels of 64 x 512 elements of X, 64 KiB: five of them fit in .35 of the cache.
class RefilledPlanWithL2Cache : public RefilledPlan {
protected:
  void SetUp() override { fake.l2Bytes = 1 << 20; }

  /// Loads the image, whose first variant may fill .35 of the cache. The matrix has 96 block rows of a block.
  void loadWithPanels(LaunchInfoBuilder info, int parameterCount) {
    sparsec_variant_info_t &variant = info.variants.front();
    const auto costs = info.planCosts.begin() + variant.plan_cost_first;
    const std::vector<sparsec_plan_cost_info_t> own(costs, costs + variant.plan_cost_count);
    variant.plan_cost_first = uint32_t(info.planCosts.size());
    info.planCosts.insert(info.planCosts.end(), own.begin(), own.end());
    info.planCosts.push_back({SPARSEC_PLAN_COST_PANEL_CACHE, 35});
    ++variant.plan_cost_count;
    loadWithPattern(info, parameterCount);
    setArguments(96 * 64, 64, 99 * 512);
    setPattern(std::vector<std::vector<int32_t>>(96, {0}));
  }

  void loadBlockRows() {
    LaunchInfoBuilder info = cudaLinear();
    addListWriter(info, /*mostWorkers=*/66, /*mostTileRows=*/96);
    loadWithPanels(info, SPARSEC_LIST_NUMBERS + 2);
  }
};

/// With 66 workers 96 * 64 / (66 * 8) = 11.6 blocks of 8 KiB are as many bytes as a panel.
TEST_F(RefilledPlanWithL2Cache, RefillsGetTheLimitsOfPanelsAtOnce) {
  loadBlockRows();
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  EXPECT_STREQ(planInfo().reason, "lists for refills");
  ASSERT_OK(refill(arguments));
  std::vector<uint64_t> numbers = fake.launches.back().words;
  numbers.resize(SPARSEC_LIST_NUMBERS);
  EXPECT_EQ(numbers, (std::vector<uint64_t>{96, 99, 66, 2, 0, 5, 12}));
}

TEST_F(RefilledPlanWithL2Cache, FastPlansHaveAsManyPanelsAtOnce) {
  loadBlockRows();
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  EXPECT_STREQ(planInfo().reason, "lists of 2 panels at once: the costs of all tiles are known")
      << "96 blocks are 2 * 2 * 12 and more, but not 3 * 3 * 12";
  const std::vector<uint32_t> costs(96, 3);
  const TileLists expected =
      makeRoundLists({costs, {1, 96, 99}, 66, /*groupRows=*/0, /*panelsPerUnit=*/1, /*panelsAtOnce=*/2});
  const std::vector<Tile> tiles = section<Tile>(SPARSEC_PLAN_TILES, expected.tiles.size());
  for (size_t i = 0; i < tiles.size(); ++i)
    EXPECT_TRUE(tiles[i].row == expected.tiles[i].row && tiles[i].panel == expected.tiles[i].panel) << i;
}

TEST_F(RefilledPlanWithL2Cache, WindowsRunOnePanelAtATime) {
  LaunchInfoBuilder info = refilledLists(/*mostWorkers=*/66, /*mostTileRows=*/32);
  // In place of the numbers of tile rows and panels.
  sparsec_parameter_info_t *first = &info.parameters[info.stages.back().parameter_first];
  first[0].index = SPARSEC_LIST_MOST_PANELS_AT_ONCE;
  first[1].index = SPARSEC_LIST_BLOCKS_OF_ONE_PANEL;
  loadWithPanels(info, 3);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  ASSERT_OK(refill(arguments));
  EXPECT_EQ(fake.launches.back().words, (std::vector<uint64_t>{1, 1, 66}));
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  EXPECT_STREQ(planInfo().reason, "windows: 3.00 blocks per column; lists: the costs of all tiles are known");
}

TEST_F(RefilledPlan, TheIndexComesBeforeTheWindows) {
  prepareTranspose();
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  ASSERT_OK(refill(arguments));
  std::vector<std::string> symbols;
  symbols.reserve(fake.launches.size());
  for (const FakeLaunch &each : fake.launches)
    symbols.push_back(each.function + " " + std::to_string(each.gridX));
  EXPECT_EQ(symbols, (std::vector<std::string>{"linear_count_columns 1", "linear_write_index 1",
                                               "linear_count_windows 2", "linear_write_windows 2"}));
}

TEST_F(RefilledPlan, RefusesWhatItCannotRefill) {
  loadWithPattern(refilledWindows(), 3);
  auto refuses = [&](const ArgumentList &of, const char *message,
                     sparsec_status_code_t code = SPARSEC_STATUS_INVALID_ARGUMENT) {
    EXPECT_STATUS(refill(of), code, message);
    EXPECT_TRUE(fake.launches.empty());
  };
  EXPECT_STATUS(sparsec_plan_refill(nullptr, nullptr, 0, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "plan is NULL");
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  refuses(arguments, "plan: expects one that was made with SPARSEC_PLAN_REFILL");
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  refuses(ArgumentList(arguments.size()), "argument 0 'w': is open, but a refill reads its index arrays");
  refuses({}, "expects 5 arguments");
  ArgumentList other = arguments;
  other[w].blocks.capacity = 8;
  refuses(other, "plan is for M 320, N 1024, K 256, blocks 9, but the matrix has");
  other = arguments;
  other[w].blocks.flags = SPARSEC_BLOCKS_CHECK_LISTS;
  colIdx[0] = 99;
  refuses(other, "but got 99", SPARSEC_STATUS_INVALID_PATTERN);
}

TEST_F(RefilledPlan, CannotBeSaved) {
  loadWithPattern(refilledWindows(), 3);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  size_t bytes = 1;
  EXPECT_STATUS(sparsec_plan_save(plan, nullptr, 0, &bytes), SPARSEC_STATUS_INVALID_ARGUMENT,
                "plan: one that was made with SPARSEC_PLAN_REFILL cannot be saved");
  EXPECT_EQ(bytes, 0u);
}

/// The lists of a launch may be others than those of the last refill: the plan has no checksum of them.
TEST_F(RefilledPlan, LaunchesTakeItsWindows) {
  loadWithPattern(refilledWindows(), 3);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL));
  ASSERT_OK(refill(arguments));
  fake.parameterCount = 12;
  EXPECT_EQ(launched(), "linear_windows");
}

} // namespace
