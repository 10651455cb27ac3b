// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refill_check.h"

#include "harness/gpu.h"
// The sections of a plan are no part of the interface.
#include "operations/kernel_shape.h"
#include "plan/plan.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace sparsec::device_test {

using namespace harness;

namespace {

/// The sections that both kinds of plans have. Those of a plan that is refilled have room for more.
void expectSameSections(sparsec_device_t device, const Plan &refilled, const Plan &expected) {
  for (size_t variant = 0; variant < expected->variants.size(); ++variant)
    for (uint32_t section = SPARSEC_PLAN_WINDOW_ROWS; section < runtime::planSectionCount; ++section) {
      const runtime::VariantPlan &wanted = expected->variants[variant], &got = refilled->variants[variant];
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
  RefillCheck(sparsec_device_t device, sparsec_kernel_t kernel, KernelArguments &arguments)
      : device(device), arguments(arguments),
        refilled(createPlan(kernel, arguments.list(), /*stream=*/nullptr, SPARSEC_PLAN_REFILL)),
        expected(createPlan(kernel, arguments.list(), /*stream=*/nullptr,
                            SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST)) {}

  void run() {
    arguments.run(expected.get());
    const std::vector<char> bits = arguments.resultBytes();
    const HalfMatrix half(device, arguments.matrix());
    refill(half.view, /*stream=*/nullptr);
    refill(arguments.matrix(), /*stream=*/nullptr);
    arguments.run(refilled.get());
    ASSERT_EQ(arguments.findError(), "");
    ASSERT_NO_FATAL_FAILURE(expectSameSections(device, refilled, expected));
    ASSERT_TRUE(bits == arguments.resultBytes()) << "a plan that is refilled gives other bits";
    if (refilled->kernel->module->device->isHost())
      return;
    CudaStream stream;
    CudaGraph graph(stream, [&] {
      refill(half.view, stream.handle());
      refill(arguments.matrix(), stream.handle());
      arguments.launch(refilled.get(), stream.handle());
    });
    arguments.poisonResult();
    graph.launch(stream);
    stream.synchronize();
    arguments.downloadResult();
    ASSERT_TRUE(bits == arguments.resultBytes()) << "a refill in a CUDA graph gives other bits";
  }

private:
  void refill(const sparsec_blocks_t &matrix, void *stream) {
    std::vector<Argument> list = arguments.matrixOnly();
    for (Argument &argument : list)
      if (argument.kind == SPARSEC_ARGUMENT_BSR)
        argument = Argument(matrix);
    const ArgumentArray array(list);
    check(sparsec_plan_refill(refilled.get(), array.data(), array.size(), stream));
  }

  sparsec_device_t device;
  KernelArguments &arguments;
  Plan refilled, expected;
};

} // namespace

void checkRefill(sparsec_device_t device, sparsec_kernel_t kernel, KernelArguments &arguments) {
  SCOPED_TRACE("with a plan that is refilled");
  RefillCheck(device, kernel, arguments).run();
}

} // namespace sparsec::device_test
