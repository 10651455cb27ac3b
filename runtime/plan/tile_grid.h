// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a variant cuts a result into tiles (see sparsec_stage_info_t).

#ifndef SPARSEC_RUNTIME_TILE_GRID_H
#define SPARSEC_RUNTIME_TILE_GRID_H

#include "image/launch_info_reader.h"

namespace sparsec::runtime {

struct TileGrid {
  int64_t tilesPerBlockRow; // where tile rows lie in block rows
  int64_t tileRows, panels;

  int64_t tiles() const { return tileRows * panels; }
};

/// Kernels count tiles in 32 bits.
inline Status checkTileCount(const TileGrid &grid) {
  if (grid.panels == 0 || grid.tileRows <= maxSize / grid.panels)
    return {};
  return invalidArgument("the result has ", grid.tileRows, " x ", grid.panels, " tiles, at most ", maxSize,
                         " are possible");
}

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_TILE_GRID_H
