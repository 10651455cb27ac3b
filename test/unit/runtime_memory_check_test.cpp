// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checking mode: how it is asked for, and what it makes of memory of every kind.

#include "runtime_attention_fixture.h"
#include "runtime_linear_fixture.h"

#include <cstdlib>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

/// Sets SPARSEC_CHECK_MEMORY for a scope.
struct CheckMemoryVariable {
  explicit CheckMemoryVariable(const char *value) { setenv("SPARSEC_CHECK_MEMORY", value, 1); }
  ~CheckMemoryVariable() { unsetenv("SPARSEC_CHECK_MEMORY"); }
};

/// A product of a 128 x 192 matrix of 3 blocks and width 1000, rows of X and Y 1024 apart, with exactly the memory that
/// it needs.
class MemoryCheck : public LinearOnFake {
protected:
  void SetUp() override {
    openChecking();
    LinearOnFake::SetUp();
    prepare();
  }

  void prepare() {
    setArguments(128, 192, 1000);
    arguments[x].dense.strides[0] = arguments[y].dense.strides[0] = 1024;
    setPattern({{0, 2}, {1}});
    fake.memory = {{valuesAt, {.bytes = 3 * 64 * 64 * 2}}, {xAt, {.bytes = xBytes}},
                   {biasAt, {.bytes = 128 * 4}},           {yAt, {.bytes = (127 * 1024 + 1000) * 2}},
                   {rowPtr.data(), {.bytes = 3 * 4}},      {colIdx.data(), {.bytes = 3 * 4}}};
    fake.calls.clear();
  }

  void expectRefused(const std::string &message) {
    EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, message);
    EXPECT_TRUE(fake.launches.empty());
  }

  static constexpr size_t xBytes = (191 * 1024 + 1000) * 2;
  void *const valuesAt = at(0x100000), *const xAt = at(0x200000), *const biasAt = at(0x300000),
              *const yAt = at(0x400000);
};

TEST_F(MemoryCheck, GoodMemoryIsUsedAndNothingWaits) {
  ASSERT_OK(launch());
  EXPECT_EQ(fake.launches.size(), 1u);
  EXPECT_EQ(std::count(fake.calls.begin(), fake.calls.end(), "cuPointerGetAttributes"), 6) << "one for every pointer";
  EXPECT_TRUE(fake.synchronizedStreams.empty());
}

TEST_F(MemoryCheck, OrdinaryMemoryOfTheHostIsRefusedByName) {
  struct {
    void *memory;
    const char *message;
  } cases[] = {{valuesAt, "argument 0 'w': values needs 24576 bytes of memory of device 0"},
               {rowPtr.data(), "argument 0 'w': full.starts needs 12 bytes"},
               {colIdx.data(), "argument 0 'w': full.indices needs 12 bytes"},
               {xAt, "argument 1 'x': data needs 393168 bytes"},
               {biasAt, "argument 2 'bias': data needs 512 bytes"},
               {yAt, "argument 4 'y': data needs 262096 bytes"}};
  for (auto [memory, message] : cases) {
    prepare();
    fake.memory.erase(memory);
    expectRefused(message);
    expectRefused(", but the driver does not know this memory, as it is with ordinary memory of the host");
  }
  prepare();
  EXPECT_OK(launch()) << "the context is alive";
}

TEST_F(MemoryCheck, EverythingUpToTheLastElementMustBeThere) {
  --fake.memory[xAt].bytes;
  expectRefused(
      "argument 1 'x': data needs 393168 bytes of memory of device 0, but its allocation of device memory has "
      "393167 bytes from there on");
  fake.memory.erase(xAt); // an allocation that begins earlier
  fake.memory[at(0x1fff00)] = {.bytes = 0x100 + xBytes};
  EXPECT_OK(launch());
  fake.launches.clear();
  --fake.memory[at(0x1fff00)].bytes;
  expectRefused("393167 bytes from there on");
}

TEST_F(MemoryCheck, MemoryOfAnotherDeviceIsRefused) {
  fake.memory[xAt].ordinal = 3;
  expectRefused("argument 1 'x': data needs 393168 bytes of memory of device 0, but it is memory of device 3");
}

TEST_F(MemoryCheck, ManagedMemoryIsAnybodys) {
  fake.memory[xAt] = {.bytes = xBytes, .ordinal = 3, .isManaged = true};
  EXPECT_OK(launch());
  fake.launches.clear();
  --fake.memory[xAt].bytes;
  expectRefused("its allocation of managed memory has 393167 bytes from there on");
}

