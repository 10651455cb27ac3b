// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// compiler/emit/auxiliary/PlanLists.cpp does the same on a GPU: what one changes, the other has to follow.
#include "plan/round_lists.h"

#include <algorithm>
#include <compare>
#include <numeric>

namespace sparsec::runtime {

namespace {

/// The order of all tiles, by the rank of their rows: 0 is that of the costliest row.
class TileOrder {
public:
  explicit TileOrder(const TileListInput &input)
      : panels(input.grid.panels), atOnce(input.panelsAtOnce), rows(input.rowCosts.size()) {
    const int64_t ofLastRounds = std::max<int64_t>(input.lastRounds * input.workers / input.grid.tileRows, 1);
    lastGroup = std::max<int64_t>(panels - ofLastRounds, 0) / atOnce;
    std::iota(rows.begin(), rows.end(), 0);
    auto costOf = [&](uint32_t row) { return input.rowCosts[row]; };
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return costOf(a) > costOf(b); });
    const uint32_t middle = costOf(rows[rows.size() / 2]);
    while (costOf(rows[heavyRows]) / 2 > middle)
      ++heavyRows;
  }

  struct Place {
    uint32_t rank, panel;
    auto operator<=>(const Place &) const = default;
  };
  Place at(int64_t position) const {
    const int64_t heavyTiles = heavyRows * panels;
    if (position < heavyTiles)
      return inPart(position, 0, heavyRows);
    return inPart(position - heavyTiles, heavyRows, int64_t(rows.size()) - heavyRows);
  }
  uint32_t rowOf(const Place &place) const { return rows[place.rank]; }

private:
  /// The place of a tile of so many rows, of which `firstRank` is the first one.
  Place inPart(int64_t position, int64_t firstRank, int64_t rowCount) const {
    const int64_t group = std::min(position / (rowCount * atOnce), lastGroup), firstPanel = group * atOnce;
    const int64_t panelsOfGroup = group == lastGroup ? panels - firstPanel : atOnce;
    const int64_t inGroup = position - firstPanel * rowCount;
    return {uint32_t(firstRank + inGroup / panelsOfGroup), uint32_t(firstPanel + inGroup % panelsOfGroup)};
  }

  int64_t panels, atOnce, heavyRows = 0;
  int64_t lastGroup;          // the number of the last group of panels
  std::vector<uint32_t> rows; // by rank
};

/// The sum is modulo 2^32, as the machine kernel counts it. Should it overflow, the lists are less level for a while.
struct Load {
  uint32_t sum, worker;
  auto operator<=>(const Load &) const = default;
};

/// Unlike those of `Load`, the sums do not overflow.
std::vector<uint64_t> loadsOf(const TileLists &lists, const std::vector<uint32_t> &rowCosts) {
  std::vector<uint64_t> loads(lists.offsets.size() - 1);
  for (size_t worker = 0; worker < loads.size(); ++worker)
    for (uint32_t i = lists.offsets[worker]; i < lists.offsets[worker + 1]; ++i)
      loads[worker] += rowCosts[lists.tiles[i].row];
  return loads;
}

} // namespace

TileLists makeRoundLists(const TileListInput &input) {
  const int64_t tiles = input.grid.tiles(), workers = input.workers, leftOver = tiles % workers;
  const TileOrder order(input);
  TileLists lists;
  lists.tiles.resize(tiles);
  lists.offsets.resize(workers + 1);
  for (int64_t worker = 0; worker <= workers; ++worker)
    lists.offsets[worker] = uint32_t(worker * (tiles / workers) + std::min(worker, leftOver));
  std::vector<uint32_t> next(lists.offsets.begin(), lists.offsets.end() - 1);
  std::vector<Load> loads(workers);
  for (int64_t worker = 0; worker < workers; ++worker)
    loads[worker] = {0, uint32_t(worker)};
  std::vector<TileOrder::Place> round;
  for (int64_t begin = 0, end = leftOver != 0 ? leftOver : workers; begin < tiles; begin = end, end += workers) {
    round.clear();
    for (int64_t position = begin; position < end; ++position)
      round.push_back(order.at(position));
    std::sort(round.begin(), round.end());
    std::sort(loads.begin(), loads.end());
    for (size_t i = 0; i < round.size(); ++i) {
      const uint32_t row = order.rowOf(round[i]);
      lists.tiles[next[loads[i].worker]++] = {row, round[i].panel};
      loads[i].sum += input.rowCosts[row];
    }
  }
  lists.balance = balanceOf(loadsOf(lists, input.rowCosts));
  lists.panelsAtOnce = input.panelsAtOnce;
  return lists;
}

} // namespace sparsec::runtime
