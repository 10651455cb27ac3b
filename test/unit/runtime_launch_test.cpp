// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches on the fake driver: variant, grid, parameters, tensor maps, plan, errors, cost.

#include "runtime_heap_counter.h"
#include "runtime_linear_fixture.h"

#include <chrono>
#include <cstdio>
#include <cstring>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

class Launch : public LinearOnFake {
protected:
  void SetUp() override {
    LinearOnFake::SetUp();
    setArguments(128, 192, 1000);
    arguments[x].dense.strides[0] = arguments[y].dense.strides[0] = 1024;
    setPattern({{0, 2}, {1}});
    fake.parameterCount = 12;
  }

  const FakeLaunch &last() { return fake.launches.back(); }
  static uint64_t word(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }
};

TEST_F(Launch, AlignedVariantGetsItsParameters) {
  fake.parameterCount = 14;
  int stream;
  ASSERT_OK(launch(&stream));
  ASSERT_EQ(fake.launches.size(), 1u);
  EXPECT_EQ(last().function, "linear_aligned");
  EXPECT_EQ(last().threads, 384u);
  EXPECT_EQ(last().sharedMemory, 200000u);
  EXPECT_EQ(last().stream, &stream);
  // 2 tile rows x ceil(1000 / (2 * 256)) panels = 4 tiles, each a cluster of 2.
  EXPECT_EQ(last().gridX, 8u);
  EXPECT_EQ(last().gridY * last().gridZ, 1u);
  float half = 0.5f;
  uint32_t halfBits;
  std::memcpy(&halfBits, &half, sizeof(halfBits));
  EXPECT_THAT(last().words, ::testing::ElementsAre(0u, 1u, 2u, // the fake numbers tensor maps in order
                                                   word(rowPtr.data()), word(colIdx.data()), 0x300000u, halfBits, 128u,
                                                   1000u, 0u, 0u, 2u, 2u, 2u));
}

