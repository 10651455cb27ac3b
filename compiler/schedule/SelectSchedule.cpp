// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-select-schedule: chooses tiles and stages for every kernel and writes them as an attribute. The choice itself
// is in Selection.h, Candidates.h, AttentionCandidates.h, Fit.h and CostModel.h. Families say what there is to choose
// from.

#include "Family.h"
#include "HostSchedule.h"
#include "Passes.h"
#include "Selection.h"
#include "TargetInfo.h"

namespace sparsec {
#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "Passes.h.inc"
} // namespace sparsec

using namespace mlir;
using namespace sparsec;

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
    ScheduleTable table;
    if (!scheduleTable.empty()) {
      FailureOr<ScheduleTable> read = ScheduleTable::read(scheduleTable, &getContext());
      if (failed(read))
        return failure();
      table = std::move(*read);
    }
    for (auto kernel : module.getOps<KernelOp>()) {
      if (failed(refuseHostSchedules(kernel)))
        return failure();
      FailureOr<std::unique_ptr<Selection>> selection =
          familyOf(kernel).select(kernel, {expectDensity, expectN}, *chip);
      if (failed(selection) || failed((*selection)->run(table)))
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
};
} // namespace
