// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScheduleAttempts.h"

#include "LaunchInfoWriter.h"
#include "ScheduleAttribute.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace sparsec;

/// The attributes of a kernel that belong to its variants: those of a schedule, and of what has been refused.
static constexpr StringLiteral scheduleAttributes[] = {"schedule",         "fallback_schedule", "planned_schedules",
                                                       "narrow_schedules", "packed_schedules",  "split_schedules"};
static constexpr StringLiteral refusedAttributes[] = {
    refusedSchedulesAttribute,       refusedFallbackSchedulesAttribute, refusedPlannedSchedulesAttribute,
    refusedNarrowSchedulesAttribute, refusedPackedSchedulesAttribute,   refusedSplitSchedulesAttribute};
static constexpr size_t plannedAttribute = 2, narrowAttribute = 3, packedAttribute = 4, splitAttribute = 5;

using Visit = llvm::function_ref<void(StringRef kernel, size_t attribute, const sparsec_variant_info_t &variant,
                                      Records<sparsec_stage_info_t> stages)>;

static void forEachVariant(ArrayRef<char> launchInfo, Visit visit) {
  const auto &info = *reinterpret_cast<const sparsec_launch_info_t *>(launchInfo.data());
  auto variants = recordsOf<sparsec_variant_info_t>(info);
  auto stages = recordsOf<sparsec_stage_info_t>(info);
  for (const sparsec_kernel_info_t &kernel : recordsOf<sparsec_kernel_info_t>(info))
    for (uint32_t number = 0, unplanned = 0; number < kernel.variant_count; ++number) {
      const sparsec_variant_info_t &variant = variants[kernel.variant_first + number];
      size_t attribute = variant.most_panels != 0                                   ? narrowAttribute
                         : variant.packed_block_rows != 0                           ? packedAttribute
                         : variant.part_keys != 0 && variant.required_sections != 0 ? splitAttribute
                         : variant.part_keys != 0 || (variant.required_sections & 1u << SPARSEC_PLAN_CUT_TILES) != 0
                             ? 0 // the schedule of the variant for whole tiles
                         : variant.required_sections != 0 ? plannedAttribute
                                                          : unplanned++;
      visit(kernel.name, attribute, variant, stages.slice(variant.stage_first, variant.stage_count));
    }
}

/// Whether a problem is that of a stage, or of the file as a whole.
static bool concerns(const PtxasProblem &problem, Records<sparsec_stage_info_t> stages) {
  if (problem.symbol.empty())
    return true;
  for (const sparsec_stage_info_t &stage : stages)
    if (problem.symbol == stage.symbol)
      return true;
  return false;
}

void ScheduleAttempts::apply(ModuleOp copy) const {
  Builder builder(copy.getContext());
  for (const auto &[key, variant] : variants) {
    auto kernel = copy.lookupSymbol<KernelOp>(key.first);
    if (variant.byHand)
      kernel->removeAttr(scheduleAttributes[key.second]);
    if (variant.byHand && key.second == packedAttribute)
      kernel.removePackedBlockAttr();
    // A kernel has several narrow schedules at a time, of which some may be refused.
    auto refused = llvm::map_to_vector(variant.chosen, [&, &key = key](const Refusal &refusal) {
      return StringRef(key.second == narrowAttribute ? refusal.schedule : refusal.reason);
    });
    if (!refused.empty())
      kernel->setAttr(refusedAttributes[key.second], builder.getStrArrayAttr(refused));
  }
}

/// All problems of a variant are one reason.
bool ScheduleAttempts::refuse(ArrayRef<PtxasProblem> problems, ArrayRef<char> launchInfo) {
  bool isOneLeft = false;
  forEachVariant(launchInfo, [&](StringRef kernel, size_t attribute, const auto &variant, auto stages) {
    std::string reason;
    for (const PtxasProblem &problem : problems)
      if (concerns(problem, stages))
        reason += (reason.empty() ? "" : "; ") + problem.reason;
    if (!reason.empty())
      isOneLeft |= refuse({kernel.str(), attribute}, {variant.schedule, reason});
  });
  return isOneLeft;
}

/// sparsec-select-schedule stays with the last schedule of its list.
bool ScheduleAttempts::refuse(const Key &key, const Refusal &refusal) {
  Variant &variant = variants[key];
  bool isByHand = source.lookupSymbol<KernelOp>(key.first)->hasAttr(scheduleAttributes[key.second]);
  if (isByHand && !variant.byHand) {
    variant.byHand = refusal;
    return true;
  }
  if (!variant.chosen.empty() && variant.chosen.back().schedule == refusal.schedule)
    return false;
  variant.chosen.push_back(refusal);
  return true;
}

LogicalResult ScheduleAttempts::reportRefusalsByHand(ArrayRef<char> launchInfo) {
  LogicalResult result = success();
  for (const auto &[key, variant] : variants) {
    if (!variant.byHand)
      continue;
    std::string instead;
    forEachVariant(launchInfo, [&, &key = key](StringRef kernel, size_t attribute, const auto &other, auto /*stages*/) {
      if (kernel == key.first && attribute == key.second)
        instead = std::string(", such as ") + other.schedule + ",";
    });
    result = source.lookupSymbol<KernelOp>(key.first).emitOpError()
             << scheduleAttributes[key.second] << " expects one that ptxas takes" << instead << " but got "
             << variant.byHand->schedule << ": " << variant.byHand->reason;
  }
  return result;
}

std::string sparsec::describe(const PtxasProblem &problem, ArrayRef<char> launchInfo) {
  std::string kernel;
  forEachVariant(launchInfo, [&](StringRef, size_t, const auto &variant, auto stages) {
    if (concerns(problem, stages))
      kernel += std::string("kernel ") + stages[0].symbol + " (schedule " + variant.schedule + "): ";
  });
  return (kernel.empty() ? "kernel " + problem.symbol + ": " : kernel) + problem.reason;
}
