// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime_fake_cuda.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

using namespace sparsec::runtime;

namespace sparsec::test {

namespace {

FakeCuda *fake = nullptr;
CUcontext primaryContext = reinterpret_cast<CUcontext>(0x1000);

/// Records the call; the result is what the test wants it to be.
CUresult enter(std::string_view name, bool needsContext = false) {
  if (fake->recording)
    fake->calls.emplace_back(name);
  if (needsContext && (fake->contextStack.empty() || fake->contextStack.back() != primaryContext))
    fake->calledWithoutContext = true;
  auto failure = fake->failures.find(name);
  return failure == fake->failures.end() ? CUDA_SUCCESS : failure->second;
}

#define FAKE_ENTER(...)                                                                                                \
  if (CUresult result = enter(__VA_ARGS__); result != CUDA_SUCCESS)                                                    \
  return result

CUresult fakeInit(unsigned) { return enter("cuInit"); }
CUresult fakeErrorName(CUresult error, const char **name) {
  *name = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
CUresult fakeErrorString(CUresult, const char **text) {
  *text = "made to fail";
  return CUDA_SUCCESS;
}
CUresult fakeDeviceGetCount(int *count) {
  FAKE_ENTER("cuDeviceGetCount");
  *count = fake->deviceCount;
  return CUDA_SUCCESS;
}
CUresult fakeDeviceGet(CUdevice *device, int ordinal) {
  FAKE_ENTER("cuDeviceGet");
  *device = 100 + ordinal;
  return CUDA_SUCCESS;
}
CUresult fakeDeviceGetName(char *name, int size, CUdevice) {
  FAKE_ENTER("cuDeviceGetName");
  std::strncpy(name, "Fake GPU", size);
  return CUDA_SUCCESS;
}
CUresult fakeDeviceTotalMem(size_t *bytes, CUdevice) {
  FAKE_ENTER("cuDeviceTotalMem");
  *bytes = size_t(141) << 30;
  return CUDA_SUCCESS;
}
CUresult fakeDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
  FAKE_ENTER("cuDeviceGetAttribute");
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = fake->threadsPerBlock;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    *value = fake->registersPerBlock;
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = fake->multiprocessors;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = fake->capabilityMajor;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = fake->capabilityMinor;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = fake->sharedMemory;
    break;
  case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
    *value = fake->clusterLaunch;
    break;
  }
  return CUDA_SUCCESS;
}
CUresult fakePrimaryCtxRetain(CUcontext *context, CUdevice) {
  FAKE_ENTER("cuDevicePrimaryCtxRetain");
  ++fake->retainedContexts;
  *context = primaryContext;
  return CUDA_SUCCESS;
}
CUresult fakePrimaryCtxRelease(CUdevice) {
  FAKE_ENTER("cuDevicePrimaryCtxRelease");
  --fake->retainedContexts;
  return CUDA_SUCCESS;
}
CUresult fakeCtxPushCurrent(CUcontext context) {
  FAKE_ENTER("cuCtxPushCurrent");
  fake->contextStack.push_back(context);
  return CUDA_SUCCESS;
}
CUresult fakeCtxPopCurrent(CUcontext *context) {
  FAKE_ENTER("cuCtxPopCurrent");
  *context = fake->contextStack.back();
  fake->contextStack.pop_back();
  return CUDA_SUCCESS;
}
CUresult fakeMemAlloc(CUdeviceptr *pointer, size_t bytes) {
  FAKE_ENTER("cuMemAlloc", true);
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  fake->allocations.insert(memory);
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}
CUresult fakeMemFree(CUdeviceptr pointer) {
  FAKE_ENTER("cuMemFree", true);
  auto *memory = reinterpret_cast<void *>(pointer);
  fake->allocations.erase(memory);
  std::free(memory);
  return CUDA_SUCCESS;
}
CUresult fakeMemcpyHtoD(CUdeviceptr destination, const void *source, size_t bytes) {
  FAKE_ENTER("cuMemcpyHtoD", true);
  std::memcpy(reinterpret_cast<void *>(destination), source, bytes);
  return CUDA_SUCCESS;
}
CUresult fakeMemcpyDtoH(void *destination, CUdeviceptr source, size_t bytes) {
  FAKE_ENTER("cuMemcpyDtoH", true);
  std::memcpy(destination, reinterpret_cast<const void *>(source), bytes);
  return CUDA_SUCCESS;
}
CUresult fakeMemcpyDtoHAsync(void *destination, CUdeviceptr source, size_t bytes, CUstream) {
  FAKE_ENTER("cuMemcpyDtoHAsync", true);
  std::memcpy(destination, reinterpret_cast<const void *>(source), bytes);
  return CUDA_SUCCESS;
}
CUresult fakeStreamSynchronize(CUstream stream) {
  FAKE_ENTER("cuStreamSynchronize", true);
  fake->synchronizedStreams.push_back(stream);
  return CUDA_SUCCESS;
}
CUresult fakeModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                              void **values) {
  CUresult result = enter("cuModuleLoadDataEx", true);
  if (result != CUDA_SUCCESS) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
        std::strcpy(static_cast<char *>(values[i]), fake->jitLog.c_str());
    return result;
  }
  fake->loadedImageStart.assign(static_cast<const char *>(image), 4);
  ++fake->loadedModules;
  *module = reinterpret_cast<CUmodule>(0x2000);
  return CUDA_SUCCESS;
}
CUresult fakeModuleUnload(CUmodule) {
  FAKE_ENTER("cuModuleUnload", true);
  --fake->loadedModules;
  return CUDA_SUCCESS;
}
/// Function handles are pointers to names that live as long as the program.
CUresult fakeModuleGetFunction(CUfunction *function, CUmodule, const char *name) {
  FAKE_ENTER("cuModuleGetFunction", true);
  static std::set<std::string> names;
  if (fake->missingFunctions.count(name))
    return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(const_cast<std::string *>(&*names.insert(name).first));
  return CUDA_SUCCESS;
}
const std::string &functionName(CUfunction function) { return *reinterpret_cast<const std::string *>(function); }

