// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/device.h"
#include "arguments/views.h"
#include "image/enum_values.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <unistd.h>

namespace sparsec::runtime {

namespace {

CUdeviceptr devicePointer(const void *data) { return reinterpret_cast<uintptr_t>(data); }

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (size_t colon = line.find(": "); line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2);
  return "host";
}

void setName(sparsec_device_info_t &info, const std::string &name) {
  size_t length = std::min(name.size(), sizeof(info.name) - 1);
  std::memcpy(info.name, name.data(), length);
  info.name[length] = 0;
}

} // namespace

namespace {

/// Whether a device is in the checking mode. What the environment says goes before the flags.
Status readCheckMemory(uint32_t flags, bool &outChecksMemory) {
  constexpr const char *name = "SPARSEC_CHECK_MEMORY";
  const char *value = std::getenv(name);
  const std::string_view text = value ? value : "";
  if (!text.empty() && text != "0" && text != "1")
    return invalidArgument("the environment variable ", name, ": expects 0 or 1, but got '", value, "'");
  outChecksMemory = text.empty() ? flags & SPARSEC_DEVICE_CHECK_MEMORY : text == "1";
  return {};
}

} // namespace

Status Device::openCuda(int32_t ordinal, uint32_t flags, std::shared_ptr<Device> &outDevice) {
  auto device = std::make_shared<Device>();
  device->info.ordinal = ordinal;
  SPARSEC_RETURN_IF_ERROR(readCheckMemory(flags, device->checksMemory));
  SPARSEC_RETURN_IF_ERROR(loadCuda(device->cuda));
  const CudaTable &cuda = *device->cuda;
  int count = 0;
  SPARSEC_RETURN_IF_ERROR(cudaStatus(cuda, cuda.cuDeviceGetCount(&count), "counting CUDA devices"));
  if (ordinal < 0 || ordinal >= count)
    return makeStatus(SPARSEC_STATUS_UNAVAILABLE, "no CUDA device ", ordinal, ": there are ", count);
  SPARSEC_RETURN_IF_ERROR(device->queryCuda(ordinal));
  SPARSEC_RETURN_IF_ERROR(cudaStatus(cuda, cuda.cuDevicePrimaryCtxRetain(&device->context, device->cudaDevice),
                                     "retaining the device's primary context"));
  SPARSEC_RETURN_IF_ERROR(device->allocate(256, device->placeholder));
  outDevice = std::move(device);
  return {};
}

Status Device::queryCuda(int32_t ordinal) {
  info.kind = SPARSEC_TARGET_CUDA;
  SPARSEC_RETURN_IF_ERROR(cudaStatus(*cuda, cuda->cuDeviceGet(&cudaDevice, ordinal), "opening the CUDA device"));
  SPARSEC_RETURN_IF_ERROR(
      cudaStatus(*cuda, cuda->cuDeviceGetName(info.name, sizeof(info.name), cudaDevice), "naming the CUDA device"));
  size_t memory = 0;
  SPARSEC_RETURN_IF_ERROR(
      cudaStatus(*cuda, cuda->cuDeviceTotalMem(&memory, cudaDevice), "reading the size of the device's memory"));
  info.memory_bytes = int64_t(memory);

  int major = 0, minor = 0, multiprocessors = 0, sharedMemory = 0;
  const std::pair<CUdevice_attribute, int *> attributes[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &multiprocessors},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &sharedMemory},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threadsPerBlock},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &registersPerBlock},
      {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, &clusterLaunch},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2Bytes},
  };
  for (auto [attribute, value] : attributes)
    SPARSEC_RETURN_IF_ERROR(
        cudaStatus(*cuda, cuda->cuDeviceGetAttribute(value, attribute, cudaDevice), "reading the device's limits"));
  info.compute_capability = 10 * major + minor;
  info.multiprocessors = multiprocessors;
  info.shared_memory_per_block = sharedMemory;
  return {};
}

Status Device::openHost(int32_t threadCount, std::shared_ptr<Device> &outDevice) {
  constexpr int32_t maxThreads = 4096;
  if (threadCount < 0 || threadCount > maxThreads)
    return invalidArgument("thread_count is ", threadCount, ", expects 0 to ", maxThreads);
  if (threadCount == 0)
    threadCount = std::max(1u, std::thread::hardware_concurrency());
  auto device = std::make_shared<Device>();
  device->info.kind = SPARSEC_TARGET_HOST;
  device->info.ordinal = SPARSEC_PLACE_HOST;
  setName(device->info, processorName());
  device->info.multiprocessors = threadCount;
  device->info.memory_bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  device->threads = std::make_unique<ThreadPool>(threadCount);
  outDevice = std::move(device);
  return {};
}

