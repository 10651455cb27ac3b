// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order in which result tiles run and the workers that run them. Pure functions of what the tile rows cost.

#ifndef SPARSEC_RUNTIME_TILE_LISTS_H
#define SPARSEC_RUNTIME_TILE_LISTS_H

#include "plan/tile_grid.h"

#include <vector>

namespace sparsec::runtime {

struct Tile {
  uint32_t row, panel;
};
static_assert(sizeof(Tile) == 8, "layout of SPARSEC_PLAN_TILES");

struct TileListInput {
  std::vector<uint32_t> rowCosts; // of a tile, by tile row
  TileGrid grid;
  int64_t workers;          // 1 to the number of tiles
  int64_t groupRows;        // tile rows of a group; 0: there are no groups
  int64_t panelsPerUnit;    // neighbouring panels of a tile row that stay together
  int64_t panelsAtOnce = 1; // units of this many panels run together, if there are no groups
  int64_t lastRounds = 2;   // of makeRoundLists(), whose tiles run together
};

/// What a launch reads of the operands of a product, in bytes.
struct OperandBytes {
  double blocksOfRow; // of W, for a tile row
  double panel;       // of X, for the panel of a tile
};

/// How many panels of X are read at the same time if W and X are read from memory as few times as possible. While the
/// workers run `p` panels, they run `workers / p` tile rows of each. They then read these panels and the blocks of
/// these rows once, and the sum for each tile is least where both are as many bytes.
double panelsOfFewestBytes(int64_t workers, const OperandBytes &bytes);

/// How many panels run at once, for matrices of one size and any number of blocks. The numbers are whole, so that a GPU
/// chooses as the host does: each is 1 to INT32_MAX.
struct PanelLimits {
  int64_t most = 1;        // panels that the L2 cache keeps, at most all
  int64_t blocksOfOne = 1; // panelsOfFewestBytes() is 1 for so many blocks, and p for p * p times as many; rounded up
};

/// `ofOneBlock` are the bytes for a matrix of one block, `roomBytes` those of the L2 cache for panels.
PanelLimits panelLimits(int64_t workers, const OperandBytes &ofOneBlock, int64_t panels, double roomBytes);

/// panelsOfFewestBytes() within the limits, rounded down.
int64_t choosePanelsAtOnce(const PanelLimits &limits, int64_t blocks);

/// The costs of tile rows that lie in block rows, in steps: a block takes `chunksPerBlock` steps. See
/// SPARSEC_PLAN_COST_TILE_OVERHEAD. The array is in host memory.
std::vector<uint32_t> costsOfBlockRows(const int32_t *rowPtr, const TileGrid &grid, int64_t chunksPerBlock,
                                       uint32_t tileOverhead);

/// Whether the tiles go in groups: see SPARSEC_PLAN_COST_GROUPED_DENSITY.
bool isNearlyDense(int64_t blocks, int64_t blockRows, int64_t blockColumns, uint32_t groupedDensity);

struct TileLists {
  std::vector<uint32_t> offsets;    // [workers + 1]
  std::vector<Tile> tiles;          // worker w runs [offsets[w], offsets[w + 1]) in this order
  double balance = 1;               // mean load / largest load
  uint64_t largestLoad = 0;         // the costs of the worker with most of them
  int64_t period = SPARSEC_DYNAMIC; // panels of periodic lists
  int64_t groupRows = 0;            // those of the input, also where there are no tiles for this reason
  int64_t panelsAtOnce = 1;         // those of the input, if there are no groups
};

/// Mean load / largest load of the workers, of which there is one at least; 1 if nothing has a cost.
double balanceOf(const std::vector<uint64_t> &loads);

/// The order in which the tiles of makeTileLists(input) run, before the last few are sorted. There are no units of
/// several panels.
std::vector<Tile> orderOfTiles(const TileListInput &input);

/// The order of tiles, each with its cost, and who runs them: each tile goes to the worker with the least work. The
/// last few tiles of every worker are sorted by falling cost first, so that the end is level.
TileLists makeTileLists(std::vector<Tile> order, std::vector<uint32_t> costs, int64_t workers);

/// The tiles in the order of makeRowByRowLists(), before the last few are sorted. `costs` are theirs.
std::vector<Tile> orderRowByRow(const std::vector<uint32_t> &costs, const TileGrid &grid);
/// The costs of tiles in an order. `costs` are those of all tiles, row after row.
std::vector<uint32_t> costsInOrder(const std::vector<Tile> &order, const std::vector<uint32_t> &costs,
                                   const TileGrid &grid);

/// Tile row after tile row, whose tiles share operands in the L2 cache. In each the costly ones first, so that those
/// that run together take about the same time; the last tile of every worker by falling cost, or the last few if the
/// loads are not level then, or if there are only a few. The worker with the most work then swaps tiles of a row with
/// others, as long as that makes its load less. `costs` are those of all tiles, row after row.
TileLists makeRowByRowLists(const std::vector<uint32_t> &costs, const TileGrid &grid, int64_t workers);

/// All tile rows of a panel together, panel after panel, so that the rows share the panel of X in the L2 cache; in each
/// panel the rows by falling cost. With several panels at once, the tiles of a row in these panels follow each other,
/// so that they share the blocks of the row as well. Where that leaves the loads uneven, with the last few tiles of
/// every worker by falling cost, and where they still are, with the tiles first that take much of a worker's time, if
/// these are better. If that would sort all tiles, they stay in the order of the panels instead, provided that swaps
/// between panels level the loads. With `groupRows` in groups of tile rows, as a dense product does, always with the
/// last few tiles by falling cost. Where `panelsPerUnit` is above 1, all this is about units of so many tiles: that
/// takes less time, and is a little less even. Without groups the worker with the most work then swaps tiles with
/// others, as long as that makes its load less.
TileLists makeTileLists(const TileListInput &input);

/// Lists for results of any number of panels: workers run the lists of a period of `grid.panels` panels again and
/// again, each time a period further on, up to the first tile beyond the result. Panel after panel, in each the tile
/// rows by falling cost, so that loads are level after every panel: they differ by at most the largest cost. The first
/// tiles go to the workers 0, 1, ..., so that a result with fewer tiles needs no other workers. Empty where there are
/// no tiles, and with `groupRows`: the rows of a nearly dense pattern cost nearly the same, and the raster of the
/// schedule is the better order.
TileLists makePeriodicLists(const TileListInput &input);

/// The panels of a period that are enough to level the loads.
int64_t choosePeriod(int64_t tileRows, int64_t workers);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_TILE_LISTS_H
