// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variants for few panels: checks of their images, and who takes them on the fake driver.

#include "image/launch_info_reader.h"
#include "runtime_static_plan_fixture.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

/// cudaLinear() with one more variant in front of the others: tiles of 16 x 16, a CTA for each, for calls with one
/// panel. Its parameters are the two tile lists, the tile rows, the panels and the period.
LaunchInfoBuilder linearWithNarrowTiles() {
  LaunchInfoBuilder info = cudaLinear();
  const uint32_t number = info.addVariant();
  info.setTile(number, 16, 16);
  sparsec_stage_info_t &stage = info.stages[number];
  std::strcpy(stage.symbol, "linear_narrow16");
  stage.cluster = 1;
  info.extents[stage.panel_first].block = info.extents[stage.panel_first].tile = 16;
  stage.ctas_per_sm = 0;
  stage.parameter_first = uint32_t(info.parameters.size());
  stage.parameter_count = 5;
  info.parameters.insert(info.parameters.end(), {{SPARSEC_SOURCE_PLAN_SECTION, SPARSEC_PLAN_TILE_OFFSETS, 0, 0},
                                                 {SPARSEC_SOURCE_PLAN_SECTION, SPARSEC_PLAN_TILES, 0, 0},
                                                 {SPARSEC_SOURCE_TILE_ROWS, 0, 0, 0},
                                                 {SPARSEC_SOURCE_PANELS, 0, 0, 0},
                                                 {SPARSEC_SOURCE_PERIOD, 0, 0, 0}});
  info.variants.back().most_panels = 1;
  std::rotate(info.variants.begin(), info.variants.end() - 1, info.variants.end());
  return info;
}

TEST(NarrowImage, TheLastVariantIsForAnyWidth) {
  LaunchInfoBuilder builder = linearWithNarrowTiles();
  LaunchInfo info;
  EXPECT_OK(LaunchInfo::parse(builder.build(), info));
  builder.variants.back().most_panels = 3;
  EXPECT_STATUS(LaunchInfo::parse(builder.build(), info), SPARSEC_STATUS_INVALID_IMAGE,
                "variant 2 is for at most 3 panels, but the last variant must be for any number");
}

TEST(NarrowImage, FewTilesAreALimitBesideThatOfPanels) {
  LaunchInfoBuilder builder = linearWithNarrowTiles();
  builder.variants.front().most_tiles_per_sm = 2;
  LaunchInfo info;
  EXPECT_OK(LaunchInfo::parse(builder.build(), info));
  builder.variants[1].most_tiles_per_sm = 2;
  EXPECT_STATUS(LaunchInfo::parse(builder.build(), info), SPARSEC_STATUS_INVALID_IMAGE,
                "variant 1 is for any number of panels, and for at most 2 tiles of a multiprocessor");
}

class NarrowVariant : public StaticPlanOnFake {
protected:
  void SetUp() override {
    loadWithPattern(linearWithNarrowTiles(), 5);
    setWidth(16);
  }

  void setWidth(int64_t width) {
    arguments[x].dense.sizes[1] = arguments[y].dense.sizes[1] = width;
    arguments[x].dense.strides[0] = arguments[y].dense.strides[0] = 1024;
  }

  /// Also with a launcher, which chooses once.
  std::string taken() {
    const std::string byLaunch = launched();
    auto options = sized<sparsec_launch_options_t>();
    sparsec_launcher_t launcher = nullptr;
    const ArgumentArray array(arguments);
    EXPECT_OK(sparsec_launcher_create(kernel, plan, array.data(), array.size(), &options, &launcher));
    EXPECT_OK(sparsec_launcher_run(launcher, nullptr));
    EXPECT_EQ(fake.launches.back().function, byLaunch);
    sparsec_launcher_destroy(launcher);
    return byLaunch;
  }
};

TEST_F(NarrowVariant, RunsCallsOfOnePanel) {
  EXPECT_EQ(taken(), "linear_narrow16");
  setWidth(8);
  EXPECT_EQ(taken(), "linear_narrow16");
  fake.parameterCount = 14;
  setWidth(24);
  EXPECT_EQ(taken(), "linear_aligned");
}

/// With five block rows of four tiles a panel has 20 tiles, and the fake device 8 multiprocessors.
class VariantForFewTiles : public NarrowVariant {
protected:
  void SetUp() override {
    LaunchInfoBuilder info = linearWithNarrowTiles();
    info.variants.front().most_tiles_per_sm = 5;
    loadWithPattern(info, 5, fewMultiprocessors);
  }
};

TEST_F(VariantForFewTiles, RunsCallsOfFewTiles) {
  setWidth(32);
  EXPECT_EQ(taken(), "linear_narrow16") << "40 tiles of 8 multiprocessors";
  EXPECT_EQ(fake.launches.back().gridX, 40u);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(taken(), "linear_narrow16") << "also with a plan";
  fake.parameterCount = 14;
  setWidth(40);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(taken(), "linear_aligned") << "60 tiles";
}

TEST_F(NarrowVariant, HasACtaForEveryTile) {
  // The fake device has few multiprocessors: a thousand block rows of four tiles are more than it runs at once.
  setArguments(1000 * 64, 64, 16);
  setPattern(std::vector<std::vector<int32_t>>(1000));
  EXPECT_EQ(launched(), "linear_narrow16");
  EXPECT_EQ(fake.launches.back().gridX, 4000u);
}

TEST_F(NarrowVariant, TakesNoneOfMisalignedOperands) {
  arguments[x].dense.data = at(0x200008);
  fake.parameterCount = 12;
  EXPECT_EQ(taken(), "linear_any");
}

