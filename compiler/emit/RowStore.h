// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of a tile of queries: division by the row sums, O and LSE to memory.

#ifndef SPARSEC_EMIT_ROW_STORE_H
#define SPARSEC_EMIT_ROW_STORE_H

#include "QueryContext.h"
#include "softmax/RowState.h"

namespace sparsec {

/// `output` in the layout of AccumulatorFragment, one slab; `query` is the first of the thread's two rows of the
/// result. Rows from `end` on are not written.
void emitRowStore(QueryContext &context, const QueryTile &tile, mlir::Value query, mlir::Value end,
                  mlir::ValueRange output, const RowState &rows);
/// The same for the rows of a part of the keys, to the workspaces of `partRow` (sparsec.store_part).
void emitPartStore(QueryContext &context, const QueryTile &tile, mlir::Value query, mlir::Value end,
                   const KeyPart &part, mlir::ValueRange output, const RowState &rows);

/// A row of a part in the workspaces: pointers to its output, and to m and l, all f32.
struct PartRow {
  mlir::Value output, sums;
};
/// `row` is that of Q, counted over batches and heads; i64.
PartRow partRow(QueryContext &context, mlir::Value row, const KeyPart &part);

/// The sum of a row with its sink: its maximum m, an exponent of 2, and l. The output counts `alpha` times.
struct FinalRow {
  mlir::Value m, l, alpha;
};
/// The sink joins the sum as the score of a key without a value. m rises to it where it is larger, so that nothing
/// overflows. A row without keys has the sink alone.
FinalRow joinSink(KernelBuilder &b, mlir::Value sink, mlir::Value m, mlir::Value l);
/// Whether a row has seen a key.
mlir::Value isNotEmpty(KernelBuilder &b, mlir::Value l);
/// The LSE of a row, a natural logarithm.
mlir::Value lseOf(KernelBuilder &b, mlir::Value m, mlir::Value l);

} // namespace sparsec

#endif // SPARSEC_EMIT_ROW_STORE_H
