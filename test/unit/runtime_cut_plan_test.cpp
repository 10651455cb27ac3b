// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variants whose tiles a plan cuts along K: checks of their images, plans, saved plans and launches on the fake driver.

#include "image/launch_info_reader.h"
#include "plan/cut_lists.h"
#include "runtime_cut_image.h"
#include "runtime_saved_plan.h"
#include "runtime_static_plan_fixture.h"

#include <numeric>

using namespace sparsec::runtime;
using namespace sparsec::test;
using ::testing::ElementsAre;
using ::testing::StartsWith;

namespace {

Status parseCuts(const std::function<void(LaunchInfoBuilder &)> &change) {
  LaunchInfoBuilder builder = linearWithCuts();
  change(builder);
  LaunchInfo info;
  return LaunchInfo::parse(builder.build(), info);
}

TEST(CutImage, IsChecked) {
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      {"those of cut tiles go together and alone",
       [](auto &i) { i.variants[0].required_sections = 1u << SPARSEC_PLAN_CUT_TILES; }},
      {"those of cut tiles go together and alone", [](auto &i) { i.variants[0].required_sections |= windowSections; }},
      {"variant 0 has memory for sums 0 times, 1 is expected",
       [](auto &i) { i.workspaces[0].kind = SPARSEC_WORKSPACE_SCRATCH; }},
      {"variant 0 has flags of sums 0 times, 1 is expected", [](auto &i) { i.variants[0].workspace_count = 1; }},
      {"variant 1 has memory for sums 1 times, 0 is expected", [](auto &i) { i.variants[1].workspace_count = 2; }},
      {"flags of sums of variant 0 has 0 extents, elements of 8 bytes, lifetime 2 and is_zeroed 0",
       [](auto &i) { i.workspaces[1].is_zeroed = 0; }},
      {"memory for sums of variant 0 has 0 extents, elements of 1024 bytes, lifetime 2 and is_zeroed 0",
       [](auto &i) { i.workspaces[0].lifetime = SPARSEC_LIFETIME_LAUNCHES; }},
      {"memory for sums of variant 0 has 1 extents", [](auto &i) { i.workspaces[0].extent_count = 1; }},
      {"unknown kind of a workspace 5", [](auto &i) { i.workspaces[0].kind = 5; }},
  };
  EXPECT_OK(parseCuts([](auto &) {}));
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseCuts(change), SPARSEC_STATUS_INVALID_IMAGE, message);
}

/// Five tiles of 40 blocks for four clusters of two CTAs.
class CutPlan : public StaticPlanOnFake {
protected:
  static constexpr int64_t blocksOfRow = 40;
  static constexpr uintptr_t base = 0x700000;
  static constexpr size_t bytes = keptWorkspaceBytes + size_t(fewMultiprocessors) * cutSumBytes;

  void SetUp() override { loadCuts(linearWithCuts()); }

  void loadCuts(const LaunchInfoBuilder &info) {
    fake.multiprocessors = fewMultiprocessors;
    load(info);
    setArguments(5 * 64, blocksOfRow * 64, 512);
    std::vector<int32_t> row(blocksOfRow);
    std::iota(row.begin(), row.end(), 0);
    setPattern(std::vector(5, row));
    arguments[y].dense.data = at(0x900000); // behind X
    fake.parameterCount = 4;
    options.workspace = at(base);
    options.workspace_bytes = bytes;
  }

  std::vector<CutTile> tiles() { return section<CutTile>(SPARSEC_PLAN_CUT_TILES, offsets().back()); }
  std::vector<uint32_t> offsets() { return section<uint32_t>(SPARSEC_PLAN_CUT_OFFSETS, 5); }

  sparsec_launch_options_t options = sized<sparsec_launch_options_t>();
};

TEST_F(CutPlan, SharesOutAllBlocks) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  const sparsec_plan_info_t info = planInfo();
  EXPECT_EQ(info.order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(info.workers, 4);
  EXPECT_EQ(info.workspace_bytes, int64_t(bytes));
  EXPECT_EQ(workspaceBytes(), bytes);
  EXPECT_GT(info.balance, 0.9);
  EXPECT_THAT(info.reason, StartsWith("tiles cut along K: the longest list gets "));
  uint32_t blocks = 0;
  for (const CutTile &each : tiles())
    blocks += each.count();
  EXPECT_EQ(blocks, 5 * blocksOfRow);
  EXPECT_GT(tiles().size(), 5u);
}

