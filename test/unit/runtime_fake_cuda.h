// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A CUDA driver that runs nothing and records everything, so that all of the runtime but the kernels is tested without
// a GPU. Its device memory is host memory. Any number of threads may call it.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_FAKE_CUDA_H
#define SPARSEC_TEST_UNIT_RUNTIME_FAKE_CUDA_H

#include "device/cuda_symbols.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace sparsec::test {

struct FakeTensorMap {
  int type, swizzle, promotion;
  uint32_t rank;
  void *address;
  std::vector<uint64_t> sizes, strides;
  std::vector<uint32_t> box;
};

/// The driver's answers about a piece of memory.
struct FakeMemory {
  size_t bytes;
  int ordinal = 0;
  runtime::CUmemorytype type = runtime::CU_MEMORYTYPE_DEVICE;
  bool isManaged = false;
  bool isReachable = true; // for kernels, by the same pointer
  size_t mappedBytes = 0;  // of reserved addresses: those with memory behind them; 0: it is an allocation

  bool operator==(const FakeMemory &) const = default;
};

struct FakeLaunch {
  int ordinal; // of the device whose context was current
  std::string function;
  unsigned gridX, gridY, gridZ, threads, sharedMemory;
  void *stream;
  bool mayStartEarly;          // with the attribute of programmatic stream serialization
  std::vector<uint64_t> words; // the first 8 bytes of every parameter
};

/// Installs itself as the driver for its lifetime. The defaults are those of an H200.
class FakeCuda {
public:
  FakeCuda();
  ~FakeCuda();

  // The answers of the driver.
  int deviceCount = 1;
  int capabilityMajor = 9, capabilityMinor = 0;
  int multiprocessors = 132, sharedMemory = 232448, threadsPerBlock = 1024, registersPerBlock = 65536;
  int clusterLaunch = 1, activeClusters = 66, functionThreads = 1024, l2Bytes = 0;
  std::set<std::string> missingFunctions;
  std::string jitLog;
  /// Calls that fail, by name.
  std::map<std::string, runtime::CUresult, std::less<>> failures;
  /// Off: nothing is recorded, so that the fake itself allocates nothing.
  bool recording = true;
  /// Memory that others have allocated.
  std::map<void *, FakeMemory> memory;
  std::map<void *, uint64_t> capturedStreams; // with the numbers of the captures

  // The actions of the runtime.
  std::vector<std::string> calls;
  std::atomic<bool> calledWithoutContext = false;
  std::atomic<int> retainedContexts = 0, loadedModules = 0;
  std::map<void *, FakeMemory> allocations;
  std::string loadedImageStart;
  std::map<std::string, int> dynamicSharedMemory; // by function
  std::vector<FakeTensorMap> tensorMaps;
  std::vector<FakeLaunch> launches;
  std::vector<void *> synchronizedStreams;
  /// Copies, waits and launches with their streams, in order. Copies without a stream are on the default stream, null.
  std::vector<std::pair<std::string, void *>> streamCalls;
  /// The work that is pending on each stream. It is done when the next copy from the stream is made, or someone waits
  /// for it: other streams do not wait.
  std::map<void *, std::function<void()>> pending;
  /// How many parameters the launched kernels have.
  size_t parameterCount = 0;

  /// Makes it a driver without cuLaunchKernelEx.
  static void makeOld();

  bool called(const std::string &name) const;
  /// The contexts of the calling thread.
  const std::vector<runtime::CUcontext> &contextStack() const;
};

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_FAKE_CUDA_H
