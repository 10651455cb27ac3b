// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The library that takes the place of libcuda.so.1: what a program sees when a kernel does what it must not, and what
// the driver itself refuses.

#include "device/cuda_symbols.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

namespace sparsec::simulator {
namespace {

using namespace runtime;

/// Writes the number 7 to element `index` of a buffer.
constexpr const char *kernelText = R"(
.version 8.8
.target sm_90a
.address_size 64
.visible .entry store(.param .u64 store_param_0, .param .u32 store_param_1)
.maxntid 32, 1, 1
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [store_param_0];
  ld.param.u32 %r1, [store_param_1];
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.b32 [%rd3], 7;
  ret;
}
)";

class SimulatedDriver : public testing::Test {
protected:
  SimulatedDriver() {
    const auto path = std::filesystem::temp_directory_path() / "sparsec-simulator-report-XXXXXX";
    report = path.string();
    close(mkstemp(report.data()));
    setenv("SPARSEC_SIMULATOR_REPORT", report.c_str(), /*overwrite=*/1);
    void *library = dlopen(SPARSEC_SIMULATED_CUDA, RTLD_NOW | RTLD_LOCAL);
    const Status status = library ? fillCudaTable([=](const char *name) { return dlsym(library, name); }, cuda)
                                  : makeStatus(SPARSEC_STATUS_UNAVAILABLE, dlerror());
    if (status)
      throw std::runtime_error(status->message);
  }
  ~SimulatedDriver() override { std::filesystem::remove(report); }

  CUfunction load() {
    EXPECT_EQ(cuda.cuModuleLoadDataEx(&module, kernelText, 0, nullptr, nullptr), CUDA_SUCCESS);
    CUfunction function = nullptr;
    EXPECT_EQ(cuda.cuModuleGetFunction(&function, module, "store"), CUDA_SUCCESS);
    return function;
  }
  CUresult launch(CUfunction function, CUdeviceptr buffer, uint32_t index, unsigned threads = 1, unsigned shared = 0) {
    void *parameters[] = {&buffer, &index};
    return cuda.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, shared, nullptr, parameters, nullptr);
  }
  std::string reported() const {
    std::stringstream text;
    text << std::ifstream(report).rdbuf();
    return text.str();
  }

  CudaTable cuda = {};
  CUmodule module = nullptr;
  std::string report;
};

constexpr int launchFailed = 719, invalidValue = 1, invalidImage = 200;

TEST_F(SimulatedDriver, ReturnsAFailureFromTheNextSynchronisation) {
  CUfunction function = load();
  CUdeviceptr buffer = 0;
  ASSERT_EQ(cuda.cuMemAlloc(&buffer, 16), CUDA_SUCCESS);
  EXPECT_EQ(launch(function, buffer, 3), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(launch(function, buffer, 4), CUDA_SUCCESS);
  uint32_t values[4] = {};
  EXPECT_EQ(int(cuda.cuMemcpyDtoH(values, buffer, sizeof values)), launchFailed);
  EXPECT_EQ(cuda.cuStreamSynchronize(nullptr), CUDA_SUCCESS) << "it is returned once";
  EXPECT_EQ(cuda.cuMemcpyDtoH(values, buffer, sizeof values), CUDA_SUCCESS);
  EXPECT_EQ(values[3], 7u);
  for (const char *part : {"writes 4 bytes of global memory", "st.global.b32 [%rd3], 7;", "in kernel store", "seed 1"})
    EXPECT_NE(reported().find(part), std::string::npos) << part << " in " << reported();
  const char *name = nullptr;
  cuda.cuGetErrorName(CUresult(launchFailed), &name);
  EXPECT_STREQ(name, "CUDA_ERROR_LAUNCH_FAILED");
  EXPECT_EQ(cuda.cuMemFree(buffer), CUDA_SUCCESS);
  EXPECT_EQ(launch(function, buffer, 0), CUDA_SUCCESS);
  EXPECT_EQ(int(cuda.cuStreamSynchronize(nullptr)), launchFailed) << "memory that was given back";
  cuda.cuModuleUnload(module);
}

TEST_F(SimulatedDriver, RefusesLaunchesThatADriverRefuses) {
  CUfunction function = load();
  CUdeviceptr buffer = 0;
  ASSERT_EQ(cuda.cuMemAlloc(&buffer, 16), CUDA_SUCCESS);
  EXPECT_EQ(int(launch(function, buffer, 0, 33)), invalidValue) << "more threads than .maxntid";
  EXPECT_EQ(int(launch(function, buffer, 0, 0)), invalidValue);
  EXPECT_EQ(int(launch(function, buffer, 0, 1, 49153)), invalidValue) << "more shared memory than was asked for";
  EXPECT_EQ(cuda.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536), CUDA_SUCCESS);
  EXPECT_EQ(launch(function, buffer, 0, 1, 49153), CUDA_SUCCESS);
  EXPECT_EQ(int(cuda.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20)),
            invalidValue);
  EXPECT_EQ(cuda.cuModuleGetFunction(&function, module, "load"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuda.cuMemFree(buffer), CUDA_SUCCESS);
  EXPECT_EQ(int(cuda.cuMemFree(buffer)), invalidValue);
  cuda.cuModuleUnload(module);
}

TEST_F(SimulatedDriver, RefusesImagesThatItCannotExecute) {
  char log[256] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  EXPECT_EQ(int(cuda.cuModuleLoadDataEx(&module, ".version 8.8\n.frobnicate", 2, options, values)), invalidImage);
  EXPECT_STREQ(log, "PTX line 2: does not know the directive .frobnicate");
  // This program is an ELF file without PTX.
  std::stringstream self;
  self << std::ifstream("/proc/self/exe", std::ios::binary).rdbuf();
  EXPECT_EQ(int(cuda.cuModuleLoadDataEx(&module, self.str().data(), 2, options, values)), invalidImage);
  EXPECT_NE(std::string(log).find("the image has no PTX for the simulator"), std::string::npos) << log;
}

TEST_F(SimulatedDriver, RefusesTensorMapsThatADriverRefuses) {
  alignas(16) static char data[1024];
  auto encode = [&](char *address, uint64_t stride, uint32_t boxColumns, CUtensorMapSwizzle swizzle) {
    CUtensorMap map;
    const uint64_t sizes[] = {64, 4}, strides[] = {stride};
    const uint32_t box[] = {boxColumns, 4}, steps[] = {1, 1};
    return int(cuda.cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, address, sizes, strides, box,
                                           steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                           CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  };
  EXPECT_EQ(encode(data, 128, 64, CU_TENSOR_MAP_SWIZZLE_128B), 0);
  EXPECT_EQ(encode(data + 8, 128, 64, CU_TENSOR_MAP_SWIZZLE_128B), invalidValue) << "address";
  EXPECT_EQ(encode(data, 136, 64, CU_TENSOR_MAP_SWIZZLE_128B), invalidValue) << "stride";
  EXPECT_EQ(encode(data, 128, 64, CU_TENSOR_MAP_SWIZZLE_64B), invalidValue) << "a row longer than the swizzle";
  EXPECT_EQ(encode(data, 128, 12, CU_TENSOR_MAP_SWIZZLE_NONE), invalidValue) << "a row that is no multiple of 16 bytes";
  EXPECT_EQ(encode(data, 128, 264, CU_TENSOR_MAP_SWIZZLE_NONE), invalidValue) << "a box of more than 256 elements";
  EXPECT_EQ(encode(data, 128, 0, CU_TENSOR_MAP_SWIZZLE_NONE), invalidValue) << "an empty box";
}

} // namespace
} // namespace sparsec::simulator
