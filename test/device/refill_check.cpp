// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refill_check.h"

#include "harness/gpu.h"
// The sections of a plan are no part of the interface.
#include "operations/kernel_shape.h"
#include "plan/refill.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace sparsec::device_test {

using namespace harness;

namespace {

/// The sections that both kinds of plans have, but for lists of tiles that refills do not write. Those of a plan that
/// is refilled have room for more.
void expectSameSections(sparsec_device_t device, const Plan &refilled, const Plan &expected) {
  const sparsec_kernel_s &kernel = *refilled->kernel;
  for (size_t variant = 0; variant < expected->variants.size(); ++variant) {
    const runtime::VariantPlan &wanted = expected->variants[variant], &got = refilled->variants[variant];
    const bool haveSameLists = runtime::refillsLists(kernel, kernel.variants[variant], refilled->problem, got);
    for (uint32_t section = haveSameLists ? 0 : SPARSEC_PLAN_WINDOW_ROWS; section < runtime::planSectionCount;
         ++section) {
      if (!wanted.sections[section])
        continue;
      ASSERT_NE(got.sections[section], nullptr)
          << "variant " << variant << " lacks the section " << runtime::planSectionNames[section];
      const size_t bytes = wanted.sectionBytes[section];
      ASSERT_GE(got.sectionBytes[section], bytes) << runtime::planSectionNames[section];
      std::vector<int32_t> wantedEntries(bytes / 4), entries(bytes / 4);
      check(sparsec_memory_download(device, wantedEntries.data(), wanted.sections[section], bytes));
      check(sparsec_memory_download(device, entries.data(), got.sections[section], bytes));
      const auto differs = std::mismatch(entries.begin(), entries.end(), wantedEntries.begin());
      ASSERT_TRUE(differs.first == entries.end())
          << "entry " << differs.first - entries.begin() << " of " << entries.size() << " of the "
          << runtime::planSectionNames[section] << " of variant " << variant << " is " << *differs.first << ", but the "
          << "host's is " << *differs.second;
    }
  }
}

/// The matrix without the blocks of the second half of its lists.
class HalfMatrix {
public:
  HalfMatrix(sparsec_device_t device, const sparsec_blocks_t &matrix) : view(matrix) {
    std::vector<int32_t> starts((matrix.rows + matrix.block_rows - 1) / matrix.block_rows + 1);
    check(sparsec_memory_download(device, starts.data(), matrix.full.starts, starts.size() * sizeof(int32_t)));
    for (int32_t &start : starts)
      start = std::min(start, int32_t(matrix.capacity / 2));
    memory = uploadArray(device, starts);
    view.full.starts = static_cast<const int32_t *>(memory.data());
  }

  sparsec_blocks_t view;

private:
  DeviceBuffer memory;
};

class RefillCheck {
public:
  RefillCheck(sparsec_device_t device, sparsec_kernel_t kernel, const RefilledLaunch &launch)
      : device(device), launch(launch),
        refilled(createPlan(kernel, launch.arguments, /*stream=*/nullptr, SPARSEC_PLAN_REFILL)),
        expected(
            createPlan(kernel, launch.arguments, /*stream=*/nullptr, SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST)),
        half(device, firstMatrix()) {}

  void runRefills() {
    refillTwice(/*stream=*/nullptr);
    expectSameSections(device, refilled, expected);
  }

  void run() {
    launch.run(expected.get());
    std::vector<char> bits = launch.resultBytes();
    refillTwice(/*stream=*/nullptr);
    launch.run(refilled.get());
    ASSERT_EQ(launch.findError(), "");
    ASSERT_NO_FATAL_FAILURE(expectSameSections(device, refilled, expected));
    ASSERT_TRUE(!haveSameWindows() || bits == launch.resultBytes()) << "a plan that is refilled gives other bits";
    bits = launch.resultBytes();
    if (refilled->kernel->module->device->isHost() || !launch.enqueue)
      return;
    CudaDriver::get()->useDevice(refilled->kernel->module->device->info.ordinal);
    CudaStream stream;
    CudaGraph graph(stream, [&] {
      refillTwice(stream.handle());
      launch.enqueue(refilled.get(), stream.handle());
    });
    launch.poison();
    graph.launch(stream);
    stream.synchronize();
    launch.download();
    ASSERT_TRUE(bits == launch.resultBytes()) << "a refill in a CUDA graph gives other bits";
  }

private:
  /// A plan has no windows where few columns are shared, and one that is refilled cannot know. Launches then run other
  /// variants.
  bool haveSameWindows() const {
    auto hasSame = [](const runtime::VariantPlan &one, const runtime::VariantPlan &other) {
      return (one.sections[SPARSEC_PLAN_WINDOW_ROWS] == nullptr) ==
             (other.sections[SPARSEC_PLAN_WINDOW_ROWS] == nullptr);
    };
    return std::ranges::equal(refilled->variants, expected->variants, hasSame);
  }

  size_t numberOfMatrix() const {
    return std::ranges::find(launch.arguments, uint32_t(SPARSEC_ARGUMENT_BSR), &Argument::kind) -
           launch.arguments.begin();
  }
  sparsec_blocks_t firstMatrix() const { return launch.arguments[numberOfMatrix()].blocks; }

  /// With half of the blocks first, so that something has to be overwritten.
  void refillTwice(void *stream) {
    std::vector<Argument> list = launch.arguments;
    list[numberOfMatrix()] = Argument(half.view);
    refill(list, stream);
    refill(launch.arguments, stream);
  }

  void refill(const std::vector<Argument> &list, void *stream) {
    const ArgumentArray array(list);
    check(sparsec_plan_refill(refilled.get(), array.data(), array.size(), stream));
  }

  sparsec_device_t device;
  const RefilledLaunch &launch;
  Plan refilled, expected;
  HalfMatrix half;
};

} // namespace

void checkRefill(sparsec_device_t device, sparsec_kernel_t kernel, const RefilledLaunch &launch) {
  SCOPED_TRACE("with a plan that is refilled");
  RefillCheck(device, kernel, launch).run();
}

void checkRefilledSections(sparsec_device_t device, sparsec_kernel_t kernel, const RefilledLaunch &launch) {
  SCOPED_TRACE("with a plan that is refilled");
  RefillCheck(device, kernel, launch).runRefills();
}

} // namespace sparsec::device_test
