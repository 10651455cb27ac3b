// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernel arguments: from what the user wrote after --arg to host memory, and from there to the device.

#ifndef SPARSEC_TOOLS_RUN_ARGUMENTS_H
#define SPARSEC_TOOLS_RUN_ARGUMENTS_H

#include "block_matrix.h"
#include "launch_info_view.h"
#include "pattern_argument.h"

#include "operations/operation.h"

#include "sparsec/argument.hpp"

#include <string>
#include <vector>

namespace sparsec::run {

/// One kernel argument in host memory.
struct HostArgument {
  const sparsec_argument_info_t *info = nullptr;
  const sparsec_operand_info_t *operand = nullptr; // the first one that it is
  bool isResult = false;
  bool isSource = false;                  // its elements are in f32 until they are quantised
  const HostArgument *scalesOf = nullptr; // the argument that is quantised with this one as its scales
  readers::BlockMatrix matrix;            // SPARSEC_ARGUMENT_BSR
  std::vector<int64_t> sizes;             // SPARSEC_ARGUMENT_DENSE
  std::vector<std::byte> elements;        // SPARSEC_ARGUMENT_DENSE, row-major
  float scalar = 0.0f;                    // SPARSEC_ARGUMENT_SCALAR
  OwnedPatternBuffer pattern;             // SPARSEC_ARGUMENT_PATTERN

  /// The type of the elements that are there.
  sparsec_dtype_t dtype() const { return isSource ? SPARSEC_DTYPE_F32 : sparsec_dtype_t(info->dtype); }
  /// A view for the runtime, of this memory.
  Argument hostView() const;
};

/// All arguments of a kernel, inputs then results.
class HostArguments {
public:
  /// Reads the inputs. `assignments` are `name=value` texts; results are allocated from the sizes of the inputs and
  /// filled with NaN, so that an element that is never written is seen.
  static llvm::Expected<HostArguments> read(sparsec_kernel_t kernel, llvm::ArrayRef<std::string> assignments,
                                            const readers::Limits &limits);

  /// Random inputs of a product, which fit a block-sparse matrix. `matrix` is what --arg takes, and `columns` is N
  /// where the kernel leaves it open.
  static llvm::Expected<HostArguments> makeForMatrix(sparsec_kernel_t kernel, llvm::StringRef matrix, int64_t columns,
                                                     const readers::Limits &limits);

  llvm::ArrayRef<HostArgument> all() const { return arguments; }
  HostArgument *find(llvm::StringRef name);
  /// The first argument in a slot of the operation, null if there is none.
  const HostArgument *of(uint32_t slot) const;
  const runtime::Problem &problem() const { return sizes; }
  std::vector<Argument> hostViews() const;

private:
  explicit HostArguments(sparsec_kernel_t kernel);
  llvm::Error assign(sparsec_kernel_t kernel, llvm::ArrayRef<std::string> assignments, llvm::StringRef &patternText,
                     const readers::Limits &limits);
  llvm::Error readMatrices(llvm::StringRef text, const readers::Limits &limits);
  llvm::Error makeInputs(sparsec_kernel_t kernel, int64_t columns, const readers::Limits &limits);
  llvm::Error findScales(sparsec_kernel_t kernel, llvm::ArrayRef<std::string> assignments);
  llvm::Error allocateResults(sparsec_kernel_t kernel, const readers::Limits &limits);
  llvm::Error allocate(HostArgument &result, std::vector<int64_t> sizes, const readers::Limits &limits);

  std::vector<HostArgument> arguments;
  runtime::Problem sizes;
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
  llvm::ArrayRef<Argument> views() const { return arguments; }

private:
  llvm::Expected<void *> copy(const void *data, size_t bytes, llvm::StringRef name);
  llvm::Error upload(const HostArgument &argument);
  llvm::Error uploadMatrix(const readers::BlockMatrix &matrix, sparsec_blocks_t &device, llvm::StringRef name);
  llvm::Error uploadPattern(sparsec_blocks_t &pattern, llvm::StringRef name);

  sparsec_device_t device;
  std::vector<void *> allocations;
  std::vector<Argument> arguments;
};

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_ARGUMENTS_H
