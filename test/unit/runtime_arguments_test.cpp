// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments that a launch refuses. Every case is a good launch with one thing wrong; nothing may reach the driver.

#include "runtime_linear_fixture.h"

#include <cstring>
#include <functional>

using namespace sparsec::test;

namespace {

class Arguments : public LinearOnFake {
protected:
  void SetUp() override {
    LinearOnFake::SetUp();
    setArguments(128, 192, 256);
    setPattern({{0, 2}, {1}});
    fake.calls.clear();
  }
};

TEST_F(Arguments, GoodOnesAreAccepted) {
  EXPECT_OK(launch());
  EXPECT_EQ(fake.launches.size(), 1u);
}

TEST_F(Arguments, CountAndKinds) {
  refuses("kernel 'linear' expects 5 arguments (w, x, bias, alpha, y), but got 4", [](auto &a) { a.pop_back(); });
  refuses("argument 3 'alpha': expects a scalar, but got a dense tensor", [](auto &a) { a[alpha] = a[bias]; });
  refuses("argument 0 'w': expects a block-sparse matrix, but got a scalar", [](auto &a) { a[w] = a[alpha]; });
  refuses("but got an unknown kind", [](auto &a) { a[w].kind = 9; });
  EXPECT_STATUS(sparsec_launch(kernel, nullptr, nullptr, 5, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "arguments is NULL");
  const sparsec::ArgumentArray array(arguments);
  EXPECT_STATUS(sparsec_launch(nullptr, nullptr, array.data(), 5, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "kernel is NULL");
}

/// Structs that a caller of another version passes.
TEST_F(Arguments, ReadOnlyViewsMayNotBeResults) {
  for (int input : {x, bias})
    arguments[input].dense.flags = SPARSEC_DENSE_READ_ONLY;
  EXPECT_OK(launch());
  fake.calls.clear();
  refuses("argument 4 'y': expects memory to write a result to, but the view is read-only",
          [](auto &a) { a[y].dense.flags = SPARSEC_DENSE_READ_ONLY; });
  refuses("argument 1 'x': expects flags of 0 or 1, but got 2", [](auto &a) { a[x].dense.flags = 2; });
}

TEST_F(Arguments, SizesOfViews) {
  std::vector<char> larger(2 * sizeof(sparsec_dense_t), char(0xff));
  std::memcpy(larger.data(), &arguments[x].dense, sizeof(sparsec_dense_t));
  auto &dense = reinterpret_cast<sparsec_dense_t &>(larger[0]);
  dense.size = larger.size();
  std::vector<sparsec_argument_t> array(arguments.data(), arguments.data() + arguments.size());
  array[x].view = &dense;
  EXPECT_OK(sparsec_launch(kernel, nullptr, array.data(), array.size(), nullptr)) << "what is unknown is not read";
  fake.calls.clear();
  for (size_t size : {size_t(0), sizeof(sparsec_dense_t) - 1})
    refuses("argument 1 'x': expects a size of at least 112 bytes, but got " + std::to_string(size),
            [=](auto &a) { a[x].dense.size = size; });
  refuses("argument 0 'w': expects a size of at least 112 bytes, but got 111", [](auto &a) { a[w].blocks.size = 111; });
  array[x].view = nullptr;
  EXPECT_STATUS(sparsec_launch(kernel, nullptr, array.data(), array.size(), nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "argument 1 'x': view is NULL");
  array[x].reserved = 7;
  EXPECT_STATUS(sparsec_launch(kernel, nullptr, array.data(), array.size(), nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "argument 1 'x': expects reserved to be 0, but got 7");
  EXPECT_TRUE(fake.calls.empty());
}

TEST_F(Arguments, MemoryOfAnotherDevice) {
  fake.deviceCount = 2;
  for (int argument : {w, x, bias, y})
    (argument == w ? arguments[w].blocks.device : arguments[argument].dense.device) = 0;
  EXPECT_OK(launch());
  fake.calls.clear();
  refuses("argument 1 'x': expects memory of device 0, but got memory of device 1",
          [](auto &a) { a[x].dense.device = 1; });
  refuses("argument 0 'w': expects memory of device 0, but got memory of device 1",
          [](auto &a) { a[w].blocks.device = 1; });
  refuses("argument 4 'y': expects memory of device 0, but got memory of the host",
          [](auto &a) { a[y].dense.device = SPARSEC_PLACE_HOST; });
  // The other way round, for a kernel that is loaded on the second device.
  sparsec_module_destroy(module);
  sparsec_device_destroy(device);
  module = nullptr;
  ASSERT_OK(sparsec_device_open_cuda(1, &device));
  load(cudaLinear());
  fake.calls.clear();
  refuses("argument 0 'w': expects memory of device 1, but got memory of device 0", [](auto &) {});
  auto info = sparsec::sized<sparsec_device_info_t>();
  ASSERT_OK(sparsec_device_info(device, &info));
  EXPECT_EQ(info.ordinal, 1);
  // The reference reads host memory.
  double result[1];
  EXPECT_STATUS(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 0, 1, result, nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT,
                "argument 0 'w': expects memory of the host, but got memory of device 0");
}

TEST_F(Arguments, Matrix) {
  refuses("argument 0 'w': expects elements of type bf16, but got f16",
          [](auto &a) { a[w].blocks.dtype = SPARSEC_DTYPE_F16; });
  refuses("expects blocks of 64 x 64, but got 64 x 32", [](auto &a) { a[w].blocks.block_columns = 32; });
  refuses("argument 0 'w': expects rows of 0 to 2147418111, but got -1", [](auto &a) { a[w].blocks.rows = -1; });
  refuses("expects columns of 0 to 2147418111, but got 2147418112", [](auto &a) { a[w].blocks.columns = 2147418112; });
  refuses("expects capacity of 0 to 2147418111, but got -1", [](auto &a) { a[w].blocks.capacity = -1; });
  refuses("expects capacity of 0 to 2147418111, but got 2147418112",
          [](auto &a) { a[w].blocks.capacity = 2147418112; });
  refuses("expects encoding 1 (index arrays), but got 2",
          [](auto &a) { a[w].blocks.encoding = SPARSEC_PATTERN_PADDED_LISTS; });
  refuses("expects 1 batch and 1 head, but got 1 and 2", [](auto &a) { a[w].blocks.heads = 2; });
  refuses("expects partial.starts to be NULL", [](auto &a) { a[w].blocks.partial = a[w].blocks.full; });
  refuses("argument 0 'w': full.starts is NULL", [](auto &a) { a[w].blocks.full.starts = nullptr; });
  refuses("full.indices is NULL", [](auto &a) { a[w].blocks.full.indices = nullptr; });
  refuses("values is NULL", [](auto &a) { a[w].blocks.values = nullptr; });
  refuses("full.starts is not aligned to 4 bytes",
          [](auto &a) { a[w].blocks.full.starts = static_cast<const int32_t *>(at(0x1002)); });
  refuses("full.indices is not aligned to 4 bytes",
          [](auto &a) { a[w].blocks.full.indices = static_cast<const int32_t *>(at(0x1001)); });
  refuses("values is not aligned to the 2 bytes", [](auto &a) { a[w].blocks.values = at(0x1001); });
}

TEST_F(Arguments, DenseTensors) {
  refuses("argument 1 'x': expects elements of type bf16, but got f32",
          [](auto &a) { a[x].dense.dtype = SPARSEC_DTYPE_F32; });
  refuses("argument 1 'x': expects rank 2, but got 1", [](auto &a) { a[x].dense.rank = 1; });
  refuses("argument 1 'x': expects size 0 to be 192 to agree with the other arguments, but got 191",
          [](auto &a) { a[x].dense.sizes[0] = 191; });
  refuses("argument 1 'x': expects sizes of 0 to 2147418111, but size 1 is -5",
          [](auto &a) { a[x].dense.sizes[1] = -5; });
  refuses("but size 1 is 4294967296", [](auto &a) { a[x].dense.sizes[1] = int64_t(1) << 32; });
  refuses("argument 1 'x': expects stride 1 to be 1 (contiguous), but got 2",
          [](auto &a) { a[x].dense.strides[1] = 2; });
  refuses("argument 1 'x': expects stride 0 to be at least its width, 256, and at most 2147483647, but got 255",
          [](auto &a) { a[x].dense.strides[0] = 255; });
  refuses("but got 2147483648", [](auto &a) { a[x].dense.strides[0] = int64_t(1) << 31; });
  refuses("argument 1 'x': data is NULL", [](auto &a) { a[x].dense.data = nullptr; });
  refuses("argument 1 'x': data is not aligned to the 2 bytes", [](auto &a) { a[x].dense.data = at(0x2001); });
  refuses("argument 2 'bias': expects size 0 to be 128 to agree with the other arguments, but got 256",
          [](auto &a) { a[bias].dense.sizes[0] = 256; });
  refuses("argument 2 'bias': data is not aligned to the 4 bytes", [](auto &a) { a[bias].dense.data = at(0x2002); });
  refuses("argument 4 'y': expects size 0 to be 128", [](auto &a) { a[y].dense.sizes[0] = 127; });
  refuses("argument 4 'y': expects size 1 to be 256", [](auto &a) { a[y].dense.sizes[1] = 257; });
  refuses("argument 4 'y': data is NULL", [](auto &a) { a[y].dense.data = nullptr; });
}

TEST_F(Arguments, StaticSizes) {
  LaunchInfoBuilder info = cudaLinear();
  info.arguments[w].sizes[1] = 192;
  info.arguments[x].sizes[1] = 256;
  load(info);
  EXPECT_OK(launch());
  fake.calls.clear();
  setArguments(128, 192, 255);
  refuses("argument 1 'x': expects size 1 to be 256, but got 255", [](auto &) {});
  setArguments(128, 193, 256);
  refuses("argument 0 'w': expects 192 columns, but got 193", [](auto &) {});
  info.arguments[w].sizes[0] = 64;
  info.arguments[w].sizes[1] = SPARSEC_DYNAMIC;
  load(info);
  fake.calls.clear();
  refuses("argument 0 'w': expects 64 rows, but got 128", [](auto &) {});
}

TEST_F(Arguments, TransposedLayoutsAndFullOperands) {
  LaunchInfoBuilder info = cudaLinear();
  for (uint32_t number : {x, y, bias})
    info.operandOf(number).layout = SPARSEC_LAYOUT_TRANSPOSED;
  for (uint32_t stage : {0, 1})
    info.extents[info.stages[stage].panel_first].dimension = 0; // N
  info.arguments[bias].rank = 2;
  info.arguments[bias].sizes[1] = SPARSEC_DYNAMIC;
  info.operandOf(bias).broadcast = SPARSEC_BROADCAST_FULL;
  load(info);
  arguments[x].dense = sparsec_dense_2d(at(0x200000), SPARSEC_DTYPE_BF16, 256, 192);
  arguments[y].dense = sparsec_dense_2d(at(0x400000), SPARSEC_DTYPE_BF16, 256, 128);
  arguments[bias].dense = sparsec_dense_2d(at(0x300000), SPARSEC_DTYPE_F32, 256, 128);
  EXPECT_OK(launch());
  fake.calls.clear();
  refuses("argument 1 'x': expects size 1 to be 192", [](auto &a) { a[x].dense.sizes[1] = 191; });
  refuses("argument 4 'y': expects size 0 to be 256",
          [](auto &a) { std::swap(a[y].dense.sizes[0], a[y].dense.sizes[1]); });
  refuses("argument 2 'bias': expects size 1 to be 128", [](auto &a) { a[bias].dense.sizes[1] = 3; });
}

TEST_F(Arguments, OperandsPerColumn) {
  LaunchInfoBuilder info = cudaLinear();
  info.operandOf(bias).broadcast = SPARSEC_BROADCAST_PER_COLUMN;
  load(info);
  fake.calls.clear();
  refuses("argument 2 'bias': expects size 0 to be 256", [](auto &) {});
  arguments[bias].dense = sparsec_dense_1d(at(0x300000), SPARSEC_DTYPE_F32, 256);
  EXPECT_OK(launch());
}

TEST_F(Arguments, TooManyTiles) {
  // 2^25 - 1024 block rows times 2^23 - 128 panels, none of which fits 31 bits.
  setArguments(2147418111, 64, 2147418111);
  for (int i : {x, y})
    arguments[i].dense.strides[0] = 2147418112;
  arguments[y].dense.data = at(uintptr_t(1) << 48); // behind X
  refuses("tiles, at most 2147418111 are possible", [](auto &) {});
}

} // namespace
