// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-spgemm-bench: times compiled bf16 SpGEMM kernels with a dense row-major result and no epilogue, next to the
// dense product of cuBLAS in the same process. Every block row of A, and every block row of B, stores the same number
// of blocks in random columns. The rate counts the flops of matching pairs alone. L2 is flushed before every launch.
// Results are checked against double precision.

#include "harness/numeric.h"
#include "harness/pattern.h"
#include "operation_bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <numeric>

namespace sparsec::bench {

using namespace harness;

namespace {

constexpr const char *usage = "usage: sparsec-spgemm-bench --kernels=DIR [--size=MxNxK] [--blocks-per-row=LIST] "
                              "[--launches=COUNT] [--cublas=FILE]\n";

/// `count` distinct columns in every block row, ascending.
BlockPattern evenPattern(int64_t blockRows, int64_t blockColumns, int64_t count, uint64_t seed) {
  BlockPattern pattern{blockRows, blockColumns, {0}, {}};
  std::vector<int32_t> columns(blockColumns);
  count = std::min(count, blockColumns);
  for (int64_t row = 0; row < blockRows; ++row) {
    std::iota(columns.begin(), columns.end(), 0);
    for (int64_t i = 0; i < count; ++i) // the first steps of a shuffle
      std::swap(columns[i],
                columns[i + int64_t(randomBits(seed, row * blockColumns + i) % uint64_t(blockColumns - i))]);
    std::sort(columns.begin(), columns.begin() + count);
    pattern.colIdx.insert(pattern.colIdx.end(), columns.begin(), columns.begin() + count);
    pattern.rowPtr.push_back(static_cast<int32_t>(pattern.colIdx.size()));
  }
  return pattern;
}

/// A block-sparse matrix in memory of the device and of the host.
struct Factor {
  Factor(sparsec_device_t device, int64_t rows, int64_t columns, int64_t blockRows, int64_t blockColumns, int64_t count,
         uint64_t seed)
      : rows(rows), columns(columns), blockRows(blockRows), blockColumns(blockColumns),
        pattern(evenPattern(ceilDivide(rows, blockRows), ceilDivide(columns, blockColumns), count, seed)),
        hostValues(randomBf16(pattern.blockCount() * blockRows * blockColumns, seed)),
        values(uploadArray(device, hostValues)), rowPtr(uploadArray(device, pattern.rowPtr)),
        colIdx(uploadArray(device, pattern.colIdx)) {}

  static int64_t ceilDivide(int64_t size, int64_t block) { return (size + block - 1) / block; }

  Argument argument() const {
    return sparsec_blocks_bsr(rows, columns, int32_t(blockRows), int32_t(blockColumns), pattern.blockCount(),
                              static_cast<const int32_t *>(rowPtr.data()), static_cast<const int32_t *>(colIdx.data()),
                              SPARSEC_DTYPE_BF16, values.data());
  }

  /// The block of a place, or -1.
  int64_t find(int64_t blockRow, int64_t blockColumn) const {
    auto begin = pattern.colIdx.begin() + pattern.rowPtr[blockRow];
    auto end = pattern.colIdx.begin() + pattern.rowPtr[blockRow + 1];
    auto found = std::lower_bound(begin, end, blockColumn);
    return found == end || *found != blockColumn ? -1 : found - pattern.colIdx.begin();
  }

  double element(int64_t block, int64_t row, int64_t column) const {
    return bf16ToFloat(hostValues[(block * blockRows + row) * blockColumns + column]);
  }

  int64_t rows, columns, blockRows, blockColumns;
  BlockPattern pattern;
  std::vector<uint16_t> hostValues;
  DeviceBuffer values, rowPtr, colIdx;
};

int64_t countPairs(const Factor &a, const Factor &b) {
  int64_t pairs = 0;
  for (int32_t k : a.pattern.colIdx)
    pairs += b.pattern.rowPtr[k + 1] - b.pattern.rowPtr[k];
  return pairs;
}

class Bench {
public:
  Bench(const OperationOptions &options, sparsec_device_t device)
      : options(options), device(device), timer(device, stream, options.launches),
        dense(DenseLibrary::open(options.cublas, stream)),
        c(device, size_t(options.size.rows) * size_t(options.size.columns) * sizeof(float)),
        denseA(uploadArray(device, randomBf16(options.size.rows * options.size.depth, 7))),
        denseB(uploadArray(device, randomBf16(options.size.depth * options.size.columns, 8))) {}

  /// Whether the result is right.
  bool timeCase(const OperationKernel &loaded, int64_t blocksPerRow);

private:
  double timeRefill(const OperationKernel &loaded, const std::vector<Argument> &arguments);
  std::string findError(const OperationKernel &loaded, const Factor &a, const Factor &b) const;

