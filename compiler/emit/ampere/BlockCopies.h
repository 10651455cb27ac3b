// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies of the blocks of a chunk by the threads of a warp. A thread copies vectors of one of them, so that it needs
// one number and one address.

#ifndef SPARSEC_EMIT_AMPERE_BLOCK_COPIES_H
#define SPARSEC_EMIT_AMPERE_BLOCK_COPIES_H

#include "ProgramEmitter.h"

namespace sparsec {

void emitReadBlocks(ProgramEmitter &program, ReadBlocksOp op);
void emitCopyBlocks(ProgramEmitter &program, CopyBlocksOp op);

} // namespace sparsec

#endif // SPARSEC_EMIT_AMPERE_BLOCK_COPIES_H
