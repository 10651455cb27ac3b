// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Selection.h"

#include "CandidateTable.h"

#include "mlir/IR/Remarks.h"
#include <fmt/format.h>

using namespace mlir;
using namespace sparsec;

/// A schedule written by hand is the only one beside the fallback, unless others are written by hand too.
LogicalResult Selection::runPlanned(const ScheduleRow *row) {
  auto refused = cast_or_null<ArrayAttr>(kernel->removeDiscardableAttr(refusedPlannedSchedulesAttribute));
  if (!kernel.getPlannedSchedules() && !kernel.getSchedule()) {
    std::vector<Schedule> all = planned();
    if (row) {
      if (failed(expectFit(*row)))
        return failure();
      if (all.empty() || all.front() != toSchedule(row->schedule))
        all.insert(all.begin(), toSchedule(row->schedule));
      noteRow(*row, refused);
    }
    // The row stands for the model's schedule.
    kernel.setPlannedSchedulesAttr(
        toArray(ArrayRef(all).drop_front(std::min(refused ? refused.size() : 0, all.size())).take_front(1)));
  }
  return expectFits("planned_schedules", kernel.getPlannedSchedulesAttr());
}

/// Narrow schedules follow the same rule. The kernel does without those that ptxas has refused.
LogicalResult Selection::runNarrow() {
  auto refused = cast_or_null<ArrayAttr>(kernel->removeDiscardableAttr(refusedNarrowSchedulesAttribute));
  if (!kernel.getNarrowSchedules() && !kernel.getSchedule()) {
    std::vector<Schedule> all = narrow();
    llvm::erase_if(all, [&](const Schedule &schedule) {
      return refused && llvm::is_contained(refused.getAsValueRange<StringAttr>(), toString(schedule));
    });
    kernel.setNarrowSchedulesAttr(toArray(all));
  }
  return expectFits("narrow_schedules", kernel.getNarrowSchedulesAttr());
}

/// A kernel without a hand-written schedule gets split schedules too. They read the streams of the planned one.
LogicalResult Selection::runSplit() {
  auto refused = cast_or_null<ArrayAttr>(kernel->removeDiscardableAttr(refusedSplitSchedulesAttribute));
  ArrayAttr planned = kernel.getPlannedSchedulesAttr();
  if (planned && !kernel.getSplitSchedules() && !kernel.getSchedule() && !refused)
    kernel.setSplitSchedulesAttr(toArray(splitBeside(toSchedule(cast<ScheduleAttr>(planned[0])))));
  return expectFits("split_schedules", kernel.getSplitSchedulesAttr());
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
LogicalResult Selection::run(const ScheduleTable &table) {
  auto rowOf = [&](bool isPlanned) { return table.find(target().name, problem(), isPlanned); };
  if (failed(runPlanned(rowOf(/*isPlanned=*/true))) || failed(runNarrow()) || failed(runSplit()) || failed(runPacked()))
    return failure();
  auto refused = cast_or_null<ArrayAttr>(kernel->removeDiscardableAttr(refusedSchedulesAttribute));
  auto refusedFallbacks = cast_or_null<ArrayAttr>(kernel->removeDiscardableAttr(refusedFallbackSchedulesAttribute));
  if (!kernel.getSchedule()) {
    const ScheduleRow *row = rowOf(/*isPlanned=*/false);
    if (row && failed(expectFit(*row)))
      return failure();
    kernel.setScheduleAttr(row ? choose(*row, refused) : choose(/*alignment=*/16, refused));
  }
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
  if (!remarks.empty())
    remark::analysis(
        kernel.getLoc(),
        remark::RemarkOpts::name("candidates").category("sparsec-select-schedule").function(kernel.getSymName()))
        << remarks;
  return success();
}

/// If ptxas has refused the schedule of the row, it is the model's turn.
ScheduleAttr Selection::choose(const ScheduleRow &row, ArrayAttr refused) {
  noteRow(row, refused);
  if (!refused)
    return row.schedule;
  return choose(/*alignment=*/16, ArrayAttr::get(kernel.getContext(), refused.getValue().drop_front()));
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
  remarks += fmt::format("\nfor pointers and strides that are multiples of {} bytes:\n{}", alignment,
                         sparsec::tabulate(candidates, verdicts));
}

void Selection::noteRow(const ScheduleRow &row, ArrayAttr refused) {
  auto place = cast<FileLineColLoc>(row.location);
  remarks += fmt::format("\nschedule table {}:{}: {}{}\n", place.getFilename().str(), place.getLine(),
                         toString(toSchedule(row.schedule)),
                         refused ? ", refused by ptxas: " + cast<StringAttr>(refused[0]).str() : ", chosen");
}

LogicalResult Selection::expectFit(const ScheduleRow &row) {
  Fit fit = check(toSchedule(row.schedule));
  if (fit.ok())
    return success();
  return emitError(row.location) << "field 'schedule' does not fit kernel " << kernel.getSymName() << ": "
                                 << fit.message;
}

LogicalResult Selection::expectFit(llvm::StringRef attribute, const Schedule &schedule) {
  Fit fit = check(schedule);
  return fit.ok() ? success() : kernel.emitOpError() << attribute << " " << fit.message;
}
