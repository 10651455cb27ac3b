// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention in sparsec-pipeline-stages: a ring of one slot for the queries, and one whose slots hold the keys and the
// values of a block in turn.

#ifndef SPARSEC_COMPILER_TILE_PIPELINEATTENTION_H
#define SPARSEC_COMPILER_TILE_PIPELINEATTENTION_H

#include "SparsecDialect.h"

namespace sparsec {

/// Gives a program with a key loop its rings and roles.
void pipelineAttention(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_PIPELINEATTENTION_H
