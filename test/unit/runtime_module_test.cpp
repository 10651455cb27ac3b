// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loading modules on the fake driver: limits, driver errors, kernels by name.

#include "runtime_linear_fixture.h"

#include <cstring>
#include <functional>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

class ModuleLoad : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_OK(sparsec_device_open_cuda(0, &device)); }
  void TearDown() override {
    sparsec_module_destroy(module);
    sparsec_device_destroy(device);
    EXPECT_TRUE(fake.contextStack().empty());
    EXPECT_FALSE(fake.calledWithoutContext);
    EXPECT_EQ(fake.loadedModules, 0);
    EXPECT_EQ(fake.retainedContexts, 0);
  }

  Status load(const ByteVector &file) {
    sparsec_module_destroy(module);
    module = reinterpret_cast<sparsec_module_t>(8);
    Status status(sparsec_module_load(device, file.data(), file.size(), &module));
    EXPECT_EQ(!status, module != nullptr);
    return status;
  }
  Status load(const LaunchInfoBuilder &info) { return load(makeCubin(info.build())); }
  Status loadChanged(const std::function<void(LaunchInfoBuilder &)> &change) {
    LaunchInfoBuilder info = cudaLinear();
    change(info);
    return load(info);
  }
  void reopen() {
    sparsec_module_destroy(module);
    module = nullptr;
    sparsec_device_destroy(device);
    ASSERT_OK(sparsec_device_open_cuda(0, &device));
  }

  FakeCuda fake;
  sparsec_device_t device = nullptr;
  sparsec_module_t module = nullptr;
};

TEST_F(ModuleLoad, CubinGoesToTheDriver) {
  ASSERT_OK(load(cudaLinear()));
  EXPECT_EQ(fake.loadedImageStart, "\x7f"
                                   "ELF");
  EXPECT_EQ(fake.dynamicSharedMemory["linear_aligned"], 200000);
  EXPECT_EQ(fake.dynamicSharedMemory["linear_any"], 40000);
}

TEST_F(ModuleLoad, PtxOfABundleGoesToTheDriver) {
  fake.capabilityMajor = 10;
  reopen();
  LaunchInfoBuilder info = cudaLinear();
  info.header.arch_specific = 0;
  ASSERT_OK(load(makeBundle({cubinEntry(cudaLinear()), ptxEntry(info)})));
  EXPECT_EQ(fake.loadedImageStart, ".ver");
}

TEST_F(ModuleLoad, BytesMayGoAfterwards) {
  {
    ByteVector file = makeCubin(cudaLinear().build());
    ASSERT_OK(load(file));
    std::fill(file.begin(), file.end(), 0xee);
  }
  sparsec_kernel_t kernel = nullptr;
  ASSERT_OK(sparsec_module_kernel(module, "linear", &kernel));
  EXPECT_STREQ(sparsec_kernel_info(kernel)->name, "linear");
  EXPECT_STREQ(sparsec_kernel_argument(kernel, 2)->name, "bias");
  EXPECT_EQ(sparsec_kernel_argument(kernel, 5), nullptr);
  EXPECT_EQ(sparsec_kernel_variant(kernel, 1)->alignment, 2u);
  EXPECT_STREQ(sparsec_kernel_stage(kernel, 1, 0)->symbol, "linear_any");
  EXPECT_EQ(sparsec_kernel_stage(kernel, 1, 1), nullptr);
  EXPECT_EQ(sparsec_kernel_stage(kernel, 2, 0), nullptr);
  EXPECT_EQ(sparsec_kernel_variant(kernel, 2), nullptr);
  EXPECT_EQ(sparsec_kernel_info(nullptr), nullptr);
}

