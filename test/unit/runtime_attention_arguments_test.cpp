// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments that a launch of attention passes on, and those that it refuses: every case is a good launch with one thing
// wrong.

#include "runtime_attention_fixture.h"
#include "runtime_heap_counter.h"

#include <cmath>
#include <functional>

using namespace sparsec::test;

namespace {

class AttentionArguments : public AttentionOnFake {
protected:
  void SetUp() override {
    load(cudaAttention());
    auto indices = [](uintptr_t address) { return static_cast<const int32_t *>(at(address)); };
    sparsec_blocks_t lists = sparsec_blocks_pattern(1, 8, 100, 300, 64, 128);
    lists.encoding = SPARSEC_PATTERN_PADDED_LISTS;
    lists.capacity = 5;
    lists.partial = {indices(0x10000), indices(0x20000)};
    lists.full = {indices(0x30000), indices(0x40000)};
    setArguments(lists);
    fake.calls.clear();
  }

  void accepts(const std::function<void(ArgumentList &)> &change) {
    auto good = arguments;
    change(arguments);
    EXPECT_OK(launch());
    arguments = good;
    fake.calls.clear();
  }
};

TEST_F(AttentionArguments, ParametersAreFilledInTheOrderOfTheRecipe) {
  fake.parameterCount = 35;
  arguments[pattern].blocks.full = {nullptr, nullptr};
  ASSERT_OK(launch());
  ASSERT_EQ(fake.launches.size(), 1u);
  EXPECT_EQ(fake.launches[0].function, "attention_any");
  EXPECT_EQ(fake.launches[0].gridX, 2u * 8 * 2) << "one worker for each of 2 x 8 heads of 2 tiles";
  const uint64_t scaleBits = 0x3e000000;
  EXPECT_THAT(fake.launches[0].words,
              ::testing::ElementsAre(0x100000, 51200, 6400, 64, 0x200000, 38400, 19200, 64, 0x300000, 38400, 19200, 64,
                                     0x400000, 51200, 6400, 64, 8, 100, 2, 300, 0x500000, 800, 100, scaleBits, 2, 1, 8,
                                     5, 0x10000, 0x20000, 0, 0, 0x50000, 0x60000, 300));
}

TEST_F(AttentionArguments, OrdinaryOnesAreAccepted) {
  accepts([](auto &) {});
  accepts([](auto &a) { // batch-sequence-head
    a[q].dense = sparsec_dense_bshd(at(0x100000), SPARSEC_DTYPE_BF16, 2, 8, 100, 64);
    a[o].dense = sparsec_dense_bshd(at(0x400000), SPARSEC_DTYPE_BF16, 2, 8, 100, 64);
  });
  accepts([](auto &a) { a[k].dense.strides[0] = a[v].dense.strides[0] = 0; }); // the same keys in all batches
  accepts([](auto &a) { a[pattern].blocks.batches = 2; });
  accepts([](auto &a) { a[pattern].blocks.heads = 1; });
  accepts([](auto &a) { a[pattern].blocks.encoding = SPARSEC_PATTERN_INDEX_ARRAYS; });
  accepts([](auto &a) { // empty lists need no indices
    a[pattern].blocks.partial = a[pattern].blocks.full = {nullptr, nullptr};
  });
  accepts([](auto &a) { // no keys: every row is empty
    a[k].dense.sizes[2] = a[v].dense.sizes[2] = a[pattern].blocks.columns = 0;
    a[k].dense.data = a[v].dense.data = nullptr;
  });
  accepts([](auto &a) { // the same, and no stride means anything
    a[k].dense.sizes[2] = a[v].dense.sizes[2] = a[pattern].blocks.columns = 0;
    for (int64_t &stride : a[k].dense.strides)
      stride = 0;
    for (int64_t &stride : a[v].dense.strides)
      stride = -1;
  });
  accepts([](auto &a) { // one query and one batch, whose strides mean nothing
    for (int tensor : {q, k, v, o, lse})
      a[tensor].dense.sizes[0] = 1;
    for (int tensor : {q, o, lse})
      a[tensor].dense.sizes[2] = 1;
    a[pattern].blocks.rows = 1;
    a[q].dense.strides[0] = a[q].dense.strides[2] = a[o].dense.strides[0] = a[o].dense.strides[2] = -1;
    a[lse].dense.strides[0] = INT64_MAX;
    a[lse].dense.strides[2] = 0;
  });
  accepts([](auto &a) { // an empty operand of a region
    a[ids].dense.sizes[0] = 0;
    a[ids].dense.strides[0] = a[ids].dense.strides[1] = -1;
  });
}

TEST_F(AttentionArguments, NothingToDoIsNotLaunched) {
  arguments[q].dense.sizes[2] = arguments[o].dense.sizes[2] = arguments[lse].dense.sizes[2] = 0;
  arguments[pattern].blocks.rows = 0;
  EXPECT_OK(launch());
  arguments[o].dense.strides[3] = arguments[lse].dense.strides[2] = arguments[lse].dense.strides[1] = 0;
  EXPECT_OK(launch()) << "strides of an empty result mean nothing";
  EXPECT_TRUE(fake.calls.empty());
}

TEST_F(AttentionArguments, CountAndKinds) {
  refuses("kernel 'attention' expects 9 arguments (q, k, v, pattern, scale, slopes, ids, o, lse), but got 8",
          [](auto &a) { a.pop_back(); });
  refuses("argument 3 'pattern': expects a block pattern, but got a scalar", [](auto &a) { a[pattern] = a[scale]; });
  refuses("argument 0 'q': expects a dense tensor, but got a block pattern", [](auto &a) { a[q] = a[pattern]; });
}

TEST_F(AttentionArguments, Tensors) {
  refuses("argument 1 'k': expects elements of type bf16, but got f16",
          [](auto &a) { a[k].dense.dtype = SPARSEC_DTYPE_F16; });
  refuses("argument 0 'q': expects rank 4, but got 3", [](auto &a) { a[q].dense.rank = 3; });
  refuses("argument 0 'q': expects size 3 to be 64, but got 128", [](auto &a) { a[q].dense.sizes[3] = 128; });
  refuses("argument 1 'k': expects size 0 to be 2 to agree", [](auto &a) { a[k].dense.sizes[0] = 1; });
  refuses("argument 1 'k': expects size 1 (heads) to divide the 8 heads of 'q', but got 3",
          [](auto &a) { a[k].dense.sizes[1] = a[v].dense.sizes[1] = 3; });
  refuses("to divide the 8 heads of 'q', but got 0", [](auto &a) { a[k].dense.sizes[1] = a[v].dense.sizes[1] = 0; });
  refuses("argument 2 'v': expects size 1 to be 2", [](auto &a) { a[v].dense.sizes[1] = 4; });
  refuses("argument 2 'v': expects size 2 to be 300", [](auto &a) { a[v].dense.sizes[2] = 299; });
  refuses("argument 7 'o': expects size 2 to be 100", [](auto &a) { a[o].dense.sizes[2] = 101; });
  refuses("argument 7 'o': expects size 1 to be 8", [](auto &a) { a[o].dense.sizes[1] = 2; });
  refuses("argument 8 'lse': expects size 2 to be 100", [](auto &a) { a[lse].dense.sizes[2] = 99; });
  refuses("argument 0 'q': expects sizes of 0 to 2147418111, but size 2 is 4294967296",
          [](auto &a) { a[q].dense.sizes[2] = int64_t(1) << 32; });
  refuses("argument 0 'q': data is NULL", [](auto &a) { a[q].dense.data = nullptr; });
  refuses("argument 8 'lse': data is NULL", [](auto &a) { a[lse].dense.data = nullptr; });
  refuses("argument 2 'v': data is not aligned to the 2 bytes", [](auto &a) { a[v].dense.data = at(0x300001); });
  refuses("argument 5 'slopes': data is NULL", [](auto &a) { a[slopes].dense.data = nullptr; });
  refuses("argument 6 'ids': expects elements of type i32, but got f32",
          [](auto &a) { a[ids].dense.dtype = SPARSEC_DTYPE_F32; });
}

TEST_F(AttentionArguments, Strides) {
  refuses("argument 0 'q': expects stride 3 to be 1 (contiguous), but got 2",
          [](auto &a) { a[q].dense.strides[3] = 2; });
  refuses("argument 1 'k': expects stride 2 to be at least its width, 64, and at most 2147483647, but got 63",
          [](auto &a) { a[k].dense.strides[2] = 63; });
  refuses("but got 2147483648", [](auto &a) { a[k].dense.strides[2] = int64_t(1) << 31; });
  refuses("argument 1 'k': expects strides of 0 to 274877906944, but stride 0 is -1",
          [](auto &a) { a[k].dense.strides[0] = -1; });
  refuses("but stride 1 is 274877906945", [](auto &a) { a[k].dense.strides[1] = (int64_t(1) << 38) + 1; });
  refuses("argument 6 'ids': expects strides of 0 to 274877906944, but stride 0 is -1",
          [](auto &a) { a[ids].dense.strides[0] = -1; });
  refuses("argument 8 'lse': expects strides of 0 to", [](auto &a) { a[lse].dense.strides[1] = -1; });
  refuses("argument 7 'o': expects stride 1 to be at least 6400, so that no elements of a result share memory, but got "
          "6399",
          [](auto &a) { a[o].dense.strides[1] = 6399; });
  refuses("argument 7 'o': expects stride 0 to be at least 51200", [](auto &a) { a[o].dense.strides[0] = 51199; });
  refuses("argument 8 'lse': expects stride 0 to be at least", [](auto &a) { a[lse].dense.strides[0] = 0; });
  refuses("argument 8 'lse': expects stride 0 to be at least 800",
          [](auto &a) { a[lse].dense.strides[0] = a[lse].dense.strides[1] = 100; });
}

TEST_F(AttentionArguments, RowsBeyond31Bits) {
  refuses("argument 0 'q': expects batches * heads * queries of at most 2147418111, but got 2 * 1000000000 * 100",
          [](auto &a) { a[q].dense.sizes[1] = 1000000000; });
}

TEST_F(AttentionArguments, Scale) {
  refuses("argument 4 'scale': expects a finite scale, but got nan", [](auto &a) { a[scale].scalar = NAN; });
  refuses("expects a finite scale, but got -inf", [](auto &a) { a[scale].scalar = -INFINITY; });
}

TEST_F(AttentionArguments, Sinks) {
  LaunchInfoBuilder info = cudaAttention();
  info.operands[slopes].slot = SPARSEC_ATTENTION_SINKS;
  info.operations[0].region_first = 1; // the mask, which does not load from them
  info.operations[0].region_count = 1;
  load(info);
  accepts([](auto &) {});
  refuses("argument 5 'slopes': expects size 0 to be 8 to agree with the other arguments, but got 7",
          [](auto &a) { a[slopes].dense.sizes[0] = 7; });
  refuses("argument 5 'slopes': expects elements of type f32, but got bf16",
          [](auto &a) { a[slopes].dense.dtype = SPARSEC_DTYPE_BF16; });
  refuses("argument 5 'slopes': expects stride 0 to be 1", [](auto &a) { a[slopes].dense.strides[0] = 2; });
  refuses("argument 5 'slopes': data is NULL", [](auto &a) { a[slopes].dense.data = nullptr; });
}

TEST_F(AttentionArguments, RowsOfValuesOfAnotherSize) {
  LaunchInfoBuilder info = cudaAttention();
  info.attributes.push_back({SPARSEC_ATTRIBUTE_VALUE_DIMENSION, 0, 128});
  info.operations[0].attribute_count = 5;
  for (int tensor : {v, o})
    info.arguments[tensor].sizes[3] = SPARSEC_DYNAMIC;
  load(info);
  fake.calls.clear();
  refuses("argument 2 'v': expects size 3 to be 128 to agree", [](auto &) {});
  arguments[v].dense = sparsec_dense_bhsd(at(0x300000), SPARSEC_DTYPE_BF16, 2, 2, 300, 128);
  refuses("argument 7 'o': expects size 3 to be 128 to agree", [](auto &) {});
  arguments[o].dense = sparsec_dense_bhsd(at(0x400000), SPARSEC_DTYPE_BF16, 2, 8, 100, 128);
  accepts([](auto &) {});
  refuses("argument 1 'k': expects size 3 to be 64", [](auto &a) { a[k].dense.sizes[3] = 128; });
}

TEST_F(AttentionArguments, Pattern) {
  auto change = [&](const std::string &message, const std::function<void(sparsec_blocks_t &)> &body) {
    refuses("argument 3 'pattern': " + message, [&](auto &a) { body(a[pattern].blocks); });
  };
  change("expects blocks of 64 queries x 128 keys, but got 128 x 128", [](auto &p) { p.block_rows = 128; });
  change("expects blocks of 64 queries x 128 keys, but got 64 x 64", [](auto &p) { p.block_columns = 64; });
  change("expects batches to be 1 or 2, but got 3", [](auto &p) { p.batches = 3; });
  change("expects heads to be 1 or 8, but got 2", [](auto &p) { p.heads = 2; });
  change("expects 2 block rows, the blocks of 64 in 100 queries, but its 129 rows have 3",
         [](auto &p) { p.rows = 129; });
  change("expects 3 block columns, the blocks of 128 in 300 keys, but its 256 columns have 2",
         [](auto &p) { p.columns = 256; });
  change("expects capacity of 0 to 2147418111, but got -1", [](auto &p) { p.capacity = -1; });
  change("16 lists of capacity 200000000 have more than 2147418111 entries", [](auto &p) { p.capacity = 200000000; });
  change("expects encoding 1 (index arrays) or 2 (padded lists), but got 3",
         [](auto &p) { p.encoding = sparsec_pattern_encoding_t(3); });
  change("expects flags of 0 or 1, but got 3", [](auto &p) { p.flags = 3; });
  change("partial.indices is NULL", [](auto &p) { p.partial.indices = nullptr; });
  change("full.indices is NULL", [](auto &p) { p.full.indices = nullptr; });
  change("full.starts is not aligned to 4 bytes",
         [](auto &p) { p.full.starts = static_cast<const int32_t *>(at(0x10002)); });
}

/// 16 lists of at most 5 of 3 key blocks in the memory of the (fake) device.
class CheckedPattern : public AttentionArguments {
protected:
  void SetUp() override {
    AttentionArguments::SetUp();
    sparsec_blocks_t &lists = arguments[pattern].blocks;
    lists.flags = SPARSEC_BLOCKS_CHECK_LISTS;
    lists.partial = {counts.data(), indices.data()};
    lists.full = {};
    fake.synchronizedStreams.clear();
  }

