// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one device behind the simulated driver: its memory, its limits, and the work that streams give to it.

#ifndef SPARSEC_TEST_SIMULATOR_SIMULATED_DEVICE_H
#define SPARSEC_TEST_SIMULATOR_SIMULATED_DEVICE_H

#include "device/cuda_driver.h"
#include "machine.h"

#include <functional>
#include <mutex>

namespace sparsec::simulator {

using namespace runtime;

inline constexpr CUresult invalidValue = CUresult(1), invalidImage = CUresult(200), launchFailed = CUresult(719);

struct Module;

struct Function {
  Module *module = nullptr;
  const KernelProgram *kernel = nullptr;
  uint64_t dynamicShared = 0; // that launches may ask for
};

struct Module {
  std::unique_ptr<Program> program;
  std::vector<std::unique_ptr<Function>> functions;
};

using Work = std::function<void()>;

/// Work runs when it is enqueued, unless the stream is captured.
struct Stream {
  bool isCaptured = false;
  std::vector<Work> captured;
};

struct LaunchShape {
  std::array<unsigned, 3> grid, block;
  unsigned dynamicShared;
};

class SimulatedDevice {
public:
  static SimulatedDevice &get();

  // Limits, from the environment: SPARSEC_SIMULATOR_CHIP and SPARSEC_SIMULATOR_MULTIPROCESSORS.
  int capability = 90, multiprocessors = 6;
  uint64_t seed = 1;
  int sharedMemory() const { return capability == 90 ? 232448 : 101376; }
  bool hasClusters() const { return capability >= 90; }

  std::recursive_mutex mutex;
  DeviceMemory memory;

  void enqueue(Stream *stream, Work work);
  CUresult launch(Function &function, const LaunchShape &shape, Stream *stream, void **parameters);
  /// The error of the kernels since the last call.
  CUresult takeError();

private:
  SimulatedDevice();
  void run(const Function &function, const LaunchShape &shape, std::span<uint8_t> parameters);
  void report(const std::string &text);

  uint64_t launches = 0;
  CUresult error = CUDA_SUCCESS;
};

inline SimulatedDevice &device() { return SimulatedDevice::get(); }

} // namespace sparsec::simulator

#endif // SPARSEC_TEST_SIMULATOR_SIMULATED_DEVICE_H
