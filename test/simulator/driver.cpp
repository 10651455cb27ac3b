// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of libcuda.so.1 that the runtime and the tests call: device, memory, modules and launches.

#include "elf_ptx.h"
#include "simulated_device.h"
#include "tensor_map.h"

#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

using namespace sparsec::runtime;
using namespace sparsec::simulator;

namespace {

/// There is one context, and it is always current.
CUcontext theContext() { return reinterpret_cast<CUcontext>(&device()); }

Function &functionOf(CUfunction handle) { return *reinterpret_cast<Function *>(handle); }
Module &moduleOf(CUmodule handle) { return *reinterpret_cast<Module *>(handle); }
Stream *streamOf(CUstream handle) { return reinterpret_cast<Stream *>(handle); }

constexpr size_t allocationAlignment = 256;
constexpr int poison = 0xff;

template <class Value> void setAttribute(void *place, Value value) { std::memcpy(place, &value, sizeof value); }

CUresult loadProgram(const void *image, std::unique_ptr<Program> &out, std::string &message) {
  const std::string_view ptx = findPtx(image);
  if (ptx.empty()) {
    message = "the image has no PTX for the simulator: compile it with test/simulator/simulated_ptxas.py as ptxas";
    return invalidImage;
  }
  try {
    out = std::make_unique<Program>(ptx);
  } catch (const SimulationError &error) {
    message = error.what();
    return invalidImage;
  }
  return CUDA_SUCCESS;
}

void writeLog(const std::string &message, unsigned count, const CUjit_option *options, void **values) {
  char *buffer = nullptr;
  size_t bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      bytes = reinterpret_cast<size_t>(values[i]);
  }
  if (buffer && bytes != 0)
    buffer[message.copy(buffer, bytes - 1)] = 0;
}

} // namespace

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }

CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  *name = error == launchFailed   ? "CUDA_ERROR_LAUNCH_FAILED"
          : error == invalidValue ? "CUDA_ERROR_INVALID_VALUE"
          : error == invalidImage ? "CUDA_ERROR_INVALID_IMAGE"
                                  : nullptr;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = error == launchFailed ? "a kernel failed on the simulator, which has reported it" : nullptr;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  *count = 1;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *out, int ordinal) {
  *out = 0;
  return ordinal == 0 ? CUDA_SUCCESS : invalidValue;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice) {
  const std::string text = fmt::format("simulated GPU (sm_{})", device().capability);
  name[text.copy(name, size_t(size) - 1)] = 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
  *bytes = size_t(8) << 30;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = 1024;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    *value = 65536;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = device().multiprocessors;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: // there is none; plans are those of an H100
    *value = 50 << 20;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = device().capability / 10;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = device().capability % 10;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = device().sharedMemory();
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
    *value = device().hasClusters();
    return CUDA_SUCCESS;
  }
  return invalidValue;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  *context = theContext();
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = nullptr;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  *context = theContext();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice *out) {
  *out = 0;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  if (bytes == 0)
    return invalidValue;
  void *memory = std::aligned_alloc(allocationAlignment,
                                    (bytes + allocationAlignment - 1) / allocationAlignment * allocationAlignment);
  if (!memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, poison, bytes);
  *pointer = reinterpret_cast<uintptr_t>(memory);
  std::lock_guard lock(device().mutex);
  device().memory.add(*pointer, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  std::lock_guard lock(device().mutex);
  if (!device().memory.remove(pointer))
    return invalidValue;
  std::free(reinterpret_cast<void *>(pointer));
  return CUDA_SUCCESS;
}

/// Copies both ways; what was enqueued before has run.
static CUresult copy(void *destination, const void *source, size_t bytes, Stream *stream) {
  std::lock_guard lock(device().mutex);
  if (CUresult error = stream && stream->isCaptured ? CUDA_SUCCESS : device().takeError(); error != CUDA_SUCCESS)
    return error;
  device().enqueue(stream, [=] { std::memcpy(destination, source, bytes); });
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr destination, const void *source, size_t bytes) {
  return copy(reinterpret_cast<void *>(destination), source, bytes, nullptr);
}
CUresult cuMemcpyDtoH_v2(void *destination, CUdeviceptr source, size_t bytes) {
  return copy(destination, reinterpret_cast<const void *>(source), bytes, nullptr);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void *source, size_t bytes, CUstream stream) {
  return copy(reinterpret_cast<void *>(destination), source, bytes, streamOf(stream));
}
CUresult cuMemcpyDtoHAsync_v2(void *destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return copy(destination, reinterpret_cast<const void *>(source), bytes, streamOf(stream));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return copy(reinterpret_cast<void *>(destination), reinterpret_cast<const void *>(source), bytes, streamOf(stream));
}

CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char value, size_t bytes, CUstream stream) {
  std::lock_guard lock(device().mutex);
  device().enqueue(streamOf(stream), [=] { std::memset(reinterpret_cast<void *>(pointer), value, bytes); });
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **values, CUdeviceptr pointer) {
  std::lock_guard lock(device().mutex);
  const DeviceMemory::Allocation *found = device().memory.find(pointer);
  if (found && pointer >= found->end)
    found = nullptr;
  for (unsigned i = 0; i < count; ++i)
    switch (attributes[i]) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      setAttribute(values[i], found ? theContext() : nullptr);
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      setAttribute(values[i], found ? int(CU_MEMORYTYPE_DEVICE) : 0);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      setAttribute(values[i], found ? pointer : CUdeviceptr(0));
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      setAttribute(values[i], 0);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      setAttribute(values[i], found ? 0 : -2);
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      setAttribute(values[i], found ? CUdeviceptr(found->begin) : CUdeviceptr(0));
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      setAttribute(values[i], found ? size_t(found->end - found->begin) : size_t(0));
      break;
    }
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count, CUjit_option *options, void **values) {
  auto module = std::make_unique<Module>();
  std::string message;
  if (CUresult result = loadProgram(image, module->program, message); result != CUDA_SUCCESS) {
    writeLog(message, count, options, values);
    return result;
  }
  std::lock_guard lock(device().mutex);
  for (const auto &[name, variable] : module->program->globalVariables)
    device().memory.add(variable.address, std::max<uint64_t>(variable.bytes, 1), variable.space == Space::constant);
  *out = reinterpret_cast<CUmodule>(module.release());
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule handle) {
  std::lock_guard lock(device().mutex);
  const std::unique_ptr<Module> module(&moduleOf(handle));
  for (const auto &[name, variable] : module->program->globalVariables)
    device().memory.remove(variable.address);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name) {
  Module &module = moduleOf(handle);
  const KernelProgram *kernel = module.program->find(name);
  if (!kernel)
    return CUDA_ERROR_NOT_FOUND;
  std::lock_guard lock(device().mutex);
  // Without a call to ask for more, a launch may have this much.
  constexpr uint64_t defaultShared = 48 << 10;
  module.functions.push_back(std::make_unique<Function>(Function{&module, kernel, defaultShared}));
  *out = reinterpret_cast<CUfunction>(module.functions.back().get());
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
    return invalidValue;
  *value = int(functionOf(function).kernel->mostThreads);
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  Function &function = functionOf(handle);
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
      uint64_t(value) + function.kernel->staticShared > uint64_t(device().sharedMemory()))
    return invalidValue;
  function.dynamicShared = uint64_t(value);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int *count, CUfunction function, const CUlaunchConfig *) {
  *count = device().multiprocessors / int(functionOf(function).kernel->cluster);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned dynamicShared, CUstream stream, void **parameters,
                        void **) {
  std::lock_guard lock(device().mutex);
  return device().launch(functionOf(function), {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, dynamicShared},
                         streamOf(stream), parameters);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **) {
  return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                        config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream, parameters,
                        nullptr);
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