TEST_F(Launch, TensorMapsFollowTheirRecipes) {
  ASSERT_OK(launch());
  ASSERT_EQ(fake.tensorMaps.size(), 3u);
  const FakeTensorMap &values = fake.tensorMaps[0], &dense = fake.tensorMaps[1], &result = fake.tensorMaps[2];
  EXPECT_EQ(values.rank, 3u);
  EXPECT_EQ(values.address, at(0x100000));
  EXPECT_EQ(values.type, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(values.swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(values.promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
  EXPECT_THAT(values.sizes, ::testing::ElementsAre(64u, 64u, 3u));
  EXPECT_THAT(values.strides, ::testing::ElementsAre(128u, 8192u));
  EXPECT_THAT(values.box, ::testing::ElementsAre(64u, 64u, 1u));
  EXPECT_EQ(dense.address, at(0x200000));
  EXPECT_THAT(dense.sizes, ::testing::ElementsAre(1000u, 192u));
  EXPECT_THAT(dense.strides, ::testing::ElementsAre(2048u));
  EXPECT_EQ(result.swizzle, CU_TENSOR_MAP_SWIZZLE_NONE);
  EXPECT_THAT(result.sizes, ::testing::ElementsAre(1000u, 128u));
  EXPECT_THAT(result.box, ::testing::ElementsAre(32u, 64u));
}

/// The map of blocks that K cuts: copies through it bring zeros beyond K.
TEST_F(Launch, EdgeValuesEndAtK) {
  LaunchInfoBuilder info = cudaLinear();
  info.tensorMaps[0].kind = SPARSEC_TENSOR_MAP_BSR_EDGE_VALUES;
  load(info);
  ASSERT_OK(launch()); // K = 192 cuts no block of 64 columns
  EXPECT_THAT(fake.tensorMaps[0].sizes, ::testing::ElementsAre(64u, 64u, 3u));
  for (auto [depth, columns] : {std::pair(129, 1u), std::pair(191, 63u), std::pair(150, 22u)}) {
    arguments[w].blocks.columns = arguments[x].dense.sizes[0] = depth;
    fake.tensorMaps.clear();
    ASSERT_OK(launch());
    EXPECT_THAT(fake.tensorMaps[0].sizes, ::testing::ElementsAre(columns, 64u, 3u));
    EXPECT_THAT(fake.tensorMaps[0].strides, ::testing::ElementsAre(128u, 8192u));
    EXPECT_THAT(fake.tensorMaps[0].box, ::testing::ElementsAre(64u, 64u, 1u));
  }
}

/// A block of 64 x 64 elements of 2 bytes has 64 lines of 128 bytes, whatever its rows are.
TEST_F(Launch, BlocksInLines) {
  LaunchInfoBuilder info = cudaLinear();
  info.tensorMaps[0].kind = SPARSEC_TENSOR_MAP_BSR_LINES;
  info.tensorMaps[0].box[1] = 32;
  load(info);
  ASSERT_OK(launch());
  EXPECT_THAT(fake.tensorMaps[0].sizes, ::testing::ElementsAre(64u, 64u, 3u));
  EXPECT_THAT(fake.tensorMaps[0].strides, ::testing::ElementsAre(128u, 8192u));
  EXPECT_THAT(fake.tensorMaps[0].box, ::testing::ElementsAre(64u, 32u, 1u));
}

/// A box has no more rows than the argument.
TEST_F(Launch, ClippedBoxes) {
  LaunchInfoBuilder info = cudaLinear();
  info.tensorMaps[1].kind = SPARSEC_TENSOR_MAP_DENSE_CLIPPED;
  load(info);
  ASSERT_OK(launch()); // 192 rows
  EXPECT_THAT(fake.tensorMaps[1].box, ::testing::ElementsAre(64u, 64u));
  arguments[w].blocks.columns = arguments[x].dense.sizes[0] = 48;
  fake.tensorMaps.clear();
  ASSERT_OK(launch());
  EXPECT_THAT(fake.tensorMaps[1].sizes, ::testing::ElementsAre(1000u, 48u));
  EXPECT_THAT(fake.tensorMaps[1].box, ::testing::ElementsAre(64u, 48u));
}

TEST_F(Launch, TensorMapTypeIsThatOfTheArgument) {
  LaunchInfoBuilder info = cudaLinear();
  info.arguments[w].dtype = info.arguments[x].dtype = SPARSEC_DTYPE_F16;
  info.arguments[y].dtype = SPARSEC_DTYPE_F32;
  load(info);
  arguments[w].blocks.dtype = arguments[x].dense.dtype = SPARSEC_DTYPE_F16;
  arguments[y].dense.dtype = SPARSEC_DTYPE_F32;
  ASSERT_OK(launch());
  EXPECT_EQ(fake.tensorMaps[0].type, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  EXPECT_EQ(fake.tensorMaps[1].type, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  EXPECT_EQ(fake.tensorMaps[2].type, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
  EXPECT_THAT(fake.tensorMaps[2].strides, ::testing::ElementsAre(4096u));
}

TEST_F(Launch, UnalignedArgumentsTakeTheFallback) {
  auto variantOf = [&] {
    size_t variant = 7;
    EXPECT_OK(chooseVariant(&variant));
    return variant;
  };
  EXPECT_EQ(variantOf(), 0u);
  arguments[x].dense.strides[0] = 1001; // 2002 bytes
  EXPECT_EQ(variantOf(), 1u);
  ASSERT_OK(launch());
  EXPECT_EQ(last().function, "linear_any");
  EXPECT_EQ(last().threads, 128u);
  EXPECT_EQ(last().gridX, 16u); // 2 tile rows x ceil(1000 / 128) panels, no clusters
  EXPECT_THAT(last().words, ::testing::ElementsAre(0x100000u, word(rowPtr.data()), word(colIdx.data()), 0x200000u,
                                                   1001u, 0x400000u, 1024u, 192u, 0u, 0u, 2u, 8u));
  EXPECT_TRUE(fake.tensorMaps.empty());

  arguments[x].dense.strides[0] = 1024;
  for (void **pointer : {&arguments[x].dense.data, &arguments[bias].dense.data, &arguments[y].dense.data,
                         const_cast<void **>(&arguments[w].blocks.values)}) {
    void *aligned = *pointer;
    *pointer = static_cast<char *>(aligned) + 8;
    EXPECT_EQ(variantOf(), 1u);
    *pointer = aligned;
  }
  EXPECT_EQ(variantOf(), 0u);

  // A padded row is aligned, but a tensor store would write the whole last unit of 16 bytes; a tensor load does not.
  arguments[x].dense.sizes[1] = arguments[y].dense.sizes[1] = 999;
  EXPECT_EQ(variantOf(), 1u);
}

TEST_F(Launch, NoVariantForTheAlignment) {
  LaunchInfoBuilder info = cudaLinear();
  info.kernels[0].variant_count = 1;
  load(info);
  arguments[y].dense.strides[0] = 1001;
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT,
                "argument 4 'y': expects pointers and row strides that are multiples of 16 bytes");
  size_t variant = 7;
  EXPECT_STATUS(chooseVariant(&variant), SPARSEC_STATUS_INVALID_ARGUMENT, "argument 4 'y'");
  EXPECT_STATUS(sparsec_launch_variant(nullptr, nullptr, arguments.data(), arguments.size(), &variant),
                SPARSEC_STATUS_INVALID_ARGUMENT, "kernel is NULL");
  EXPECT_STATUS(sparsec_launch_variant(kernel, nullptr, arguments.data(), arguments.size(), nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "out_variant is NULL");
}

TEST_F(Launch, GridIsAtMostWhatIsResident) {
  setArguments(64 * 100, 64, 512 * 4);
  ASSERT_OK(launch());
  EXPECT_EQ(last().gridX, 132u) << "66 clusters of 2 fit";
  fake.activeClusters = 60;
  load(cudaLinear());
  ASSERT_OK(launch());
  EXPECT_EQ(last().gridX, 120u);
  arguments[x].dense.data = at(0x200002);
  ASSERT_OK(launch());
  EXPECT_EQ(last().gridX, 264u) << "132 SMs with 2 CTAs each";
}

TEST_F(Launch, TileRowsNeverCrossABlockRow) {
  LaunchInfoBuilder info = cudaLinear();
  info.arguments[w].block_rows = 160; // 3 tiles of 64 rows
  info.setTile(0, 64, 256);
  load(info);
  setArguments(160 * 2 + 70, 64, 512);
  arguments[w].blocks.block_rows = 160;
  fake.parameterCount = 13;
  ASSERT_OK(launch());
  EXPECT_EQ(last().words[11], 3u + 3u + 2u) << "of the last block row only 70 rows are there";
}

TEST_F(Launch, EmptyResultNeedsNoLaunch) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{0, 100}, {100, 0}, {0, 0}}) {
    setArguments(m, 64, n);
    if (m == 0)
      arguments[w].blocks.full.starts = nullptr;
    EXPECT_OK(launch());
  }
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(Launch, EmptyOperandsAreLaunchedWithValidTensorMaps) {
  setArguments(128, 0, 1000); // K = 0
  arguments[x].dense.data = nullptr;
  arguments[w].blocks.values = nullptr;
  ASSERT_OK(launch());
  ASSERT_EQ(fake.launches.size(), 1u);
  for (int i : {0, 1}) {
    EXPECT_EQ(fake.allocations.count(fake.tensorMaps[i].address), 1u) << "memory of the runtime's own";
    EXPECT_THAT(fake.tensorMaps[i].sizes, ::testing::Each(::testing::Gt(0u)));
    EXPECT_THAT(fake.tensorMaps[i].strides, ::testing::Each(::testing::Gt(0u)));
  }
  EXPECT_EQ(fake.tensorMaps[2].address, at(0x400000));
}

TEST_F(Launch, StridesThatNoAddressDependsOnMayBeAnything) {
  auto variantOf = [&] {
    size_t variant = 7;
    EXPECT_OK(chooseVariant(&variant));
    return variant;
  };
  setArguments(128, 0, 1000); // X is 0 x 1000
  arguments[x].dense.data = at(0x200001);
  arguments[w].blocks.values = at(0x100001);
  for (int64_t stride : {int64_t(0), int64_t(-1), int64_t(333), INT64_MAX}) {
    arguments[x].dense.strides[0] = arguments[x].dense.strides[1] = stride;
    EXPECT_EQ(variantOf(), 0u) << "neither the strides nor the pointers misalign anything";
    fake.tensorMaps.clear();
    ASSERT_OK(launch());
    EXPECT_EQ(fake.allocations.count(fake.tensorMaps[1].address), 1u);
    EXPECT_THAT(fake.tensorMaps[1].sizes, ::testing::ElementsAre(1u, 1u));
    EXPECT_THAT(fake.tensorMaps[1].strides, ::testing::ElementsAre(16u));
  }

  setArguments(128, 1, 1000); // X is 1 x 1000
  for (int64_t stride : {int64_t(0), int64_t(-1), int64_t(333), INT64_MAX}) {
    arguments[x].dense.strides[0] = stride;
    arguments[x].dense.data = at(0x200000);
    EXPECT_EQ(variantOf(), 0u);
    fake.tensorMaps.clear();
    ASSERT_OK(launch());
    EXPECT_THAT(fake.tensorMaps[1].strides, ::testing::ElementsAre(16u));
    arguments[x].dense.data = at(0x200002);
    ASSERT_OK(launch());
    EXPECT_EQ(last().function, "linear_any");
    EXPECT_EQ(last().words[4], 0u) << "rows that are not there begin where the first one does";
  }
}

TEST_F(Launch, PlanFixesGridAndSections) {
  fake.parameterCount = 13;
  ASSERT_OK(createPlan(arguments));
  ASSERT_OK(launch());
  EXPECT_EQ(last().gridX, 8u);
  const auto *offsets = reinterpret_cast<const uint32_t *>(last().words[9]);
  const auto *tiles = reinterpret_cast<const uint32_t (*)[2]>(last().words[10]);
  ASSERT_NE(offsets, nullptr);
  EXPECT_EQ(offsets[0], 0u);
  EXPECT_EQ(offsets[4], 4u) << "4 workers with 4 tiles";
  EXPECT_EQ(tiles[0][0] + tiles[1][0] + tiles[2][0] + tiles[3][0], 2u) << "each of 2 rows twice";

  fake.parameterCount = 12;
  arguments[x].dense.data = at(0x200002); // the fallback has lists of its own
  ASSERT_OK(launch());
  EXPECT_EQ(last().gridX, 16u);
  const auto *fallbackOffsets = reinterpret_cast<const uint32_t *>(last().words[8]);
  EXPECT_NE(fallbackOffsets, offsets);
  EXPECT_EQ(fallbackOffsets[16], 16u);
}

TEST_F(Launch, PlanMustFitTheLaunch) {
  ASSERT_OK(createPlan(arguments));
  setArguments(128, 192, 999);
  arguments[x].dense.strides[0] = arguments[y].dense.strides[0] = 1024;
  setPattern({{0, 2}, {1}});
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT,
                "plan is for M 128, N 1000, K 192, blocks 3, but the launch has M 128, N 999, K 192, blocks 3");
  setPattern({{0}, {1}});
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, "blocks 2");
  sparsec_module_t first = module;
  module = nullptr;
  load(cudaLinear());
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT,
                "plan is for a kernel of another module, 'linear': a plan serves the kernel that it was made with");
  sparsec_module_destroy(first);
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(Launch, PlanOfAnotherKernelIsRefused) {
  LaunchInfoBuilder two = cudaLinear();
  two.kernels.push_back(two.kernels[0]);
  std::strcpy(two.kernels[1].name, "second");
  sparsec_module_destroy(module);
  module = nullptr;
  const ByteVector cubin = makeCubin(two.build());
  ASSERT_OK(sparsec_module_load(device, cubin.data(), cubin.size(), &module));
  ASSERT_OK(sparsec_module_kernel(module, "second", &kernel));
  ASSERT_OK(createPlan(arguments));
  EXPECT_OK(launch());
  ASSERT_OK(sparsec_module_kernel(module, "linear", &kernel));
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT,
                "plan is for kernel 'second', but the launch is of kernel 'linear'");
  EXPECT_EQ(fake.launches.size(), 1u);
}

TEST_F(Launch, DriverErrorsComeBack) {
  for (const char *call : {"cuCtxPushCurrent", "cuTensorMapEncodeTiled", "cuLaunchKernel"}) {
    fake.failures = {{call, CUresult(719)}};
    EXPECT_STATUS(launch(), SPARSEC_STATUS_DRIVER_ERROR, "made to fail");
    EXPECT_TRUE(fake.contextStack().empty()) << call;
  }
  fake.failures.clear();
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(Launch, AllocatesNothingAndIsQuick) {
  ASSERT_OK(createPlan(arguments));
  fake.recording = false;
  sparsec_plan_t unused = nullptr;
  size_t before = heapAllocations();
  ASSERT_EQ(launch(), nullptr);
  arguments[x].dense.data = at(0x200002);
  std::swap(plan, unused);
  ASSERT_EQ(launch(), nullptr);
  std::swap(plan, unused);
  EXPECT_EQ(heapAllocations(), before);

  arguments[x].dense.data = at(0x200000);
  constexpr int repeats = 10000;
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i)
    static_cast<void>(launch());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("host time of a launch without the driver's share: %.2f us\n", seconds / repeats * 1e6);
}

TEST_F(Launch, CallsNothingThatWaitsOrAllocates) {
  fake.calls.clear();
  ASSERT_OK(launch());
  EXPECT_THAT(fake.calls, ::testing::ElementsAre("cuCtxPushCurrent", "cuTensorMapEncodeTiled", "cuTensorMapEncodeTiled",
                                                 "cuTensorMapEncodeTiled", "cuLaunchKernel", "cuCtxPopCurrent"));
}

} // namespace
