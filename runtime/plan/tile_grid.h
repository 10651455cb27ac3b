// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a variant cuts a result into tiles (see sparsec_variant_info_t).

#ifndef SPARSEC_RUNTIME_TILE_GRID_H
#define SPARSEC_RUNTIME_TILE_GRID_H

#include "arguments/arguments.h"
#include "arguments/attention_arguments.h"

namespace sparsec::runtime {

struct TileGrid {
  int64_t tilesPerBlockRow;
  int64_t tileRows, panels;

  int64_t tiles() const { return tileRows * panels; }
};

inline TileGrid makeTileGrid(const sparsec_variant_info_t &variant, int64_t blockRows, const ProblemSizes &sizes) {
  // The last block row may reach beyond the matrix: tiles that lie beyond it altogether are left out.
  int64_t perBlockRow = ceilDivide(blockRows, variant.tile_m);
  int64_t wholeBlockRows = sizes.m / blockRows, restRows = sizes.m % blockRows;
  return {perBlockRow, wholeBlockRows * perBlockRow + ceilDivide(restRows, variant.tile_m),
          ceilDivide(sizes.n, int64_t(variant.tile_n) * variant.cluster)};
}

/// A tile row holds the queries of one head of one batch, a panel tile_m of them. GPU kernels count panels from the
/// last queries on, which see most with causal.
inline TileGrid makeTileGrid(const sparsec_variant_info_t &variant, const AttentionSizes &sizes) {
  return {1, sizes.batches * sizes.heads, ceilDivide(sizes.queries, variant.tile_m)};
}

/// Kernels count tiles in 32 bits.
inline Status checkTileCount(const TileGrid &grid) {
  if (grid.panels == 0 || grid.tileRows <= maxSize / grid.panels)
    return {};
  return invalidArgument("the result has ", grid.tileRows, " x ", grid.panels, " tiles, at most ", maxSize,
                         " are possible");
}

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_TILE_GRID_H
