// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of the CUDA Driver API that tests and benchmarks need beside the runtime: streams, events, memset, copies,
// graphs, and kernels of their own.
// libcuda is loaded when it is first asked for, so the programs build and start without CUDA.

#ifndef SPARSEC_BENCH_HARNESS_CUDA_DRIVER_H
#define SPARSEC_BENCH_HARNESS_CUDA_DRIVER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace sparsec::harness {

/// Entry points of libcuda, with the C types of cuda.h spelled out (every handle is a pointer, CUresult an int).
struct CudaDriver {
  /// Null when there is no driver or no device.
  static const CudaDriver *get();

  int (*init)(unsigned flags);
  int (*driverGetVersion)(int *version);
  int (*deviceGetCount)(int *count);
  int (*deviceGet)(int *device, int ordinal);
  int (*deviceGetAttribute)(int *value, int attribute, int device);
  int (*primaryContextRetain)(void **context, int device);
  int (*contextSetCurrent)(void *context);
  int (*contextGetDevice)(int *device);
  int (*contextSynchronize)();
  int (*getErrorName)(int error, const char **name);
  int (*streamCreate)(void **stream, unsigned flags);
  int (*streamDestroy)(void *stream);
  int (*streamSynchronize)(void *stream);
  int (*streamBeginCapture)(void *stream, int mode);
  int (*streamEndCapture)(void *stream, void **graph);
  int (*graphInstantiate)(void **executable, void *graph, unsigned long long flags);
  int (*graphLaunch)(void *executable, void *stream);
  int (*graphExecutableDestroy)(void *executable);
  int (*graphDestroy)(void *graph);
  int (*eventCreate)(void **event, unsigned flags);
  int (*eventDestroy)(void *event);
  int (*eventRecord)(void *event, void *stream);
  int (*eventElapsedTime)(float *milliseconds, void *start, void *end);
  int (*memsetAsync)(uint64_t data, unsigned char value, size_t bytes, void *stream);
  int (*copyAsync)(uint64_t destination, uint64_t source, size_t bytes, void *stream);
  int (*moduleLoadDataEx)(void **module, const void *image, unsigned count, int *options, void **values);
  int (*moduleUnload)(void *module);
  int (*moduleGetFunction)(void **function, void *module, const char *name);
  int (*launchKernel)(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                      unsigned blockZ, unsigned sharedBytes, void *stream, void **parameters, void **extra);

  /// Throws std::runtime_error that names `call` and the driver's error unless `result` is 0.
  void check(int result, const char *call) const;
  /// Makes the primary context of a device current in this thread.
  void useDevice(int ordinal) const;
};

/// A stream that does not wait for the default stream.
class CudaStream {
public:
  CudaStream();
  ~CudaStream();
  CudaStream(const CudaStream &) = delete;
  CudaStream &operator=(const CudaStream &) = delete;
  void *handle() const { return stream; }
  void synchronize() const;

private:
  void *stream = nullptr;
};

class CudaEvent {
public:
  CudaEvent();
  ~CudaEvent();
  CudaEvent(const CudaEvent &) = delete;
  CudaEvent &operator=(const CudaEvent &) = delete;
  void record(const CudaStream &stream) const;
  /// Both events must have completed.
  double millisecondsSince(const CudaEvent &start) const;

private:
  void *event = nullptr;
};

/// The work that `enqueue` puts on the stream, as a graph to replay.
class CudaGraph {
public:
  CudaGraph(const CudaStream &stream, const std::function<void()> &enqueue);
  ~CudaGraph();
  CudaGraph(const CudaGraph &) = delete;
  CudaGraph &operator=(const CudaGraph &) = delete;
  void launch(const CudaStream &stream) const;

private:
  void *executable = nullptr;
};

} // namespace sparsec::harness

#endif // SPARSEC_BENCH_HARNESS_CUDA_DRIVER_H
