// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/choose_variant.h"
#include "arguments/strides.h"
#include "operations/operation.h"
#include "plan/key_parts.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

/// Whether the pointer to one argument's elements, and the strides between its rows, are multiples of the alignment.
/// Where there are no elements or rows to step to, any will do.
bool hasAlignment(const sparsec_argument_t &argument, uint32_t alignment) {
  if (argument.kind == SPARSEC_ARGUMENT_BSR)
    return blocksOf(argument).capacity == 0 || isMultiple(uintptr_t(blocksOf(argument).values), alignment);
  if (argument.kind != SPARSEC_ARGUMENT_DENSE)
    return true;
  const sparsec_dense_t &tensor = denseOf(argument);
  if (!isEmpty(tensor) && !isMultiple(uintptr_t(tensor.data), alignment))
    return false;
  for (int32_t d = 0; d + 1 < tensor.rank; ++d)
    if (usesStride(tensor, d) && !isMultiple(tensor.strides[d] * dtypeBytes(tensor.dtype), alignment))
      return false;
  return true;
}

bool meets(const sparsec_requirement_info_t &requirement, const sparsec_argument_t &argument) {
  if (!hasAlignment(argument, requirement.alignment))
    return false;
  if (argument.kind != SPARSEC_ARGUMENT_DENSE || denseOf(argument).rank == 0)
    return true;
  const sparsec_dense_t &tensor = denseOf(argument);
  return isMultiple(tensor.sizes[tensor.rank - 1] * dtypeBytes(tensor.dtype), requirement.width_alignment);
}

/// The first requirement of a variant that a call does not meet; null if it meets all.
const sparsec_requirement_info_t *findUnmet(const sparsec_kernel_s &kernel, const Variant &variant,
                                            const sparsec_argument_t *arguments) {
  for (const sparsec_requirement_info_t &requirement : kernel.module->info.requirementsOf(*variant.info))
    if (!meets(requirement, arguments[requirement.argument]))
      return &requirement;
  return nullptr;
}

/// Whether a launch has memory for the parts of K or keys of a variant. Whole tiles need none.
bool hasMemoryForParts(const sparsec_plan_s &plan, size_t number, const Problem &split, int64_t tiles, int64_t memory) {
  return workspaceBytes(plan, split, number) <= memory &&
         (split.parts == 1 || hasRoomForFlags(*plan.kernel, *plan.kernel->variants[number].info, tiles));
}

/// Whether a variant for few columns, which comes behind the variant `number`, takes the call too.
bool isNarrowCall(const sparsec_kernel_s &kernel, size_t number, const Problem &problem) {
  return std::any_of(kernel.variants.begin() + ptrdiff_t(number), kernel.variants.end(), [&](const Variant &variant) {
    return variant.info->most_panels != 0 && hasTilesFor(kernel, variant, problem);
  });
}

/// Whether the plan has the blocks with which streams take less time than a variant for few columns. That variant reads
/// X for every block. Streams read the columns of X of all windows, of which one takes as long as a block for each byte
/// of an element.
bool hasNarrowBlocks(const sparsec_kernel_s &kernel, const VariantPlan &part, const sparsec_variant_info_t &variant) {
  const auto elementBytes = int64_t(dtypeBytes(kernel.argument(kernel.of(SPARSEC_SPMM_DENSE)).dtype));
  const auto blocks = int64_t(part.sectionBytes[SPARSEC_PLAN_CHUNK_BLOCKS] / sizeof(int32_t));
  return blocks >= int64_t(variant.least_narrow_blocks) + elementBytes * part.columns;
}

/// Whether the tiles of a product are so few that all run at once: as parts, or whole. Packed values, where the plan
/// has them, gain more. The memory of parts is for windows with all of their rows.
bool hasFewTiles(const sparsec_plan_s &plan, size_t number, const Problem &problem, const TileGrid &grid,
                 bool hasPackedValues) {
  const Variant &variant = plan.kernel->variants[number];
  auto isPackedHere = [](const VariantPlan &each) { return each.sections[SPARSEC_PLAN_PACKED_STARTS] != nullptr; };
  return grid.tiles() <= variant.first().residentWorkers && plan.variants[number].windows == grid.tileRows &&
         (!isNarrowCall(*plan.kernel, number, problem) ||
          hasNarrowBlocks(*plan.kernel, plan.variants[number], *variant.info)) &&
         !(hasPackedValues && std::any_of(plan.variants.begin(), plan.variants.end(), isPackedHere));
}

