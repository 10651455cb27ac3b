// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variants that take windows: checks of their images, plans of static patterns and launches on the fake driver.

#include "image/launch_info_reader.h"
#include "plan/plan.h"
#include "runtime_static_plan_fixture.h"
#include "runtime_window_image.h"
#include "sparsec/runtime.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

Status parseWindows(const std::function<void(LaunchInfoBuilder &)> &change) {
  LaunchInfoBuilder builder = linearWithWindows();
  change(builder);
  LaunchInfo info;
  return LaunchInfo::parse(builder.build(), info);
}

TEST(WindowImage, IsChecked) {
  constexpr uint32_t windows = 2; // number of the stage
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      {"variant 2 requires plan sections, but the last variant must run without a plan",
       [](auto &i) { i.variants[2].required_sections = 1 << SPARSEC_PLAN_TILES; }},
      {"parameter 4 of variant 0 is plan section 4, which is not required",
       [](auto &i) { i.variants[0].required_sections &= ~(1u << SPARSEC_PLAN_COLUMNS); }},
      {"parameter 9 of variant 1 is plan section 8, which is not required",
       [](auto &i) { i.parameters[9].index = SPARSEC_PLAN_STEPS; }},
      {"variant 0 has windows of 160 rows, 1 to 7 times 64 are expected",
       [](auto &i) { i.stages[windows].tile_m = 160; }},
      {"variant 0 has windows of 512 rows, 1 to 7 times 64 are expected",
       [](auto &i) { i.stages[windows].tile_m = 512; }},
      {"variant 0 takes windows and has 1 slots, at least 2 are expected",
       [](auto &i) { i.stages[windows].slots = 1; }},
      {"variant 0 takes windows, but its tile rows are not those of 192 rows of 'w'",
       [](auto &i) { i.extents[i.stages[windows].row_first].block = 64; }},
      {"but its tile rows are not those", [](auto &i) { i.extents[i.stages[windows].row_first].tile = 64; }},
      {"but its tile rows are not those", [](auto &i) { i.extents[i.stages[windows].row_first].dimension = 1; }},
      {"but its tile rows are not those", [](auto &i) { i.extents[i.stages[windows].row_first].argument = 1; }},
      {"but its tile rows are not those", [](auto &i) { i.stages[windows].row_count = 0; }},
      {"the column cost in percent of variant 0 is there 0 times", [](auto &i) { i.variants[0].plan_cost_count = 2; }},
      {"the window density in percent of variant 0 is there 0 times",
       [](auto &i) { i.variants[0].plan_cost_count = 3; }},
      {"the column cost in percent of variant 0 is 65536, 0 to 65535 is expected",
       [](auto &i) { i.planCosts[i.planCosts.size() - 2].value = 65536; }},
      {"the window density in percent of variant 0 is 102, 0 to 101 is expected",
       [](auto &i) { i.planCosts.back().value = 102; }},
      {"the window sharing in percent of variant 0 is 65536, 0 to 65535 is expected",
       [](auto &i) { i = withWindowSharing(i, 65536); }},
      {"the window sharing in percent of variant 0 is there 2 times",
       [](auto &i) { i = withWindowSharing(withWindowSharing(i, 108), 108); }},
  };
  EXPECT_OK(parseWindows([](auto &) {}));
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseWindows(change), SPARSEC_STATUS_INVALID_IMAGE, message);
  EXPECT_OK(parseWindows([](auto &i) { i.variants[1].plan_cost_first = i.variants[0].plan_cost_first; }));
}

