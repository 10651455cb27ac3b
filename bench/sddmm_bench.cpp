// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-sddmm-bench: times compiled bf16 SDDMM kernels without an epilogue over densities, next to the dense product
// of cuBLAS in the same process. L2 is flushed before every launch. Results are checked against double precision.

#include "dense_library.h"
#include "harness/numeric.h"
#include "harness/parallel.h"
#include "harness/pattern.h"
#include "timer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <sstream>

namespace sparsec::bench {

using namespace harness;

namespace {

constexpr const char *usage =
    "usage: sparsec-sddmm-bench --kernels=DIR [--size=MxNxK] [--density=LIST] [--launches=COUNT] [--cublas=FILE] "
    "[--no-plan]\n";

struct Options {
  std::string kernels, cublas;
  ProductSize size = {8192, 8192, 8192};
  std::vector<double> densities = {1, 0.5, 0.25, 0.1};
  int launches = 15;
  bool planned = true;
};

/// Random values that serve as both factors in every layout: what is M x K in one is K x M in another.
struct Factors {
  Factors(sparsec_device_t device, const ProductSize &size)
      : hostA(randomBf16(size.rows * size.depth, 1)), hostB(randomBf16(size.columns * size.depth, 2)),
        a(uploadArray(device, hostA)), b(uploadArray(device, hostB)),
        s(device, size_t(size.rows) * size_t(size.columns) * sizeof(float)) {}

  static std::vector<uint16_t> randomBf16(int64_t count, uint64_t seed) {
    std::vector<uint16_t> values(count);
    parallelFor(count, 1 << 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        values[i] = floatToBf16(randomNormal(seed, i));
    });
    return values;
  }

