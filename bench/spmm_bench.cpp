// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-bench: times compiled SpMM kernels over blocks, densities and layouts next to the dense product of
// cuBLAS.

#include "candidate.h"
#include "dense_f8.h"
#include "harness/gpu.h"
#include "options.h"
#include "report.h"
#include "value_copies.h"
#include "workload.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace sparsec::bench {

using namespace harness;

namespace {

/// Whether --case selects it, or is absent.
bool isWanted(const Options &options, const Candidate &candidate, const MaskCase &mask, const ProductSize &size) {
  auto matches = [&](const std::map<std::string, std::string> &wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](const auto &pair) {
      const auto &[key, value] = pair;
      if (key == "block")
        return value == fmt::format("{}x{}", candidate.blockRows, candidate.blockColumns) ||
               (candidate.blockRows == candidate.blockColumns && value == std::to_string(candidate.blockRows));
      if (key == "density")
        return std::abs(std::atof(value.c_str()) - mask.density) < 1e-9;
      if (key == "mask")
        return value == mask.mask->name;
      if (key == "size")
        return value == sizeText(size);
      if (key == "layout")
        return value == candidate.layouts;
      if (key == "type")
        return value == candidate.type;
      if (key == "target")
        return value == candidate.target;
      return candidate.label.find(value) != std::string::npos;
    });
  };
  return options.cases.empty() || std::any_of(options.cases.begin(), options.cases.end(), matches);
}

/// The blocks divide the matrix, and a mask that is given has its shape.
bool fits(const Candidate &candidate, const MaskCase &mask, const ProductSize &size) {
  if (size.rows % candidate.blockRows != 0 || size.depth % candidate.blockColumns != 0)
    return false;
  int64_t rows = size.rows / candidate.blockRows, columns = size.depth / candidate.blockColumns;
  return candidate.matrixTransposed ? mask.mask->fits(columns, rows) : mask.mask->fits(rows, columns);
}

bool hasCase(const Options &options, const std::vector<Candidate> &candidates, const std::vector<MaskCase> &masks,
             sparsec_dtype_t dtype, const ProductSize &size) {
  for (const Candidate &candidate : candidates)
    for (const MaskCase &mask : masks)
      if (candidate.dtype == dtype && isWanted(options, candidate, mask, size) && fits(candidate, mask, size))
        return true;
  return false;
}

/// The benchmark of one element type and size.
class Bench {
public:
  Bench(const Options &options, sparsec_device_t device, sparsec_dtype_t dtype, const ProductSize &size)
      : options(options), device(device),
        operands(device, size, dtype, isBackToBack() ? ValueCopies::moreBytes(l2Bytes()) : 0),
        timer(device, stream, options.launches) {
    if (isF8())
      denseF8 = DenseF8Product::open(options.cublasLt, size, device, stream);
    else
      dense = DenseLibrary::open(options.cublas, stream);
    if (dense && isBackToBack()) {
      denseWorkspace = DeviceBuffer(device, denseWorkspaceBytes);
      dense->useWorkspace(denseWorkspace);
    }
  }

  void run(const std::vector<Candidate> &candidates, const std::vector<MaskCase> &masks, Report &report);

private:
  bool isF8() const { return sparsec_dtype_bytes(operands.dtype) == 1; }
  bool isBackToBack() const { return options.mode == TimingMode::BackToBack; }
  bool hasDense() const { return dense || denseF8; }
  /// W begins `offset` bytes behind the others. For fp8 there is one product: that of the transposed layouts.
  void multiplyDense(bool transposed, size_t offset = 0) const;
  Timing timeDense(bool transposed) const;
  double emptyMilliseconds() const;
  /// Times launches whose values of W, so many bytes, begin at an offset.
  Timing time(size_t valueBytes, const std::function<void(size_t offset)> &launch) const;
  void startDenseRows(Report &report) const;
  void timeCase(const std::vector<const Candidate *> &candidates, const MaskCase &mask, Report &report);
  Row timeCandidate(const Candidate &candidate, const Matrix &matrix, const SampledRows &expected);
  Measurement measure(const Candidate &candidate, const Matrix &matrix, const SampledRows &expected,
                      sparsec_plan_t plan, sparsec_packed_t packed = nullptr);
  std::vector<Argument> makeArguments(const Candidate &candidate, const sparsec_blocks_t &matrix,
                                      const ProductSize &size) const;
  double timeHost(const Candidate &candidate, const Matrix &matrix, bool planned) const;
  double bytesOf(const Candidate &candidate, const Matrix &matrix) const;
  Plan makePlan(const Candidate &candidate, const std::vector<Argument> &arguments, uint32_t moreFlags = 0) const;
  void timePacked(const Candidate &candidate, const Matrix &matrix, const SampledRows &expected, Row &row);
  void timeRefilled(const Candidate &candidate, const Matrix &matrix, const SampledRows &expected, Row &row);
  void describe(const Candidate &candidate, const Matrix &matrix, const Plan &plan, Row &row) const;
  void poisonResult() const;
  /// The memory that the plan asks for; none where the plan is null.
  DeviceBuffer workspaceOf(sparsec_plan_t plan) const;

