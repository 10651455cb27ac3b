// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SDDMM kernels: sizes x patterns x {plan, no plan} against double precision, twice for identical bits. What is
// computed in double here shares nothing with the compiler or the runtime.

#include "epilogues.h"
#include "harness/numeric.h"
#include "harness/parallel.h"
#include "kernel_test.h"
#include "problem.h"
#include "refill_check.h"
#include "row_check.h"

#include <fmt/format.h>

namespace sparsec::device_test {

using namespace harness;

namespace {

enum : uint64_t { leftSeed = 11, rightSeed = 12, sddmmExtraSeed = 200 };

/// M, N and K of the product; rows of A and B lie as the placement says.
struct SampledShape {
  const char *name;
  int64_t rows, columns, depth;
  Placement placement;
};

/// The arguments of one kernel for one problem, and the check of its result.
class SampledArguments {
public:
  SampledArguments(sparsec_device_t device, sparsec_kernel_t kernel, const KernelRecord &record,
                   const SampledShape &shape, PatternKind kind, size_t guardBytes);

  const std::vector<Argument> &list() const { return arguments; }
  void run(sparsec_plan_t plan);
  const std::vector<char> &resultBytes() const { return result->bytes(); }
  std::string findError() const;

private:
  void placePattern(size_t argument, size_t guardBytes);
  void placeFactor(size_t argument, bool isTransposed, const std::vector<float> &factor, size_t guardBytes);
  void placeExtra(size_t argument, const sparsec_operand_info_t &operand, size_t guardBytes);
  Argument placeValues(sparsec_dtype_t dtype, size_t guardBytes);
  std::vector<float> makeFactor(int64_t rows, uint64_t seed) const;
  double extraElement(int extra, int64_t valueRow, int64_t column) const;
  std::string checkRow(int64_t valueRow) const;

  int64_t blockRowOf(int64_t block) const {
    return std::upper_bound(pattern.rowPtr.begin(), pattern.rowPtr.end(), block) - pattern.rowPtr.begin() - 1;
  }

  sparsec_device_t device;
  sparsec_kernel_t kernel;
  const KernelRecord &record;
  const SampledShape shape;
  const Epilogue &epilogue;
  BlockPattern pattern;
  std::vector<float> left, right; // M x K and N x K, elements of the type of A and B
  std::vector<Argument> arguments;
  std::vector<size_t> extras; // their arguments
  std::vector<DeviceBuffer> indexBuffers;
  std::vector<std::unique_ptr<PlacedTensor>> tensors;
  PlacedTensor *result = nullptr;
};

SampledArguments::SampledArguments(sparsec_device_t device, sparsec_kernel_t kernel, const KernelRecord &record,
                                   const SampledShape &shape, PatternKind kind, size_t guardBytes)
    : device(device), kernel(kernel), record(record), shape(shape), epilogue(*findEpilogue(record.name)),
      pattern(patternOf(kind, (shape.rows + record.blockRows - 1) / record.blockRows,
                        (shape.columns + record.blockColumns - 1) / record.blockColumns)),
      left(makeFactor(shape.rows, leftSeed)), right(makeFactor(shape.columns, rightSeed)) {
  arguments.assign(sparsec_kernel_info(kernel)->argument_count, 0.0);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const sparsec_operand_info_t &operand = operandOf(kernel, i);
    bool isTransposed = operand.layout == SPARSEC_LAYOUT_TRANSPOSED;
    switch (operand.slot) {
    case SPARSEC_SDDMM_PATTERN:
      placePattern(i, guardBytes);
      break;
    case SPARSEC_SDDMM_LEFT: // (M, K), transposed (K, M)
      placeFactor(i, isTransposed, left, guardBytes);
      break;
    case SPARSEC_SDDMM_RIGHT: // (K, N), transposed (N, K)
      placeFactor(i, !isTransposed, right, guardBytes);
      break;
    case SPARSEC_SDDMM_RESULT:
      arguments[i] = placeValues(record.resultDtype, guardBytes);
      result = tensors.back().get();
      break;
    default:
      extras.push_back(i);
      placeExtra(i, operand, guardBytes);
    }
  }
}

/// The values of the pattern are absent.
void SampledArguments::placePattern(size_t argument, size_t guardBytes) {
  auto guarded = [&](const std::vector<int32_t> &indices) {
    indexBuffers.push_back(uploadArray(device, withGuard(indices, guardBytes)));
    return static_cast<const int32_t *>(indexBuffers.back().data());
  };
  const int32_t *rowPtr = guarded(pattern.rowPtr), *colIdx = guarded(pattern.colIdx);
  arguments[argument] = sparsec_blocks_bsr(shape.rows, shape.columns, static_cast<int32_t>(record.blockRows),
                                           static_cast<int32_t>(record.blockColumns), pattern.blockCount(), rowPtr,
                                           colIdx, record.dtype, nullptr);
}

std::vector<float> SampledArguments::makeFactor(int64_t rows, uint64_t seed) const {
  std::vector<float> factor(rows * shape.depth);
  parallelFor(rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * shape.depth; i < end * shape.depth; ++i)
      factor[i] = static_cast<float>(roundToDtype(record.dtype, randomNormal(seed, i)));
  });
  return factor;
}