TEST_F(NarrowVariant, HasNoListsInPlans) {
  for (bool isWidthOpen : {false, true}) {
    ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN, isWidthOpen));
    EXPECT_EQ(planInfo(0).order, SPARSEC_TILE_ORDER_FIXED);
    EXPECT_EQ(planInfo(0).bytes, 0);
    EXPECT_STREQ(planInfo(0).reason, "fixed order: the variant is for few tiles, and has a CTA for every tile");
    EXPECT_EQ(planInfo(1).order, SPARSEC_TILE_ORDER_LISTS);
    fake.parameterCount = 5;
    EXPECT_EQ(launched(), "linear_narrow16");
    EXPECT_EQ(fake.launches.back().gridX, 20u) << "5 block rows of 4 tiles";
  }
}

/// A width that other variants run may have more tiles of the narrow one than kernels can count.
TEST_F(NarrowVariant, ItsTilesCountWhereItRuns) {
  Problem problem;
  problem.batches = problem.heads = 1;
  problem.rows = int64_t(1) << 24;
  problem.columns = int64_t(1) << 19;
  problem.depth = 64;
  problem.blocks = 0;
  EXPECT_FALSE(checkTileCounts(*kernel, problem));
  problem.columns = int64_t(1) << 20; // one tile too many for the last variant, too
  EXPECT_TRUE(checkTileCounts(*kernel, problem));
}

/// The parameter of the narrow variant says whether it may read the pattern early.
class EarlyNarrowVariant : public StaticPlanOnFake {
protected:
  void SetUp() override {
    LaunchInfoBuilder info = linearWithNarrowTiles();
    sparsec_stage_info_t &stage = info.stages[info.variants.front().stage_first];
    stage.parameter_first = uint32_t(info.parameters.size());
    stage.parameter_count = 1;
    info.parameters.push_back({SPARSEC_SOURCE_ARGUMENT, w, SPARSEC_FIELD_READ_EARLY, 0});
    loadWithPattern(info, 1);
    arguments[x].dense.sizes[1] = arguments[y].dense.sizes[1] = 16;
  }

  /// The flag of a launch.
  uint64_t flag() {
    EXPECT_EQ(launched(), "linear_narrow16");
    return fake.launches.back().words.front();
  }
};

TEST_F(EarlyNarrowVariant, KnowsThatAPlanIsOfAStaticPattern) {
  EXPECT_EQ(flag(), 0u) << "without a plan";
  for (const auto &[flags, expected] :
       std::map<uint32_t, uint64_t>{{0, 0}, {SPARSEC_PLAN_STATIC_PATTERN, 1}, {SPARSEC_PLAN_REFILL, 0}}) {
    ASSERT_OK(createPlanWith(flags));
    EXPECT_EQ(flag(), expected) << "plan with flags " << flags;
  }
}

/// A kernel in front may still write arrays that the plan has not read, though it writes what the plan knows.
TEST_F(EarlyNarrowVariant, TakesIndexArraysElsewhereForOnesThatChange) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  const sparsec_block_lists_t read = arguments[w].blocks.full;
  const std::vector<int32_t> otherRowPtr = rowPtr, otherColIdx = colIdx;
  arguments[w].blocks.full.starts = otherRowPtr.data();
  EXPECT_EQ(flag(), 0u) << "row_ptr elsewhere";
  arguments[w].blocks.full = {read.starts, otherColIdx.data()};
  EXPECT_EQ(flag(), 0u) << "col_idx elsewhere";
  arguments[w].blocks.full = read;
  EXPECT_EQ(flag(), 1u);
}

TEST_F(EarlyNarrowVariant, BindingsOfALauncherAreToldApart) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  auto options = sized<sparsec_launch_options_t>();
  sparsec_launcher_t launcher = nullptr;
  ASSERT_OK(
      sparsec_launcher_create(kernel, plan, ArgumentArray(arguments).data(), arguments.size(), &options, &launcher));
  ASSERT_OK(sparsec_launcher_run(launcher, nullptr));
  EXPECT_EQ(fake.launches.back().words.front(), 1u);
  const std::vector<int32_t> otherRowPtr = rowPtr;
  arguments[w].blocks.full.starts = otherRowPtr.data();
  EXPECT_OK(sparsec_launcher_rebind(launcher, ArgumentArray(arguments).data(), arguments.size()));
  ASSERT_OK(sparsec_launcher_run(launcher, nullptr));
  EXPECT_EQ(fake.launches.back().words.front(), 0u);
  sparsec_launcher_destroy(launcher);
}

/// A saved plan does not know where the lists are, unless the caller says so.
TEST_F(EarlyNarrowVariant, LoadedPlansReadTheListsOfTheCaller) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  const ByteVector saved = savePlan();
  ASSERT_OK(loadPlan(saved));
  EXPECT_EQ(flag(), 0u);
  auto options = sized<sparsec_plan_options_t>();
  const ArgumentArray array(arguments);
  options.arguments = array.data();
  options.argument_count = array.size();
  ASSERT_OK(loadPlan(saved, &options));
  EXPECT_EQ(flag(), 1u);
}

TEST(NarrowImage, OnlyBlocksAreStatic) {
  LaunchInfoBuilder builder = linearWithNarrowTiles();
  builder.parameters.back() = {SPARSEC_SOURCE_ARGUMENT, 1, SPARSEC_FIELD_READ_EARLY, 0};
  LaunchInfo info;
  EXPECT_STATUS(LaunchInfo::parse(builder.build(), info), SPARSEC_STATUS_INVALID_IMAGE,
                "field 14 and dimension 0 do not fit argument 'x'");
}

} // namespace
