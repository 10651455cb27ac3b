// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The auxiliary kernels that write the index of a transposed operand (SPARSEC_PLAN_ROW_STARTS).

#ifndef SPARSEC_EMIT_PLAN_INDEX_H
#define SPARSEC_EMIT_PLAN_INDEX_H

#include "SparsecDialect.h"

namespace sparsec {

/// Whether the program multiplies by the transpose of a stored matrix.
bool takesTranspose(ProgramOp program);
void emitPlanIndex(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_EMIT_PLAN_INDEX_H