TEST(WindowImage, OtherOperationsHaveNoWindows) {
  LaunchInfoBuilder builder = cudaAttention();
  builder.addVariant();
  builder.variants[0].required_sections = windowSections;
  LaunchInfo info;
  EXPECT_STATUS(LaunchInfo::parse(builder.build(), info), SPARSEC_STATUS_INVALID_IMAGE,
                "variant 0 takes windows, which attention has not");
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

class WindowPlan : public StaticPlanOnFake {
protected:
  void SetUp() override { loadWithPattern(linearWithWindows(), 12, fewMultiprocessors); }

  size_t chosenVariant() {
    size_t variant = 7;
    EXPECT_OK(chooseVariant(&variant));
    return variant;
  }
};

class WindowPlanOfAllClusters : public WindowPlan {
protected:
  void SetUp() override { loadWithPattern(linearWithWindows(), 12); }
};

TEST_F(WindowPlan, OfAStaticPattern) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  // The rows with columns 0 and 1 share a window, the others have columns 2 and 3.
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_WINDOW_ROWS, 6), (std::vector<int32_t>{0, 2, 4, 1, 3, -1}));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_COLUMN_OFFSETS, 3), (std::vector<int32_t>{0, 2, 4}));
  EXPECT_EQ(section<uint32_t>(SPARSEC_PLAN_COLUMNS, 5)[0], 0u);
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_BLOCK_OFFSETS, 3), (std::vector<int32_t>{0, 6, 9}));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_BLOCKS, 6), (std::vector<int32_t>{0, 0, 3, 0, 8, 0}));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_STEP_OFFSETS, 7).back(), 10);
  EXPECT_EQ(section<uint32_t>(SPARSEC_PLAN_STEPS, 2), (std::vector<uint32_t>{0, 1 + 3 * 65536}));
  const sparsec_plan_info_t info = planInfo();
  EXPECT_EQ(info.windows, 2);
  EXPECT_EQ(info.columns, 4);
  EXPECT_EQ(info.tiles, 4);
  EXPECT_EQ(info.order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(info.bytes, 9 * 256);
  // 6 blocks and 3: costs 600 and 300, and the overhead.
  EXPECT_DOUBLE_EQ(info.balance, (8 + 5) / 2.0 / 8);
  EXPECT_EQ(planInfo(1).windows + planInfo(1).columns, 0) << "the next variant has none";
  EXPECT_EQ(planInfo(1).order, SPARSEC_TILE_ORDER_LISTS);
}

TEST_F(WindowPlan, LaunchesTakeTheVariantOfThePlan) {
  EXPECT_EQ(launched(), "linear_aligned") << "without a plan";
  EXPECT_EQ(chosenVariant(), 1u);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(chosenVariant(), 0u);
  EXPECT_EQ(launched(), "linear_windows");
  EXPECT_EQ(fake.launches.back().gridX, 8u) << "2 windows and 2 panels, clusters of 2";
  for (size_t i = 0; i < windowPlanSections; ++i)
    EXPECT_EQ(fake.launches.back().words[i], reinterpret_cast<uintptr_t>(plan->variants[0].sections[i]));
  EXPECT_EQ(uint32_t(fake.launches.back().words[9]), 2u) << "tile rows";
  // A launch that does not meet the requirements of the first two takes the last one.
  arguments[x].dense.data = at(0x200008);
  EXPECT_EQ(chosenVariant(), 2u);
  EXPECT_EQ(launched(), "linear_any");
}

TEST_F(WindowPlan, LaunchersTakeTheVariantOfThePlan) {
  for (uint32_t flags : {uint32_t(SPARSEC_PLAN_STATIC_PATTERN), 0u}) {
    ASSERT_OK(createPlanWith(flags));
    auto options = sized<sparsec_launch_options_t>();
    sparsec_launcher_t launcher = nullptr;
    const ArgumentArray array(arguments);
    ASSERT_OK(sparsec_launcher_create(kernel, plan, array.data(), array.size(), &options, &launcher));
    ASSERT_OK(sparsec_launcher_run(launcher, nullptr));
    EXPECT_EQ(fake.launches.back().function, flags ? "linear_windows" : "linear_aligned");
    sparsec_launcher_destroy(launcher);
  }
}

TEST_F(WindowPlan, NoneWithoutTheFlag) {
  for (uint32_t flags : {0u, uint32_t(SPARSEC_PLAN_FAST)}) {
    ASSERT_OK(createPlanWith(flags));
    EXPECT_EQ(planInfo().windows, 0);
    EXPECT_EQ(planInfo().bytes, 0);
    EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_FIXED);
    EXPECT_EQ(launched(), "linear_aligned");
  }
}