TEST_F(ModuleLoad, LimitsAreCheckedBeforeTheDriverSeesTheImage) {
  EXPECT_STATUS(loadChanged([](auto &i) { i.stages[0].dynamic_shared_memory = 232000; }), SPARSEC_STATUS_OK, "ok");
  fake.calls.clear();
  EXPECT_STATUS(loadChanged([](auto &i) {
                  i.stages[0].dynamic_shared_memory = 232000;
                  i.stages[0].static_shared_memory = 449;
                }),
                SPARSEC_STATUS_DEVICE_LIMIT,
                "kernel 'linear_aligned' needs 232449 bytes of shared memory per block, but 'Fake GPU' has 232448");
  EXPECT_STATUS(loadChanged([](auto &i) { i.stages[0].dynamic_shared_memory = UINT32_MAX; }),
                SPARSEC_STATUS_DEVICE_LIMIT, "needs 4294967295 bytes");
  EXPECT_STATUS(loadChanged([](auto &i) { i.stages[0].registers = 171; }), SPARSEC_STATUS_DEVICE_LIMIT,
                "needs 65664 registers per block, but 'Fake GPU' has 65536");
  EXPECT_FALSE(fake.called("cuModuleLoadDataEx"));
  fake.threadsPerBlock = 256;
  reopen();
  EXPECT_STATUS(load(cudaLinear()), SPARSEC_STATUS_DEVICE_LIMIT, "needs 384 threads per block");
  fake.threadsPerBlock = 1024;
  fake.clusterLaunch = 0;
  reopen();
  EXPECT_STATUS(load(cudaLinear()), SPARSEC_STATUS_DEVICE_LIMIT, "needs clusters of 2 blocks");
  EXPECT_FALSE(fake.called("cuModuleLoadDataEx") && fake.loadedModules);
}

TEST_F(ModuleLoad, WhatTheDriverCompiledMustHoldTheThreads) {
  fake.functionThreads = 256;
  EXPECT_STATUS(load(cudaLinear()), SPARSEC_STATUS_DEVICE_LIMIT,
                "kernel 'linear_aligned' needs 384 threads per block, but as loaded it can have 256");
}

TEST_F(ModuleLoad, ClustersThatDoNotFit) {
  fake.activeClusters = 0;
  EXPECT_STATUS(load(cudaLinear()), SPARSEC_STATUS_DEVICE_LIMIT, "needs clusters of 2 blocks, but none fits");
}

TEST_F(ModuleLoad, WrongDevice) {
  fake.capabilityMajor = 8;
  fake.capabilityMinor = 9;
  reopen();
  EXPECT_STATUS(load(cudaLinear()), SPARSEC_STATUS_WRONG_DEVICE,
                "no image runs on 'Fake GPU' of compute capability 8.9: the file is for sm_90a");
  EXPECT_FALSE(fake.called("cuModuleLoadDataEx"));
}

TEST_F(ModuleLoad, FailedCompilationShowsTheDriversLog) {
  fake.failures["cuModuleLoadDataEx"] = CUresult(218);
  fake.jitLog = "ptxas error: line 7";
  LaunchInfoBuilder info = cudaLinear();
  EXPECT_STATUS(load(makeBundle({ptxEntry(info)})), SPARSEC_STATUS_DRIVER_ERROR,
                "compiling the PTX for the device failed: CUDA_ERROR_FAKE (218, made to fail); driver log: ptxas "
                "error: line 7");
  fake.jitLog = "";
  EXPECT_STATUS(load(info), SPARSEC_STATUS_DRIVER_ERROR, "loading the cubin failed");
}

TEST_F(ModuleLoad, EveryFailureOfLoadingIsReportedAndUndone) {
  for (const char *call : {"cuCtxPushCurrent", "cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncSetAttribute",
                           "cuFuncGetAttribute", "cuOccupancyMaxActiveClusters"}) {
    fake.failures = {{call, CUDA_ERROR_OUT_OF_MEMORY}};
    EXPECT_STATUS(load(cudaLinear()), SPARSEC_STATUS_OUT_OF_MEMORY, "made to fail");
    EXPECT_EQ(fake.loadedModules, 0) << call;
    EXPECT_TRUE(fake.contextStack().empty()) << call;
  }
  fake.failures.clear();
}

