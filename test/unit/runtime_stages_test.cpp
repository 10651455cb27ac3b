// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variants of several machine kernels: how each of them is launched, and which workspaces it gets.

#include "operations/kernel_shape.h"
#include "runtime_attention_fixture.h"

#include <cstring>

using namespace sparsec::runtime;
using namespace sparsec::test;
using ::testing::ElementsAre;

namespace {

/// cudaAttention() with two stages, of which the second has a warp for every query. Both get the workspaces.
LaunchInfoBuilder twoStages(uint32_t workspaces = 0) {
  LaunchInfoBuilder info = cudaAttention();
  info.parameters.clear();
  for (uint32_t i = 0; i < workspaces; ++i)
    info.parameters.push_back({SPARSEC_SOURCE_WORKSPACE, i, 0, 0});
  info.stages[0].parameter_count = workspaces;
  sparsec_stage_info_t second = info.stages[0];
  std::strcpy(second.symbol, "attention_combine");
  second.threads = 32;
  second.dynamic_shared_memory = 48;
  info.stages.push_back(second);
  info.variants[0].stage_count = 2;
  return info;
}

class Stages : public AttentionOnFake {
protected:
  void loadStages(const LaunchInfoBuilder &info) {
    load(info);
    setArguments(sparsec_blocks_pattern(1, 1, 100, 300, 64, 128));
    fake.calls.clear();
    fake.launches.clear();
  }
};

TEST_F(Stages, RunOneAfterTheOther) {
  loadStages(twoStages());
  int stream;
  ASSERT_OK(launch(&stream));
  ASSERT_EQ(fake.launches.size(), 2u);
  EXPECT_EQ(fake.launches[0].function, "attention_any");
  EXPECT_EQ(fake.launches[1].function, "attention_combine");
  EXPECT_EQ(fake.launches[1].stream, &stream);
  EXPECT_FALSE(fake.called("cuLaunchKernelEx"));
}

TEST_F(Stages, FirstOnesThatWaitByThemselvesMayStartEarly) {
  LaunchInfoBuilder info = twoStages();
  info.stages[0].flags = SPARSEC_STAGE_DEPENDENT_LAUNCH;
  loadStages(info);
  ASSERT_OK(launch());
  ASSERT_EQ(fake.launches.size(), 2u);
  EXPECT_TRUE(fake.launches[0].mayStartEarly);
  EXPECT_FALSE(fake.launches[1].mayStartEarly);
}

TEST_F(Stages, ThoseThatWaitByThemselvesMayStartEarly) {
  LaunchInfoBuilder info = twoStages();
  info.stages[1].flags = SPARSEC_STAGE_DEPENDENT_LAUNCH;
  loadStages(info);
  const ArgumentArray array(arguments);
  const auto options = sized<sparsec_launch_options_t>();
  sparsec_launcher_t launcher = nullptr;
  ASSERT_OK(sparsec_launcher_create(kernel, plan, array.data(), array.size(), &options, &launcher));
  int stream;
  for (bool hasLauncher : {false, true}) {
    fake.launches.clear();
    ASSERT_OK(hasLauncher ? Status(sparsec_launcher_run(launcher, &stream)) : launch(&stream));
    ASSERT_EQ(fake.launches.size(), 2u);
    EXPECT_FALSE(fake.launches[0].mayStartEarly);
    const FakeLaunch &second = fake.launches[1];
    EXPECT_TRUE(second.mayStartEarly);
    EXPECT_EQ(second.function, "attention_combine");
    EXPECT_EQ(second.gridX, 32u);
    EXPECT_EQ(second.gridY * second.gridZ, 1u);
    EXPECT_EQ(second.threads, 32u);
    EXPECT_EQ(second.sharedMemory, 48u);
    EXPECT_EQ(second.stream, &stream);
  }
  sparsec_launcher_destroy(launcher);
  fake.failures = {{"cuLaunchKernelEx", CUresult(700)}};
  EXPECT_STATUS(launch(), SPARSEC_STATUS_DRIVER_ERROR, "launching a kernel failed: CUDA_ERROR_FAKE");
}

TEST_F(Stages, OldDriversWaitForTheStageBefore) {
  FakeCuda::makeOld();
  LaunchInfoBuilder info = twoStages();
  info.stages[1].flags = SPARSEC_STAGE_DEPENDENT_LAUNCH;
  loadStages(info);
  ASSERT_OK(launch());
  ASSERT_EQ(fake.launches.size(), 2u);
  EXPECT_EQ(fake.launches[1].function, "attention_combine");
  EXPECT_FALSE(fake.launches[1].mayStartEarly);
}

//===----------------------------------------------------------------------===//
// Workspaces
//===----------------------------------------------------------------------===//

/// Workspaces: 0 has 12 bytes for every query of a batch, 1 is a tile counter, which comes first, 2 has 100 bytes.
class Workspaces : public Stages {
protected:
  void SetUp() override {
    LaunchInfoBuilder info = twoStages(/*workspaces=*/3);
    const auto extent = uint32_t(info.extents.size());
    info.extents.push_back({q, SPARSEC_FIELD_SIZE, 0, 1, 1, 0});
    info.extents.push_back({q, SPARSEC_FIELD_SIZE, 2, 1, 1, 0});
    info.workspaces = {{extent, 2, 12, SPARSEC_LIFETIME_LAUNCH, 0, SPARSEC_WORKSPACE_SCRATCH},
                       {0, 0, 4, SPARSEC_LIFETIME_LAUNCHES, 1, SPARSEC_WORKSPACE_TILE_COUNTER},
                       {0, 0, 100, SPARSEC_LIFETIME_LAUNCH, 0, SPARSEC_WORKSPACE_SCRATCH}};
    info.variants[0].workspace_count = 3;
    fake.parameterCount = 3;
    loadStages(info);
    options.workspace = at(base);
  }