TEST_F(WindowPlan, NoneOfANearlyDensePattern) {
  for (uint32_t density : {45u, 46u}) { // 9 of 20 blocks are stored
    LaunchInfoBuilder info = linearWithWindows();
    auto cost = std::find_if(info.planCosts.begin(), info.planCosts.end(),
                             [](auto &each) { return each.key == SPARSEC_PLAN_COST_WINDOW_DENSITY; });
    cost->value = density;
    load(info);
    setArguments(5 * 64, 4 * 64, 1024);
    setPattern({{0, 1}, {3}, {0, 1}, {3, 2}, {1, 0}});
    ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
    EXPECT_EQ(planInfo().windows, density == 45 ? 0 : 2);
    EXPECT_EQ(launched(), density == 45 ? "linear_aligned" : "linear_windows");
  }
}

TEST_F(WindowPlan, NoneOfAnUnknownPattern) {
  arguments[w] = {};
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  setArguments(5 * 64, 4 * 64, 1024);
  setPattern({{0, 1}, {3}, {0, 1}, {3, 2}, {1, 0}});
  EXPECT_EQ(launched(), "linear_aligned");
}

/// Sections number the columns of a window in 16 bits.
TEST_F(WindowPlan, NoneOfWindowsThatAreTooWide) {
  setArguments(64, 65536 * 64, 1024);
  arguments[x].dense.data = at(uintptr_t(1) << 40);
  arguments[y].dense.data = at(uintptr_t(2) << 40);
  std::vector<int32_t> all(65536);
  std::iota(all.begin(), all.end(), 0);
  setPattern({all});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(planInfo().windows, 0);
  EXPECT_EQ(launched(), "linear_aligned");
}

TEST_F(WindowPlan, FastKeepsTheOrderOfTheRows) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_WINDOW_ROWS, 6), (std::vector<int32_t>{0, 1, 2, 3, 4, -1}));
  EXPECT_EQ(planInfo().columns, 3 + 4);
  EXPECT_EQ(launched(), "linear_windows");
}

TEST_F(WindowPlan, RowsByFallingCostAlsoWhereNearlyDense) {
  // Windows of 3, 6 and 12 columns, each with three blocks a column: the grouped density of the image is 0.
  setArguments(9 * 64, 12 * 64, 512 * 80);
  std::vector<std::vector<int32_t>> rows;
  for (int32_t length : {3, 3, 3, 6, 6, 6, 12, 12, 12}) {
    rows.emplace_back(length);
    std::iota(rows.back().begin(), rows.back().end(), 0);
  }
  setPattern(rows);
  for (bool isWidthOpen : {false, true}) {
    ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST, isWidthOpen));
    ASSERT_EQ(planInfo().order, SPARSEC_TILE_ORDER_LISTS);
    // The first worker gets the first tile of all, in panel 0.
    const auto *first = static_cast<const Tile *>(plan->variants[0].sections[SPARSEC_PLAN_TILES]);
    EXPECT_EQ(first->row, 2u);
    EXPECT_EQ(first->panel, 0u);
  }
}

/// 43 windows of three rows are 688 tiles in 16 panels: some of 66 workers would have 11, though 10.4 are their share.
TEST_F(WindowPlanOfAllClusters, ShortWindowsEndTheTilesFirst) {
  setArguments(128 * 64, 4 * 64, 16 * 512);
  setPattern(std::vector<std::vector<int32_t>>(128, {0, 1, 2, 3}));
  arguments[y] = sparsec_dense_2d(at(uintptr_t(2) << 40), SPARSEC_DTYPE_BF16, 128 * 64, 16 * 512);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  const sparsec_plan_info_t info = planInfo();
  EXPECT_GT(info.windows, 43);
  EXPECT_EQ(info.tiles, 16 * info.windows);
  EXPECT_EQ(info.columns, 4 * info.windows);
  EXPECT_EQ(launched(), "linear_windows");
  EXPECT_EQ(uint32_t(fake.launches.back().words[9]), info.windows) << "tile rows";
  // A plan for every width does not know how many tiles there are, and a fast one keeps the rows.
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN, /*isWidthOpen=*/true));
  EXPECT_EQ(planInfo().windows, 43);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  EXPECT_EQ(planInfo().windows, 43);
}

