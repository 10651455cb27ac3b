// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-select-schedule: chooses tiles and stages for every kernel and writes them as an attribute. The choice itself
// is in Candidates.h, Fit.h and CostModel.h. Remarks (--remarks-filter=sparsec-select-schedule) tell how it came about.

#include "AttentionSchedule.h"
#include "Candidates.h"
#include "Passes.h"
#include "ScheduleAttribute.h"
#include "TargetInfo.h"

#include "mlir/IR/Remarks.h"
#include <fmt/format.h>

namespace sparsec {
#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "Passes.h.inc"
} // namespace sparsec

using namespace mlir;
using namespace sparsec;

static remark::RemarkOpts remarkOf(KernelOp kernel, llvm::StringRef name) {
  return remark::RemarkOpts::name(name).category("sparsec-select-schedule").function(kernel.getSymName());
}

/// Lists all candidates and says why the first one won.
static void explain(KernelOp kernel, const std::vector<Candidate> &candidates, int64_t alignment) {
  if (!kernel.getContext()->getRemarkEngine())
    return;
  for (const Candidate &candidate : candidates) {
    std::string text = toString(candidate.schedule) + ": ";
    if (candidate.fit.ok())
      remark::analysis(kernel.getLoc(), remarkOf(kernel, "candidate")) << text + toString(candidate.cost);
    else
      remark::failed(kernel.getLoc(), remarkOf(kernel, "candidate")) << text + candidate.fit.message;
  }
  const Candidate &winner = candidates.front();
  std::string text = fmt::format("chose {} for pointers and strides that are multiples of {} bytes: {}",
                                 toString(winner.schedule), alignment, toString(winner.cost));
  if (candidates.size() > 1 && candidates[1].fit.ok())
    text += fmt::format(", {:.1f} % less time than {}", 100 * (1 - winner.cost.clocks / candidates[1].cost.clocks),
                        toString(candidates[1].schedule));
  remark::passed(kernel.getLoc(), remarkOf(kernel, "choice")) << text;
}

/// Checks a schedule that was written by hand.
static LogicalResult check(KernelOp kernel, llvm::StringRef name, const Schedule &schedule,
                           const ProblemDescription &problem, const Chip &chip) {
  Fit fit = checkFit(schedule, problem, chip, Origin::HandWritten);
  return fit.ok() ? success() : kernel.emitOpError() << name << " " << fit.message;
}

static Schedule choose(KernelOp kernel, const ProblemDescription &problem, const Chip &chip, int64_t alignment) {
  std::vector<Candidate> candidates = rankCandidates(problem, chip, alignment);
  // The unit tests walk all blocks that the dialect accepts.
  assert(!candidates.empty() && candidates.front().fit.ok() && "some candidate fits every block");
  explain(kernel, candidates, alignment);
  return candidates.front().schedule;
}

static LogicalResult selectSchedules(KernelOp kernel, const ProblemDescription &problem, const Chip &chip) {
  MLIRContext *context = kernel.getContext();
  if (auto attribute = kernel.getScheduleAttr()) {
    if (failed(check(kernel, "schedule", toSchedule(attribute), problem, chip)))
      return failure();
  } else {
    kernel.setScheduleAttr(toAttribute(context, choose(kernel, problem, chip, /*alignment=*/16)));
  }

  if (auto attribute = kernel.getFallbackScheduleAttr()) {
    Schedule fallback = toSchedule(attribute);
    if (fallback.copy != CopyMethod::Gather)
      return kernel.emitOpError() << "fallback_schedule expects copy = gather, but got " << name(fallback.copy);
    return check(kernel, "fallback_schedule", fallback, problem, chip);
  }
  if (requiredAlignment(toSchedule(kernel.getScheduleAttr()), problem.elementBytes) > problem.elementBytes)
    kernel.setFallbackScheduleAttr(toAttribute(context, choose(kernel, problem, chip, problem.elementBytes)));
  return success();
}

/// Attention has one schedule for a problem and a chip.
static LogicalResult selectSchedule(KernelOp kernel, AttentionOp attention, const Chip &chip) {
  AttentionDescription problem = describeProblem(attention);
  if (!kernel.getSchedule())
    kernel.setScheduleAttr(toAttribute(kernel.getContext(), chooseAttentionSchedule(problem, chip)));
  if (kernel.getFallbackSchedule())
    return kernel.emitOpError("expects no fallback_schedule: attention has one variant");
  Fit fit = checkAttentionFit(toSchedule(kernel.getScheduleAttr()), problem, chip);
  return fit.ok() ? success() : kernel.emitOpError() << "schedule " << fit.message;
}

namespace {
struct SelectSchedule : sparsec::impl::SelectSchedulePassBase<SelectSchedule> {
  using SelectSchedulePassBase::SelectSchedulePassBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    if (!(expectDensity > 0 && expectDensity <= 1))
      return module.emitError("expects expect-density to be above 0 and at most 1, but got ") << double(expectDensity);
    if (expectN < 0)
      return module.emitError("expects expect-n to be 0 or more, but got ") << int64_t(expectN);
    auto target = module->getAttrOfType<TargetAttr>("sparsec.target");
    if (!target)
      return module.emitError("expects the attribute sparsec.target; sparsec-attach-target writes it");
    if (target.getChip() == llvm::StringRef(hostTarget))
      return success();
    const Chip *chip = findChip(target.getChip());
    if (!chip)
      return module.emitError("expects the chip to be one of ")
             << knownTargets() << ", but got \"" << target.getChip() << "\"";
    for (auto kernel : module.getOps<KernelOp>()) {
      LogicalResult selected = success();
      if (auto attention = dyn_cast<AttentionOp>(kernel.getAnchor()))
        selected = selectSchedule(kernel, attention, *chip);
      else
        selected = selectSchedules(kernel, withHints(describeProblem(cast<SpmmOp>(kernel.getAnchor()))), *chip);
      if (failed(selected))
        return failure();
    }
    return success();
  }

  ProblemDescription withHints(ProblemDescription problem) {
    problem.density = expectDensity;
    if (expectN > 0)
      problem.n = expectN;
    return problem;
  }
};
} // namespace
