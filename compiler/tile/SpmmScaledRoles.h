// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with scales of X, in programs of sparsec.spmm for TMA.

#ifndef SPARSEC_COMPILER_TILE_SPMMSCALEDROLES_H
#define SPARSEC_COMPILER_TILE_SPMMSCALEDROLES_H

#include "SparsecDialect.h"

namespace sparsec {

/// Replaces the tile loop of a program in values form, whose X has scales, by rings and roles.
void splitScaledSpmmRoles(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_SPMMSCALEDROLES_H
