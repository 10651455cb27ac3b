// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules that were measured, for kernels to take in place of the cost model's (--schedule-table). A table is a text
// file with a JSON object in each line, a row (docs/pipeline.md). sparsec-tune writes it.

#ifndef SPARSEC_COMPILER_SCHEDULE_SCHEDULETABLE_H
#define SPARSEC_COMPILER_SCHEDULE_SCHEDULETABLE_H

#include "ScheduleAttribute.h"

namespace sparsec {

/// A row: the schedule of all kernels with this problem (ProblemName.h) on this chip.
struct ScheduleRow {
  std::string chip, problem;
  ScheduleAttr schedule;
  mlir::Location location; // the line of the file

  /// Whether launches need sections of a plan for the schedule.
  bool isPlanned() const { return schedule.getWalk() != Walk::blocks; }
};

class ScheduleTable {
public:
  /// Reads a file. An error is reported at its line, and names the field.
  static mlir::FailureOr<ScheduleTable> read(llvm::StringRef path, mlir::MLIRContext *context);

  /// The row of a kernel's schedule, or of its planned schedule; null: there is none.
  const ScheduleRow *find(llvm::StringRef chip, llvm::StringRef problem, bool isPlanned) const;

private:
  mlir::LogicalResult add(ScheduleRow row);

  std::vector<ScheduleRow> rows;
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_SCHEDULETABLE_H
