// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/plan.h"
#include "plan/key_parts.h"
#include "plan/packed_matrix.h"

#include <algorithm>
#include <cstring>

namespace sparsec::runtime {

void SectionList::add(VariantPlan &variant, sparsec_plan_section_t section, const void *source, size_t bytes) {
  constexpr size_t alignment = SPARSEC_ALLOCATION_ALIGNMENT;
  // A section without elements has a place, too: a null pointer says that there is none.
  const size_t padded = std::max<size_t>((bytes + alignment - 1) / alignment, 1) * alignment;
  variant.bytes += padded;
  variant.sectionBytes[section] = bytes;
  const auto same = std::find_if(places.begin(), places.end(),
                                 [&](const Place &place) { return bytes != 0 && place.source == source; });
  if (same != places.end())
    return places.push_back({&variant.sections[section], same->offset, source, 0});
  places.push_back({&variant.sections[section], totalBytes, source, bytes});
  totalBytes += padded;
}

Status SectionList::upload(sparsec_plan_s &plan, const sparsec_plan_options_t &options) const {
  if (totalBytes == 0)
    return {};
  const Device &device = *plan.module->device;
  SPARSEC_RETURN_IF_ERROR(plan.memory.allocate(device, options.allocator, totalBytes, options.stream));
  for (const Place &place : places) {
    void *target = static_cast<char *>(plan.memory.data()) + place.offset;
    SPARSEC_RETURN_IF_ERROR(device.uploadAsync(target, place.source, place.bytes, options.stream));
    *place.section = target;
  }
  // Launches may go to other streams.
  return device.synchronize(options.stream);
}

TileGrid tileGridOf(const sparsec_kernel_s &kernel, const sparsec_stage_info_t &stage, const Problem &problem,
                    int64_t windows) {
  TileGrid grid = tileGrid(kernel, stage, problem);
  if (windows != 0)
    grid.tileRows = windows;
  return grid;
}

void setWindows(const sparsec_kernel_s &kernel, const Variant &variant, const Problem &problem, int64_t windows,
                int64_t columns, VariantPlan &part) {
  part.windows = windows;
  part.columns = columns;
  if (!isKnown(part.tiles))
    return;
  part.tiles = tileGridOf(kernel, *variant.first().info, withParts(kernel, variant, problem), windows).tiles();
  part.workers = std::min(variant.first().residentWorkers, part.tiles);
}

VariantPlan planWithoutSections(const sparsec_kernel_s &kernel, const Variant &variant, const Problem &problem) {
  VariantPlan part;
  if (!isComplete(operationOf(kernel), problem))
    return part;
  const Device &device = *kernel.module->device;
  const Stage &stage = variant.first();
  part.tiles = tileGrid(kernel, *stage.info, withParts(kernel, variant, problem)).tiles();
  part.workers = std::min(device.isHost() ? int64_t(device.threads->size()) : stage.residentWorkers, part.tiles);
  return part;
}

sparsec_tile_order_t orderWithoutLists(const sparsec_kernel_s &kernel, const Variant &variant) {
  return hasTileCounter(kernel, *variant.info) ? SPARSEC_TILE_ORDER_COUNTER : SPARSEC_TILE_ORDER_FIXED;
}

Status checkTileCounts(const sparsec_kernel_s &kernel, const Problem &problem) {
  if (!isComplete(operationOf(kernel), problem))
    return {};
  for (const Variant &variant : kernel.variants)
    if (hasTilesFor(kernel, variant, problem))
      SPARSEC_RETURN_IF_ERROR(checkTileCount(tileGrid(kernel, *variant.first().info, problem)));
  return {};
}

bool takesPeriod(const sparsec_kernel_s &kernel, const Stage &stage) {
  bool takesIt = false;
  for (const sparsec_parameter_info_t &parameter : kernel.module->info.parametersOf(*stage.info))
    takesIt |= parameter.source == SPARSEC_SOURCE_PERIOD;
  return takesIt;
}

std::unique_ptr<sparsec_plan_s> newPlan(sparsec_kernel_s &kernel) {
  auto plan = std::make_unique<sparsec_plan_s>();
  plan->kernel = &kernel;
  plan->module = kernel.module->shared_from_this();
  return plan;
}

Status checkPlanSizes(const sparsec_plan_s &plan, const Problem &problem, const char *what,
                      sparsec_status_code_t code) {
  const Operation &operation = operationOf(*plan.kernel);
  for (const NamedSize &each : operation.planSizes) {
    int64_t known = plan.problem.*each.size, asked = problem.*each.size;
    if (isKnown(known) && isKnown(asked) && known != asked)
      return makeStatus(code, "plan is for ", describeSizes(operation, plan.problem), ", but ", what,
                        describeSizes(operation, problem));
  }
  return {};
}

Status checkPlan(const sparsec_kernel_s &kernel, const sparsec_plan_s &plan, const Problem &problem) {
  if (plan.module.get() != kernel.module)
    return invalidArgument("plan is for a kernel of another module, '", plan.kernel->info->name,
                           "': a plan serves the kernel that it was made with");
  if (plan.kernel != &kernel)
    return invalidArgument("plan is for kernel '", plan.kernel->info->name, "', but the launch is of kernel '",
                           kernel.info->name, "'");
  return checkPlanSizes(plan, problem, "the launch has ");
}

WorkspaceUse useOf(const VariantPlan &part, const Stage &stage) {
  return {part.order, isKnown(part.workers) ? ctasOf(*stage.info, part.workers) : SPARSEC_DYNAMIC};
}

int64_t workspaceBytes(const sparsec_plan_s &plan, const Problem &problem, size_t variant) {
  const VariantPlan &part = plan.variants[variant];
  const sparsec_variant_info_t &info = *plan.kernel->variants[variant].info;
  const uint32_t count = part.hasWorkspaces ? info.workspace_count : 0;
  return workspaceBytes(*plan.kernel, info, useOf(part, plan.kernel->variants[variant].first()), problem, count);
}

static Problem problemOf(const sparsec_plan_s &plan, const Problem &problem, size_t variant) {
  return withParts(*plan.kernel, plan.kernel->variants[variant], problem);
}

int64_t workspaceBytes(const sparsec_plan_s &plan, const Problem &problem, Keys keys) {
  int64_t largest = 0;
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    int64_t bytes = workspaceBytes(plan, keys == Keys::inParts ? problemOf(plan, problem, i) : problem, i);
    if (!isKnown(bytes))
      return SPARSEC_DYNAMIC;
    largest = std::max(largest, bytes);
  }
  return largest;
}

} // namespace sparsec::runtime

