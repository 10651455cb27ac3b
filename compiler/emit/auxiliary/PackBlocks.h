// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine kernel that packs the values of a product's matrix: stored blocks become parts of larger blocks.

#ifndef SPARSEC_EMIT_PACK_BLOCKS_H
#define SPARSEC_EMIT_PACK_BLOCKS_H

#include "SparsecDialect.h"

namespace sparsec {

/// Emits it as a function beside a program that is `packed`.
void emitPackBlocks(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_EMIT_PACK_BLOCKS_H