  static sparsec_dense_t queries(int64_t batches, int64_t length) {
    return sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_BF16, batches, 8, length, 64);
  }
  static sparsec_dense_t keys(int64_t batches) {
    return sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_BF16, batches, 2, 300, 64);
  }
  /// Arguments of a plan or of workspaceBytes().
  static ArgumentList sizes(int64_t batches, int64_t length) {
    return {queries(batches, length), keys(batches), {}, {}, {}, {}, {}, {}, {}};
  }

  static constexpr uintptr_t base = 0x700000;
  static constexpr size_t kept = keptWorkspaceBytes, perQuery = 2 * 100 * 12, rounded = 112;
  sparsec_launch_options_t options = sized<sparsec_launch_options_t>();
};

TEST_F(Workspaces, AreAsLargeAsTheSizesSay) {
  ASSERT_OK(createPlan(sizes(2, 100)));
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_COUNTER) << "the lists are open";
  const size_t bytes = kept + perQuery + rounded;
  EXPECT_EQ(planInfo().workspace_bytes, int64_t(bytes));
  EXPECT_EQ(workspaceBytes(), bytes);
  EXPECT_EQ(workspaceBytes(sizes(2, 100)), bytes);
  options.workspace_bytes = bytes - 1;
  EXPECT_STATUS(launchWith(options), SPARSEC_STATUS_INVALID_ARGUMENT,
                "options: expects workspace_bytes of at least 10704, but got 10703");
  EXPECT_TRUE(fake.launches.empty());
  options.workspace_bytes = bytes;
  ASSERT_OK(launchWith(options));
  for (const FakeLaunch &stage : fake.launches)
    EXPECT_THAT(stage.words, ElementsAre(base + kept, base, base + kept + perQuery));
}

/// The order is that of the lists although there are workspaces.
TEST_F(Workspaces, OnlyTheCounterGoesWithLists) {
  const std::vector<int32_t> starts = {0, 1, 1}, indices = {2};
  sparsec_blocks_t lists = sparsec_blocks_pattern(1, 1, 100, 300, 64, 128);
  lists.capacity = 1;
  lists.full = {starts.data(), indices.data()};
  arguments[pattern] = lists;
  ASSERT_OK(createPlan(arguments));
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(workspaceBytes(), kept + perQuery + rounded) << "the place of the counter stays";
  options.workspace_bytes = workspaceBytes();
  ASSERT_OK(launchWith(options));
  EXPECT_THAT(fake.launches.back().words, ElementsAre(base + kept, 0u, base + kept + perQuery));
}

TEST_F(Workspaces, ArgumentsTellWhatThePlanLeavesOpen) {
  ASSERT_OK(createPlan(sizes(2, SPARSEC_DYNAMIC)));
  EXPECT_EQ(planInfo().workspace_bytes, SPARSEC_DYNAMIC);
  size_t bytes = 7;
  EXPECT_STATUS(sparsec_plan_workspace_bytes(plan, nullptr, 0, &bytes), SPARSEC_STATUS_INVALID_ARGUMENT,
                "the workspace's size is open: plan has batches 2, heads 8, queries open, keys 300");
  EXPECT_EQ(bytes, 0u);
  ArgumentList some(9);
  some[q] = queries(SPARSEC_DYNAMIC, SPARSEC_DYNAMIC);
  EXPECT_STATUS(sparsec_plan_workspace_bytes(plan, some.data(), some.size(), &bytes), SPARSEC_STATUS_INVALID_ARGUMENT,
                "the workspace's size is open: plan and arguments have batches 2, heads 8, queries open, keys 300");
  some[q] = queries(SPARSEC_DYNAMIC, 100);
  EXPECT_EQ(workspaceBytes(some), kept + perQuery + rounded) << "the plan knows the batches";
  EXPECT_EQ(workspaceBytes(sizes(2, 50)), kept + perQuery / 2 + rounded);
  const ArgumentList other = sizes(3, 100);
  EXPECT_STATUS(sparsec_plan_workspace_bytes(plan, other.data(), other.size(), &bytes), SPARSEC_STATUS_INVALID_ARGUMENT,
                "plan is for batches 2, heads 8, queries open, keys 300, but the arguments have batches 3,");
  EXPECT_STATUS(sparsec_plan_workspace_bytes(plan, other.data(), 8, &bytes), SPARSEC_STATUS_INVALID_ARGUMENT,
                "but got 8");
}

