// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of a tile of queries: division by the row sums, O and LSE to memory.

#ifndef SPARSEC_EMIT_ATTENTION_STORE_H
#define SPARSEC_EMIT_ATTENTION_STORE_H

#include "AttentionContext.h"
#include "softmax/RowState.h"

namespace sparsec {

/// `output` in the layout of AccumulatorFragment, one slab; `query` is the first of the thread's two rows of the
/// result. Rows from `end` on are not written.
void emitAttentionStore(AttentionContext &context, const QueryTile &tile, mlir::Value query, mlir::Value end,
                        mlir::ValueRange output, const RowState &rows);

} // namespace sparsec

#endif // SPARSEC_EMIT_ATTENTION_STORE_H
