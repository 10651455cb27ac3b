// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedules that sparsec-tune measures (--emit=candidates).

#ifndef SPARSEC_COMPILER_SCHEDULE_LISTCANDIDATES_H
#define SPARSEC_COMPILER_SCHEDULE_LISTCANDIDATES_H

#include "Family.h"

namespace sparsec {

/// Appends a line for each schedule that a kernel of the module may have, the model's choice first. It is a row of a
/// schedule table with more fields: the kernel, the schedule as the launch info describes it, and the predicted speed.
/// Expects the module to have its target, a chip.
mlir::LogicalResult listCandidates(mlir::ModuleOp module, const Expectations &expected, std::string &lines);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_LISTCANDIDATES_H
