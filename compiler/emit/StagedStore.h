// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Epilogue and store of the fragment of a warpgroup or a warp through shared memory: stmatrix, then a tensor store that
// runs on while the next tile begins.

#ifndef SPARSEC_EMIT_STAGED_STORE_H
#define SPARSEC_EMIT_STAGED_STORE_H

#include "ProgramContext.h"

namespace sparsec {

/// For results of 16 bits. `consumer` is the index of the group, `groupRow` the first row of its part of the tile.
void emitStagedStore(ProductContext &context, StoreOp store, const TilePosition &position,
                     AccumulatorFragment &fragment, mlir::Value consumer, mlir::Value groupRow);

} // namespace sparsec

#endif // SPARSEC_EMIT_STAGED_STORE_H
