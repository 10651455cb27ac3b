// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Saved plans: what comes back, and who is refused. runtime_saved_sections_test.cpp damages their sections.

#include "plan/saved_plan.h"
#include "runtime_attention_fixture.h"
#include "runtime_saved_plan.h"
#include "runtime_static_plan_fixture.h"
#include "runtime_stream_image.h"
#include "runtime_window_image.h"
#include "sparsec/runtime.hpp"

#include <cmath>
#include <cstring>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

class SavedPlans : public StaticPlanOnFake {
protected:
  void SetUp() override { loadWithPattern(linearWithWindows(), 12); }

  void refuses(const ByteVector &saved, const std::string &message, const sparsec_plan_options_t *options = nullptr) {
    const size_t allocations = fake.allocations.size() - (plan && plan->memory.data() ? 1 : 0);
    EXPECT_STATUS(loadPlan(saved, options), SPARSEC_STATUS_INVALID_PLAN, message);
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(fake.allocations.size(), allocations);
  }

  /// The plan that is there comes back as it is.
  void comesBack() {
    const ByteVector saved = savePlan();
    const PlanContents before = contentsOf(*plan);
    std::vector<sparsec_plan_info_t> infos;
    infos.reserve(plan->variants.size());
    for (size_t i = 0; i < plan->variants.size(); ++i)
      infos.push_back(planInfo(i));
    ASSERT_OK(loadPlan(saved));
    EXPECT_EQ(contentsOf(*plan), before);
    for (size_t i = 0; i < infos.size(); ++i) {
      sparsec_plan_info_t info = planInfo(i);
      info.milliseconds = infos[i].milliseconds;
      EXPECT_EQ(std::memcmp(&info, &infos[i], sizeof(info)), 0) << "variant " << i;
    }
    EXPECT_EQ(savePlan(), saved) << "the same bytes";
  }
};

TEST_F(SavedPlans, OfWindowsComeBack) {
  for (uint32_t flags :
       {uint32_t(SPARSEC_PLAN_STATIC_PATTERN), uint32_t(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST), 0u})
    for (bool isWidthOpen : {false, true}) {
      ASSERT_OK(createPlanWith(flags, isWidthOpen));
      comesBack();
    }
}

TEST_F(SavedPlans, OfShortWindowsComeBack) {
  setArguments(128 * 64, 4 * 64, 16 * 512);
  setPattern(std::vector<std::vector<int32_t>>(128, {0, 1, 2, 3}));
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  ASSERT_GT(planInfo().windows, 43) << "more than full windows";
  comesBack();
}

TEST_F(SavedPlans, OfStreamsComeBack) {
  for (uint32_t productRows : {64u, 128u}) {
    LaunchInfoBuilder info = linearWithStreams();
    info.stages[streamStage].product_rows = productRows;
    loadWithPattern(info, 11);
    for (bool isWidthOpen : {false, true}) {
      ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN, isWidthOpen));
      comesBack();
    }
  }
}

TEST_F(SavedPlans, WithoutSectionsComeBack) {
  ASSERT_OK(createPlan(ArgumentList(arguments.size())));
  comesBack();
  setPattern({{}, {}, {}, {}, {}});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  comesBack();
  setArguments(0, 256, 1024);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  comesBack();
}

/// Patterns of many shapes: the checks of loading accept all that planning makes.
TEST_F(SavedPlans, OfRandomPatternsComeBack) {
  uint32_t state = 1;
  auto random = [&](uint32_t below) { return (state = state * 1664525 + 1013904223) / 65536 % below; };
  for (int round = 0; round < 40; ++round) {
    loadWithPattern(round % 2 ? linearWithStreams() : linearWithWindows(), round % 2 ? 11 : 12);
    const int64_t blockRows = 1 + random(40), blockColumns = 1 + random(60);
    const uint32_t density = 1 + random(60);
    setArguments(blockRows * 64 - random(64), blockColumns * 64, 8 * (1 + random(500)));
    std::vector<std::vector<int32_t>> rows(blockRows);
    for (auto &row : rows)
      for (int32_t column = int32_t(blockColumns) - 1; column >= 0; --column)
        if (random(100) < density)
          row.push_back(column);
    setPattern(rows);
    ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN, random(2) != 0));
    comesBack();
  }
}