  const Options &options;
  sparsec_device_t device;
  CudaStream stream;
  Operands operands;
  FlushedTimer timer;
  DeviceBuffer denseWorkspace;
  std::unique_ptr<DenseLibrary> dense;
  std::unique_ptr<DenseF8Product> denseF8;
  std::vector<char> resultBytes, resultBytesAfter;
};

void Bench::multiplyDense(bool transposed, size_t offset) const {
  const char *w = static_cast<const char *>(operands.w.data()) + offset;
  if (denseF8)
    denseF8->multiply(w, operands.x.data(), operands.y.data());
  else
    dense->multiply(operands.size, w, operands.x.data(), operands.y.data(), transposed);
}

Timing Bench::time(size_t valueBytes, const std::function<void(size_t offset)> &launch) const {
  if (!isBackToBack())
    return timer.measure([&] { launch(0); });
  const ValueCopies copies(valueBytes, l2Bytes());
  return timeBackToBack(stream, options.launches, static_cast<int>(copies.launchesOfWindow()),
                        [&](int number) { launch(copies.offsetOf(number)); });
}

Timing Bench::timeDense(bool transposed) const {
  const size_t bytes = operands.size.rows * operands.size.depth * sparsec_dtype_bytes(operands.dtype);
  return time(bytes, [&](size_t offset) { multiplyDense(transposed, offset); });
}

double Bench::emptyMilliseconds() const {
  return time(/*valueBytes=*/0, [&](size_t) { timer.enqueueEmptyKernel(); }).medianMilliseconds;
}

void Bench::poisonResult() const {
  const CudaDriver &driver = *CudaDriver::get();
  driver.check(
      driver.memsetAsync(reinterpret_cast<uint64_t>(operands.y.data()), 0xff, operands.y.bytes(), stream.handle()),
      "cuMemsetD8Async");
}

/// A plan that leaves the width open has no workspace.
DeviceBuffer Bench::workspaceOf(sparsec_plan_t plan) const {
  size_t bytes = 0;
  if (plan)
    check(sparsec_plan_workspace_bytes(plan, nullptr, 0, &bytes));
  return bytes == 0 ? DeviceBuffer() : uploadArray(device, std::vector<char>(bytes));
}

std::vector<Argument> Bench::makeArguments(const Candidate &candidate, const sparsec_blocks_t &matrix,
                                           const ProductSize &size) const {
  auto dense = [](void *data, sparsec_dtype_t dtype, int64_t rows, int64_t columns, bool transposed) {
    return transposed ? sparsec_dense_2d(data, dtype, columns, rows) : sparsec_dense_2d(data, dtype, rows, columns);
  };
  std::vector<Argument> arguments = {
      matrix, dense(operands.x.data(), operands.dtype, size.depth, size.columns, candidate.denseTransposed),
      dense(operands.y.data(), candidate.resultDtype, size.rows, size.columns, candidate.resultTransposed)};
  if (candidate.hasXScale)
    arguments.insert(arguments.begin() + 2,
                     sparsec_dense_2d(operands.xScale.data(), SPARSEC_DTYPE_F32, size.columns, partsOfK(size)));
  if (candidate.hasScales)
    arguments.insert(arguments.begin() + 1,
                     sparsec_dense_1d(operands.scales.data(), SPARSEC_DTYPE_F32, matrix.capacity));
  return arguments;
}

Plan Bench::makePlan(const Candidate &candidate, const std::vector<Argument> &arguments, uint32_t moreFlags) const {
  const uint32_t flags = options.isPatternStatic ? SPARSEC_PLAN_STATIC_PATTERN : 0;
  return createPlan(candidate.kernel, arguments, nullptr, flags | moreFlags);
}

