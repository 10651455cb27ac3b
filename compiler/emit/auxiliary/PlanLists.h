// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SPARSEC_EMIT_PLAN_LISTS_H
#define SPARSEC_EMIT_PLAN_LISTS_H

#include "SparsecDialect.h"

namespace sparsec {

/// Whether it is a program of sparsec.spmm.
bool multipliesDense(ProgramOp program);

/// Adds the machine kernel that writes the lists of tiles of such a program.
void emitPlanLists(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_EMIT_PLAN_LISTS_H
