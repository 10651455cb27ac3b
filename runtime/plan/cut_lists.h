// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists in which tiles are cut along K, so that all workers have the same work (bench/notes/level-tiles.md). A pure
// function of what the tile rows cost.

#ifndef SPARSEC_RUNTIME_CUT_LISTS_H
#define SPARSEC_RUNTIME_CUT_LISTS_H

#include "plan/tile_lists.h"

namespace sparsec::runtime {

/// A worker does one of these with the sum of a tile.
enum class CutKind : uint32_t { whole = SPARSEC_CUT_WHOLE, first = SPARSEC_CUT_FIRST, rest = SPARSEC_CUT_REST };

/// The blocks [first, first + count) of a tile, counted from the first one of its row.
struct CutTile {
  Tile tile;
  uint32_t first;
  uint32_t countAndKind;

  uint32_t count() const { return countAndKind & ~(3u << kindShift); }
  CutKind kind() const { return CutKind(countAndKind >> kindShift); }

  static constexpr uint32_t kindShift = SPARSEC_CUT_KIND_SHIFT;
};
static_assert(sizeof(CutTile) == sizeof(sparsec_cut_tile_t), "layout of SPARSEC_PLAN_CUT_TILES");

/// The steps of a block, and those that a tile takes beside its blocks.
struct CutCosts {
  uint32_t chunksPerBlock, tileOverhead;
};

struct CutLists {
  std::vector<uint32_t> offsets; // [workers + 1]; empty where tiles are not cut
  std::vector<CutTile> tiles;    // worker w runs [offsets[w], offsets[w + 1]) in this order
  double gain = 0;               // of the largest load of whole tiles over that of cut ones, also where there are none
  double balance = 1;            // mean load / largest load, with the steps of the sums
};

/// The tiles run in the order of whole lists, `order`. All but the last one or two rounds of them are whole, and those
/// with the least load get the next one. The rest of the order is one sequence, of which each worker takes as much as
/// brings it to the mean: tiles, after them the first part of the tile in which its share ends, and last the rest of
/// the tile in which it begins. Empty where the largest load, `wholeLoad` with whole tiles, would fall by less than
/// 2 %, or where a share would be shorter than a tile. The costs of the rows are those of `costsOfBlockRows`.
CutLists makeCutLists(const std::vector<Tile> &order, const std::vector<uint32_t> &rowCosts, const CutCosts &costs,
                      int64_t workers, uint64_t wholeLoad);

/// The same with the order and the largest load of makeTileLists().
CutLists makeCutLists(const TileListInput &input, const CutCosts &costs);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_CUT_LISTS_H