/// Launches of one stored block row and few columns, so that the device is never the slower side. 0 if that block row
/// is empty.
double Bench::timeHost(const Candidate &candidate, const Matrix &matrix, bool planned) const {
  if (matrix.pattern.rowPtr[1] == 0)
    return 0;
  const int64_t columns = std::min<int64_t>(operands.size.columns, 64);
  ProductSize small = {candidate.blockRows, operands.size.depth, columns};
  if (candidate.matrixTransposed)
    small = {operands.size.rows, candidate.blockColumns, columns};
  sparsec_blocks_t view = matrix.view;
  view.rows = candidate.matrixTransposed ? small.depth : small.rows;
  view.capacity = matrix.pattern.rowPtr[1];
  const auto arguments = makeArguments(candidate, view, small);
  const ArgumentArray array(arguments);
  Plan plan = planned ? makePlan(candidate, arguments) : Plan();
  return hostMicroseconds(stream, [&] {
    check(sparsec_launch(candidate.kernel, plan.get(), array.data(), array.size(), stream.handle()));
  });
}

Measurement Bench::measure(const Candidate &candidate, const Matrix &matrix, const SampledRows &expected,
                           sparsec_plan_t plan, sparsec_packed_t packed) {
  auto launchOptions = sized<sparsec_launch_options_t>();
  launchOptions.stream = stream.handle();
  launchOptions.packed = packed;
  const DeviceBuffer workspace = workspaceOf(plan);
  launchOptions.workspace = workspace.data();
  launchOptions.workspace_bytes = workspace.bytes();
  auto launchAt = [&](size_t offset) {
    sparsec_blocks_t view = matrix.view;
    view.values = static_cast<const char *>(view.values) + offset;
    const auto arguments = makeArguments(candidate, view, operands.size);
    const ArgumentArray array(arguments);
    check(sparsec_launch_with_options(candidate.kernel, plan, array.data(), array.size(), &launchOptions));
  };
  auto launch = [&] { launchAt(0); };
  Measurement result = {};
  poisonResult();
  launch();
  stream.synchronize();
  result.error = findError(operands, expected, candidate.resultDtype, candidate.resultTransposed, resultBytes);
  if (!result.error.empty())
    return result;
  if (options.mode == TimingMode::Steady && hasDense()) {
    auto [own, other] = timeInWindows(stream, launch, [&] { multiplyDense(false); });
    result.timing = own;
    result.denseMilliseconds = other.medianMilliseconds;
  } else {
    result.timing = time(matrix.valueBytes(), launchAt);
  }
  launch();
  stream.synchronize();
  resultBytesAfter.resize(resultBytes.size());
  check(sparsec_memory_download(device, resultBytesAfter.data(), operands.y.data(), resultBytesAfter.size()));
  if (resultBytes != resultBytesAfter)
    result.error = "launches give different bits";
  double flops = 2.0 * static_cast<double>(matrix.view.capacity * matrix.blockRows * matrix.blockColumns) *
                 static_cast<double>(operands.size.columns);
  result.teraflops = rateOf(flops, result.timing);
  result.hostMicroseconds = timeHost(candidate, matrix, plan != nullptr);
  return result;
}

/// The variant that launches with the plan, which may be null, take. A row describes that of its first measurement.
void Bench::describe(const Candidate &candidate, const Matrix &matrix, const Plan &plan, Row &row) const {
  if (!row.schedule.empty())
    return;
  const auto arguments = makeArguments(candidate, matrix.view, operands.size);
  const ArgumentArray array(arguments);
  size_t variantIndex = 0;
  check(sparsec_launch_variant(candidate.kernel, plan.get(), array.data(), array.size(), &variantIndex));
  const sparsec_stage_info_t *stage = sparsec_kernel_stage(candidate.kernel, variantIndex, 0);
  row.schedule = sparsec_kernel_variant(candidate.kernel, variantIndex)->schedule;
  row.registers = stage->registers;
  row.sharedMemory = stage->dynamic_shared_memory + stage->static_shared_memory;
  row.spillBytes = stage->spill_bytes;
  row.planColumns = plan ? planInfo(plan, variantIndex).columns : 0;
}

/// With the values packed, where the plan does that, and the time of packing them.
void Bench::timePacked(const Candidate &candidate, const Matrix &matrix, const SampledRows &expected, Row &row) {
  Plan plan = makePlan(candidate, makeArguments(candidate, matrix.view, operands.size), SPARSEC_PLAN_PACK);
  Packed packed = packValues(plan, matrix.view, stream.handle());
  describe(candidate, matrix, plan, row);
  row.packed = measure(candidate, matrix, expected, plan.get(), packed.get());
  if (packed)
    row.packMilliseconds =
        timer.measure([&] { check(sparsec_packed_refill(packed.get(), &matrix.view, stream.handle())); })
            .medianMilliseconds;
}

