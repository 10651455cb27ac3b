// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the options of a plan: streams, allocators, and arguments and sizes that are left open.

#include "runtime_linear_fixture.h"

#include <set>

using namespace sparsec::test;

namespace {

/// An allocator that counts, on memory of its own.
class TestAllocator {
public:
  explicit TestAllocator(size_t misalignment = 0) : misalignment(misalignment) {}
  ~TestAllocator() { EXPECT_TRUE(allocated.empty()) << "every allocation must be freed"; }

  sparsec_allocator_t handle() {
    return {sizeof(sparsec_allocator_t), this,
            [](void *self, size_t bytes, void *stream) {
              return static_cast<TestAllocator *>(self)->allocate(bytes, stream);
            },
            [](void *self, void *memory, size_t bytes, void *stream) {
              static_cast<TestAllocator *>(self)->free(memory, bytes, stream);
            }};
  }

  bool isEmpty = false; // has no memory to give
  int calls = 0;
  std::map<void *, std::pair<size_t, void *>> allocated; // bytes and stream

private:
  void *allocate(size_t bytes, void *stream) {
    ++calls;
    if (isEmpty)
      return nullptr;
    auto *memory = static_cast<char *>(std::aligned_alloc(256, (bytes + 511) / 256 * 256)) + misalignment;
    allocated[memory] = {bytes, stream};
    return memory;
  }
  void free(void *memory, size_t bytes, void *stream) {
    EXPECT_EQ(allocated[memory], std::pair(bytes, stream)) << "as it was allocated";
    allocated.erase(memory);
    std::free(static_cast<char *>(memory) - misalignment);
  }

  size_t misalignment;
};

class PlanOptions : public LinearOnFake {
protected:
  void SetUp() override {
    LinearOnFake::SetUp();
    setArguments(128, 192, 1000);
    setPattern({{0, 2}, {1}});
    options.stream = &streamItself;
    fake.streamCalls.clear();
  }

  int streamItself = 0;
  sparsec_plan_options_t options = sized<sparsec_plan_options_t>();
};

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

TEST_F(PlanOptions, EverythingGoesToTheStreamInOrder) {
  ASSERT_OK(createPlan(arguments, options));
  auto on = [&](const char *call) { return std::pair(std::string(call), options.stream); };
  EXPECT_THAT(fake.streamCalls,
              ::testing::ElementsAre(on("cuMemcpyDtoHAsync"), on("cuMemcpyDtoHAsync"), on("cuStreamSynchronize"),
                                     on("cuMemcpyHtoDAsync"), on("cuMemcpyHtoDAsync"), on("cuMemcpyHtoDAsync"),
                                     on("cuMemcpyHtoDAsync"), on("cuStreamSynchronize")));
}

TEST_F(PlanOptions, ListsAreReadBehindTheirProducer) {
  const std::vector<int32_t> good = colIdx;
  colIdx.assign(colIdx.size(), -1);
  auto produce = [&] { colIdx = good; };
  fake.pending[options.stream] = produce;
  EXPECT_OK(createPlan(arguments, options));
  // Who does not name the producer's stream reads what was there before.
  colIdx.assign(colIdx.size(), -1);
  fake.pending[options.stream] = produce;
  refusesPlan(SPARSEC_STATUS_INVALID_PATTERN, "argument 0 'w': expects full.indices[0] (block row 0)", arguments);
}

/// Nothing is copied, so that nothing waits.
TEST_F(PlanOptions, PlansWithoutListsTouchNoStream) {
  arguments[w] = {};
  ASSERT_OK(createPlan(arguments, options));
  EXPECT_TRUE(fake.streamCalls.empty());
}

//===----------------------------------------------------------------------===//
// Allocators
//===----------------------------------------------------------------------===//

TEST_F(PlanOptions, MemoryComesFromTheAllocator) {
  TestAllocator allocator;
  const sparsec_allocator_t handle = allocator.handle();
  options.allocator = &handle;
  size_t before = fake.allocations.size();
  ASSERT_OK(createPlan(arguments, options));
  EXPECT_EQ(fake.allocations.size(), before) << "none of the device's own";
  ASSERT_EQ(allocator.allocated.size(), 1u);
  EXPECT_EQ(allocator.allocated.begin()->second,
            std::pair(size_t(planInfo(0).bytes + planInfo(1).bytes), options.stream));
  ASSERT_OK(launch());
  sparsec_plan_destroy(std::exchange(plan, nullptr));
  EXPECT_TRUE(allocator.allocated.empty());
}

TEST_F(PlanOptions, PlansWithoutListsAllocateNothing) {
  TestAllocator allocator;
  const sparsec_allocator_t handle = allocator.handle();
  options.allocator = &handle;
  arguments[w] = {};
  ASSERT_OK(createPlan(arguments, options));
  EXPECT_EQ(allocator.calls, 0);
}

TEST_F(PlanOptions, AllocationsAreFreedWhenAPlanFails) {
  TestAllocator allocator;
  const sparsec_allocator_t handle = allocator.handle();
  options.allocator = &handle;
  for (const char *call : {"cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync", "cuStreamSynchronize"}) {
    fake.failures = {{call, sparsec::runtime::CUDA_ERROR_NO_DEVICE}};
    refusesPlan(SPARSEC_STATUS_DRIVER_ERROR, "made to fail", arguments, options);
    EXPECT_TRUE(allocator.allocated.empty()) << call;
  }
  EXPECT_EQ(allocator.calls, 1) << "by the one whose upload fails";
}

TEST_F(PlanOptions, BadAllocatorsAreRefused) {
  TestAllocator allocator, misaligned(128);
  allocator.isEmpty = true;
  sparsec_allocator_t handle = allocator.handle();
  options.allocator = &handle;
  refusesPlan(SPARSEC_STATUS_OUT_OF_MEMORY, "the allocator has no 1024 bytes of device memory", arguments, options);
  handle = misaligned.handle();
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, "allocator: expects memory that is aligned to 256 bytes", arguments,
              options);
  handle.free = nullptr;
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, "allocator: free is NULL", arguments, options);
  handle.allocate = nullptr;
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, "allocator: allocate is NULL", arguments, options);
  handle.size = 31;
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, "allocator: expects a size of at least 32 bytes, but got 31", arguments,
              options);
}

