// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulated_device.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <malloc.h>
#include <utility>

namespace sparsec::simulator {

namespace {

uint64_t numberFromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  if (!text)
    return otherwise;
  uint64_t value = 0;
  const char *end = text + std::strlen(text);
  if (std::from_chars(text, end, value).ptr != end || text == end) {
    fmt::print(stderr, "simulator: {} expects a number, but got '{}'\n", name, text);
    std::exit(2);
  }
  return value;
}

/// Memory of the parameters of one launch, aligned as tensor maps must be.
class ParameterMemory {
public:
  ParameterMemory(DeviceMemory &memory, uint64_t bytes) : memory(memory) {
    constexpr uint64_t alignment = 64;
    size = std::max<uint64_t>((bytes + alignment - 1) / alignment * alignment, alignment);
    data = static_cast<uint8_t *>(std::aligned_alloc(alignment, size));
    memory.add(address(), size, /*isReadOnly=*/true);
  }
  ~ParameterMemory() {
    memory.remove(address());
    std::free(data);
  }
  ParameterMemory(const ParameterMemory &) = delete;
  ParameterMemory &operator=(const ParameterMemory &) = delete;
  std::span<uint8_t> bytes() const { return {data, size}; }

private:
  uint64_t address() const { return reinterpret_cast<uintptr_t>(data); }
  DeviceMemory &memory;
  uint8_t *data;
  uint64_t size;
};

} // namespace

SimulatedDevice &SimulatedDevice::get() {
  // Never destroyed: modules and memory of static objects are given back later.
  static auto &device = *new SimulatedDevice;
  return device;
}

SimulatedDevice::SimulatedDevice() {
  // Every CTA allocates registers and shared memory: the process keeps what it has, so that pages are made once.
  constexpr int oneGigabyte = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, oneGigabyte);
  mallopt(M_TRIM_THRESHOLD, oneGigabyte);
  const std::string chip = std::getenv("SPARSEC_SIMULATOR_CHIP") ? std::getenv("SPARSEC_SIMULATOR_CHIP") : "sm_90";
  if (chip != "sm_90" && chip != "sm_89") {
    fmt::print(stderr, "simulator: SPARSEC_SIMULATOR_CHIP expects sm_90 or sm_89, but got '{}'\n", chip);
    std::exit(2);
  }
  capability = chip == "sm_90" ? 90 : 89;
  multiprocessors = int(numberFromEnvironment("SPARSEC_SIMULATOR_MULTIPROCESSORS", 6));
  seed = numberFromEnvironment("SPARSEC_SIMULATOR_SEED", 1);
}

void SimulatedDevice::enqueue(Stream *stream, Work work) {
  if (stream && stream->isCaptured)
    stream->captured.push_back(std::move(work));
  else
    work();
}

CUresult SimulatedDevice::takeError() { return std::exchange(error, CUDA_SUCCESS); }

CUresult SimulatedDevice::launch(Function &function, const LaunchShape &shape, Stream *stream, void **parameters) {
  const KernelProgram &kernel = *function.kernel;
  const unsigned threads = shape.block[0] * shape.block[1] * shape.block[2];
  const unsigned ctas = shape.grid[0] * shape.grid[1] * shape.grid[2];
  if (threads == 0 || threads > kernel.mostThreads || ctas == 0 || ctas % kernel.cluster != 0 ||
      shape.dynamicShared > function.dynamicShared)
    return invalidValue;
  // The values are taken now.
  std::vector<uint8_t> values(kernel.parameterBytes);
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    std::memcpy(values.data() + kernel.parameterOffsets[i], parameters[i], kernel.parameters[i].bytes);
  enqueue(stream, [this, &function, shape, values = std::move(values)] {
    ParameterMemory memoryOfParameters(memory, values.size());
    std::memcpy(memoryOfParameters.bytes().data(), values.data(), values.size());
    run(function, shape, memoryOfParameters.bytes());
  });
  return CUDA_SUCCESS;
}

void SimulatedDevice::run(const Function &function, const LaunchShape &shape, std::span<uint8_t> parameters) {
  if (error != CUDA_SUCCESS)
    return;
  Machine machine(memory, seed + 1000003 * launches++);
  try {
    machine.run(
        {function.module->program.get(), function.kernel, shape.grid, shape.block, shape.dynamicShared, parameters});
  } catch (const SimulationError &failure) {
    report(fmt::format("simulator: {}\n  seed {}, launch {}\n", failure.what(), seed, launches - 1));
    error = launchFailed;
  }
}

/// To the file that SPARSEC_SIMULATOR_REPORT names, or to stderr.
void SimulatedDevice::report(const std::string &text) {
  const char *path = std::getenv("SPARSEC_SIMULATOR_REPORT");
  std::FILE *file = path ? std::fopen(path, "a") : nullptr;
  fmt::print(file ? file : stderr, "{}", text);
  if (file)
    std::fclose(file);
}

} // namespace sparsec::simulator
