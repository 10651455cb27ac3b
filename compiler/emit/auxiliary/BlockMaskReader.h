// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The block mask reader of an attention kernel: a machine kernel of its own that writes the lists of a block pattern
// from the state of every block.

#ifndef SPARSEC_EMIT_BLOCK_MASK_READER_H
#define SPARSEC_EMIT_BLOCK_MASK_READER_H

#include "SparsecDialect.h"

namespace sparsec {

/// Emits the reader of a program with a pattern as a function beside it.
void emitBlockMaskReader(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_EMIT_BLOCK_MASK_READER_H
