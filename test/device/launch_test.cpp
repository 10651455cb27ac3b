// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How launches behave, on one kernel: graphs, threads, the checking mode, and images for other devices.

#include "arguments.h"
#include "harness/cuda_driver.h"
#include "options.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numeric>
#include <optional>
#include <thread>

namespace sparsec::device_test {

using namespace harness;

namespace {

/// The first file that runs on the GPU (or the host), its first SpMM kernel, and a problem for it.
class LaunchTest : public testing::Test {
protected:
  /// With `smallBlocks` it is the first file with the fewest block rows.
  void prepare(bool forHost, bool smallBlocks = false) {
    sparsec_device_t device = forHost ? session.host.get() : session.cuda.get();
    if (!device)
      GTEST_SKIP() << (forHost ? "skipped: the host is not asked for" : "skipped: no GPU");
    for (const KernelFile &candidate : session.files)
      if (const KernelRecord *kernel = candidate.find(SPARSEC_OPERATION_SPMM))
        if (candidate.isForHost() == forHost && session.runsHere(candidate) &&
            (!file || (smallBlocks && kernel->blockRows < spmm().blockRows)))
          file = &candidate;
    if (!file)
      GTEST_SKIP() << "skipped: no kernels for this device";
    const KernelRecord &record = spmm();
    load(device);
    shape = shapesFor(record.blockRows, record.blockColumns, /*quick=*/true).front();
    problem = getProblem(record.dtype, record.blockRows, record.blockColumns, shape, PatternKind::Random);
  }

  void load(sparsec_device_t device) {
    module = loadModule(device, file->bytes);
    check(sparsec_module_kernel(module.get(), spmm().name.c_str(), &kernel));
  }

  KernelArguments makeArguments() const {
    return KernelArguments(session.deviceFor(*file), kernel, *problem, shape.placement, 0);
  }

  const KernelRecord &spmm() const { return *file->find(SPARSEC_OPERATION_SPMM); }

  const KernelFile *file = nullptr;
  Module module;
  sparsec_kernel_t kernel = nullptr;
  Shape shape = {};
  std::shared_ptr<const Problem> problem;
};

class CudaLaunch : public LaunchTest {
protected:
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
  Plan plan = createPlan(kernel, arguments.list());
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

/// Launches of one plan with results of several widths. Two thirds of the block rows are empty.
class OpenPlanTest : public LaunchTest {
protected:
  KernelArguments makeArguments(int64_t width) {
    const KernelRecord &record = spmm();
    Shape wide = {"open width", 512 * record.blockRows, 4 * record.blockColumns, width, Placement::Tight};
    problem = getProblem(record.dtype, record.blockRows, record.blockColumns, wide, PatternKind::EmptyRows);
    return KernelArguments(session.deviceFor(*file), kernel, *problem, wide.placement, 256);
  }

