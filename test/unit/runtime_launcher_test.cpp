// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launchers on the fake driver: what their runs pass on, and what a new binding changes and refuses.

#include "device/device.h"
#include "runtime_attention_fixture.h"
#include "runtime_heap_counter.h"
#include "runtime_linear_fixture.h"

using namespace sparsec::test;

namespace {

constexpr uint64_t alphaBits = 0x3f000000; // 0.5f

class Launcher : public LinearOnFake {
protected:
  void SetUp() override {
    LinearOnFake::SetUp();
    setArguments(128, 192, 1000);
    setPattern({{0, 2}, {1}});
    fake.parameterCount = 13;
    forget();
  }
  void TearDown() override {
    sparsec_launcher_destroy(launcher);
    LinearOnFake::TearDown();
  }

  void forget() {
    fake.calls.clear();
    fake.launches.clear();
  }

  sparsec::runtime::Status create() {
    const ArgumentArray array(arguments);
    return sparsec::runtime::Status(
        sparsec_launcher_create(kernel, plan, array.data(), array.size(), &options, &launcher));
  }
  sparsec::runtime::Status rebind(const ArgumentList &other) {
    const ArgumentArray array(other);
    return sparsec::runtime::Status(sparsec_launcher_rebind(launcher, array.data(), array.size()));
  }
  sparsec::runtime::Status run(void *stream = nullptr) {
    return sparsec::runtime::Status(sparsec_launcher_run(launcher, stream));
  }

  /// The first words of the parameters, with the address that a tensor map has in place of its number.
  std::vector<uint64_t> words() {
    std::vector<uint64_t> result = fake.launches.back().words;
    for (size_t i = 0; i < 3; ++i)
      result[i] = reinterpret_cast<uintptr_t>(fake.tensorMaps[result[i]].address);
    return result;
  }

  sparsec_launch_options_t options = sized<sparsec_launch_options_t>();
  sparsec_launcher_t launcher = nullptr;
};

TEST_F(Launcher, RunsDoWhatALaunchDoes) {
  ASSERT_OK(createPlan(arguments));
  int stream;
  ASSERT_OK(launch(&stream));
  const std::vector<uint64_t> expected = words();
  const FakeLaunch launched = fake.launches.back();
  ASSERT_OK(create());
  forget();
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(run(&stream));
    EXPECT_EQ(words(), expected);
    EXPECT_EQ(fake.launches.back().gridX, launched.gridX);
    EXPECT_EQ(fake.launches.back().function, "linear_aligned");
    EXPECT_EQ(fake.launches.back().sharedMemory, launched.sharedMemory);
    EXPECT_EQ(fake.launches.back().stream, &stream);
  }
  EXPECT_EQ(fake.launches.size(), 2u);
}

TEST_F(Launcher, RunsOnlyLaunchAndAllocateNothing) {
  ASSERT_OK(create());
  forget();
  ASSERT_OK(run());
  EXPECT_THAT(fake.calls, ::testing::ElementsAre("cuCtxPushCurrent", "cuLaunchKernel", "cuCtxPopCurrent"));
  fake.recording = false;
  size_t before = heapAllocations();
  EXPECT_EQ(sparsec_launcher_run(launcher, nullptr), nullptr);
  EXPECT_EQ(heapAllocations(), before);
}

TEST_F(Launcher, RunsInTheContextThatIsCurrentAlready) {
  ASSERT_OK(create());
  const sparsec::runtime::Device &gpu = *device->device;
  gpu.cuda->cuCtxPushCurrent(gpu.context);
  forget();
  ASSERT_OK(run());
  EXPECT_THAT(fake.calls, ::testing::ElementsAre("cuLaunchKernel"));
  EXPECT_THAT(fake.contextStack(), ::testing::ElementsAre(gpu.context));
  gpu.cuda->cuCtxPushCurrent(nullptr); // that of another device
  forget();
  ASSERT_OK(run());
  EXPECT_THAT(fake.calls, ::testing::ElementsAre("cuCtxPushCurrent", "cuLaunchKernel", "cuCtxPopCurrent"));
  EXPECT_THAT(fake.contextStack(), ::testing::ElementsAre(gpu.context, nullptr));
  for (sparsec::runtime::CUcontext popped : {gpu.context, gpu.context})
    gpu.cuda->cuCtxPopCurrent(&popped);
}

