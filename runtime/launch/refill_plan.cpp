// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the sections of a plan again from the index arrays of its matrix: auxiliary kernels do so on a GPU.
#include "arguments/memory_check.h"
#include "launch/launch.h"
#include "plan/refill.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

Status checkRefillArguments(const sparsec_plan_s &plan, const sparsec_argument_t *arguments, size_t count,
                            void *stream) {
  if (!plan.isRefilled)
    return invalidArgument("plan: expects one that was made with SPARSEC_PLAN_REFILL");
  const sparsec_kernel_s &kernel = *plan.kernel;
  Problem problem;
  SPARSEC_RETURN_IF_ERROR(checkArguments(kernel, arguments, count, Use::plan, problem));
  const Device &device = *kernel.module->device;
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    if (kernel.argument(i).kind != SPARSEC_ARGUMENT_BSR)
      continue;
    const Checked matrix = checkedArgument(kernel, arguments, i);
    if (matrix.isOpen())
      return matrix.refuse("is open, but a refill reads its index arrays");
    if (!device.isHost())
      SPARSEC_RETURN_IF_ERROR(checkListMemory(device, matrix.subject(), matrix.blocks()));
  }
  SPARSEC_RETURN_IF_ERROR(checkPlanSizes(plan, problem, "the matrix has "));
  return device.isHost() ? Status() : checkListsForLaunch(kernel, arguments, /*known=*/{}, stream);
}

/// All variants share the sections of the index, and those of pairs.
Status refillOnHost(const sparsec_plan_s &plan, const sparsec_argument_t *arguments, void *stream) {
  HostLists lists;
  SPARSEC_RETURN_IF_ERROR(lists.read(*plan.kernel, arguments, stream));
  const VariantPlan &part = plan.variants.front();
  auto copy = [&](sparsec_plan_section_t section, const auto &from) {
    using Element = typename std::decay_t<decltype(from)>::value_type;
    std::copy(from.begin(), from.end(), static_cast<Element *>(const_cast<void *>(part.sections[section])));
  };
  if (operationOf(*plan.kernel).pairSlots.left != 0) {
    SPARSEC_RETURN_IF_ERROR(lists.pairBlocks(*plan.kernel));
    copy(SPARSEC_PLAN_PAIR_STARTS, lists.pairs().starts);
    copy(SPARSEC_PLAN_PAIRS, lists.pairs().pairs);
  } else if (const TransposedIndex &index = lists.transposedIndex(); !index.isEmpty()) {
    copy(SPARSEC_PLAN_ROW_STARTS, index.starts);
    copy(SPARSEC_PLAN_ROW_COLUMNS, index.columns);
    copy(SPARSEC_PLAN_ROW_BLOCKS, index.blocks);
  }
  return {};
}

/// Two auxiliary kernels, of which the second one reads the section that the first one writes.
struct RefillStep {
  sparsec_plan_section_t counts;
  sparsec_auxiliary_kind_t count, write;
  /// The number of CTAs: from the part of a variant that has the section, and the first block-sparse argument.
  int64_t (*tiles)(const VariantPlan &part, const sparsec_blocks_t &matrix);
};

/// In this order: windows of a transposed operand are made from its index.
constexpr RefillStep refillSteps[] = {
    {SPARSEC_PLAN_COLUMN_COUNTS, SPARSEC_AUXILIARY_COUNT_COLUMNS, SPARSEC_AUXILIARY_WRITE_INDEX,
     [](const VariantPlan &, const sparsec_blocks_t &matrix) {
       return ceilDivide(blockRowCount(matrix), SPARSEC_SLICE_ROWS);
     }},
    {SPARSEC_PLAN_WINDOW_COUNTS, SPARSEC_AUXILIARY_COUNT_WINDOWS, SPARSEC_AUXILIARY_WRITE_WINDOWS,
     [](const VariantPlan &part, const sparsec_blocks_t &) { return part.windows; }},
    {SPARSEC_PLAN_PAIR_COUNTS, SPARSEC_AUXILIARY_COUNT_PAIRS, SPARSEC_AUXILIARY_WRITE_PAIRS,
     [](const VariantPlan &, const sparsec_blocks_t &matrix) { return blockRowCount(matrix); }},
};

/// The lists of tiles, from what the tile rows cost now. After all other steps: rows may be windows, or those of an
/// index.
Status refillLists(const sparsec_plan_s &plan, const sparsec_argument_t *arguments, const sparsec_blocks_t &matrix,
                   void *stream) {
  const sparsec_kernel_s &kernel = *plan.kernel;
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    const Variant &variant = kernel.variants[i];
    const VariantPlan &part = plan.variants[i];
    if (!refillsLists(kernel, variant, plan.problem, part))
      continue;
    const TileGrid grid = tileGridOf(kernel, *variant.first().info, plan.problem, part.windows);
    const uint32_t columnCost = part.windows != 0 ? kernel.planCost(*variant.info, SPARSEC_PLAN_COST_COLUMN) : 0;
    const PanelLimits limits =
        operationOf(kernel).panelLimits({kernel, *variant.info, *variant.first().info, grid, part.workers,
                                         int64_t(matrix.block_rows) * matrix.block_columns, plan.problem.depth});
    const int64_t numbers[SPARSEC_LIST_NUMBERS] = {
        grid.tileRows, grid.panels, part.workers,      kernel.planCost(*variant.info, SPARSEC_PLAN_COST_TILE_OVERHEAD),
        columnCost,    limits.most, limits.blocksOfOne};
    StageLaunch launch = {kernel, *kernel.auxiliary(SPARSEC_AUXILIARY_WRITE_LISTS), /*variant=*/nullptr, arguments};
    launch.plan = &part;
    launch.numbers = numbers;
    SPARSEC_RETURN_IF_ERROR(launchAuxiliary(launch, /*inputs=*/{}, /*lists=*/1, stream));
  }
  return {};
}

Status refillOnGpu(const sparsec_plan_s &plan, const sparsec_argument_t *arguments, void *stream) {
  const sparsec_kernel_s &kernel = *plan.kernel;
  const sparsec_argument_t *matrix = std::find_if(arguments, arguments + kernel.info->argument_count,
                                                  [](auto &each) { return each.kind == SPARSEC_ARGUMENT_BSR; });
  for (const RefillStep &step : refillSteps) {
    const auto part = std::find_if(plan.variants.begin(), plan.variants.end(),
                                   [&](const VariantPlan &each) { return each.sections[step.counts]; });
    const int64_t tiles = part == plan.variants.end() ? 0 : step.tiles(*part, blocksOf(*matrix));
    for (const sparsec_auxiliary_kind_t kind : {step.count, step.write}) {
      if (tiles == 0)
        continue;
      StageLaunch launch = {kernel, *kernel.auxiliary(kind), /*variant=*/nullptr, arguments};
      launch.plan = &*part;
      SPARSEC_RETURN_IF_ERROR(launchAuxiliary(launch, /*inputs=*/{}, tiles, stream));
    }
  }
  return refillLists(plan, arguments, blocksOf(*matrix), stream);
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