TEST_F(SavedPlans, LaunchAsBefore) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(launched(), "linear_windows");
  const FakeLaunch before = fake.launches.back();
  ASSERT_OK(loadPlan(savePlan()));
  EXPECT_EQ(launched(), "linear_windows");
  const FakeLaunch after = fake.launches.back();
  EXPECT_EQ(after.gridX, before.gridX);
  for (size_t i = 0; i < windowPlanSections; ++i)
    EXPECT_EQ(after.words[i], reinterpret_cast<uintptr_t>(plan->variants[0].sections[i]));
  for (size_t i = windowPlanSections; i < before.words.size(); ++i)
    EXPECT_EQ(uint32_t(after.words[i]), uint32_t(before.words[i]));
  arguments[w].blocks.flags = SPARSEC_BLOCKS_CHECK_LISTS;
  EXPECT_OK(launch());
  std::swap(colIdx[0], colIdx[1]);
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, "argument 0 'w': plan is for other index arrays");
}

TEST_F(SavedPlans, ArgumentsAreCompared) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  const ByteVector saved = savePlan();
  auto options = sized<sparsec_plan_options_t>();
  auto load = [&] {
    options.arguments = arguments.data();
    options.argument_count = arguments.size();
    return loadPlan(saved, &options);
  };
  EXPECT_OK(load());
  std::swap(colIdx[0], colIdx[1]);
  EXPECT_STATUS(load(), SPARSEC_STATUS_INVALID_PLAN, "it is for other index arrays than those of argument 0 'w'");
  colIdx[0] = 9;
  EXPECT_STATUS(load(), SPARSEC_STATUS_INVALID_PATTERN, "argument 0 'w': expects full.indices[0]");
  setPattern({{0, 1}, {3}, {0, 1}, {3, 2}, {1}});
  EXPECT_STATUS(load(), SPARSEC_STATUS_INVALID_PLAN,
                "plan is for M 320, N 1024, K 256, blocks 9, but the arguments have M 320, N 1024, K 256, blocks 8");
  arguments[w] = {};
  EXPECT_OK(load()) << "sizes alone";
  arguments.pop_back();
  EXPECT_STATUS(load(), SPARSEC_STATUS_INVALID_ARGUMENT, "kernel 'linear' expects 5 arguments");
}

TEST_F(SavedPlans, OptionsOfTheLoad) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  const ByteVector saved = savePlan();
  int streamItself = 0;
  auto options = sized<sparsec_plan_options_t>();
  options.stream = &streamItself;
  fake.streamCalls.clear();
  ASSERT_OK(loadPlan(saved, &options));
  ASSERT_FALSE(fake.streamCalls.empty());
  for (const auto &[call, stream] : fake.streamCalls)
    EXPECT_EQ(stream, options.stream) << call;
  EXPECT_EQ(fake.streamCalls.back().first, "cuStreamSynchronize");
  options.flags = SPARSEC_PLAN_STATIC_PATTERN;
  EXPECT_STATUS(loadPlan(saved, &options), SPARSEC_STATUS_INVALID_ARGUMENT,
                "options: expects flags of 0, because a saved plan has its own, but got 1");
  options.flags = 0;
  options.size = 47;
  EXPECT_STATUS(loadPlan(saved, &options), SPARSEC_STATUS_INVALID_ARGUMENT,
                "options: expects a size of at least 48 bytes, but got 47");
  options.size = sizeof(options);
  auto allocator = sized<sparsec_allocator_t>();
  options.allocator = &allocator;
  EXPECT_STATUS(loadPlan(saved, &options), SPARSEC_STATUS_INVALID_ARGUMENT, "allocator: allocate is NULL");
}

TEST_F(SavedPlans, OfOthersAreRefused) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  const ByteVector saved = savePlan();
  sparsec_plan_destroy(std::exchange(plan, nullptr));
  LaunchInfoBuilder other = linearWithWindows();
  std::strcpy(other.kernels[0].name, "other");
  load(other);
  refuses(saved, "it is for kernel 'linear', not for 'other'");
  other = linearWithWindows();
  std::strcpy(other.header.target, "sm_91a");
  load(other);
  refuses(saved, "it is for target sm_90a, but the kernel is for sm_91a");
  other = linearWithWindows();
  other.stages[0].registers += 1;
  load(other);
  refuses(saved, "it is for another compile of kernel 'linear': make the plan again");
  auto reopen = [&] {
    sparsec_module_destroy(std::exchange(module, nullptr));
    sparsec_device_destroy(std::exchange(device, nullptr));
    load(linearWithWindows());
  };
  fake.multiprocessors = 114;
  reopen();
  refuses(saved, "it is for a GPU with 132 SMs, but this one has 114");
  fake.multiprocessors = 132;
  fake.activeClusters = 60;
  reopen();
  refuses(saved, "variant 0 had 66 workers at once where the plan was made, but has 60 here");
}

