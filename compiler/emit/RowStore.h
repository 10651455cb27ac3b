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

/// A row of a part in the workspaces, all f32: pointers to its output, and to m and l. The output is in pieces of 16
/// columns, as many bytes apart as these pieces of all rows of Q have: the stores of a warp then are whole lines. A
/// piece has the columns in the order in which threads hold them (placeInPieces).
struct PartRow {
  mlir::Value output, pieceStride, sums;

  static constexpr int64_t pieceColumns = 16, pieceBytes = 4 * pieceColumns;
};
/// Where a column of an output is in that of a part. Each of four threads holds a pair of every group of eight columns,
/// and stores those of two groups together.
mlir::Value placeInPieces(KernelBuilder &b, mlir::Value column);
/// `row` is that of Q, counted over batches and heads, i64; Q has so many `rows`, i32. The output is that of
/// `piece`.
PartRow partRow(QueryContext &context, mlir::Value row, mlir::Value rows, const KeyPart &part, mlir::Value piece);
/// The rows of Q, counted over batches and heads; i32.
mlir::Value rowsOfQueries(QueryContext &context);

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