TEST_F(ModuleLoad, KernelThatTheImageLacks) {
  fake.missingFunctions = {"linear_any"};
  EXPECT_STATUS(load(cudaLinear()), SPARSEC_STATUS_INVALID_IMAGE,
                "the image has no kernel 'linear_any', although its launch info names it");
}

TEST_F(ModuleLoad, BrokenFilesNeverReachTheDriver) {
  ByteVector file = makeCubin(cudaLinear().build());
  file.pop_back();
  EXPECT_STATUS(load(file), SPARSEC_STATUS_INVALID_IMAGE, "truncated");
  EXPECT_STATUS(loadChanged([](auto &i) { i.header.major = 5; }), SPARSEC_STATUS_VERSION_MISMATCH, "version 5.20");
  EXPECT_FALSE(fake.called("cuModuleLoadDataEx"));
}

TEST_F(ModuleLoad, KernelsByNameAndNumber) {
  LaunchInfoBuilder two = cudaLinear();
  two.kernels.push_back(two.kernels[0]);
  std::strcpy(two.kernels[1].name, "second");
  ASSERT_OK(load(two));
  EXPECT_EQ(sparsec_module_kernel_count(module), 2u);
  sparsec_kernel_t kernel = nullptr;
  ASSERT_OK(sparsec_module_kernel(module, "second", &kernel));
  EXPECT_STREQ(sparsec_kernel_info(kernel)->name, "second");
  ASSERT_OK(sparsec_module_kernel_at(module, 0, &kernel));
  EXPECT_STREQ(sparsec_kernel_info(kernel)->name, "linear");
  EXPECT_STATUS(sparsec_module_kernel(module, "third", &kernel), SPARSEC_STATUS_NOT_FOUND,
                "no kernel 'third': the module has 'linear', 'second'");
  EXPECT_EQ(kernel, nullptr);
  EXPECT_STATUS(sparsec_module_kernel_at(module, 2, &kernel), SPARSEC_STATUS_NOT_FOUND,
                "no kernel 2: the module has 2");
  EXPECT_STATUS(sparsec_module_kernel(module, nullptr, &kernel), SPARSEC_STATUS_INVALID_ARGUMENT,
                "name is NULL, but the module has 2 kernels");
}

TEST_F(ModuleLoad, NullArgumentsAreRefused) {
  sparsec_module_t none = nullptr;
  sparsec_kernel_t kernel = nullptr;
  EXPECT_STATUS(sparsec_module_load(nullptr, "x", 1, &none), SPARSEC_STATUS_INVALID_ARGUMENT, "device is NULL");
  EXPECT_STATUS(sparsec_module_load(device, nullptr, 1, &none), SPARSEC_STATUS_INVALID_ARGUMENT, "data is NULL");
  EXPECT_STATUS(sparsec_module_load(device, "x", 1, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_module is NULL");
  EXPECT_STATUS(sparsec_module_kernel(nullptr, "x", &kernel), SPARSEC_STATUS_INVALID_ARGUMENT, "module is NULL");
  EXPECT_STATUS(sparsec_module_kernel(none, "x", nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_kernel is NULL");
  EXPECT_STATUS(sparsec_module_kernel_at(nullptr, 0, &kernel), SPARSEC_STATUS_INVALID_ARGUMENT, "module is NULL");
  EXPECT_STATUS(sparsec_module_kernel_at(none, 0, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_kernel is NULL");
  EXPECT_EQ(sparsec_module_kernel_count(nullptr), 0u);
}

TEST_F(ModuleLoad, ModuleKeepsItsDevice) {
  ASSERT_OK(load(cudaLinear()));
  sparsec_device_destroy(device);
  device = nullptr;
  EXPECT_EQ(fake.retainedContexts, 1);
  sparsec_module_destroy(module);
  module = nullptr;
  EXPECT_EQ(fake.retainedContexts, 0);
}

} // namespace
