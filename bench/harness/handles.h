// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's handles with C++ ownership, and its failures as exceptions.

#ifndef SPARSEC_BENCH_HARNESS_HANDLES_H
#define SPARSEC_BENCH_HARNESS_HANDLES_H

#include "sparsec/argument.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sparsec::harness {

/// Throws the status' message unless it is OK.
inline void check(sparsec_status_t status) {
  if (!status)
    return;
  std::string message =
      std::string(sparsec_status_code_name(sparsec_status_code(status))) + ": " + sparsec_status_message(status);
  sparsec_status_free(status);
  throw std::runtime_error(message);
}

template <auto destroy> struct Destroyer {
  template <typename T> void operator()(T *handle) const { destroy(handle); }
};
using Device = std::unique_ptr<sparsec_device_s, Destroyer<sparsec_device_destroy>>;
using Module = std::unique_ptr<sparsec_module_s, Destroyer<sparsec_module_destroy>>;
using Plan = std::unique_ptr<sparsec_plan_s, Destroyer<sparsec_plan_destroy>>;
using Packed = std::unique_ptr<sparsec_packed_s, Destroyer<sparsec_packed_destroy>>;
using LaunchInfo = std::unique_ptr<sparsec_launch_info_t, Destroyer<sparsec_launch_info_free>>;

inline Module loadModule(sparsec_device_t device, const std::vector<char> &file) {
  sparsec_module_t module = nullptr;
  check(sparsec_module_load(device, file.data(), file.size(), &module));
  return Module(module);
}

/// Arguments may be open. The flags are of sparsec_plan_flag_t.
inline Plan createPlan(sparsec_kernel_t kernel, const std::vector<Argument> &arguments, void *stream = nullptr,
                       uint32_t flags = 0) {
  const ArgumentArray array(arguments);
  auto options = sized<sparsec_plan_options_t>();
  options.arguments = array.data();
  options.argument_count = array.size();
  options.stream = stream;
  options.flags = flags;
  sparsec_plan_t plan = nullptr;
  check(sparsec_plan_create(kernel, &options, &plan));
  return Plan(plan);
}

/// The plan's figures for one variant.
inline sparsec_plan_info_t planInfo(const Plan &plan, size_t variant = 0) {
  auto info = sized<sparsec_plan_info_t>();
  check(sparsec_plan_info(plan.get(), variant, &info));
  return info;
}

/// The values of the matrix as the plan packs them; null where it does not.
inline Packed packValues(const Plan &plan, const sparsec_blocks_t &matrix, void *stream = nullptr) {
  auto options = sized<sparsec_pack_options_t>();
  options.stream = stream;
  sparsec_packed_t packed = nullptr;
  check(sparsec_plan_pack(plan.get(), &matrix, &options, &packed));
  return Packed(packed);
}

/// Memory of a device.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  DeviceBuffer(sparsec_device_t device, size_t bytes) : device(device), size(bytes) {
    check(sparsec_memory_allocate(device, bytes, &memory));
  }
  DeviceBuffer(DeviceBuffer &&other) noexcept { swap(other); }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer() {
    if (memory)
      sparsec_memory_free(device, memory);
  }

  void *data() const { return memory; }
  size_t bytes() const { return size; }
  void upload(const void *source) { check(sparsec_memory_upload(device, memory, source, size)); }
  void download(void *destination) const { check(sparsec_memory_download(device, destination, memory, size)); }

private:
  void swap(DeviceBuffer &other) noexcept {
    std::swap(device, other.device);
    std::swap(memory, other.memory);
    std::swap(size, other.size);
  }

  sparsec_device_t device = nullptr;
  void *memory = nullptr;
  size_t size = 0;
};

/// A buffer that holds a copy of an array.
template <typename T> DeviceBuffer uploadArray(sparsec_device_t device, const std::vector<T> &source) {
  DeviceBuffer buffer(device, source.size() * sizeof(T));
  if (!source.empty())
    buffer.upload(source.data());
  return buffer;
}

/// The (first) operand of the kernel's operation that an argument is.
inline const sparsec_operand_info_t &operandOf(sparsec_kernel_t kernel, size_t argument) {
  for (size_t i = 0; const sparsec_operand_info_t *operand = sparsec_kernel_operand(kernel, i); ++i)
    if (operand->argument == argument)
      return *operand;
  throw std::runtime_error("argument " + std::to_string(argument) + " is no operand");
}

} // namespace sparsec::harness

#endif // SPARSEC_BENCH_HARNESS_HANDLES_H
