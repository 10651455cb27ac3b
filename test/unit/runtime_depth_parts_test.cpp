// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products by streams that split the K of their tiles into parts: checks of their images, plans and launches on the
// fake driver.

#include "image/launch_info_reader.h"
#include "operations/kernel_shape.h"
#include "runtime_static_plan_fixture.h"
#include "runtime_stream_image.h"

#include <cstring>

using namespace sparsec::runtime;
using namespace sparsec::test;
using ::testing::ElementsAre;

namespace {

enum { parts, behindParts }; // variants
constexpr uint32_t sumBytes = 4096, flagBytes = 64, leastDepth = 32, leastBlocks = 9;

/// linearWithStreams() with a variant in front whose tiles have 256 rows and 64 columns and are split into parts of at
/// least 32 of K. Its parameters are two sections, the panels, the parts and the two workspaces.
LaunchInfoBuilder linearWithParts() {
  LaunchInfoBuilder info = linearWithStreams();
  const uint32_t number = info.addVariant();
  sparsec_stage_info_t stage = info.stages[streamStage];
  std::strcpy(stage.symbol, "linear_parts64");
  stage.tile_n = 64;
  stage.cluster = 1;
  const auto rows = info.extents[stage.row_first], columns = info.extents[stage.panel_first];
  stage.row_first = uint32_t(info.extents.size());
  stage.panel_first = stage.row_first + 1;
  stage.panel_count = 2;
  info.extents.insert(info.extents.end(), {rows, columns, {0, SPARSEC_FIELD_PARTS, 0, 1, 1, 0}});
  info.extents[stage.panel_first].block = info.extents[stage.panel_first].tile = 64;
  stage.parameter_first = uint32_t(info.parameters.size());
  stage.parameter_count = 6;
  info.parameters.insert(info.parameters.end(), {{SPARSEC_SOURCE_PLAN_SECTION, SPARSEC_PLAN_STAGE_PRODUCTS, 0, 0},
                                                 {SPARSEC_SOURCE_PLAN_SECTION, SPARSEC_PLAN_CHUNK_BLOCKS, 0, 0},
                                                 {SPARSEC_SOURCE_PANELS, 0, 0, 0},
                                                 {SPARSEC_SOURCE_PARTS, 0, 0, 0},
                                                 {SPARSEC_SOURCE_WORKSPACE, 0, 0, 0},
                                                 {SPARSEC_SOURCE_WORKSPACE, 1, 0, 0}});
  info.stages[number] = stage;
  info.workspaces = {{stage.row_first, 3, sumBytes, SPARSEC_LIFETIME_LAUNCH, 0, SPARSEC_WORKSPACE_SCRATCH},
                     {0, 0, flagBytes, SPARSEC_LIFETIME_LAUNCHES, 1, SPARSEC_WORKSPACE_SUM_FLAGS}};
  sparsec_variant_info_t &variant = info.variants.back();
  variant.part_keys = leastDepth;
  variant.least_narrow_blocks = leastBlocks;
  variant.workspace_count = 2;
  std::rotate(info.variants.begin(), info.variants.end() - 1, info.variants.end());
  return info;
}

/// linearWithParts() with a variant behind that of parts for calls of up to 64 columns. It has no parameters.
LaunchInfoBuilder linearWithPartsAndNarrowTiles() {
  LaunchInfoBuilder info = linearWithParts();
  sparsec_variant_info_t variant = info.variants.back();
  sparsec_stage_info_t stage = info.stages[variant.stage_first];
  std::strcpy(stage.symbol, "linear_narrow64");
  stage.parameter_count = 0;
  stage.ctas_per_sm = 0;
  stage.row_first = uint32_t(info.extents.size());
  info.extents.push_back(info.extents[info.stages[variant.stage_first].row_first]);
  stage.panel_first = uint32_t(info.extents.size());
  info.extents.push_back(info.extents[info.stages[info.variants[parts].stage_first].panel_first]);
  stage.tile_n = 64;
  variant.stage_first = uint32_t(info.stages.size());
  variant.most_panels = 1;
  info.stages.push_back(stage);
  info.variants.insert(info.variants.begin() + behindParts, variant);
  ++info.kernels[0].variant_count;
  return info;
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

TEST(PartsOfDepthImage, IsChecked) {
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      {"variant 0 has parts of keys and 2 stages, 1 are expected",
       [](auto &i) {
         i.stages.push_back(i.stages[i.variants[0].stage_first]);
         i.variants[0].stage_count = 2;
       }},
      {"variant 0 has flags of sums 0 times, 1 is expected",
       [](auto &i) { i.workspaces[1].kind = SPARSEC_WORKSPACE_SCRATCH, i.workspaces[1].is_zeroed = 0; }},
      {"variant 2 has parts of 32 keys, but is no attention of a GPU, and no product of a GPU with streams",
       [](auto &i) { i.variants[2].part_keys = leastDepth; }},
      {"an extent of a workspace of variant 0 is field 13 and dimension 0",
       [](auto &i) { i.variants[0].part_keys = 0; }},
  };
  auto parse = [](const std::function<void(LaunchInfoBuilder &)> &change) {
    LaunchInfoBuilder builder = linearWithParts();
    change(builder);
    LaunchInfo info;
    return LaunchInfo::parse(builder.build(), info);
  };
  EXPECT_OK(parse([](auto &) {}));
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parse(change), SPARSEC_STATUS_INVALID_IMAGE, message);
}