TEST_F(Launcher, KeepsCopiesOfTheViews) {
  ASSERT_OK(create());
  ASSERT_OK(run());
  const std::vector<uint64_t> expected = words();
  arguments.assign(arguments.size(), 0.0);
  ASSERT_OK(run());
  EXPECT_EQ(words(), expected);
}

TEST_F(Launcher, BindsOtherMemory) {
  ASSERT_OK(create());
  ASSERT_OK(run());
  ArgumentList other = arguments;
  std::vector<int32_t> otherRowPtr = rowPtr, otherColIdx = colIdx;
  other[w].blocks.values = at(0x910000);
  other[w].blocks.full = {otherRowPtr.data(), otherColIdx.data()};
  other[x].dense.data = at(0xa00000);
  other[bias].dense.data = at(0xb00000);
  other[alpha] = -0.5;
  other[y].dense.data = at(0xc00000);
  forget();
  ASSERT_OK(rebind(other));
  EXPECT_FALSE(fake.called("cuTensorMapEncodeTiled"));
  ASSERT_OK(run());
  const std::vector<uint64_t> bound = words();
  arguments = other;
  ASSERT_OK(launch());
  EXPECT_EQ(bound, words()) << "as a launch with the other arguments";
  EXPECT_EQ(bound[6], alphaBits | 0x80000000);
  EXPECT_EQ(bound[2], 0xc00000u);
}

TEST_F(Launcher, BindsOtherAddressesAndAllocatesNothing) {
  ASSERT_OK(create());
  for (const uintptr_t address : {0xa00000, 0xb00000, 0xa00000}) {
    arguments[bias].dense.data = at(address);
    arguments[alpha] = double(address);
    const ArgumentArray array(arguments);
    fake.recording = false;
    const size_t before = heapAllocations();
    EXPECT_EQ(sparsec_launcher_rebind(launcher, array.data(), array.size()), nullptr);
    EXPECT_EQ(heapAllocations(), before);
    fake.recording = true;
    ASSERT_OK(run());
    const std::vector<uint64_t> bound = words();
    ASSERT_OK(launch());
    EXPECT_EQ(bound, words()) << "as a launch with the other arguments";
  }
}

TEST_F(Launcher, RefusesOtherFormsAndStaysAsItWas) {
  ASSERT_OK(create());
  ASSERT_OK(run());
  const std::vector<uint64_t> expected = words();
  auto refusesBinding = [&](const std::string &message, const std::function<void(ArgumentList &)> &change) {
    ArgumentList broken = arguments;
    broken[bias].dense.data = at(0x930000);
    change(broken);
    EXPECT_STATUS(rebind(broken), SPARSEC_STATUS_INVALID_ARGUMENT, message);
    EXPECT_OK(run());
    EXPECT_EQ(words(), expected);
  };
  refusesBinding("expects 5 arguments", [](auto &a) { a.pop_back(); });
  refusesBinding("argument 1 'x': data is NULL", [](auto &a) { a[x].dense.data = nullptr; });
  refusesBinding("argument 1 'x': expects size 1 to be 1000, as the launcher was made for, but got 992",
                 [](auto &a) { a[x].dense.sizes[1] = a[y].dense.sizes[1] = 992; });
  refusesBinding("argument 4 'y': expects stride 0 to be 1000, as the launcher was made for, but got 1008",
                 [](auto &a) { a[y].dense.strides[0] = 1008; });
  refusesBinding("argument 0 'w': expects capacity to be 3, as the launcher was made for, but got 2",
                 [](auto &a) { a[w].blocks.capacity = 2; });
  refusesBinding("argument 0 'w': expects rows to be 128, as the launcher was made for, but got 127",
                 [](auto &a) { a[w].blocks.rows = a[bias].dense.sizes[0] = a[y].dense.sizes[0] = 127; });
  refusesBinding("argument 0 'w': expects columns to be 192, as the launcher was made for, but got 191",
                 [](auto &a) { a[w].blocks.columns = a[x].dense.sizes[0] = 191; });
  refusesBinding("argument 1 'x': expects a pointer that is a multiple of 16 bytes, as the launcher was made for",
                 [](auto &a) { a[x].dense.data = at(0x920002); });
  refusesBinding("argument 4 'y': its memory overlaps data of argument 1 'x'",
                 [](auto &a) { a[y].dense.data = a[x].dense.data; });
  fake.failures = {{"cuTensorMapReplaceAddress", sparsec::runtime::CUDA_ERROR_NO_DEVICE}};
  EXPECT_STATUS(rebind(arguments), SPARSEC_STATUS_DRIVER_ERROR, "changing the address of a tensor map");
  fake.failures.clear();
  EXPECT_OK(run());
  EXPECT_EQ(words(), expected);
}