TEST_F(SavedPlans, TheOutsideIsChecked) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  const ByteVector good = savePlan();
  auto changed = [&](size_t at, uint8_t value, bool isMended = true) {
    ByteVector bytes = good;
    bytes[at] = value;
    return isMended ? mended(bytes) : bytes;
  };
  refuses(changed(0, 'X'), "it does not start with its magic number");
  refuses(changed(offsetof(SavedPlanHeader, major), 2), "it has version 2.5, but this runtime reads version 1.5");
  refuses(changed(offsetof(SavedPlanHeader, minor), 6), "it has version 1.6, but this runtime reads version 1.5");
  refuses(changed(good.size() - 1, 7, false), "it is corrupt: its checksum is");
  refuses(changed(offsetof(SavedPlanHeader, sectionCount), 200), "do not lie within its");
  refuses(changed(offsetof(SavedPlanHeader, variantCount) + 3, 1), "sections do not lie within its");
  refuses(changed(offsetof(SavedPlanHeader, kernel), 7), "the name of its kernel or target has no end, or is no text");
  refuses(changed(recordOfVariant(good, 0) + offsetof(SavedVariant, reason), 200), "its schedule or reason has no end");
  refuses(changed(recordOfVariant(good, 0) + offsetof(SavedVariant, reserved), 1), "or a reserved field is not 0");
  refuses(changed(recordOfVariant(good, 0) + offsetof(SavedVariant, windows), 9),
          "what it says of variant 0 is not what its sections say");
  refuses(changed(offsetof(SavedPlanHeader, sizes) + 2 * 8 + 3, 0x80), "expects sizes of 0 to");
  refuses(changed(offsetof(SavedPlanHeader, sizes), 2), "it is for a size of 2, but the kernel fixes it to 1");
  refuses(changed(offsetof(SavedPlanHeader, reserved), 1), "is no text, or a reserved field is not 0");
  refuses(changed(offsetof(SavedPlanHeader, listCount) + 3, 1), "16777217 lists, ");
  refuses(changed(sizeof(SavedPlanHeader) + offsetof(SavedList, argument), 1),
          "it knows lists of argument 1, which has none");
  refuses(changed(sizeof(SavedPlanHeader) + offsetof(SavedList, blocks) + 7, 0x80), "blocks of argument 0");
  ByteVector longer = good;
  longer.push_back(0);
  refuses(longer, "it is corrupt: it says that it has");
  const uint8_t byte = 0;
  EXPECT_STATUS(sparsec_plan_load(kernel, &byte, 0, nullptr, &plan), SPARSEC_STATUS_INVALID_PLAN, "magic number");
}

