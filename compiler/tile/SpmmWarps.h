// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products by mma.sync: a program of sparsec.spmm whose warps copy for each other and multiply.

#ifndef SPARSEC_COMPILER_TILE_SPMMWARPS_H
#define SPARSEC_COMPILER_TILE_SPMMWARPS_H

#include "SparsecDialect.h"

namespace sparsec {

/// Replaces the tile loop of a program in values form by a ring and a role of warps.
void makeSpmmWarps(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_SPMMWARPS_H