TEST_F(MemoryCheck, PinnedMemoryMustBeMapped) {
  fake.memory[xAt] = {.bytes = xBytes, .type = CU_MEMORYTYPE_HOST};
  EXPECT_OK(launch());
  fake.launches.clear();
  fake.memory[xAt].isReachable = false;
  expectRefused("but it is pinned memory of the host that is not mapped for this device");
}

TEST_F(MemoryCheck, ReservedAddressesMustHaveMemoryUpToTheEnd) {
  // A framework with expandable segments reserves more than it maps. The driver names the whole reserved range.
  fake.memory[xAt] = {.bytes = 2 * xBytes, .mappedBytes = xBytes};
  EXPECT_OK(launch());
  fake.launches.clear();
  --fake.memory[xAt].mappedBytes;
  expectRefused("argument 1 'x': data needs 393168 bytes of memory of device 0, but no memory is mapped where it ends");
}

TEST_F(MemoryCheck, WhatIsNotReadMayBeAnything) {
  setArguments(128, 0, 1000); // X has no elements, the matrix no blocks
  arguments[w].blocks.full.starts = rowPtr.data();
  rowPtr.assign(3, 0);
  arguments[w].blocks.full.starts = rowPtr.data();
  fake.memory.erase(xAt);
  fake.memory.erase(valuesAt);
  fake.memory[rowPtr.data()] = {.bytes = 12};
  EXPECT_OK(launch());
}

TEST_F(MemoryCheck, FailureOfTheQueryIsADriverError) {
  fake.failures["cuPointerGetAttributes"] = CUresult(999);
  EXPECT_STATUS(launch(), SPARSEC_STATUS_DRIVER_ERROR, "asking what a pointer points to failed");
  fake.failures = {{"cuCtxPushCurrent", CUresult(999)}};
  EXPECT_STATUS(launch(), SPARSEC_STATUS_DRIVER_ERROR, "made to fail");
  EXPECT_TRUE(fake.launches.empty());
  fake.failures.clear();
}

TEST_F(MemoryCheck, PlansCheckTheListsThatTheyRead) {
  fake.memory.erase(valuesAt);
  ASSERT_OK(createPlan(arguments));
  fake.memory[colIdx.data()].bytes = 8;
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT,
              "argument 0 'w': full.indices needs 12 bytes of memory of device 0, but its allocation of device memory "
              "has 8 bytes from there on",
              arguments);
  fake.memory.erase(rowPtr.data());
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT,
              "argument 0 'w': full.starts needs 12 bytes of memory of device 0, but the driver does not know this "
              "memory",
              arguments);
}

TEST_F(MemoryCheck, Workspaces) {
  auto options = sized<sparsec_launch_options_t>();
  options.workspace = at(0x700000);
  options.workspace_bytes = 16;
  EXPECT_STATUS(launchWith(options), SPARSEC_STATUS_INVALID_ARGUMENT,
                "workspace needs 16 bytes of memory of device 0, but the driver does not know this memory");
  fake.memory[at(0x700000)] = {.bytes = 16};
  EXPECT_OK(launchWith(options));
}

/// The memory of a launcher is checked when it is bound, not in every run.
TEST_F(MemoryCheck, Launchers) {
  const ArgumentArray good(arguments);
  const auto options = sized<sparsec_launch_options_t>();
  sparsec_launcher_t launcher = nullptr;
  ASSERT_OK(sparsec_launcher_create(kernel, nullptr, good.data(), good.size(), &options, &launcher));
  arguments[x].dense.data = at(0x800000);
  const ArgumentArray bad(arguments);
  const char *message = "argument 1 'x': data needs";
  EXPECT_STATUS(sparsec_launcher_rebind(launcher, bad.data(), bad.size()), SPARSEC_STATUS_INVALID_ARGUMENT, message);
  sparsec_launcher_t refused = nullptr;
  EXPECT_STATUS(sparsec_launcher_create(kernel, nullptr, bad.data(), bad.size(), &options, &refused),
                SPARSEC_STATUS_INVALID_ARGUMENT, message);
  fake.calls.clear();
  EXPECT_OK(sparsec_launcher_run(launcher, nullptr));
  EXPECT_FALSE(fake.called("cuPointerGetAttributes"));
  sparsec_launcher_destroy(launcher);
}

TEST_F(MemoryCheck, ListsThatALaunchReadsAreCheckedFirst) {
  arguments[w].blocks.flags = SPARSEC_BLOCKS_CHECK_LISTS;
  fake.memory.erase(rowPtr.data());
  expectRefused("argument 0 'w': full.starts needs 12 bytes");
  EXPECT_FALSE(fake.called("cuMemcpyDtoHAsync"));
}

