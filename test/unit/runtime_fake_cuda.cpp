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
/// Guards what the fake writes, and nothing that it only reads: a lock more would order calls of the runtime, and hide
/// from ThreadSanitizer that they race.
std::mutex mutex;
thread_local std::vector<CUcontext> contexts;

CUcontext contextOf(int ordinal) { return reinterpret_cast<CUcontext>(0x1000 + uintptr_t(ordinal)); }
/// The ordinal of the device whose context is current; -1 if there is none.
int currentOrdinal() { return contexts.empty() ? -1 : int(reinterpret_cast<uintptr_t>(contexts.back()) - 0x1000); }
bool isDevice(int ordinal) { return ordinal >= 0 && ordinal < fake->deviceCount; }

void count(std::atomic<int> &counter, int change) { counter.fetch_add(change, std::memory_order_relaxed); }

/// Records the call; the result is what the test wants it to be.
CUresult enter(std::string_view name, bool needsContext = false) {
  if (fake->recording) {
    std::lock_guard lock(mutex);
    fake->calls.emplace_back(name);
  }
  if (needsContext && !isDevice(currentOrdinal()))
    fake->calledWithoutContext.store(true, std::memory_order_relaxed);
  auto failure = fake->failures.find(name);
  return failure == fake->failures.end() ? CUDA_SUCCESS : failure->second;
}

/// Records a call that goes to a stream, and does what the stream still has to do.
void enterStream(std::string_view name, void *stream) {
  if (!fake->recording)
    return;
  decltype(fake->pending)::node_type work;
  {
    std::lock_guard lock(mutex);
    fake->streamCalls.emplace_back(name, stream);
    work = fake->pending.extract(stream);
  }
  if (work)
    work.mapped()();
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
constexpr CUdevice firstDevice = 100; // a handle is no ordinal
CUresult fakeDeviceGet(CUdevice *device, int ordinal) {
  FAKE_ENTER("cuDeviceGet");
  *device = firstDevice + ordinal;
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
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    *value = fake->l2Bytes;
    break;
  }
  return CUDA_SUCCESS;
}
CUresult fakePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  FAKE_ENTER("cuDevicePrimaryCtxRetain");
  count(fake->retainedContexts, 1);
  *context = contextOf(device - firstDevice);
  return CUDA_SUCCESS;
}
CUresult fakePrimaryCtxRelease(CUdevice) {
  FAKE_ENTER("cuDevicePrimaryCtxRelease");
  count(fake->retainedContexts, -1);
  return CUDA_SUCCESS;
}
/// Not among the calls that tests look at: it changes nothing.
CUresult fakeCtxGetCurrent(CUcontext *context) {
  *context = contexts.empty() ? nullptr : contexts.back();
  return CUDA_SUCCESS;
}
CUresult fakeCtxPushCurrent(CUcontext context) {
  FAKE_ENTER("cuCtxPushCurrent");
  contexts.push_back(context);
  return CUDA_SUCCESS;
}
CUresult fakeCtxPopCurrent(CUcontext *context) {
  FAKE_ENTER("cuCtxPopCurrent");
  *context = contexts.back();
  contexts.pop_back();
  return CUDA_SUCCESS;
}
CUresult fakeMemAlloc(CUdeviceptr *pointer, size_t bytes) {
  FAKE_ENTER("cuMemAlloc", true);
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  {
    std::lock_guard lock(mutex);
    fake->allocations[memory] = {.bytes = bytes, .ordinal = currentOrdinal()};
  }
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}
CUresult fakeMemFree(CUdeviceptr pointer) {
  FAKE_ENTER("cuMemFree", true);
  auto *memory = reinterpret_cast<void *>(pointer);
  {
    std::lock_guard lock(mutex);
    fake->allocations.erase(memory);
  }
  std::free(memory);
  return CUDA_SUCCESS;
}

/// The memory that holds the address, and where it begins; null if there is none.
const std::pair<void *const, FakeMemory> *findMemory(const std::map<void *, FakeMemory> &all, uintptr_t address) {
  auto next = all.upper_bound(reinterpret_cast<void *>(address));
  if (next == all.begin())
    return nullptr;
  const auto &candidate = *std::prev(next);
  return address - reinterpret_cast<uintptr_t>(candidate.first) < candidate.second.bytes ? &candidate : nullptr;
}

