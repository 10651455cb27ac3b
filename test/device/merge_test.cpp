// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Merge kernels: sizes x orders of dimensions x placements against double precision, with rows that are empty, far
// apart or no numbers. Each runs without a plan, with one, and in place.

#include "attention_problem.h"
#include "kernel_test.h"
#include "row_check.h"

#include <fmt/format.h>
#include <limits>

namespace sparsec::device_test {

using namespace harness;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct MergeShape {
  const char *name;
  int64_t batches, heads, queries, columns; // columns 0: those of the kernel
  SequenceOrder order;
  Placement placement;

  int64_t rows() const { return batches * heads * queries; }
};

/// The kinds of rows, in turn.
enum RowKind { Ordinary, FirstEmpty, SecondEmpty, BothEmpty, Apart, Large, NotANumber, Infinite, rowKinds };

/// The LSE of both parts of a row.
std::pair<double, double> logarithmsOf(int64_t row) {
  const double first = 3 * randomNormal(1, row), second = 3 * randomNormal(2, row);
  switch (row % rowKinds) {
  case FirstEmpty:
    return {-infinity, second};
  case SecondEmpty:
    return {first, -infinity};
  case BothEmpty:
    return {-infinity, -infinity};
  case Apart:
    return {first + 20, second - 20};
  case Large:
    return {1e30, second - 1e4};
  case NotANumber:
    return row % 2 == 0 ? std::pair(nan, second) : std::pair(first, nan);
  case Infinite:
    return {infinity, second};
  }
  return {first, second};
}

/// The slots of the tensors, and which of them are of elements.
constexpr uint32_t slots[] = {SPARSEC_MERGE_FIRST,      SPARSEC_MERGE_FIRST_LSE, SPARSEC_MERGE_SECOND,
                              SPARSEC_MERGE_SECOND_LSE, SPARSEC_MERGE_RESULT,    SPARSEC_MERGE_LSE};
constexpr bool isLse(uint32_t slot) {
  return slot == SPARSEC_MERGE_FIRST_LSE || slot == SPARSEC_MERGE_SECOND_LSE || slot == SPARSEC_MERGE_LSE;
}

class MergeArguments {
public:
  MergeArguments(sparsec_device_t device, sparsec_kernel_t kernel, const MergeShape &shape, size_t guardBytes);

  /// Writes the results where these parts are.
  void runInPlace(uint32_t resultSlot, uint32_t lseSlot);
  void run(sparsec_plan_t plan);
  const std::vector<Argument> &list() const { return arguments; }
  /// Why the results are wrong; empty if they are right.
  std::string findError();
  /// All elements of O, then those of LSE.
  std::vector<double> results(uint32_t resultSlot = SPARSEC_MERGE_RESULT, uint32_t lseSlot = SPARSEC_MERGE_LSE);
  bool mayReplace(uint32_t slot) { return of(slot).view().dtype == of(SPARSEC_MERGE_RESULT).view().dtype; }
  bool isAligned();

private:
  PlacedTensor &of(uint32_t slot) { return *tensors[slot]; }
  void place(uint32_t slot, size_t guardBytes);
  void fill(uint32_t slot);
  /// Where a row of elements is, of rows that are counted by batch, head and query.
  int64_t memoryRow(int64_t row) const;
  double element(uint32_t slot, int64_t row, int64_t column) { return of(slot).get(memoryRow(row), column); }
  double logarithm(uint32_t slot, int64_t row) { return of(slot).get(row / shape.queries, row % shape.queries); }
  void launch(const std::vector<Argument> &list, sparsec_plan_t plan);
  std::string checkRow(int64_t row);