//===----------------------------------------------------------------------===//
// Open arguments and sizes
//===----------------------------------------------------------------------===//

TEST_F(PlanOptions, OpenWidthServesEveryLaunch) {
  ArgumentList open = arguments;
  open[x].dense = sparsec_dense_2d(nullptr, SPARSEC_DTYPE_BF16, 192, SPARSEC_DYNAMIC);
  open[y] = {};
  ASSERT_OK(createPlan(open, options));
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(planInfo().tiles, SPARSEC_DYNAMIC);
  EXPECT_OK(launch());
  for (int tensor : {x, y})
    arguments[tensor].dense.sizes[1] = 512;
  EXPECT_OK(launch());
  setPattern({{0}, {1}});
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT,
                "plan is for M 128, N open, K 192, blocks 3, but the launch has M 128, N 512, K 192, blocks 2");
}

TEST_F(PlanOptions, EverySizeThatIsKnownIsCompared) {
  ArgumentList open(arguments.size());
  open[y] = arguments[y];
  ASSERT_OK(createPlan(open, options));
  EXPECT_OK(launch());
  arguments[y].dense.sizes[1] = arguments[x].dense.sizes[1] = 500;
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, "plan is for M 128, N 1000, K open, blocks open, but");
}

TEST_F(PlanOptions, AllOpen) {
  options.arguments = nullptr;
  ASSERT_OK(sparsec_plan_create(kernel, &options, &plan));
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_FIXED);
  EXPECT_OK(launch());
  setArguments(64, 64, 8);
  EXPECT_OK(launch());
}

/// A size that the kernel fixes is known although every argument is open.
TEST_F(PlanOptions, SizesOfTheKernelAreKnown) {
  LaunchInfoBuilder info = cudaLinear();
  info.arguments[x].sizes[1] = 1000;
  load(info);
  arguments[x] = arguments[y] = arguments[bias] = {};
  ASSERT_OK(createPlan(arguments, options));
  EXPECT_EQ(planInfo().tiles, 4);
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_LISTS);
}

/// Only sizes and lists count: memory and strides may be anything.
TEST_F(PlanOptions, MemoryOfTensorsIsNotLookedAt) {
  ArgumentList list = arguments;
  for (int tensor : {x, y, bias}) {
    list[tensor].dense.data = nullptr;
    for (int64_t &stride : list[tensor].dense.strides)
      stride = -7;
  }
  list[w].blocks.values = nullptr;
  EXPECT_OK(createPlan(list, options));
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_LISTS);
}

