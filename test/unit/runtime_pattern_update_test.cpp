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

  /// Scores of all blocks, contiguous, in memory of the buffer's device.
  sparsec_dense_t scoresAt(const void *data) const {
    const int64_t lists = listsOf(view), rows = lists / (view.batches * view.heads);
    auto scores = sparsec_dense_bhsd(const_cast<void *>(data), SPARSEC_DTYPE_F32, view.batches, view.heads, rows,
                                     blockColumnsOf(view));
    scores.device = view.device;
    return scores;
  }
  sparsec::runtime::Status updateFromScores(const sparsec_dense_t &scores, int64_t count,
                                            const int32_t *counts = nullptr, const uint8_t *mask = nullptr,
                                            void *stream = nullptr) {
    return sparsec::runtime::Status(
        sparsec_pattern_update_from_scores(buffer, kernel, &scores, count, counts, mask, stream));
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

/// Scores of 3 x 4 blocks, of 2 heads.
std::vector<float> makeScores() {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  return {1,    3,      2,       3,    //
          -5,   -1,     -3,      -2,   //
          4,    4,      4,       4,    //
          nan,  1,      -inf,    inf,  //
          -0.f, 1e-40f, 0.f,     -nan, //
          -0.f, 0.f,    -1e-40f, 0.f};
}

TEST_F(PatternUpdate, HostChoosesTheBlocksWithTheHighestScores) {
  create(smallShape, false);
  const std::vector<float> values = makeScores();
  const sparsec_dense_t scores = scoresAt(values.data());
  ASSERT_OK(updateFromScores(scores, 2));
  EXPECT_EQ(states(), (std::vector<uint8_t>{empty, full, empty, full,  empty, full, empty, full, //
                                            full,  full, empty, empty, empty, full, empty, full, //
                                            full,  full, empty, empty, full,  full, empty, empty}));
  ASSERT_OK(updateFromScores(scores, 4));
  EXPECT_EQ(states(), (std::vector<uint8_t>{full, full, full, full,  full,  full, full,  full, //
                                            full, full, full, full,  empty, full, empty, full, //
                                            full, full, full, empty, full,  full, full,  full}));
  ASSERT_OK(updateFromScores(scores, 0));
  EXPECT_EQ(states(), std::vector<uint8_t>(24, empty));
}

TEST_F(PatternUpdate, HostTakesCountsAndABlockMask) {
  create(smallShape, false);
  const std::vector<float> values = makeScores();
  const sparsec_dense_t scores = scoresAt(values.data());
  const std::vector<int32_t> counts = {1, 3, 0, -1, 4, std::numeric_limits<int32_t>::max()};
  ASSERT_OK(updateFromScores(scores, 3, counts.data()));
  EXPECT_EQ(states(), (std::vector<uint8_t>{empty, full,  empty, empty, empty, full,  full,  full,  //
                                            empty, empty, empty, empty, empty, empty, empty, empty, //
                                            full,  full,  full,  empty, full,  full,  empty, full}));
  std::vector<uint8_t> mask = {full,    empty, partial, partial, partial, partial, partial, empty, //
                               partial, empty, full,    full,    full,    empty,   full,    empty, //
                               empty,   empty, empty,   empty,   full,    full,    full,    partial};
  ASSERT_OK(updateFromScores(scores, 2, nullptr, mask.data()));
  EXPECT_EQ(states(), (std::vector<uint8_t>{empty,   empty, partial, partial, empty, partial, partial, empty, //
                                            partial, empty, full,    empty,   empty, empty,   empty,   empty, //
                                            empty,   empty, empty,   empty,   full,  full,    empty,   empty}));
  mask[23] = 3;
  EXPECT_STATUS(updateFromScores(scores, 2, nullptr, mask.data()), SPARSEC_STATUS_INVALID_ARGUMENT,
                "mask: expects 0 to 2, but element 23 is 3");
}

/// The kernel's causal and window leave blocks out.
TEST_F(PatternUpdate, HostChoosesAmongTheBlocksInReach) {
  const auto withLimits = [](int64_t causal, int64_t left, int64_t right) {
    LaunchInfoBuilder info = cudaAttention();
    info.arguments[pattern].block_rows = 2;
    info.arguments[pattern].block_columns = 3;
    for (auto [key, value] : {std::pair(1, causal), std::pair(2, left), std::pair(3, right)})
      info.attributes[key].value = value;
    return info;
  };
  create(shapeOf(2, 3, 1, 1, 5, 10), false); // query 0 has the position of key 5
  const std::vector<float> scores = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4};
  struct {
    int64_t causal, left, right;
    std::vector<uint8_t> expected;
  } cases[] = {{1, -1, -1, {empty, full, full, empty, empty, full, full, empty, empty, empty, full, full}},
               {0, 1, 0, {empty, full, full, empty, empty, empty, full, empty, empty, empty, full, full}},
               {0, -1, 0, {empty, full, full, empty, empty, full, full, empty, empty, empty, full, full}}};
  for (const auto &[causal, left, right, expected] : cases) {
    load(withLimits(causal, left, right));
    ASSERT_OK(updateFromScores(scoresAt(scores.data()), 2));
    EXPECT_EQ(states(), expected) << "causal " << causal << ", window " << left << " to " << right;
  }
}

