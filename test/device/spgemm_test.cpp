// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SpGEMM kernels: sizes x patterns against double precision, twice for identical bits. What is computed in double here
// shares nothing with the compiler or the runtime.

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

constexpr uint64_t spgemmExtraSeed = 300;

/// M, K and N of the product. Rows of a dense result are as the placement says.
struct PairedShape {
  const char *name;
  int64_t rows, depth, columns;
  Placement placement;
};

/// A block-sparse operand. Its values are NaN beyond the matrix.
using Factor = std::shared_ptr<const Problem>;

/// The arguments of one kernel for one problem, and the check of its result.
class PairedArguments {
public:
  PairedArguments(sparsec_device_t device, sparsec_kernel_t kernel, const KernelRecord &record,
                  const PairedShape &shape, PatternKind kind, size_t guardBytes);

  const std::vector<Argument> &list() const { return arguments; }
  void run(sparsec_plan_t plan);
  const std::vector<char> &resultBytes() const { return result->bytes(); }
  std::string findError() const;

private:
  /// An element of the result: its row and column in memory, and in the product.
  struct Place {
    int64_t row, column, m, n;
  };

  bool isSampled() const { return record.kind == SPARSEC_OPERATION_SAMPLED_SPGEMM; }
  bool isTransposed() const { return record.resultLayout == SPARSEC_LAYOUT_TRANSPOSED; }
  int64_t storedRows() const;
  int64_t storedColumns() const;
  Place placeOf(int64_t row, int64_t column) const;
  void multiply();
  Argument placeMatrix(const BlockPattern &pattern, const std::vector<char> *values, int64_t rows, int64_t columns,
                       int64_t blockRows, int64_t blockColumns);
  Argument placeResult(sparsec_dtype_t dtype);
  Argument placeExtra(const sparsec_operand_info_t &operand, const sparsec_argument_info_t &info);
  double extraElement(int extra, const Place &place) const;
  std::string checkRow(int64_t row) const;

  sparsec_device_t device;
  sparsec_kernel_t kernel;
  const KernelRecord &record;
  const PairedShape shape;
  const size_t guardBytes;
  const Epilogue &epilogue;
  Factor left, right;
  BlockPattern pattern;                   // of the result's blocks
  std::vector<double> product, magnitude; // M x N
  std::vector<Argument> arguments;
  std::vector<size_t> extras; // their arguments
  std::vector<DeviceBuffer> indexBuffers;
  std::vector<std::unique_ptr<PlacedTensor>> tensors;
  PlacedTensor *result = nullptr;
};

int64_t blocksOf(int64_t size, int64_t block) { return (size + block - 1) / block; }

PairedArguments::PairedArguments(sparsec_device_t device, sparsec_kernel_t kernel, const KernelRecord &record,
                                 const PairedShape &shape, PatternKind kind, size_t guardBytes)
    : device(device), kernel(kernel), record(record), shape(shape), guardBytes(guardBytes),
      epilogue(*findEpilogue(record.name)) {
  const int64_t r = record.blockRows, s = record.blockDepth, t = record.blockColumns;
  // The dense operand of these problems is not used: one column.
  left = getProblem(record.dtype, r, s, {shape.name, shape.rows, shape.depth, 1, Placement::Tight}, kind);
  right = getProblem(record.dtype, s, t, {shape.name, shape.depth, shape.columns, 1, Placement::Tight},
                     kind == PatternKind::NoBlocks ? kind : PatternKind::Random);
  pattern = patternOf(kind, blocksOf(shape.rows, r), blocksOf(shape.columns, t));
  multiply();
  arguments.assign(sparsec_kernel_info(kernel)->argument_count, 0.0);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const sparsec_operand_info_t &operand = operandOf(kernel, i);
    switch (operand.slot) {
    case SPARSEC_SPGEMM_LEFT:
      arguments[i] = placeMatrix(left->pattern, &left->values, shape.rows, shape.depth, r, s);
      break;
    case SPARSEC_SPGEMM_RIGHT:
      arguments[i] = placeMatrix(right->pattern, &right->values, shape.depth, shape.columns, s, t);
      break;
    case SPARSEC_SPGEMM_PATTERN:
      arguments[i] = placeMatrix(pattern, nullptr, shape.rows, shape.columns, r, t);
      break;
    case SPARSEC_SPGEMM_RESULT:
      arguments[i] = placeResult(record.resultDtype);
      result = tensors.back().get();
      break;
    default:
      extras.push_back(i);
      arguments[i] = placeExtra(operand, *sparsec_kernel_argument(kernel, i));
    }
  }
}

