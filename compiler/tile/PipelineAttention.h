// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention in sparsec-pipeline-stages: a ring for the queries, which has two slots where two warpgroups share a tile,
// and one whose slots hold the keys and the values of a step in turn, or with cp.async one each.

#ifndef SPARSEC_COMPILER_TILE_PIPELINEATTENTION_H
#define SPARSEC_COMPILER_TILE_PIPELINEATTENTION_H

#include "SparsecDialect.h"

namespace sparsec {

/// Gives a program with a key loop its rings, which its one role fills ahead.
void prefetchAttention(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_PIPELINEATTENTION_H
