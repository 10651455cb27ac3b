// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-host-bench: the host time of a launch. It compares sparsec_launch and the runs of a launcher with
// cuLaunchKernel alone, called with the very parameters of the launcher. Products of one block, so that the device is
// never the slower side.

#include "candidate.h"
#include "device/cuda_symbols.h"
#include "timer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>

namespace sparsec::bench {

using namespace harness;

namespace {

/// The operands of the runtime's last call of cuLaunchKernel. The parameters of a launcher stay where they are.
struct LastLaunch {
  runtime::CUfunction function;
  unsigned gridX, threads, sharedMemory;
  void **parameters;
};
LastLaunch lastLaunch;
const runtime::CudaTable *driverTable;

runtime::CUresult recordLaunch(runtime::CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                               unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedMemory,
                               runtime::CUstream stream, void **parameters, void **extra) {
  lastLaunch = {function, gridX, blockX, sharedMemory, parameters};
  return driverTable->cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedMemory, stream,
                                     parameters, extra);
}

using Launcher = std::unique_ptr<sparsec_launcher_s, Destroyer<sparsec_launcher_destroy>>;

/// One product with its operands, in one block of W.
class Product {
public:
  Product(const Candidate &candidate, sparsec_device_t device)
      : rowPtr(uploadArray(device, std::vector<int32_t>{0, 1})), colIdx(uploadArray(device, std::vector<int32_t>{0})),
        w(zeros(device, candidate.blockRows * candidate.blockColumns)),
        x(zeros(device, candidate.blockColumns * columns)), y(zeros(device, candidate.blockRows * columns)) {
    auto dense = [](const DeviceBuffer &buffer, sparsec_dtype_t dtype, int64_t rows, bool transposed) {
      return transposed ? sparsec_dense_2d(buffer.data(), dtype, columns, rows)
                        : sparsec_dense_2d(buffer.data(), dtype, rows, columns);
    };
    arguments = {
        sparsec_blocks_bsr(candidate.blockRows, candidate.blockColumns, static_cast<int32_t>(candidate.blockRows),
                           static_cast<int32_t>(candidate.blockColumns), 1, static_cast<const int32_t *>(rowPtr.data()),
                           static_cast<const int32_t *>(colIdx.data()), candidate.dtype, w.data()),
        dense(x, candidate.dtype, candidate.blockColumns, candidate.denseTransposed),
        dense(y, candidate.resultDtype, candidate.blockRows, candidate.resultTransposed)};
  }

  std::vector<Argument> arguments;

private:
  static constexpr int64_t columns = 64;
  /// Room for elements of up to 4 bytes.
  static DeviceBuffer zeros(sparsec_device_t device, int64_t elements) {
    return uploadArray(device, std::vector<uint32_t>(static_cast<size_t>(elements)));
  }

  DeviceBuffer rowPtr, colIdx, w, x, y;
};

struct HostTimes {
  double driver, launch, plannedLaunch, launcher; // nanoseconds per call
};

/// Medians of rounds in which all take turns.
HostTimes measure(const Candidate &candidate, sparsec_device_t device, const CudaStream &stream) {
  const Product product(candidate, device);
  const ArgumentArray array(product.arguments);
  const Plan plan = createPlan(candidate.kernel, product.arguments);
  auto options = sized<sparsec_launch_options_t>();
  sparsec_launcher_t created = nullptr;
  check(sparsec_launcher_create(candidate.kernel, plan.get(), array.data(), array.size(), &options, &created));
  const Launcher launcher(created);
  check(sparsec_launcher_run(launcher.get(), stream.handle()));
  const LastLaunch last = lastLaunch;

  const std::function<void()> calls[] = {
      [&] {
        CudaDriver::get()->check(
            driverTable->cuLaunchKernel(last.function, last.gridX, 1, 1, last.threads, 1, 1, last.sharedMemory,
                                        static_cast<runtime::CUstream>(stream.handle()), last.parameters, nullptr),
            "cuLaunchKernel");
      },
      [&] { check(sparsec_launch(candidate.kernel, nullptr, array.data(), array.size(), stream.handle())); },
      [&] { check(sparsec_launch(candidate.kernel, plan.get(), array.data(), array.size(), stream.handle())); },
      [&] { check(sparsec_launcher_run(launcher.get(), stream.handle())); },
  };
  constexpr size_t rounds = 9;
  std::vector<double> times[std::size(calls)];
  for (size_t round = 0; round < rounds; ++round)
    for (size_t i = 0; i < std::size(calls); ++i)
      times[i].push_back(1e3 * hostMicroseconds(stream, calls[i]));
  for (std::vector<double> &each : times)
    std::nth_element(each.begin(), each.begin() + rounds / 2, each.end());
  auto median = [&](size_t i) { return times[i][rounds / 2]; };
  return {median(0), median(1), median(2), median(3)};
}

int run(const std::string &folder) {
  if (!CudaDriver::get()) {
    fmt::print("skipped: no GPU\n");
    return 0;
  }
  CudaDriver::get()->useDevice(0);
  static runtime::CudaTable table;
  if (runtime::Status failed = runtime::loadCuda(driverTable))
    throw std::runtime_error(failed->message);
  table = *driverTable;
  table.cuLaunchKernel = recordLaunch;
  runtime::replaceCudaForTesting(&table);
  sparsec_device_t handle = nullptr;
  check(sparsec_device_open_cuda(0, &handle));
  const Device device(handle);
  const CudaStream stream;
  fmt::print("{:<40} {:>14} {:>8} {:>10} {:>9} {:>9}\n", "host time in ns", "cuLaunchKernel", "launch", "with plan",
             "launcher", "- driver");
  for (const Candidate &candidate : loadCandidates(device.get(), folder)) {
    if (candidate.hasScales || candidate.hasXScale)
      continue;
    HostTimes times = measure(candidate, device.get(), stream);
    fmt::print("{:<40} {:>14.0f} {:>8.0f} {:>10.0f} {:>9.0f} {:>9.0f}\n", candidate.label, times.driver, times.launch,
               times.plannedLaunch, times.launcher, times.launcher - times.driver);
  }
  return 0;
}

} // namespace
} // namespace sparsec::bench

int main(int argc, char **argv) {
  if (argc != 3 || std::strcmp(argv[1], "--kernels") != 0) {
    fmt::print(stderr, "usage: sparsec-host-bench --kernels DIR\n");
    return 2;
  }
  try {
    return sparsec::bench::run(argv[2]);
  } catch (const std::exception &error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