  std::vector<uint16_t> hostA, hostB;
  DeviceBuffer a, b, s;
};

/// A kernel of a file.
struct Candidate {
  Module module;
  sparsec_kernel_t kernel = nullptr;
  std::string name;
  int64_t blockRows = 0, blockColumns = 0;
  bool isLeftTransposed = false, isRightTransposed = false; // (K, M); (N, K)
  sparsec_dtype_t resultDtype = SPARSEC_DTYPE_NONE;
};

std::vector<Candidate> loadCandidates(sparsec_device_t device, const std::string &folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".cubin")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Candidate> candidates;
  for (const auto &path : paths) {
    std::ifstream stream(path, std::ios::binary);
    Candidate candidate;
    candidate.module = loadModule(device, std::vector<char>(std::istreambuf_iterator<char>(stream), {}));
    check(sparsec_module_kernel_at(candidate.module.get(), 0, &candidate.kernel));
    if (sparsec_kernel_operation(candidate.kernel)->kind != SPARSEC_OPERATION_SDDMM ||
        sparsec_kernel_info(candidate.kernel)->argument_count != 4)
      continue;
    const sparsec_argument_info_t *pattern = sparsec_kernel_argument(candidate.kernel, 0);
    candidate.name = path.stem();
    candidate.blockRows = pattern->block_rows;
    candidate.blockColumns = pattern->block_columns;
    candidate.isLeftTransposed = operandOf(candidate.kernel, 1).layout == SPARSEC_LAYOUT_TRANSPOSED;
    candidate.isRightTransposed = operandOf(candidate.kernel, 2).layout == SPARSEC_LAYOUT_TRANSPOSED;
    candidate.resultDtype = static_cast<sparsec_dtype_t>(sparsec_kernel_argument(candidate.kernel, 3)->dtype);
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

class Bench {
public:
  Bench(const Options &options, sparsec_device_t device)
      : options(options), device(device), factors(device, options.size), timer(device, stream, options.launches),
        dense(DenseLibrary::open(options.cublas, stream)) {}

  /// Whether all results are right.
  bool run(const std::vector<Candidate> &candidates);

private:
  bool timeCase(const Candidate &candidate, double density);
  double denseTeraflops() const;
  std::string findError(const Candidate &candidate, const BlockPattern &pattern) const;

  const Options &options;
  sparsec_device_t device;
  CudaStream stream;
  Factors factors;
  FlushedTimer timer;
  std::unique_ptr<DenseLibrary> dense;
};

double Bench::denseTeraflops() const {
  const ProductSize &size = options.size;
  double milliseconds =
      timer
          .measure([&] {
            // rows x depth times depth x columns
            dense->multiply(size, factors.a.data(), factors.b.data(), factors.s.data(), /*transposed=*/false);
          })
          .medianMilliseconds;
  return 2e-9 * double(size.rows) * double(size.columns) * double(size.depth) / milliseconds;
}

/// Every element must be written; some are compared.
std::string Bench::findError(const Candidate &candidate, const BlockPattern &pattern) const {
  constexpr int64_t samples = 2048;
  const ProductSize &size = options.size;
  const int64_t elements = candidate.blockRows * candidate.blockColumns, count = pattern.blockCount() * elements;
  std::vector<char> values(count * sparsec_dtype_bytes(candidate.resultDtype));
  check(sparsec_memory_download(device, values.data(), factors.s.data(), values.size()));
  for (int64_t i = 0; i < count; ++i)
    if (std::isnan(loadElement(candidate.resultDtype, values.data(), i)))
      return fmt::format("element {} of {} is NaN or not written", i, count);
  for (int64_t sample = 0; sample < samples; ++sample) {
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
    double got = loadElement(candidate.resultDtype, values.data(), element);
    double allowed = 2 * unitInLastPlace(candidate.resultDtype, exact) + 1e-6 * magnitude;
    if (!(std::abs(got - exact) <= allowed))
      return fmt::format("element {} is {}, but should be {} within {}", element, got, exact, allowed);
  }
  return {};
}

bool Bench::timeCase(const Candidate &candidate, double density) {
  const ProductSize &size = options.size;
  BlockPattern pattern =
      bernoulliPattern(size.rows / candidate.blockRows, size.columns / candidate.blockColumns, density, /*seed=*/3);
  DeviceBuffer rowPtr = uploadArray(device, pattern.rowPtr), colIdx = uploadArray(device, pattern.colIdx);
  auto factor = [](const DeviceBuffer &data, int64_t rows, int64_t columns) {
    return sparsec_dense_2d(data.data(), SPARSEC_DTYPE_BF16, rows, columns);
  };
  const int64_t shape[] = {pattern.blockCount(), candidate.blockRows, candidate.blockColumns};
  const std::vector<Argument> arguments = {
      sparsec_blocks_bsr(size.rows, size.columns, int32_t(candidate.blockRows), int32_t(candidate.blockColumns),
                         pattern.blockCount(), static_cast<const int32_t *>(rowPtr.data()),
                         static_cast<const int32_t *>(colIdx.data()), SPARSEC_DTYPE_BF16, nullptr),
      candidate.isLeftTransposed ? factor(factors.a, size.depth, size.rows) : factor(factors.a, size.rows, size.depth),
      candidate.isRightTransposed ? factor(factors.b, size.columns, size.depth)
                                  : factor(factors.b, size.depth, size.columns),
      sparsec_dense(factors.s.data(), candidate.resultDtype, 3, shape)};
  const ArgumentArray array(arguments);
  Plan plan = options.planned ? createPlan(candidate.kernel, arguments, /*stream=*/nullptr, SPARSEC_PLAN_STATIC_PATTERN)
                              : Plan();
  auto launch = [&] {
    check(sparsec_launch(candidate.kernel, plan.get(), array.data(), array.size(), stream.handle()));
  };
  CudaDriver::get()->check(CudaDriver::get()->memsetAsync(reinterpret_cast<uint64_t>(factors.s.data()), 0xff,
                                                          factors.s.bytes(), stream.handle()),
                           "cuMemsetD8Async");
  launch();
  stream.synchronize();
  std::string error = findError(candidate, pattern);
  double before = dense ? denseTeraflops() : 0;
  double milliseconds = timer.measure(launch).medianMilliseconds;
  double ofDense = dense ? (before + denseTeraflops()) / 2 : 0;
  double flops = 2.0 * double(pattern.blockCount() * candidate.blockRows * candidate.blockColumns) * double(size.depth);
  double teraflops = flops / milliseconds * 1e-9;
  fmt::print("{:36} {:>4} {:8} {:10.4f} ms {:8.1f} TFLOP/s  {:5.3f} of {:5.1f}  plan {:5.2f} ms  {}\n", candidate.name,
             density, pattern.blockCount(), milliseconds, teraflops, dense ? teraflops / ofDense : 0.0, ofDense,
             plan ? planInfo(plan).milliseconds : 0.0, error.empty() ? "right" : error);
  std::fflush(stdout);
  return error.empty();
}

bool Bench::run(const std::vector<Candidate> &candidates) {
  bool isRight = true;
  for (const Candidate &candidate : candidates) {
    fmt::print("{}: {}\n", candidate.name, sparsec_kernel_variant(candidate.kernel, 0)->schedule);
    for (double density : options.densities)
      isRight &= timeCase(candidate, density);
  }
  return isRight;
}

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i], key = text.substr(0, text.find('='));
    std::string value = key.size() < text.size() ? text.substr(key.size() + 1) : "";
    if (key == "--kernels") {
      options.kernels = value;
    } else if (key == "--cublas") {
      options.cublas = value;
    } else if (key == "--launches") {
      options.launches = std::atoi(value.c_str());
    } else if (key == "--no-plan") {
      options.planned = false;
    } else if (key == "--density") {
      options.densities.clear();
      std::istringstream list(value);
      for (std::string part; std::getline(list, part, ',');)
        options.densities.push_back(std::atof(part.c_str()));
    } else if (key != "--size" || std::sscanf(value.c_str(), "%ldx%ldx%ld", &options.size.rows, &options.size.columns,
                                              &options.size.depth) != 3) {
      throw std::runtime_error(fmt::format("does not know '{}'\n{}", text, usage));
    }
  }
  if (options.kernels.empty() || options.launches < 1)
    throw std::runtime_error(usage);
  return options;
}

int runBench(const Options &options) {
  if (!CudaDriver::get()) {
    fmt::print("skipped: no GPU\n");
    return 0;
  }
  CudaDriver::get()->useDevice(0);
  sparsec_device_t handle = nullptr;
  check(sparsec_device_open_cuda(0, &handle));
  Device device(handle);
  std::vector<Candidate> candidates = loadCandidates(device.get(), options.kernels);
  return Bench(options, device.get()).run(candidates) && !candidates.empty() ? 0 : 1;
}

} // namespace
} // namespace sparsec::bench

int main(int argc, char **argv) {
  try {
    return sparsec::bench::runBench(sparsec::bench::parse(argc, argv));
  } catch (const std::exception &error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
