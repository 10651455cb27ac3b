// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A CUDA device with its primary context, or the processor with its threads.

#ifndef SPARSEC_RUNTIME_DEVICE_H
#define SPARSEC_RUNTIME_DEVICE_H

#include "device/cuda_symbols.h"
#include "device/thread_pool.h"

#include <memory>

namespace sparsec::runtime {

class Device {
public:
  /// `flags` are of sparsec_device_flag_t.
  static Status openCuda(int32_t ordinal, uint32_t flags, std::shared_ptr<Device> &outDevice);
  static Status openHost(int32_t threadCount, std::shared_ptr<Device> &outDevice);
  ~Device();

  bool isHost() const { return info.kind == SPARSEC_TARGET_HOST; }

  Status allocate(size_t bytes, void *&outData) const;
  void free(void *data) const;
  Status upload(void *destination, const void *source, size_t bytes) const;
  Status download(void *destination, const void *source, size_t bytes) const;
  /// Copies in the order of the stream; synchronize(stream) waits for them.
  Status uploadAsync(void *destination, const void *source, size_t bytes, void *stream) const;
  Status downloadAsync(void *destination, const void *source, size_t bytes, void *stream) const;
  Status synchronize(void *stream) const;
  /// Whether what goes to the stream becomes part of a graph: then nothing may wait for it.
  /// A number of the capture of the stream, which no other capture has; 0 where it is not captured.
  Status captureOf(void *stream, uint64_t &outCapture) const;

  sparsec_device_info_t info = {};

  // CUDA only.
  const CudaTable *cuda = nullptr;
  CUdevice cudaDevice = 0;
  CUcontext context = nullptr;
  int threadsPerBlock = 0, registersPerBlock = 0, clusterLaunch = 0, l2Bytes = 0;
  bool checksMemory = false;
  void *placeholder = nullptr; // 256 bytes: what a tensor map of an empty tensor points to

  // Host only.
  std::unique_ptr<ThreadPool> threads;

private:
  Status queryCuda(int32_t ordinal);
};

/// Makes the device's context current for a scope, and afterwards the one that was before. It mostly is current
/// already, as in programs of libraries that use the primary context too: to ask takes less time than to change it.
class ContextScope {
public:
  explicit ContextScope(const Device &device) : cuda(*device.cuda) {
    CUcontext current = nullptr;
    if (cuda.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == device.context)
      return;
    result = cuda.cuCtxPushCurrent(device.context);
    isPushed = ok();
  }
  ~ContextScope() {
    CUcontext popped;
    if (isPushed)
      cuda.cuCtxPopCurrent(&popped);
  }
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

  bool ok() const { return result == CUDA_SUCCESS; }
  Status status() const { return cudaStatus(cuda, result, "making the device's context current"); }

private:
  const CudaTable &cuda;
  CUresult result = CUDA_SUCCESS;
  bool isPushed = false;
};

} // namespace sparsec::runtime

struct sparsec_device_s {
  std::shared_ptr<sparsec::runtime::Device> device;
};

#endif // SPARSEC_RUNTIME_DEVICE_H