class MemoryCheckOfAttention : public AttentionOnFake {};

TEST_F(MemoryCheckOfAttention, EveryPointerCounts) {
  openChecking();
  load(cudaAttention());
  // 2 x 3 blocks in padded lists with room for 3: 2 lists.
  std::vector<int32_t> partialStarts = {1, 0}, fullStarts = {0, 2}, partialIndices(6), fullIndices = {0, 0, 0, 1, 2, 0};
  sparsec_blocks_t lists = shapeOf(64, 128, 1, 1, 100, 300, SPARSEC_PATTERN_PADDED_LISTS);
  lists.capacity = 3;
  lists.partial = {partialStarts.data(), partialIndices.data()};
  lists.full = {fullStarts.data(), fullIndices.data()};
  setArguments(lists);
  struct {
    const void *memory;
    size_t bytes;
    const char *name;
  } pieces[] = {{at(0x100000), 2 * 8 * 100 * 64 * 2, "argument 0 'q': data"},
                {at(0x200000), 2 * 2 * 300 * 64 * 2, "argument 1 'k': data"},
                {at(0x300000), 2 * 2 * 300 * 64 * 2, "argument 2 'v': data"},
                {partialStarts.data(), 2 * 4, "argument 3 'pattern': partial.starts"},
                {partialIndices.data(), 6 * 4, "argument 3 'pattern': partial.indices"},
                {fullStarts.data(), 2 * 4, "argument 3 'pattern': full.starts"},
                {fullIndices.data(), 6 * 4, "argument 3 'pattern': full.indices"},
                {at(0x50000), 8 * 4, "argument 5 'slopes': data"},
                {at(0x60000), 2 * 300 * 4, "argument 6 'ids': data"},
                {at(0x400000), 2 * 8 * 100 * 64 * 2, "argument 7 'o': data"},
                {at(0x500000), 2 * 8 * 100 * 4, "argument 8 'lse': data"}};
  for (auto [memory, bytes, name] : pieces)
    fake.memory[const_cast<void *>(memory)] = {.bytes = bytes};
  ASSERT_OK(launch());
  fake.launches.clear();
  for (auto [memory, bytes, name] : pieces) {
    --fake.memory[const_cast<void *>(memory)].bytes;
    EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT,
                  std::string(name) + " needs " + std::to_string(bytes) + " bytes");
    fake.memory[const_cast<void *>(memory)].bytes = bytes;
  }
  EXPECT_TRUE(fake.launches.empty());

  ASSERT_OK(createPlan(arguments));
  fake.memory.erase(fullIndices.data());
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT,
              "argument 3 'pattern': full.indices needs 24 bytes of memory of device 0", arguments);
}

class CheckMemoryOption : public LinearOnFake {
protected:
  void SetUp() override {}

  /// Whether a launch on this device asks the driver for its memory.
  bool checks() {
    sparsec_module_destroy(module);
    module = nullptr;
    load(cudaLinear());
    setArguments(128, 192, 1000);
    setPattern({{0, 2}, {1}});
    fake.calls.clear();
    const bool isRefused = bool(launch()); // the memory is made up
    const bool result = fake.called("cuPointerGetAttributes");
    EXPECT_EQ(isRefused, result);
    sparsec_module_destroy(module);
    sparsec_device_destroy(device);
    module = nullptr;
    device = nullptr;
    return result;
  }
};

TEST_F(CheckMemoryOption, IsOffWhereNobodyAsks) {
  ASSERT_OK(sparsec_device_open_cuda(0, &device));
  EXPECT_FALSE(checks());
  auto options = sparsec::sized<sparsec_device_options_t>();
  options.kind = SPARSEC_TARGET_CUDA;
  ASSERT_OK(sparsec_device_open(&options, &device));
  EXPECT_FALSE(checks());
}

TEST_F(CheckMemoryOption, TheEnvironmentGoesFirst) {
  {
    CheckMemoryVariable on("1");
    ASSERT_OK(sparsec_device_open_cuda(0, &device));
    EXPECT_TRUE(checks());
  }
  {
    CheckMemoryVariable off("0");
    openChecking();
    EXPECT_FALSE(checks());
  }
  {
    CheckMemoryVariable nothing("");
    openChecking();
    EXPECT_TRUE(checks());
  }
  CheckMemoryVariable wrong("yes");
  EXPECT_STATUS(sparsec_device_open_cuda(0, &device), SPARSEC_STATUS_INVALID_ARGUMENT,
                "the environment variable SPARSEC_CHECK_MEMORY: expects 0 or 1, but got 'yes'");
  EXPECT_EQ(device, nullptr);
}

} // namespace