/// `factor` is outer x K; the argument has these dimensions in either order.
void SampledArguments::placeFactor(size_t argument, bool isTransposed, const std::vector<float> &factor,
                                   size_t guardBytes) {
  const int64_t depth = shape.depth, outer = &factor == &left ? shape.rows : shape.columns;
  std::vector<int64_t> sizes = {outer, depth};
  if (isTransposed)
    std::swap(sizes[0], sizes[1]);
  tensors.push_back(std::make_unique<PlacedTensor>(device, record.dtype, sizes, shape.placement, guardBytes));
  PlacedTensor &tensor = *tensors.back();
  parallelFor(sizes[0], 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < sizes[1]; ++j)
        tensor.set(i, j, factor[isTransposed ? j * depth + i : i * depth + j]);
  });
  tensor.upload();
  arguments[argument] = tensor.view();
}

/// An array of values, poisoned: a matrix of the rows of all blocks, as a tensor of rank 3.
Argument SampledArguments::placeValues(sparsec_dtype_t dtype, size_t guardBytes) {
  const int64_t r = record.blockRows, c = record.blockColumns;
  tensors.push_back(std::make_unique<PlacedTensor>(device, dtype, std::vector<int64_t>{pattern.blockCount() * r, c},
                                                   Placement::Tight, guardBytes));
  tensors.back()->poisonAll();
  sparsec_dense_t values = tensors.back()->view();
  values.rank = 3;
  const int64_t sizes[] = {pattern.blockCount(), r, c}, strides[] = {r * c, c, 1};
  std::copy_n(sizes, 3, values.sizes);
  std::copy_n(strides, 3, values.strides);
  return values;
}

void SampledArguments::placeExtra(size_t argument, const sparsec_operand_info_t &operand, size_t guardBytes) {
  const sparsec_argument_info_t *info = sparsec_kernel_argument(kernel, argument);
  const int extra = static_cast<int>(extras.size()) - 1;
  if (info->kind == SPARSEC_ARGUMENT_SCALAR) {
    arguments[argument] = extraElement(extra, 0, 0);
    return;
  }
  auto dtype = static_cast<sparsec_dtype_t>(info->dtype);
  if (operand.broadcast == SPARSEC_BROADCAST_FULL) {
    arguments[argument] = placeValues(dtype, guardBytes);
    PlacedTensor &values = *tensors.back();
    for (int64_t row = 0; row < pattern.blockCount() * record.blockRows; ++row)
      for (int64_t column = 0; column < record.blockColumns; ++column)
        values.set(row, column, extraElement(extra, row, column));
    values.upload();
    return;
  }
  std::vector<int64_t> sizes;
  if (operand.broadcast != SPARSEC_BROADCAST_SCALAR)
    sizes = {operand.broadcast == SPARSEC_BROADCAST_PER_ROW ? shape.rows : shape.columns};
  tensors.push_back(std::make_unique<PlacedTensor>(device, dtype, sizes, shape.placement, guardBytes));
  PlacedTensor &tensor = *tensors.back();
  for (int64_t i = 0; i < (sizes.empty() ? 1 : sizes[0]); ++i)
    tensor.set(
        0, i, sizes.empty() ? extraElement(extra, 0, 0) : roundToDtype(dtype, randomNormal(sddmmExtraSeed + extra, i)));
  tensor.upload();
  arguments[argument] = tensor.view();
}

/// The value for the element in this row of all blocks and this column of its block. Beyond M and N a vector gives its
/// last one.
double SampledArguments::extraElement(int extra, int64_t valueRow, int64_t column) const {
  auto dtype = static_cast<sparsec_dtype_t>(sparsec_kernel_argument(kernel, extras[extra])->dtype);
  const int64_t block = valueRow / record.blockRows;
  switch (operandOf(kernel, extras[extra]).broadcast) {
  case SPARSEC_BROADCAST_PER_ROW: {
    int64_t m = blockRowOf(block) * record.blockRows + valueRow % record.blockRows;
    return roundToDtype(dtype, randomNormal(sddmmExtraSeed + extra, std::min(m, shape.rows - 1)));
  }
  case SPARSEC_BROADCAST_PER_COLUMN: {
    int64_t n = pattern.colIdx[block] * record.blockColumns + column;
    return roundToDtype(dtype, randomNormal(sddmmExtraSeed + extra, std::min(n, shape.columns - 1)));
  }
  case SPARSEC_BROADCAST_FULL:
    return roundToDtype(dtype, randomNormal(sddmmExtraSeed + extra, valueRow * record.blockColumns + column));
  default:
    return 0.5 + 0.25 * extra;
  }
}

void SampledArguments::run(sparsec_plan_t plan) {
  result->poisonAll();
  const ArgumentArray array(arguments);
  check(sparsec_launch(kernel, plan, array.data(), array.size(), nullptr));
  check(sparsec_synchronize(device, nullptr));
  result->download();
}