TEST_F(PlanOptions, BadArgumentsAreRefused) {
  auto refuses = [&](const std::string &message, const std::function<void(ArgumentList &)> &change) {
    ArgumentList broken = arguments;
    change(broken);
    refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, message, broken, options);
  };
  refuses("kernel 'linear' expects 5 arguments (w, x, bias, alpha, y), but got 4", [](auto &a) { a.pop_back(); });
  refuses("argument 1 'x': expects a dense tensor, but got a block-sparse matrix", [](auto &a) { a[x] = a[w]; });
  refuses("argument 1 'x': expects elements of type bf16, but got f16",
          [](auto &a) { a[x].dense.dtype = SPARSEC_DTYPE_F16; });
  refuses("argument 1 'x': expects rank 2, but got 1", [](auto &a) { a[x].dense.rank = 1; });
  refuses("argument 1 'x': expects size 0 to be 192 to agree", [](auto &a) { a[x].dense.sizes[0] = 191; });
  refuses("argument 1 'x': expects sizes of 0 to 2147418111, but size 1 is -2",
          [](auto &a) { a[x].dense.sizes[1] = -2; });
  refuses("argument 4 'y': expects size 1 to be 1000 to agree", [](auto &a) { a[y].dense.sizes[1] = 999; });
  refuses("argument 0 'w': expects memory of device 0, but got memory of device 1",
          [](auto &a) { a[w].blocks.device = 1; });
  const std::vector<int32_t> noBlocks(1024 + 1);
  refuses("the result has 1024 x 4194176 tiles, at most 2147418111 are possible", [&](auto &a) {
    a[w].blocks.rows = 1024 * 64;
    a[w].blocks.capacity = 0;
    a[w].blocks.full.starts = noBlocks.data();
    a[x].dense.sizes[1] = 2147418111;
    a[bias] = a[y] = {};
  });
}

TEST_F(PlanOptions, BadOptionsAreRefused) {
  sparsec_plan_options_t broken = options;
  broken.size = 47;
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, "options: expects a size of at least 48 bytes, but got 47", arguments,
              broken);
  broken = options;
  broken.flags = 16;
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, "options: expects flags of 0 to 15 (sparsec_plan_flag_t), but got 16",
              arguments, broken);
  options.argument_count = 5;
  EXPECT_STATUS(sparsec_plan_create(kernel, &options, &plan), SPARSEC_STATUS_INVALID_ARGUMENT, "arguments is NULL");
  EXPECT_STATUS(sparsec_plan_create(nullptr, &options, &plan), SPARSEC_STATUS_INVALID_ARGUMENT, "kernel is NULL");
  EXPECT_STATUS(sparsec_plan_create(kernel, nullptr, &plan), SPARSEC_STATUS_INVALID_ARGUMENT, "options is NULL");
  EXPECT_STATUS(sparsec_plan_create(kernel, &options, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_plan is NULL");
}

TEST_F(PlanOptions, InfoOfWhatIsNotThere) {
  ASSERT_OK(createPlan(arguments, options));
  auto info = sized<sparsec_plan_info_t>();
  EXPECT_STATUS(sparsec_plan_info(nullptr, 0, &info), SPARSEC_STATUS_INVALID_ARGUMENT, "plan is NULL");
  EXPECT_STATUS(sparsec_plan_info(plan, 0, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_info is NULL");
  EXPECT_STATUS(sparsec_plan_info(plan, 2, &info), SPARSEC_STATUS_INVALID_ARGUMENT,
                "variant is 2, but the kernel has 2");
  info.size = 8;
  EXPECT_STATUS(sparsec_plan_info(plan, 0, &info), SPARSEC_STATUS_INVALID_ARGUMENT, "out_info: expects a size of");
  size_t bytes = 7;
  EXPECT_STATUS(sparsec_plan_workspace_bytes(nullptr, nullptr, 0, &bytes), SPARSEC_STATUS_INVALID_ARGUMENT,
                "plan is NULL");
  EXPECT_EQ(bytes, 0u);
  EXPECT_STATUS(sparsec_plan_workspace_bytes(plan, nullptr, 0, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "out_bytes is NULL");
}

} // namespace
