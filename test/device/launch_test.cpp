// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How launches behave, on one kernel: graphs, threads, cost on the host, and images for other devices.

#include "arguments.h"
#include "harness/cuda_driver.h"
#include "options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <thread>

namespace sparsec::device_test {

using namespace harness;

namespace {

/// The first file that runs on the GPU (or the host), its first SpMM kernel, and a problem for it.
class LaunchTest : public testing::Test {
protected:
  void prepare(bool forHost) {
    sparsec_device_t device = forHost ? session.host.get() : session.cuda.get();
    if (!device)
      GTEST_SKIP() << (forHost ? "skipped: the host is not asked for" : "skipped: no GPU");
    for (const KernelFile &candidate : session.files)
      if (!file && candidate.isForHost() == forHost && session.runsHere(candidate) &&
          candidate.find(SPARSEC_FAMILY_SPMM))
        file = &candidate;
    if (!file)
      GTEST_SKIP() << "skipped: no kernels for this device";
    module = loadModule(device, file->bytes);
    const KernelRecord &record = spmm();
    check(sparsec_module_kernel(module.get(), record.name.c_str(), &kernel));
    shape = shapesFor(record.blockRows, record.blockColumns, /*quick=*/true).front();
    problem = getProblem(record.dtype, record.blockRows, record.blockColumns, shape, PatternKind::Random);
  }

  KernelArguments makeArguments() const {
    return KernelArguments(session.deviceFor(*file), kernel, *problem, shape.placement, 0);
  }

  const KernelRecord &spmm() const { return *file->find(SPARSEC_FAMILY_SPMM); }

