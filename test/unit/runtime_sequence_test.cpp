// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention whose sequences have sizes of their own: the sizes of its arguments, and its plans.

#include "operations/kernel_shape.h"
#include "operations/operation.h"
#include "runtime_attention_fixture.h"
#include "runtime_heap_counter.h"
#include "runtime_sequence_image.h"

using namespace sparsec::test;
using sparsec::runtime::CUresult;
using sparsec::runtime::Problem;

namespace {

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// 3 sequences, 8 heads of which 4 share each of 2 key heads, head dimension 64; where tensors are packed 200 queries
/// and 700 keys, else 100 and 320, in 20 pages of 50.
class Sequences : public AttentionOnFake {
protected:
  void loadWith(const SequenceOperands &wanted) {
    operands = wanted;
    LaunchInfoBuilder info = cudaAttention();
    addSequences(info, operands);
    load(info);
    bind();
    fake.calls.clear();
  }

  void bind() {
    auto tensor = [](uintptr_t address, int64_t batches, int64_t heads, int64_t length) {
      return sparsec_dense_bhsd(at(address), SPARSEC_DTYPE_BF16, batches, heads, length, 64);
    };
    auto numbers = [](uintptr_t address, int64_t count) {
      return sparsec_dense_1d(at(address), SPARSEC_DTYPE_I32, count);
    };
    const bool isPacked = operands.queryStarts;
    const int64_t batches = isPacked ? 1 : 3, queries = isPacked ? 200 : 100;
    auto keyTensor = [&](uintptr_t address) {
      if (operands.pageTable)
        return tensor(address, 50, 2, rowsOfPage);
      return operands.keyStarts ? tensor(address, 1, 2, 700) : tensor(address, 3, 2, 320);
    };
    auto lists = sparsec_blocks_pattern(3, 1, 100, 320, 64, 128);
    arguments = {tensor(0x1000000, batches, 8, queries),
                 keyTensor(0x2000000),
                 keyTensor(0x3000000),
                 lists,
                 0.125,
                 sparsec_dense_1d(at(0x50000), SPARSEC_DTYPE_F32, 8),
                 sparsec_dense_2d(at(0x60000), SPARSEC_DTYPE_I32, 3, 320)};
    if (operands.queryStarts)
      arguments.push_back(numbers(0x70000, 4));
    if (operands.keyStarts)
      arguments.push_back(numbers(0x71000, 4));
    if (operands.keyLengths)
      arguments.push_back(numbers(0x72000, 3));
    if (operands.pageTable)
      arguments.push_back(sparsec_dense_2d(at(0x73000), SPARSEC_DTYPE_I32, 3, 20));
    arguments.push_back(tensor(0x4000000, batches, 8, queries));
    arguments.push_back(sparsec_dense_3d(at(0x5000000), SPARSEC_DTYPE_F32, batches, 8, queries));
  }

  Problem problem() { return sparsec::runtime::problemOf(*kernel, ArgumentArray(arguments).data()); }

