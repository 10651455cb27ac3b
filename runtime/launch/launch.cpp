// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A launch: check, choose the variant, fill its parameters on the stack, enqueue. Allocates nothing, locks nothing (the
// host's thread pool aside) and waits for nothing.

#include "launch/launch.h"
#include "arguments/memory_check.h"
#include "arguments/strides.h"
#include "launch/tensor_map.h"
#include "plan/plan.h"

#include <cstring>

namespace sparsec::runtime {

namespace {

struct Launch {
  const sparsec_kernel_s &kernel;
  const Variant &variant;
  const sparsec_argument_t *arguments;
  const VariantPlan *plan; // may be null
  TileGrid grid;
};

/// The parameters of one launch in the order of the recipe.
class ParameterPack {
public:
  Status fill(const Launch &launch);

  void **pointers() { return addresses; }
  const uint64_t *hostSlots() const { return slots; }

private:
  Status add(const Launch &launch, const sparsec_parameter_info_t &recipe);
  void addPatternField(const sparsec_blocks_t &pattern, uint32_t field);
  template <typename Value> void add(Value value) {
    static_assert(sizeof(value) <= sizeof(uint64_t));
    slots[count] = 0;
    std::memcpy(&slots[count], &value, sizeof(value));
    addresses[count] = &slots[count];
    ++count;
  }