TEST_F(PatternUpdate, GpuChoosesWithOneKernel) {
  load(cudaAttentionWithBuilder());
  create(shapeOf(64, 128, 2, 3, 100, 300), true);
  fake.parameterCount = 11;
  int stream;
  const auto *counts = static_cast<const int32_t *>(at(0x2000));
  const auto *mask = static_cast<const uint8_t *>(at(0x3000));
  ASSERT_OK(updateFromScores(scoresAt(at(0x1000)), 2, counts, mask, &stream));
  EXPECT_THAT(fake.calls, ElementsAre("cuCtxPushCurrent", "cuLaunchKernel", "cuCtxPopCurrent"));
  const FakeLaunch &launch = fake.launches.at(0);
  EXPECT_EQ(launch.function, "attention_top_k");
  EXPECT_EQ(launch.gridX, 3u) << "12 lists, 4 for every CTA";
  EXPECT_EQ(launch.threads, 128u);
  EXPECT_EQ(launch.stream, &stream);
  auto word = [](const void *pointer) { return uint64_t(reinterpret_cast<uintptr_t>(pointer)); };
  EXPECT_THAT(launch.words,
              ElementsAre(0x1000, 0x2000, 0x3000, /*k*/ 2, 300, 3, word(view.partial.starts),
                          word(view.partial.indices), word(view.full.starts), word(view.full.indices), 12));
  ASSERT_OK(updateFromScores(scoresAt(at(0x1000)), 3));
  EXPECT_EQ(fake.launches.at(1).words[1], 0u);
  EXPECT_EQ(fake.launches.at(1).words[2], 0u);
  EXPECT_EQ(fake.launches.at(1).words[3], 3u);
}