  void runAll(sparsec_plan_t plan, const std::vector<int64_t> &widths) {
    for (int64_t width : widths) {
      SCOPED_TRACE(width);
      KernelArguments arguments = makeArguments(width);
      arguments.run(plan);
      EXPECT_EQ(arguments.findError(), "");
    }
  }
};

class CudaOpenPlan : public OpenPlanTest {
  void SetUp() override {
    prepare(/*forHost=*/false, /*smallBlocks=*/true);
    if (session.cuda)
      CudaDriver::get()->useDevice(0);
  }
};

class HostOpenPlan : public OpenPlanTest {
  void SetUp() override { prepare(/*forHost=*/true, /*smallBlocks=*/true); }
};

/// The panels that the lists of a variant hold, from the bytes of its sections.
int64_t periodOf(const sparsec_plan_info_t &plan, int64_t tileRows) {
  constexpr int64_t alignment = SPARSEC_ALLOCATION_ALIGNMENT;
  int64_t offsetBytes = ((plan.workers + 1) * 4 + alignment - 1) / alignment * alignment;
  return (plan.bytes - offsetBytes) / 8 / tileRows;
}

TEST_F(CudaOpenPlan, ServesEveryWidth) {
  if (session.cudaSubset == Subset::Sanitizer)
    GTEST_SKIP() << "skipped: the results of more than a period are large";
  Plan plan = createPlan(kernel, makeArguments(1).matrixOnly());
  std::vector<int64_t> widths = {1, 8, 37, 64};
  bool isPreferred = true;
  for (size_t variant = 0; sparsec_kernel_variant(kernel, variant); ++variant) {
    // A plan of a pattern that may change has no windows. Narrow variants have no lists.
    const sparsec_variant_info_t &info = *sparsec_kernel_variant(kernel, variant);
    if (info.required_sections != 0 || info.most_panels != 0)
      continue;
    const sparsec_plan_info_t lists = planInfo(plan, variant);
    const sparsec_stage_info_t &stage = *sparsec_kernel_stage(kernel, variant, 0);
    ASSERT_EQ(lists.order, SPARSEC_TILE_ORDER_LISTS);
    ASSERT_EQ(lists.tiles, SPARSEC_DYNAMIC);
    int64_t panel = int64_t(stage.tile_n) * stage.cluster;
    int64_t tileRows = 512 * ((spmm().blockRows + stage.tile_m - 1) / stage.tile_m);
    // Only the preferred variant asks for a width of whole 16-byte units. The lists begin again after a period.
    int64_t more = isPreferred ? 8 : 1;
    isPreferred = false;
    for (int64_t panels : {int64_t(1), periodOf(lists, tileRows)})
      widths.push_back(panels * panel + more);
  }
  runAll(plan.get(), widths);
}

TEST_F(HostOpenPlan, ServesEveryWidth) {
  Plan plan = createPlan(kernel, makeArguments(1).matrixOnly());
  EXPECT_EQ(planInfo(plan).order, SPARSEC_TILE_ORDER_FIXED);
  runAll(plan.get(), {1, 8, 37});
}

/// Replays compute what was captured, with the lists of the plan.
TEST_F(CudaOpenPlan, CapturedInAGraph) {
  KernelArguments arguments = makeArguments(520);
  Plan plan = createPlan(kernel, arguments.matrixOnly());
  CudaStream stream;
  CudaGraph graph(stream, [&] { arguments.launch(plan.get(), stream.handle()); });
  for (int replay = 0; replay < 2; ++replay) {
    arguments.poisonResult();
    graph.launch(stream);
    stream.synchronize();
    arguments.downloadResult();
    EXPECT_EQ(arguments.findError(), "");
  }
}

/// The same GPU in the checking mode: what is refused writes nothing and leaves the context alive.
class CudaCheckedLaunch : public CudaLaunch {
protected:
  void SetUp() override {
    CudaLaunch::SetUp();
    if (IsSkipped())
      return;
    auto options = sized<sparsec_device_options_t>();
    options.kind = SPARSEC_TARGET_CUDA;
    options.flags = SPARSEC_DEVICE_CHECK_MEMORY;
    sparsec_device_t opened = nullptr;
    check(sparsec_device_open(&options, &opened));
    checking.reset(opened);
    load(opened);
    arguments.emplace(makeArguments());
    while (operandOf(kernel, dense).slot != SPARSEC_SPMM_DENSE)
      ++dense;
  }
  void TearDown() override { module.reset(); }

  /// A launch with this X is refused. The result is poison until a good launch.
  void expectRefused(const sparsec_dense_t &bad, const std::string &message, void *stream = nullptr) {
    std::vector<Argument> list = arguments->list();
    list[dense] = bad;
    const ArgumentArray array(list);
    sparsec_status_t status = sparsec_launch(kernel, nullptr, array.data(), array.size(), stream);
    EXPECT_EQ(sparsec_status_code(status), SPARSEC_STATUS_INVALID_ARGUMENT);
    EXPECT_NE(std::string(sparsec_status_message(status)).find(message), std::string::npos)
        << sparsec_status_message(status);
    sparsec_status_free(status);
  }
  void expectNothingWritten() {
    check(sparsec_synchronize(checking.get(), nullptr));
    arguments->downloadResult();
    const std::vector<char> &bytes = arguments->resultBytes();
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == poison; }));
  }
  void expectGoodLaunch() {
    arguments->run(nullptr);
    EXPECT_EQ(arguments->findError(), "");
  }