/// As many workers as there are tiles of the windows that the plan has.
TEST_F(WindowPlanOfAllClusters, ShortWindowsGetAClusterEach) {
  setArguments(128 * 64, 4 * 64, 512);
  setPattern(std::vector<std::vector<int32_t>>(128, {0, 1, 2, 3}));
  arguments[y] = sparsec_dense_2d(at(uintptr_t(2) << 40), SPARSEC_DTYPE_BF16, 128 * 64, 512);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(planInfo().windows, 64) << "of two rows, for 66 clusters";
  EXPECT_EQ(planInfo().workers, 64);
  EXPECT_EQ(launched(), "linear_windows");
  EXPECT_EQ(fake.launches.back().gridX, 128u);
}

TEST_F(WindowPlanOfAllClusters, OneServesEveryWidth) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN, /*isWidthOpen=*/true));
  EXPECT_EQ(planInfo().windows, 2);
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(planInfo().tiles, SPARSEC_DYNAMIC);
  for (int64_t width : {1024, 512 * 300}) {
    arguments[x] = sparsec_dense_2d(at(uintptr_t(1) << 40), SPARSEC_DTYPE_BF16, 4 * 64, width);
    arguments[y] = sparsec_dense_2d(at(uintptr_t(2) << 40), SPARSEC_DTYPE_BF16, 5 * 64, width);
    EXPECT_EQ(launched(), "linear_windows");
    EXPECT_EQ(fake.launches.back().gridX, 2 * std::min<int64_t>(66, 2 * width / 512));
    EXPECT_EQ(int64_t(uint32_t(fake.launches.back().words[11])), choosePeriod(2, 66));
  }
}

/// The plan of one matrix is no plan of another, whichever variant it would take.
TEST_F(WindowPlan, OtherSizesAreRefused) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  setPattern({{0, 1}, {3}, {0, 1}, {3, 2}, {1}});
  size_t variant = 7;
  const std::string message = "plan is for M 320, N 1024, K 256, blocks 9, but the launch has M 320, N 1024, K 256, "
                              "blocks 8";
  EXPECT_STATUS(chooseVariant(&variant), SPARSEC_STATUS_INVALID_ARGUMENT, message);
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, message);
}

TEST_F(WindowPlan, MatrixWithoutRowsOrBlocks) {
  setPattern({{}, {}, {}, {}, {}});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(planInfo().windows, 2);
  EXPECT_EQ(planInfo().columns, 0);
  EXPECT_EQ(launched(), "linear_windows");
  setArguments(0, 256, 1024);
  for (bool isWidthOpen : {false, true}) {
    ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN, isWidthOpen));
    EXPECT_EQ(planInfo().windows, 0);
  }
  EXPECT_EQ(launched(), "");
}

/// A caller of the first version has no room for the windows.
TEST_F(WindowPlan, InfoOfAnOlderCaller) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  sparsec_plan_info_t info;
  std::memset(static_cast<void *>(&info), 0x55, sizeof(info));
  info.size = offsetof(sparsec_plan_info_t, windows);
  EXPECT_OK(sparsec_plan_info(plan, 0, &info));
  EXPECT_EQ(info.tiles, 4);
  EXPECT_EQ(info.size, 64u);
  EXPECT_EQ(info.windows, 0x5555555555555555);
  EXPECT_EQ(info.columns, 0x5555555555555555);
  info.size = 63;
  EXPECT_STATUS(sparsec_plan_info(plan, 0, &info), SPARSEC_STATUS_INVALID_ARGUMENT,
                "out_info: expects a size of at least 64 bytes, but got 63");
}

