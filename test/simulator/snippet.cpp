// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "snippet.h"

#include <cstring>
#include <fmt/format.h>

namespace sparsec::simulator {

namespace {

std::string moduleOf(const std::string &body, const std::vector<bool> &isMap, unsigned cluster) {
  std::string parameters, prologue;
  for (size_t i = 0; i < isMap.size(); ++i) {
    parameters += fmt::format("{}  .param {} k_param_{}{}", i ? ",\n" : "", isMap[i] ? ".align 64 .b8" : ".u64", i,
                              isMap[i] ? "[128]" : "");
    prologue += isMap[i] ? fmt::format("  mov.b64 %rd{0}, k_param_{0};\n  cvta.param.u64 %rd{0}, %rd{0};\n", i)
                         : fmt::format("  ld.param.u64 %rd{0}, [k_param_{0}];\n", i);
  }
  return fmt::format(R"(.version 8.8
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(
{})
{}
{{
  .reg .b32 %r<200>;
  .reg .b64 %rd<32>;
  .reg .b16 %h<16>;
  .reg .pred %p<16>;
{}  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd15, %r0, 4;
{}
  ret;
}}
)",
                     parameters, cluster > 1 ? fmt::format(".reqnctapercluster {}, 1, 1", cluster) : "", prologue,
                     body);
}

} // namespace

void SnippetDevice::addBytes(void *data, size_t bytes) {
  const auto address = uint64_t(reinterpret_cast<uintptr_t>(data));
  memory.add(address, bytes);
  pointers.emplace_back(parameterCount++, address);
}

void SnippetDevice::run(const std::string &body, const SnippetShape &shape) {
  std::vector<bool> isMap(parameterCount);
  for (const auto &[parameter, map] : maps)
    isMap[parameter] = true;
  const Program program(moduleOf(body, isMap, shape.cluster));
  const KernelProgram &kernel = program.kernels.front();
  alignas(64) std::array<uint8_t, 2048> parameters = {};
  for (const auto &[parameter, address] : pointers)
    std::memcpy(parameters.data() + kernel.parameterOffsets[parameter], &address, sizeof address);
  for (const auto &[parameter, map] : maps)
    std::memcpy(parameters.data() + kernel.parameterOffsets[parameter], &map, sizeof map);
  const auto address = uint64_t(reinterpret_cast<uintptr_t>(parameters.data()));
  memory.add(address, parameters.size(), /*isReadOnly=*/true);
  Machine machine(memory, shape.seed);
  struct Removal {
    DeviceMemory &memory;
    uint64_t address;
    ~Removal() { memory.remove(address); }
  } removal{memory, address};
  machine.run({&program, &kernel, {shape.ctas, 1, 1}, {shape.threads, 1, 1}, shape.shared, parameters});
}

std::string SnippetDevice::failure(const std::string &body, const SnippetShape &shape) {
  try {
    run(body, shape);
  } catch (const SimulationError &error) {
    return error.what();
  }
  return "";
}

} // namespace sparsec::simulator