TEST_F(CutPlan, LaunchesNeedTheWorkspace) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  size_t variant = 7;
  ASSERT_OK(chooseVariant(&variant));
  EXPECT_EQ(variant, 0u);
  ASSERT_OK(launchWith(options));
  EXPECT_EQ(fake.launches.back().function, "linear_cut");
  EXPECT_EQ(fake.launches.back().gridX, 8u);
  EXPECT_THAT(fake.launches.back().words,
              ElementsAre(reinterpret_cast<uintptr_t>(plan->variants[0].sections[SPARSEC_PLAN_CUT_OFFSETS]),
                          reinterpret_cast<uintptr_t>(plan->variants[0].sections[SPARSEC_PLAN_CUT_TILES]),
                          base + keptWorkspaceBytes, base + 16));
  EXPECT_EQ(launched(), "linear_aligned") << "without a workspace";
  fake.launches.clear();
  options.workspace_bytes = bytes - 1;
  EXPECT_STATUS(launchWith(options), SPARSEC_STATUS_INVALID_ARGUMENT,
                "options: expects workspace_bytes of at least 16384, but got 16383");
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(CutPlan, OtherPlansHaveWholeTiles) {
  auto reasonWith = [&](uint32_t flags, bool isWidthOpen = false) {
    EXPECT_OK(createPlanWith(flags, isWidthOpen));
    EXPECT_EQ(workspaceBytes(), 0u);
    EXPECT_OK(launchWith(options));
    EXPECT_EQ(fake.launches.back().function, "linear_aligned");
    return std::string(planInfo().reason);
  };
  EXPECT_EQ(reasonWith(0), "no cut tiles: the pattern may change");
  EXPECT_EQ(reasonWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST), "no cut tiles: the plan is not thorough");
  EXPECT_EQ(reasonWith(SPARSEC_PLAN_REFILL), "no cut tiles: the plan is not thorough");
  EXPECT_EQ(reasonWith(SPARSEC_PLAN_STATIC_PATTERN, /*isWidthOpen=*/true), "no cut tiles: fixed order: open sizes N");
  setPattern({{0}, {1}, {2}, {3}, {4}});
  EXPECT_EQ(reasonWith(SPARSEC_PLAN_STATIC_PATTERN), "no cut tiles: the pattern is not nearly dense");
  setArguments(4 * 64, 64, 512);
  setPattern({{0}, {0}, {0}, {0}});
  EXPECT_EQ(reasonWith(SPARSEC_PLAN_STATIC_PATTERN), "no cut tiles: the longest list would get 0.00 % shorter");
}

TEST_F(CutPlan, FlagsHaveRoomForTheLaunch) {
  LaunchInfoBuilder info = linearWithCuts();
  info.workspaces[1].element_bytes = (keptWorkspaceBytes - 16) / fewMultiprocessors + 1;
  loadCuts(info);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_STREQ(planInfo().reason, "no cut tiles: a launch has too many CTAs");
}

TEST_F(CutPlan, ComesBackFromBytes) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  const PlanContents contents = contentsOf(*plan);
  const ByteVector saved = savePlan();
  ASSERT_OK(loadPlan(saved));
  EXPECT_TRUE(contentsOf(*plan) == contents);
  EXPECT_EQ(workspaceBytes(), bytes);
}

TEST_F(CutPlan, BytesAreChecked) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  const std::vector<CutTile> cut = tiles();
  const std::vector<uint32_t> ends = offsets();
  const ByteVector good = savePlan();
  using enum CutWord;
  auto refuses = [&](const std::string &message, uint32_t tile, CutWord word, uint32_t value) {
    EXPECT_STATUS(loadPlan(withCutWord(good, tile, word, value)), SPARSEC_STATUS_INVALID_PLAN, message);
  };
  auto kindOf = [&](uint32_t tile, CutKind kind) { return cut[tile].count() | uint32_t(kind) << CutTile::kindShift; };
  // The first worker has a whole tile and a first part, the second one ends with its rest.
  const uint32_t rest = ends[2] - 1;
  ASSERT_EQ(cut[0].kind(), CutKind::whole);
  ASSERT_EQ(cut[1].kind(), CutKind::first);
  ASSERT_EQ(cut[rest].kind(), CutKind::rest);
  refuses("tile 0 is in tile row 5 and panel 0 of 5 x 1", 0, row, 5);
  refuses("tile 0 is in tile row 0 and panel 1 of 5 x 1", 0, panel, 1);
  refuses("tile 0 has blocks 1 + 40 of a row of 40", 0, first, 1);
  refuses("tile 0 has blocks 4294967295 + 40 of a row of 40", 0, first, UINT32_MAX);
  refuses("tile 0 is of kind 3", 0, count, UINT32_MAX << CutTile::kindShift | 40);
  refuses("tile 0 is the rest of a tile, but the worker before has no first part for it", 0, count,
          kindOf(0, CutKind::rest));
  refuses("tile 1 is the second first part of its worker", 0, count, kindOf(0, CutKind::first));
  refuses("tile 1 is no rest, but begins with block 1", 1, first, 1);
  refuses("tile 1 is there twice: tile row 0, panel 0", 1, row, 0);
  refuses("is no rest of the first part that the worker before has", rest, first, 0);
  refuses("is no rest of the first part that the worker before has", rest, row, 0);
  refuses("is no rest of the first part that the worker before has", 1, count, cut[1].countAndKind - 1);
  refuses("is no rest, but begins with block", rest, count, kindOf(rest, CutKind::whole));
  refuses("expects the 200 blocks of the matrix, but got 199", 0, count, 39);
  auto refusesOffset = [&](const std::string &message, int64_t worker, uint32_t value) {
    ByteVector changed = good;
    setWord(changed, 0, SPARSEC_PLAN_CUT_OFFSETS, worker, value);
    EXPECT_STATUS(loadPlan(mended(changed)), SPARSEC_STATUS_INVALID_PLAN, message);
  };
  refusesOffset("tile 1 is a first part, but worker 1 has no rest for it", 2, rest);
  refusesOffset("cut tiles of variant 0: expects ", 4, ends.back() - 1);
}

} // namespace
