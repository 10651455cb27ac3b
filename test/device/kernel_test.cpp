// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One test for every kernel: all sizes x patterns x {plan, no plan} against double precision, twice for identical bits.

#include "arguments.h"
#include "options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sparsec::device_test {

using namespace harness;

namespace {

/// Bytes of poison around every tensor. A multiple of 256, so that it does not change alignments.
constexpr size_t guard = 4096;

/// The module of a file, kept until a test of another file asks: PTX is compiled at load.
sparsec_module_t moduleOf(const KernelFile &file) {
  static const KernelFile *current = nullptr;
  static Module module;
  if (current != &file) {
    current = nullptr;
    module = loadModule(session.deviceFor(file), file.bytes);
    current = &file;
  }
  return module.get();
}

class KernelTest : public testing::Test {
public:
  KernelTest(const KernelFile &file, const KernelRecord &record)
      : file(file), record(record), subset(session.subsetFor(file)) {}

  void TestBody() override;

private:
  void checkName() const;
  void checkRefusal() const;
  std::vector<PatternKind> patterns() const;
  void runCase(const Shape &shape, PatternKind pattern);

  const KernelFile &file;
  const KernelRecord &record;
  Subset subset;
  sparsec_kernel_t kernel = nullptr;
};

const char *layoutText(bool transposed, const char *plain, const char *swapped) { return transposed ? swapped : plain; }

/// The launch info must say what the name says: the name comes from the source of the kernel.
void KernelTest::checkName() const {
  std::string expected = fmt::format(
      "spmm_{}_{}x{}_{}_{}_{}_", sparsec_dtype_name(record.dtype), record.blockRows, record.blockColumns,
      layoutText(record.denseLayout == SPARSEC_LAYOUT_TRANSPOSED, "kn", "nk"),
      layoutText(record.resultLayout == SPARSEC_LAYOUT_TRANSPOSED, "mn", "nm"), sparsec_dtype_name(record.resultDtype));
  EXPECT_EQ(record.name.substr(0, expected.size()), expected);
}

void KernelTest::checkRefusal() const {
  sparsec_module_t module = nullptr;
  sparsec_status_t status = sparsec_module_load(session.deviceFor(file), file.bytes.data(), file.bytes.size(), &module);
  EXPECT_EQ(sparsec_status_code(status), SPARSEC_STATUS_WRONG_DEVICE) << sparsec_status_message(status);
  EXPECT_EQ(module, nullptr);
  sparsec_status_free(status);
  sparsec_module_destroy(module);
}

std::vector<PatternKind> KernelTest::patterns() const {
  if (subset == Subset::Sanitizer)
    return {PatternKind::Unsorted};
  if (subset == Subset::Quick)
    return {PatternKind::Unsorted, PatternKind::EmptyRows, PatternKind::NoBlocks};
  std::vector<PatternKind> all = {PatternKind::Random,   PatternKind::EmptyRows, PatternKind::DenseRow,
                                  PatternKind::Diagonal, PatternKind::OneBlock,  PatternKind::Unsorted,
                                  PatternKind::NoBlocks};
  if (hasPatternFile())
    all.push_back(PatternKind::File);
  return all;
}

void KernelTest::runCase(const Shape &shape, PatternKind pattern) {
  SCOPED_TRACE(fmt::format("{} ({} x {} x {}), pattern: {}", shape.name, shape.rows, shape.depth, shape.columns,
                           patternName(pattern)));
  auto problem = getProblem(record.dtype, record.blockRows, record.blockColumns, shape, pattern);
  KernelArguments arguments(session.deviceFor(file), kernel, *problem, shape.placement,
                            subset == Subset::Sanitizer ? 0 : guard);
  size_t variant = 0;
  check(sparsec_launch_variant(kernel, arguments.list().data(), arguments.list().size(), &variant));
  ASSERT_EQ(variant, arguments.expectedVariant());
  Plan plan = createPlan(kernel, arguments.matrix(), shape.columns);
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
}

void KernelTest::TestBody() {
  if (!session.deviceFor(file))
    GTEST_SKIP() << "skipped: no GPU";
  checkName();
  if (!session.runsHere(file))
    return checkRefusal();
  if (subset == Subset::Sanitizer && record.dtype != SPARSEC_DTYPE_BF16)
    GTEST_SKIP() << "skipped: not in the sanitizer subset";
  check(sparsec_module_kernel(moduleOf(file), record.name.c_str(), &kernel));
  for (const Shape &shape : shapesFor(record.blockRows, record.blockColumns, subset != Subset::All))
    for (PatternKind pattern : patterns()) {
      runCase(shape, pattern);
      if (HasFatalFailure())
        return;
    }
  if (subset == Subset::All)
    runCase(manyTilesShape(record.blockRows, record.blockColumns), PatternKind::Random);
}

} // namespace

int registerKernelTests(bool forCuda, bool forHost) {
  int count = 0;
  for (const KernelFile &file : session.files)
    for (const KernelRecord &record : file.kernels) {
      if (!(file.isForHost() ? forHost : forCuda))
        continue;
      testing::RegisterTest(file.group.c_str(), record.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [&file, &record]() -> testing::Test * { return new KernelTest(file, record); });
      ++count;
    }
  return count;
}

} // namespace sparsec::device_test
