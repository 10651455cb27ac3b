// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists that are written again and again: what reaches the driver of a GPU, and what the host writes.

#include "runtime_attention_fixture.h"
#include "sparsec/runtime.hpp"

using namespace sparsec::test;
using ::testing::ElementsAre;

namespace {

/// 5 queries in blocks of 2, 10 keys in blocks of 3: 3 x 4 blocks; 2 heads with lists of their own.
const sparsec_blocks_t smallShape = shapeOf(2, 3, 1, 2, 5, 10);
/// 100 queries in blocks of 64, 300 keys in blocks of 128: 2 x 3 blocks.
const sparsec_blocks_t largeShape = shapeOf(64, 128, 2, 1, 100, 300);

class PatternUpdate : public AttentionOnFake {
protected:
  void TearDown() override {
    sparsec_pattern_buffer_destroy(buffer);
    AttentionOnFake::TearDown();
  }

  void create(const sparsec_blocks_t &sizes, bool onDevice) {
    if (onDevice && !device) {
      ASSERT_OK(sparsec_device_open_cuda(0, &device));
    }
    ASSERT_OK(sparsec_pattern_buffer_create(&sizes, onDevice ? device : nullptr, &buffer));
    view = viewOf(buffer);
    fake.calls.clear();
  }

  sparsec::runtime::Status updateFromMask(const uint8_t *mask, void *stream = nullptr) {
    return sparsec::runtime::Status(sparsec_pattern_update_from_block_mask(buffer, kernel, mask, stream));
  }
  sparsec::runtime::Status updateFromPredicate(void *stream = nullptr) {
    const ArgumentArray array(arguments);
    return sparsec::runtime::Status(
        sparsec_pattern_update_from_predicate(buffer, kernel, array.data(), array.size(), stream));
  }

  void setIds(std::vector<int32_t> tokenIds) {
    idValues = std::move(tokenIds);
    // The mask loads from ids only: whatever else is there is not looked at.
    arguments.assign(9, 0.0);
    arguments[ids] = sparsec_dense_2d(idValues.data(), SPARSEC_DTYPE_I32, 1, int64_t(idValues.size()));
  }

  /// The states that the lists say.
  std::vector<uint8_t> states() const {
    EXPECT_OK(sparsec_blocks_check(&view));
    std::vector<uint8_t> result(listsOf(view) * blockColumnsOf(view));
    for (auto [lists, state] : {std::pair(view.partial, partial), std::pair(view.full, full)})
      for (int64_t list = 0; list < listsOf(view); ++list)
        for (int32_t i = 0; i < lists.starts[list]; ++i)
          result[list * blockColumnsOf(view) + lists.indices[list * view.capacity + i]] = state;
    return result;
  }

