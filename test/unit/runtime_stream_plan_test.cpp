// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variants that take streams: checks of their images, plans of static patterns and launches on the fake driver.

#include "image/launch_info_reader.h"
#include "plan/plan.h"
#include "runtime_static_plan_fixture.h"
#include "runtime_stream_image.h"

#include <algorithm>
#include <numeric>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

Status parseStreams(const std::function<void(LaunchInfoBuilder &)> &change) {
  LaunchInfoBuilder builder = linearWithStreams();
  change(builder);
  LaunchInfo info;
  return LaunchInfo::parse(builder.build(), info);
}

TEST(StreamImage, FieldsAreChecked) {
  struct {
    const char *message;
    std::function<void(sparsec_stage_info_t &)> change;
  } cases[] = {
      {"variant 0 has consumer_rows 96, a divisor of 256 is expected", [](auto &s) { s.consumer_rows = 96; }},
      {"variant 0 has consumer_rows 0, a divisor of 256 is expected", [](auto &s) { s.consumer_rows = 0; }},
      {"variant 0 has product_rows 256, a divisor of 128 and a multiple of 64 is expected",
       [](auto &s) { s.product_rows = 256; }},
      {"variant 0 has product_rows 0, a divisor of 128 and", [](auto &s) { s.product_rows = 0; }},
      {"variant 0 has product_rows 32, a divisor of 128 and", [](auto &s) { s.product_rows = 32; }},
      {"variant 0 has streams and a tile depth of 96, a multiple of 64 is expected", [](auto &s) { s.tile_k = 96; }},
      {"variant 0 has 34 products of a consumer in a stage, at most 32 are expected",
       [](auto &s) { s.tile_k = 17 * 64; }},
      {"variant 0 has chunk_products 0, 1 to 64 is expected", [](auto &s) { s.chunk_products = 0; }},
      {"variant 0 has chunk_products 65, 1 to 64 is expected", [](auto &s) { s.chunk_products = 65; }},
      {"variant 0 takes windows, but its tile rows are not those of 512 rows of 'w'", [](auto &s) { s.tile_m = 512; }},
  };
  EXPECT_OK(parseStreams([](auto &) {}));
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseStreams([&](auto &i) { change(i.stages[streamStage]); }), SPARSEC_STATUS_INVALID_IMAGE, message);
  EXPECT_OK(parseStreams([](auto &i) { i.stages[streamStage].tile_k = 16 * 64; }));
  EXPECT_OK(parseStreams([](auto &i) { i.stages[streamStage].chunk_products = 64; }));
  EXPECT_OK(parseStreams([](auto &i) { i.stages[streamStage].product_rows = 128; }));
}

TEST(StreamImage, OnlyStreamsHaveAdjacentColumns) {
  constexpr uint32_t flag = SPARSEC_STAGE_ADJACENT_COLUMNS;
  EXPECT_OK(parseStreams([](auto &i) { i.stages[streamStage].flags = flag; }));
  EXPECT_STATUS(parseStreams([](auto &i) { i.stages[0].flags = flag; }), SPARSEC_STATUS_INVALID_IMAGE,
                "unknown stage flags");
}

TEST(StreamImage, SectionsAndCostsAreChecked) {
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      {"variant 0 takes the steps of windows and streams, one of the two is expected",
       [](auto &i) { i.variants[0].required_sections |= windowSections; }},
      {"parameter 2 of variant 0 is plan section 2, which is not required",
       [](auto &i) { i.variants[0].required_sections &= ~(1u << SPARSEC_PLAN_WINDOW_ROWS); }},
      {"parameter 7 of variant 0 is plan section 13, which is not required",
       [](auto &i) { i.variants[0].required_sections &= ~(1u << SPARSEC_PLAN_CHUNK_BLOCKS); }},
      {"unknown required plan sections", [](auto &i) { i.variants[0].required_sections |= 1u << planSectionCount; }},
      {"but its tile rows are not those", [](auto &i) { i.extents[i.stages[streamStage].row_first].dimension = 1; }},
      {"the column cost in percent of variant 0 is there 0 times", [](auto &i) { i.variants[0].plan_cost_count = 2; }},
      {"the window density in percent of variant 0 is there 0 times",
       [](auto &i) { i.variants[0].plan_cost_count = 3; }},
  };
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseStreams(change), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(StreamImage, OthersHaveNoFieldsOfStreams) {
  struct {
    const char *message;
    std::function<void(sparsec_stage_info_t &)> change;
  } cases[] = {
      {"variant 1 has consumer_rows 64 and no streams, 0 is expected", [](auto &s) { s.consumer_rows = 64; }},
      {"variant 1 has product_rows 64 and no streams, 0 is expected", [](auto &s) { s.product_rows = 64; }},
      {"variant 1 has chunk_products 8 and no streams, 0 is expected", [](auto &s) { s.chunk_products = 8; }},
  };
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseStreams([&](auto &i) { change(i.stages[0]); }), SPARSEC_STATUS_INVALID_IMAGE, message);
  // Only the first machine kernel follows the plan.
  EXPECT_STATUS(parseStreams([](auto &i) {
                  i.variants[0].stage_first = uint32_t(i.stages.size());
                  i.variants[0].stage_count = 2;
                  i.stages.insert(i.stages.end(), 2, i.stages[streamStage]);
                }),
                SPARSEC_STATUS_INVALID_IMAGE, "variant 0 has consumer_rows 128 and no streams, 0 is expected");
}

