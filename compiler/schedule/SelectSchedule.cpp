// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-select-schedule: chooses tiles and stages for every kernel and writes them as an attribute. The choice itself
// is in Candidates.h, AttentionCandidates.h, Fit.h and CostModel.h. A remark for each kernel tells how it came about.

#include "AttentionCandidates.h"
#include "CandidateTable.h"
#include "HostSchedule.h"
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

namespace {
/// The schedules of one kernel.
class Selection {
public:
  Selection(KernelOp kernel, int64_t elementBytes) : kernel(kernel), elementBytes(elementBytes) {}
  virtual ~Selection() = default;

  LogicalResult run();

protected:
  virtual std::vector<Candidate> rank(int64_t alignment) const = 0;
  /// Those for launches with a plan; the operation may have none.
  virtual std::vector<Schedule> planned() const { return {}; }
  /// Returns the schedules for launches whose width fits in one tile; the operation may have none.
  virtual std::vector<Schedule> narrow() const { return {}; }
  /// Returns the block of packed values; the operation may have none.
  virtual std::optional<PackedBlock> packed() const { return std::nullopt; }
  /// Returns the schedules for launches with packed values.
  virtual std::vector<Schedule> packedWith(PackedBlock /*block*/) const { return {}; }
  /// Says whether a schedule fits the problem and the chip. It may be written by hand.
  virtual Fit check(const Schedule &schedule) const = 0;
  /// The same of a schedule for packed values.
  virtual Fit checkPacked(const Schedule &schedule, PackedBlock /*block*/) const { return check(schedule); }

private:
  LogicalResult runPlanned();
  LogicalResult runNarrow();
  LogicalResult runPacked();
  LogicalResult expectFits(llvm::StringRef attribute, ArrayAttr schedules);
  ArrayAttr toArray(llvm::ArrayRef<Schedule> schedules);
  ScheduleAttr choose(int64_t alignment, ArrayAttr refused);
  void tabulate(const std::vector<Candidate> &candidates, const std::vector<size_t> &attempts, size_t attempt,
                ArrayAttr refused, int64_t alignment);
  LogicalResult expectFit(llvm::StringRef attribute, const Schedule &schedule);

  KernelOp kernel;
  int64_t elementBytes;
  std::string table; // for a remark
};

/// For a kernel that a description tells about.
template <typename Description> class SelectionFor : public Selection {
public:
  SelectionFor(KernelOp kernel, const Description &problem, const Chip &chip)
      : Selection(kernel, bytesOf(problem.elementType)), problem(problem), chip(chip) {}

protected:
  std::vector<Candidate> rank(int64_t alignment) const override { return rankCandidates(problem, chip, alignment); }
  Fit check(const Schedule &schedule) const override { return checkFit(schedule, problem, chip, Origin::HandWritten); }

  const Description problem;
  const Chip &chip;
};

/// For a kernel of sparsec.spmm, which has schedules of all kinds.
class ProductSelection : public SelectionFor<ProblemDescription> {
public:
  using SelectionFor::SelectionFor;

private:
  std::vector<Schedule> planned() const override { return plannedSchedules(problem, chip); }
  std::vector<Schedule> narrow() const override { return narrowSchedules(problem, chip); }
  std::optional<PackedBlock> packed() const override { return packedBlock(problem); }
  std::vector<Schedule> packedWith(PackedBlock block) const override {
    return packedSchedules(withPackedBlocks(problem, block), chip);
  }
  Fit checkPacked(const Schedule &schedule, PackedBlock block) const override {
    return checkFit(schedule, withPackedBlocks(problem, block), chip, Origin::HandWritten);
  }
};
} // namespace

/// A schedule written by hand is the only one beside the fallback, unless others are written by hand too.
LogicalResult Selection::runPlanned() {
  auto refused = cast_or_null<ArrayAttr>(kernel->removeDiscardableAttr(refusedPlannedSchedulesAttribute));
  if (!kernel.getPlannedSchedules() && !kernel.getSchedule()) {
    std::vector<Schedule> all = planned();
    kernel.setPlannedSchedulesAttr(
        toArray(ArrayRef(all).drop_front(std::min(refused ? refused.size() : 0, all.size()))));
  }
  return expectFits("planned_schedules", kernel.getPlannedSchedulesAttr());
}

