// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts that the benches of one operation share: options, the operation's kernels in a folder, and the dense
// product beside them.

#ifndef SPARSEC_BENCH_OPERATION_BENCH_H
#define SPARSEC_BENCH_OPERATION_BENCH_H

#include "dense_library.h"
#include "harness/handles.h"
#include "timer.h"

#include <functional>
#include <string>
#include <vector>

namespace sparsec::bench {

struct OperationOptions {
  std::string kernels, cublas;
  ProductSize size = {8192, 8192, 8192};
  std::vector<double> points; // densities, or stored blocks a row
  int launches = 15;
  bool planned = true;
};

/// The one kernel of a file.
struct OperationKernel {
  harness::Module module;
  sparsec_kernel_t kernel = nullptr;
  std::string name;

  const sparsec_argument_info_t &argument(size_t index) const { return *sparsec_kernel_argument(kernel, index); }
  /// The element type of the last argument, the result.
  sparsec_dtype_t resultDtype() const;
};

/// The kernels of the .cubin files below a folder of one operation that have that many arguments, by name.
std::vector<OperationKernel> loadKernels(sparsec_device_t device, const std::string &folder,
                                         sparsec_operation_kind_t kind, size_t argumentCount);

/// Normal values in bf16.
std::vector<uint16_t> randomBf16(int64_t count, uint64_t seed);

/// The speed of a kernel, next to cuBLAS before and after it.
struct Rates {
  double milliseconds, teraflops;
  double denseTeraflops = 0; // 0 without cuBLAS
};

/// Times launches of a product of `flops` between two measurements of the dense product.
Rates timeBetweenDense(const FlushedTimer &timer, double flops, double denseFlops,
                       const std::function<void()> &launchDense, const std::function<void()> &launch);

/// Why a result is not within two units in the last place of the exact one, plus a millionth of the magnitudes that
/// were added; or nothing.
std::string findElementError(int64_t element, sparsec_dtype_t dtype, double got, double exact, double magnitude);

/// The element that is NaN, or nothing.
std::string findUnwritten(sparsec_dtype_t dtype, const std::vector<char> &values, int64_t count);

/// Fills the memory with NaN of every element type.
void poison(const harness::DeviceBuffer &memory, const harness::CudaStream &stream);

/// The differences between the command lines of the benches.
struct CommandLine {
  std::string usage;          // ends an error about an option
  std::string pointsOption;   // the name of the list of points
  std::vector<double> points; // its default
};

/// The body of main. Reads --kernels, --size=MxNxK, --launches, --cublas, the points and, where the usage text has it,
/// --no-plan. Gives 0 if the run says that all results are right, or if there is no GPU; errors become a message and 1.
int runOperationBench(int argc, char **argv, const CommandLine &commandLine,
                      const std::function<bool(const OperationOptions &, sparsec_device_t)> &run);

} // namespace sparsec::bench

#endif // SPARSEC_BENCH_OPERATION_BENCH_H