  const OperationOptions &options;
  sparsec_device_t device;
  CudaStream stream;
  FlushedTimer timer;
  std::unique_ptr<DenseLibrary> dense;
  DeviceBuffer c, denseA, denseB;
};

/// Every element must be written; some are compared.
std::string Bench::findError(const OperationKernel &loaded, const Factor &a, const Factor &b) const {
  constexpr int64_t samples = 2048;
  const int64_t count = options.size.rows * options.size.columns;
  const sparsec_dtype_t dtype = loaded.resultDtype();
  std::vector<char> values(count * sparsec_dtype_bytes(dtype));
  check(sparsec_memory_download(device, values.data(), c.data(), values.size()));
  std::string error = findUnwritten(dtype, values, count);
  for (int64_t sample = 0; sample < samples && error.empty(); ++sample) {
    int64_t element = int64_t(randomBits(5, sample) % uint64_t(count));
    int64_t m = element / options.size.columns, n = element % options.size.columns;
    int64_t blockRow = m / a.blockRows;
    double exact = 0, magnitude = 0;
    for (int64_t left = a.pattern.rowPtr[blockRow]; left < a.pattern.rowPtr[blockRow + 1]; ++left) {
      int64_t right = b.find(a.pattern.colIdx[left], n / b.blockColumns);
      for (int64_t k = 0; right >= 0 && k < a.blockColumns; ++k) {
        double term = a.element(left, m % a.blockRows, k) * b.element(right, k, n % b.blockColumns);
        exact += term;
        magnitude += std::abs(term);
      }
    }
    error = findElementError(element, dtype, loadElement(dtype, values.data(), element), exact, magnitude);
  }
  return error;
}

/// Milliseconds to make the pairs of a plan again on the device.
double Bench::timeRefill(const OperationKernel &loaded, const std::vector<Argument> &arguments) {
  const ArgumentArray array(arguments);
  Plan plan = createPlan(loaded.kernel, arguments, stream.handle(), SPARSEC_PLAN_REFILL);
  return timer.measure([&] { check(sparsec_plan_refill(plan.get(), array.data(), array.size(), stream.handle())); })
      .medianMilliseconds;
}

bool Bench::timeCase(const OperationKernel &loaded, int64_t blocksPerRow) {
  const sparsec_argument_info_t &left = loaded.argument(0), &right = loaded.argument(1);
  // K has whole blocks: values beyond K would be multiplied like others here.
  const ProductSize size = {options.size.rows, options.size.depth / left.block_columns * left.block_columns,
                            options.size.columns};
  const Factor a(device, size.rows, size.depth, left.block_rows, left.block_columns, blocksPerRow, 1);
  const Factor b(device, size.depth, size.columns, right.block_rows, right.block_columns, blocksPerRow, 2);
  const std::vector<Argument> arguments = {a.argument(), b.argument(),
                                           sparsec_dense_2d(c.data(), loaded.resultDtype(), size.rows, size.columns)};
  const ArgumentArray array(arguments);
  Plan plan = createPlan(loaded.kernel, arguments, /*stream=*/nullptr, SPARSEC_PLAN_STATIC_PATTERN);
  auto launch = [&] { check(sparsec_launch(loaded.kernel, plan.get(), array.data(), array.size(), stream.handle())); };
  auto launchDense = [&] {
    dense->multiply(options.size, denseA.data(), denseB.data(), c.data(), /*transposed=*/false);
  };
  poison(c, stream);
  launch();
  stream.synchronize();
  std::string error = findError(loaded, a, b);
  const int64_t pairs = countPairs(a, b);
  double flopsOfPair = 2.0 * double(left.block_rows) * double(left.block_columns) * double(right.block_columns);
  Rates rates =
      timeBetweenDense(timer, flopsOfPair * double(pairs),
                       2.0 * double(options.size.rows) * double(options.size.columns) * double(options.size.depth),
                       dense ? std::function<void()>(launchDense) : nullptr, launch);
  fmt::print("{:30} {:3} blocks a row {:9} pairs {:10.4f} ms {:8.1f} TFLOP/s  {:5.3f} of {:5.1f}  plan {:6.2f} ms, "
             "refilled in {:6.4f} ms  {}\n",
             loaded.name, blocksPerRow, pairs, rates.milliseconds, rates.teraflops,
             dense ? rates.teraflops / rates.denseTeraflops : 0.0, rates.denseTeraflops, planInfo(plan).milliseconds,
             timeRefill(loaded, arguments), error.empty() ? "right" : error);
  std::fflush(stdout);
  return error.empty();
}

bool runBench(const OperationOptions &options, sparsec_device_t device) {
  std::vector<OperationKernel> kernels = loadKernels(device, options.kernels, SPARSEC_OPERATION_SPGEMM, 3);
  Bench bench(options, device);
  bool isRight = !kernels.empty();
  for (const OperationKernel &loaded : kernels) {
    fmt::print("{}: {}\n", loaded.name, sparsec_kernel_variant(loaded.kernel, 0)->schedule);
    for (double blocksPerRow : options.points)
      isRight &= bench.timeCase(loaded, int64_t(blocksPerRow));
  }
  return isRight;
}

} // namespace
} // namespace sparsec::bench

int main(int argc, char **argv) {
  using namespace sparsec::bench;
  return runOperationBench(argc, argv, {usage, "--blocks-per-row", {8, 16, 32, 64}}, runBench);
}
