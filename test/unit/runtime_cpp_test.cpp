// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C++ layer, and the C header in C.

#include "runtime_expect.h"
#include "runtime_fake_cuda.h"
#include "runtime_images.h"
#include "runtime_views.h"
#include "sparsec/runtime.hpp"

#include <cstdio>

using namespace sparsec::test;

extern "C" const char *sparsec_test_c_header_version(void);

namespace {

TEST(CHeader, WorksInC) { EXPECT_STREQ(sparsec_test_c_header_version(), sparsec_version()); }

TEST(CppLayer, ErrorsAreExceptions) {
  FakeCuda fake;
  EXPECT_EQ(sparsec::Device::cudaCount(), 1);
  try {
    sparsec::Device::cuda(5);
    FAIL() << "expects an exception";
  } catch (const sparsec::Error &error) {
    EXPECT_EQ(error.code(), SPARSEC_STATUS_UNAVAILABLE);
    EXPECT_STREQ(error.what(), "no CUDA device 5: there are 1");
  }
}

TEST(CppLayer, FromFileToLaunch) {
  FakeCuda fake;
  std::string path = ::testing::TempDir() + "runtime_cpp_test.cubin";
  ByteVector cubin = makeCubin(cudaLinear().build());
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(cubin.data()), cubin.size());
  {
    sparsec::Device device = sparsec::Device::cuda();
    EXPECT_STREQ(device.info().name, "Fake GPU");
    sparsec::Module module = sparsec::Module::fromFile(device, path);
    EXPECT_EQ(module.kernelCount(), 1u);
    sparsec::Kernel kernel = module.kernel();
    EXPECT_STREQ(kernel.name(), "linear");
    EXPECT_EQ(kernel.info().argument_count, 5u);

    sparsec::Buffer rowPtr(device, std::vector<int32_t>{0, 1}), colIdx(device, std::vector<int32_t>{0});
    sparsec::Buffer values(device, 64 * 64 * 2), x(device, 64 * 128 * 2), y(device, 64 * 128 * 2);
    sparsec::Buffer bias(device, std::vector<float>(64, 1.0f));
    sparsec_blocks_t matrix = sparsec_blocks_bsr(64, 64, 64, 64, 1, rowPtr.as<int32_t>(), colIdx.as<int32_t>(),
                                                 SPARSEC_DTYPE_BF16, values.data());
    const sparsec_dense_t input = sparsec_dense_2d(x.data(), SPARSEC_DTYPE_BF16, 64, 128);
    sparsec::Plan plan(kernel, {matrix, input, {}, {}, {}});
    EXPECT_EQ(plan.info().tiles, 1);
    EXPECT_EQ(plan.info(1).workers, 1) << "of the fallback";
    kernel.launch(&plan, {matrix, input, sparsec_dense_1d(bias.data(), SPARSEC_DTYPE_F32, 64), 0.5,
                          sparsec_dense_2d(y.data(), SPARSEC_DTYPE_BF16, 64, 128)});
    device.synchronize();
    EXPECT_EQ(fake.launches.size(), 1u);

    sparsec::Workspace workspace(device, 16);
    EXPECT_EQ(*static_cast<uint64_t *>(workspace.data()), 0u);
    const sparsec_dense_t output = sparsec_dense_2d(y.data(), SPARSEC_DTYPE_BF16, 64, 128);
    const sparsec_dense_t biases = sparsec_dense_1d(bias.data(), SPARSEC_DTYPE_F32, 64);
    sparsec::Launcher launcher(kernel, &plan, {matrix, input, biases, 0.5, output}, &workspace);
    launcher.run();
    launcher.rebind({matrix, input, biases, 2.0, output});
    launcher.run(&fake);
    EXPECT_EQ(fake.launches.size(), 3u);
    EXPECT_EQ(fake.launches.back().stream, &fake);
    EXPECT_THAT(bias.download<float>(), ::testing::Each(1.0f));

    sparsec::Buffer moved = std::move(bias);
    EXPECT_EQ(moved.bytes(), 256u);
    moved = sparsec::Buffer(device, 8);
    EXPECT_EQ(moved.bytes(), 8u);
  }
  EXPECT_TRUE(fake.allocations.empty());
  EXPECT_EQ(fake.loadedModules, 0);
  EXPECT_EQ(fake.retainedContexts, 0);
  std::remove(path.c_str());
}

TEST(CppLayer, PlansOfAttention) {
  FakeCuda fake;
  sparsec::Device device = sparsec::Device::cuda();
  ByteVector cubin = makeCubin(cudaAttention().build());
  sparsec::Module module(device, cubin.data(), cubin.size());
  auto tensor = [](int64_t heads, int64_t length) {
    return sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_BF16, 1, heads, length, 64);
  };
  auto plan = [&](const sparsec::Argument &pattern) {
    return sparsec::Plan(module.kernel(), {tensor(2, 64), tensor(2, 300), {}, pattern, {}, {}, {}, {}, {}});
  };
  EXPECT_EQ(plan({}).info().order, SPARSEC_TILE_ORDER_FIXED) << "the kernel reads no counter";
  EXPECT_EQ(plan({}).workspaceBytes(), 0u);
  // One of two heads sees 3 blocks of 128 keys, 6 steps of 64; the other one nothing. 2 steps for the rest of a tile.
  sparsec::Pattern pattern(device, shapeOf(64, 128, 1, 2, 64, 300), {1, 2, 1, 0, 0, 0});
  sparsec_plan_info_t info = plan(pattern).info();
  EXPECT_EQ(info.tiles, 2);
  EXPECT_DOUBLE_EQ(info.balance, (8 + 2) / 2.0 / 8);
  sparsec::Pattern other(device, shapeOf(64, 128, 1, 2, 65, 300), {1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_THROW(plan(other), sparsec::Error);
}

TEST(CppLayer, FileThatIsNotThere) {
  sparsec::Device device = sparsec::Device::host(1);
  EXPECT_THROW(sparsec::Module::fromFile(device, "/nonexistent/kernel.cubin"), sparsec::Error);
}

} // namespace
