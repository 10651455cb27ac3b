// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The index of a matrix by its block columns, for products with its transpose. A pure function of the pattern.

#ifndef SPARSEC_RUNTIME_TRANSPOSE_H
#define SPARSEC_RUNTIME_TRANSPOSE_H

#include "plan/window_blocks.h"

namespace sparsec::runtime {

/// The arrays have the layout of SPARSEC_PLAN_ROW_STARTS and of the two sections after it.
struct TransposedIndex {
  std::vector<int32_t> starts, columns, blocks;
  int64_t blockColumns = 0;

  bool isEmpty() const { return starts.empty(); }
  /// It refers to the arrays.
  BlockPattern pattern() const {
    return {starts.data(), columns.data(), int64_t(starts.size()) - 1, blockColumns, blocks.data()};
  }
};

/// A block-sparse operand of a product, M x K, by its block rows: what the argument lists, or the index of its
/// transpose.
struct MatrixRows {
  BlockPattern pattern;
  int64_t rowsOfBlock, columnsOfBlock;
  int64_t depth; // K
};

/// Columns ascend in each row of the transpose. The time is linear in the number of blocks.
TransposedIndex transpose(const BlockPattern &pattern);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_TRANSPOSE_H
