// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Devices and memory, on the fake driver, on the host and without a driver.

#include "device/device.h"
#include "runtime_expect.h"
#include "runtime_fake_cuda.h"
#include "sparsec/argument.hpp"

#include <atomic>
#include <cstring>
#include <dlfcn.h>

using namespace sparsec::runtime;
using namespace sparsec::test;

/// A test asks for more memory than there is: the sanitizers must answer as the system does.
// NOLINTBEGIN(readability-identifier-naming): the names are theirs.
extern "C" const char *__asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char *__tsan_default_options() { return "allocator_may_return_null=1"; }
// NOLINTEND(readability-identifier-naming)

namespace {

TEST(Device, CudaDeviceSaysWhatItIs) {
  FakeCuda fake;
  sparsec_device_t device = nullptr;
  ASSERT_OK(sparsec_device_open_cuda(0, &device));
  auto info = sparsec::sized<sparsec_device_info_t>();
  ASSERT_OK(sparsec_device_info(device, &info));
  EXPECT_EQ(info.kind, SPARSEC_TARGET_CUDA);
  EXPECT_STREQ(info.name, "Fake GPU");
  EXPECT_EQ(info.compute_capability, 90);
  EXPECT_EQ(info.multiprocessors, 132);
  EXPECT_EQ(info.shared_memory_per_block, 232448);
  EXPECT_EQ(info.memory_bytes, int64_t(141) << 30);
  sparsec_device_destroy(device);
  EXPECT_EQ(fake.retainedContexts, 0);
  EXPECT_TRUE(fake.allocations.empty());
}

TEST(Device, NoSuchDevice) {
  FakeCuda fake;
  sparsec_device_t device = reinterpret_cast<sparsec_device_t>(8);
  EXPECT_STATUS(sparsec_device_open_cuda(1, &device), SPARSEC_STATUS_UNAVAILABLE, "no CUDA device 1: there are 1");
  EXPECT_EQ(device, nullptr);
  EXPECT_STATUS(sparsec_device_open_cuda(-1, &device), SPARSEC_STATUS_UNAVAILABLE, "no CUDA device -1");
}

TEST(Device, MachineWithoutDriver) {
  if (dlopen("libcuda.so.1", RTLD_NOW))
    GTEST_SKIP() << "this machine has a driver";
  int32_t count = 7;
  EXPECT_OK(sparsec_cuda_device_count(&count));
  EXPECT_EQ(count, 0);
  sparsec_device_t device = nullptr;
  EXPECT_STATUS(sparsec_device_open_cuda(0, &device), SPARSEC_STATUS_UNAVAILABLE,
                "no CUDA driver: cannot load libcuda.so.1");
}

TEST(Device, DriverThatLacksAFunctionIsTooOld) {
  CudaTable table = {};
  std::set<std::string> asked;
  auto find = [&](const char *name) -> void * {
    asked.insert(name);
    return std::string(name) == "cuTensorMapEncodeTiled" ? nullptr : &table;
  };
  EXPECT_STATUS(fillCudaTable(find, table), SPARSEC_STATUS_UNAVAILABLE,
                "the CUDA driver is too old: libcuda.so.1 has no cuTensorMapEncodeTiled (expects CUDA 12.0 or later)");
  EXPECT_EQ(asked.count("cuCtxPushCurrent_v2"), 1u) << "the current version of a function, not the first";
}

TEST(Device, OptionalFunctionsMayBeMissing) {
  CudaTable table = {};
  auto find = [&](const char *name) -> void * { return std::string(name) == "cuLaunchKernelEx" ? nullptr : &table; };
  EXPECT_OK(fillCudaTable(find, table));
  EXPECT_EQ(table.cuLaunchKernelEx, nullptr);
}

TEST(Device, DriverWithoutDeviceCountsZero) {
  FakeCuda fake;
  fake.failures["cuInit"] = CUDA_ERROR_NO_DEVICE;
  int32_t count = 7;
  EXPECT_OK(sparsec_cuda_device_count(&count));
  EXPECT_EQ(count, 0);
  sparsec_device_t device = nullptr;
  EXPECT_STATUS(sparsec_device_open_cuda(0, &device), SPARSEC_STATUS_UNAVAILABLE, "no CUDA device");
}

TEST(Device, BrokenDriverIsAnError) {
  FakeCuda fake;
  fake.failures["cuInit"] = CUresult(999);
  int32_t count = 7;
  EXPECT_STATUS(sparsec_cuda_device_count(&count), SPARSEC_STATUS_DRIVER_ERROR,
                "initialising the CUDA driver failed: CUDA_ERROR_FAKE (999, made to fail)");
  EXPECT_EQ(count, 0);
}

TEST(Device, EveryFailureOfOpeningIsReportedAndUndone) {
  for (const char *call : {"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem",
                           "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent", "cuMemAlloc"}) {
    FakeCuda fake;
    fake.failures[call] = CUresult(999);
    sparsec_device_t device = nullptr;
    EXPECT_STATUS(sparsec_device_open_cuda(0, &device), SPARSEC_STATUS_DRIVER_ERROR, "made to fail");
    EXPECT_EQ(device, nullptr);
    EXPECT_EQ(fake.retainedContexts, 0) << call;
    EXPECT_TRUE(fake.contextStack().empty()) << call;
  }
}

TEST(Device, StreamsHaveTheNumberOfTheirCapture) {
  FakeCuda fake;
  sparsec_device_t device = nullptr;
  ASSERT_OK(sparsec_device_open_cuda(0, &device));
  int captured, other;
  fake.capturedStreams = {{&captured, 7}};
  uint64_t capture = 1;
  EXPECT_OK(sparsec_stream_capture(device, &captured, &capture));
  EXPECT_EQ(capture, 7u);
  EXPECT_OK(sparsec_stream_capture(device, &other, &capture));
  EXPECT_EQ(capture, 0u);
  EXPECT_STATUS(sparsec_stream_capture(device, &other, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "out_capture is NULL");
  fake.failures = {{"cuStreamGetCaptureInfo_v2", CUresult(999)}};
  EXPECT_STATUS(sparsec_stream_capture(device, &captured, &capture), SPARSEC_STATUS_DRIVER_ERROR,
                "asking whether the stream is captured");
  sparsec_device_destroy(device);
  ASSERT_OK(sparsec_device_open_host(1, &device));
  capture = 1;
  EXPECT_OK(sparsec_stream_capture(device, &captured, &capture));
  EXPECT_EQ(capture, 0u);
  sparsec_device_destroy(device);
}

TEST(Device, CudaMemoryGoesAndComes) {
  FakeCuda fake;
  sparsec_device_t device = nullptr;
  ASSERT_OK(sparsec_device_open_cuda(0, &device));
  void *memory = nullptr;
  ASSERT_OK(sparsec_memory_allocate(device, 12, &memory));
  int32_t numbers[] = {1, 2, 3}, back[3] = {};
  EXPECT_OK(sparsec_memory_upload(device, memory, numbers, sizeof(numbers)));
  EXPECT_OK(sparsec_memory_download(device, back, memory, sizeof(back)));
  EXPECT_THAT(back, ::testing::ElementsAre(1, 2, 3));
  int stream;
  EXPECT_OK(sparsec_synchronize(device, &stream));
  // The upload waits too: a copy from pageable memory may return before it has arrived.
  EXPECT_THAT(fake.synchronizedStreams, ::testing::ElementsAre(nullptr, &stream));
  sparsec_memory_free(device, memory);
  sparsec_device_destroy(device);
  EXPECT_TRUE(fake.allocations.empty());
  EXPECT_FALSE(fake.calledWithoutContext);
  EXPECT_TRUE(fake.contextStack().empty());
}

TEST(Device, CudaOutOfMemoryNamesTheSize) {
  FakeCuda fake;
  sparsec_device_t device = nullptr;
  ASSERT_OK(sparsec_device_open_cuda(0, &device));
  fake.failures["cuMemAlloc"] = CUDA_ERROR_OUT_OF_MEMORY;
  void *memory = device;
  EXPECT_STATUS(sparsec_memory_allocate(device, 123456, &memory), SPARSEC_STATUS_OUT_OF_MEMORY,
                "allocating 123456 bytes of device memory failed: CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(memory, nullptr);
  EXPECT_TRUE(fake.contextStack().empty());
  sparsec_device_destroy(device);
}

TEST(Device, FailedCopiesAreDriverErrors) {
  FakeCuda fake;
  sparsec_device_t device = nullptr;
  ASSERT_OK(sparsec_device_open_cuda(0, &device));
  fake.failures = {
      {"cuMemcpyHtoD", CUresult(700)}, {"cuMemcpyDtoH", CUresult(700)}, {"cuStreamSynchronize", CUresult(700)}};
  char byte;
  EXPECT_STATUS(sparsec_memory_upload(device, &byte, &byte, 1), SPARSEC_STATUS_DRIVER_ERROR, "copying to the device");
  EXPECT_STATUS(sparsec_memory_download(device, &byte, &byte, 1), SPARSEC_STATUS_DRIVER_ERROR,
                "copying from the device");
  EXPECT_STATUS(sparsec_synchronize(device, nullptr), SPARSEC_STATUS_DRIVER_ERROR, "waiting for the stream");
  EXPECT_TRUE(fake.contextStack().empty());
  sparsec_device_destroy(device);
}

TEST(Device, HostDevice) {
  sparsec_device_t device = nullptr;
  ASSERT_OK(sparsec_device_open_host(3, &device));
  auto info = sparsec::sized<sparsec_device_info_t>();
  ASSERT_OK(sparsec_device_info(device, &info));
  EXPECT_EQ(info.kind, SPARSEC_TARGET_HOST);
  EXPECT_EQ(info.multiprocessors, 3);
  EXPECT_GT(info.memory_bytes, 0);
  EXPECT_NE(info.name[0], 0);
  void *memory = nullptr;
  ASSERT_OK(sparsec_memory_allocate(device, 100, &memory));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
  sparsec_memory_free(device, memory);
  EXPECT_STATUS(sparsec_memory_allocate(device, SIZE_MAX, &memory), SPARSEC_STATUS_OUT_OF_MEMORY, "out of memory");
  EXPECT_STATUS(sparsec_memory_allocate(device, SIZE_MAX / 2, &memory), SPARSEC_STATUS_OUT_OF_MEMORY,
                "cannot allocate 9223372036854775807 bytes on the host");
  EXPECT_OK(sparsec_synchronize(device, nullptr));
  sparsec_device_destroy(device);
  EXPECT_STATUS(sparsec_device_open_host(-1, &device), SPARSEC_STATUS_INVALID_ARGUMENT, "thread_count is -1");
}

TEST(Device, OptionsSayWhatTheSimpleFunctionsSay) {
  FakeCuda fake;
  fake.deviceCount = 2;
  auto options = sparsec::sized<sparsec_device_options_t>();
  options.kind = SPARSEC_TARGET_CUDA;
  options.ordinal = 1;
  sparsec_device_t device = nullptr;
  auto info = sparsec::sized<sparsec_device_info_t>();
  ASSERT_OK(sparsec_device_open(&options, &device));
  ASSERT_OK(sparsec_device_info(device, &info));
  EXPECT_EQ(info.ordinal, 1);
  sparsec_device_destroy(device);
  options.kind = SPARSEC_TARGET_HOST;
  options.thread_count = 3;
  options.flags = SPARSEC_DEVICE_CHECK_MEMORY; // does nothing there
  ASSERT_OK(sparsec_device_open(&options, &device));
  ASSERT_OK(sparsec_device_info(device, &info));
  EXPECT_EQ(info.ordinal, SPARSEC_PLACE_HOST);
  EXPECT_EQ(info.multiprocessors, 3);
  sparsec_device_destroy(device);
}

TEST(Device, WrongOptionsAreRefused) {
  auto good = sparsec::sized<sparsec_device_options_t>();
  good.kind = SPARSEC_TARGET_HOST;
  auto options = good;
  options.size = 20;
  sparsec_device_t device = reinterpret_cast<sparsec_device_t>(8);
  EXPECT_STATUS(sparsec_device_open(&options, &device), SPARSEC_STATUS_INVALID_ARGUMENT,
                "options: expects a size of at least 24 bytes, but got 20");
  EXPECT_EQ(device, nullptr);
  options = good;
  options.flags = 2;
  EXPECT_STATUS(sparsec_device_open(&options, &device), SPARSEC_STATUS_INVALID_ARGUMENT,
                "options: expects flags of 0 or 1, but got 2");
  for (int kind : {0, 3}) {
    std::memcpy(&options, &good, sizeof(options));
    std::memcpy(&options.kind, &kind, sizeof(kind));
    EXPECT_STATUS(sparsec_device_open(&options, &device), SPARSEC_STATUS_INVALID_ARGUMENT,
                  "options: expects kind 1 (CUDA) or 2 (host), but got " + std::to_string(kind));
  }
  EXPECT_STATUS(sparsec_device_open(nullptr, &device), SPARSEC_STATUS_INVALID_ARGUMENT, "options is NULL");
  EXPECT_STATUS(sparsec_device_open(&good, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_device is NULL");
}

TEST(Device, ZeroBytesAreNull) {
  sparsec_device_t device = nullptr;
  ASSERT_OK(sparsec_device_open_host(1, &device));
  void *memory = device;
  EXPECT_OK(sparsec_memory_allocate(device, 0, &memory));
  EXPECT_EQ(memory, nullptr);
  EXPECT_OK(sparsec_memory_upload(device, nullptr, nullptr, 0));
  EXPECT_OK(sparsec_memory_download(device, nullptr, nullptr, 0));
  sparsec_memory_free(device, nullptr);
  sparsec_device_destroy(device);
}

TEST(Device, NullArgumentsAreRefused) {
  sparsec_device_t device = nullptr;
  ASSERT_OK(sparsec_device_open_host(1, &device));
  char byte;
  void *memory;
  auto info = sparsec::sized<sparsec_device_info_t>();
  EXPECT_STATUS(sparsec_cuda_device_count(nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_count is NULL");
  EXPECT_STATUS(sparsec_device_open_cuda(0, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_device is NULL");
  EXPECT_STATUS(sparsec_device_open_host(1, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_device is NULL");
  EXPECT_STATUS(sparsec_device_info(nullptr, &info), SPARSEC_STATUS_INVALID_ARGUMENT, "device is NULL");
  EXPECT_STATUS(sparsec_device_info(device, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_info is NULL");
  EXPECT_STATUS(sparsec_memory_allocate(nullptr, 1, &memory), SPARSEC_STATUS_INVALID_ARGUMENT, "device is NULL");
  EXPECT_STATUS(sparsec_memory_allocate(device, 1, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_data is NULL");
  EXPECT_STATUS(sparsec_memory_upload(nullptr, &byte, &byte, 1), SPARSEC_STATUS_INVALID_ARGUMENT, "device is NULL");
  EXPECT_STATUS(sparsec_memory_upload(device, nullptr, &byte, 1), SPARSEC_STATUS_INVALID_ARGUMENT,
                "destination is NULL");
  EXPECT_STATUS(sparsec_memory_download(device, &byte, nullptr, 1), SPARSEC_STATUS_INVALID_ARGUMENT, "source is NULL");
  uint64_t capture = 0;
  EXPECT_STATUS(sparsec_stream_capture(nullptr, nullptr, &capture), SPARSEC_STATUS_INVALID_ARGUMENT, "device is NULL");
  EXPECT_STATUS(sparsec_synchronize(nullptr, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "device is NULL");
  sparsec_memory_free(nullptr, nullptr);
  sparsec_device_destroy(device);
  sparsec_device_destroy(nullptr);
}

TEST(ThreadPool, EveryIndexOnceWithAnyNumberOfThreads) {
  for (unsigned threads : {1u, 2u, 7u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (int64_t count : {0, 1, 5, 1000}) {
      std::vector<std::atomic<int>> visits(count);
      pool.run(count, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          ++visits[i];
      });
      for (int64_t i = 0; i < count; ++i)
        EXPECT_EQ(visits[i], 1) << i << " of " << count;
    }
  }
}

/// Range 0 fails after range 1 has: the thread that takes range 2 has reported the failure of range 1.
TEST(ThreadPool, ReportsTheErrorOfTheFirstRange) {
  ThreadPool pool(2);
  std::atomic<bool> laterRangeFailed = false;
  auto body = [&](int64_t begin, int64_t) {
    if (begin == 0)
      laterRangeFailed.wait(false);
    if (begin == 2) {
      laterRangeFailed = true;
      laterRangeFailed.notify_all();
    }
    return begin < 2 ? invalidArgument("range ", begin) : Status();
  };
  EXPECT_STATUS(pool.runChecked(3, body), SPARSEC_STATUS_INVALID_ARGUMENT, "range 0");
  EXPECT_OK(pool.runChecked(5, [](int64_t, int64_t) { return Status(); }));
}

TEST(ThreadPool, ErrorsAndExceptionsOfABody) {
  ThreadPool pool(1);
  auto throws = [](int64_t, int64_t) -> Status { throw std::bad_alloc(); };
  EXPECT_STATUS(pool.runChecked(1, throws), SPARSEC_STATUS_OUT_OF_MEMORY, "");
}

TEST(ThreadPool, CallersShareIt) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum = 0;
  auto caller = [&] {
    for (int i = 0; i < 200; ++i)
      pool.run(50, [&](int64_t begin, int64_t end) { sum += end - begin; });
  };
  std::thread other(caller);
  caller();
  other.join();
  EXPECT_EQ(sum, 2 * 200 * 50);
}

} // namespace