Device::~Device() {
  if (!context)
    return;
  free(placeholder);
  cuda->cuDevicePrimaryCtxRelease(cudaDevice);
}

Status Device::allocate(size_t bytes, void *&outData) const {
  if (bytes == 0)
    return {};
  if (isHost()) {
    constexpr size_t alignment = 64;
    if (bytes > SIZE_MAX - alignment)
      return outOfMemoryStatus();
    outData = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!outData)
      return makeStatus(SPARSEC_STATUS_OUT_OF_MEMORY, "out of memory: cannot allocate ", bytes, " bytes on the host");
    return {};
  }
  ContextScope current(*this);
  SPARSEC_RETURN_IF_ERROR(current.status());
  CUdeviceptr pointer = 0;
  std::string action = "allocating " + std::to_string(bytes) + " bytes of device memory";
  SPARSEC_RETURN_IF_ERROR(cudaStatus(*cuda, cuda->cuMemAlloc(&pointer, bytes), action.c_str()));
  outData = reinterpret_cast<void *>(pointer);
  return {};
}

void Device::free(void *data) const {
  if (!data)
    return;
  if (isHost())
    return std::free(data);
  if (ContextScope current(*this); current.ok())
    cuda->cuMemFree(devicePointer(data));
}

Status Device::upload(void *destination, const void *source, size_t bytes) const {
  if (bytes == 0)
    return {};
  if (isHost()) {
    std::memcpy(destination, source, bytes);
    return {};
  }
  ContextScope current(*this);
  SPARSEC_RETURN_IF_ERROR(current.status());
  SPARSEC_RETURN_IF_ERROR(
      cudaStatus(*cuda, cuda->cuMemcpyHtoD(devicePointer(destination), source, bytes), "copying to the device"));
  // A copy from pageable memory may return before it has arrived; streams that do not wait for the default stream would
  // then read old data.
  return cudaStatus(*cuda, cuda->cuStreamSynchronize(nullptr), "waiting for a copy to the device");
}

Status Device::download(void *destination, const void *source, size_t bytes) const {
  if (bytes == 0)
    return {};
  if (isHost()) {
    std::memcpy(destination, source, bytes);
    return {};
  }
  ContextScope current(*this);
  SPARSEC_RETURN_IF_ERROR(current.status());
  return cudaStatus(*cuda, cuda->cuMemcpyDtoH(destination, devicePointer(source), bytes), "copying from the device");
}

Status Device::uploadAsync(void *destination, const void *source, size_t bytes, void *stream) const {
  if (bytes == 0 || isHost())
    return upload(destination, source, bytes);
  ContextScope current(*this);
  SPARSEC_RETURN_IF_ERROR(current.status());
  return cudaStatus(*cuda,
                    cuda->cuMemcpyHtoDAsync(devicePointer(destination), source, bytes, static_cast<CUstream>(stream)),
                    "copying to the device");
}

Status Device::downloadAsync(void *destination, const void *source, size_t bytes, void *stream) const {
  if (bytes == 0 || isHost())
    return download(destination, source, bytes);
  ContextScope current(*this);
  SPARSEC_RETURN_IF_ERROR(current.status());
  return cudaStatus(*cuda,
                    cuda->cuMemcpyDtoHAsync(destination, devicePointer(source), bytes, static_cast<CUstream>(stream)),
                    "copying from the device");
}

Status Device::synchronize(void *stream) const {
  if (isHost())
    return {};
  ContextScope current(*this);
  SPARSEC_RETURN_IF_ERROR(current.status());
  return cudaStatus(*cuda, cuda->cuStreamSynchronize(static_cast<CUstream>(stream)), "waiting for the stream");
}

Status Device::captureOf(void *stream, uint64_t &outCapture) const {
  outCapture = 0;
  if (isHost())
    return {};
  ContextScope current(*this);
  SPARSEC_RETURN_IF_ERROR(current.status());
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  uint64_t id = 0;
  SPARSEC_RETURN_IF_ERROR(cudaStatus(
      *cuda, cuda->cuStreamGetCaptureInfo(static_cast<CUstream>(stream), &status, &id, nullptr, nullptr, nullptr),
      "asking whether the stream is captured"));
  if (status != CU_STREAM_CAPTURE_STATUS_NONE)
    outCapture = id;
  return {};
}

