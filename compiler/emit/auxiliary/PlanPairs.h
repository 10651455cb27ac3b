// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The auxiliary kernels that write the pairs of two block-sparse matrices (SPARSEC_PLAN_PAIR_STARTS).

#ifndef SPARSEC_EMIT_PLAN_PAIRS_H
#define SPARSEC_EMIT_PLAN_PAIRS_H

#include "SparsecDialect.h"

namespace sparsec {

/// Whether the program multiplies two block-sparse matrices.
bool takesPairs(ProgramOp program);
void emitPlanPairs(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_EMIT_PLAN_PAIRS_H
