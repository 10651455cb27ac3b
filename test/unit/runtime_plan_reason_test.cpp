// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reasons that plans give for what they hold.

#include "plan/plan_reason.h"
#include "runtime_attention_fixture.h"
#include "runtime_static_plan_fixture.h"
#include "runtime_stream_image.h"
#include "runtime_window_image.h"
#include "sparsec/runtime.hpp"

using namespace sparsec::test;

namespace {

class Reason : public StaticPlanOnFake {
protected:
  void SetUp() override { loadWithPattern(linearWithWindows(), 12, fewMultiprocessors); }

  std::string reason(size_t variant = 0) { return planInfo(variant).reason; }

  /// The percentage of a plan cost of the variants that have it.
  void loadWithCost(LaunchInfoBuilder info, uint32_t key, uint32_t value) {
    for (sparsec_plan_cost_info_t &cost : info.planCosts)
      if (cost.key == key)
        cost.value = value;
    loadWithPattern(info, 12, fewMultiprocessors);
  }
};

constexpr uint32_t staticPattern = SPARSEC_PLAN_STATIC_PATTERN;

TEST_F(Reason, OfWindows) {
  ASSERT_OK(createPlanWith(staticPattern));
  EXPECT_EQ(reason(), "windows: 2.25 blocks per column; lists: the costs of all tiles are known")
      << "9 blocks, 4 columns";
  ASSERT_OK(createPlanWith(staticPattern, /*isWidthOpen=*/true));
  EXPECT_EQ(reason(), "windows: 2.25 blocks per column; lists for every width: the costs of the tile rows are known");
  ASSERT_OK(createPlanWith(0));
  EXPECT_EQ(reason(), "no windows: the pattern may change");
  arguments[w] = {};
  ASSERT_OK(createPlanWith(staticPattern));
  EXPECT_EQ(reason(), "no windows: the matrix is open");
  EXPECT_EQ(reason(1), "fixed order: open sizes blocks") << "x and bias have M, N and K";
}

TEST_F(Reason, OfWindowsThatShareFewColumns) {
  for (uint32_t percentage : {225u, 226u}) { // 9 blocks, 4 columns
    loadWithPattern(withWindowSharing(linearWithWindows(), percentage), 12, fewMultiprocessors);
    ASSERT_OK(createPlanWith(staticPattern));
    EXPECT_EQ(planInfo().windows, percentage == 225 ? 2 : 0);
    EXPECT_EQ(reason(), percentage == 225 ? "windows: 2.25 blocks per column; lists: the costs of all tiles are known"
                                          : "no windows: 2.25 blocks per column are fewer than 2.26");
  }
}

TEST_F(Reason, OfADensePattern) {
  loadWithCost(linearWithWindows(), SPARSEC_PLAN_COST_WINDOW_DENSITY, 45);
  ASSERT_OK(createPlanWith(staticPattern));
  EXPECT_EQ(reason(), "no windows: density 0.45 is at least 0.45") << "9 of 20 blocks";
  loadWithCost(linearWithWindows(), SPARSEC_PLAN_COST_GROUPED_DENSITY, 40);
  ASSERT_OK(createPlanWith(0));
  EXPECT_THAT(reason(1), ::testing::MatchesRegex("lists in groups of [0-9]+ tile rows: density 0.45 is at least 0.40"));
  ASSERT_OK(createPlanWith(0, /*isWidthOpen=*/true));
  EXPECT_EQ(planInfo(1).order, SPARSEC_TILE_ORDER_FIXED);
  EXPECT_EQ(reason(1), "fixed order: density 0.45 is at least 0.40");
}

TEST_F(Reason, OfADensityFromWhichDenseProductsAreFaster) {
  for (uint32_t percentage : {45u, 46u}) { // 9 of 20 blocks
    LaunchInfoBuilder info = linearWithWindows();
    info.planCosts.push_back({SPARSEC_PLAN_COST_DENSE_DENSITY, percentage}); // behind the other costs of windows
    ++info.variants.front().plan_cost_count;
    loadWithPattern(info, 12, fewMultiprocessors);
    ASSERT_OK(createPlanWith(staticPattern));
    const std::string lists = "windows: 2.25 blocks per column; lists: the costs of all tiles are known";
    EXPECT_EQ(reason(),
              percentage == 45 ? lists + "; a dense product is faster: density 0.45 is at least 0.45" : lists);
    EXPECT_EQ(reason(1), "lists: the costs of all tiles are known") << "it has no such number";
    setPattern({{}, {}, {}, {}, {}});
    ASSERT_OK(createPlanWith(0));
    EXPECT_EQ(reason().find("dense"), std::string::npos);
  }
}

class ReasonWithL2Cache : public Reason {
protected:
  void SetUp() override {
    fake.l2Bytes = 1 << 20;
    LaunchInfoBuilder info = linearWithWindows();
    info.planCosts.push_back({SPARSEC_PLAN_COST_PANEL_CACHE, 35}); // behind the other costs of windows
    ++info.variants.front().plan_cost_count;
    loadWithPattern(info, 12);
  }
};

TEST_F(ReasonWithL2Cache, OfPanelsAtOnce) {
  // 66 clusters run 45 windows, 22.8 KiB of blocks each. A panel of 64 x 512 elements of X has 64 KiB: the square root
  // of 66 * 22.8 / 64 is 4.85. Five panels fit: .35 of the cache is 358 KiB.
  setArguments(128 * 64, 64, 8192);
  setPattern(std::vector<std::vector<int32_t>>(128, {0}));
  ASSERT_OK(createPlanWith(staticPattern));
  EXPECT_EQ(reason(), "windows: 2.84 blocks per column; lists of 4 panels at once: the costs of all tiles are known");
  EXPECT_EQ(reason(1).find("at once"), std::string::npos) << "it has no such number: " << reason(1);
  ASSERT_OK(createPlanWith(staticPattern, /*isWidthOpen=*/true));
  EXPECT_EQ(reason(), "windows: 2.98 blocks per column; lists for every width: the costs of the tile rows are known");
  setPattern(std::vector<std::vector<int32_t>>(128));
  ASSERT_OK(createPlanWith(staticPattern));
  EXPECT_EQ(reason().find("at once"), std::string::npos) << "no blocks: " << reason();
}

TEST_F(Reason, OfStreams) {
  loadWithPattern(linearWithStreams(), 11);
  ASSERT_OK(createPlanWith(staticPattern | SPARSEC_PLAN_FAST));
  EXPECT_EQ(reason(), "streams: 1.50 blocks per column; lists: the costs of all tiles are known") << "9 and 6";
  setArguments(5 * 64, 4 * 64 - 1, 1024);
  setPattern({{0, 1}, {3}, {0, 1}, {3, 2}, {1, 0}});
  ASSERT_OK(createPlanWith(staticPattern));
  EXPECT_EQ(reason(), "no streams: K is not a multiple of the block columns, 64");
}

TEST_F(Reason, OfNothingToCompute) {
  setArguments(0, 256, 1024);
  ASSERT_OK(createPlanWith(staticPattern));
  EXPECT_EQ(reason(), "fixed order: there are no tiles");
  ASSERT_OK(createPlanWith(staticPattern, /*isWidthOpen=*/true));
  EXPECT_EQ(reason(), "no windows: the matrix is empty");
}

/// A caller of the first version has no room for it.
TEST_F(Reason, OfAnOlderCaller) {
  ASSERT_OK(createPlanWith(staticPattern));
  sparsec_plan_info_t info;
  info.size = offsetof(sparsec_plan_info_t, reason);
  info.reason[0] = '?';
  EXPECT_OK(sparsec_plan_info(plan, 0, &info));
  EXPECT_EQ(info.windows, 2);
  EXPECT_EQ(info.reason[0], '?');
}

TEST(PlanReason, IsCutToItsRoom) {
  sparsec::runtime::VariantPlan part;
  addReason(part, std::string(100, 'a'));
  addReason(part, std::string(100, 'b'));
  std::string expected(100, 'a');
  expected += "; ";
  expected.append(SPARSEC_PLAN_REASON_LENGTH - 103, 'b');
  EXPECT_EQ(part.reason, expected);
}

class AttentionReason : public AttentionOnFake {};

TEST_F(AttentionReason, OfOpenSizesAndLists) {
  for (bool hasCounter : {false, true}) {
    LaunchInfoBuilder info = cudaAttention();
    if (hasCounter)
      addTileCounter(info);
    load(info);
    const std::string name = hasCounter ? "counter" : "fixed order";
    ArgumentList list(sparsec_kernel_info(kernel)->argument_count);
    ASSERT_OK(createPlan(list));
    EXPECT_EQ(planInfo().reason, name + ": open sizes batches, heads, queries, keys");
    list[q] = sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_BF16, 2, 8, 100, 64);
    list[k] = sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_BF16, 2, 2, 300, 64);
    ASSERT_OK(createPlan(list));
    EXPECT_EQ(planInfo().reason, name + ": the lists are open");
  }
}

#ifdef SPARSEC_HAS_TEST_HOST_OBJECT
TEST(HostReason, NamesTheThreads) {
  sparsec::Device device = sparsec::Device::host(1);
  const ByteVector object = hostObject(hostProduct());
  sparsec::Module module(device, object.data(), object.size());
  EXPECT_STREQ(sparsec::Plan(module.kernel(), {{}, {}, {}}).info().reason,
               "fixed order: threads take tiles as they become free");
}
#endif

} // namespace
