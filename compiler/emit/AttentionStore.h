// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of a tile of queries: division by the sums, O and LSE to memory.

#ifndef SPARSEC_EMIT_ATTENTION_STORE_H
#define SPARSEC_EMIT_ATTENTION_STORE_H

#include "OnlineSoftmax.h"

namespace sparsec {

/// `output` in the layout of AccumulatorFragment, one slab; `query` is the first of the thread's two rows.
void emitAttentionStore(AttentionContext &context, const QueryTile &tile, mlir::Value query, mlir::ValueRange output,
                        const SoftmaxState &state);

} // namespace sparsec

#endif // SPARSEC_EMIT_ATTENTION_STORE_H
