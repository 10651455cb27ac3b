// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a launch refuses. Every case is a good launch with one thing wrong; nothing may reach the driver.

#include "runtime_linear_fixture.h"

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
  refuses("but got an unknown kind", [](auto &a) { a[w].kind = sparsec_argument_kind_t(9); });
  EXPECT_STATUS(sparsec_launch(kernel, nullptr, nullptr, 5, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "arguments is NULL");
  EXPECT_STATUS(sparsec_launch(nullptr, nullptr, arguments.data(), 5, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "kernel is NULL");
}

TEST_F(Arguments, Matrix) {
  refuses("argument 0 'w': expects elements of type bf16, but got f16",
          [](auto &a) { a[w].bsr.dtype = SPARSEC_DTYPE_F16; });
  refuses("expects blocks of 64 x 64, but got 64 x 32", [](auto &a) { a[w].bsr.block_columns = 32; });
  refuses("expects 0 to 2147418111 rows and columns, but got -1 x 192", [](auto &a) { a[w].bsr.rows = -1; });
  refuses("expects 0 to 2147418111 rows and columns, but got 128 x 2147418112",
          [](auto &a) { a[w].bsr.columns = 2147418112; });
  refuses("argument 0 'w': expects a block_count of 0 to 6, but got 7", [](auto &a) { a[w].bsr.block_count = 7; });
  refuses("expects a block_count of 0 to 6, but got -1", [](auto &a) { a[w].bsr.block_count = -1; });
  refuses("argument 0 'w': row_ptr is NULL", [](auto &a) { a[w].bsr.row_ptr = nullptr; });
  refuses("col_idx is NULL", [](auto &a) { a[w].bsr.col_idx = nullptr; });
  refuses("values is NULL", [](auto &a) { a[w].bsr.values = nullptr; });
  refuses("row_ptr is not aligned to 4 bytes",
          [](auto &a) { a[w].bsr.row_ptr = static_cast<const int32_t *>(at(0x1002)); });
  refuses("col_idx is not aligned to 4 bytes",
          [](auto &a) { a[w].bsr.col_idx = static_cast<const int32_t *>(at(0x1001)); });
  refuses("values is not aligned to the 2 bytes", [](auto &a) { a[w].bsr.values = at(0x1001); });
}

TEST_F(Arguments, BlockCountBeyond31Bits) {
  setArguments(2147418111, 2147418111, 256);
  arguments[w].bsr.block_count = 2147418112;
  refuses("expects a block_count of 0 to 2147418111, but got 2147418112", [](auto &) {});
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
  info.arguments[x].layout = info.arguments[y].layout = info.arguments[bias].layout = SPARSEC_LAYOUT_TRANSPOSED;
  info.arguments[bias].rank = 2;
  info.arguments[bias].sizes[1] = SPARSEC_DYNAMIC;
  info.arguments[bias].broadcast = SPARSEC_BROADCAST_FULL;
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
  info.arguments[bias].broadcast = SPARSEC_BROADCAST_PER_COLUMN;
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
