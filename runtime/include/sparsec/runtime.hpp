// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// runtime.hpp: RAII over runtime.h. Header-only, C++17. Every failure is an exception of type sparsec::Error.
//
//   sparsec::Device device = sparsec::Device::cuda();
//   sparsec::Module module = sparsec::Module::fromFile(device, "kernel.cubin");
//   sparsec::Kernel kernel = module.kernel();
//   sparsec::Plan plan(kernel, {w, x, y});
//   kernel.launch(&plan, {w, x, y}, stream);
//
// An object owns its handle and can be moved. Destroy modules, buffers and plans before the device that made them.

#ifndef SPARSEC_RUNTIME_HPP
#define SPARSEC_RUNTIME_HPP

#include "sparsec/argument.hpp"
#include "sparsec/runtime.h"

#include <exception>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// dlpack.h defines them. This header does not need it.
struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace sparsec {

/// The exception of a failed call. what() is the message of the call.
class Error : public std::runtime_error {
public:
  Error(sparsec_status_code_t code, const std::string &message) : std::runtime_error(message), statusCode(code) {}
  sparsec_status_code_t code() const { return statusCode; }

private:
  sparsec_status_code_t statusCode;
};

/// Throws if the status is an error, and frees it.
inline void check(sparsec_status_t status) {
  if (!status)
    return;
  std::unique_ptr<sparsec_status_s, void (*)(sparsec_status_t)> owner(status, sparsec_status_free);
  throw Error(sparsec_status_code(status), sparsec_status_message(status));
}

/// A view of a DLPack tensor, which must outlive it.
inline sparsec_dense_t fromDlpack(const DLManagedTensor *tensor) {
  auto result = sized<sparsec_dense_t>();
  check(sparsec_dense_from_dlpack(tensor, &result));
  return result;
}
inline sparsec_dense_t fromDlpack(const DLManagedTensorVersioned *tensor) {
  auto result = sized<sparsec_dense_t>();
  check(sparsec_dense_from_dlpack_versioned(tensor, &result));
  return result;
}

namespace detail {
template <typename Handle, void (*destroy)(Handle)> struct Destroy {
  void operator()(Handle handle) const { destroy(handle); }
};
template <typename Handle, void (*destroy)(Handle)>
using Owner = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<Handle, destroy>>;
} // namespace detail

class Device {
public:
  static int cudaCount() {
    int32_t count;
    check(sparsec_cuda_device_count(&count));
    return count;
  }
  /// `flags` are of sparsec_device_flag_t.
  static Device cuda(int ordinal = 0, uint32_t flags = 0) {
    auto options = sized<sparsec_device_options_t>();
    options.kind = SPARSEC_TARGET_CUDA;
    options.ordinal = ordinal;
    options.flags = flags;
    return open(options);
  }
  /// With a threadCount of 0 the device uses all cores.
  static Device host(int threadCount = 0) {
    auto options = sized<sparsec_device_options_t>();
    options.kind = SPARSEC_TARGET_HOST;
    options.thread_count = threadCount;
    return open(options);
  }
  static Device open(const sparsec_device_options_t &options) {
    sparsec_device_t handle;
    check(sparsec_device_open(&options, &handle));
    return Device(handle);
  }

  sparsec_device_info_t info() const {
    auto result = sized<sparsec_device_info_t>();
    check(sparsec_device_info(handle(), &result));
    return result;
  }
  void synchronize(void *stream = nullptr) const { check(sparsec_synchronize(handle(), stream)); }
  sparsec_device_t handle() const { return owner.get(); }

private:
  explicit Device(sparsec_device_t handle) : owner(handle) {}
  detail::Owner<sparsec_device_t, sparsec_device_destroy> owner;
};

/// Device memory.
class Buffer {
public:
  Buffer(const Device &device, size_t bytes) : device(device.handle()), sizeInBytes(bytes) {
    check(sparsec_memory_allocate(this->device, bytes, &memory));
  }
  /// Makes a copy of host memory.
  template <typename Element>
  Buffer(const Device &device, const std::vector<Element> &elements)
      : Buffer(device, elements.size() * sizeof(Element)) {
    check(sparsec_memory_upload(this->device, memory, elements.data(), sizeInBytes));
  }
  Buffer(Buffer &&other) noexcept
      : device(other.device), memory(std::exchange(other.memory, nullptr)), sizeInBytes(other.sizeInBytes) {}
  Buffer &operator=(Buffer other) noexcept {
    std::swap(device, other.device);
    std::swap(memory, other.memory);
    std::swap(sizeInBytes, other.sizeInBytes);
    return *this;
  }
  ~Buffer() { sparsec_memory_free(device, memory); }

  /// Copies everything to the host.
  template <typename Element> std::vector<Element> download() const {
    std::vector<Element> elements(sizeInBytes / sizeof(Element));
    check(sparsec_memory_download(device, elements.data(), memory, elements.size() * sizeof(Element)));
    return elements;
  }
  void *data() const { return memory; }
  template <typename Element> Element *as() const { return static_cast<Element *>(memory); }
  size_t bytes() const { return sizeInBytes; }

private:
  sparsec_device_t device;
  void *memory = nullptr;
  size_t sizeInBytes;
};

class Packed;
class Plan;
class Workspace;

/// A kernel of a module. It is valid as long as the module.
class Kernel {
public:
  explicit Kernel(sparsec_kernel_t handle) : kernel(handle) {}

  const char *name() const { return sparsec_kernel_info(kernel)->name; }
  const sparsec_kernel_info_t &info() const { return *sparsec_kernel_info(kernel); }
  /// Arguments in the kernel's order: inputs, then results. plan, workspace and packed may be null.
  inline void launch(const Plan *plan, std::initializer_list<Argument> arguments, void *stream = nullptr,
                     const Workspace *workspace = nullptr, const Packed *packed = nullptr) const;
  /// Writes the fp8 values of an argument, whose view is `target`, and their scales; see sparsec_quantize.
  void quantize(uint32_t argument, const Argument &source, const Argument &target, sparsec_scale_group_t group,
                const sparsec_dense_t &scales, void *stream = nullptr) const {
    const sparsec_argument_t from = source.handle(), to = target.handle();
    check(sparsec_quantize(kernel, argument, &from, &to, group, &scales, stream));
  }
  sparsec_kernel_t handle() const { return kernel; }

private:
  sparsec_kernel_t kernel;
};

class Module {
public:
  Module(const Device &device, const void *data, size_t bytes) {
    sparsec_module_t handle;
    check(sparsec_module_load(device.handle(), data, bytes, &handle));
    owner.reset(handle);
  }
  static Module fromFile(const Device &device, const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> data{std::istreambuf_iterator<char>(file), {}};
    if (!file)
      throw Error(SPARSEC_STATUS_INVALID_ARGUMENT, "cannot read '" + path + "'");
    return Module(device, data.data(), data.size());
  }

  size_t kernelCount() const { return sparsec_module_kernel_count(handle()); }
  /// The module's only kernel.
  Kernel kernel() const { return find(nullptr); }
  Kernel kernel(const std::string &name) const { return find(name.c_str()); }
  sparsec_module_t handle() const { return owner.get(); }

private:
  Kernel find(const char *name) const {
    sparsec_kernel_t result;
    check(sparsec_module_kernel(handle(), name, &result));
    return Kernel(result);
  }
  detail::Owner<sparsec_module_t, sparsec_module_destroy> owner;
};

/// A block pattern with the lists that it owns, in memory of the device. A launch takes it as an argument.
class Pattern {
public:
  /// Makes a pattern from one sparsec_block_state_t for every batch, head, query block and key block. The shape
  /// (sparsec_blocks_pattern makes one) has the encoding of the lists.
  Pattern(const Device &device, const sparsec_blocks_t &shape, const std::vector<uint8_t> &blockMask) {
    uint64_t rows = blocks(shape.rows, shape.block_rows), columns = blocks(shape.columns, shape.block_columns);
    if (uint64_t expected = uint64_t(shape.batches) * uint64_t(shape.heads) * rows * columns;
        blockMask.size() != expected)
      throw Error(SPARSEC_STATUS_INVALID_ARGUMENT, "blockMask: expects " + std::to_string(expected) +
                                                       " elements, but got " + std::to_string(blockMask.size()));
    sparsec_pattern_buffer_t handle;
    check(sparsec_pattern_from_block_mask(&shape, blockMask.data(), device.handle(), &handle));
    owner.reset(handle);
  }
  /// Makes a pattern from the mask region of a kernel; see sparsec_pattern_from_predicate.
  Pattern(const Device &device, const sparsec_blocks_t &shape, const Kernel &kernel,
          std::initializer_list<Argument> hostArguments = {}) {
    const ArgumentArray arguments(hostArguments);
    sparsec_pattern_buffer_t handle;
    check(sparsec_pattern_from_predicate(kernel.handle(), &shape, arguments.data(), arguments.size(), device.handle(),
                                         &handle));
    owner.reset(handle);
  }

  /// Makes lists with room for all blocks. They are empty until update() writes them; see
  /// sparsec_pattern_buffer_create.
  Pattern(const Device &device, const sparsec_blocks_t &shape) {
    sparsec_pattern_buffer_t handle;
    check(sparsec_pattern_buffer_create(&shape, device.handle(), &handle));
    owner.reset(handle);
  }

  /// Writes the lists from one sparsec_block_state_t for every block, in memory of the device. The kernel has a pattern
  /// with such blocks.
  void update(const Kernel &kernel, const uint8_t *blockMask, void *stream = nullptr) const {
    check(sparsec_pattern_update_from_block_mask(owner.get(), kernel.handle(), blockMask, stream));
  }
  /// Writes the lists from the mask region of a kernel. Its operands are in memory of the device.
  void update(const Kernel &kernel, std::initializer_list<Argument> arguments = {}, void *stream = nullptr) const {
    const ArgumentArray array(arguments);
    check(sparsec_pattern_update_from_predicate(owner.get(), kernel.handle(), array.data(), array.size(), stream));
  }
  /// Writes in every list the k key blocks with the highest scores, all in memory of the device; see
  /// sparsec_pattern_update_from_scores.
  void updateFromScores(const Kernel &kernel, const sparsec_dense_t &scores, int64_t k, const int32_t *counts = nullptr,
                        const uint8_t *blockMask = nullptr, void *stream = nullptr) const {
    check(sparsec_pattern_update_from_scores(owner.get(), kernel.handle(), &scores, k, counts, blockMask, stream));
  }

  sparsec_blocks_t view() const {
    auto result = sized<sparsec_blocks_t>();
    check(sparsec_pattern_buffer_view(owner.get(), &result));
    return result;
  }
  operator Argument() const { return view(); }

private:
  static uint64_t blocks(int64_t size, int32_t block) {
    return block > 0 && size > 0 ? (uint64_t(size) + uint64_t(block) - 1) / uint64_t(block) : 0;
  }
  detail::Owner<sparsec_pattern_buffer_t, sparsec_pattern_buffer_destroy> owner;
};

/// The options of a plan; see sparsec_plan_options_t.
struct PlanOptions {
  void *stream = nullptr;
  const sparsec_allocator_t *allocator = nullptr;
  uint32_t flags = 0; // of sparsec_plan_flag_t
  /// Gets how much of how much is done. True cancels, and an exception does too: it leaves the call.
  std::function<bool(int64_t done, int64_t total)> progress = {};
};

namespace detail {
/// Calls a C++ function from C. An exception waits until C has returned.
class ProgressCall {
public:
  explicit ProgressCall(const PlanOptions &options) : function(options.progress) {}
  void addTo(sparsec_plan_options_t &options) {
    options.progress = function ? &ProgressCall::call : nullptr;
    options.progress_data = this;
  }
  /// Throws what the function threw, else what the call says.
  void check(sparsec_status_t status) const {
    if (exception) {
      sparsec_status_free(status);
      std::rethrow_exception(exception);
    }
    sparsec::check(status);
  }

private:
  static int32_t call(void *self, int64_t done, int64_t total) {
    auto *progress = static_cast<ProgressCall *>(self);
    try {
      return progress->function(done, total) ? 1 : 0;
    } catch (...) {
      progress->exception = std::current_exception();
      return 1;
    }
  }

  const std::function<bool(int64_t, int64_t)> &function;
  std::exception_ptr exception;
};

inline sparsec_plan_options_t planOptions(const ArgumentArray &arguments, const PlanOptions &options) {
  auto result = sized<sparsec_plan_options_t>();
  result.arguments = arguments.data();
  result.argument_count = arguments.size();
  result.stream = options.stream;
  result.allocator = options.allocator;
  result.flags = options.flags;
  return result;
}
} // namespace detail

/// A plan says which worker computes which tiles.
class Plan {
public:
  /// Makes a plan for launches with these arguments. Any of them may be open; see sparsec_plan_create. The flags are of
  /// sparsec_plan_flag_t.
  Plan(const Kernel &kernel, std::initializer_list<Argument> arguments, void *stream = nullptr,
       const sparsec_allocator_t *allocator = nullptr, uint32_t flags = 0)
      : Plan(kernel, arguments, PlanOptions{stream, allocator, flags}) {}
  Plan(const Kernel &kernel, std::initializer_list<Argument> arguments, const PlanOptions &options) {
    const ArgumentArray array(arguments);
    sparsec_plan_options_t all = detail::planOptions(array, options);
    detail::ProgressCall progress(options);
    progress.addTo(all);
    sparsec_plan_t handle;
    progress.check(sparsec_plan_create(kernel.handle(), &all, &handle));
    owner.reset(handle);
  }
  /// Makes a plan from the bytes of save(). An Error with SPARSEC_STATUS_INVALID_PLAN says that it must be made again.
  /// Arguments are compared with those of the plan; without arguments all are open. Of the options, flags and progress
  /// have no meaning here.
  static Plan load(const Kernel &kernel, const void *data, size_t bytes, std::initializer_list<Argument> arguments = {},
                   const PlanOptions &options = {}) {
    const ArgumentArray array(arguments);
    sparsec_plan_options_t all = detail::planOptions(array, options);
    if (array.size() == 0)
      all.arguments = nullptr;
    sparsec_plan_t handle;
    check(sparsec_plan_load(kernel.handle(), data, bytes, &all, &handle));
    return Plan(handle);
  }
  /// The plan as bytes; see sparsec_plan_save.
  std::vector<unsigned char> save() const {
    size_t bytes;
    check(sparsec_plan_save(handle(), nullptr, 0, &bytes));
    std::vector<unsigned char> saved(bytes);
    check(sparsec_plan_save(handle(), saved.data(), saved.size(), &bytes));
    return saved;
  }
  /// Makes the sections of a plan with SPARSEC_PLAN_REFILL again, from the present index arrays; see
  /// sparsec_plan_refill.
  void refill(std::initializer_list<Argument> arguments, void *stream = nullptr) {
    const ArgumentArray array(arguments);
    check(sparsec_plan_refill(handle(), array.data(), array.size(), stream));
  }
  sparsec_plan_info_t info(size_t variant = 0) const {
    auto result = sized<sparsec_plan_info_t>();
    check(sparsec_plan_info(handle(), variant, &result));
    return result;
  }
  /// Sizes that are open in the plan come from the arguments of the launch; see sparsec_plan_workspace_bytes.
  size_t workspaceBytes(std::initializer_list<Argument> arguments = {}) const {
    const ArgumentArray array(arguments);
    size_t bytes = 0;
    check(sparsec_plan_workspace_bytes(handle(), array.data(), array.size(), &bytes));
    return bytes;
  }
  sparsec_plan_t handle() const { return owner.get(); }

private:
  explicit Plan(sparsec_plan_t handle) : owner(handle) {}
  detail::Owner<sparsec_plan_t, sparsec_plan_destroy> owner;
};

/// The values of a matrix in packed blocks; see sparsec_plan_pack. The plan must outlive them.
class Packed {
public:
  /// `matrix` is the block-sparse argument of the launches, with its values.
  Packed(const Plan &plan, const sparsec_blocks_t &matrix, void *stream = nullptr,
         const sparsec_allocator_t *allocator = nullptr) {
    auto options = sized<sparsec_pack_options_t>();
    options.stream = stream;
    options.allocator = allocator;
    sparsec_packed_t handle;
    check(sparsec_plan_pack(plan.handle(), &matrix, &options, &handle));
    owner.reset(handle);
  }
  /// Whether the plan has packed values. Launches accept an empty object too.
  bool isEmpty() const { return !handle(); }
  /// Packs the present values of the matrix.
  void refill(const sparsec_blocks_t &matrix, void *stream = nullptr) {
    check(sparsec_packed_refill(handle(), &matrix, stream));
  }
  sparsec_packed_t handle() const { return owner.get(); }

private:
  detail::Owner<sparsec_packed_t, sparsec_packed_destroy> owner;
};

/// The workspace of launches that do not overlap. The constructor sets it to zero, as launches need it.
class Workspace {
public:
  Workspace(const Device &device, size_t bytes) : buffer(device, std::vector<char>(bytes)) {}
  void *data() const { return buffer.data(); }
  size_t bytes() const { return buffer.bytes(); }

private:
  Buffer buffer;
};

namespace detail {
inline sparsec_launch_options_t launchOptions(void *stream, const Workspace *workspace, const Packed *packed) {
  auto options = sized<sparsec_launch_options_t>();
  options.stream = stream;
  options.workspace = workspace ? workspace->data() : nullptr;
  options.workspace_bytes = workspace ? workspace->bytes() : 0;
  options.packed = packed ? packed->handle() : nullptr;
  return options;
}
} // namespace detail

inline void Kernel::launch(const Plan *plan, std::initializer_list<Argument> arguments, void *stream,
                           const Workspace *workspace, const Packed *packed) const {
  const ArgumentArray array(arguments);
  const sparsec_launch_options_t options = detail::launchOptions(stream, workspace, packed);
  check(sparsec_launch_with_options(kernel, plan ? plan->handle() : nullptr, array.data(), array.size(), &options));
}

/// A launch that is prepared once; see sparsec_launcher_create. The plan, the workspace and the packed values may be
/// null. They must outlive the launcher.
class Launcher {
public:
  Launcher(const Kernel &kernel, const Plan *plan, std::initializer_list<Argument> arguments,
           const Workspace *workspace = nullptr, const Packed *packed = nullptr) {
    const ArgumentArray array(arguments);
    const sparsec_launch_options_t options = detail::launchOptions(nullptr, workspace, packed);
    sparsec_launcher_t handle;
    check(sparsec_launcher_create(kernel.handle(), plan ? plan->handle() : nullptr, array.data(), array.size(),
                                  &options, &handle));
    owner.reset(handle);
  }
  void run(void *stream = nullptr) const { check(sparsec_launcher_run(handle(), stream)); }
  /// Gives the next runs other memory and scalars, in arguments of the same sizes and strides.
  void rebind(std::initializer_list<Argument> arguments) {
    const ArgumentArray array(arguments);
    check(sparsec_launcher_rebind(handle(), array.data(), array.size()));
  }
  sparsec_launcher_t handle() const { return owner.get(); }

private:
  detail::Owner<sparsec_launcher_t, sparsec_launcher_destroy> owner;
};

} // namespace sparsec

#endif // SPARSEC_RUNTIME_HPP