TEST_F(SavedPlans, BadCallsAreRefused) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  ByteVector saved = savePlan();
  size_t bytes = 7;
  EXPECT_STATUS(sparsec_plan_save(nullptr, nullptr, 0, &bytes), SPARSEC_STATUS_INVALID_ARGUMENT, "plan is NULL");
  EXPECT_EQ(bytes, 0u);
  EXPECT_STATUS(sparsec_plan_save(plan, nullptr, 0, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_bytes is NULL");
  ByteVector shorter(saved.size() - 1, 0x55);
  EXPECT_STATUS(sparsec_plan_save(plan, shorter.data(), shorter.size(), &bytes), SPARSEC_STATUS_INVALID_ARGUMENT,
                "buffer: the plan needs " + std::to_string(saved.size()) + " bytes, but buffer_bytes is " +
                    std::to_string(shorter.size()));
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(shorter, ByteVector(shorter.size(), 0x55)) << "nothing is written";
  fake.failures = {{"cuMemcpyDtoH", CUDA_ERROR_NO_DEVICE}};
  ByteVector room(saved.size(), 0x55);
  EXPECT_STATUS(sparsec_plan_save(plan, room.data(), room.size(), &bytes), SPARSEC_STATUS_DRIVER_ERROR, "made to fail");
  EXPECT_EQ(room, ByteVector(room.size(), 0x55)) << "nothing is written";
  sparsec_plan_t loaded = nullptr;
  EXPECT_STATUS(sparsec_plan_load(nullptr, saved.data(), saved.size(), nullptr, &loaded),
                SPARSEC_STATUS_INVALID_ARGUMENT, "kernel is NULL");
  EXPECT_STATUS(sparsec_plan_load(kernel, nullptr, saved.size(), nullptr, &loaded), SPARSEC_STATUS_INVALID_ARGUMENT,
                "data is NULL");
  EXPECT_STATUS(sparsec_plan_load(kernel, saved.data(), saved.size(), nullptr, nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "out_plan is NULL");
}

TEST_F(SavedPlans, OfTheCppWrapper) {
  const sparsec::Kernel wrapped(kernel);
  const sparsec_blocks_t matrix = arguments[w].blocks;
  const sparsec::Plan made(wrapped, {matrix, {}, {}, {}, {}}, nullptr, nullptr, SPARSEC_PLAN_STATIC_PATTERN);
  const std::vector<unsigned char> saved = made.save();
  EXPECT_EQ(sparsec::Plan::load(wrapped, saved.data(), saved.size()).save(), saved);
  EXPECT_EQ(sparsec::Plan::load(wrapped, saved.data(), saved.size(), {matrix, {}, {}, {}, {}}).info().windows, 2);
  EXPECT_THROW(sparsec::Plan::load(wrapped, saved.data(), saved.size() - 1), sparsec::Error);
}

class SavedAttentionPlans : public AttentionOnFake {};

TEST_F(SavedAttentionPlans, ComeBack) {
  LaunchInfoBuilder info = cudaAttention();
  addTileCounter(info);
  load(info);
  ArgumentList list(sparsec_kernel_info(kernel)->argument_count);
  ASSERT_OK(createPlan(list));
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_COUNTER);
  ASSERT_OK(loadPlan(savePlan()));
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_COUNTER);
  EXPECT_NE(workspaceBytes(), 0u);
  list[q] = sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_BF16, 2, 8, 100, 64);
  list[k] = sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_BF16, 2, 2, 300, 64);
  const std::vector<int32_t> starts = {0, 2, 3}, indices = {0, 2, 1};
  sparsec_blocks_t lists = sparsec_blocks_pattern(1, 1, 100, 300, 64, 128);
  lists.capacity = 3;
  lists.full = {starts.data(), indices.data()};
  list[pattern] = lists;
  auto options = sized<sparsec_plan_options_t>();
  options.flags = SPARSEC_PLAN_STATIC_PATTERN;
  ASSERT_OK(createPlan(list, options));
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_LISTS);
  const PlanContents before = contentsOf(*plan);
  ASSERT_OK(loadPlan(savePlan()));
  EXPECT_EQ(contentsOf(*plan), before);
  ASSERT_EQ(plan->lists.size(), 1u);
  EXPECT_EQ(plan->lists[0].argument, uint32_t(pattern));
}

#ifdef SPARSEC_HAS_TEST_HOST_OBJECT
/// The number of threads is not part of a plan.
TEST(SavedHostPlans, ServeAnyNumberOfThreads) {
  const ByteVector object = hostObject(hostProduct());
  std::vector<int32_t> rowPtr = {0, 2}, colIdx = {1, 0};
  std::vector<float> values(2 * 256, 0.5f), dense(32 * 8, 0.25f), result(16 * 8);
  const sparsec_blocks_t matrix =
      sparsec_blocks_bsr(16, 32, 16, 16, 2, rowPtr.data(), colIdx.data(), SPARSEC_DTYPE_F32, values.data());
  const sparsec_dense_t x = sparsec_dense_2d(dense.data(), SPARSEC_DTYPE_F32, 32, 8),
                        y = sparsec_dense_2d(result.data(), SPARSEC_DTYPE_F32, 16, 8);
  std::vector<unsigned char> saved;
  for (int threads : {1, 2}) {
    sparsec::Device device = sparsec::Device::host(threads);
    sparsec::Module module(device, object.data(), object.size());
    if (saved.empty())
      saved = sparsec::Plan(module.kernel(), {matrix, x, y}, nullptr, nullptr, SPARSEC_PLAN_STATIC_PATTERN).save();
    const sparsec::Plan plan = sparsec::Plan::load(module.kernel(), saved.data(), saved.size());
    EXPECT_NO_THROW(module.kernel().launch(&plan, {matrix, x, y}));
    EXPECT_NEAR(result.front(), std::tanh(32 * 0.5 * 0.25), 1e-6);
    std::swap(colIdx[0], colIdx[1]);
    EXPECT_THROW(module.kernel().launch(&plan, {matrix, x, y}), sparsec::Error);
    std::swap(colIdx[0], colIdx[1]);
  }
}
#endif

} // namespace