TEST(StreamImage, OtherOperationsHaveNoStreams) {
  LaunchInfoBuilder builder = cudaAttention();
  builder.addVariant();
  builder.variants[0].required_sections = streamSections;
  LaunchInfo info;
  EXPECT_STATUS(LaunchInfo::parse(builder.build(), info), SPARSEC_STATUS_INVALID_IMAGE,
                "variant 0 takes streams, which attention has not");
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

class StreamPlan : public StaticPlanOnFake {
protected:
  void SetUp() override { loadWithPattern(linearWithStreams(), 11); }
};

TEST_F(StreamPlan, OfAStaticPattern) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_WINDOW_ROWS, 8), (std::vector<int32_t>{0, 1, 2, 3, 4, -1, -1, -1}));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_STAGE_OFFSETS, 3), (std::vector<int32_t>{0, 2, 3}));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_STAGE_COLUMNS, 8), (std::vector<int32_t>{0, 1, 2, 3, 0, 1, -1, -1}));
  // Consumer 0 has rows 0 and 1, consumer 1 rows 2 and 3: two bits for each column.
  EXPECT_EQ(section<uint32_t>(SPARSEC_PLAN_STAGE_PRODUCTS, 8),
            (std::vector<uint32_t>{0b0101, 0b0101, 0b1000, 0b1010, 0b0101, 0, 0, 0}));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_CHUNK_OFFSETS, 5), (std::vector<int32_t>{0, 1, 2, 3, 3}));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_CHUNK_BLOCKS, 16),
            (std::vector<int32_t>{0, 1, 2, -1, 3, 4, 6, 5, 8, 7, -1, -1, -1, -1, -1, -1}));
  const sparsec_plan_info_t info = planInfo();
  EXPECT_EQ(info.windows, 2);
  EXPECT_EQ(info.columns, 6);
  EXPECT_EQ(info.tiles, 4);
  EXPECT_EQ(info.order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(info.bytes, 8 * 256);
  // 4 columns and 7 products, 2 and 2, and the overhead: costs of 1100 and 500.
  EXPECT_DOUBLE_EQ(info.balance, (11 + 5) / 2.0 / 11);
  EXPECT_EQ(planInfo(1).windows + planInfo(1).columns, 0) << "the next variant has none";
}

TEST_F(StreamPlan, OfAdjacentColumns) {
  LaunchInfoBuilder info = linearWithStreams();
  info.stages[streamStage].flags = SPARSEC_STAGE_ADJACENT_COLUMNS;
  load(info);
  setPattern({{1}, {0}, {3}, {}, {}});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_STAGE_COLUMNS, 6), (std::vector<int32_t>{0, 1, 2, 3, -1, -1}));
  EXPECT_EQ(section<uint32_t>(SPARSEC_PLAN_STAGE_PRODUCTS, 6), (std::vector<uint32_t>{0b0110, 0, 0, 0b0010, 0, 0}));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_CHUNK_BLOCKS, 12),
            (std::vector<int32_t>{0, 1, -1, -1, 2, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(planInfo().columns, 4);
}

TEST_F(StreamPlan, BundlesRowsOfAProduct) {
  LaunchInfoBuilder info = linearWithStreams();
  info.stages[streamStage].product_rows = 128;
  load(info);
  setPattern({{0, 1}, {3}, {0, 1}, {3, 2}, {1, 0}});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  EXPECT_EQ(section<uint32_t>(SPARSEC_PLAN_STAGE_PRODUCTS, 8),
            (std::vector<uint32_t>{0b11, 0b11, 0b10, 0b11, 0b11, 0, 0, 0}));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_CHUNK_BLOCKS, 6), (std::vector<int32_t>{0, -1, 1, -1, -1, 2}));
}