/// Whether a variant that splits K or keys is for the problem, and has memory for the parts.
bool canSplit(const sparsec_plan_s *plan, size_t number, const Problem &problem, const LaunchMemory &memory) {
  if (!plan || !plan->variants[number].hasWorkspaces)
    return false;
  const Variant &variant = plan->kernel->variants[number];
  const Problem split = withParts(*plan->kernel, variant, problem);
  const TileGrid grid = tileGrid(*plan->kernel, *variant.first().info, problem);
  const bool isFor =
      takesStreams(*variant.info) ? hasFewTiles(*plan, number, problem, grid, memory.hasPackedValues) : split.parts > 1;
  return isFor && hasMemoryForParts(*plan, number, split, grid.tiles(), memory.workspaceBytes);
}

/// The runtime tries variants of attention that split keys before all others. It tries those of products that split K
/// in the order of the file.
bool comesFirst(const Variant &variant) { return variant.info->part_keys != 0 && variant.info->stage_count > 1; }

/// Whether a launch has memory for the sums of tiles that the plan cuts.
bool hasMemoryForSums(const sparsec_plan_s &plan, size_t variant, const Problem &problem, int64_t memory) {
  return !takesCuts(*plan.kernel->variants[variant].info) || workspaceBytes(plan, problem, variant) <= memory;
}

/// Whether a variant has what it needs of a plan: sections, and memory for the sums of cut tiles.
bool isPlanned(const sparsec_kernel_s &kernel, const sparsec_plan_s *plan, size_t variant, const Problem &problem,
               int64_t memory) {
  const uint32_t required = kernel.variants[variant].info->required_sections;
  return required == 0 ||
         (plan && plan->variants[variant].hasSections(required) && hasMemoryForSums(*plan, variant, problem, memory));
}

} // namespace

Status chooseVariant(const sparsec_kernel_s &kernel, const sparsec_plan_s *plan, const sparsec_argument_t *arguments,
                     const Problem &problem, const LaunchMemory &memory, size_t &outVariant) {
  const sparsec_requirement_info_t *unmet = nullptr;
  for (bool isFirst : {true, false})
    for (size_t i = 0; i < kernel.variants.size(); ++i) {
      const Variant &variant = kernel.variants[i];
      if (comesFirst(variant) != isFirst || (variant.info->part_keys != 0 && !canSplit(plan, i, problem, memory)) ||
          (isPacked(*variant.info) && !memory.hasPackedValues) ||
          !isPlanned(kernel, plan, i, problem, memory.workspaceBytes) || !hasTilesFor(kernel, variant, problem))
        continue;
      unmet = findUnmet(kernel, variant, arguments);
      if (!unmet) {
        outVariant = i;
        return {};
      }
    }
  if (!unmet) {
    const bool hasPairs = kernel.rule().hasPairs;
    return invalidArgument("kernel '", kernel.info->name, "' ",
                           hasPairs ? "multiplies block-sparse matrices"
                                    : "takes the transpose of a block-sparse matrix",
                           ": expects a plan that was made with the ", hasPairs ? "matrices" : "matrix",
                           " and SPARSEC_PLAN_STATIC_PATTERN");
  }
  return checkedArgument(kernel, arguments, unmet->argument)
      .refuse("expects pointers and row strides that are multiples of ", kernel.variants.back().info->alignment,
              " bytes: the kernel has no variant for less");
}

Status checkRequirements(const sparsec_kernel_s &kernel, const Variant &variant, const sparsec_argument_t *arguments) {
  const sparsec_requirement_info_t *unmet = findUnmet(kernel, variant, arguments);
  if (!unmet)
    return {};
  return checkedArgument(kernel, arguments, unmet->argument)
      .refuse("expects a pointer that is a multiple of ", unmet->alignment, " bytes, as the launcher was made for");
}

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_launch_variant(sparsec_kernel_t kernel, sparsec_plan_t plan,
                                        const sparsec_argument_t *arguments, size_t argument_count,
                                        size_t *out_variant) {
  return guarded([&]() -> Status {
    if (!out_variant)
      return invalidArgument("out_variant is NULL");
    *out_variant = 0;
    if (!kernel)
      return invalidArgument("kernel is NULL");
    Problem problem;
    SPARSEC_RETURN_IF_ERROR(checkArguments(*kernel, arguments, argument_count, Use::launch, problem));
    if (plan)
      SPARSEC_RETURN_IF_ERROR(checkPlan(*kernel, *plan, problem));
    return chooseVariant(*kernel, plan, arguments, problem, {INT64_MAX, /*hasPackedValues=*/plan != nullptr},
                         *out_variant);
  });
}
