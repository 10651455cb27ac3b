// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "operation_bench.h"
#include "harness/gpu.h"
#include "harness/numeric.h"
#include "harness/parallel.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <sstream>

using namespace sparsec::harness;

namespace sparsec::bench {

namespace {

OperationOptions parseOptions(int argc, char **argv, const CommandLine &commandLine) {
  const std::string &usage = commandLine.usage;
  OperationOptions options;
  options.points = commandLine.points;
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i], key = text.substr(0, text.find('='));
    std::string value = key.size() < text.size() ? text.substr(key.size() + 1) : "";
    if (key == "--kernels") {
      options.kernels = value;
    } else if (key == "--cublas") {
      options.cublas = value;
    } else if (key == "--launches") {
      options.launches = std::atoi(value.c_str());
    } else if (key == "--no-plan" && usage.find(key) != std::string::npos) {
      options.planned = false;
    } else if (key == commandLine.pointsOption) {
      options.points.clear();
      std::istringstream list(value);
      for (std::string part; std::getline(list, part, ',');)
        options.points.push_back(std::atof(part.c_str()));
    } else if (key != "--size" || std::sscanf(value.c_str(), "%ldx%ldx%ld", &options.size.rows, &options.size.columns,
                                              &options.size.depth) != 3) {
      throw std::runtime_error(fmt::format("does not know '{}'\n{}", text, usage));
    }
  }
  if (options.kernels.empty() || options.launches < 1)
    throw std::runtime_error(usage);
  return options;
}

} // namespace

sparsec_dtype_t OperationKernel::resultDtype() const {
  return static_cast<sparsec_dtype_t>(argument(sparsec_kernel_info(kernel)->argument_count - 1).dtype);
}

std::vector<OperationKernel> loadKernels(sparsec_device_t device, const std::string &folder,
                                         sparsec_operation_kind_t kind, size_t argumentCount) {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".cubin")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<OperationKernel> kernels;
  for (const auto &path : paths) {
    std::ifstream stream(path, std::ios::binary);
    OperationKernel loaded;
    loaded.module = loadModule(device, std::vector<char>(std::istreambuf_iterator<char>(stream), {}));
    check(sparsec_module_kernel_at(loaded.module.get(), 0, &loaded.kernel));
    loaded.name = path.stem();
    if (sparsec_kernel_operation(loaded.kernel)->kind == kind &&
        sparsec_kernel_info(loaded.kernel)->argument_count == argumentCount)
      kernels.push_back(std::move(loaded));
  }
  return kernels;
}

std::vector<uint16_t> randomBf16(int64_t count, uint64_t seed) {
  std::vector<uint16_t> values(count);
  parallelFor(count, 1 << 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      values[i] = floatToBf16(randomNormal(seed, i));
  });
  return values;
}

Rates timeBetweenDense(const FlushedTimer &timer, double flops, double denseFlops,
                       const std::function<void()> &launchDense, const std::function<void()> &launch) {
  auto teraflopsOf = [](double operations, double milliseconds) { return operations / milliseconds * 1e-9; };
  auto dense = [&] { return launchDense ? teraflopsOf(denseFlops, timer.measure(launchDense).medianMilliseconds) : 0; };
  double before = dense();
  double milliseconds = timer.measure(launch).medianMilliseconds;
  return {milliseconds, teraflopsOf(flops, milliseconds), (before + dense()) / 2};
}

std::string findElementError(int64_t element, sparsec_dtype_t dtype, double got, double exact, double magnitude) {
  double allowed = 2 * unitInLastPlace(dtype, exact) + 1e-6 * magnitude;
  if (std::abs(got - exact) <= allowed)
    return {};
  return fmt::format("element {} is {}, but should be {} within {}", element, got, exact, allowed);
}

std::string findUnwritten(sparsec_dtype_t dtype, const std::vector<char> &values, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (std::isnan(loadElement(dtype, values.data(), i)))
      return fmt::format("element {} of {} is NaN or not written", i, count);
  return {};
}

void poison(const DeviceBuffer &memory, const CudaStream &stream) {
  const CudaDriver *driver = CudaDriver::get();
  driver->check(driver->memsetAsync(reinterpret_cast<uint64_t>(memory.data()), 0xff, memory.bytes(), stream.handle()),
                "cuMemsetD8Async");
}

int runOperationBench(int argc, char **argv, const CommandLine &commandLine,
                      const std::function<bool(const OperationOptions &, sparsec_device_t)> &run) {
  try {
    const OperationOptions options = parseOptions(argc, argv, commandLine);
    if (!CudaDriver::get()) {
      fmt::print("skipped: no GPU\n");
      return 0;
    }
    Device device = openGpu();
    return run(options, device.get()) ? 0 : 1;
  } catch (const std::exception &error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}

} // namespace sparsec::bench
