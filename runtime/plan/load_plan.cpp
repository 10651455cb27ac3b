// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads saved plans: the outside of the bytes, the kernel and the device that they are for, every section, and last the
// arguments of the caller.
#include "plan/host_lists.h"
#include "plan/section_check.h"

#include <chrono>
#include <cstring>

namespace sparsec::runtime {

namespace {

/// Whether the plan is for this kernel, as it was compiled, on this device.
Status checkKernel(const sparsec_kernel_s &kernel, const SavedPlan &saved) {
  const SavedPlanHeader &header = saved.header();
  const Module &module = *kernel.module;
  if (std::strcmp(header.kernel, kernel.info->name) != 0)
    return invalidPlan("it is for kernel '", header.kernel, "', not for '", kernel.info->name, "'");
  if (std::strcmp(header.target, module.info.header().target) != 0)
    return invalidPlan("it is for target ", header.target, ", but the kernel is for ", module.info.header().target);
  if (header.launchInfoChecksum != module.info.header().checksum)
    return invalidPlan("it is for another compile of kernel '", kernel.info->name, "': make the plan again");
  if (header.variantCount != kernel.variants.size())
    return invalidPlan("it has ", header.variantCount, " variants, but the kernel has ", kernel.variants.size());
  const int32_t multiprocessors = module.device->isHost() ? 0 : module.device->info.multiprocessors;
  if (header.multiprocessors != uint32_t(multiprocessors))
    return invalidPlan("it is for a GPU with ", header.multiprocessors, " SMs, but this one has ", multiprocessors);
  for (size_t i = 0; i < kernel.variants.size(); ++i)
    if (const int64_t workers = kernel.variants[i].first().residentWorkers;
        saved.variants()[i].residentWorkers != workers)
      return invalidPlan("variant ", i, " had ", saved.variants()[i].residentWorkers,
                         " workers at once where the plan was made, but has ", workers, " here");
  return {};
}

/// Sizes that a launch may have, and that the kernel itself has.
Status checkSizes(const sparsec_kernel_s &kernel, const Problem &problem) {
  for (ProblemSize size : savedSizes)
    if (isKnown(problem.*size) && (problem.*size < 0 || problem.*size > maxSize))
      return invalidPlan("expects sizes of 0 to ", maxSize, ", but got ", problem.*size);
  const std::vector<sparsec_argument_t> open(kernel.info->argument_count);
  const Problem fixed = problemOfPlan(kernel, problemOf(kernel, open.data()));
  for (ProblemSize size : savedSizes)
    if (isKnown(fixed.*size) && problem.*size != fixed.*size)
      return invalidPlan("it is for a size of ", problem.*size, ", but the kernel fixes it to ", fixed.*size);
  if (const Status status = checkTileCounts(kernel, problem))
    return invalidPlan(status->message);
  return {};
}

/// The lists that launches must have.
Status readKnownLists(const sparsec_kernel_s &kernel, std::span<const SavedList> saved, KnownLists &outLists) {
  for (const SavedList &list : saved) {
    if (list.argument >= kernel.info->argument_count || !isBlocks(kernel.argument(list.argument).kind))
      return invalidPlan("it knows lists of argument ", list.argument, ", which has none");
    if (findList(outLists, list.argument))
      return invalidPlan("it knows lists of argument ", list.argument, " twice");
    if (list.blocks < 0 || list.blocks > INT32_MAX)
      return invalidPlan("it knows ", list.blocks, " blocks of argument ", list.argument);
    outLists.push_back({list.argument, list.checksum, list.blocks, {}});
  }
  return {};
}

/// Whether the arguments of the caller are those of the plan, as far as he says what they are. The plan then knows
/// where their lists are.
Status checkCaller(sparsec_plan_s &plan, const sparsec_plan_options_t &options) {
  const sparsec_kernel_s &kernel = *plan.kernel;
  const PlanArguments arguments(kernel, options);
  Problem problem;
  SPARSEC_RETURN_IF_ERROR(checkArguments(kernel, arguments.data(), arguments.size(), Use::plan, problem));
  SPARSEC_RETURN_IF_ERROR(checkPlanSizes(plan, problem, "the arguments have ", SPARSEC_STATUS_INVALID_PLAN));
  if (plan.lists.empty())
    return {};
  HostLists lists;
  SPARSEC_RETURN_IF_ERROR(lists.read(kernel, arguments.data(), options.stream));
  const KnownLists ofCaller = lists.known();
  for (KnownList &known : plan.lists) {
    const KnownList *given = findList(ofCaller, known.argument);
    if (!given)
      continue;
    if (known.checksum != given->checksum)
      return invalidPlan("it is for other index arrays than those of argument ", known.argument, " '",
                         kernel.argument(known.argument).name, "'");
    known.memory = given->memory;
  }
  return {};
}

/// Checks the sections of a variant and hands them to the list.
Status loadVariant(sparsec_plan_s &plan, const SavedPlan &saved, size_t number, SectionList &sections) {
  const sparsec_kernel_s &kernel = *plan.kernel;
  const SavedVariant &variant = saved.variants()[number];
  const SectionSet set = saved.sectionsOf(number);
  VariantPlan &part = plan.variants[number];
  part = planWithoutSections(kernel, kernel.variants[number], plan.problem);
  part.balance = variant.balance;
  std::memcpy(part.reason, variant.reason, sizeof(part.reason));
  SPARSEC_RETURN_IF_ERROR(checkSections({kernel, number, plan.problem, set, plan.lists}, variant.period, part));
  const int64_t workers = plan.module->device->isHost() ? 0 : part.workers;
  if (variant.order != uint32_t(part.order) || variant.workers != workers || variant.tiles != part.tiles ||
      variant.windows != part.windows || variant.columns != part.columns)
    return invalidPlan("what it says of variant ", number, " is not what its sections say");
  for (uint32_t section = 0; section < planSectionCount; ++section)
    if (set[section])
      sections.add(part, sparsec_plan_section_t(section), set[section]->data(), set[section]->size());
  return {};
}

Status readOptions(const sparsec_plan_options_t *given, sparsec_plan_options_t &options) {
  options = {};
  if (given)
    SPARSEC_RETURN_IF_ERROR(readStruct(*given, {"options"}, options));
  if (options.flags != 0)
    return invalidArgument("options: expects flags of 0, because a saved plan has its own, but got ", options.flags);
  return checkAllocator(options.allocator, {"allocator"});
}

Status loadPlan(sparsec_kernel_s &kernel, Bytes bytes, const sparsec_plan_options_t *given,
                std::unique_ptr<sparsec_plan_s> &outPlan) {
  auto begin = std::chrono::steady_clock::now();
  sparsec_plan_options_t options;
  SPARSEC_RETURN_IF_ERROR(readOptions(given, options));
  SavedPlan saved;
  SPARSEC_RETURN_IF_ERROR(SavedPlan::read(bytes, saved));
  SPARSEC_RETURN_IF_ERROR(checkKernel(kernel, saved));
  auto plan = newPlan(kernel);
  plan->problem = saved.problem();
  SPARSEC_RETURN_IF_ERROR(checkSizes(kernel, plan->problem));
  SPARSEC_RETURN_IF_ERROR(readKnownLists(kernel, saved.lists(), plan->lists));
  plan->variants.resize(kernel.variants.size());
  SectionList sections;
  for (size_t i = 0; i < plan->variants.size(); ++i)
    SPARSEC_RETURN_IF_ERROR(loadVariant(*plan, saved, i, sections));
  SPARSEC_RETURN_IF_ERROR(checkCaller(*plan, options));
  SPARSEC_RETURN_IF_ERROR(sections.upload(*plan, options));
  plan->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  outPlan = std::move(plan);
  return {};
}

} // namespace

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_plan_load(sparsec_kernel_t kernel, const void *data, size_t bytes,
                                   const sparsec_plan_options_t *options, sparsec_plan_t *out_plan) {
  return guarded([&]() -> Status {
    if (!out_plan)
      return invalidArgument("out_plan is NULL");
    *out_plan = nullptr;
    if (!kernel || !data)
      return invalidArgument(kernel ? "data" : "kernel", " is NULL");
    std::unique_ptr<sparsec_plan_s> plan;
    SPARSEC_RETURN_IF_ERROR(loadPlan(*kernel, {static_cast<const uint8_t *>(data), bytes}, options, plan));
    *out_plan = plan.release();
    return {};
  });
}
