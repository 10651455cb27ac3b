// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The top-k kernel of attention: a machine kernel of its own that writes in every list of a block pattern the key
// blocks with the highest scores.

#ifndef SPARSEC_EMIT_BLOCK_TOP_K_H
#define SPARSEC_EMIT_BLOCK_TOP_K_H

#include "SparsecDialect.h"

namespace sparsec {

/// Emits it for a program with a pattern, as a function beside the program's.
void emitBlockTopK(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_EMIT_BLOCK_TOP_K_H