TEST_F(StreamPlan, RowsThatShareColumnsShareAWindow) {
  setArguments(8 * 64, 4 * 64, 1024);
  setPattern({{0, 1}, {3}, {0, 1}, {3, 2}, {1, 0}, {2}, {0}, {2, 3}});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(planInfo().windows, 2);
  EXPECT_EQ(planInfo().columns, 4);
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_WINDOW_ROWS, 8), (std::vector<int32_t>{0, 2, 4, 6, 1, 3, 5, 7}));
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  EXPECT_EQ(planInfo().columns, 8);
}

/// Each worker has a tile at most, which ends sooner with three rows than with four.
class StreamsOfFewTiles : public StreamPlan {
protected:
  int64_t windowsWith(const std::function<void(sparsec_stage_info_t &)> &change, uint32_t flags = 0,
                      bool isWidthOpen = false) {
    LaunchInfoBuilder info = linearWithStreams();
    info.stages[streamStage].cluster = 1;
    change(info.stages[streamStage]);
    load(info);
    setArguments(8 * 64, 4 * 64, 1024);
    setPattern({{0, 1}, {3}, {0, 1}, {3, 2}, {1, 0}, {2}, {0}, {2, 3}});
    EXPECT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | flags, isWidthOpen));
    return planInfo().windows;
  }
};

TEST_F(StreamsOfFewTiles, HaveShortWindows) {
  EXPECT_EQ(windowsWith([](auto &) {}), 3);
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_WINDOW_ROWS, 8), (std::vector<int32_t>{0, 2, 4, -1, 1, 3, 7, -1}));
}

TEST_F(StreamsOfFewTiles, HaveFullWindowsElsewhere) {
  EXPECT_EQ(windowsWith([](auto &) {}, SPARSEC_PLAN_FAST), 2) << "rows stay in their order";
  EXPECT_EQ(windowsWith([](auto &) {}, 0, /*isWidthOpen=*/true), 2) << "the number of tiles is open";
  EXPECT_EQ(windowsWith([](auto &stage) { stage.cluster = 2; }), 2) << "the other CTA has all rows";
  EXPECT_EQ(windowsWith([](auto &stage) { stage.product_rows = 128; }), 2) << "a product takes as long with one row";
  EXPECT_EQ(windowsWith([](auto &stage) { stage.consumer_rows = 64; }), 2) << "a consumer without its row waits";
}

TEST_F(StreamPlan, LaunchesTakeTheVariantOfThePlan) {
  EXPECT_EQ(launched(), "linear_aligned") << "without a plan";
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(launched(), "linear_streams");
  EXPECT_EQ(fake.launches.back().gridX, 8u) << "2 windows and 2 panels, clusters of 2";
  for (size_t i = 0; i < std::size(streamPlanSections); ++i) {
    EXPECT_NE(fake.launches.back().words[i], 0u);
    EXPECT_EQ(fake.launches.back().words[i],
              reinterpret_cast<uintptr_t>(plan->variants[0].sections[streamPlanSections[i]]));
  }
  EXPECT_EQ(uint32_t(fake.launches.back().words[8]), 2u) << "tile rows";
  for (uint32_t section = SPARSEC_PLAN_COLUMN_OFFSETS; section <= SPARSEC_PLAN_STEPS; ++section)
    EXPECT_EQ(plan->variants[0].sections[section], nullptr);
}

/// The CTAs of a cluster share a panel of streams, of 256 columns. The fallback has panels of 128.
TEST_F(StreamPlan, FallbackKeepsTilesOfAPanelOfStreamsTogether) {
  constexpr int64_t blockRows = 4096;
  LaunchInfoBuilder info = linearWithStreams();
  sparsec_extent_info_t &panels = info.extents[info.stages[streamStage].panel_first];
  panels.block = panels.tile = 256;
  load(info);
  setArguments(blockRows * 64, 4 * 64, 2048);
  setPattern(std::vector<std::vector<int32_t>>(blockRows, {1}));
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  const auto *tiles = static_cast<const Tile *>(plan->variants[2].sections[SPARSEC_PLAN_TILES]);
  auto at = [&](int i) { return std::pair(uint32_t(tiles[i].row), uint32_t(tiles[i].panel)); };
  EXPECT_EQ(at(0), (std::pair<uint32_t, uint32_t>{0, 0}));
  EXPECT_EQ(at(1), (std::pair<uint32_t, uint32_t>{0, 1}));
  EXPECT_NE(at(2), (std::pair<uint32_t, uint32_t>{0, 2}));
}

TEST_F(StreamPlan, OneServesEveryWidth) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN, /*isWidthOpen=*/true));
  EXPECT_EQ(planInfo().windows, 2);
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_LISTS);
  for (int64_t width : {1024, 512 * 300}) {
    arguments[x] = sparsec_dense_2d(at(uintptr_t(1) << 40), SPARSEC_DTYPE_BF16, 4 * 64, width);
    arguments[y] = sparsec_dense_2d(at(uintptr_t(2) << 40), SPARSEC_DTYPE_BF16, 5 * 64, width);
    EXPECT_EQ(launched(), "linear_streams");
    EXPECT_EQ(int64_t(uint32_t(fake.launches.back().words[10])), choosePeriod(2, 66));
  }
}