/// Narrow schedules follow the same rule. If ptxas has refused one of them, the kernel does without all of them.
LogicalResult Selection::runNarrow() {
  auto refused = cast_or_null<ArrayAttr>(kernel->removeDiscardableAttr(refusedNarrowSchedulesAttribute));
  if (!kernel.getNarrowSchedules() && !kernel.getSchedule() && !refused)
    kernel.setNarrowSchedulesAttr(toArray(narrow()));
  return expectFits("narrow_schedules", kernel.getNarrowSchedulesAttr());
}

/// So do schedules for packed values.
LogicalResult Selection::runPacked() {
  auto refused = cast_or_null<ArrayAttr>(kernel->removeDiscardableAttr(refusedPackedSchedulesAttribute));
  std::optional<PackedBlock> block = packed();
  if (block && !kernel.getPackedSchedules() && !kernel.getSchedule() && !refused)
    if (ArrayAttr schedules = toArray(packedWith(*block))) {
      kernel.setPackedSchedulesAttr(schedules);
      kernel.setPackedBlock(std::array<int64_t, 2>{block->rows, block->columns});
    }
  ArrayAttr schedules = kernel.getPackedSchedulesAttr();
  if (!schedules)
    return success();
  ArrayRef<int64_t> sides = *kernel.getPackedBlock();
  for (auto schedule : schedules.getAsRange<ScheduleAttr>())
    if (Fit fit = checkPacked(toSchedule(schedule), {sides[0], sides[1]}); !fit.ok())
      return kernel.emitOpError() << "packed_schedules " << fit.message;
  return success();
}

/// Null where there is none.
ArrayAttr Selection::toArray(llvm::ArrayRef<Schedule> schedules) {
  auto attributes = llvm::map_to_vector(
      schedules, [&](const Schedule &schedule) -> Attribute { return toAttribute(kernel.getContext(), schedule); });
  return attributes.empty() ? ArrayAttr() : ArrayAttr::get(kernel.getContext(), attributes);
}

LogicalResult Selection::expectFits(llvm::StringRef attribute, ArrayAttr schedules) {
  if (schedules)
    for (auto schedule : schedules.getAsRange<ScheduleAttr>())
      if (failed(expectFit(attribute, toSchedule(schedule))))
        return failure();
  return success();
}

/// The schedule for 16-byte alignment, and one for any where it needs that.
LogicalResult Selection::run() {
  if (failed(runPlanned()) || failed(runNarrow()) || failed(runPacked()))
    return failure();
  auto refused = cast_or_null<ArrayAttr>(kernel->removeDiscardableAttr(refusedSchedulesAttribute));
  auto refusedFallbacks = cast_or_null<ArrayAttr>(kernel->removeDiscardableAttr(refusedFallbackSchedulesAttribute));
  if (!kernel.getSchedule())
    kernel.setScheduleAttr(choose(/*alignment=*/16, refused));
  Schedule schedule = toSchedule(kernel.getScheduleAttr());
  if (failed(expectFit("schedule", schedule)))
    return failure();

  if (auto attribute = kernel.getFallbackScheduleAttr()) {
    Schedule fallback = toSchedule(attribute);
    if (fallback.copy != CopyMethod::Scalar)
      return kernel.emitOpError() << "fallback_schedule expects copy = scalar, but got " << infoOf(fallback.copy).name;
    if (failed(expectFit("fallback_schedule", fallback)))
      return failure();
  } else if (requiredAlignment(schedule, elementBytes) > elementBytes && !rank(elementBytes).empty()) {
    kernel.setFallbackScheduleAttr(choose(elementBytes, refusedFallbacks));
  }
  if (!table.empty())
    remark::analysis(
        kernel.getLoc(),
        remark::RemarkOpts::name("candidates").category("sparsec-select-schedule").function(kernel.getSymName()))
        << table;
  return success();
}

/// Where all have been refused, the last one stays.
ScheduleAttr Selection::choose(int64_t alignment, ArrayAttr refused) {
  std::vector<Candidate> candidates = rank(alignment);
  std::vector<size_t> attempts = orderOfAttempts(candidates);
  // The unit tests walk all problems that the dialect accepts.
  assert(!attempts.empty() && "some candidate fits every problem");
  size_t attempt = std::min(refused ? refused.size() : 0, attempts.size() - 1);
  if (kernel.getContext()->getRemarkEngine())
    tabulate(candidates, attempts, attempt, refused, alignment);
  return toAttribute(kernel.getContext(), candidates[attempts[attempt]].schedule);
}