/// With a plan that the device fills, and the time of filling it.
void Bench::timeRefilled(const Candidate &candidate, const Matrix &matrix, const SampledRows &expected, Row &row) {
  const auto arguments = makeArguments(candidate, matrix.view, operands.size);
  const ArgumentArray array(arguments);
  Plan plan = createPlan(candidate.kernel, arguments, stream.handle(), SPARSEC_PLAN_REFILL);
  auto refill = [&] { check(sparsec_plan_refill(plan.get(), array.data(), array.size(), stream.handle())); };
  row.refillMilliseconds = timer.measure(refill).medianMilliseconds;
  describe(candidate, matrix, plan, row);
  row.refilled = measure(candidate, matrix, expected, plan.get());
}

/// The blocks, the indices and X, each read once, and Y.
double Bench::bytesOf(const Candidate &candidate, const Matrix &matrix) const {
  const ProductSize &size = operands.size;
  const auto elementBytes = static_cast<int64_t>(sparsec_dtype_bytes(operands.dtype));
  const auto resultBytes = static_cast<int64_t>(sparsec_dtype_bytes(candidate.resultDtype));
  constexpr int64_t indexBytes = 4, scaleBytes = 4;
  const int64_t blocks = matrix.view.capacity;
  int64_t bytes = blocks * (matrix.blockRows * matrix.blockColumns * elementBytes + indexBytes);
  bytes += static_cast<int64_t>(matrix.pattern.rowPtr.size()) * indexBytes;
  bytes += candidate.hasScales ? blocks * scaleBytes : 0;
  bytes += candidate.hasXScale ? size.columns * partsOfK(size) * scaleBytes : 0;
  bytes += size.depth * size.columns * elementBytes + size.rows * size.columns * resultBytes;
  return static_cast<double>(bytes);
}

Row Bench::timeCandidate(const Candidate &candidate, const Matrix &matrix, const SampledRows &expected) {
  Row row = {};
  row.label = candidate.label;
  row.target = candidate.target;
  row.type = candidate.type;
  row.layouts = candidate.layouts;
  row.blockRows = candidate.blockRows;
  row.blockColumns = candidate.blockColumns;
  row.blockCount = matrix.view.capacity;
  row.bytes = bytesOf(candidate, matrix);

  if (options.withPlan) {
    Plan plan = makePlan(candidate, makeArguments(candidate, matrix.view, operands.size));
    describe(candidate, matrix, plan, row);
    row.planMilliseconds = planInfo(plan).milliseconds;
    row.planned = measure(candidate, matrix, expected, plan.get());
  }
  if (options.withOpenPlan) {
    std::vector<Argument> arguments(sparsec_kernel_info(candidate.kernel)->argument_count);
    arguments.front() = matrix.view;
    Plan plan = makePlan(candidate, arguments);
    describe(candidate, matrix, plan, row);
    row.openPlanMilliseconds = planInfo(plan).milliseconds;
    row.openPlanned = measure(candidate, matrix, expected, plan.get());
  }
  if (options.withPacked)
    timePacked(candidate, matrix, expected, row);
  if (options.withRefilled)
    timeRefilled(candidate, matrix, expected, row);
  if (options.withoutPlan && !candidate.matrixTransposed) {
    describe(candidate, matrix, Plan(), row);
    row.unplanned = measure(candidate, matrix, expected, nullptr);
  }
  return row;
}

void Bench::timeCase(const std::vector<const Candidate *> &candidates, const MaskCase &mask, Report &report) {
  const Candidate &first = *candidates.front();
  Matrix matrix(operands, first.blockRows, first.blockColumns, mask, first.matrixTransposed);
  SampledRows expected(operands, matrix, first.denseTransposed);
  std::vector<Row> rows;
  rows.reserve(candidates.size());
  double denseBefore = hasDense() ? timeDense(false).medianMilliseconds : 0;
  for (const Candidate *candidate : candidates)
    rows.push_back(timeCandidate(*candidate, matrix, expected));
  double denseMilliseconds = hasDense() ? (denseBefore + timeDense(false).medianMilliseconds) / 2 : 0;
  double denseFlops = 2.0 * static_cast<double>(operands.size.rows) * static_cast<double>(operands.size.depth) *
                      static_cast<double>(operands.size.columns);
  for (Row &row : rows) {
    row.size = operands.size;
    row.mask = mask.mask->name;
    row.density = mask.density;
    row.boundMilliseconds = report.rates ? report.rates->boundMilliseconds(row.bytes) : 0;
    for (auto *measurement : {&row.planned, &row.openPlanned, &row.packed, &row.refilled, &row.unplanned})
      if (hasDense() && *measurement) {
        double &own = (*measurement)->denseMilliseconds;
        own = own > 0 ? own : denseMilliseconds;
        (*measurement)->denseRatio = (*measurement)->teraflops / (denseFlops / own * 1e-9);
      }
    printRow(row);
    report.rows.push_back(row);
  }
  if (!options.json.empty())
    report.writeJson(options.json); // a run that is ended early leaves what it measured
}

