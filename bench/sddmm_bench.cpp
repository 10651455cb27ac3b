// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-sddmm-bench: times compiled bf16 SDDMM kernels without an epilogue over densities, next to the dense product
// of cuBLAS in the same process. L2 is flushed before every launch. Results are checked against double precision.

#include "harness/numeric.h"
#include "harness/pattern.h"
#include "operation_bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>

namespace sparsec::bench {

using namespace harness;

namespace {

constexpr const char *usage =
    "usage: sparsec-sddmm-bench --kernels=DIR [--size=MxNxK] [--density=LIST] [--launches=COUNT] [--cublas=FILE] "
    "[--no-plan]\n";

/// Random values that serve as both factors in every layout: what is M x K in one is K x M in another.
struct Factors {
  Factors(sparsec_device_t device, const ProductSize &size)
      : hostA(randomBf16(size.rows * size.depth, 1)), hostB(randomBf16(size.columns * size.depth, 2)),
        a(uploadArray(device, hostA)), b(uploadArray(device, hostB)),
        s(device, size_t(size.rows) * size_t(size.columns) * sizeof(float)) {}

  std::vector<uint16_t> hostA, hostB;
  DeviceBuffer a, b, s;
};

/// A kernel and how its operands lie.
struct Candidate {
  explicit Candidate(const OperationKernel &loaded)
      : name(loaded.name), kernel(loaded.kernel), blockRows(loaded.argument(0).block_rows),
        blockColumns(loaded.argument(0).block_columns),
        isLeftTransposed(operandOf(kernel, 1).layout == SPARSEC_LAYOUT_TRANSPOSED),
        isRightTransposed(operandOf(kernel, 2).layout == SPARSEC_LAYOUT_TRANSPOSED), resultDtype(loaded.resultDtype()) {
  }

  std::string name;
  sparsec_kernel_t kernel;
  int64_t blockRows, blockColumns;
  bool isLeftTransposed, isRightTransposed; // (K, M); (N, K)
  sparsec_dtype_t resultDtype;
};

class Bench {
public:
  Bench(const OperationOptions &options, sparsec_device_t device)
      : options(options), device(device), factors(device, options.size), timer(device, stream, options.launches),
        dense(DenseLibrary::open(options.cublas, stream)) {}

  /// Whether the result is right.
  bool timeCase(const Candidate &candidate, double density);

private:
  std::vector<Argument> argumentsFor(const Candidate &candidate, const BlockPattern &pattern) const;
  std::string findError(const Candidate &candidate, const BlockPattern &pattern) const;