  sparsec_device_t device;
  sparsec_kernel_t kernel;
  const MergeShape shape;
  std::vector<Argument> arguments;
  std::vector<size_t> numberOf; // of the argument in a slot
  std::vector<std::unique_ptr<PlacedTensor>> tensors;
};

MergeArguments::MergeArguments(sparsec_device_t device, sparsec_kernel_t kernel, const MergeShape &shape,
                               size_t guardBytes)
    : device(device), kernel(kernel), shape(shape), arguments(std::size(slots), 0.0), numberOf(std::size(slots) + 1),
      tensors(std::size(slots) + 1) {
  for (size_t i = 0; i < arguments.size(); ++i)
    numberOf[operandOf(kernel, i).slot] = i;
  for (uint32_t slot : slots) {
    place(slot, guardBytes);
    fill(slot);
  }
}

int64_t MergeArguments::memoryRow(int64_t row) const {
  if (shape.order == SequenceOrder::BatchHeadSequence)
    return row;
  const int64_t batch = row / (shape.heads * shape.queries), head = row / shape.queries % shape.heads;
  return (batch * shape.queries + row % shape.queries) * shape.heads + head;
}

void MergeArguments::place(uint32_t slot, size_t guardBytes) {
  auto dtype = static_cast<sparsec_dtype_t>(sparsec_kernel_argument(kernel, numberOf[slot])->dtype);
  const bool areHeadsFirst = isLse(slot) || shape.order == SequenceOrder::BatchHeadSequence;
  std::vector<int64_t> sizes = {shape.rows(), shape.columns};
  if (isLse(slot))
    sizes = {shape.batches * shape.heads, shape.queries};
  tensors[slot] = std::make_unique<PlacedTensor>(device, dtype, sizes, shape.placement, guardBytes);
  sparsec_dense_t view = of(slot).view();
  const int64_t stride = view.strides[0];
  const int64_t all[] = {shape.batches, shape.heads, shape.queries, shape.columns};
  const int64_t ofRows[] = {shape.heads * shape.queries * stride, areHeadsFirst ? shape.queries * stride : stride,
                            areHeadsFirst ? stride : shape.heads * stride, 1};
  const int64_t ofLse[] = {shape.heads * stride, stride, 1};
  view.rank = isLse(slot) ? 3 : 4;
  std::copy_n(all, view.rank, view.sizes);
  std::copy_n(isLse(slot) ? ofLse : ofRows, view.rank, view.strides);
  arguments[numberOf[slot]] = view;
}

/// Rows of an empty part are no numbers: what they hold does not matter. Some elements are -0.
void MergeArguments::fill(uint32_t slot) {
  const bool isFirst = slot == SPARSEC_MERGE_FIRST || slot == SPARSEC_MERGE_FIRST_LSE;
  if (slot == SPARSEC_MERGE_RESULT || slot == SPARSEC_MERGE_LSE)
    return;
  for (int64_t row = 0; row < shape.rows(); ++row) {
    const auto [first, second] = logarithmsOf(row);
    const double own = isFirst ? first : second;
    if (isLse(slot))
      of(slot).set(row / shape.queries, row % shape.queries, own);
    for (int64_t column = 0; column < shape.columns && !isLse(slot) && own != -infinity; ++column) {
      const int64_t index = row * shape.columns + column;
      of(slot).set(memoryRow(row), column, index % 5 == 0 ? -0.0 : randomNormal(10 + slot, index));
    }
  }
  of(slot).upload();
}

void MergeArguments::launch(const std::vector<Argument> &list, sparsec_plan_t plan) {
  const ArgumentArray array(list);
  check(sparsec_launch(kernel, plan, array.data(), array.size(), nullptr));
  check(sparsec_synchronize(device, nullptr));
}

void MergeArguments::run(sparsec_plan_t plan) {
  for (uint32_t slot : {SPARSEC_MERGE_RESULT, SPARSEC_MERGE_LSE})
    of(slot).poisonAll();
  launch(arguments, plan);
  for (uint32_t slot : {SPARSEC_MERGE_RESULT, SPARSEC_MERGE_LSE})
    of(slot).download();
}

void MergeArguments::runInPlace(uint32_t resultSlot, uint32_t lseSlot) {
  for (uint32_t slot : {resultSlot, lseSlot})
    of(slot).upload();
  std::vector<Argument> list = arguments;
  list[numberOf[SPARSEC_MERGE_RESULT]] = list[numberOf[resultSlot]];
  list[numberOf[SPARSEC_MERGE_LSE]] = list[numberOf[lseSlot]];
  launch(list, nullptr);
  for (uint32_t slot : {resultSlot, lseSlot})
    of(slot).download();
}

std::vector<double> MergeArguments::results(uint32_t resultSlot, uint32_t lseSlot) {
  std::vector<double> all;
  for (int64_t row = 0; row < shape.rows(); ++row)
    for (int64_t column = 0; column < shape.columns; ++column)
      all.push_back(element(resultSlot, row, column));
  for (int64_t row = 0; row < shape.rows(); ++row)
    all.push_back(logarithm(lseSlot, row));
  return all;
}

bool MergeArguments::isAligned() {
  bool isWhole = shape.placement != Placement::Misaligned;
  for (uint32_t slot : slots)
    isWhole &= isLse(slot) || shape.columns * sparsec_dtype_bytes(of(slot).view().dtype) % 16 == 0;
  return isWhole;
}

/// The same number, or NaN both times.
bool isSame(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// By another form than that of the kernel: the part with the larger LSE has 1, and the other one r = exp(-d).
std::string MergeArguments::checkRow(int64_t row) {
  const double first = logarithm(SPARSEC_MERGE_FIRST_LSE, row), second = logarithm(SPARSEC_MERGE_SECOND_LSE, row);
  const bool isExact = first == -infinity || second == -infinity;
  const double distance = std::fabs(first - second), r = std::exp(-distance);
  const double merged = isExact ? std::max(first, second) : std::max(first, second) + std::log1p(r);
  const double lseBound = isExact ? 0 : allowedError(SPARSEC_DTYPE_F32, merged, std::fabs(merged) + 1);
  const bool hasNoNumber = !isExact && !std::isfinite(distance);
  const double lse = logarithm(SPARSEC_MERGE_LSE, row);
  if (hasNoNumber ? !std::isnan(lse) : lse != merged && !(std::fabs(lse - merged) <= lseBound))
    return fmt::format("LSE of row {} is {}, not {}", row, lse, hasNoNumber ? nan : merged);
  const sparsec_dtype_t dtype = of(SPARSEC_MERGE_RESULT).view().dtype;
  for (int64_t column = 0; column < shape.columns; ++column) {
    const double a = element(SPARSEC_MERGE_FIRST, row, column), b = element(SPARSEC_MERGE_SECOND, row, column);
    const double got = element(SPARSEC_MERGE_RESULT, row, column);
    double exact = 0, bound = 0;
    if (isExact && first != second)
      exact = roundToDtype(dtype, first == -infinity ? b : a);
    if (hasNoNumber)
      exact = nan;
    else if (!isExact) {
      const double larger = first > second ? a : b, smaller = first > second ? b : a;
      exact = (larger + r * smaller) / (1 + r);
      bound = allowedError(dtype, exact, (1 + r * distance) * (std::fabs(a) + std::fabs(b)));
    }
    if (bound == 0 ? !isSame(got, exact) : !(std::fabs(got - exact) <= bound))
      return fmt::format("row {}, column {} is {}, not {}", row, column, got, exact);
  }
  return "";
}

std::string MergeArguments::findError() {
  std::string error = findRowError(shape.rows(), [&](int64_t row) { return checkRow(row); });
  for (uint32_t slot : {SPARSEC_MERGE_RESULT, SPARSEC_MERGE_LSE})
    if (error.empty() && !of(slot).surroundingsIntact())
      return "bytes beside a result were written";
  return error;
}

class MergeTest : public KernelTest {
public:
  using KernelTest::KernelTest;

private:
  std::string expectedName() const override;
  void runCases() override;
  std::vector<MergeShape> shapes() const;
  void runShape(const MergeShape &shape);
  void runInPlace(const MergeShape &shape, MergeArguments &arguments, const std::vector<double> &expected);
};

std::string MergeTest::expectedName() const {
  return fmt::format("merge_{}_{}_{}_{}", sparsec_dtype_name(record.dtype), sparsec_dtype_name(record.secondDtype),
                     sparsec_dtype_name(record.resultDtype),
                     record.headDimension < 0 ? "any" : std::to_string(record.headDimension));
}

/// Fewer and more rows than a tile has, and more tiles than workers; heads between queries and queries between heads.
std::vector<MergeShape> MergeTest::shapes() const {
  constexpr SequenceOrder headFirst = SequenceOrder::BatchHeadSequence, queryFirst = SequenceOrder::BatchSequenceHead;
  std::vector<MergeShape> shapes = {{"odd", 2, 3, 29, 0, headFirst, Placement::Padded},
                                    {"odd, heads inside", 2, 3, 37, 0, queryFirst, Placement::Tight},
                                    {"misaligned", 1, 5, 23, 0, queryFirst, Placement::Misaligned}};
  if (subset == Subset::All) {
    shapes.push_back({"decode", 33, 40, 1, 0, headFirst, Placement::Tight});
    shapes.push_back({"many rows", 2, 7, 2501, 0, headFirst, Placement::Tight});
    shapes.push_back({"many rows, heads inside", 1, 32, 1101, 0, queryFirst, Placement::Padded});
  }
  if (subset == Subset::Sanitizer)
    shapes.resize(2);
  std::vector<MergeShape> all;
  for (MergeShape shape : shapes)
    for (int64_t columns : {int64_t(7), int64_t(48), int64_t(200)}) {
      shape.columns = record.headDimension < 0 ? columns : record.headDimension;
      if (record.headDimension < 0 || columns == 7)
        all.push_back(shape);
    }
  return all;
}

/// Every element is computed by itself, so that not one bit depends on where it is.
void MergeTest::runInPlace(const MergeShape &shape, MergeArguments &arguments, const std::vector<double> &expected) {
  const std::pair<uint32_t, uint32_t> parts[] = {{SPARSEC_MERGE_FIRST, SPARSEC_MERGE_FIRST_LSE},
                                                 {SPARSEC_MERGE_SECOND, SPARSEC_MERGE_SECOND_LSE}};
  for (auto [elements, logarithms] : parts) {
    if (!arguments.mayReplace(elements))
      continue;
    SCOPED_TRACE(fmt::format("in place of slot {}", elements));
    MergeArguments replaced(device(), kernel, shape, guardBytes());
    replaced.runInPlace(elements, logarithms);
    const std::vector<double> got = replaced.results(elements, logarithms);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(isSame(got[i], expected[i])) << "element " << i << " is " << got[i] << ", not " << expected[i];
  }
}

void MergeTest::runShape(const MergeShape &shape) {
  SCOPED_TRACE(
      fmt::format("{} (B {}, H {}, {} x {})", shape.name, shape.batches, shape.heads, shape.queries, shape.columns));
  MergeArguments arguments(device(), kernel, shape, guardBytes());
  const size_t last = sparsec_kernel_info(kernel)->variant_count - 1;
  const ArgumentArray array(arguments.list());
  size_t variant = 0;
  check(sparsec_launch_variant(kernel, nullptr, array.data(), array.size(), &variant));
  ASSERT_EQ(variant, arguments.isAligned() ? 0 : last);
  std::vector<double> expected;
  for (bool hasPlan : {false, true}) {
    SCOPED_TRACE(hasPlan ? "with a plan" : "without a plan");
    Plan plan = hasPlan ? createPlan(kernel, arguments.list()) : Plan();
    arguments.run(plan.get());
    ASSERT_EQ(arguments.findError(), "");
    if (expected.empty())
      expected = arguments.results();
    const std::vector<double> got = arguments.results();
    ASSERT_TRUE(std::equal(got.begin(), got.end(), expected.begin(), isSame)) << "a plan gives other bits";
  }
  runInPlace(shape, arguments, expected);
}

void MergeTest::runCases() {
  for (const MergeShape &shape : shapes()) {
    runShape(shape);
    if (HasFatalFailure())
      return;
  }
}

} // namespace

KernelTest *makeMergeTest(const KernelFile &file, const KernelRecord &record) { return new MergeTest(file, record); }

} // namespace sparsec::device_test