  SequenceOperands operands;
};

TEST_F(Sequences, SizesOfTheProblem) {
  loadWith(packed);
  Problem sizes = problem();
  EXPECT_EQ(sizes.batches, 1);
  EXPECT_EQ(sizes.sequences, 3);
  EXPECT_EQ(sizes.bounds, 4);
  EXPECT_EQ(sizes.rows, 200);
  EXPECT_EQ(sizes.depth, 700);
  EXPECT_EQ(sizes.resultRows(), 8 * 200);
  loadWith(paged);
  sizes = problem();
  EXPECT_EQ(sizes.batches, 3);
  EXPECT_EQ(sizes.sequences, 3);
  EXPECT_EQ(sizes.bounds, 4);
  EXPECT_EQ(sizes.pages, 50);
  EXPECT_EQ(sizes.pageRows, 16);
  EXPECT_EQ(sizes.tablePages, 20);
  EXPECT_EQ(sizes.depth, 320);
}

TEST_F(Sequences, SizesThatArgumentsLeaveOpenFollowFromOthers) {
  loadWith({.queryStarts = true, .keyLengths = true, .pageTable = true});
  const ArgumentList all = arguments;
  auto only = [&](std::initializer_list<size_t> there) {
    arguments = ArgumentList(all.size());
    for (size_t i : there)
      arguments[i] = all[i];
    return problem();
  };
  EXPECT_EQ(only({}).sequences, SPARSEC_DYNAMIC);
  EXPECT_EQ(only({}).batches, 1);
  EXPECT_EQ(only({7}).sequences, 3) << "query starts";
  EXPECT_EQ(only({8}).bounds, 4) << "key lengths";
  EXPECT_EQ(only({9}).sequences, 3) << "page table";
  EXPECT_EQ(only({9}).depth, 320) << "the pages' rows are those of the kernel";
  EXPECT_EQ(only({1}).depth, SPARSEC_DYNAMIC);
}

TEST_F(Sequences, PackedSizesAgree) {
  loadWith(packed);
  EXPECT_OK(launch());
  // 8 heads of 200 queries in tiles of 64, and of one more for each start.
  EXPECT_EQ(fake.launches.back().gridX, 8u * (4 + 4));
  fake.calls.clear();
  const std::string agree = " to agree with the other arguments";
  refuses("argument 0 'q': expects size 0 to be 1" + agree, [](auto &a) { a[0].dense.sizes[0] = 3; });
  refuses("argument 1 'k': expects size 0 to be 1" + agree, [](auto &a) { a[1].dense.sizes[0] = 3; });
  refuses("argument 2 'v': expects size 2 to be 700" + agree, [](auto &a) { a[2].dense.sizes[2] = 699; });
  refuses("argument 8 'key_starts': expects size 0 to be 4" + agree, [](auto &a) { a[8].dense.sizes[0] = 5; });
  refuses("argument 7 'query_starts': expects size 0 to be 1" + agree + ", but got 0",
          [](auto &a) { a[7].dense.sizes[0] = a[8].dense.sizes[0] = 0, a[3].blocks.batches = 1; });
  refuses("argument 7 'query_starts': expects sizes of 0 to 2147418111, but size 0 is 2147483647",
          [](auto &a) { a[7].dense.sizes[0] = INT32_MAX, a[3].blocks.batches = 1; });
  refuses("argument 9 'o': expects size 2 to be 200" + agree, [](auto &a) { a[9].dense.sizes[2] = 201; });
  refuses("argument 10 'lse': expects size 0 to be 1" + agree, [](auto &a) { a[10].dense.sizes[0] = 3; });
  refuses("argument 7 'query_starts': expects stride 0 to be 1", [](auto &a) { a[7].dense.strides[0] = 2; });
  refuses("argument 3 'pattern': expects batches to be 1 or 3, but got 2", [](auto &a) { a[3].blocks.batches = 2; });
  arguments[3].blocks.rows = 5000; // those of the longest sequence
  arguments[3].blocks.columns = 10;
  EXPECT_OK(launch());
}

TEST_F(Sequences, SizesOfUnpackedQueries) {
  loadWith({.keyStarts = true, .keyLengths = true});
  EXPECT_OK(launch());
  EXPECT_EQ(fake.launches.back().gridX, 3u * 8 * 2);
  fake.calls.clear();
  refuses("argument 7 'key_starts': expects size 0 to be 4", [](auto &a) { a[7].dense.sizes[0] = 3; });
  refuses("argument 8 'key_lengths': expects size 0 to be 3", [](auto &a) { a[8].dense.sizes[0] = 4; });
  refuses("argument 3 'pattern': expects 2 block rows", [](auto &a) { a[3].blocks.rows = 200; });
  loadWith({.queryStarts = true, .keyLengths = true});
  EXPECT_OK(launch());
  fake.calls.clear();
  refuses("argument 1 'k': expects size 0 to be 3", [](auto &a) { a[1].dense.sizes[0] = 1; });
  refuses("argument 3 'pattern': expects 3 block columns", [](auto &a) { a[3].blocks.columns = 200; });
}

TEST_F(Sequences, PagedSizesAgree) {
  loadWith(paged);
  EXPECT_OK(launch());
  fake.calls.clear();
  refuses("argument 1 'k': expects size 2 to be 16", [](auto &a) { a[1].dense.sizes[2] = 32; });
  refuses("argument 2 'v': expects size 0 to be 50", [](auto &a) { a[2].dense.sizes[0] = 49; });
  refuses("argument 8 'page_table': expects size 0 to be 3", [](auto &a) { a[8].dense.sizes[0] = 2; });
  refuses("argument 3 'pattern': expects 2 block columns, the blocks of 128 in 256 keys",
          [](auto &a) { a[8].dense.sizes[1] = 16; });
  refuses("argument 8 'page_table': expects strides of 0 to", [](auto &a) { a[8].dense.strides[0] = -1; });
  refuses("argument 8 'page_table': expects at most 134213631 pages of 16 keys in a row, but got 134213632",
          [](auto &a) {
            a[8].dense.sizes[1] = 134213632;
            a[3].blocks.columns = SPARSEC_MAX_SIZE;
          });
  arguments[8].dense.sizes[1] = 0; // no pages: no keys
  arguments[3].blocks.columns = 0;
  EXPECT_OK(launch());
}

/// Kernels read the numbers of a sequence for every tile: without sequences there would be none.
TEST_F(Sequences, WithoutSequencesNothingIsLaunched) {
  loadWith(packed);
  ASSERT_OK(launch());
  EXPECT_EQ(fake.launches.size(), 1u);
  fake.launches.clear();
  arguments[7].dense.sizes[0] = arguments[8].dense.sizes[0] = 1;
  arguments[3].blocks.batches = 1;
  EXPECT_OK(launch());
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(Sequences, LaunchesAllocateNothing) {
  for (const SequenceOperands &each : {packed, paged}) {
    loadWith(each);
    ASSERT_OK(launch());
    fake.recording = false;
    const size_t before = heapAllocations();
    ASSERT_OK(launch());
    EXPECT_EQ(heapAllocations(), before);
    fake.recording = true;
  }
}

//===----------------------------------------------------------------------===//
// The checking mode
//===----------------------------------------------------------------------===//

class SequenceValues : public Sequences {
protected:
  /// All memory but that of the numbers is made up.
  void SetUp() override {
    openChecking();
    operands = {.queryStarts = true, .keyStarts = true, .keyLengths = true};
    LaunchInfoBuilder info = cudaAttention();
    addSequences(info, operands);
    info.operands[8].argument = 7; // keys have the starts of the queries
    info.operands.push_back({SPARSEC_ATTENTION_EXTRA, 8, 0, 0});
    ++info.operations[0].operand_count;
    load(info);
    bind();
    arguments[7].dense.data = starts.data();
    arguments[9].dense.data = lengths.data();
    for (size_t i : {1, 2})
      arguments[i].dense.sizes[2] = 200;
    for (sparsec::Argument &argument : arguments)
      if (argument.kind == SPARSEC_ARGUMENT_DENSE)
        fake.memory[argument.dense.data] = {.bytes = 1 << 20};
    fake.calls.clear();
  }

  std::vector<int32_t> starts = {0, 50, 120, 200}, lengths = {50, 0, 80};
};

TEST_F(SequenceValues, AreCopiedAndChecked) {
  ASSERT_OK(launch(at(0x99)));
  EXPECT_EQ(fake.synchronizedStreams, std::vector<void *>{at(0x99)});
  EXPECT_EQ(std::count(fake.calls.begin(), fake.calls.end(), "cuMemcpyDtoHAsync"), 2);
  EXPECT_EQ(fake.launches.size(), 1u);
  lengths[1] = 71;
  const std::string message = "argument 9 'key_lengths': expects lengths of 0 to 70, but element 1 is 71";
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, message);
  EXPECT_EQ(fake.launches.size(), 1u);
  auto options = sized<sparsec_launch_options_t>();
  sparsec_launcher_t launcher = nullptr;
  ASSERT_OK(sparsec_launcher_create(kernel, nullptr, arguments.data(), arguments.size(), &options, &launcher));
  EXPECT_STATUS(sparsec_launcher_run(launcher, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, message);
  sparsec_launcher_destroy(launcher);
  EXPECT_EQ(fake.launches.size(), 1u);
}

TEST_F(SequenceValues, AreNotReadWhileAStreamIsCaptured) {
  fake.capturedStreams = {{at(0x99), 7}};
  lengths[1] = 71;
  EXPECT_OK(launch(at(0x99)));
  EXPECT_EQ(fake.launches.size(), 1u);
  EXPECT_FALSE(fake.called("cuMemcpyDtoHAsync"));
  fake.failures["cuStreamGetCaptureInfo_v2"] = CUresult(1);
  EXPECT_STATUS(launch(), SPARSEC_STATUS_DRIVER_ERROR, "asking whether the stream is captured failed");
}

TEST_F(SequenceValues, AreNotReadWithoutTheMode) {
  sparsec_module_destroy(std::exchange(module, nullptr));
  sparsec_device_destroy(std::exchange(device, nullptr));
  loadWith(packed); // with starts at made-up addresses
  EXPECT_OK(launch());
  EXPECT_FALSE(fake.called("cuStreamGetCaptureInfo_v2"));
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

TEST_F(Sequences, PlansHaveNoLists) {
  constexpr const char *because = ": the lengths of sequences are known on the device alone";
  for (const SequenceOperands &each :
       {packed, paged, SequenceOperands{.keyLengths = true}, SequenceOperands{.keyStarts = true}}) {
    loadWith(each);
    arguments[3].blocks.rows = 200, arguments[3].blocks.columns = 700;
    if (!each.queryStarts)
      arguments[3].blocks.rows = 100;
    if (!each.keyStarts)
      arguments[3].blocks.columns = 320;
    ASSERT_OK(createPlan(arguments));
    EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_FIXED);
    EXPECT_EQ(planInfo().reason, std::string("fixed order") + because);
    EXPECT_OK(launch());
    ASSERT_OK(createPlan(ArgumentList(arguments.size())));
    EXPECT_EQ(planInfo().reason, std::string("fixed order") + because);
    EXPECT_OK(launch());
  }
  LaunchInfoBuilder info = cudaAttention();
  addSequences(info, packed);
  addTileCounter(info);
  load(info);
  ASSERT_OK(createPlan(ArgumentList(arguments.size() + 1)));
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_COUNTER);
  EXPECT_EQ(planInfo().reason, std::string("counter") + because);
}

TEST_F(Sequences, OnePlanServesAllLengths) {
  loadWith(packed);
  ASSERT_OK(createPlan(arguments));
  auto changed = [&](int64_t queries, int64_t keys, int64_t sequences) {
    bind();
    for (size_t i : {0, 9, 10})
      arguments[i].dense.sizes[2] = queries;
    for (size_t i : {1, 2})
      arguments[i].dense.sizes[2] = keys;
    for (size_t i : {7, 8})
      arguments[i].dense.sizes[0] = sequences + 1;
    for (size_t i : {0, 1, 2, 9})
      arguments[i].dense.strides[1] = arguments[i].dense.sizes[2] * 64;
    arguments[10].dense.strides[1] = queries;
    arguments[3].blocks.batches = 1;
    arguments[10].dense.strides[0] = queries * 8;
  };
  changed(300, 900, 7);
  EXPECT_OK(launch());
  const ByteVector saved = savePlan();
  ASSERT_OK(loadPlan(saved));
  EXPECT_OK(launch());
  changed(100, 200, 1);
  EXPECT_OK(launch());
  for (size_t i : {0, 9, 10})
    arguments[i].dense.sizes[1] = 4;
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT,
                "plan is for batches 1, heads 8, queries open, keys open, but the launch has batches 1, heads 4, "
                "queries 100, keys 200");