static unsigned elementBytesOf(CUtensorMapDataType type) {
  switch (type) {
  case CU_TENSOR_MAP_DATA_TYPE_UINT8:
    return 1;
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
  case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
    return 2;
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    return 4;
  }
  return 0;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *out, CUtensorMapDataType type, uint32_t rank, void *address,
                                const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                                const uint32_t *elementStrides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  const unsigned elementBytes = elementBytesOf(type);
  TensorMap map = {};
  if (elementBytes == 0 || rank < 1 || rank > uint32_t(TensorMap::mostDimensions) || interleave != 0 || fill != 0 ||
      reinterpret_cast<uintptr_t>(address) % 16 != 0 || unsigned(swizzle) > 3)
    return invalidValue;
  for (uint32_t i = 0; i < rank; ++i) {
    if (sizes[i] == 0 || sizes[i] > uint64_t(1) << 32 || box[i] == 0 || box[i] > 256 || elementStrides[i] != 1)
      return invalidValue;
    map.sizes[i] = sizes[i];
    map.box[i] = uint16_t(box[i]);
    if (i + 1 == rank)
      break;
    if (strides[i] % 16 != 0 || strides[i] >= uint64_t(1) << 40)
      return invalidValue;
    map.strides[i] = strides[i];
  }
  const unsigned rowBytes = box[0] * elementBytes, span = 16u << unsigned(swizzle);
  if (rowBytes % 16 != 0 || (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && rowBytes > span))
    return invalidValue;
  map.magic = TensorMap::magicNumber;
  map.rank = uint8_t(rank);
  map.elementBytes = uint8_t(elementBytes);
  map.swizzle = uint8_t(swizzle);
  map.address = reinterpret_cast<uintptr_t>(address);
  static_assert(sizeof map == sizeof *out);
  std::memcpy(out, &map, sizeof map);
  return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *out, void *address) {
  TensorMap map;
  std::memcpy(&map, out, sizeof map);
  if (map.magic != TensorMap::magicNumber || reinterpret_cast<uintptr_t>(address) % 16 != 0)
    return invalidValue;
  map.address = reinterpret_cast<uintptr_t>(address);
  std::memcpy(out, &map, sizeof map);
  return CUDA_SUCCESS;
}

} // extern "C"
