// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A launch: check, choose the variant, fill its parameters on the stack, enqueue. Allocates nothing, locks nothing (the
// host's thread pool aside) and waits for nothing.

#include "launch/launch.h"
#include "arguments/memory_check.h"
#include "launch/choose_variant.h"
#include "launch/packed.h"
#include "plan/key_parts.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

/// The packed values of options, which may be those of an older caller; may be null.
const sparsec_packed_s *packedOf(const sparsec_launch_options_t &options) {
  constexpr size_t end = offsetof(sparsec_launch_options_t, packed) + sizeof(sparsec_packed_t);
  return options.size >= end ? options.packed : nullptr;
}

Status checkOptions(const sparsec_launch_options_t &options, sparsec_plan_t plan, const Problem &problem) {
  constexpr Subject subject = {"options"};
  SPARSEC_RETURN_IF_ERROR(checkStructSize(options, subject));
  if (options.flags != 0)
    return invalidArgument(subject, ": expects flags of 0, but got ", options.flags);
  if (!options.workspace)
    return {};
  if (int64_t bytes = plan ? workspaceBytes(*plan, problem, Keys::together) : 0;
      options.workspace_bytes < uint64_t(bytes))
    return invalidArgument(subject, ": expects workspace_bytes of at least ", bytes, ", but got ",
                           options.workspace_bytes);
  if (!isMultiple(uintptr_t(options.workspace), workspaceAlignment))
    return invalidArgument(subject, ": workspace is not aligned to ", workspaceAlignment, " bytes");
  return {};
}

} // namespace

Status prepareLaunch(const sparsec_kernel_s &kernel, sparsec_plan_t plan, const sparsec_argument_t *arguments,
                     size_t count, const sparsec_launch_options_t &options, std::optional<Launch> &outLaunch) {
  Problem problem;
  SPARSEC_RETURN_IF_ERROR(checkArguments(kernel, arguments, count, Use::launch, problem));
  if (plan)
    SPARSEC_RETURN_IF_ERROR(checkPlan(kernel, *plan, problem));
  SPARSEC_RETURN_IF_ERROR(checkOptions(options, plan, problem));
  const sparsec_packed_s *packed = packedOf(options);
  SPARSEC_RETURN_IF_ERROR(checkPacked(kernel, plan, packed));
  SPARSEC_RETURN_IF_ERROR(checkMemory(kernel, arguments));
  SPARSEC_RETURN_IF_ERROR(
      checkMemory(*kernel.module->device, "workspace", footprintOf(options.workspace, options.workspace_bytes)));
  if (problem.isEmpty())
    return {};
  size_t number = 0;
  const int64_t memory = options.workspace ? int64_t(std::min<uint64_t>(options.workspace_bytes, INT64_MAX)) : 0;
  SPARSEC_RETURN_IF_ERROR(chooseVariant(kernel, plan, arguments, problem, {memory, packed != nullptr}, number));
  const Variant &variant = kernel.variants[number];
  const VariantPlan *part = plan ? &plan->variants[number] : nullptr;
  outLaunch.emplace(Launch{kernel, variant, arguments, part, options.workspace, withParts(kernel, variant, problem),
                           isPacked(*variant.info) ? packed : nullptr,
                           plan ? std::span<const KnownList>(plan->lists) : std::span<const KnownList>()});
  return {};
}

StageLaunch stageOf(const Launch &launch, const Stage &stage) {
  const bool hasWindows = launch.plan && &stage == &launch.variant.first();
  TileGrid grid = tileGridOf(launch.kernel, *stage.info, launch.problem, hasWindows ? launch.plan->windows : 0);
  bool hasList = launch.plan && launch.plan->order == SPARSEC_TILE_ORDER_LISTS && &stage == &launch.variant.first();
  // The first tiles of periodic lists are those of the first workers: others would have nothing to do.
  int64_t workers = std::min(hasList ? launch.plan->workers : stage.residentWorkers, grid.tiles());
  StageLaunch result = {launch.kernel,    stage,          launch.variant.info,
                        launch.arguments, launch.problem, launch.plan,
                        launch.workspace, grid,           workers};
  result.packed = launch.packed;
  result.lists = launch.lists;
  result.mayStartEarly = (stage.info->flags & SPARSEC_STAGE_DEPENDENT_LAUNCH) != 0;
  return result;
}