  loadWith({.keyLengths = true});
  ASSERT_OK(createPlan(arguments));
  for (size_t i : {1, 2})
    arguments[i].dense.sizes[2] = 300; // keys
  EXPECT_OK(launch());
  for (size_t i : {0, 8, 9})
    arguments[i].dense.sizes[2] = 90;
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, "plan is for batches 3, heads 8, queries 100, keys open");
}

TEST_F(Sequences, StaticSizesOfSavedPlansAreOpenToo) {
  LaunchInfoBuilder info = cudaAttention();
  addSequences(info, packed);
  info.arguments[0].sizes[2] = 200;
  load(info);
  operands = packed;
  bind();
  ASSERT_OK(createPlan(arguments));
  ASSERT_OK(loadPlan(savePlan()));
  EXPECT_OK(launch());
}

TEST_F(Sequences, WorkspacesFollowTheArguments) {
  LaunchInfoBuilder info = cudaAttention();
  addSequences(info, packed);
  info.workspaces = {{4, 1, 4, SPARSEC_LIFETIME_LAUNCH, 0, SPARSEC_WORKSPACE_SCRATCH}};
  info.variants[0].workspace_count = 1;
  info.extents.resize(5, {0, SPARSEC_FIELD_SIZE, 2, 64, 64, 0});
  load(info);
  operands = packed;
  bind();
  ASSERT_OK(createPlan(arguments));
  EXPECT_EQ(planInfo().workspace_bytes, SPARSEC_DYNAMIC);
  EXPECT_EQ(workspaceBytes(arguments), size_t(sparsec::runtime::keptWorkspaceBytes) + 16u)
      << "4 tiles of 4 bytes behind what is kept";
}

} // namespace