std::string SampledArguments::checkRow(int64_t valueRow) const {
  const int64_t block = valueRow / record.blockRows;
  const int64_t m = blockRowOf(block) * record.blockRows + valueRow % record.blockRows;
  double e[maxExtras] = {};
  for (int64_t column = 0; column < record.blockColumns; ++column) {
    const int64_t n = pattern.colIdx[block] * record.blockColumns + column;
    double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < shape.depth && m < shape.rows && n < shape.columns; ++k) {
      double term = double(left[m * shape.depth + k]) * right[n * shape.depth + k];
      sum += term;
      magnitude += std::abs(term);
    }
    for (int i = 0; i < epilogue.extraCount; ++i)
      e[i] = extraElement(i, valueRow, column);
    double exact = epilogue.value(sum, e);
    double allowed = allowedError(record.resultDtype, exact, epilogue.scale(magnitude, e));
    double got = result->get(valueRow, column);
    // The negation catches NaN.
    if (!(std::abs(got - exact) <= allowed))
      return fmt::format("s[{}, {}, {}] is {}, but should be {} within {}", block, valueRow % record.blockRows, column,
                         got, exact, allowed);
  }
  return {};
}

std::string SampledArguments::findError() const {
  std::string firstError =
      findRowError(pattern.blockCount() * record.blockRows, [&](int64_t row) { return checkRow(row); });
  if (firstError.empty() && !result->surroundingsIntact())
    return "bytes beside the result were written";
  return firstError;
}

class SddmmTest : public KernelTest {
public:
  using KernelTest::KernelTest;

private:
  std::string expectedName() const override;
  void runCases() override;
  std::vector<SampledShape> shapes() const;
  std::vector<PatternKind> patterns() const;
  void runCase(const SampledShape &shape, PatternKind pattern);
};

std::string SddmmTest::expectedName() const {
  return fmt::format("sddmm_{}_{}x{}_{}_{}_{}_", sparsec_dtype_name(record.dtype), record.blockRows,
                     record.blockColumns, record.leftLayout == SPARSEC_LAYOUT_TRANSPOSED ? "km" : "mk",
                     record.denseLayout == SPARSEC_LAYOUT_TRANSPOSED ? "nk" : "kn",
                     sparsec_dtype_name(record.resultDtype));
}

/// Sizes that blocks, steps of K and tiles of several blocks divide, and sizes that cut them.
std::vector<SampledShape> SddmmTest::shapes() const {
  const int64_t r = record.blockRows, c = record.blockColumns;
  const int64_t oddRows = 2 * r + 5, oddColumns = 2 * c + 3;
  std::vector<SampledShape> shapes = {{"odd, padded", oddRows, oddColumns, 101, Placement::Padded},
                                      {"odd, misaligned", oddRows, oddColumns, 37, Placement::Misaligned},
                                      {"no depth", oddRows, oddColumns, 0, Placement::Padded}};
  if (subset == Subset::Simulator)
    shapes.push_back({"exact", 3 * r, 4 * c, 256, Placement::Tight});
  if (subset != Subset::All)
    return shapes;
  shapes.push_back({"exact", 3 * r, 12 * c, 256, Placement::Tight});
  shapes.push_back({"wide", 2 * r, 23 * c - 7, 65, Placement::Padded});
  shapes.push_back({"one element", 1, 1, 1, Placement::Padded});
  return shapes;
}

std::vector<PatternKind> SddmmTest::patterns() const {
  if (subset == Subset::Sanitizer)
    return {PatternKind::Unsorted};
  if (subset == Subset::Quick || subset == Subset::Simulator)
    return {PatternKind::Unsorted, PatternKind::NoBlocks};
  return {PatternKind::Unsorted, PatternKind::EmptyRows, PatternKind::DenseRow, PatternKind::OneBlock,
          PatternKind::NoBlocks};
}

void SddmmTest::runCase(const SampledShape &shape, PatternKind pattern) {
  SCOPED_TRACE(fmt::format("{} ({} x {}, depth {}), pattern: {}", shape.name, shape.rows, shape.columns, shape.depth,
                           patternName(pattern)));
  SampledArguments arguments(session.deviceFor(file), kernel, record, shape, pattern, guardBytes());
  Plan plan = createPlan(kernel, arguments.list());
  for (bool planned : {true, false}) {
    SCOPED_TRACE(planned ? "with a plan" : "without a plan");
    arguments.run(planned ? plan.get() : nullptr);
    ASSERT_EQ(arguments.findError(), "");
    if (subset == Subset::Sanitizer)
      continue;
    std::vector<char> first = arguments.resultBytes();
    arguments.run(planned ? plan.get() : nullptr);
    ASSERT_TRUE(first == arguments.resultBytes()) << "a second run gives other bits";
  }
  if (subset != Subset::Sanitizer)
    checkRefill(device(), kernel, refilledLaunch(arguments));
}

void SddmmTest::runCases() {
  for (const SampledShape &shape : shapes())
    for (PatternKind pattern : patterns()) {
      runCase(shape, pattern);
      if (HasFatalFailure())
        return;
    }
}

} // namespace

KernelTest *makeSddmmTest(const KernelFile &file, const KernelRecord &record) { return new SddmmTest(file, record); }

} // namespace sparsec::device_test