/// A variant for less alignment takes memory of any.
TEST_F(Launcher, KeepsItsVariant) {
  ArgumentList aligned = arguments;
  arguments[x].dense.data = at(0x200002);
  ASSERT_OK(create());
  ASSERT_OK(rebind(aligned));
  fake.parameterCount = 0;
  ASSERT_OK(run());
  EXPECT_EQ(fake.launches.back().function, "linear_any");
}

TEST_F(Launcher, RefusesWhatALaunchRefuses) {
  arguments[x].dense.sizes[0] = 100;
  EXPECT_STATUS(create(), SPARSEC_STATUS_INVALID_ARGUMENT, "argument 1 'x': expects size 0 to be 192");
  EXPECT_EQ(launcher, nullptr);
  setArguments(128, 192, 1000);
  options.flags = 4;
  EXPECT_STATUS(create(), SPARSEC_STATUS_INVALID_ARGUMENT, "options: expects flags of 0, but got 4");
  options.flags = 0;
  fake.failures = {{"cuTensorMapEncodeTiled", sparsec::runtime::CUDA_ERROR_NO_DEVICE}};
  EXPECT_STATUS(create(), SPARSEC_STATUS_DRIVER_ERROR, "encoding a tensor map");
  EXPECT_EQ(launcher, nullptr);
}

TEST_F(Launcher, DriverErrorsOfRunsAreReported) {
  ASSERT_OK(create());
  for (const char *call : {"cuLaunchKernel", "cuCtxPushCurrent"}) {
    fake.failures = {{call, sparsec::runtime::CUDA_ERROR_NO_DEVICE}};
    EXPECT_STATUS(run(), SPARSEC_STATUS_DRIVER_ERROR, "made to fail");
  }
  fake.failures.clear();
}

TEST_F(Launcher, NothingToComputeIsNotLaunched) {
  setArguments(128, 192, 0);
  ASSERT_OK(create());
  EXPECT_OK(run());
  EXPECT_OK(rebind(arguments));
  EXPECT_TRUE(fake.calls.empty());
}

TEST_F(Launcher, OutlivesItsModule) {
  ASSERT_OK(create());
  sparsec_module_destroy(std::exchange(module, nullptr));
  sparsec_device_destroy(std::exchange(device, nullptr));
  EXPECT_OK(run());
  EXPECT_EQ(fake.loadedModules, 1);
}

