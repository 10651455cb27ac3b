// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the sections of a plan again from the index arrays of its matrix: auxiliary kernels do so on a GPU.
#include "arguments/memory_check.h"
#include "launch/launch.h"
#include "plan/host_lists.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

/// The block-sparse argument of the kernel: it has one.
uint32_t matrixOf(const sparsec_kernel_s &kernel) {
  uint32_t number = 0;
  while (kernel.argument(number).kind != SPARSEC_ARGUMENT_BSR)
    ++number;
  return number;
}

Status checkRefillArguments(const sparsec_plan_s &plan, const sparsec_argument_t *arguments, size_t count,
                            void *stream) {
  if (!plan.isRefilled)
    return invalidArgument("plan: expects one that was made with SPARSEC_PLAN_REFILL");
  const sparsec_kernel_s &kernel = *plan.kernel;
  Problem problem;
  SPARSEC_RETURN_IF_ERROR(checkArguments(kernel, arguments, count, Use::plan, problem));
  const Checked matrix = checkedArgument(kernel, arguments, matrixOf(kernel));
  if (matrix.isOpen())
    return matrix.refuse("is open, but a refill reads its index arrays");
  SPARSEC_RETURN_IF_ERROR(checkPlanSizes(plan, problem, "the matrix has "));
  if (kernel.module->device->isHost())
    return {};
  SPARSEC_RETURN_IF_ERROR(checkListMemory(*kernel.module->device, matrix.subject(), matrix.blocks()));
  return checkListsForLaunch(kernel, arguments, /*known=*/{}, stream);
}

/// All variants share the sections of the index.
Status refillOnHost(const sparsec_plan_s &plan, const sparsec_argument_t *arguments, void *stream) {
  HostLists lists;
  SPARSEC_RETURN_IF_ERROR(lists.read(*plan.kernel, arguments, stream));
  const TransposedIndex &index = lists.transposedIndex();
  const VariantPlan &part = plan.variants.front();
  auto copy = [&](sparsec_plan_section_t section, const std::vector<int32_t> &from) {
    std::copy(from.begin(), from.end(), static_cast<int32_t *>(const_cast<void *>(part.sections[section])));
  };
  if (index.isEmpty())
    return {};
  copy(SPARSEC_PLAN_ROW_STARTS, index.starts);
  copy(SPARSEC_PLAN_ROW_COLUMNS, index.columns);
  copy(SPARSEC_PLAN_ROW_BLOCKS, index.blocks);
  return {};
}

/// The part of the first variant that has a section; null where none has it.
const VariantPlan *partWith(const sparsec_plan_s &plan, sparsec_plan_section_t section) {
  const auto found = std::find_if(plan.variants.begin(), plan.variants.end(),
                                  [&](const VariantPlan &part) { return part.sections[section]; });
  return found == plan.variants.end() ? nullptr : &*found;
}

/// Enqueues two auxiliary kernels, of which the second one reads what the first one counts.
Status runBoth(const sparsec_plan_s &plan, const VariantPlan &part, sparsec_auxiliary_kind_t count,
               sparsec_auxiliary_kind_t write, int64_t tiles, const sparsec_argument_t *arguments, void *stream) {
  const sparsec_kernel_s &kernel = *plan.kernel;
  for (const sparsec_auxiliary_kind_t kind : {count, write}) {
    StageLaunch launch = {kernel, *kernel.auxiliary(kind), /*variant=*/nullptr, arguments};
    launch.plan = &part;
    SPARSEC_RETURN_IF_ERROR(launchAuxiliary(launch, /*inputs=*/{}, tiles, stream));
  }
  return {};
}

/// Windows of a transposed operand are made from its index.
Status refillOnGpu(const sparsec_plan_s &plan, const sparsec_argument_t *arguments, void *stream) {
  const sparsec_blocks_t &matrix = blocksOf(arguments[matrixOf(*plan.kernel)]);
  const int64_t slices = ceilDivide(blockRowCount(matrix), SPARSEC_SLICE_ROWS);
  if (const VariantPlan *part = partWith(plan, SPARSEC_PLAN_COLUMN_COUNTS); part && slices != 0)
    SPARSEC_RETURN_IF_ERROR(runBoth(plan, *part, SPARSEC_AUXILIARY_COUNT_COLUMNS, SPARSEC_AUXILIARY_WRITE_INDEX, slices,
                                    arguments, stream));
  if (const VariantPlan *part = partWith(plan, SPARSEC_PLAN_WINDOW_COUNTS))
    return runBoth(plan, *part, SPARSEC_AUXILIARY_COUNT_WINDOWS, SPARSEC_AUXILIARY_WRITE_WINDOWS, part->windows,
                   arguments, stream);
  return {};
}

} // namespace

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_plan_refill(sparsec_plan_t plan, const sparsec_argument_t *arguments, size_t argument_count,
                                     void *stream) {
  return guarded([&]() -> Status {
    if (!plan)
      return invalidArgument("plan is NULL");
    SPARSEC_RETURN_IF_ERROR(checkRefillArguments(*plan, arguments, argument_count, stream));
    return plan->kernel->module->device->isHost() ? refillOnHost(*plan, arguments, stream)
                                                  : refillOnGpu(*plan, arguments, stream);
  });
}
