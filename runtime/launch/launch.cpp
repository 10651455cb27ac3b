// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A launch: check, choose the variant, fill its parameters on the stack, enqueue. Allocates nothing, locks nothing (the
// host's thread pool aside) and waits for nothing.

#include "launch/launch.h"
#include "arguments/memory_check.h"
#include "arguments/strides.h"
#include "launch/choose_variant.h"
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

std::string describeSizes(const Operation &operation, const Problem &problem) {
  std::string text;
  for (const NamedSize &each : operation.planSizes)
    text += std::string(text.empty() ? "" : ", ") + each.name + " " + std::to_string(problem.*each.size);
  return text;
}

Status checkPlan(const sparsec_kernel_s &kernel, const sparsec_plan_s &plan, const Problem &problem) {
  if (plan.kernel != &kernel)
    return invalidArgument("plan is for kernel '", plan.kernel->info->name, "' of another module, or not for '",
                           kernel.info->name, "'");
  const Operation &operation = operationOf(kernel);
  for (const NamedSize &each : operation.planSizes)
    if (plan.problem.*each.size != problem.*each.size)
      return invalidArgument("plan is for ", describeSizes(operation, plan.problem), ", but the launch has ",
                             describeSizes(operation, problem));
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

Status launchKernel(const sparsec_kernel_s &kernel, const sparsec_plan_s *plan, const sparsec_argument_t *arguments,
                    size_t count, void *stream) {
  Problem problem;
  SPARSEC_RETURN_IF_ERROR(checkArguments(kernel, arguments, count, Use::launch, problem));
  if (plan)
    SPARSEC_RETURN_IF_ERROR(checkPlan(kernel, *plan, problem));
  SPARSEC_RETURN_IF_ERROR(checkMemory(kernel, arguments));
  SPARSEC_RETURN_IF_ERROR(checkListsForLaunch(kernel, arguments, stream));
  if (problem.isEmpty())
    return {};
  size_t number = 0;
  SPARSEC_RETURN_IF_ERROR(chooseVariant(kernel, arguments, number));
  const Variant &variant = kernel.variants[number];
  TileGrid grid = operationOf(kernel).tileGrid(kernel, *variant.info, problem);
  SPARSEC_RETURN_IF_ERROR(checkTileCount(grid));
  Launch launch = {kernel, variant, arguments, plan ? &plan->variants[number] : nullptr, grid};

  if (!kernel.module->device->isHost())
    return launchOnGpu(launch, plan ? launch.plan->workers : std::min(variant.residentWorkers, grid.tiles()), stream);
  ParameterPack parameters;
  SPARSEC_RETURN_IF_ERROR(parameters.fill(launch));
  kernel.module->device->threads->run(
      grid.tiles(), [&](int64_t begin, int64_t end) { variant.hostFunction(parameters.hostSlots(), begin, end); });
  return {};
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
    return launchKernel(*kernel, plan, arguments, argument_count, stream);
  });
}
