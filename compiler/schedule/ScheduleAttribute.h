// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Between the dialect and the plain structs of Schedule.h.

#ifndef SPARSEC_COMPILER_SCHEDULE_SCHEDULEATTRIBUTE_H
#define SPARSEC_COMPILER_SCHEDULE_SCHEDULEATTRIBUTE_H

#include "AttentionSchedule.h"
#include "Schedule.h"
#include "SparsecDialect.h"

namespace sparsec {

/// Attributes of a kernel: why ptxas refused the schedules that were tried before, a string each. The pass
/// sparsec-select-schedule then takes the next one, and takes the attribute away.
inline constexpr llvm::StringLiteral refusedSchedulesAttribute = "sparsec.refused_schedules";
inline constexpr llvm::StringLiteral refusedFallbackSchedulesAttribute = "sparsec.refused_fallback_schedules";
inline constexpr llvm::StringLiteral refusedPlannedSchedulesAttribute = "sparsec.refused_planned_schedules";
inline constexpr llvm::StringLiteral refusedNarrowSchedulesAttribute = "sparsec.refused_narrow_schedules";
inline constexpr llvm::StringLiteral refusedPackedSchedulesAttribute = "sparsec.refused_packed_schedules";

Schedule toSchedule(ScheduleAttr attribute);
ScheduleAttr toAttribute(mlir::MLIRContext *context, const Schedule &schedule);

/// The problem as far as types tell; sizes that are `?` keep their assumed value.
ProblemDescription describeProblem(SpmmOp spmm);
/// `density` is the expected fraction of blocks that are there.
SampledDescription describeProblem(SddmmOp sddmm, double density);
/// `density` is that of A.
PairedDescription describeProblem(SpgemmOp spgemm, double density);
AttentionDescription describeProblem(AttentionOp attention);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_SCHEDULEATTRIBUTE_H