TEST_F(Launcher, NullPointers) {
  const ArgumentArray array(arguments);
  EXPECT_STATUS(sparsec_launcher_create(nullptr, nullptr, array.data(), array.size(), &options, &launcher),
                SPARSEC_STATUS_INVALID_ARGUMENT, "kernel is NULL");
  EXPECT_STATUS(sparsec_launcher_create(kernel, nullptr, array.data(), array.size(), nullptr, &launcher),
                SPARSEC_STATUS_INVALID_ARGUMENT, "options is NULL");
  EXPECT_STATUS(sparsec_launcher_create(kernel, nullptr, array.data(), array.size(), &options, nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "out_launcher is NULL");
  EXPECT_STATUS(sparsec_launcher_run(nullptr, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "launcher is NULL");
  EXPECT_STATUS(sparsec_launcher_rebind(nullptr, array.data(), array.size()), SPARSEC_STATUS_INVALID_ARGUMENT,
                "launcher is NULL");
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

class AttentionLauncher : public AttentionOnFake {
protected:
  void SetUp() override {
    LaunchInfoBuilder info = cudaAttention();
    addTileCounter(info);
    info.parameters = {{SPARSEC_SOURCE_WORKSPACE, 0, 0, 0},
                       {SPARSEC_SOURCE_ARGUMENT, pattern, SPARSEC_FIELD_FULL_STARTS, 0}};
    info.stages[0].parameter_count = 2;
    fake.parameterCount = 2;
    load(info);
    sparsec_blocks_t lists = sparsec_blocks_pattern(1, 1, 100, 300, 64, 128);
    lists.capacity = 1;
    lists.full = {starts.data(), indices.data()};
    setArguments(lists);
  }
  void TearDown() override {
    sparsec_launcher_destroy(launcher);
    AttentionOnFake::TearDown();
  }

  sparsec_status_t create() {
    const ArgumentArray array(arguments);
    return sparsec_launcher_create(kernel, plan, array.data(), array.size(), &options, &launcher);
  }

  std::vector<int32_t> starts = {0, 1, 1}, indices = {2};
  sparsec_launch_options_t options = sized<sparsec_launch_options_t>();
  sparsec_launcher_t launcher = nullptr;
};

TEST_F(AttentionLauncher, RunsHaveTheWorkspace) {
  ASSERT_OK(createPlan(ArgumentList(arguments.size())));
  options.workspace = at(0x700000);
  options.workspace_bytes = 16;
  ASSERT_OK(create());
  ASSERT_OK(sparsec_launcher_run(launcher, nullptr));
  EXPECT_EQ(fake.launches.back().words[0], 0x700000u);
}

/// The lists of each run are checked, not only those of the first.
TEST_F(AttentionLauncher, ListsAreCheckedWhereTheirFlagAsks) {
  arguments[pattern].blocks.flags = SPARSEC_BLOCKS_CHECK_LISTS;
  ASSERT_OK(create());
  int stream;
  ASSERT_OK(sparsec_launcher_run(launcher, &stream));
  EXPECT_EQ(fake.synchronizedStreams, std::vector<void *>{&stream});
  indices[0] = 3;
  EXPECT_STATUS(sparsec_launcher_run(launcher, &stream), SPARSEC_STATUS_INVALID_PATTERN,
                "argument 3 'pattern': expects full.indices[0] (block row 0) to be 0 to 2, but got 3");
  EXPECT_EQ(fake.launches.size(), 1u);
}

TEST_F(AttentionLauncher, PatternsKeepTheirForm) {
  ASSERT_OK(create());
  auto refusesBinding = [&](const std::string &message, const std::function<void(sparsec_blocks_t &)> &change) {
    ArgumentList broken = arguments;
    change(broken[pattern].blocks);
    const ArgumentArray array(broken);
    EXPECT_STATUS(sparsec_launcher_rebind(launcher, array.data(), array.size()), SPARSEC_STATUS_INVALID_ARGUMENT,
                  "argument 3 'pattern': expects " + message);
  };
  refusesBinding("encoding to be 1, as the launcher was made for, but got 2",
                 [](auto &p) { p.encoding = SPARSEC_PATTERN_PADDED_LISTS; });
  refusesBinding("batches to be 1, as the launcher was made for, but got 2", [](auto &p) { p.batches = 2; });
  refusesBinding("heads to be 1, as the launcher was made for, but got 8", [](auto &p) { p.heads = 8; });
}

} // namespace
