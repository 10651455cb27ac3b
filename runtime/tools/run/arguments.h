// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernel arguments: from what the user wrote after --arg to host memory, and from there to the device.

#ifndef SPARSEC_TOOLS_RUN_ARGUMENTS_H
#define SPARSEC_TOOLS_RUN_ARGUMENTS_H

#include "block_matrix.h"
#include "launch_info_view.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace sparsec::run {

/// One kernel argument in host memory.
struct HostArgument {
  const sparsec_argument_info_t *info = nullptr;
  readers::BlockMatrix matrix;     // SPARSEC_ARGUMENT_BSR
  std::vector<int64_t> sizes;      // SPARSEC_ARGUMENT_DENSE
  std::vector<std::byte> elements; // SPARSEC_ARGUMENT_DENSE, row-major
  float scalar = 0.0f;             // SPARSEC_ARGUMENT_SCALAR

  /// A view for the runtime, of this memory.
  sparsec_argument_t hostView() const;
};

/// The sizes of the product.
struct ProductShape {
  int64_t m, k, n;
};

/// All arguments of a kernel, inputs then results.
class HostArguments {
public:
  /// Reads the inputs. `assignments` are `name=value` texts; results are allocated from the sizes of the inputs and
  /// filled with NaN, so that an element that is never written is seen.
  static llvm::Expected<HostArguments> read(sparsec_kernel_t kernel, llvm::ArrayRef<std::string> assignments,
                                            const readers::Limits &limits);

  llvm::ArrayRef<HostArgument> all() const { return arguments; }
  HostArgument *find(llvm::StringRef name);
  const HostArgument &matrix() const { return arguments[matrixIndex]; }
  const HostArgument &result() const { return arguments[resultIndex]; }
  size_t indexOfMatrix() const { return matrixIndex; }
  ProductShape shape() const { return product; }
  std::vector<sparsec_argument_t> hostViews() const;

private:
  llvm::Error allocateResult(const readers::Limits &limits);

  std::vector<HostArgument> arguments;
  size_t matrixIndex = 0, denseIndex = 0, resultIndex = 0;
  ProductShape product = {};
};

/// Copies of host arguments in the memory of a device.
class DeviceArguments {
public:
  explicit DeviceArguments(sparsec_device_t device) : device(device) {}
  DeviceArguments(const DeviceArguments &) = delete;
  DeviceArguments &operator=(const DeviceArguments &) = delete;
  ~DeviceArguments();

  llvm::Error upload(const HostArguments &host);
  /// Copies the results back into `host`.
  llvm::Error downloadResults(HostArguments &host) const;
  llvm::ArrayRef<sparsec_argument_t> views() const { return arguments; }

private:
  llvm::Expected<void *> copy(const void *data, size_t bytes, llvm::StringRef name);

  sparsec_device_t device;
  std::vector<void *> allocations;
  std::vector<sparsec_argument_t> arguments;
};

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_ARGUMENTS_H