  sparsec_pattern_buffer_t buffer = nullptr;
  sparsec_blocks_t view = {};
  std::vector<int32_t> idValues;
};

TEST_F(PatternUpdate, ListsHaveRoomForAllBlocksAndStartEmpty) {
  for (bool onDevice : {false, true}) {
    sparsec_pattern_buffer_destroy(buffer);
    create(smallShape, onDevice);
    EXPECT_EQ(view.encoding, SPARSEC_PATTERN_PADDED_LISTS);
    EXPECT_EQ(view.rows, 5);
    EXPECT_EQ(view.columns, 10);
    EXPECT_EQ(view.device, onDevice ? 0 : int32_t(SPARSEC_PLACE_HOST));
    EXPECT_EQ(view.capacity, 4);
    EXPECT_EQ(states(), std::vector<uint8_t>(24, empty));
  }
}

TEST_F(PatternUpdate, HostWritesTheListsAtOnce) {
  create(smallShape, false);
  const std::vector<uint8_t> first = {full,  empty,   partial, full,  empty, empty, empty, empty,
                                      empty, partial, full,    full,  empty, full,  empty, partial,
                                      full,  empty,   empty,   empty, full,  full,  full,  full};
  ASSERT_OK(updateFromMask(first.data()));
  EXPECT_EQ(states(), first);
  EXPECT_THAT(std::vector<int32_t>(view.full.indices + 8, view.full.indices + 10), ElementsAre(2, 3)) << "ascending";
  std::vector<uint8_t> second(24, partial);
  ASSERT_OK(updateFromMask(second.data()));
  EXPECT_EQ(states(), second);
  second[17] = 3;
  EXPECT_STATUS(updateFromMask(second.data()), SPARSEC_STATUS_INVALID_ARGUMENT,
                "mask: expects 0 to 2, but element 17 is 3");
  EXPECT_EQ(states(), std::vector<uint8_t>(24, partial)) << "outputs are untouched";
}

TEST_F(PatternUpdate, HostEvaluatesThePredicate) {
  LaunchInfoBuilder info = cudaAttention();
  info.arguments[pattern].block_rows = 2;
  info.arguments[pattern].block_columns = 3;
  load(info);
  setIds({0, 0, 0, 0, 0, 1, 1, 1});
  create(shapeOf(2, 3, 1, 1, 8, 8), false);
  ASSERT_OK(updateFromPredicate());
  const std::vector<uint8_t> expected = {full,    partial, empty,   full,  partial, empty,
                                         partial, partial, partial, empty, partial, full};
  EXPECT_EQ(states(), expected);
}

/// On the host no kernel is needed; one that is given, of any target, has such a pattern.
TEST_F(PatternUpdate, HostTakesAnyKernelWithThePattern) {
  const std::vector<uint8_t> mask(12, full);
  create(largeShape, false);
  ASSERT_EQ(kernel, nullptr);
  EXPECT_OK(updateFromMask(mask.data()));
  load(cudaAttention());
  EXPECT_OK(updateFromMask(mask.data()));
  EXPECT_EQ(states(), mask);
  load(cudaLinear());
  EXPECT_STATUS(updateFromMask(mask.data()), SPARSEC_STATUS_INVALID_ARGUMENT,
                "kernel 'linear' has no pattern argument");
  load(cudaAttention());
  sparsec_pattern_buffer_destroy(buffer);
  create(smallShape, false);
  EXPECT_STATUS(updateFromMask(std::vector<uint8_t>(24).data()), SPARSEC_STATUS_INVALID_ARGUMENT,
                "buffer: expects blocks of 64 queries x 128 keys, as 'pattern' of the kernel has them, but got 2 x 3");
}

TEST_F(PatternUpdate, GpuGetsOneKernelAndNothingWaits) {
  load(cudaAttentionWithBuilder());
  create(shapeOf(64, 128, 2, 3, 100, 300), true);
  fake.parameterCount = 8;
  int stream;
  ASSERT_OK(updateFromMask(static_cast<uint8_t *>(at(0x1000)), &stream));
  EXPECT_THAT(fake.calls, ElementsAre("cuCtxPushCurrent", "cuLaunchKernel", "cuCtxPopCurrent"));
  const FakeLaunch &launch = fake.launches.at(0);
  EXPECT_EQ(launch.function, "attention_block_mask");
  EXPECT_EQ(launch.gridX, 3u) << "12 lists, 4 for every CTA";
  EXPECT_EQ(launch.threads, 128u);
  EXPECT_EQ(launch.sharedMemory, 0u);
  EXPECT_EQ(launch.stream, &stream);
  auto word = [](const void *pointer) { return uint64_t(reinterpret_cast<uintptr_t>(pointer)); };
  EXPECT_THAT(launch.words, ElementsAre(0x1000, 300, 3, word(view.partial.starts), word(view.partial.indices),
                                        word(view.full.starts), word(view.full.indices), 12));
}

/// The last CTA has a list for some of its warps only.
TEST_F(PatternUpdate, GridsCoverAllLists) {
  load(cudaAttentionWithBuilder());
  create(shapeOf(64, 128, 1, 1, 64 * 5, 300), true);
  ASSERT_OK(updateFromMask(static_cast<uint8_t *>(at(0x1000))));
  EXPECT_EQ(fake.launches.at(0).gridX, 2u);
}

TEST_F(PatternUpdate, GpuRunsTheBuilderOfTheKernel) {
  load(cudaAttentionWithBuilder());
  EXPECT_EQ(fake.dynamicSharedMemory["attention_pattern"], 64);
  setIds(std::vector<int32_t>(600));
  create(largeShape, true);
  fake.parameterCount = 9;
  int stream;
  ASSERT_OK(updateFromPredicate(&stream));
  EXPECT_THAT(fake.calls, ElementsAre("cuCtxPushCurrent", "cuLaunchKernel", "cuCtxPopCurrent"));
  const FakeLaunch &launch = fake.launches.at(0);
  EXPECT_EQ(launch.function, "attention_pattern");
  EXPECT_EQ(launch.gridX, 4u) << "a CTA for every list";
  EXPECT_EQ(launch.threads, 512u);
  EXPECT_EQ(launch.sharedMemory, 64u);
  EXPECT_EQ(launch.stream, &stream);
  auto word = [](const void *pointer) { return uint64_t(reinterpret_cast<uintptr_t>(pointer)); };
  EXPECT_THAT(launch.words, ElementsAre(100, 300, 1, 3, word(view.partial.starts), word(view.partial.indices),
                                        word(view.full.starts), word(view.full.indices), word(idValues.data())));
}

TEST_F(PatternUpdate, NothingToDo) {
  load(cudaAttentionWithBuilder());
  for (bool onDevice : {false, true}) {
    sparsec_pattern_buffer_destroy(buffer);
    create(shapeOf(64, 128, 1, 2, 0, 10), onDevice);
    EXPECT_OK(updateFromMask(nullptr));
    EXPECT_TRUE(fake.calls.empty());
    sparsec_pattern_buffer_destroy(buffer);
    create(shapeOf(64, 128, 1, 2, 5, 0), onDevice);
    EXPECT_OK(updateFromMask(nullptr)) << "all lists are empty, but they are there";
  }
}

TEST_F(PatternUpdate, BadBuffersAndArgumentsAreRefused) {
  load(cudaAttentionWithBuilder());
  setIds(std::vector<int32_t>(600));
  EXPECT_STATUS(sparsec_pattern_update_from_block_mask(nullptr, kernel, nullptr, nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "buffer is NULL");
  const std::vector<uint8_t> mask(24);
  ASSERT_OK(sparsec_pattern_from_block_mask(&smallShape, mask.data(), nullptr, &buffer));
  const char *notUpdatable = "buffer: expects one of sparsec_pattern_buffer_create";
  EXPECT_STATUS(updateFromMask(mask.data()), SPARSEC_STATUS_INVALID_ARGUMENT, notUpdatable);
  EXPECT_STATUS(updateFromPredicate(), SPARSEC_STATUS_INVALID_ARGUMENT, notUpdatable);
  sparsec_pattern_buffer_destroy(buffer);

  create(largeShape, true);
  EXPECT_STATUS(updateFromMask(nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "mask is NULL");
  EXPECT_STATUS(sparsec_pattern_update_from_block_mask(buffer, nullptr, mask.data(), nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "kernel is NULL");
  EXPECT_STATUS(sparsec_pattern_update_from_predicate(buffer, nullptr, nullptr, 0, nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "kernel is NULL");
  arguments.pop_back();
  EXPECT_STATUS(updateFromPredicate(), SPARSEC_STATUS_INVALID_ARGUMENT,
                "the mask of kernel 'attention' loads from 'ids': expects all 9 arguments, but got 8");
  setIds(std::vector<int32_t>(600));
  sparsec_pattern_buffer_destroy(buffer);
  create(smallShape, true);
  const char *otherBlocks =
      "buffer: expects blocks of 64 queries x 128 keys, as 'pattern' of the kernel has them, but got 2 x 3";
  EXPECT_STATUS(updateFromPredicate(), SPARSEC_STATUS_INVALID_ARGUMENT, otherBlocks);
  EXPECT_STATUS(updateFromMask(mask.data()), SPARSEC_STATUS_INVALID_ARGUMENT, otherBlocks);
  EXPECT_TRUE(fake.calls.empty());

  sparsec_pattern_buffer_destroy(buffer);
  create(largeShape, true);
  load(cudaAttention());
  EXPECT_STATUS(updateFromPredicate(), SPARSEC_STATUS_INVALID_ARGUMENT,
                "kernel 'attention' has no pattern builder: expects a pattern argument besides the mask region");
  EXPECT_STATUS(updateFromMask(mask.data()), SPARSEC_STATUS_INVALID_ARGUMENT,
                "kernel 'attention' has no block mask reader");
  load(cudaLinear());
  EXPECT_STATUS(updateFromMask(mask.data()), SPARSEC_STATUS_INVALID_ARGUMENT,
                "kernel 'linear' has no pattern argument");
}

TEST_F(PatternUpdate, CheckingModeLooksAtTheMask) {
  openChecking();
  load(cudaAttentionWithBuilder());
  create(shapeOf(64, 128, 2, 2, 100, 300), true);
  void *mask = at(0x1000);
  EXPECT_STATUS(updateFromMask(static_cast<uint8_t *>(mask)), SPARSEC_STATUS_INVALID_ARGUMENT,
                "mask needs 24 bytes of memory of device 0, but the driver does not know this memory");
  fake.memory[mask] = {.bytes = 23};
  EXPECT_STATUS(
      updateFromMask(static_cast<uint8_t *>(mask)), SPARSEC_STATUS_INVALID_ARGUMENT,
      "mask needs 24 bytes of memory of device 0, but its allocation of device memory has 23 bytes from there "
      "on");
  EXPECT_TRUE(fake.launches.empty());
  fake.memory[mask] = {.bytes = 24};
  EXPECT_OK(updateFromMask(static_cast<uint8_t *>(mask)));
  EXPECT_EQ(fake.launches.size(), 1u);
}

TEST_F(PatternUpdate, CheckingModeLooksAtWhatTheMaskLoads) {
  openChecking();
  load(cudaAttentionWithBuilder());
  setIds(std::vector<int32_t>(600));
  create(largeShape, true);
  EXPECT_STATUS(
      updateFromPredicate(), SPARSEC_STATUS_INVALID_ARGUMENT,
      "argument 6 'ids': data needs 2400 bytes of memory of device 0, but the driver does not know this memory");
  EXPECT_TRUE(fake.launches.empty());
  fake.memory[idValues.data()] = {.bytes = 2400};
  EXPECT_OK(updateFromPredicate());
  EXPECT_EQ(fake.launches.size(), 1u);
}

TEST_F(PatternUpdate, FailuresOfCreationAreReportedAndUndone) {
  ASSERT_OK(sparsec_device_open_cuda(0, &device));
  const auto before = fake.allocations;
  for (const char *call : {"cuMemAlloc", "cuMemcpyHtoD"}) {
    fake.failures = {{call, sparsec::runtime::CUresult(700)}};
    EXPECT_STATUS(sparsec_pattern_buffer_create(&largeShape, device, &buffer), SPARSEC_STATUS_DRIVER_ERROR,
                  "CUDA_ERROR_FAKE");
    EXPECT_EQ(buffer, nullptr);
    EXPECT_EQ(fake.allocations, before) << call;
  }
  fake.failures.clear();
  EXPECT_STATUS(sparsec_pattern_buffer_create(&largeShape, device, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "out_buffer is NULL");
  EXPECT_STATUS(sparsec_pattern_buffer_create(nullptr, device, &buffer), SPARSEC_STATUS_INVALID_ARGUMENT,
                "shape is NULL");
}

TEST_F(PatternUpdate, CppLayer) {
  sparsec::Device gpu = sparsec::Device::cuda();
  ByteVector cubin = makeCubin(cudaAttentionWithBuilder().build());
  sparsec::Module loaded(gpu, cubin.data(), cubin.size());
  sparsec::Pattern lists(gpu, largeShape);
  lists.update(loaded.kernel(), static_cast<uint8_t *>(at(0x1000)));
  sparsec_dense_t any = sparsec_dense_1d(at(0x1000), SPARSEC_DTYPE_F32, 1);
  sparsec_dense_t idView = sparsec_dense_2d(at(0x2000), SPARSEC_DTYPE_I32, 2, 300);
  lists.update(loaded.kernel(), {any, any, any, lists, 1.0, any, idView, any, any});
  EXPECT_EQ(fake.launches.size(), 2u);
  EXPECT_THROW(lists.update(loaded.kernel()), sparsec::Error);
}

} // namespace