TEST_F(StreamPlan, NoneWithoutTheFlagOrThePattern) {
  ASSERT_OK(createPlanWith(0));
  EXPECT_EQ(planInfo().windows, 0);
  EXPECT_EQ(planInfo().bytes, 0);
  EXPECT_EQ(launched(), "linear_aligned");
  arguments[w] = {};
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(planInfo().windows, 0);
}

/// Copies in lines of 128 bytes bring the elements beyond K too, where a NaN would count.
TEST_F(StreamPlan, NoneWhereKCutsBlocks) {
  setArguments(5 * 64, 4 * 64 - 8, 1024);
  setPattern({{0, 1}, {3}, {0, 1}, {3, 2}, {1, 0}});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(planInfo().windows, 0);
  EXPECT_EQ(launched(), "linear_aligned");
}

TEST_F(StreamPlan, NoneOfANearlyDensePattern) {
  for (uint32_t density : {45u, 46u}) { // 9 of 20 blocks are stored
    LaunchInfoBuilder info = linearWithStreams();
    info.planCosts.back().value = density;
    load(info);
    setPattern({{0, 1}, {3}, {0, 1}, {3, 2}, {1, 0}});
    ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
    EXPECT_EQ(planInfo().windows, density == 45 ? 0 : 2);
    EXPECT_EQ(launched(), density == 45 ? "linear_aligned" : "linear_streams");
  }
}

TEST_F(StreamPlan, RowsByFallingCost) {
  // Windows of 3, 6 and 12 columns, each with four products a column.
  setArguments(12 * 64, 12 * 64, 512 * 80);
  std::vector<std::vector<int32_t>> rows;
  for (int32_t length : {3, 3, 3, 3, 6, 6, 6, 6, 12, 12, 12, 12}) {
    rows.emplace_back(length);
    std::iota(rows.back().begin(), rows.back().end(), 0);
  }
  setPattern(rows);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  EXPECT_EQ(section<Tile>(SPARSEC_PLAN_TILES, 1)[0].row, 2u);
}

/// Six windows of four rows and four panels of 512 columns, for two workers.
class StreamGroups : public StaticPlanOnFake {
protected:
  void SetUp() override {} // loads nothing: the device is opened with its multiprocessors

  /// Each row has every n-th of 64 block columns.
  void planWithColumns(int32_t n) {
    loadWithPattern(linearWithStreams(), 11, /*multiprocessors=*/4);
    setArguments(24 * 64, 64 * 64, 4 * 512);
    std::vector<int32_t> row;
    for (int32_t column = 0; column < 64; column += n)
      row.push_back(column);
    setPattern(std::vector<std::vector<int32_t>>(24, row));
    ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  }
  /// The windows of the tiles of the first worker, in their order.
  std::vector<uint32_t> windowsOfFirstWorker() {
    std::vector<uint32_t> windows;
    for (const Tile &tile : section<Tile>(SPARSEC_PLAN_TILES, 12))
      windows.push_back(tile.row);
    return windows;
  }
};

TEST_F(StreamGroups, OfManyBlocks) {
  // A panel of X has twice as many elements as the blocks of a window. While two windows run, so does one panel.
  planWithColumns(1);
  const std::vector<uint32_t> windows = windowsOfFirstWorker();
  for (size_t i = 0; i < windows.size(); ++i)
    EXPECT_EQ(windows[i] / 2, i / 4) << "each worker has half of the eight tiles of a group";
  EXPECT_STREQ(planInfo().reason, "streams: 4.00 blocks per column; lists in groups of 2 tile rows: as many bytes of "
                                  "blocks as of X");
}

TEST_F(StreamGroups, NoneWhereOneHasMostRows) {
  // sqrt(2 workers * 16) windows: six of six.
  planWithColumns(8);
  EXPECT_STREQ(planInfo().reason, "streams: 4.00 blocks per column; lists: the costs of all tiles are known");
  planWithColumns(4);
  EXPECT_THAT(std::string(planInfo().reason), ::testing::HasSubstr("lists in groups of 4 tile rows"));
}

TEST_F(StreamPlan, MatrixWithoutRowsOrBlocks) {
  setPattern({{}, {}, {}, {}, {}});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(planInfo().windows, 2);
  EXPECT_EQ(planInfo().columns, 0);
  setArguments(0, 256, 1024);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(planInfo().windows, 0);
}

} // namespace