TEST_F(PatternUpdate, BadScoresAreRefused) {
  load(cudaAttentionWithBuilder());
  create(shapeOf(64, 128, 2, 3, 100, 300), true);
  const sparsec_dense_t good = scoresAt(at(0x1000));
  const auto with = [&](const auto &change) {
    sparsec_dense_t scores = good;
    change(scores);
    return updateFromScores(scores, 1);
  };
  struct {
    const char *message;
    std::function<void(sparsec_dense_t &)> change;
  } cases[] = {
      {"scores: expects a size of at least ", [](auto &s) { s.size = 8; }},
      {"scores: expects memory of device 0, but got memory of the host",
       [](auto &s) { s.device = SPARSEC_PLACE_HOST; }},
      {"scores: expects elements of type f32, but got f16", [](auto &s) { s.dtype = SPARSEC_DTYPE_F16; }},
      {"scores: expects rank 4, but got 3", [](auto &s) { s.rank = 3; }},
      {"scores: expects size 0 to be 2, as the buffer has it, but got 1", [](auto &s) { s.sizes[0] = 1; }},
      {"scores: expects size 3 to be 3, as the buffer has it, but got 4", [](auto &s) { s.sizes[3] = 4; }},
      {"scores: expects a contiguous tensor, so that stride 1 is 6, but got 8", [](auto &s) { s.strides[1] = 8; }},
      {"scores: data is NULL", [](auto &s) { s.data = nullptr; }},
      {"scores: data is not aligned to the 4 bytes of its elements", [](auto &s) { s.data = at(0x1002); }},
  };
  for (auto &[message, change] : cases)
    EXPECT_STATUS(with(change), SPARSEC_STATUS_INVALID_ARGUMENT, message);
  EXPECT_STATUS(updateFromScores(good, -1), SPARSEC_STATUS_INVALID_ARGUMENT,
                "k: expects 0 to 3, the number of key blocks, but got -1");
  EXPECT_STATUS(updateFromScores(good, 4), SPARSEC_STATUS_INVALID_ARGUMENT,
                "k: expects 0 to 3, the number of key blocks, but got 4");
  EXPECT_STATUS(updateFromScores(good, 1, static_cast<int32_t *>(at(0x2001))), SPARSEC_STATUS_INVALID_ARGUMENT,
                "counts is not aligned to the 4 bytes of its elements");
  EXPECT_STATUS(sparsec_pattern_update_from_scores(buffer, kernel, nullptr, 1, nullptr, nullptr, nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "scores is NULL");
  EXPECT_STATUS(sparsec_pattern_update_from_scores(nullptr, kernel, &good, 1, nullptr, nullptr, nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "buffer is NULL");
  EXPECT_STATUS(sparsec_pattern_update_from_scores(buffer, nullptr, &good, 1, nullptr, nullptr, nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "kernel is NULL");
  load(cudaAttention());
  EXPECT_STATUS(updateFromScores(good, 1), SPARSEC_STATUS_INVALID_ARGUMENT,
                "kernel 'attention' has no chooser of the top-k blocks");
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(PatternUpdate, CheckingModeLooksAtTheScores) {
  openChecking();
  load(cudaAttentionWithBuilder());
  create(shapeOf(64, 128, 2, 2, 100, 300), true);
  void *scores = at(0x1000), *counts = at(0x2000), *mask = at(0x3000);
  const auto update = [&] {
    return updateFromScores(scoresAt(scores), 2, static_cast<int32_t *>(counts), static_cast<uint8_t *>(mask));
  };
  struct {
    void *memory;
    uint64_t bytes;
    const char *message;
  } cases[] = {{scores, 96, "scores needs 96 bytes of memory of device 0"},
               {counts, 32, "counts needs 32 bytes of memory of device 0"},
               {mask, 24, "mask needs 24 bytes of memory of device 0"}};
  for (const auto &[memory, bytes, message] : cases) {
    EXPECT_STATUS(update(), SPARSEC_STATUS_INVALID_ARGUMENT, message);
    EXPECT_TRUE(fake.launches.empty());
    fake.memory[memory] = {.bytes = bytes};
  }
  EXPECT_OK(update());
  EXPECT_EQ(fake.launches.size(), 1u);
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
    EXPECT_OK(updateFromScores(scoresAt(nullptr), 1));
    EXPECT_TRUE(fake.calls.empty());
    sparsec_pattern_buffer_destroy(buffer);
    create(shapeOf(64, 128, 1, 2, 5, 0), onDevice);
    EXPECT_OK(updateFromMask(nullptr)) << "all lists are empty, but they are there";
    EXPECT_OK(updateFromScores(scoresAt(nullptr), 0));
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
  sparsec_dense_t scores = sparsec_dense_bhsd(at(0x3000), SPARSEC_DTYPE_F32, 2, 1, 2, 3);
  lists.updateFromScores(loaded.kernel(), scores, 2);
  EXPECT_EQ(fake.launches.size(), 3u);
  EXPECT_THROW(lists.update(loaded.kernel()), sparsec::Error);
  EXPECT_THROW(lists.updateFromScores(loaded.kernel(), scores, 4), sparsec::Error);
}

} // namespace