  uint64_t slots[maxParameters];
  void *addresses[maxParameters];
  CUtensorMap tensorMaps[maxTensorMaps];
  uint32_t count = 0, tensorMapCount = 0;
};

Status ParameterPack::fill(const Launch &launch) {
  const sparsec_variant_info_t &info = *launch.variant.info;
  for (uint32_t i = 0; i < info.parameter_count; ++i)
    SPARSEC_RETURN_IF_ERROR(add(launch, launch.kernel.module->info.parameter(info.parameter_first + i)));
  return {};
}

Status ParameterPack::add(const Launch &launch, const sparsec_parameter_info_t &recipe) {
  const sparsec_argument_t &argument = launch.arguments[recipe.argument];
  bool isBsr = argument.kind == SPARSEC_ARGUMENT_BSR;
  switch (recipe.kind) {
  case SPARSEC_PARAMETER_TENSOR_MAP: {
    const Module &module = *launch.kernel.module;
    const sparsec_tensor_map_info_t &map = module.info.tensorMap(recipe.index);
    CUtensorMap &encoded = tensorMaps[tensorMapCount++];
    SPARSEC_RETURN_IF_ERROR(encodeTensorMap(*module.device, map, launch.arguments[map.argument], encoded));
    addresses[count++] = &encoded;
    return {};
  }
  case SPARSEC_PARAMETER_POINTER:
    add(isBsr ? blocksOf(argument).values : denseOf(argument).data);
    return {};
  case SPARSEC_PARAMETER_ROW_PTR:
    add(blocksOf(argument).full.starts);
    return {};
  case SPARSEC_PARAMETER_COL_IDX:
    add(blocksOf(argument).full.indices);
    return {};
  case SPARSEC_PARAMETER_SIZE:
    if (isBsr)
      add(int32_t(recipe.index == 0 ? blocksOf(argument).rows : blocksOf(argument).columns));
    else
      add(int32_t(denseOf(argument).sizes[recipe.index]));
    return {};
  case SPARSEC_PARAMETER_STRIDE:
    // Kernels step over rows that are not there, too: where the stride may be anything, it must not misalign them.
    add(usesStride(denseOf(argument), int32_t(recipe.index)) ? denseOf(argument).strides[recipe.index] : int64_t(0));
    return {};
  case SPARSEC_PARAMETER_SCALAR:
    add(scalarOf(argument));
    return {};
  case SPARSEC_PARAMETER_PLAN_SECTION:
    add(launch.plan ? launch.plan->sections[recipe.index] : nullptr);
    return {};
  case SPARSEC_PARAMETER_TILE_ROWS:
    add(int32_t(launch.grid.tileRows));
    return {};
  case SPARSEC_PARAMETER_TILE_PANELS:
    add(int32_t(launch.grid.panels));
    return {};
  case SPARSEC_PARAMETER_PATTERN_FIELD:
    addPatternField(blocksOf(argument), recipe.index);
    return {};
  }
  return makeStatus(SPARSEC_STATUS_INTERNAL, "parameter kind ", recipe.kind);
}

void ParameterPack::addPatternField(const sparsec_blocks_t &pattern, uint32_t field) {
  switch (field) {
  case SPARSEC_PATTERN_FIELD_ENCODING:
    return add(int32_t(pattern.encoding));
  case SPARSEC_PATTERN_FIELD_BATCHES:
    return add(int32_t(pattern.batches));
  case SPARSEC_PATTERN_FIELD_HEADS:
    return add(int32_t(pattern.heads));
  case SPARSEC_PATTERN_FIELD_CAPACITY:
    return add(pattern.capacity);
  case SPARSEC_PATTERN_FIELD_PARTIAL_STARTS:
    return add(pattern.partial.starts);
  case SPARSEC_PATTERN_FIELD_PARTIAL_INDICES:
    return add(pattern.partial.indices);
  case SPARSEC_PATTERN_FIELD_FULL_STARTS:
    return add(pattern.full.starts);
  case SPARSEC_PATTERN_FIELD_FULL_INDICES:
    return add(pattern.full.indices);
  }
}

Status checkPlan(const sparsec_kernel_s &kernel, const sparsec_plan_s &plan) {
  if (plan.kernel != &kernel)
    return invalidArgument("plan is for kernel '", plan.kernel->info->name, "' of another module, or not for '",
                           kernel.info->name, "'");
  return {};
}

Status checkPlan(const sparsec_kernel_s &kernel, const sparsec_plan_s &plan, const AttentionSizes &sizes) {
  SPARSEC_RETURN_IF_ERROR(checkPlan(kernel, plan));
  const sparsec_attention_sizes_t &own = plan.attentionSizes;
  if (own.batches != sizes.batches || own.heads != sizes.heads || own.queries != sizes.queries ||
      own.keys != sizes.keys)
    return invalidArgument("plan is for ", own.batches, " batches, ", own.heads, " heads, ", own.queries,
                           " queries and ", own.keys, " keys, but the launch has ", sizes.batches, ", ", sizes.heads,
                           ", ", sizes.queries, " and ", sizes.keys);
  return {};
}

Status checkPlan(const sparsec_kernel_s &kernel, const sparsec_plan_s &plan, const sparsec_blocks_t &matrix,
                 const ProblemSizes &sizes) {
  SPARSEC_RETURN_IF_ERROR(checkPlan(kernel, plan));
  if (plan.sizes.m != sizes.m || plan.sizes.n != sizes.n || plan.sizes.k != sizes.k ||
      plan.blockCount != matrix.capacity)
    return invalidArgument("plan is for a ", plan.sizes.m, " x ", plan.sizes.k, " matrix of ", plan.blockCount,
                           " blocks and width ", plan.sizes.n, ", but the launch has ", sizes.m, " x ", sizes.k, ", ",
                           matrix.capacity, " blocks and width ", sizes.n);
  return {};
}

/// On the GPU everything that asks the driver, the encoding of tensor maps included, needs the device's context.
Status launchOnGpu(const Launch &launch, int64_t workers, void *stream) {
  const Device &device = *launch.kernel.module->device;
  const sparsec_variant_info_t &info = *launch.variant.info;
  int64_t ctas = ceilDivide(workers, int64_t(info.tiles_per_cta)) * info.cluster;
  ContextScope current(device);
  SPARSEC_RETURN_IF_ERROR(current.status());
  ParameterPack parameters;
  SPARSEC_RETURN_IF_ERROR(parameters.fill(launch));
  return cudaStatus(*device.cuda,
                    device.cuda->cuLaunchKernel(launch.variant.cudaFunction, unsigned(ctas), 1, 1, info.threads, 1, 1,
                                                info.dynamic_shared_memory, static_cast<CUstream>(stream),
                                                parameters.pointers(), nullptr),
                    "launching a kernel");
}

/// Chooses the variant of a launch with good arguments, and runs it. `makeGrid` tells how a variant cuts the result.
template <typename MakeGrid>
Status enqueue(const sparsec_kernel_s &kernel, const sparsec_plan_s *plan, const sparsec_argument_t *arguments,
               void *stream, const MakeGrid &makeGrid) {
  size_t number = 0;
  SPARSEC_RETURN_IF_ERROR(chooseVariant(kernel, arguments, number));
  const Variant &variant = kernel.variants[number];
  Launch launch = {kernel, variant, arguments, plan ? &plan->variants[number] : nullptr, makeGrid(*variant.info)};
  SPARSEC_RETURN_IF_ERROR(checkTileCount(launch.grid));

  if (!kernel.module->device->isHost())
    return launchOnGpu(launch, plan ? launch.plan->workers : std::min(variant.residentWorkers, launch.grid.tiles()),
                       stream);
  ParameterPack parameters;
  SPARSEC_RETURN_IF_ERROR(parameters.fill(launch));
  kernel.module->device->threads->run(launch.grid.tiles(), [&](int64_t begin, int64_t end) {
    variant.hostFunction(parameters.hostSlots(), begin, end);
  });
  return {};
}

Status launchSpmm(const sparsec_kernel_s &kernel, const sparsec_plan_s *plan, const sparsec_argument_t *arguments,
                  size_t count, void *stream) {
  ProblemSizes sizes;
  SPARSEC_RETURN_IF_ERROR(checkSpmmArguments(kernel, arguments, count, Use::launch, sizes));
  const sparsec_blocks_t &matrix = blocksOf(arguments[kernel.of(SPARSEC_ROLE_MATRIX)]);
  if (plan)
    SPARSEC_RETURN_IF_ERROR(checkPlan(kernel, *plan, matrix, sizes));
  SPARSEC_RETURN_IF_ERROR(checkMemory(kernel, arguments));
  SPARSEC_RETURN_IF_ERROR(checkListsForLaunch(kernel, arguments, stream));
  if (sizes.m == 0 || sizes.n == 0)
    return {};
  return enqueue(kernel, plan, arguments, stream, [&](const sparsec_variant_info_t &variant) {
    return makeTileGrid(variant, matrix.block_rows, sizes);
  });
}

Status launchAttention(const sparsec_kernel_s &kernel, const sparsec_plan_s *plan, const sparsec_argument_t *arguments,
                       size_t count, void *stream) {
  AttentionSizes sizes;
  SPARSEC_RETURN_IF_ERROR(checkAttentionArguments(kernel, arguments, count, Use::launch, sizes));
  if (plan)
    SPARSEC_RETURN_IF_ERROR(checkPlan(kernel, *plan, sizes));
  SPARSEC_RETURN_IF_ERROR(checkMemory(kernel, arguments));
  SPARSEC_RETURN_IF_ERROR(checkListsForLaunch(kernel, arguments, stream));
  if (sizes.rows() == 0)
    return {};
  return enqueue(kernel, plan, arguments, stream,
                 [&](const sparsec_variant_info_t &variant) { return makeTileGrid(variant, sizes); });
}

} // namespace

Status launchPatternBuilder(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, int64_t lists,
                            void *stream) {
  return launchOnGpu({kernel, *kernel.patternBuilder, arguments, nullptr, {}}, lists, stream);
}

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_launch(sparsec_kernel_t kernel, sparsec_plan_t plan, const sparsec_argument_t *arguments,
                                size_t argument_count, void *stream) {
  return guarded([&]() -> Status {
    if (!kernel)
      return invalidArgument("kernel is NULL");
    auto *launch = kernel->info->family == SPARSEC_FAMILY_ATTENTION ? launchAttention : launchSpmm;
    return launch(*kernel, plan, arguments, argument_count, stream);
  });
}