namespace {

Status checkCopy(sparsec_device_t device, const void *destination, const void *source, size_t bytes) {
  if (!device)
    return invalidArgument("device is NULL");
  if (bytes != 0 && (!destination || !source))
    return invalidArgument(destination ? "source" : "destination", " is NULL, but bytes is ", bytes);
  return {};
}

} // namespace

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_cuda_device_count(int32_t *out_count) {
  return guarded([&]() -> Status {
    if (!out_count)
      return invalidArgument("out_count is NULL");
    *out_count = 0;
    const CudaTable *cuda;
    Status status = loadCuda(cuda);
    if (sparsec_status_code(status.get()) == SPARSEC_STATUS_UNAVAILABLE)
      return {};
    SPARSEC_RETURN_IF_ERROR(std::move(status));
    int count = 0;
    SPARSEC_RETURN_IF_ERROR(cudaStatus(*cuda, cuda->cuDeviceGetCount(&count), "counting CUDA devices"));
    *out_count = count;
    return {};
  });
}

namespace {

Status openDevice(const sparsec_device_options_t &options, std::shared_ptr<Device> &outDevice) {
  SPARSEC_RETURN_IF_ERROR(checkStructSize(options, {"options"}));
  if (options.flags & ~uint32_t(SPARSEC_DEVICE_CHECK_MEMORY))
    return invalidArgument("options: expects flags of 0 or ", int(SPARSEC_DEVICE_CHECK_MEMORY), ", but got ",
                           options.flags);
  switch (enumValue(options.kind)) {
  case SPARSEC_TARGET_CUDA:
    return Device::openCuda(options.ordinal, options.flags, outDevice);
  case SPARSEC_TARGET_HOST:
    return Device::openHost(options.thread_count, outDevice);
  }
  return invalidArgument("options: expects kind ", int(SPARSEC_TARGET_CUDA), " (CUDA) or ", int(SPARSEC_TARGET_HOST),
                         " (host), but got ", enumValue(options.kind));
}

} // namespace

sparsec_status_t sparsec_device_open(const sparsec_device_options_t *options, sparsec_device_t *out_device) {
  return guarded([&]() -> Status {
    if (!out_device)
      return invalidArgument("out_device is NULL");
    *out_device = nullptr;
    if (!options)
      return invalidArgument("options is NULL");
    std::shared_ptr<Device> device;
    SPARSEC_RETURN_IF_ERROR(openDevice(*options, device));
    *out_device = new sparsec_device_s{std::move(device)};
    return {};
  });
}

sparsec_status_t sparsec_device_open_cuda(int32_t ordinal, sparsec_device_t *out_device) {
  const sparsec_device_options_t options = {sizeof(options), SPARSEC_TARGET_CUDA, ordinal, 0, 0};
  return sparsec_device_open(&options, out_device);
}

sparsec_status_t sparsec_device_open_host(int32_t thread_count, sparsec_device_t *out_device) {
  const sparsec_device_options_t options = {sizeof(options), SPARSEC_TARGET_HOST, 0, thread_count, 0};
  return sparsec_device_open(&options, out_device);
}

void sparsec_device_destroy(sparsec_device_t device) { delete device; }

sparsec_status_t sparsec_device_info(sparsec_device_t device, sparsec_device_info_t *out_info) {
  return guarded([&]() -> Status {
    SPARSEC_RETURN_IF_ERROR(startOutput(out_info, "out_info"));
    if (!device)
      return invalidArgument("device is NULL");
    fillOutput(*out_info, device->device->info);
    return {};
  });
}

sparsec_status_t sparsec_memory_allocate(sparsec_device_t device, size_t bytes, void **out_data) {
  return guarded([&]() -> Status {
    if (!out_data)
      return invalidArgument("out_data is NULL");
    *out_data = nullptr;
    if (!device)
      return invalidArgument("device is NULL");
    return device->device->allocate(bytes, *out_data);
  });
}

void sparsec_memory_free(sparsec_device_t device, void *data) {
  if (device)
    device->device->free(data);
}

sparsec_status_t sparsec_memory_upload(sparsec_device_t device, void *destination, const void *source, size_t bytes) {
  return guarded([&]() -> Status {
    SPARSEC_RETURN_IF_ERROR(checkCopy(device, destination, source, bytes));
    return device->device->upload(destination, source, bytes);
  });
}

sparsec_status_t sparsec_memory_download(sparsec_device_t device, void *destination, const void *source, size_t bytes) {
  return guarded([&]() -> Status {
    SPARSEC_RETURN_IF_ERROR(checkCopy(device, destination, source, bytes));
    return device->device->download(destination, source, bytes);
  });
}

sparsec_status_t sparsec_stream_capture(sparsec_device_t device, void *stream, uint64_t *out_capture) {
  return guarded([&]() -> Status {
    if (!device || !out_capture)
      return invalidArgument(device ? "out_capture" : "device", " is NULL");
    return device->device->captureOf(stream, *out_capture);
  });
}

sparsec_status_t sparsec_synchronize(sparsec_device_t device, void *stream) {
  return guarded([&]() -> Status {
    if (!device)
      return invalidArgument("device is NULL");
    return device->device->synchronize(stream);
  });
}