  const sparsec_dense_t &x() const { return arguments->list()[dense].dense; }
  size_t bytesOfX() const {
    return size_t((x().sizes[0] - 1) * x().strides[0] + x().sizes[1]) * sparsec_dtype_bytes(x().dtype);
  }

  Device checking;
  std::optional<KernelArguments> arguments;
  size_t dense = 0; // the number of X
};

TEST_F(CudaCheckedLaunch, RefusesMemoryOfTheHost) {
  std::vector<char> memory(bytesOfX());
  sparsec_dense_t bad = x();
  bad.data = memory.data();
  expectRefused(bad, fmt::format("data needs {} bytes of memory of device 0, but the driver does not know this memory",
                                 bytesOfX()));
  expectNothingWritten();
  expectGoodLaunch();
}

TEST_F(CudaCheckedLaunch, RefusesAllocationsThatAreTooShort) {
  DeviceBuffer memory(checking.get(), bytesOfX() - 2), enough(checking.get(), bytesOfX());
  sparsec_dense_t bad = x();
  bad.data = memory.data();
  expectRefused(bad, fmt::format("has {} bytes from there on", bytesOfX() - 2));
  expectNothingWritten();
  bad.data = static_cast<char *>(enough.data()) + 256;
  expectRefused(bad, fmt::format("has {} bytes from there on", bytesOfX() - 256));
  expectNothingWritten();
  expectGoodLaunch();
}

TEST_F(CudaCheckedLaunch, RefusesWhileAStreamIsCaptured) {
  std::vector<char> memory(bytesOfX());
  sparsec_dense_t bad = x();
  bad.data = memory.data();
  CudaStream stream;
  CudaGraph graph(stream, [&] {
    expectRefused(bad, "the driver does not know this memory", stream.handle());
    arguments->launch(nullptr, stream.handle());
  });
  expectNothingWritten();
  graph.launch(stream);
  stream.synchronize();
  arguments->downloadResult();
  EXPECT_EQ(arguments->findError(), "") << "the capture went on";
}

TEST_F(CudaCheckedLaunch, RefusesListsOfTheHostInAPlan) {
  std::vector<Argument> bad = arguments->list();
  const std::vector<int32_t> columns(size_t(arguments->matrix().capacity));
  for (Argument &argument : bad)
    if (argument.kind == SPARSEC_ARGUMENT_BSR)
      argument.blocks.full.indices = columns.data();
  std::string message;
  try {
    createPlan(kernel, bad);
  } catch (const std::exception &error) {
    message = error.what();
  }
  EXPECT_NE(message.find("full.indices needs"), std::string::npos) << message;
  const Plan good = createPlan(kernel, arguments->list());
  arguments->run(good.get());
  EXPECT_EQ(arguments->findError(), "");
}

/// The block columns are written on a stream that does not wait for the default stream, behind much other work.
TEST_F(CudaLaunch, PlansReadListsBehindTheirProducer) {
  const KernelArguments arguments = makeArguments();
  sparsec_blocks_t matrix = arguments.matrix();
  std::vector<int32_t> starts((matrix.rows + matrix.block_rows - 1) / matrix.block_rows + 1);
  std::iota(starts.begin(), starts.end(), 0);
  matrix.capacity = starts.back();
  DeviceBuffer rowPtr = uploadArray(session.cuda.get(), starts);
  DeviceBuffer colIdx = uploadArray(session.cuda.get(), std::vector<int32_t>(starts.back(), -1));
  DeviceBuffer other(session.cuda.get(), size_t(256) << 20);
  matrix.full = {static_cast<const int32_t *>(rowPtr.data()), static_cast<const int32_t *>(colIdx.data())};
  std::vector<Argument> list = arguments.list();
  for (Argument &argument : list)
    if (argument.kind == SPARSEC_ARGUMENT_BSR)
      argument = matrix;

  CudaStream stream;
  const CudaDriver &driver = *CudaDriver::get();
  auto set = [&](const DeviceBuffer &buffer, unsigned char value) {
    auto address = reinterpret_cast<uint64_t>(buffer.data());
    driver.check(driver.memsetAsync(address, value, buffer.bytes(), stream.handle()), "cuMemsetD8Async");
  };
  for (int i = 0; i < 200; ++i)
    set(other, 1);
  set(colIdx, 0);
  EXPECT_GT(planInfo(createPlan(kernel, list, stream.handle())).tiles, 0);
}

