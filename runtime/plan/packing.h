// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blocks of a matrix in larger, packed blocks, for variants that multiply those. Pure functions of the pattern.

#ifndef SPARSEC_RUNTIME_PACKING_H
#define SPARSEC_RUNTIME_PACKING_H

#include "plan/transpose.h"

namespace sparsec::runtime {

/// How many stored blocks a packed block has side by side.
struct PackedShape {
  int64_t rows, columns;

  int64_t blocks() const { return rows * columns; }
};

/// The arrays have the layout of SPARSEC_PLAN_PACKED_STARTS and of the two sections after it.
struct Packing {
  std::vector<int32_t> starts, columns, sources;
  int64_t blockColumns = 0; // of the packed matrix

  bool isEmpty() const { return starts.empty(); }
  int64_t count() const { return int64_t(columns.size()); }
  /// It refers to the arrays.
  BlockPattern pattern() const { return {starts.data(), columns.data(), int64_t(starts.size()) - 1, blockColumns}; }
};

/// The packed blocks in which the pattern has a block. The time is linear in the number of blocks.
int64_t countPackedBlocks(const BlockPattern &pattern, const PackedShape &shape);

/// Whether kernels can count the places of this number of packed blocks.
bool canPack(int64_t packedBlocks, const PackedShape &shape);

/// Packs every block of the matrix as the caller stores it. Columns ascend in each row of packed blocks. Expects that
/// kernels can count the places.
Packing packBlocks(const BlockPattern &pattern, const PackedShape &shape);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_PACKING_H