/// Lets the kernel start before the one in front of it on the stream has ended.
static CUresult launchEarly(const StageLaunch &launch, unsigned ctas, ParameterPack &parameters, CUstream stream) {
  const sparsec_stage_info_t &info = *launch.stage.info;
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config = {};
  config.gridDimX = ctas;
  config.blockDimX = info.threads;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = info.dynamic_shared_memory;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return launch.kernel.module->device->cuda->cuLaunchKernelEx(&config, launch.stage.cudaFunction, parameters.pointers(),
                                                              nullptr);
}

Status runOnGpu(const StageLaunch &launch, ParameterPack &parameters, void *stream) {
  const sparsec_stage_info_t &info = *launch.stage.info;
  const CudaTable &cuda = *launch.kernel.module->device->cuda;
  auto ctas = unsigned(ctasOf(info, launch.workers));
  auto *cudaStream = static_cast<CUstream>(stream);
  const bool isEarly = launch.mayStartEarly && cuda.cuLaunchKernelEx;
  CUresult result = isEarly
                        ? launchEarly(launch, ctas, parameters, cudaStream)
                        : cuda.cuLaunchKernel(launch.stage.cudaFunction, ctas, 1, 1, info.threads, 1, 1,
                                              info.dynamic_shared_memory, cudaStream, parameters.pointers(), nullptr);
  return cudaStatus(cuda, result, "launching a kernel");
}

void runOnHost(const StageLaunch &launch, const ParameterPack &parameters) {
  launch.kernel.module->device->threads->run(launch.grid.tiles(), [&](int64_t begin, int64_t end) {
    launch.stage.hostFunction(parameters.hostSlots(), begin, end);
  });
}

namespace {

/// On the GPU everything that asks the driver, the encoding of tensor maps included, needs the device's context.
Status launchOnGpu(const StageLaunch &launch, void *stream) {
  ContextScope current(*launch.kernel.module->device);
  SPARSEC_RETURN_IF_ERROR(current.status());
  ParameterPack parameters;
  SPARSEC_RETURN_IF_ERROR(parameters.fill(launch));
  return runOnGpu(launch, parameters, stream);
}

Status launchOnHost(const StageLaunch &launch) {
  ParameterPack parameters;
  SPARSEC_RETURN_IF_ERROR(parameters.fill(launch));
  runOnHost(launch, parameters);
  return {};
}

Status launchKernel(const sparsec_kernel_s &kernel, sparsec_plan_t plan, const sparsec_argument_t *arguments,
                    size_t count, const sparsec_launch_options_t &options) {
  std::optional<Launch> launch;
  SPARSEC_RETURN_IF_ERROR(prepareLaunch(kernel, plan, arguments, count, options, launch));
  const std::span<const KnownList> known = plan ? std::span(plan->lists) : std::span<const KnownList>();
  SPARSEC_RETURN_IF_ERROR(checkListsForLaunch(kernel, arguments, known, options.stream));
  if (!launch)
    return {};
  SPARSEC_RETURN_IF_ERROR(checkValuesForLaunch(kernel, arguments, launch->problem, options.stream));
  for (const Stage &each : launch->variant.stages) {
    const StageLaunch stage = stageOf(*launch, each);
    SPARSEC_RETURN_IF_ERROR(checkTileCount(stage.grid));
    SPARSEC_RETURN_IF_ERROR(kernel.module->device->isHost() ? launchOnHost(stage) : launchOnGpu(stage, options.stream));
  }
  return {};
}

} // namespace

Status launchAuxiliary(StageLaunch launch, std::span<const void *const> inputs, int64_t lists, void *stream) {
  launch.inputs = inputs;
  launch.grid = {1, lists, 1};
  launch.workers = lists;
  return launchOnGpu(launch, stream);
}

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_launch(sparsec_kernel_t kernel, sparsec_plan_t plan, const sparsec_argument_t *arguments,
                                size_t argument_count, void *stream) {
  sparsec_launch_options_t options = {};
  options.size = sizeof(options);
  options.stream = stream;
  return sparsec_launch_with_options(kernel, plan, arguments, argument_count, &options);
}

sparsec_status_t sparsec_launch_with_options(sparsec_kernel_t kernel, sparsec_plan_t plan,
                                             const sparsec_argument_t *arguments, size_t argument_count,
                                             const sparsec_launch_options_t *options) {
  return guarded([&]() -> Status {
    if (!kernel || !options)
      return invalidArgument(kernel ? "options" : "kernel", " is NULL");
    return launchKernel(*kernel, plan, arguments, argument_count, *options);
  });
}