  const KernelFile *file = nullptr;
  Module module;
  sparsec_kernel_t kernel = nullptr;
  Shape shape = {};
  std::shared_ptr<const Problem> problem;
};

class CudaLaunch : public LaunchTest {
  void SetUp() override {
    prepare(/*forHost=*/false);
    if (session.cuda)
      CudaDriver::get()->useDevice(0);
  }
};

class HostLaunch : public LaunchTest {
  void SetUp() override { prepare(/*forHost=*/true); }
};

TEST_F(CudaLaunch, CapturedInAGraphAndReplayed) {
  KernelArguments arguments = makeArguments();
  Plan plan = createPlan(kernel, arguments.matrix(), shape.columns);
  for (sparsec_plan_t choice : {plan.get(), sparsec_plan_t(nullptr)}) {
    CudaStream stream;
    CudaGraph graph(stream, [&] { arguments.launch(choice, stream.handle()); });
    for (int replay = 0; replay < 3; ++replay) {
      arguments.poisonResult();
      graph.launch(stream);
      stream.synchronize();
      arguments.downloadResult();
      EXPECT_EQ(arguments.findError(), "") << "replay " << replay;
    }
  }
}

/// Two threads with their own results launch the same kernel with the same plan.
void launchFromTwoThreads(std::vector<KernelArguments> &arguments, sparsec_plan_t plan, void *const *streams) {
  std::vector<std::string> errors(arguments.size());
  {
    std::vector<std::jthread> threads;
    threads.reserve(arguments.size());
    for (size_t t = 0; t < arguments.size(); ++t)
      threads.emplace_back([&, t] {
        try {
          for (int i = 0; i < 200; ++i)
            arguments[t].launch(plan, streams[t]);
        } catch (const std::exception &error) {
          errors[t] = error.what();
        }
      });
  }
  for (const std::string &error : errors)
    EXPECT_EQ(error, "");
}

TEST_F(CudaLaunch, TwoThreadsOnOneModule) {
  std::vector<KernelArguments> arguments;
  arguments.push_back(makeArguments());
  arguments.push_back(makeArguments());
  Plan plan = createPlan(kernel, arguments[0].matrix(), shape.columns);
  CudaStream first, second;
  void *streams[] = {first.handle(), second.handle()};
  launchFromTwoThreads(arguments, plan.get(), streams);
  first.synchronize();
  second.synchronize();
  for (KernelArguments &each : arguments) {
    each.downloadResult();
    EXPECT_EQ(each.findError(), "");
  }
}

TEST_F(HostLaunch, TwoThreadsOnOneModule) {
  std::vector<KernelArguments> arguments;
  arguments.push_back(makeArguments());
  arguments.push_back(makeArguments());
  Plan plan = createPlan(kernel, arguments[0].matrix(), shape.columns);
  void *streams[] = {nullptr, nullptr};
  launchFromTwoThreads(arguments, plan.get(), streams);
  for (KernelArguments &each : arguments) {
    each.downloadResult();
    EXPECT_EQ(each.findError(), "");
  }
}

/// No blocks, and no memory for them.
void runWithoutBlocks(sparsec_device_t device, sparsec_kernel_t kernel, const KernelRecord &record,
                      const Shape &shape) {
  auto problem = getProblem(record.dtype, record.blockRows, record.blockColumns, shape, PatternKind::NoBlocks);
  KernelArguments arguments(device, kernel, *problem, shape.placement, 0);
  std::vector<Argument> list = arguments.list();
  for (Argument &argument : list)
    if (argument.kind == SPARSEC_ARGUMENT_BSR) {
      argument.blocks.full.indices = nullptr;
      argument.blocks.values = nullptr;
    }
  const ArgumentArray array(list);
  arguments.poisonResult();
  check(sparsec_launch(kernel, nullptr, array.data(), array.size(), nullptr));
  check(sparsec_synchronize(device, nullptr));
  arguments.downloadResult();
  EXPECT_EQ(arguments.findError(), "");
}

TEST_F(CudaLaunch, AcceptsNullPointersOfAMatrixWithoutBlocks) {
  runWithoutBlocks(session.cuda.get(), kernel, spmm(), shape);
}

TEST_F(HostLaunch, AcceptsNullPointersOfAMatrixWithoutBlocks) {
  runWithoutBlocks(session.host.get(), kernel, spmm(), shape);
}

/// Matrices without rows, without depth or without columns.
void runEmptySizes(sparsec_device_t device, sparsec_kernel_t kernel, const KernelRecord &record, const Shape &shape) {
  for (Shape empty : {Shape{"no rows", 0, shape.depth, shape.columns, Placement::Padded},
                      Shape{"no depth", shape.rows, 0, shape.columns, Placement::Padded},
                      Shape{"no columns", shape.rows, shape.depth, 0, Placement::Padded}}) {
    SCOPED_TRACE(empty.name);
    auto problem = getProblem(record.dtype, record.blockRows, record.blockColumns, empty, PatternKind::Random);
    KernelArguments arguments(device, kernel, *problem, empty.placement, 256);
    Plan plan = createPlan(kernel, arguments.matrix(), empty.columns);
    for (sparsec_plan_t choice : {plan.get(), sparsec_plan_t(nullptr)}) {
      arguments.run(choice);
      EXPECT_EQ(arguments.findError(), "");
    }
  }
}

TEST_F(CudaLaunch, AcceptsEmptySizes) { runEmptySizes(session.cuda.get(), kernel, spmm(), shape); }

TEST_F(HostLaunch, AcceptsEmptySizes) { runEmptySizes(session.host.get(), kernel, spmm(), shape); }

void expectRefused(sparsec_device_t device, const KernelFile &file) {
  sparsec_module_t refused = nullptr;
  sparsec_status_t status = sparsec_module_load(device, file.bytes.data(), file.bytes.size(), &refused);
  EXPECT_EQ(sparsec_status_code(status), SPARSEC_STATUS_WRONG_DEVICE) << sparsec_status_message(status);
  EXPECT_EQ(refused, nullptr);
  sparsec_status_free(status);
}

TEST_F(CudaLaunch, RefusesAHostImage) {
  for (const KernelFile &candidate : session.files)
    if (!candidate.runsOn(SPARSEC_TARGET_CUDA, session.cudaCapability) && candidate.isForHost())
      return expectRefused(session.cuda.get(), candidate);
  GTEST_SKIP() << "skipped: no kernels for the host";
}

TEST_F(HostLaunch, RefusesACudaImage) {
  for (const KernelFile &candidate : session.files)
    if (!candidate.isForHost())
      return expectRefused(session.host.get(), candidate);
  GTEST_SKIP() << "skipped: no kernels for CUDA";
}

} // namespace
} // namespace sparsec::device_test
