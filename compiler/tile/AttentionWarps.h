// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention by mma.sync: a program of sparsec.attention whose warps copy for each other and multiply.

#ifndef SPARSEC_COMPILER_TILE_ATTENTIONWARPS_H
#define SPARSEC_COMPILER_TILE_ATTENTIONWARPS_H

#include "SparsecDialect.h"

namespace sparsec {

/// Replaces the tile loop of a program in values form by three rings and a role of warps.
void makeAttentionWarps(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_ATTENTIONWARPS_H