//===----------------------------------------------------------------------===//
// Launches with other lists
//===----------------------------------------------------------------------===//

class ChangedPattern : public WindowPlan {
protected:
  static constexpr const char *message = "argument 0 'w': plan is for other index arrays: it was made with "
                                         "SPARSEC_PLAN_STATIC_PATTERN, so that all its launches have the same";

  void check(bool isChecked) { arguments[w].blocks.flags = isChecked ? SPARSEC_BLOCKS_CHECK_LISTS : 0; }
};

TEST_F(ChangedPattern, IsRefusedWhereListsAreChecked) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  check(true);
  EXPECT_EQ(launched(), "linear_windows");
  // Elsewhere, but the same.
  const std::vector<int32_t> rowPtrBefore = rowPtr, colIdxBefore = colIdx;
  arguments[w].blocks.full = {rowPtrBefore.data(), colIdxBefore.data()};
  EXPECT_EQ(launched(), "linear_windows");
  arguments[w].blocks.full = {rowPtr.data(), colIdx.data()};
  auto refuses = [&] { EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, message); };
  std::swap(colIdx[0], colIdx[1]); // the same blocks with each other's values
  refuses();
  colIdx = colIdxBefore;
  colIdx[2] = 2;
  refuses();
  colIdx = colIdxBefore;
  rowPtr[1] = 1;
  refuses();
  check(false);
  EXPECT_EQ(launched(), "linear_windows") << "nothing is read";
}

TEST_F(ChangedPattern, IsRefusedByLaunchersToo) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  check(true);
  auto options = sized<sparsec_launch_options_t>();
  sparsec_launcher_t launcher = nullptr;
  const ArgumentArray array(arguments);
  ASSERT_OK(sparsec_launcher_create(kernel, plan, array.data(), array.size(), &options, &launcher));
  EXPECT_OK(sparsec_launcher_run(launcher, nullptr));
  std::swap(colIdx[0], colIdx[1]);
  EXPECT_STATUS(sparsec_launcher_run(launcher, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, message);
  sparsec_launcher_destroy(launcher);
}

TEST_F(ChangedPattern, IsGoodForOtherPlans) {
  ASSERT_OK(createPlanWith(0));
  check(true);
  std::swap(colIdx[0], colIdx[1]);
  EXPECT_EQ(launched(), "linear_aligned");
}

#ifdef SPARSEC_HAS_TEST_HOST_OBJECT
/// The lists are in host memory.
TEST(ChangedPatternOnHost, IsRefused) {
  sparsec::Device device = sparsec::Device::host(1);
  const ByteVector object = hostObject(hostProduct());
  sparsec::Module module(device, object.data(), object.size());
  std::vector<int32_t> rowPtr = {0, 2}, colIdx = {1, 0};
  std::vector<float> values(2 * 256), dense(32 * 8), result(16 * 8);
  const sparsec_blocks_t matrix =
      sparsec_blocks_bsr(16, 32, 16, 16, 2, rowPtr.data(), colIdx.data(), SPARSEC_DTYPE_F32, values.data());
  const sparsec_dense_t x = sparsec_dense_2d(dense.data(), SPARSEC_DTYPE_F32, 32, 8),
                        y = sparsec_dense_2d(result.data(), SPARSEC_DTYPE_F32, 16, 8);
  sparsec::Plan changing(module.kernel(), {matrix, x, y}),
      fixed(module.kernel(), {matrix, x, y}, nullptr, nullptr, SPARSEC_PLAN_STATIC_PATTERN);
  EXPECT_NO_THROW(module.kernel().launch(&fixed, {matrix, x, y}));
  std::swap(colIdx[0], colIdx[1]);
  EXPECT_NO_THROW(module.kernel().launch(&changing, {matrix, x, y}));
  EXPECT_THROW(module.kernel().launch(&fixed, {matrix, x, y}), sparsec::Error);
}
#endif

} // namespace