CUresult fakeFuncGetAttribute(int *value, CUfunction_attribute, CUfunction) {
  FAKE_ENTER("cuFuncGetAttribute", true);
  *value = fake->functionThreads;
  return CUDA_SUCCESS;
}
CUresult fakeFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  FAKE_ENTER("cuFuncSetAttribute", true);
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    fake->dynamicSharedMemory[functionName(function)] = value;
  return CUDA_SUCCESS;
}
CUresult fakeMaxActiveClusters(int *count, CUfunction, const CUlaunchConfig *) {
  FAKE_ENTER("cuOccupancyMaxActiveClusters", true);
  *count = fake->activeClusters;
  return CUDA_SUCCESS;
}
CUresult fakeTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, uint32_t rank, void *address,
                                  const uint64_t *sizes, const uint64_t *strides, const uint32_t *box, const uint32_t *,
                                  CUtensorMapInterleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                  CUtensorMapFloatOOBfill) {
  FAKE_ENTER("cuTensorMapEncodeTiled");
  if (!fake->recording)
    return CUDA_SUCCESS;
  map->opaque[0] = fake->tensorMaps.size();
  fake->tensorMaps.push_back({type,
                              swizzle,
                              promotion,
                              rank,
                              address,
                              {sizes, sizes + rank},
                              {strides, strides + rank - 1},
                              {box, box + rank}});
  return CUDA_SUCCESS;
}
CUresult fakeLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                          unsigned, unsigned, unsigned sharedMemory, CUstream stream, void **parameters, void **) {
  FAKE_ENTER("cuLaunchKernel", true);
  if (!fake->recording)
    return CUDA_SUCCESS;
  FakeLaunch launch = {functionName(function), gridX, gridY, gridZ, blockX, sharedMemory, stream, {}};
  for (size_t i = 0; i < fake->parameterCount; ++i) {
    uint64_t word;
    std::memcpy(&word, parameters[i], sizeof(word));
    launch.words.push_back(word);
  }
  fake->launches.push_back(launch);
  return CUDA_SUCCESS;
}

const CudaTable table = {
    .cuInit = fakeInit,
    .cuGetErrorName = fakeErrorName,
    .cuGetErrorString = fakeErrorString,
    .cuDeviceGetCount = fakeDeviceGetCount,
    .cuDeviceGet = fakeDeviceGet,
    .cuDeviceGetName = fakeDeviceGetName,
    .cuDeviceTotalMem = fakeDeviceTotalMem,
    .cuDeviceGetAttribute = fakeDeviceGetAttribute,
    .cuDevicePrimaryCtxRetain = fakePrimaryCtxRetain,
    .cuDevicePrimaryCtxRelease = fakePrimaryCtxRelease,
    .cuCtxPushCurrent = fakeCtxPushCurrent,
    .cuCtxPopCurrent = fakeCtxPopCurrent,
    .cuMemAlloc = fakeMemAlloc,
    .cuMemFree = fakeMemFree,
    .cuMemcpyHtoD = fakeMemcpyHtoD,
    .cuMemcpyDtoH = fakeMemcpyDtoH,
    .cuMemcpyDtoHAsync = fakeMemcpyDtoHAsync,
    .cuStreamSynchronize = fakeStreamSynchronize,
    .cuModuleLoadDataEx = fakeModuleLoadDataEx,
    .cuModuleUnload = fakeModuleUnload,
    .cuModuleGetFunction = fakeModuleGetFunction,
    .cuFuncGetAttribute = fakeFuncGetAttribute,
    .cuFuncSetAttribute = fakeFuncSetAttribute,
    .cuOccupancyMaxActiveClusters = fakeMaxActiveClusters,
    .cuTensorMapEncodeTiled = fakeTensorMapEncodeTiled,
    .cuLaunchKernel = fakeLaunchKernel,
};

} // namespace

FakeCuda::FakeCuda() {
  fake = this;
  replaceCudaForTesting(&table);
}

FakeCuda::~FakeCuda() {
  replaceCudaForTesting(nullptr);
  fake = nullptr;
}

bool FakeCuda::called(const std::string &name) const { return std::count(calls.begin(), calls.end(), name) != 0; }

} // namespace sparsec::test