int64_t PairedArguments::storedRows() const {
  if (isSampled())
    return pattern.blockCount() * record.blockRows;
  return isTransposed() ? shape.columns : shape.rows;
}

int64_t PairedArguments::storedColumns() const {
  if (isSampled())
    return record.blockColumns;
  return isTransposed() ? shape.rows : shape.columns;
}

PairedArguments::Place PairedArguments::placeOf(int64_t row, int64_t column) const {
  if (!isSampled())
    return isTransposed() ? Place{row, column, column, row} : Place{row, column, row, column};
  const int64_t block = row / record.blockRows;
  const int64_t blockRow =
      std::upper_bound(pattern.rowPtr.begin(), pattern.rowPtr.end(), block) - pattern.rowPtr.begin() - 1;
  return {row, column, blockRow * record.blockRows + row % record.blockRows,
          pattern.colIdx[block] * record.blockColumns + column};
}

/// Rows of B times the elements of A, from the definition.
void PairedArguments::multiply() {
  const int64_t r = record.blockRows, s = record.blockDepth, t = record.blockColumns;
  product.assign(shape.rows * shape.columns, 0);
  magnitude.assign(shape.rows * shape.columns, 0);
  auto addRow = [&](int64_t m, int64_t k, double weight) {
    for (int32_t b = right->pattern.rowPtr[k / s]; b < right->pattern.rowPtr[k / s + 1]; ++b) {
      const int64_t first = right->pattern.colIdx[b] * t;
      for (int64_t n = first; n < std::min(first + t, shape.columns); ++n) {
        const double term = weight * loadElement(record.dtype, right->values.data(), (b * s + k % s) * t + n - first);
        product[m * shape.columns + n] += term;
        magnitude[m * shape.columns + n] += std::abs(term);
      }
    }
  };
  parallelFor(shape.rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m)
      for (int32_t a = left->pattern.rowPtr[m / r]; a < left->pattern.rowPtr[m / r + 1]; ++a) {
        const int64_t first = left->pattern.colIdx[a] * s;
        for (int64_t k = first; k < std::min(first + s, shape.depth); ++k)
          addRow(m, k, loadElement(record.dtype, left->values.data(), (a * r + m % r) * s + k - first));
      }
  });
}

Argument PairedArguments::placeMatrix(const BlockPattern &blocks, const std::vector<char> *values, int64_t rows,
                                      int64_t columns, int64_t blockRows, int64_t blockColumns) {
  auto guarded = [&](const std::vector<int32_t> &indices) {
    indexBuffers.push_back(uploadArray(device, withGuard(indices, guardBytes)));
    return static_cast<const int32_t *>(indexBuffers.back().data());
  };
  const void *data = nullptr;
  if (values) {
    const auto count = static_cast<int64_t>(values->size() / sparsec_dtype_bytes(record.dtype));
    const Placement placement = shape.placement == Placement::Misaligned ? Placement::Misaligned : Placement::Tight;
    tensors.push_back(
        std::make_unique<PlacedTensor>(device, record.dtype, std::vector<int64_t>{count}, placement, guardBytes));
    for (int64_t i = 0; i < count; ++i)
      tensors.back()->set(0, i, loadElement(record.dtype, values->data(), i));
    tensors.back()->upload();
    data = tensors.back()->view().data;
  }
  const int32_t *rowPtr = guarded(blocks.rowPtr), *colIdx = guarded(blocks.colIdx);
  return sparsec_blocks_bsr(rows, columns, static_cast<int32_t>(blockRows), static_cast<int32_t>(blockColumns),
                            blocks.blockCount(), rowPtr, colIdx, record.dtype, data);
}