using namespace sparsec::runtime;

void sparsec_plan_destroy(sparsec_plan_t plan) { delete plan; }

sparsec_status_t sparsec_plan_info(sparsec_plan_t plan, size_t variant, sparsec_plan_info_t *out_info) {
  return guarded([&]() -> Status {
    SPARSEC_RETURN_IF_ERROR(startOutput(out_info, "out_info"));
    if (!plan)
      return invalidArgument("plan is NULL");
    if (variant >= plan->variants.size())
      return invalidArgument("variant is ", variant, ", but the kernel has ", plan->variants.size());
    const VariantPlan &part = plan->variants[variant];
    sparsec_plan_info_t info = {};
    info.order = part.order;
    info.workers = part.workers;
    info.tiles = part.tiles;
    info.bytes = int64_t(part.bytes);
    info.workspace_bytes = workspaceBytes(*plan, problemOf(*plan, plan->problem, variant), variant);
    info.balance = part.balance;
    info.milliseconds = plan->milliseconds;
    info.windows = part.windows;
    info.columns = part.columns;
    std::memcpy(info.reason, part.reason, sizeof(info.reason));
    info.packed_bytes = int64_t(packedBytes(*plan->kernel, plan->kernel->variants[variant], part));
    fillOutput(*out_info, info);
    return {};
  });
}

sparsec_status_t sparsec_plan_workspace_bytes(sparsec_plan_t plan, const sparsec_argument_t *arguments,
                                              size_t argument_count, size_t *out_bytes) {
  return guarded([&]() -> Status {
    if (!out_bytes)
      return invalidArgument("out_bytes is NULL");
    *out_bytes = 0;
    if (!plan)
      return invalidArgument("plan is NULL");
    Problem problem = plan->problem;
    if (argument_count != 0) {
      SPARSEC_RETURN_IF_ERROR(checkArguments(*plan->kernel, arguments, argument_count, Use::plan, problem));
      SPARSEC_RETURN_IF_ERROR(checkPlanSizes(*plan, problem, "the arguments have "));
      for (const NamedSize &each : operationOf(*plan->kernel).planSizes)
        if (!isKnown(problem.*each.size))
          problem.*each.size = plan->problem.*each.size;
    }
    int64_t bytes = workspaceBytes(*plan, problem, Keys::inParts);
    if (!isKnown(bytes))
      return invalidArgument("the workspace's size is open: plan",
                             argument_count != 0 ? " and arguments have " : " has ",
                             describeSizes(operationOf(*plan->kernel), problem));
    *out_bytes = size_t(bytes);
    return {};
  });
}
