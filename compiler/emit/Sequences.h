// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops of sequences with sizes of their own: where their queries and keys are, and rows behind the last key.

#ifndef SPARSEC_EMIT_SEQUENCES_H
#define SPARSEC_EMIT_SEQUENCES_H

#include "ProgramEmitter.h"
#include "QueryContext.h"

namespace sparsec {

// The results of the ops.
KernelBuilder::Values emitPackedTile(QueryContext &context, ProgramValues &values, PackedTileOp op);
KernelBuilder::Values emitSequence(QueryContext &context, ProgramValues &values, SequenceOp op);
KernelBuilder::Values emitFindPage(QueryContext &context, ProgramValues &values, FindPageOp op);

/// Whether a row of a packed tensor belongs to a sequence.
mlir::Value emitIsInSequence(QueryContext &context, mlir::Value starts, mlir::Value row);

/// By all groups of a role, for matrix instructions that read shared memory.
void emitClearRows(ProgramEmitter &program, ClearRowsOp op);

} // namespace sparsec

#endif // SPARSEC_EMIT_SEQUENCES_H