/// A tensor of the result's shape, poisoned.
Argument PairedArguments::placeResult(sparsec_dtype_t dtype) {
  const Placement placement = isSampled() ? Placement::Tight : shape.placement;
  tensors.push_back(std::make_unique<PlacedTensor>(device, dtype, std::vector<int64_t>{storedRows(), storedColumns()},
                                                   placement, guardBytes));
  tensors.back()->poisonAll();
  sparsec_dense_t view = tensors.back()->view();
  if (!isSampled())
    return view;
  const int64_t r = record.blockRows, t = record.blockColumns;
  const int64_t sizes[] = {pattern.blockCount(), r, t}, strides[] = {r * t, t, 1};
  view.rank = 3;
  std::copy_n(sizes, 3, view.sizes);
  std::copy_n(strides, 3, view.strides);
  return view;
}

Argument PairedArguments::placeExtra(const sparsec_operand_info_t &operand, const sparsec_argument_info_t &info) {
  const int extra = static_cast<int>(extras.size()) - 1;
  if (info.kind == SPARSEC_ARGUMENT_SCALAR)
    return extraElement(extra, {});
  const auto dtype = static_cast<sparsec_dtype_t>(info.dtype);
  if (operand.broadcast == SPARSEC_BROADCAST_FULL) {
    Argument argument = placeResult(dtype);
    for (int64_t row = 0; row < storedRows(); ++row)
      for (int64_t column = 0; column < storedColumns(); ++column)
        tensors.back()->set(row, column, extraElement(extra, placeOf(row, column)));
    tensors.back()->upload();
    return argument;
  }
  std::vector<int64_t> sizes;
  if (operand.broadcast != SPARSEC_BROADCAST_SCALAR)
    sizes = {operand.broadcast == SPARSEC_BROADCAST_PER_ROW ? shape.rows : shape.columns};
  tensors.push_back(std::make_unique<PlacedTensor>(device, dtype, sizes, shape.placement, guardBytes));
  for (int64_t i = 0; i < (sizes.empty() ? 1 : sizes[0]); ++i)
    tensors.back()->set(0, i, extraElement(extra, {i, i, i, i}));
  tensors.back()->upload();
  return tensors.back()->view();
}

/// Beyond M and N a vector gives its last element.
double PairedArguments::extraElement(int extra, const Place &place) const {
  const auto dtype = static_cast<sparsec_dtype_t>(sparsec_kernel_argument(kernel, extras[extra])->dtype);
  auto random = [&](int64_t index) { return roundToDtype(dtype, randomNormal(spgemmExtraSeed + extra, index)); };
  switch (operandOf(kernel, extras[extra]).broadcast) {
  case SPARSEC_BROADCAST_PER_ROW:
    return random(std::min(place.m, shape.rows - 1));
  case SPARSEC_BROADCAST_PER_COLUMN:
    return random(std::min(place.n, shape.columns - 1));
  case SPARSEC_BROADCAST_FULL:
    return random(place.row * storedColumns() + place.column);
  default:
    return 0.5 + 0.25 * extra;
  }
}

void PairedArguments::run(sparsec_plan_t plan) {
  result->poisonAll();
  result->upload();
  const ArgumentArray array(arguments);
  check(sparsec_launch(kernel, plan, array.data(), array.size(), nullptr));
  check(sparsec_synchronize(device, nullptr));
  result->download();
}

std::string PairedArguments::checkRow(int64_t row) const {
  double e[maxExtras] = {};
  for (int64_t column = 0; column < storedColumns(); ++column) {
    const Place place = placeOf(row, column);
    const bool isInside = place.m < shape.rows && place.n < shape.columns;
    const int64_t element = place.m * shape.columns + place.n;
    for (int i = 0; i < epilogue.extraCount; ++i)
      e[i] = extraElement(i, place);
    const double exact = epilogue.value(isInside ? product[element] : 0, e);
    const double allowed =
        allowedError(record.resultDtype, exact, epilogue.scale(isInside ? magnitude[element] : 0, e));
    const double got = result->get(row, column);
    // The negation catches NaN.
    if (!(std::abs(got - exact) <= allowed))
      return fmt::format("the element of row {} and column {} is {}, but should be {} within {}", place.m, place.n, got,
                         exact, allowed);
  }
  return {};
}

