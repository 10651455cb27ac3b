// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The streams of blocks that consumers of small blocks read (see SPARSEC_PLAN_STAGE_OFFSETS). Pure functions of the
// pattern.

#ifndef SPARSEC_RUNTIME_STREAMS_H
#define SPARSEC_RUNTIME_STREAMS_H

#include "plan/window_order.h"

namespace sparsec::runtime {

struct StreamInput {
  BlockPattern pattern;
  int64_t windowRows;           // block rows of a window: a multiple of consumers * bundle
  int64_t consumers;            // of a CTA: they have equal shares of a window's rows
  int64_t bundle;               // block rows of a product
  int64_t stageColumns;         // of X; times the products of a consumer for one column: at most 32
  int64_t chunkProducts;        // products of a chunk
  bool adjacentColumns = false; // see SPARSEC_STAGE_ADJACENT_COLUMNS
  RowOrder rowOrder = {};
};

/// The arrays have the layout of the plan's sections of the same names; `rows` is that of SPARSEC_PLAN_WINDOW_ROWS.
struct Streams {
  std::vector<int32_t> rows, stageOffsets, stageColumns;
  std::vector<uint32_t> stageProducts;
  std::vector<int32_t> chunkOffsets;
  std::vector<int32_t> chunkBlocks;
  /// No sections: what each window has.
  std::vector<int32_t> columnCounts, productCounts;

  bool isEmpty() const { return rows.empty(); }
  int64_t count() const { return int64_t(columnCounts.size()); }
  /// The sum over the windows.
  int64_t columnCount() const;
};

/// Empty where there are no rows, and where a section might have more entries than kernels can count.
Streams makeStreams(const StreamInput &input);

/// The time that each window takes, in hundredths of a product: it copies its columns, then computes its products. See
/// sparsec_plan_cost_key_t for the other two.
std::vector<uint32_t> streamCosts(const Streams &streams, uint32_t columnCost, uint32_t tileOverhead);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_STREAMS_H
