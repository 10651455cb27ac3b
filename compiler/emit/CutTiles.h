// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles that a plan cuts along K or along the keys: the loop over them, and the way of their sums from one worker to
// the next.

#ifndef SPARSEC_EMIT_CUT_TILES_H
#define SPARSEC_EMIT_CUT_TILES_H

#include "ProgramContext.h"

namespace sparsec {

/// The loop over the entries that the plan has for a worker. `carried` of the body begins with the first block of the
/// tile, and the word with the number of its blocks and the kind.
KernelBuilder::Values emitCutTiles(ProgramContext &context, mlir::Value tileOfCta, mlir::ValueRange carried,
                                   FollowedTileBody body);

/// Writes the sums of a thread, whole vectors of them, to the place of its warp.
void writeSums(ProgramContext &context, WriteSumsOp op, mlir::ValueRange sums);
/// Sets the flag of the warp.
void releaseSums(ProgramContext &context, ReleaseSumsOp op);
/// Waits for the flag of the same warp of the worker before, and takes it away.
void acquireSums(ProgramContext &context, AcquireSumsOp op);
/// The sums that the same thread of the worker before wrote, plus those of this thread.
KernelBuilder::Values addSums(ProgramContext &context, AddSumsOp op, mlir::ValueRange sums);
/// The `count` sums that the same thread of the worker before wrote.
KernelBuilder::Values readSums(ProgramContext &context, mlir::Operation *op, int64_t count);

} // namespace sparsec

#endif // SPARSEC_EMIT_CUT_TILES_H
