// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with two roles, in programs of sparsec.spmm for TMA.

#ifndef SPARSEC_COMPILER_TILE_SPMMROLES_H
#define SPARSEC_COMPILER_TILE_SPMMROLES_H

#include "SparsecDialect.h"

namespace sparsec {

/// Replaces the tile loop of a program in values form by a ring and two roles.
void splitSpmmRoles(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_SPMMROLES_H
