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

/// One machine kernel of a launch.
struct StageLaunch {
  const sparsec_kernel_s &kernel;
  const Stage &stage;
  const sparsec_argument_t *arguments;
  const VariantPlan *plan; // may be null
  TileGrid grid;
};

/// The parameters of one launch in the order of the recipe.
class ParameterPack {
public:
  Status fill(const StageLaunch &launch);

  void **pointers() { return addresses; }
  const uint64_t *hostSlots() const { return slots; }

private:
  Status add(const StageLaunch &launch, const sparsec_parameter_info_t &recipe);
  Status addTensorMap(const StageLaunch &launch, const sparsec_tensor_map_info_t &map);
  void addField(const sparsec_argument_t &argument, const sparsec_parameter_info_t &recipe);
  void addField(const sparsec_dense_t &tensor, const sparsec_parameter_info_t &recipe);
  void addField(const sparsec_blocks_t &blocks, const sparsec_parameter_info_t &recipe);
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

Status ParameterPack::fill(const StageLaunch &launch) {
  for (const sparsec_parameter_info_t &recipe : launch.kernel.module->info.parametersOf(*launch.stage.info))
    SPARSEC_RETURN_IF_ERROR(add(launch, recipe));
  return {};
}

Status ParameterPack::add(const StageLaunch &launch, const sparsec_parameter_info_t &recipe) {
  switch (recipe.source) {
  case SPARSEC_SOURCE_ARGUMENT:
    addField(launch.arguments[recipe.index], recipe);
    return {};
  case SPARSEC_SOURCE_TENSOR_MAP:
    return addTensorMap(launch, launch.kernel.module->info.all<sparsec_tensor_map_info_t>()[recipe.index]);
  case SPARSEC_SOURCE_PLAN_SECTION:
    add(launch.plan ? launch.plan->sections[recipe.index] : nullptr);
    return {};
  case SPARSEC_SOURCE_WORKSPACE:
    add(launch.plan ? launch.plan->counter : nullptr);
    return {};
  case SPARSEC_SOURCE_TILE_ROWS:
    add(int32_t(launch.grid.tileRows));
    return {};
  case SPARSEC_SOURCE_PANELS:
    add(int32_t(launch.grid.panels));
    return {};
  }
  return makeStatus(SPARSEC_STATUS_INTERNAL, "parameter source ", recipe.source);
}

Status ParameterPack::addTensorMap(const StageLaunch &launch, const sparsec_tensor_map_info_t &map) {
  CUtensorMap &encoded = tensorMaps[tensorMapCount++];
  SPARSEC_RETURN_IF_ERROR(encodeTensorMap(*launch.kernel.module->device, map, launch.arguments[map.argument], encoded));
  addresses[count++] = &encoded;
  return {};
}

void ParameterPack::addField(const sparsec_argument_t &argument, const sparsec_parameter_info_t &recipe) {
  if (argument.kind == SPARSEC_ARGUMENT_SCALAR)
    add(scalarOf(argument));
  else if (argument.kind == SPARSEC_ARGUMENT_DENSE)
    addField(denseOf(argument), recipe);
  else
    addField(blocksOf(argument), recipe);
}

void ParameterPack::addField(const sparsec_dense_t &tensor, const sparsec_parameter_info_t &recipe) {
  switch (recipe.field) {
  case SPARSEC_FIELD_DATA:
    return add(tensor.data);
  case SPARSEC_FIELD_SIZE:
    return add(int32_t(tensor.sizes[recipe.dimension]));
  case SPARSEC_FIELD_STRIDE:
    // Kernels step over rows that are not there, too: where the stride may be anything, it must not misalign them.
    return add(usesStride(tensor, int32_t(recipe.dimension)) ? tensor.strides[recipe.dimension] : int64_t(0));
  }
}

void ParameterPack::addField(const sparsec_blocks_t &blocks, const sparsec_parameter_info_t &recipe) {
  switch (recipe.field) {
  case SPARSEC_FIELD_DATA:
    return add(blocks.values);
  case SPARSEC_FIELD_SIZE:
    return add(int32_t(recipe.dimension == 0 ? blocks.rows : blocks.columns));
  case SPARSEC_FIELD_FULL_STARTS:
    return add(blocks.full.starts);
  case SPARSEC_FIELD_FULL_INDICES:
    return add(blocks.full.indices);
  case SPARSEC_FIELD_PARTIAL_STARTS:
    return add(blocks.partial.starts);
  case SPARSEC_FIELD_PARTIAL_INDICES:
    return add(blocks.partial.indices);
  case SPARSEC_FIELD_ENCODING:
    return add(int32_t(blocks.encoding));
  case SPARSEC_FIELD_BATCHES:
    return add(int32_t(blocks.batches));
  case SPARSEC_FIELD_HEADS:
    return add(int32_t(blocks.heads));
  case SPARSEC_FIELD_CAPACITY:
    return add(blocks.capacity);
  }
}

std::string describeSizes(const Operation &operation, const Problem &problem) {
  std::string text;
  for (const NamedSize &each : operation.planSizes)
    text += std::string(text.empty() ? "" : ", ") + each.name + " " + std::to_string(problem.*each.size);
  return text;
}

Status checkPlan(const sparsec_kernel_s &kernel, const sparsec_plan_s &plan, const Problem &problem) {
  if (plan.module.get() != kernel.module)
    return invalidArgument("plan is for a kernel of another module, '", plan.kernel->info->name,
                           "': a plan serves the kernel that it was made with");
  if (plan.kernel != &kernel)
    return invalidArgument("plan is for kernel '", plan.kernel->info->name, "', but the launch is of kernel '",
                           kernel.info->name, "'");
  const Operation &operation = operationOf(kernel);
  for (const NamedSize &each : operation.planSizes)
    if (plan.problem.*each.size != problem.*each.size)
      return invalidArgument("plan is for ", describeSizes(operation, plan.problem), ", but the launch has ",
                             describeSizes(operation, problem));
  return {};
}

/// On the GPU everything that asks the driver, the encoding of tensor maps included, needs the device's context.
Status launchOnGpu(const StageLaunch &launch, int64_t workers, void *stream) {
  const Device &device = *launch.kernel.module->device;
  const sparsec_stage_info_t &info = *launch.stage.info;
  int64_t ctas = ceilDivide(workers, int64_t(info.tiles_per_cta)) * info.cluster;
  ContextScope current(device);
  SPARSEC_RETURN_IF_ERROR(current.status());
  ParameterPack parameters;
  SPARSEC_RETURN_IF_ERROR(parameters.fill(launch));
  return cudaStatus(*device.cuda,
                    device.cuda->cuLaunchKernel(launch.stage.cudaFunction, unsigned(ctas), 1, 1, info.threads, 1, 1,
                                                info.dynamic_shared_memory, static_cast<CUstream>(stream),
                                                parameters.pointers(), nullptr),
                    "launching a kernel");
}

Status launchOnHost(const StageLaunch &launch) {
  ParameterPack parameters;
  SPARSEC_RETURN_IF_ERROR(parameters.fill(launch));
  launch.kernel.module->device->threads->run(launch.grid.tiles(), [&](int64_t begin, int64_t end) {
    launch.stage.hostFunction(parameters.hostSlots(), begin, end);
  });
  return {};
}

/// The machine kernels of a variant, one after the other. The first one follows the plan.
Status launchVariant(const sparsec_kernel_s &kernel, const Variant &variant, const VariantPlan *plan,
                     const sparsec_argument_t *arguments, const Problem &problem, void *stream) {
  for (const Stage &stage : variant.stages) {
    TileGrid grid = tileGrid(kernel, *stage.info, problem);
    SPARSEC_RETURN_IF_ERROR(checkTileCount(grid));
    const StageLaunch launch = {kernel, stage, arguments, plan, grid};
    bool isPlanned = plan && &stage == &variant.first();
    int64_t workers = isPlanned ? plan->workers : std::min(stage.residentWorkers, grid.tiles());
    SPARSEC_RETURN_IF_ERROR(kernel.module->device->isHost() ? launchOnHost(launch)
                                                            : launchOnGpu(launch, workers, stream));
  }
  return {};
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
  return launchVariant(kernel, kernel.variants[number], plan ? &plan->variants[number] : nullptr, arguments, problem,
                       stream);
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
