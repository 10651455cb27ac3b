// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists in which tiles are cut along K, so that all workers have the same work (bench/notes/level-tiles.md). A pure
// function of what the tile rows cost.

#ifndef SPARSEC_RUNTIME_CUT_LISTS_H
#define SPARSEC_RUNTIME_CUT_LISTS_H

#include "plan/tile_lists.h"

namespace sparsec::runtime {

/// What a worker does with the sum of a tile.
enum class CutKind : uint32_t {
  whole = 0, // stores it
  first = 1, // writes it for the next worker
  rest = 2,  // adds that of the worker before, and stores it
};

/// The blocks [first, first + count) of a tile, counted from the first one of its row.
struct CutTile {
  Tile tile;
  uint32_t first;
  uint32_t countAndKind; // the kind is in the two upper bits

  uint32_t count() const { return countAndKind & ~(3u << kindShift); }
  CutKind kind() const { return CutKind(countAndKind >> kindShift); }

  static constexpr uint32_t kindShift = 30;
};
static_assert(sizeof(CutTile) == 16, "a machine kernel reads one by one load");

/// What blocks and sums cost, in steps.
struct CutCosts {
  uint32_t chunksPerBlock, tileOverhead;
};

struct CutLists {
  std::vector<uint32_t> offsets; // [workers + 1]; empty where tiles are not cut
  std::vector<CutTile> tiles;    // worker w runs [offsets[w], offsets[w + 1]) in this order
};

/// The tiles run in the order of whole lists, `order`. All but the last one or two rounds of them are whole, and those
/// with the least load get the next one. The rest of the order is one sequence, of which each worker takes as much as
/// brings it to the mean: tiles, after them the first part of the tile in which its share ends, and last the rest of
/// the tile in which it begins. Empty where the largest load, `wholeLoad` with whole tiles, would fall by less than
/// 2 %, or where a share would be shorter than a tile. The costs of the rows are those of `costsOfBlockRows`.
CutLists makeCutLists(const std::vector<Tile> &order, const std::vector<uint32_t> &rowCosts, const CutCosts &costs,
                      int64_t workers, uint64_t wholeLoad);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_CUT_LISTS_H
