// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packs the values of a matrix: an auxiliary kernel copies stored blocks to their places in larger ones.
#include "launch/packed.h"
#include "arguments/memory_check.h"
#include "launch/launch.h"
#include "plan/packed_matrix.h"

namespace sparsec::runtime {

namespace {

constexpr uint32_t valueAlignment = 16; // bytes: the kernel copies vectors

/// The part of the plan for its first variant with packed values; null if it has none.
const VariantPlan *packedPart(const sparsec_plan_s &plan) {
  for (size_t i = 0; i < plan.variants.size(); ++i)
    if (isPacked(*plan.kernel->variants[i].info) && plan.variants[i].hasSections(packedSections))
      return &plan.variants[i];
  return nullptr;
}

/// The arguments of a call that has the matrix alone.
std::vector<sparsec_argument_t> withMatrix(const sparsec_packed_s &packed, const sparsec_blocks_t &matrix) {
  std::vector<sparsec_argument_t> arguments(packed.plan.kernel->info->argument_count);
  arguments[packed.number] = sparsec_argument_blocks(&matrix);
  return arguments;
}

/// The matrix of the plan, with its values.
Status checkMatrix(const sparsec_packed_s &packed, const std::vector<sparsec_argument_t> &arguments, void *stream) {
  const sparsec_kernel_s &kernel = *packed.plan.kernel;
  Problem problem;
  SPARSEC_RETURN_IF_ERROR(checkArguments(kernel, arguments.data(), arguments.size(), Use::plan, problem));
  SPARSEC_RETURN_IF_ERROR(checkPlanSizes(packed.plan, problem, "the matrix has "));
  const Checked matrix = checkedArgument(kernel, arguments.data(), packed.number);
  SPARSEC_RETURN_IF_ERROR(matrix.checkPointer());
  if (!isMultiple(uintptr_t(matrix.blocks().values), valueAlignment))
    return matrix.refuse("expects values at a multiple of ", valueAlignment, " bytes");
  SPARSEC_RETURN_IF_ERROR(checkMemory(*kernel.module->device, matrix.subject(), matrix.value));
  return checkListsForLaunch(kernel, arguments.data(), packed.plan.lists, stream);
}

Status fill(const sparsec_packed_s &packed, const sparsec_blocks_t &matrix, void *stream) {
  const std::vector<sparsec_argument_t> arguments = withMatrix(packed, matrix);
  SPARSEC_RETURN_IF_ERROR(checkMatrix(packed, arguments, stream));
  const sparsec_kernel_s &kernel = *packed.plan.kernel;
  const void *inputs[] = {packed.view.values};
  StageLaunch launch = {kernel, *kernel.auxiliary(SPARSEC_AUXILIARY_PACK_BLOCKS), /*variant=*/nullptr,
                        arguments.data()};
  launch.plan = &packed.part;
  return launchAuxiliary(launch, inputs, packed.view.capacity, stream);
}

/// The view that the variants take in place of the argument.
sparsec_blocks_t packedView(const sparsec_packed_s &packed) {
  const sparsec_kernel_s &kernel = *packed.plan.kernel;
  const sparsec_variant_info_t &variant = *packed.variant.info;
  const bool isStoredTransposed = isTransposed(kernel, packed.number);
  const int64_t rows = packed.plan.problem.rows, depth = packed.plan.problem.depth;
  sparsec_blocks_t view = sparsec_blocks_bsr(
      isStoredTransposed ? depth : rows, isStoredTransposed ? rows : depth, int32_t(variant.packed_block_rows),
      int32_t(variant.packed_block_columns), int64_t(packed.part.sectionBytes[SPARSEC_PLAN_PACKED_COLUMNS]) / 4,
      static_cast<const int32_t *>(packed.part.sections[SPARSEC_PLAN_PACKED_STARTS]),
      static_cast<const int32_t *>(packed.part.sections[SPARSEC_PLAN_PACKED_COLUMNS]),
      sparsec_dtype_t(kernel.argument(packed.number).dtype), packed.memory.data());
  view.device = kernel.module->device->info.ordinal;
  return view;
}

Status pack(const sparsec_plan_s &plan, const sparsec_blocks_t &matrix, const sparsec_pack_options_t &given,
            std::unique_ptr<sparsec_packed_s> &outPacked) {
  sparsec_pack_options_t options;
  SPARSEC_RETURN_IF_ERROR(readStruct(given, {"options"}, options));
  if (options.flags != 0)
    return invalidArgument("options: expects flags of 0, but got ", options.flags);
  SPARSEC_RETURN_IF_ERROR(checkAllocator(options.allocator, {"allocator"}));
  const VariantPlan *part = packedPart(plan);
  if (!part)
    return {};
  const Variant &variant = *findPackedVariant(*plan.kernel);
  auto packed = std::make_unique<sparsec_packed_s>(plan, variant, *part, plan.lists.front().argument);
  SPARSEC_RETURN_IF_ERROR(packed->memory.allocate(*plan.module->device, options.allocator,
                                                  packedBytes(*plan.kernel, variant, *part), options.stream));
  packed->view = packedView(*packed);
  packed->argument = sparsec_argument_blocks(&packed->view);
  SPARSEC_RETURN_IF_ERROR(fill(*packed, matrix, options.stream));
  outPacked = std::move(packed);
  return {};
}

} // namespace

Status checkPacked(const sparsec_kernel_s &kernel, const sparsec_plan_s *plan, const sparsec_packed_s *packed) {
  if (!packed)
    return {};
  if (!plan)
    return invalidArgument("options: packed values need a plan of their pattern, but plan is NULL");
  if (packed->plan.kernel != &kernel)
    return invalidArgument("options: packed values are for kernel '", packed->plan.kernel->info->name,
                           "', but the launch is of kernel '", kernel.info->name, "'");
  const KnownList *list = findList(plan->lists, packed->number);
  if (!list || list->checksum != packed->plan.lists.front().checksum)
    return invalidArgument("options: packed values have another pattern than the plan: pack them with a plan of the "
                           "launch's pattern");
  return {};
}

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_plan_pack(sparsec_plan_t plan, const sparsec_blocks_t *matrix,
                                   const sparsec_pack_options_t *options, sparsec_packed_t *out_packed) {
  return guarded([&]() -> Status {
    if (!out_packed)
      return invalidArgument("out_packed is NULL");
    *out_packed = nullptr;
    if (!plan || !matrix || !options)
      return invalidArgument(!plan ? "plan" : !matrix ? "matrix" : "options", " is NULL");
    std::unique_ptr<sparsec_packed_s> packed;
    SPARSEC_RETURN_IF_ERROR(pack(*plan, *matrix, *options, packed));
    *out_packed = packed.release();
    return {};
  });
}

sparsec_status_t sparsec_packed_refill(sparsec_packed_t packed, const sparsec_blocks_t *matrix, void *stream) {
  return guarded([&]() -> Status {
    if (!packed || !matrix)
      return invalidArgument(packed ? "matrix" : "packed", " is NULL");
    return fill(*packed, *matrix, stream);
  });
}

void sparsec_packed_destroy(sparsec_packed_t packed) { delete packed; }
