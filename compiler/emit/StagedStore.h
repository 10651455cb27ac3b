// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Store of a warpgroup's 64-row fragment through shared memory: stmatrix, then a tensor store that runs on while the
// next tile begins.

#ifndef SPARSEC_EMIT_STAGED_STORE_H
#define SPARSEC_EMIT_STAGED_STORE_H

#include "ProgramContext.h"

namespace sparsec {

/// `fragment` holds results of 16 bits (after rounding); `consumer` is the index of the warpgroup.
void emitStagedStore(ProgramContext &context, StoreOp store, const TilePosition &position,
                     AccumulatorFragment &fragment, mlir::Value consumer);

} // namespace sparsec

#endif // SPARSEC_EMIT_STAGED_STORE_H