std::string PairedArguments::findError() const {
  std::string firstError = findRowError(storedRows(), [&](int64_t row) { return checkRow(row); });
  if (firstError.empty() && !result->surroundingsIntact())
    return "bytes beside the result were written";
  return firstError;
}

class SpgemmTest : public KernelTest {
public:
  using KernelTest::KernelTest;

private:
  std::string expectedName() const override;
  void runCases() override;
  std::vector<PairedShape> shapes() const;
  std::vector<PatternKind> patterns() const;
  void runCase(const PairedShape &shape, PatternKind pattern);
};

std::string SpgemmTest::expectedName() const {
  const char *form = record.kind == SPARSEC_OPERATION_SAMPLED_SPGEMM    ? "values"
                     : record.resultLayout == SPARSEC_LAYOUT_TRANSPOSED ? "nm"
                                                                        : "mn";
  return fmt::format("spgemm_{}_{}x{}x{}_{}_{}_", sparsec_dtype_name(record.dtype), record.blockRows, record.blockDepth,
                     record.blockColumns, form, sparsec_dtype_name(record.resultDtype));
}

/// Sizes that blocks divide, and sizes that cut them.
std::vector<PairedShape> SpgemmTest::shapes() const {
  const int64_t r = record.blockRows, s = record.blockDepth, t = record.blockColumns;
  std::vector<PairedShape> shapes = {{"odd, padded", 2 * r + 5, 3 * s + 7, 3 * t + 3, Placement::Padded},
                                     {"odd, misaligned", r + 3, 2 * s + 9, 2 * t + 1, Placement::Misaligned},
                                     {"no depth", r + 1, 0, t + 1, Placement::Padded}};
  if (subset != Subset::All)
    return shapes;
  shapes.push_back({"exact", 3 * r, 8 * s, 4 * t, Placement::Tight});
  shapes.push_back({"wide", r, 2 * s + 1, 19 * t, Placement::Padded});
  shapes.push_back({"deep", 2 * r, 70 * s, 2 * t, Placement::Tight}); // more than 32 blocks in a row of A
  shapes.push_back({"one element", 1, 1, 1, Placement::Padded});
  return shapes;
}

std::vector<PatternKind> SpgemmTest::patterns() const {
  if (subset == Subset::Sanitizer)
    return {PatternKind::Unsorted};
  if (subset == Subset::Quick || subset == Subset::Simulator)
    return {PatternKind::Unsorted, PatternKind::NoBlocks};
  return {PatternKind::Unsorted, PatternKind::EmptyRows, PatternKind::DenseRow, PatternKind::OneBlock,
          PatternKind::NoBlocks};
}

void SpgemmTest::runCase(const PairedShape &shape, PatternKind pattern) {
  SCOPED_TRACE(fmt::format("{} ({} x {} x {}), pattern: {}", shape.name, shape.rows, shape.depth, shape.columns,
                           patternName(pattern)));
  PairedArguments arguments(session.deviceFor(file), kernel, record, shape, pattern, guardBytes());
  Plan plan = createPlan(kernel, arguments.list(), /*stream=*/nullptr, SPARSEC_PLAN_STATIC_PATTERN);
  arguments.run(plan.get());
  ASSERT_EQ(arguments.findError(), "");
  if (subset == Subset::Sanitizer)
    return;
  std::vector<char> first = arguments.resultBytes();
  arguments.run(plan.get());
  ASSERT_TRUE(first == arguments.resultBytes()) << "a second run gives other bits";
  checkRefill(device(), kernel, refilledLaunch(arguments));
}

void SpgemmTest::runCases() {
  for (const PairedShape &shape : shapes())
    for (PatternKind pattern : patterns()) {
      runCase(shape, pattern);
      if (HasFatalFailure())
        return;
    }
}

} // namespace

KernelTest *makeSpgemmTest(const KernelFile &file, const KernelRecord &record) { return new SpgemmTest(file, record); }

} // namespace sparsec::device_test
