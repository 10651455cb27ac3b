// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention of sequences with sizes of their own: the kernels of sequence_kernels.py against an attention in double
// that is written out here. What lies behind the queries and keys of a sequence is NaN.

#include "sequence_problem.h"

#include "harness/cuda_driver.h"
#include "kernel_test.h"
#include "row_check.h"

#include <algorithm>
#include <fmt/format.h>

namespace sparsec::device_test {

using namespace harness;

namespace {

class SequenceTest : public KernelTest {
public:
  using KernelTest::KernelTest;

private:
  std::string expectedName() const override;
  void runCases() override;
  void runParts(SequenceProblem &problem, const Plan &plan);
};

/// The operands that give sizes, as sequence_kernels.py names them.
std::string sizesOf(const KernelRecord &record) {
  if (record.pageRows != 0)
    return fmt::format("page{}", record.pageRows);
  if (record.hasKeyStarts)
    return !record.hasQueryStarts ? "keys" : record.hasKeyLengths ? "packedlengths" : "packed";
  return record.hasQueryStarts ? "queries" : "lengths";
}

std::string SequenceTest::expectedName() const {
  std::string dimension = std::to_string(record.headDimension);
  if (record.valueDimension != 0)
    dimension += fmt::format("v{}", record.valueDimension);
  return fmt::format(
      "sequence_{}_{}_{}_{}_{}_{}_{}_{}_", sparsec_dtype_name(record.dtype), dimension,
      record.blockRows ? fmt::format("{}x{}", record.blockRows, record.blockColumns) : "dense", sizesOf(record),
      record.isCausal    ? "causal"
      : record.hasWindow ? "window"
                         : "all",
      record.hasSinks ? "sink" : "no", sparsec_dtype_name(record.resultDtype), record.hasLse ? "lse" : "o");
}

/// A plan knows no lengths: not one bit of the results depends on it.
void SequenceTest::runCases() {
  std::vector<SequenceShape> shapes = sequenceShapes(subset != Subset::All);
  if (subset == Subset::Sanitizer)
    shapes.resize(1);
  if (subset == Subset::Simulator)
    shapes.resize(2);
  for (const SequenceShape &shape : shapes) {
    SCOPED_TRACE(shape.name);
    SequenceProblem problem(device(), kernel, record, shape, guardBytes());
    problem.launch(nullptr);
    problem.wait();
    ASSERT_EQ(problem.findError(), "");
    std::vector<char> first = problem.resultBytes();
    if (subset == Subset::Sanitizer)
      continue;
    Plan plan = createPlan(kernel, problem.arguments());
    problem.poisonResults();
    problem.launch(nullptr, plan.get());
    problem.wait();
    ASSERT_TRUE(first == problem.resultBytes()) << "other bits with a plan";
    if (!file.isForHost())
      runParts(problem, plan);
    if (HasFatalFailure())
      return;
  }
}

/// With memory for the parts of keys the sums are others, but the same in every run.
void SequenceTest::runParts(SequenceProblem &problem, const Plan &plan) {
  const ArgumentArray array(problem.arguments());
  size_t bytes = 0;
  check(sparsec_plan_workspace_bytes(plan.get(), array.data(), array.size(), &bytes));
  const DeviceBuffer workspace = uploadArray(device(), std::vector<char>(std::max<size_t>(bytes, 16)));
  std::vector<char> first;
  for (int run = 0; run < 2; ++run) {
    problem.poisonResults();
    problem.launch(nullptr, plan.get(), &workspace);
    problem.wait();
    ASSERT_EQ(problem.findError(), "") << "with " << bytes << " bytes of workspace";
    if (first.empty())
      first = problem.resultBytes();
    ASSERT_TRUE(first == problem.resultBytes()) << "other bits in the second run";
  }
}

/// The first kernel of each kind of sizes that runs on the GPU.
class CudaSequences : public testing::Test {
protected:
  void SetUp() override {
    if (!session.cuda)
      GTEST_SKIP() << "skipped: no GPU";
    CudaDriver::get()->useDevice(0);
  }

  void replay(const KernelFile &file, const KernelRecord &record) {
    SCOPED_TRACE(record.name);
    Module module = loadModule(session.cuda.get(), file.bytes);
    sparsec_kernel_t kernel = nullptr;
    check(sparsec_module_kernel(module.get(), record.name.c_str(), &kernel));
    SequenceProblem problem(session.cuda.get(), kernel, record, sequenceShapes(/*quick=*/true).front(), 256);
    CudaStream stream;
    CudaGraph graph(stream, [&] { problem.launch(stream.handle()); });
    for (int round = 0; round < 3; ++round) {
      SCOPED_TRACE(fmt::format("round {}", round));
      problem.changeSizes(round);
      problem.poisonResults();
      graph.launch(stream);
      stream.synchronize();
      problem.downloadResults();
      ASSERT_EQ(problem.findError(), "");
    }
  }
};

TEST_F(CudaSequences, ReplaysOfAGraphReadTheSizesOfTheirTime) {
  bool isTested = false;
  for (const KernelFile &file : session.files)
    for (const KernelRecord &record : file.kernels)
      if (!isTested && !file.isForHost() && session.runsHere(file) && record.hasSequences()) {
        replay(file, record);
        isTested = true;
      }
  if (!isTested)
    GTEST_SKIP() << "skipped: no kernels of sequences for this device";
}

} // namespace

KernelTest *makeSequenceTest(const KernelFile &file, const KernelRecord &record) {
  return new SequenceTest(file, record);
}

} // namespace sparsec::device_test