//===----------------------------------------------------------------------===//
// Plans and launches
//===----------------------------------------------------------------------===//

/// Two windows, and 16 multiprocessors with a CTA each. K is 256, which has eight parts of 32.
class PartsOfDepth : public StaticPlanOnFake {
protected:
  static constexpr uintptr_t base = 0x700000;
  static constexpr int manyMultiprocessors = 16;

  void SetUp() override { loadParts(linearWithParts()); }

  void loadParts(const LaunchInfoBuilder &info) {
    loadWithPattern(info, 6, manyMultiprocessors);
    setWidth(64);
    options.workspace = at(base);
    options.workspace_bytes = size_t(1) << 20;
  }

  void setWidth(int64_t width) {
    arguments[x].dense.sizes[1] = arguments[y].dense.sizes[1] = width;
    arguments[x].dense.strides[0] = arguments[y].dense.strides[0] = 4096;
  }

  /// The machine kernel that a launch with the workspace takes.
  std::string taken() {
    fake.launches.clear();
    EXPECT_OK(launchWith(options));
    return fake.launches.empty() ? "" : fake.launches.back().function;
  }

  sparsec_launch_options_t options = sized<sparsec_launch_options_t>();
};

/// The depth of an overhead is four times that of K: two rounds would take longer than one with whole tiles.
TEST_F(PartsOfDepth, AreTilesOfTheGrid) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(planInfo(parts).tiles, 2 * 8);
  EXPECT_STREQ(planInfo(parts).reason, "streams: 2.25 blocks per column; fixed order: K of each tile is split into 8 "
                                       "parts");
  EXPECT_EQ(workspaceBytes(), keptWorkspaceBytes + size_t(2) * 8 * sumBytes);
  size_t variant = 7;
  ASSERT_OK(chooseVariant(&variant));
  EXPECT_EQ(variant, size_t(parts));
  EXPECT_EQ(taken(), "linear_parts64");
  EXPECT_EQ(fake.launches.back().gridX, 16u);
  EXPECT_THAT(fake.launches.back().words,
              ElementsAre(reinterpret_cast<uintptr_t>(plan->variants[parts].sections[SPARSEC_PLAN_STAGE_PRODUCTS]),
                          reinterpret_cast<uintptr_t>(plan->variants[parts].sections[SPARSEC_PLAN_CHUNK_BLOCKS]), 8u,
                          8u, base + keptWorkspaceBytes, base + 16));
}

TEST_F(PartsOfDepth, AreFewerForMoreColumns) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN, /*isWidthOpen=*/true));
  EXPECT_EQ(taken(), "linear_parts64");
  setWidth(3 * 64);
  EXPECT_EQ(taken(), "linear_parts64");
  EXPECT_EQ(fake.launches.back().words[3], 2u) << "two parts for each of six tiles";
  setWidth(8 * 64);
  EXPECT_EQ(taken(), "linear_parts64");
  EXPECT_EQ(fake.launches.back().words[3], 1u) << "whole tiles, of which each multiprocessor has one";
  fake.parameterCount = 11;
  setWidth(9 * 64);
  EXPECT_EQ(taken(), "linear_streams") << "more tiles than multiprocessors";
}

TEST_F(PartsOfDepth, SharesTheStreamsOfTheVariantForMoreColumns) {
  for (uint32_t effort : {0, int(SPARSEC_PLAN_FAST)}) {
    ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | effort));
    for (uint32_t section : streamPlanSections)
      if (section != SPARSEC_PLAN_TILE_OFFSETS && section != SPARSEC_PLAN_TILES) {
        EXPECT_NE(plan->variants[parts].sections[section], nullptr);
        EXPECT_EQ(plan->variants[parts].sections[section], plan->variants[behindParts].sections[section]);
      }
    EXPECT_EQ(plan->variants[parts].sections[SPARSEC_PLAN_TILES], nullptr) << "tiles have no lists";
    EXPECT_EQ(planInfo(behindParts).order, SPARSEC_TILE_ORDER_LISTS);
  }
}