  const OperationOptions &options;
  sparsec_device_t device;
  CudaStream stream;
  Factors factors;
  FlushedTimer timer;
  std::unique_ptr<DenseLibrary> dense;
  DeviceBuffer rowPtr, colIdx;
};

/// Every element must be written; some are compared.
std::string Bench::findError(const Candidate &candidate, const BlockPattern &pattern) const {
  constexpr int64_t samples = 2048;
  const ProductSize &size = options.size;
  const int64_t elements = candidate.blockRows * candidate.blockColumns, count = pattern.blockCount() * elements;
  std::vector<char> values(count * sparsec_dtype_bytes(candidate.resultDtype));
  check(sparsec_memory_download(device, values.data(), factors.s.data(), values.size()));
  std::string error = findUnwritten(candidate.resultDtype, values, count);
  for (int64_t sample = 0; sample < samples && error.empty(); ++sample) {
    int64_t element = int64_t(randomBits(5, sample) % uint64_t(count)), block = element / elements;
    int64_t blockRow =
        std::upper_bound(pattern.rowPtr.begin(), pattern.rowPtr.end(), block) - pattern.rowPtr.begin() - 1;
    int64_t m = blockRow * candidate.blockRows + element % elements / candidate.blockColumns;
    int64_t n = pattern.colIdx[block] * candidate.blockColumns + element % candidate.blockColumns;
    double exact = 0, magnitude = 0;
    for (int64_t k = 0; k < size.depth; ++k) {
      int64_t a = candidate.isLeftTransposed ? k * size.rows + m : m * size.depth + k;
      int64_t b = candidate.isRightTransposed ? n * size.depth + k : k * size.columns + n;
      double term = double(bf16ToFloat(factors.hostA[a])) * bf16ToFloat(factors.hostB[b]);
      exact += term;
      magnitude += std::abs(term);
    }
    error = findElementError(element, candidate.resultDtype, loadElement(candidate.resultDtype, values.data(), element),
                             exact, magnitude);
  }
  return error;
}

std::vector<Argument> Bench::argumentsFor(const Candidate &candidate, const BlockPattern &pattern) const {
  const ProductSize &size = options.size;
  auto factor = [](const DeviceBuffer &data, int64_t rows, int64_t columns) {
    return sparsec_dense_2d(data.data(), SPARSEC_DTYPE_BF16, rows, columns);
  };
  const int64_t shape[] = {pattern.blockCount(), candidate.blockRows, candidate.blockColumns};
  return {sparsec_blocks_bsr(size.rows, size.columns, int32_t(candidate.blockRows), int32_t(candidate.blockColumns),
                             pattern.blockCount(), static_cast<const int32_t *>(rowPtr.data()),
                             static_cast<const int32_t *>(colIdx.data()), SPARSEC_DTYPE_BF16, nullptr),
          candidate.isLeftTransposed ? factor(factors.a, size.depth, size.rows)
                                     : factor(factors.a, size.rows, size.depth),
          candidate.isRightTransposed ? factor(factors.b, size.columns, size.depth)
                                      : factor(factors.b, size.depth, size.columns),
          sparsec_dense(factors.s.data(), candidate.resultDtype, 3, shape)};
}

bool Bench::timeCase(const Candidate &candidate, double density) {
  const ProductSize &size = options.size;
  BlockPattern pattern =
      bernoulliPattern(size.rows / candidate.blockRows, size.columns / candidate.blockColumns, density, /*seed=*/3);
  rowPtr = uploadArray(device, pattern.rowPtr);
  colIdx = uploadArray(device, pattern.colIdx);
  const std::vector<Argument> arguments = argumentsFor(candidate, pattern);
  const ArgumentArray array(arguments);
  Plan plan = options.planned ? createPlan(candidate.kernel, arguments, /*stream=*/nullptr, SPARSEC_PLAN_STATIC_PATTERN)
                              : Plan();
  auto launch = [&] {
    check(sparsec_launch(candidate.kernel, plan.get(), array.data(), array.size(), stream.handle()));
  };
  auto launchDense = [&] { // rows x depth times depth x columns
    dense->multiply(size, factors.a.data(), factors.b.data(), factors.s.data(), /*transposed=*/false);
  };
  poison(factors.s, stream);
  launch();
  stream.synchronize();
  std::string error = findError(candidate, pattern);
  double flopsOfBlock = 2.0 * double(candidate.blockRows * candidate.blockColumns) * double(size.depth);
  Rates rates = timeBetweenDense(timer, flopsOfBlock * double(pattern.blockCount()),
                                 2.0 * double(size.rows) * double(size.columns) * double(size.depth),
                                 dense ? std::function<void()>(launchDense) : nullptr, launch);
  fmt::print("{:36} {:>4} {:8} {:10.4f} ms {:8.1f} TFLOP/s  {:5.3f} of {:5.1f}  plan {:5.2f} ms  {}\n", candidate.name,
             density, pattern.blockCount(), rates.milliseconds, rates.teraflops,
             dense ? rates.teraflops / rates.denseTeraflops : 0.0, rates.denseTeraflops,
             plan ? planInfo(plan).milliseconds : 0.0, error.empty() ? "right" : error);
  std::fflush(stdout);
  return error.empty();
}

bool runBench(const OperationOptions &options, sparsec_device_t device) {
  std::vector<OperationKernel> kernels = loadKernels(device, options.kernels, SPARSEC_OPERATION_SDDMM, 4);
  Bench bench(options, device);
  bool isRight = !kernels.empty();
  for (const OperationKernel &loaded : kernels) {
    fmt::print("{}: {}\n", loaded.name, sparsec_kernel_variant(loaded.kernel, 0)->schedule);
    for (double density : options.points)
      isRight &= bench.timeCase(Candidate(loaded), density);
  }
  return isRight;
}

} // namespace
} // namespace sparsec::bench

int main(int argc, char **argv) {
  using namespace sparsec::bench;
  return runOperationBench(argc, argv, {usage, "--density", {1, 0.5, 0.25, 0.1}}, runBench);
}