void Selection::tabulate(const std::vector<Candidate> &candidates, const std::vector<size_t> &attempts, size_t attempt,
                         ArrayAttr refused, int64_t alignment) {
  std::vector<std::string> verdicts(candidates.size());
  verdicts[attempts[attempt]] = "chosen";
  for (size_t i = 0; i < attempt; ++i)
    verdicts[attempts[i]] = "refused by ptxas: " + cast<StringAttr>(refused[i]).str();
  table += fmt::format("\nfor pointers and strides that are multiples of {} bytes:\n{}", alignment,
                       sparsec::tabulate(candidates, verdicts));
}

LogicalResult Selection::expectFit(llvm::StringRef attribute, const Schedule &schedule) {
  Fit fit = check(schedule);
  return fit.ok() ? success() : kernel.emitOpError() << attribute << " " << fit.message;
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
    if (target.getChip() == llvm::StringRef(hostTarget)) {
      for (auto kernel : module.getOps<KernelOp>())
        setHostSchedule(kernel);
      return success();
    }
    const Chip *chip = findChip(target.getChip());
    if (!chip)
      return module.emitError("expects the chip to be one of ")
             << knownTargets() << ", but got \"" << target.getChip() << "\"";
    for (auto kernel : module.getOps<KernelOp>()) {
      if (failed(refuseHostSchedules(kernel)))
        return failure();
      LogicalResult selected = success();
      if (auto attention = dyn_cast<AttentionOp>(kernel.getAnchor()))
        selected = SelectionFor(kernel, describeProblem(attention), *chip).run();
      else if (auto sddmm = dyn_cast<SddmmOp>(kernel.getAnchor()))
        selected = SelectionFor(kernel, describeProblem(sddmm, expectDensity), *chip).run();
      else if (auto spgemm = dyn_cast<SpgemmOp>(kernel.getAnchor()))
        selected = SelectionFor(kernel, describeProblem(spgemm, expectDensity), *chip).run();
      else
        selected = select(kernel, withHints(describeProblem(cast<SpmmOp>(kernel.getAnchor()))), *chip);
      if (failed(selected))
        return failure();
    }
    return success();
  }

  /// The tables of instructions and copies have no rows for the host.
  static LogicalResult refuseHostSchedules(KernelOp kernel) {
    SmallVector<ScheduleAttr> schedules = kernel.getSchedules();
    if (ArrayAttr packed = kernel.getPackedSchedulesAttr())
      llvm::append_range(schedules, packed.getAsRange<ScheduleAttr>());
    for (ScheduleAttr schedule : schedules)
      if (schedule.isForHost())
        return kernel.emitOpError("expects schedules of a chip, but got that of the host: ") << schedule;
    return success();
  }

  /// fp8, which only some chips multiply.
  static LogicalResult refuse(KernelOp kernel, const ProblemDescription &problem, const Chip &chip) {
    const char *type = nameOf(problem.elementType);
    if (problem.wTransposed)
      return kernel.emitOpError("expects W as M x K for products of ") << type << " on a GPU, but got transposed";
    if (!problem.xTransposed)
      return kernel.emitOpError("expects x_layout(nk), X as N x K, for products of ")
             << type << " on a GPU, but got kn";
    if (problem.hasScales && problem.blockColumns < depthOf(infoOf(MatrixInstruction::MmaSync), problem.elementType))
      return kernel.emitOpError("expects blocks of at least 32 columns for scales on a GPU, but got ")
             << problem.blockColumns;
    return kernel.emitOpError("expects the host or a chip that multiplies ") << type << ", but got " << chip.name;
  }

  LogicalResult select(KernelOp kernel, const ProblemDescription &problem, const Chip &chip) {
    if (candidateSchedules(problem, chip, /*alignment=*/16).empty())
      return refuse(kernel, problem, chip);
    return ProductSelection(kernel, problem, chip).run();
  }

  ProblemDescription withHints(ProblemDescription problem) {
    problem.density = expectDensity;
    if (expectN > 0)
      problem.n = expectN;
    return problem;
  }
};
} // namespace