/// The bytes of a chain of products, each of which reads the result of the one in front of it, all with the same
/// matrix. With `wait` the host waits between them.
std::vector<char> runChain(sparsec_kernel_t kernel, sparsec_plan_t plan, KernelArguments &first,
                           KernelArguments &second, bool wait) {
  constexpr int links = 6;
  std::vector<Argument> toFirst = first.list(), toSecond = second.list();
  for (size_t i = 0; i < toFirst.size(); ++i) {
    if (operandOf(kernel, i).slot == SPARSEC_SPMM_DENSE) {
      toFirst[i].dense.data = second.resultView().data;
      toSecond[i].dense.data = first.resultView().data;
    }
    if (toFirst[i].kind == SPARSEC_ARGUMENT_BSR)
      toSecond[i] = toFirst[i];
  }
  first.poisonResult();
  second.poisonResult();
  const CudaStream stream;
  first.launch(plan, stream.handle());
  for (int link = 1; link < links; ++link) {
    if (wait)
      stream.synchronize();
    const ArgumentArray array(link % 2 == 1 ? toSecond : toFirst);
    auto options = sized<sparsec_launch_options_t>();
    options.stream = stream.handle();
    check(sparsec_launch_with_options(kernel, plan, array.data(), array.size(), &options));
  }
  stream.synchronize();
  second.downloadResult();
  return second.resultBytes();
}

/// Whether the result has the type and the layout of X. (Transposed matrices have sides of their own.)
bool mayFollowItself(const KernelRecord &kernel) {
  return kernel.kind == SPARSEC_OPERATION_SPMM && !kernel.isTransposed && kernel.resultDtype == kernel.dtype &&
         kernel.resultLayout == kernel.denseLayout;
}

/// Kernels start before the one in front of them has ended, and wait by themselves for its result. Those of few columns
/// do so behind their first loads, if the plan is of a static pattern.
TEST_F(CudaLaunch, ReadsWhatTheLaunchInFrontWrites) {
  const KernelRecord *record = nullptr;
  for (const KernelFile &candidate : session.files)
    for (const KernelRecord &each : candidate.kernels)
      if (!record && !candidate.isForHost() && session.runsHere(candidate) && mayFollowItself(each))
        file = &candidate, record = &each;
  if (!record)
    GTEST_SKIP() << "skipped: no kernel's result may be its X";
  module = loadModule(session.cuda.get(), file->bytes);
  check(sparsec_module_kernel(module.get(), record->name.c_str(), &kernel));
  const int64_t size = 8 * std::lcm(record->blockRows, record->blockColumns);
  for (int64_t width : {16, 64, 192}) {
    SCOPED_TRACE(fmt::format("{}, {} columns", record->name, width));
    shape = {"chain", size, size, width, Placement::Tight};
    problem = getProblem(record->dtype, record->blockRows, record->blockColumns, shape, PatternKind::Random);
    KernelArguments first = makeArguments(), second = makeArguments();
    const Plan ofStaticPattern = createPlan(kernel, first.list(), nullptr, SPARSEC_PLAN_STATIC_PATTERN);
    for (const auto &[name, plan] : {std::pair("no plan", sparsec_plan_t()), {"plan", ofStaticPattern.get()}}) {
      SCOPED_TRACE(name);
      const std::vector<char> expected = runChain(kernel, plan, first, second, /*wait=*/true);
      for (int run = 0; run < 5; ++run)
        EXPECT_EQ(runChain(kernel, plan, first, second, /*wait=*/false), expected);
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
  Plan plan = createPlan(kernel, arguments[0].list());
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
  Plan plan = createPlan(kernel, arguments[0].list());
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
    Plan plan = createPlan(kernel, arguments.list());
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