void Bench::startDenseRows(Report &report) const {
  if (!hasDense())
    fmt::print(stderr, "no {}: no ratios ({} FILE names the library)\n", isF8() ? "cublasLt for fp8" : "cuBLAS",
               isF8() ? "--cublaslt" : "--cublas");
  else if (isF8())
    report.dense.push_back({operands.size, "f8E4M3FN", "nk_nm", timeDense(true), {}});
  else
    for (bool transposed : {false, true})
      report.dense.push_back({operands.size, "bf16", transposed ? "nk_nm" : "kn_mn", timeDense(transposed), {}});
}

/// Candidates of other element types are left out.
void Bench::run(const std::vector<Candidate> &candidates, const std::vector<MaskCase> &masks, Report &report) {
  if (options.withBytesBound && !report.rates)
    report.rates = {copyBytesPerSecond(device, stream), emptyMilliseconds()};
  size_t firstDense = report.dense.size();
  startDenseRows(report);

  // Large blocks first; kernels of the same product side by side.
  std::map<std::tuple<std::string, int64_t, int64_t>, std::vector<const Candidate *>> products;
  for (const Candidate &candidate : candidates)
    if (candidate.dtype == operands.dtype)
      products[{candidate.layouts, -candidate.blockRows, -candidate.blockColumns}].push_back(&candidate);
  printRowHeader();
  for (const auto &[key, group] : products)
    for (const MaskCase &mask : masks) {
      std::vector<const Candidate *> wanted;
      for (const Candidate *candidate : group)
        if (isWanted(options, *candidate, mask, operands.size))
          wanted.push_back(candidate);
      if (!wanted.empty() && fits(*group.front(), mask, operands.size))
        timeCase(wanted, mask, report);
    }
  for (size_t i = firstDense; i < report.dense.size(); ++i)
    report.dense[i].after = timeDense(report.dense[i].layouts == "nk_nm");
}

int runBench(const Options &options) {
  if (!CudaDriver::get()) {
    fmt::print("skipped: no GPU\n");
    return 0;
  }
  Device device = openGpu();
  auto info = sparsec::sized<sparsec_device_info_t>();
  check(sparsec_device_info(device.get(), &info));

  std::vector<Candidate> candidates;
  for (const auto *folders : {&options.kernels, &options.scheduleDirs})
    for (const std::string &folder : *folders)
      for (Candidate &candidate : loadCandidates(device.get(), folder))
        candidates.push_back(std::move(candidate));
  Report report;
  report.device = info.name;
  report.size = options.sizes.front();
  report.launches = options.launches;
  report.mode = options.mode;
  const std::vector<MaskCase> masks = maskCases(options.masks, options.densities);
  for (sparsec_dtype_t dtype : {SPARSEC_DTYPE_BF16, SPARSEC_DTYPE_F8E4M3FN})
    for (const ProductSize &size : options.sizes)
      if (hasCase(options, candidates, masks, dtype, size))
        Bench(options, device.get(), dtype, size).run(candidates, masks, report);
  if (!options.scheduleDirs.empty())
    report.printBest();
  report.printSummary();
  report.printSkew();
  if (!options.json.empty())
    report.writeJson(options.json);
  bool failed = std::any_of(report.rows.begin(), report.rows.end(), [](const Row &row) { return row.isWrong(); });
  if (report.rows.empty())
    fmt::print(stderr, "error: no kernel matches\n");
  return failed || report.rows.empty();
}

} // namespace
} // namespace sparsec::bench

int main(int argc, char **argv) {
  try {
    return sparsec::bench::runBench(sparsec::bench::parseCommandLine(argc, argv));
  } catch (const std::exception &error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
