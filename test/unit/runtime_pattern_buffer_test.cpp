// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Patterns made from block masks and from the mask region of a kernel.

#include "runtime_attention_fixture.h"
#include "sparsec/runtime.hpp"

#include <span>

using namespace sparsec::test;
using ::testing::ElementsAre;

namespace {

class PatternBuffer : public AttentionOnFake {
protected:
  void TearDown() override {
    sparsec_pattern_buffer_destroy(buffer);
    AttentionOnFake::TearDown();
  }

  void fromMask(sparsec_blocks_t shape, const std::vector<uint8_t> &mask, sparsec_pattern_encoding_t encoding,
                sparsec_device_t target = nullptr) {
    shape.encoding = encoding;
    ASSERT_OK(sparsec_pattern_from_block_mask(&shape, mask.data(), target, &buffer));
    made = viewOf(buffer);
  }
  void fromPredicate(const sparsec_blocks_t &shape) {
    sparsec_pattern_buffer_destroy(buffer);
    const ArgumentArray array(arguments);
    ASSERT_OK(sparsec_pattern_from_predicate(kernel, &shape, array.data(), array.size(), nullptr, &buffer));
    made = viewOf(buffer);
  }

  static std::vector<int32_t> read(const int32_t *data, size_t count) { return {data, data + count}; }

  /// The states that the lists of a checked pattern say.
  std::vector<uint8_t> states() const {
    EXPECT_OK(sparsec_blocks_check(&made));
    std::vector<uint8_t> result(listsOf(made) * blockColumnsOf(made));
    for (auto [lists, state] : {std::pair(made.partial, partial), std::pair(made.full, full)})
      for (int64_t list = 0; lists.starts && list < listsOf(made); ++list)
        for (int32_t i = 0; i < lists.starts[list]; ++i)
          result[list * blockColumnsOf(made) + lists.indices[list * made.capacity + i]] = state;
    return result;
  }

  /// cudaAttention() with small blocks, which shares one id per token among queries and keys.
  void loadMasked(bool causal, int32_t windowLeft, std::vector<int32_t> tokenIds) {
    LaunchInfoBuilder info = cudaAttention();
    info.arguments[pattern].block_rows = 2;
    info.arguments[pattern].block_columns = 3;
    info.attribute(SPARSEC_ATTRIBUTE_CAUSAL).value = causal;
    info.attribute(SPARSEC_ATTRIBUTE_WINDOW_LEFT).value = windowLeft;
    load(info);
    idValues = std::move(tokenIds);
    // The mask loads from ids only: whatever else is there is not looked at.
    arguments.assign(9, 0.0);
    arguments[ids] = sparsec_dense_2d(idValues.data(), SPARSEC_DTYPE_I32, 1, int64_t(idValues.size()));
  }

