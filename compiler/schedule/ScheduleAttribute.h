// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Between the dialect and the plain structs of Schedule.h.

#ifndef SPARSEC_COMPILER_SCHEDULE_SCHEDULEATTRIBUTE_H
#define SPARSEC_COMPILER_SCHEDULE_SCHEDULEATTRIBUTE_H

#include "AttentionSchedule.h"
#include "Schedule.h"
#include "SparsecDialect.h"

#include "mlir/IR/TypeUtilities.h"

namespace sparsec {

/// Attributes of a kernel: why ptxas refused the schedules that were tried before, a string each. The pass
/// sparsec-select-schedule then takes the next one, and takes the attribute away.
inline constexpr llvm::StringLiteral refusedSchedulesAttribute = "sparsec.refused_schedules";
inline constexpr llvm::StringLiteral refusedFallbackSchedulesAttribute = "sparsec.refused_fallback_schedules";
inline constexpr llvm::StringLiteral refusedPlannedSchedulesAttribute = "sparsec.refused_planned_schedules";
inline constexpr llvm::StringLiteral refusedSplitSchedulesAttribute = "sparsec.refused_split_schedules";
inline constexpr llvm::StringLiteral refusedNarrowSchedulesAttribute = "sparsec.refused_narrow_schedules";
inline constexpr llvm::StringLiteral refusedPackedSchedulesAttribute = "sparsec.refused_packed_schedules";

Schedule toSchedule(ScheduleAttr attribute);
ScheduleAttr toAttribute(mlir::MLIRContext *context, const Schedule &schedule);

// Descriptions of problems tell as much as types do.

int64_t bytesOfType(mlir::Type elementType);
ElementType toElementType(mlir::Type type);
/// A size that is `?` keeps its assumed value.
void setIfStatic(int64_t &size, int64_t value);
/// Bytes that an epilogue reads for each element of the result.
template <typename Op> int64_t epilogueBytesOf(Op op) {
  int64_t bytes = 0;
  for (unsigned i = 0; i < op.getExtras().size(); ++i)
    if (op.getBroadcastOf(i) == Broadcast::full)
      bytes += bytesOfType(mlir::getElementTypeOrSelf(op.getExtras()[i].getType()));
  return bytes;
}

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_SCHEDULEATTRIBUTE_H
