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

static Schedule choose(KernelOp kernel, const ProblemDescription &problem, const Chip &chip, int64_t alignment) {
  std::vector<Candidate> candidates = rankCandidates(problem, chip, alignment);
  // The unit tests walk all blocks that the dialect accepts.
  assert(!candidates.empty() && candidates.front().fit.ok() && "some candidate fits every block");
  explain(kernel, candidates, alignment);
  return candidates.front().schedule;
}

namespace {
/// What the two schedules of a kernel are chosen and checked by.
struct Problem {
  int64_t elementBytes;
  llvm::function_ref<Schedule(int64_t alignment)> choose;
  llvm::function_ref<Fit(const Schedule &)> check; // of one that may be written by hand
};
} // namespace

/// The schedule for 16-byte alignment, and one for any where it needs that.
static LogicalResult selectSchedules(KernelOp kernel, const Problem &problem) {
  auto check = [&](llvm::StringRef name, const Schedule &schedule) -> LogicalResult {
    Fit fit = problem.check(schedule);
    return fit.ok() ? success() : kernel.emitOpError() << name << " " << fit.message;
  };
  MLIRContext *context = kernel.getContext();
  if (!kernel.getSchedule())
    kernel.setScheduleAttr(toAttribute(context, problem.choose(/*alignment=*/16)));
  Schedule schedule = toSchedule(kernel.getScheduleAttr());
  if (failed(check("schedule", schedule)))
    return failure();

  if (auto attribute = kernel.getFallbackScheduleAttr()) {
    Schedule fallback = toSchedule(attribute);
    if (fallback.copy != CopyMethod::Gather)
      return kernel.emitOpError() << "fallback_schedule expects copy = gather, but got " << name(fallback.copy);
    return check("fallback_schedule", fallback);
  }
  if (requiredAlignment(schedule, problem.elementBytes) > problem.elementBytes)
    kernel.setFallbackScheduleAttr(toAttribute(context, problem.choose(problem.elementBytes)));
  return success();
}

static LogicalResult selectSchedules(KernelOp kernel, const ProblemDescription &problem, const Chip &chip) {
  return selectSchedules(
      kernel, {problem.elementBytes, [&](int64_t alignment) { return choose(kernel, problem, chip, alignment); },
               [&](const Schedule &schedule) { return checkFit(schedule, problem, chip, Origin::HandWritten); }});
}

static LogicalResult selectSchedules(KernelOp kernel, const AttentionDescription &problem, const Chip &chip) {
  return selectSchedules(kernel,
                         {problem.elementBytes,
                          [&](int64_t alignment) { return chooseAttentionSchedule(problem, chip, alignment); },
                          [&](const Schedule &schedule) { return checkAttentionFit(schedule, problem, chip); }});
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
        selected = selectSchedules(kernel, describeProblem(attention), *chip);
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