TEST_F(PartsOfDepth, NeedAPlanAndMemory) {
  fake.parameterCount = 14;
  EXPECT_EQ(taken(), "linear_aligned") << "without a plan";
  ASSERT_OK(createPlanWith(0));
  EXPECT_EQ(taken(), "linear_aligned") << "without streams";
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  fake.parameterCount = 11;
  EXPECT_EQ(launched(), "linear_streams") << "without a workspace";
  options.workspace_bytes = workspaceBytes() - 1;
  EXPECT_EQ(taken(), "linear_streams") << "with too little";
}

/// Whole tiles need no memory: the sums stay in registers.
TEST_F(PartsOfDepth, WholeTilesNeedNoMemory) {
  setWidth(8 * 64);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_STREQ(planInfo(parts).reason, "streams: 2.25 blocks per column; fixed order: the variant is for few tiles");
  EXPECT_EQ(workspaceBytes(), 0u);
  EXPECT_EQ(launched(), "linear_parts64");
  LaunchInfoBuilder info = linearWithParts();
  info.workspaces[1].element_bytes = keptWorkspaceBytes;
  loadParts(info);
  setWidth(8 * 64);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(launched(), "linear_parts64") << "nor room for flags";
}

TEST_F(PartsOfDepth, NeedRoomForTheirFlags) {
  LaunchInfoBuilder info = linearWithParts();
  info.workspaces[1].element_bytes = keptWorkspaceBytes;
  loadParts(info);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  fake.parameterCount = 11;
  EXPECT_EQ(taken(), "linear_streams");
}

/// The memory of parts is for two windows of four rows. Short windows are three.
TEST_F(PartsOfDepth, NeedWindowsWithAllRows) {
  setArguments(8 * 64, 4 * 64, 64);
  setPattern({{0, 1}, {3}, {0, 1}, {3, 2}, {1, 0}, {2}, {0}, {2, 3}});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  EXPECT_EQ(planInfo(parts).windows, 2);
  EXPECT_EQ(taken(), "linear_parts64");
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(planInfo(parts).windows, 3);
  fake.parameterCount = 11;
  EXPECT_EQ(taken(), "linear_streams");
}

/// The plan has chunks for twelve blocks, and four columns in two windows.
class PartsOfNarrowCalls : public PartsOfDepth {
protected:
  std::string takenWith(uint32_t leastNarrowBlocks, int64_t width, bool isNarrow,
                        sparsec_dtype_t dtype = SPARSEC_DTYPE_BF16) {
    LaunchInfoBuilder info = linearWithPartsAndNarrowTiles();
    info.variants[parts].least_narrow_blocks = leastNarrowBlocks;
    info.arguments[w].dtype = info.arguments[x].dtype = dtype;
    loadParts(info);
    setWidth(width);
    arguments[w].blocks.dtype = arguments[x].dense.dtype = dtype;
    EXPECT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
    fake.parameterCount = isNarrow ? 0 : 6;
    return taken();
  }
};

TEST_F(PartsOfNarrowCalls, NeedBlocks) {
  EXPECT_EQ(takenWith(UINT32_MAX, 64, true), "linear_narrow64");
  EXPECT_EQ(takenWith(UINT32_MAX, 72, false), "linear_parts64") << "the narrow variant takes up to 64 columns";
  EXPECT_EQ(takenWith(0, 64, false), "linear_parts64");
  EXPECT_EQ(planInfo(parts).columns, 4);
  const auto blocks = int64_t(plan->variants[parts].sectionBytes[SPARSEC_PLAN_CHUNK_BLOCKS] / sizeof(int32_t));
  EXPECT_EQ(takenWith(uint32_t(blocks) - 2 * 4, 64, false), "linear_parts64");
  EXPECT_EQ(takenWith(uint32_t(blocks) - 2 * 4 + 1, 64, true), "linear_narrow64");
  EXPECT_EQ(takenWith(uint32_t(blocks) - 4, 64, false, SPARSEC_DTYPE_F8E4M3FN), "linear_parts64");
  EXPECT_EQ(takenWith(uint32_t(blocks) - 4 + 1, 64, true, SPARSEC_DTYPE_F8E4M3FN), "linear_narrow64");
}

} // namespace