  void refusesLists(const std::string &message) {
    EXPECT_STATUS(launch(&stream), SPARSEC_STATUS_INVALID_PATTERN, message);
    EXPECT_TRUE(fake.launches.empty());
  }

  int stream = 0;
  std::vector<int32_t> counts = std::vector<int32_t>(16, 1), indices = std::vector<int32_t>(16 * 5);
};

TEST_F(CheckedPattern, GoodListsAreLaunchedAfterTheStreamHasMadeThem) {
  ASSERT_OK(launch(&stream));
  EXPECT_EQ(fake.launches.size(), 1u);
  EXPECT_EQ(fake.synchronizedStreams, std::vector<void *>{&stream});
  auto position = [&](const char *call) { return std::find(fake.calls.begin(), fake.calls.end(), call); };
  EXPECT_LT(position("cuMemcpyDtoHAsync"), position("cuStreamSynchronize"));
  EXPECT_LT(position("cuStreamSynchronize"), position("cuLaunchKernel"));
}

TEST_F(CheckedPattern, PaddedLists) {
  counts[9] = 6;
  refusesLists(
      "argument 3 'pattern': expects partial.starts[9] (batch 0, head 4, block row 1) to be 0 to the capacity, 5, but "
      "got 6");
  counts[9] = 2;
  refusesLists(
      "argument 3 'pattern': block column 0 is repeated at partial.indices[46] (batch 0, head 4, block row 1)");
  indices[46] = 3;
  refusesLists(
      "argument 3 'pattern': expects partial.indices[46] (batch 0, head 4, block row 1) to be 0 to 2, but got 3");
  indices[46] = 2;
  ASSERT_OK(launch(&stream));
  fake.launches.clear();
  arguments[pattern].blocks.full = arguments[pattern].blocks.partial;
  refusesLists("argument 3 'pattern': block column 0 at full.indices[0] (batch 0, head 0, block row 0) is in the "
               "partial list too");
}

TEST_F(CheckedPattern, IndexArrays) {
  const std::vector<int32_t> starts = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  indices = {1, 7};
  sparsec_blocks_t &lists = arguments[pattern].blocks;
  lists.encoding = SPARSEC_PATTERN_INDEX_ARRAYS;
  lists.capacity = 2;
  lists.partial = {};
  lists.full = {starts.data(), indices.data()};
  refusesLists("argument 3 'pattern': expects full.indices[1] (batch 0, head 7, block row 1) to be 0 to 2, but got 7");
  indices[1] = 0;
  ASSERT_OK(launch(&stream));
  lists.flags = 0;
  indices[1] = 7;
  fake.calls.clear();
  ASSERT_OK(launch(&stream));
  EXPECT_FALSE(fake.called("cuStreamSynchronize")) << "nothing waits that is not asked to";
}

TEST_F(CheckedPattern, FailuresOfTheDriverAreReported) {
  for (const char *call : {"cuStreamSynchronize", "cuMemcpyDtoHAsync"}) {
    fake.failures = {{call, sparsec::runtime::CUresult(700)}};
    EXPECT_STATUS(launch(&stream), SPARSEC_STATUS_DRIVER_ERROR, "CUDA_ERROR_FAKE");
    EXPECT_TRUE(fake.launches.empty());
  }
}

TEST_F(AttentionArguments, AlignmentOfAllStridesChoosesTheVariant) {
  LaunchInfoBuilder info = cudaAttention();
  info.addVariant();
  info.requireRowsAligned(0, 16);
  load(info);
  auto variant = [&] {
    size_t number = 99;
    EXPECT_OK(chooseVariant(&number));
    return number;
  };
  arguments[ids].dense.strides[0] = 301; // read element by element
  arguments[slopes].dense.data = at(0x50004);
  arguments[o].dense.strides[0] *= 4; // room between the heads
  arguments[o].dense.strides[1] *= 2;
  EXPECT_EQ(variant(), 0u);
  for (int tensor : {q, k, v, o})
    for (int d : {0, 1, 2}) {
      ++arguments[tensor].dense.strides[d];
      EXPECT_EQ(variant(), 1u) << tensor << " " << d;
      --arguments[tensor].dense.strides[d];
    }
  for (int tensor : {q, k, v, o}) {
    void *aligned = arguments[tensor].dense.data;
    arguments[tensor].dense.data = static_cast<char *>(aligned) + 2;
    EXPECT_EQ(variant(), 1u) << tensor;
    arguments[tensor].dense.data = aligned;
  }
  EXPECT_EQ(variant(), 0u);
  size_t number;
  arguments[scale].scalar = INFINITY;
  EXPECT_STATUS(chooseVariant(&number), SPARSEC_STATUS_INVALID_ARGUMENT, "finite scale");
}

TEST_F(AttentionArguments, LaunchesAllocateNothingAndCallNothingThatWaits) {
  ASSERT_OK(launch());
  EXPECT_THAT(fake.calls, ::testing::ElementsAre("cuCtxPushCurrent", "cuLaunchKernel", "cuCtxPopCurrent"));
  fake.recording = false;
  size_t before = heapAllocations();
  ASSERT_OK(launch());
  EXPECT_EQ(heapAllocations(), before);
}

TEST_F(AttentionArguments, KernelTellsItsOperation) {
  EXPECT_EQ(sparsec_kernel_operation(kernel)->kind, uint32_t(SPARSEC_OPERATION_ATTENTION));
  EXPECT_EQ(sparsec_kernel_operand(kernel, lse)->slot, uint32_t(SPARSEC_ATTENTION_LSE));
  EXPECT_EQ(sparsec_kernel_operand(kernel, lse + 1), nullptr);
  EXPECT_EQ(sparsec_kernel_operation(nullptr), nullptr);
  EXPECT_EQ(sparsec_kernel_operand(nullptr, 0), nullptr);
}

TEST_F(AttentionArguments, AnArgumentMayBeTwoOperands) {
  LaunchInfoBuilder info = cudaAttention();
  info.operandOf(k).argument = q; // Q = K
  info.operands.push_back({SPARSEC_ATTENTION_EXTRA, k, 0, 0});
  info.operations[0].operand_count = 10;
  load(info);
  fake.calls.clear();
  arguments[q].dense = sparsec_dense_bhsd(at(0x1000000), SPARSEC_DTYPE_BF16, 2, 8, 100, 64);
  arguments[v].dense = sparsec_dense_bhsd(at(0x3000000), SPARSEC_DTYPE_BF16, 2, 8, 100, 64);
  refuses("argument 3 'pattern': expects 1 block columns, the blocks of 128 in 100 keys", [](auto &) {});
}

} // namespace