  sparsec_pattern_buffer_t buffer = nullptr;
  sparsec_blocks_t made = {};
  std::vector<int32_t> idValues;
};

/// 5 queries in blocks of 2, 10 keys in blocks of 3: 3 x 4 blocks; 2 heads with lists of their own.
const sparsec_blocks_t shape = shapeOf(2, 3, 1, 2, 5, 10);
const std::vector<uint8_t> mask = {full,  empty,   partial, full,  empty, empty, empty, empty,
                                   empty, partial, full,    full,  empty, full,  empty, partial,
                                   full,  empty,   empty,   empty, full,  full,  full,  full};

TEST_F(PatternBuffer, IndexArraysFromABlockMask) {
  fromMask(shape, mask, SPARSEC_PATTERN_INDEX_ARRAYS);
  EXPECT_OK(sparsec_blocks_check(&made));
  EXPECT_EQ(made.block_rows, 2);
  EXPECT_EQ(made.block_columns, 3);
  EXPECT_EQ(made.batches, 1);
  EXPECT_EQ(made.heads, 2);
  EXPECT_EQ(made.rows, 5);
  EXPECT_EQ(made.columns, 10);
  EXPECT_EQ(made.device, SPARSEC_PLACE_HOST);
  EXPECT_EQ(made.capacity, 10) << "that of the longer one of the two";
  EXPECT_THAT(read(made.partial.starts, 7), ElementsAre(0, 1, 1, 2, 3, 3, 3));
  EXPECT_THAT(read(made.partial.indices, 3), ElementsAre(2, 1, 3));
  EXPECT_THAT(read(made.full.starts, 7), ElementsAre(0, 2, 2, 4, 5, 6, 10));
  EXPECT_THAT(read(made.full.indices, 10), ElementsAre(0, 3, 2, 3, 1, 0, 0, 1, 2, 3));
}

TEST_F(PatternBuffer, PaddedListsFromABlockMask) {
  fromMask(shape, mask, SPARSEC_PATTERN_PADDED_LISTS);
  EXPECT_OK(sparsec_blocks_check(&made));
  EXPECT_EQ(made.capacity, 4) << "that of the longest list";
  EXPECT_THAT(read(made.partial.starts, 6), ElementsAre(1, 0, 1, 1, 0, 0));
  EXPECT_THAT(read(made.full.starts, 6), ElementsAre(2, 0, 2, 1, 1, 4));
  EXPECT_THAT(read(made.full.indices + 8, 2), ElementsAre(2, 3));
  EXPECT_EQ(states(), mask);
}

TEST_F(PatternBuffer, BooleansAreFullBlocks) {
  const bool booleans[] = {true, false, false, true};
  const sparsec_blocks_t square = shapeOf(64, 64, 1, 1, 128, 128, SPARSEC_PATTERN_PADDED_LISTS);
  ASSERT_OK(sparsec_pattern_from_block_mask(&square, reinterpret_cast<const uint8_t *>(booleans), nullptr, &buffer));
  made = viewOf(buffer);
  EXPECT_THAT(states(), ElementsAre(full, empty, empty, full));
  EXPECT_EQ(made.partial.starts, nullptr) << "no lists at all where all are empty";
}

TEST_F(PatternBuffer, NothingToHold) {
  for (sparsec_pattern_encoding_t encoding : {SPARSEC_PATTERN_INDEX_ARRAYS, SPARSEC_PATTERN_PADDED_LISTS})
    for (const sparsec_blocks_t &sizes : {shapeOf(2, 3, 1, 2, 0, 10), shapeOf(2, 3, 1, 2, 5, 0),
                                          shapeOf(2, 3, 0, 2, 5, 10), shapeOf(2, 3, 1, 2, 5, 10)}) {
      sparsec_pattern_buffer_destroy(buffer);
      fromMask(sizes, std::vector<uint8_t>(24), encoding);
      EXPECT_OK(sparsec_blocks_check(&made));
      EXPECT_EQ(made.capacity, 0);
    }
  EXPECT_STATUS(sparsec_pattern_buffer_view(nullptr, &made), SPARSEC_STATUS_INVALID_ARGUMENT, "buffer is NULL");
  EXPECT_STATUS(sparsec_pattern_buffer_view(buffer, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_view is NULL");
}

TEST_F(PatternBuffer, ListsGoToTheMemoryOfTheDevice) {
  ASSERT_OK(sparsec_device_open_cuda(0, &device));
  const auto before = fake.allocations;
  fromMask(shape, mask, SPARSEC_PATTERN_PADDED_LISTS, device);
  EXPECT_EQ(fake.allocations.size(), before.size() + 1);
  void *memory = const_cast<int32_t *>(made.partial.starts);
  EXPECT_TRUE(fake.allocations.contains(memory) && !before.contains(memory)); // the fake's is host memory
  EXPECT_EQ(states(), mask);
  sparsec_device_destroy(device); // the buffer keeps what it needs
  device = nullptr;
  EXPECT_EQ(states(), mask);
  sparsec_pattern_buffer_destroy(buffer);
  buffer = nullptr;
  EXPECT_TRUE(fake.allocations.empty());
}

TEST_F(PatternBuffer, BadBlockMasksAreRefused) {
  auto refuses = [&](const std::string &message, const sparsec_blocks_t *sizes, const uint8_t *data) {
    sparsec_pattern_buffer_t made = reinterpret_cast<sparsec_pattern_buffer_t>(8);
    EXPECT_STATUS(sparsec_pattern_from_block_mask(sizes, data, nullptr, &made), SPARSEC_STATUS_INVALID_ARGUMENT,
                  message);
    EXPECT_EQ(made, nullptr);
  };
  std::vector<uint8_t> broken = mask;
  broken[17] = 3;
  refuses("host_mask: expects 0 to 2, but element 17 is 3", &shape, broken.data());
  refuses("host_mask is NULL", &shape, nullptr);
  refuses("shape is NULL", nullptr, mask.data());
  sparsec_blocks_t sizes = shape;
  sizes.encoding = sparsec_pattern_encoding_t(5);
  refuses("shape: expects encoding 1 (index arrays) or 2 (padded lists), but got 5", &sizes, mask.data());
  sizes = shape;
  sizes.size = 8;
  refuses("shape: expects a size of at least 112 bytes, but got 8", &sizes, mask.data());
  sizes = shape;
  sizes.block_rows = 0;
  refuses("shape: expects blocks of 1 to 65536 rows and columns, but got 0 x 3", &sizes, mask.data());
  sizes = shape;
  sizes.columns = -1;
  refuses("shape: expects columns of 0 to 2147418111, but got -1", &sizes, mask.data());
  sizes.columns = 2147418112;
  refuses("shape: expects columns of 0 to 2147418111, but got 2147418112", &sizes, mask.data());
  sizes.columns = sizes.rows = 1000000;
  refuses("shape: 1000000 lists of capacity 333334 have more than 2147418111 entries", &sizes, mask.data());
  EXPECT_STATUS(sparsec_pattern_from_block_mask(&shape, mask.data(), nullptr, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "out_buffer is NULL");
}

TEST_F(PatternBuffer, BlocksOfAPredicate) {
  // Tokens of two documents: queries and keys see each other within one.
  loadMasked(false, -1, {0, 0, 0, 0, 0, 1, 1, 1});
  fromPredicate(shapeOf(2, 3, 1, 1, 8, 8, SPARSEC_PATTERN_PADDED_LISTS));
  EXPECT_THAT(states(),
              ElementsAre(full, partial, empty, full, partial, empty, partial, partial, partial, empty, partial, full));
}

TEST_F(PatternBuffer, WhatCausalAndWindowExcludeDoesNotCount) {
  loadMasked(true, -1, {0, 0, 0, 0, 0, 1, 1, 1});
  fromPredicate(shapeOf(2, 3, 1, 1, 8, 8, SPARSEC_PATTERN_PADDED_LISTS));
  // Block (1, 1): queries 2 and 3 see key 3 at most, of their own document; key 5 of the other is in the future.
  EXPECT_THAT(states(),
              ElementsAre(full, empty, empty, full, full, empty, partial, partial, empty, empty, partial, full));
  loadMasked(false, 0, {0, 0, 0, 0, 0, 1, 1, 1}); // keys from the query on
  fromPredicate(shapeOf(2, 3, 1, 1, 8, 8, SPARSEC_PATTERN_PADDED_LISTS));
  EXPECT_THAT(states(),
              ElementsAre(full, partial, empty, full, partial, empty, empty, partial, partial, empty, empty, full));
}

TEST_F(PatternBuffer, HeadsThatThePredicateDoesNotAskFor) {
  // Two batches of three tokens, two heads.
  loadMasked(false, -1, {0, 0, 1, 0, 0, 0});
  arguments[ids] = sparsec_dense_2d(idValues.data(), SPARSEC_DTYPE_I32, 2, 3);
  fromPredicate(shapeOf(2, 3, 2, 2, 3, 3, SPARSEC_PATTERN_PADDED_LISTS));
  EXPECT_THAT(states(), ElementsAre(partial, partial, partial, partial, full, full, full, full));
}

TEST_F(PatternBuffer, PredicatesOfBatchAndHead) {
  loadMasked(false, -1, {});
  LaunchInfoBuilder info = cudaAttention();
  info.steps[4] = {SPARSEC_STEP_I32_COMPARE, 0, 1, 3, 0}; // batch <= head
  info.regions[1].step_count = 1;
  load(info);
  const sparsec_blocks_t sizes = shapeOf(64, 128, 2, 3, 1, 1, SPARSEC_PATTERN_PADDED_LISTS);
  ASSERT_OK(sparsec_pattern_from_predicate(kernel, &sizes, nullptr, 0, nullptr, &buffer));
  made = viewOf(buffer);
  EXPECT_THAT(states(), ElementsAre(full, full, full, empty, full, full));
}

TEST_F(PatternBuffer, BadPredicatesAreRefused) {
  loadMasked(false, -1, {0, 0, 0, 0});
  const sparsec_blocks_t sizes = shapeOf(2, 3, 1, 1, 4, 4);
  auto refuses = [&](const std::string &message, const sparsec_blocks_t &shape) {
    const ArgumentArray array(arguments);
    sparsec_pattern_buffer_t made = reinterpret_cast<sparsec_pattern_buffer_t>(8);
    EXPECT_STATUS(sparsec_pattern_from_predicate(kernel, &shape, array.data(), array.size(), nullptr, &made),
                  SPARSEC_STATUS_INVALID_ARGUMENT, message);
    EXPECT_EQ(made, nullptr);
  };
  refuses("shape: expects blocks of 2 queries x 3 keys, as 'pattern' of the kernel has them, but got 3 x 3",
          shapeOf(3, 3, 1, 1, 4, 4));
  refuses("argument 6 'ids': the mask region at batch 0, head 0, q 0, k 4 reads index 4.000000 of dimension 1, whose "
          "size is 4",
          shapeOf(2, 3, 1, 1, 4, 5));
  arguments[ids].dense.data = nullptr;
  refuses("argument 6 'ids': data is NULL", sizes);
  arguments[ids] = 1.0;
  refuses("argument 6 'ids': expects a dense tensor, but got a scalar", sizes);
  arguments.pop_back();
  refuses("the mask of kernel 'attention' loads from 'ids': expects all 9 arguments, but got 8", sizes);
  EXPECT_STATUS(sparsec_pattern_from_predicate(kernel, &sizes, nullptr, 9, nullptr, &buffer),
                SPARSEC_STATUS_INVALID_ARGUMENT, "expects all 9 arguments, but got 0");
  EXPECT_STATUS(sparsec_pattern_from_predicate(nullptr, &sizes, nullptr, 0, nullptr, &buffer),
                SPARSEC_STATUS_INVALID_ARGUMENT, "kernel is NULL");
  LaunchInfoBuilder info = cudaAttention();
  info.operations[0].region_count = 1;
  load(info);
  refuses("kernel 'attention' has no mask region", sizes);
  load(cudaLinear());
  refuses("kernel 'linear' has no mask region", sizes);
}

TEST_F(PatternBuffer, CppLayer) {
  sparsec::Device gpu = sparsec::Device::cuda();
  ByteVector cubin = makeCubin(cudaAttention().build());
  sparsec::Module loaded(gpu, cubin.data(), cubin.size());
  sparsec::Kernel attention = loaded.kernel();
  sparsec_blocks_t sizes = shapeOf(64, 128, 1, 1, 100, 300);
  sparsec::Pattern fromMask(gpu, sizes, std::vector<uint8_t>(6, full));
  EXPECT_EQ(fromMask.view().capacity, 6);
  EXPECT_THROW(sparsec::Pattern(gpu, sizes, std::vector<uint8_t>(5, full)), sparsec::Error);

  idValues.assign(600, 0);
  std::vector<float> slopeValues(8);
  auto tensor = [](int64_t heads, int64_t length) {
    return sparsec_dense_bhsd(at(0x100000), SPARSEC_DTYPE_BF16, 2, heads, length, 64);
  };
  sparsec_dense_t slopeView = sparsec_dense_1d(slopeValues.data(), SPARSEC_DTYPE_F32, 8);
  sparsec_dense_t idView = sparsec_dense_2d(idValues.data(), SPARSEC_DTYPE_I32, 2, 300);
  sparsec_dense_t lseView = sparsec_dense_3d(at(0x200000), SPARSEC_DTYPE_F32, 2, 8, 100);
  sizes.encoding = SPARSEC_PATTERN_PADDED_LISTS;
  sparsec::Pattern fromPredicate(
      gpu, sizes, attention,
      {tensor(8, 100), tensor(2, 300), tensor(2, 300), fromMask, 1.0, slopeView, idView, tensor(8, 100), lseView});
  EXPECT_EQ(fromPredicate.view().capacity, 3);
  sparsec_dense_t result = tensor(8, 100);
  result.data = at(0x300000);
  attention.launch(nullptr, {tensor(8, 100), tensor(2, 300), tensor(2, 300), fromPredicate, 1.0, slopeView, idView,
                             result, lseView});
  EXPECT_EQ(fake.launches.size(), 1u);
}

} // namespace
