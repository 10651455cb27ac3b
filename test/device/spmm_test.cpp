// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SpMM kernels: all sizes x patterns x {plan of a static pattern, plan, no plan} against double precision, twice for
// identical bits. With a plan for every width they are the same bits, too. Kernels of transposed matrices need plans of
// static patterns.

#include "arguments.h"
#include "kernel_test.h"
#include "quantize_check.h"
#include "refill_check.h"

#include "operations/kernel_shape.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace sparsec::device_test {

using namespace harness;

namespace {

class SpmmTest : public KernelTest {
public:
  using KernelTest::KernelTest;

private:
  std::string expectedName() const override;
  void runCases() override;
  std::vector<PatternKind> patterns() const;
  void runCase(const Shape &shape, PatternKind pattern);
  void runStatic(KernelArguments &arguments);
  void runRefilled(KernelArguments &arguments);
  void runPacked(KernelArguments &arguments);
  void runQuantize(const Shape &shape, PatternKind pattern);
  void runWithSums(const Shape &shape, PatternKind pattern, size_t variant);
  void runCut();
  void runParts();
  void runManyTiles();
};

const char *layoutText(bool transposed, const char *plain, const char *swapped) { return transposed ? swapped : plain; }

std::string SpmmTest::expectedName() const {
  return fmt::format(
      "spmm_{}_{}x{}{}_{}_{}_{}_", sparsec_dtype_name(record.dtype), record.blockRows, record.blockColumns,
      record.isTransposed ? "t" : "", layoutText(record.denseLayout == SPARSEC_LAYOUT_TRANSPOSED, "kn", "nk"),
      layoutText(record.resultLayout == SPARSEC_LAYOUT_TRANSPOSED, "mn", "nm"), sparsec_dtype_name(record.resultDtype));
}

bool hasPackedVariant(sparsec_kernel_t kernel) {
  bool isThere = false;
  for (size_t variant = 0; variant < sparsec_kernel_info(kernel)->variant_count; ++variant)
    isThere |= sparsec_kernel_variant(kernel, variant)->packed_block_rows != 0;
  return isThere;
}

std::vector<PatternKind> SpmmTest::patterns() const {
  if (subset == Subset::Sanitizer)
    return {PatternKind::Unsorted};
  if (subset == Subset::Quick)
    return {PatternKind::Unsorted, PatternKind::EmptyRows, PatternKind::Clustered, PatternKind::Band,
            PatternKind::NoBlocks};
  if (subset == Subset::Simulator && hasPackedVariant(kernel))
    return {PatternKind::Unsorted, PatternKind::EmptyRows, PatternKind::Clustered};
  if (subset == Subset::Simulator)
    return {PatternKind::Unsorted, PatternKind::EmptyRows};
  std::vector<PatternKind> all = {PatternKind::Random,    PatternKind::EmptyRows, PatternKind::DenseRow,
                                  PatternKind::Diagonal,  PatternKind::OneBlock,  PatternKind::Unsorted,
                                  PatternKind::Clustered, PatternKind::Band,      PatternKind::NoBlocks};
  if (hasPatternFile())
    all.push_back(PatternKind::File);
  return all;
}

void SpmmTest::runCase(const Shape &shape, PatternKind pattern) {
  SCOPED_TRACE(fmt::format("{} ({} x {} x {}), pattern: {}", shape.name, shape.rows, shape.depth, shape.columns,
                           patternName(pattern)));
  auto problem = getProblem(record.dtype, record.blockRows, record.blockColumns, shape, pattern, scaleKindsOf(kernel));
  KernelArguments arguments(session.deviceFor(file), kernel, *problem, shape.placement, guardBytes());
  if (record.isTransposed) {
    runStatic(arguments);
    runRefilled(arguments);
    return runPacked(arguments);
  }
  const ArgumentArray array(arguments.list());
  size_t variant = 0;
  check(sparsec_launch_variant(kernel, nullptr, array.data(), array.size(), &variant));
  ASSERT_EQ(variant, arguments.expectedVariant());
  Plan plan = createPlan(kernel, arguments.list()), openPlan = createPlan(kernel, arguments.matrixOnly());
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
  const std::vector<char> unplanned = arguments.resultBytes();
  runStatic(arguments);
  if (HasFatalFailure())
    return;
  arguments.run(openPlan.get());
  ASSERT_TRUE(unplanned == arguments.resultBytes()) << "a plan for every width gives other bits";
  runRefilled(arguments);
  runPacked(arguments);
}

/// Whether some variant has windows in the plan.
bool hasWindows(sparsec_kernel_t kernel, const Plan &plan) {
  bool isThere = false;
  for (size_t variant = 0; variant < sparsec_kernel_info(kernel)->variant_count; ++variant)
    isThere |= planInfo(plan, variant).windows > 0;
  return isThere;
}

/// Plans that may hold the pattern in another order. A variant that needs them may add in another order.
void SpmmTest::runStatic(KernelArguments &arguments) {
  SCOPED_TRACE("with a plan of a static pattern");
  for (uint32_t effort : {uint32_t(SPARSEC_PLAN_FAST), 0u}) {
    const uint32_t flags = SPARSEC_PLAN_STATIC_PATTERN | effort;
    Plan plan = createPlan(kernel, arguments.list(), /*stream=*/nullptr, flags);
    Plan openPlan = createPlan(kernel, arguments.matrixOnly(), /*stream=*/nullptr, flags);
    const ArgumentArray array(arguments.list());
    size_t variant = 0;
    check(sparsec_launch_variant(kernel, plan.get(), array.data(), array.size(), &variant));
    ASSERT_EQ(variant, arguments.expectedVariant(hasWindows(kernel, plan)));
    arguments.run(plan.get());
    ASSERT_EQ(arguments.findError(), "");
    if (subset == Subset::Sanitizer)
      return;
    const std::vector<char> first = arguments.resultBytes();
    arguments.run(plan.get());
    ASSERT_TRUE(first == arguments.resultBytes()) << "a second run gives other bits";
    arguments.run(openPlan.get());
    ASSERT_TRUE(first == arguments.resultBytes()) << "a plan for every width gives other bits";
  }
}

void SpmmTest::runRefilled(KernelArguments &arguments) {
  if (HasFatalFailure())
    return;
  RefilledLaunch launch = refilledLaunch(arguments);
  launch.poison = [&] { arguments.poisonResult(); };
  launch.enqueue = [&](sparsec_plan_t plan, void *stream) { arguments.launch(plan, stream); };
  launch.download = [&] { arguments.downloadResult(); };
  checkRefill(device(), kernel, launch);
}

/// Packed values, where the plan has them. A variant that reads them may add in another order.
void SpmmTest::runPacked(KernelArguments &arguments) {
  SCOPED_TRACE("with packed values");
  constexpr uint32_t flags = SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_PACK;
  if (HasFatalFailure() || uintptr_t(arguments.matrix().values) % 16 != 0)
    return;
  Plan plan = createPlan(kernel, arguments.list(), /*stream=*/nullptr, flags);
  Plan openPlan = createPlan(kernel, arguments.matrixOnly(), /*stream=*/nullptr, flags);
  Packed packed = packValues(plan, arguments.matrix());
  if (!packed)
    return;
  arguments.run(plan.get(), packed.get());
  ASSERT_EQ(arguments.findError(), "");
  const std::vector<char> first = arguments.resultBytes();
  check(sparsec_packed_refill(packed.get(), &arguments.matrix(), /*stream=*/nullptr));
  arguments.run(plan.get(), packed.get());
  ASSERT_TRUE(first == arguments.resultBytes()) << "values that are packed again give other bits";
  arguments.run(openPlan.get(), packed.get());
  ASSERT_TRUE(first == arguments.resultBytes()) << "a plan for every width gives other bits";
  arguments.run(plan.get());
  ASSERT_EQ(arguments.findError(), "") << "without the packed values";
}

/// The operands of a product of fp8, once for each shape.
void SpmmTest::runQuantize(const Shape &shape, PatternKind pattern) {
  if (HasFatalFailure() || !runtime::isF8(record.dtype) || record.isTransposed || pattern != PatternKind::Unsorted)
    return;
  SCOPED_TRACE(fmt::format("{} ({} x {} x {})", shape.name, shape.rows, shape.depth, shape.columns));
  const BlockPattern blocks = patternOf(pattern, roundUp(shape.rows, record.blockRows) / record.blockRows,
                                        roundUp(shape.depth, record.blockColumns) / record.blockColumns);
  checkQuantize({device(), kernel, shape, blocks, guardBytes()});
}

/// Tiles whose sums go through memory to other CTAs: with one workspace for several launches, and whole tiles without
/// one. The launches with it take `variant`.
void SpmmTest::runWithSums(const Shape &shape, PatternKind pattern, size_t variant) {
  SCOPED_TRACE(fmt::format("{} ({} x {} x {})", shape.name, shape.rows, shape.depth, shape.columns));
  auto problem = getProblem(record.dtype, record.blockRows, record.blockColumns, shape, pattern);
  KernelArguments arguments(session.deviceFor(file), kernel, *problem, shape.placement, guardBytes());
  Plan plan = createPlan(kernel, arguments.list(), /*stream=*/nullptr, SPARSEC_PLAN_STATIC_PATTERN);
  const ArgumentArray array(arguments.list());
  size_t chosen = 0;
  check(sparsec_launch_variant(kernel, plan.get(), array.data(), array.size(), &chosen));
  ASSERT_EQ(chosen, variant) << planInfo(plan, variant).reason;
  arguments.run(plan.get());
  ASSERT_EQ(arguments.findError(), "") << "with whole tiles";
  const DeviceBuffer workspace = poisonedWorkspace(plan);
  ASSERT_GT(workspace.bytes(), size_t(runtime::keptWorkspaceBytes));
  arguments.bringWorkspace(&workspace);
  arguments.run(plan.get());
  ASSERT_EQ(arguments.findError(), "");
  const std::vector<char> first = arguments.resultBytes();
  for (int launch = 0; launch < 3; ++launch)
    arguments.launch(plan.get(), /*stream=*/nullptr);
  arguments.run(plan.get());
  ASSERT_TRUE(first == arguments.resultBytes()) << "a later run gives other bits";
  ASSERT_TRUE(areFlagsZero(workspace)) << "a flag is left";
}

/// Tiles that are cut along K.
void SpmmTest::runCut() {
  const std::optional<size_t> variant = cutVariant();
  if (HasFatalFailure() || !variant)
    return;
  const sparsec_stage_info_t &stage = *sparsec_kernel_stage(kernel, *variant, 0);
  const int64_t workers = multiprocessors() / int64_t(stage.cluster);
  if (workers >= 2)
    runWithSums(cutTilesShape(record.blockRows, record.blockColumns, int64_t(stage.tile_n) * stage.cluster, workers),
                PatternKind::Full, *variant);
}

/// Tiles whose K is split into parts, of which a multiprocessor has one at a time.
void SpmmTest::runParts() {
  const std::optional<size_t> variant = splitVariant();
  if (HasFatalFailure() || !variant)
    return;
  const sparsec_stage_info_t &stage = *sparsec_kernel_stage(kernel, *variant, 0);
  constexpr int64_t tiles = 2 * 3, parts = 4;
  if (multiprocessors() / int64_t(stage.cluster) < tiles * parts)
    return;
  for (PatternKind pattern : {PatternKind::Random, PatternKind::Unsorted, PatternKind::EmptyRows})
    runWithSums(partsShape(stage.tile_m), pattern, *variant);
}

/// Lists of many tiles for many workers, with several panels at once. A simulator makes them as fast as short ones.
void SpmmTest::runManyTiles() {
  const Shape shape = manyTilesShape(record.blockRows, record.blockColumns);
  if (subset == Subset::All)
    return runCase(shape, PatternKind::Random);
  if (HasFatalFailure() || subset != Subset::Simulator || multiprocessors() < 64)
    return;
  auto problem =
      getProblem(record.dtype, record.blockRows, record.blockColumns, shape, PatternKind::Random, scaleKindsOf(kernel));
  KernelArguments arguments(session.deviceFor(file), kernel, *problem, shape.placement, guardBytes());
  checkRefilledSections(device(), kernel, refilledLaunch(arguments));
}

void SpmmTest::runCases() {
  for (const Shape &shape : subset == Subset::Simulator
                                ? shapesOfUnits(record.blockRows, record.blockColumns)
                                : shapesFor(record.blockRows, record.blockColumns, subset != Subset::All))
    for (PatternKind pattern : patterns()) {
      runCase(shape, pattern);
      runQuantize(shape, pattern);
      if (HasFatalFailure())
        return;
    }
  // One size is enough for rotated rows, which are in some kernels only.
  if (subset == Subset::Simulator)
    runCase(shapesOfUnits(record.blockRows, record.blockColumns).front(), PatternKind::Band);
  // In the order of columns, and from one tile of scales to any other.
  for (PatternKind pattern : {PatternKind::Random, PatternKind::Unsorted})
    if (scaleKindsOf(kernel).ofX)
      runCase(deepShape(record.blockRows, record.blockColumns), pattern);
  runCut();
  runParts();
  runManyTiles();
}

} // namespace

KernelTest *makeSpmmTest(const KernelFile &file, const KernelRecord &record) { return new SpmmTest(file, record); }

} // namespace sparsec::device_test