/// As the driver, succeeds on pointers that it does not know, and says of reserved addresses that they are a range, but
/// no memory.
CUresult fakePointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **values, CUdeviceptr pointer) {
  FAKE_ENTER("cuPointerGetAttributes", true);
  std::lock_guard lock(mutex);
  const auto *found = findMemory(fake->allocations, pointer);
  if (!found)
    found = findMemory(fake->memory, pointer);
  const FakeMemory memory = found ? found->second : FakeMemory{};
  const uintptr_t begin = found ? reinterpret_cast<uintptr_t>(found->first) : 0;
  const bool isThere = found && (memory.mappedBytes == 0 || pointer - begin < memory.mappedBytes);
  auto set = [](void *value, auto what) { std::memcpy(value, &what, sizeof(what)); };
  for (unsigned i = 0; i < count; ++i)
    switch (attributes[i]) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      set(values[i], isThere && memory.mappedBytes == 0 ? contextOf(memory.ordinal) : nullptr);
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      set(values[i], isThere ? int(memory.type) : 0);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      set(values[i], isThere && memory.isReachable ? pointer : CUdeviceptr(0));
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      set(values[i], int(isThere && memory.isManaged));
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      set(values[i], isThere ? memory.ordinal : -2);
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      set(values[i], begin);
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      set(values[i], memory.bytes);
      break;
    }
  return CUDA_SUCCESS;
}
CUresult fakeMemcpyHtoD(CUdeviceptr destination, const void *source, size_t bytes) {
  FAKE_ENTER("cuMemcpyHtoD", true);
  enterStream("cuMemcpyHtoD", nullptr);
  std::memcpy(reinterpret_cast<void *>(destination), source, bytes);
  return CUDA_SUCCESS;
}
CUresult fakeMemcpyDtoH(void *destination, CUdeviceptr source, size_t bytes) {
  FAKE_ENTER("cuMemcpyDtoH", true);
  enterStream("cuMemcpyDtoH", nullptr);
  std::memcpy(destination, reinterpret_cast<const void *>(source), bytes);
  return CUDA_SUCCESS;
}
CUresult fakeMemcpyHtoDAsync(CUdeviceptr destination, const void *source, size_t bytes, CUstream stream) {
  FAKE_ENTER("cuMemcpyHtoDAsync", true);
  enterStream("cuMemcpyHtoDAsync", stream);
  std::memcpy(reinterpret_cast<void *>(destination), source, bytes);
  return CUDA_SUCCESS;
}
CUresult fakeMemcpyDtoHAsync(void *destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  FAKE_ENTER("cuMemcpyDtoHAsync", true);
  enterStream("cuMemcpyDtoHAsync", stream);
  std::memcpy(destination, reinterpret_cast<const void *>(source), bytes);
  return CUDA_SUCCESS;
}
CUresult fakeStreamSynchronize(CUstream stream) {
  FAKE_ENTER("cuStreamSynchronize", true);
  if (!fake->recording)
    return CUDA_SUCCESS;
  enterStream("cuStreamSynchronize", stream);
  std::lock_guard lock(mutex);
  fake->synchronizedStreams.push_back(stream);
  return CUDA_SUCCESS;
}
CUresult fakeStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id, void **, const void **,
                                  size_t *) {
  FAKE_ENTER("cuStreamGetCaptureInfo_v2", true);
  const auto capture = fake->capturedStreams.find(stream);
  *status = CUstreamCaptureStatus(capture != fake->capturedStreams.end());
  *id = *status ? capture->second : 99; // nothing may depend on it
  return CUDA_SUCCESS;
}
CUresult fakeModuleLoadDataEx(CUmodule *module, const void *image, unsigned optionCount, CUjit_option *options,
                              void **values) {
  CUresult result = enter("cuModuleLoadDataEx", true);
  if (result != CUDA_SUCCESS) {
    for (unsigned i = 0; i < optionCount; ++i)
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
        std::strcpy(static_cast<char *>(values[i]), fake->jitLog.c_str());
    return result;
  }
  count(fake->loadedModules, 1);
  *module = reinterpret_cast<CUmodule>(0x2000);
  if (!fake->recording)
    return CUDA_SUCCESS;
  std::lock_guard lock(mutex);
  fake->loadedImageStart.assign(static_cast<const char *>(image), 4);
  return CUDA_SUCCESS;
}
CUresult fakeModuleUnload(CUmodule) {
  FAKE_ENTER("cuModuleUnload", true);
  count(fake->loadedModules, -1);
  return CUDA_SUCCESS;
}
/// Function handles are pointers to names that live as long as the program.
CUresult fakeModuleGetFunction(CUfunction *function, CUmodule, const char *name) {
  FAKE_ENTER("cuModuleGetFunction", true);
  static std::set<std::string> names;
  if (fake->missingFunctions.count(name))
    return CUDA_ERROR_NOT_FOUND;
  std::lock_guard lock(mutex);
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
  if (!fake->recording || attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    return CUDA_SUCCESS;
  std::lock_guard lock(mutex);
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
  std::lock_guard lock(mutex);
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
CUresult fakeTensorMapReplaceAddress(CUtensorMap *map, void *address) {
  FAKE_ENTER("cuTensorMapReplaceAddress");
  if (!fake->recording)
    return CUDA_SUCCESS;
  FakeTensorMap moved = fake->tensorMaps[map->opaque[0]];
  moved.address = address;
  map->opaque[0] = fake->tensorMaps.size();
  fake->tensorMaps.push_back(moved);
  return CUDA_SUCCESS;
}
void recordLaunch(FakeLaunch launch, void **parameters) {
  for (size_t i = 0; i < fake->parameterCount; ++i) {
    uint64_t word;
    std::memcpy(&word, parameters[i], sizeof(word));
    launch.words.push_back(word);
  }
  std::lock_guard lock(mutex);
  fake->launches.push_back(std::move(launch));
}
CUresult fakeLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                          unsigned, unsigned, unsigned sharedMemory, CUstream stream, void **parameters, void **) {
  FAKE_ENTER("cuLaunchKernel", true);
  enterStream("cuLaunchKernel", stream);
  if (fake->recording)
    recordLaunch(
        {currentOrdinal(), functionName(function), gridX, gridY, gridZ, blockX, sharedMemory, stream, false, {}},
        parameters);
  return CUDA_SUCCESS;
}
CUresult fakeLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **) {
  FAKE_ENTER("cuLaunchKernelEx", true);
  enterStream("cuLaunchKernelEx", config->hStream);
  if (!fake->recording)
    return CUDA_SUCCESS;
  const bool isEarly = config->numAttrs == 1 &&
                       config->attrs[0].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                       config->attrs[0].value.programmaticStreamSerializationAllowed == 1;
  EXPECT_EQ(config->blockDimY * config->blockDimZ, 1u);
  recordLaunch({currentOrdinal(),
                functionName(function),
                config->gridDimX,
                config->gridDimY,
                config->gridDimZ,
                config->blockDimX,
                config->sharedMemBytes,
                config->hStream,
                isEarly,
                {}},
               parameters);
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
    .cuCtxGetCurrent = fakeCtxGetCurrent,
    .cuCtxPushCurrent = fakeCtxPushCurrent,
    .cuCtxPopCurrent = fakeCtxPopCurrent,
    .cuMemAlloc = fakeMemAlloc,
    .cuMemFree = fakeMemFree,
    .cuMemcpyHtoD = fakeMemcpyHtoD,
    .cuMemcpyDtoH = fakeMemcpyDtoH,
    .cuMemcpyDtoHAsync = fakeMemcpyDtoHAsync,
    .cuPointerGetAttributes = fakePointerGetAttributes,
    .cuMemcpyHtoDAsync = fakeMemcpyHtoDAsync,
    .cuStreamSynchronize = fakeStreamSynchronize,
    .cuStreamGetCaptureInfo = fakeStreamGetCaptureInfo,
    .cuModuleLoadDataEx = fakeModuleLoadDataEx,
    .cuModuleUnload = fakeModuleUnload,
    .cuModuleGetFunction = fakeModuleGetFunction,
    .cuFuncGetAttribute = fakeFuncGetAttribute,
    .cuFuncSetAttribute = fakeFuncSetAttribute,
    .cuOccupancyMaxActiveClusters = fakeMaxActiveClusters,
    .cuTensorMapEncodeTiled = fakeTensorMapEncodeTiled,
    .cuTensorMapReplaceAddress = fakeTensorMapReplaceAddress,
    .cuLaunchKernel = fakeLaunchKernel,
    .cuLaunchKernelEx = fakeLaunchKernelEx,
};

} // namespace

FakeCuda::FakeCuda() {
  contexts.clear();
  fake = this;
  replaceCudaForTesting(&table);
}

FakeCuda::~FakeCuda() {
  replaceCudaForTesting(nullptr);
  fake = nullptr;
}

void FakeCuda::makeOld() {
  static CudaTable old = table;
  old.cuLaunchKernelEx = nullptr;
  replaceCudaForTesting(&old);
}

const std::vector<CUcontext> &FakeCuda::contextStack() const { return contexts; }

bool FakeCuda::called(const std::string &name) const { return std::count(calls.begin(), calls.end(), name) != 0; }

} // namespace sparsec::test