TEST_F(Workspaces, LaunchesCheckTheSizeOfTheirOwn) {
  ASSERT_OK(createPlan(ArgumentList(9)));
  options.workspace_bytes = kept + perQuery + rounded - 1;
  EXPECT_STATUS(launchWith(options), SPARSEC_STATUS_INVALID_ARGUMENT,
                "options: expects workspace_bytes of at least 10704, but got 10703");
  options.workspace_bytes += 1;
  ASSERT_OK(launchWith(options));
  EXPECT_THAT(fake.launches.back().words, ElementsAre(base + kept, base, base + kept + perQuery));
  for (int tensor : {q, o})
    arguments[tensor].dense.sizes[2] = 30; // contiguous no longer, but within the same memory
  arguments[lse].dense.sizes[2] = 30;
  arguments[pattern] = sparsec_blocks_pattern(1, 1, 30, 300, 64, 128);
  ASSERT_OK(launchWith(options));
  EXPECT_THAT(fake.launches.back().words, ElementsAre(base + kept, base, base + kept + 720));
}

TEST_F(Workspaces, LaunchersKeepTheirOffsets) {
  ASSERT_OK(createPlan(ArgumentList(9)));
  options.workspace_bytes = workspaceBytes(sizes(2, 100));
  const ArgumentArray array(arguments);
  sparsec_launcher_t launcher = nullptr;
  ASSERT_OK(sparsec_launcher_create(kernel, plan, array.data(), array.size(), &options, &launcher));
  for (bool isRebound : {false, true}) {
    if (isRebound) {
      ASSERT_OK(sparsec_launcher_rebind(launcher, array.data(), array.size()));
    }
    ASSERT_OK(sparsec_launcher_run(launcher, nullptr));
    EXPECT_THAT(fake.launches.back().words, ElementsAre(base + kept, base, base + kept + perQuery));
  }
  sparsec_launcher_destroy(launcher);
}

TEST_F(Workspaces, AreNullWithoutPlanOrMemory) {
  options.workspace_bytes = 5000;
  ASSERT_OK(launchWith(options));
  EXPECT_THAT(fake.launches.back().words, ElementsAre(0u, 0u, 0u));
  ASSERT_OK(createPlan(sizes(2, 100)));
  ASSERT_OK(launch());
  EXPECT_THAT(fake.launches.back().words, ElementsAre(0u, 0u, 0u));
}

/// A plan does not bind launches to its number of key heads.
TEST_F(Workspaces, SizesThatLaunchesMayChange) {
  LaunchInfoBuilder info = twoStages(/*workspaces=*/1);
  const auto extent = uint32_t(info.extents.size());
  info.extents.push_back({k, SPARSEC_FIELD_SIZE, 1, 1, 1, 0});
  info.workspaces = {{extent, 1, 16, SPARSEC_LIFETIME_LAUNCH, 0, SPARSEC_WORKSPACE_SCRATCH}};
  info.variants[0].workspace_count = 1;
  fake.parameterCount = 1;
  loadStages(info);
  ASSERT_OK(createPlan(sizes(2, 100)));
  options.workspace_bytes = workspaceBytes();
  EXPECT_EQ(options.workspace_bytes, kept + 32u);
  ASSERT_OK(launchWith(options));
  for (int tensor : {k, v})
    arguments[tensor] = sparsec_dense_bhsd(at(0x200000), SPARSEC_DTYPE_BF16, 2, 4, 300, 64);
  EXPECT_STATUS(launchWith(options), SPARSEC_STATUS_INVALID_ARGUMENT,
                "options: expects workspace_bytes of at least 8256, but got 8224");
}

/// More than memory can hold is refused, and does not wrap around.
TEST_F(Workspaces, HugeSizes) {
  LaunchInfoBuilder info = twoStages(/*workspaces=*/1);
  const auto extent = uint32_t(info.extents.size());
  for (int i = 0; i < 3; ++i)
    info.extents.push_back({q, SPARSEC_FIELD_SIZE, 2, 1, 1, 0});
  info.workspaces = {{extent, 3, UINT32_MAX, SPARSEC_LIFETIME_LAUNCH, 0, SPARSEC_WORKSPACE_SCRATCH}};
  info.variants[0].workspace_count = 1;
  loadStages(info);
  ASSERT_OK(createPlan(sizes(1, 10000000)));
  EXPECT_EQ(planInfo().workspace_bytes, INT64_MAX);
  EXPECT_EQ(workspaceBytes(), size_t(INT64_MAX));
}

} // namespace
