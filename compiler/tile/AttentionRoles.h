// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention with two roles, in programs of sparsec.attention for TMA.

#ifndef SPARSEC_COMPILER_TILE_ATTENTIONROLES_H
#define SPARSEC_COMPILER_TILE_ATTENTIONROLES_H

#include "SparsecDialect.h"

namespace sparsec {

/// Replaces the tile loop of a program in values form by two rings and two roles.
void splitAttentionRoles(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_ATTENTIONROLES_H
