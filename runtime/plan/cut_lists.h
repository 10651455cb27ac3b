// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists in which tiles are cut along K or the keys, so that all workers have the same work (bench/notes/level-tiles.md,
// attention-cut-tiles.md). A pure function of what tiles cost.

#ifndef SPARSEC_RUNTIME_CUT_LISTS_H
#define SPARSEC_RUNTIME_CUT_LISTS_H

#include "plan/tile_lists.h"

namespace sparsec::runtime {

/// A worker does one of these with the sum of a tile.
enum class CutKind : uint32_t { whole = SPARSEC_CUT_WHOLE, first = SPARSEC_CUT_FIRST, rest = SPARSEC_CUT_REST };

/// The blocks [first, first + count) of a tile, counted from the first one of its row or list.
struct CutTile {
  Tile tile;
  uint32_t first;
  uint32_t countAndKind;

  uint32_t count() const { return countAndKind & ~(3u << kindShift); }
  CutKind kind() const { return CutKind(countAndKind >> kindShift); }

  static constexpr uint32_t kindShift = SPARSEC_CUT_KIND_SHIFT;
};
static_assert(sizeof(CutTile) == sizeof(sparsec_cut_tile_t), "layout of SPARSEC_PLAN_CUT_TILES");

/// The times of cut tiles, in steps, and what they have to gain.
struct CutCosts {
  uint32_t chunksPerBlock = 1; // the steps of a block
  uint32_t tileOverhead = 0;   // those of a tile beside its blocks
  uint32_t sum = 0;            // those to write a sum, and those to read one
  double leastGain = 0;        // cut tiles have to save so much of the time, in percent
};

/// The blocks of a tile whose list has any number of them.
inline constexpr uint32_t allBlocks = (1u << CutTile::kindShift) - 1;

/// The tiles in the order in which whole lists run, and what they cost.
struct CutListInput {
  const std::vector<Tile> &order;
  std::vector<uint32_t> orderedCosts; // of the tiles, in their order
  CutCosts costs;
  int64_t workers;
  uint64_t wholeLoad; // the largest one of whole lists
  /// Whether the worker of a rest goes on where the other one has stopped, and does not only add the sum of the first
  /// part at its end. Lists begin with first parts then, and a rest goes up to the end of its tile's list, whatever
  /// that has.
  bool areRestsResumed = false;
  uint32_t listBlocks = 1; // the blocks of a tile's list that are one block here
};

struct CutLists {
  std::vector<uint32_t> offsets; // [workers + 1]; empty where tiles are not cut
  std::vector<CutTile> tiles;    // worker w runs [offsets[w], offsets[w + 1]) in this order
  double gain = 0;               // of the largest load of whole tiles over that of cut ones, also where there are none
  double balance = 1;            // mean load / largest load, with the steps of the sums
};

/// All but the last one or two rounds of tiles are whole, and those with the least load get the next one. The rest of
/// the order is one sequence, of which each worker takes as much as brings it to the mean: tiles, the first part of the
/// tile in which its share ends, and last the rest of the tile in which it begins. Empty where the gain would be too
/// small, or where a share would be shorter than a tile.
CutLists makeCutLists(const CutListInput &input);

/// The same for tiles of a product, with the order and the largest load of makeTileLists().
CutLists makeCutLists(const TileListInput &input, uint32_t chunksPerBlock, uint32_t tileOverhead);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_CUT_LISTS_H
