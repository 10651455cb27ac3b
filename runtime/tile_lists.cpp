// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tile_lists.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace sparsec::runtime {

namespace {

/// Measured: from this density on, groups of rows (the raster of the schedule) are faster than whole panels.
constexpr double groupedDensity = 0.7;
/// Filling the pipeline and writing the result cost about as much as two stages.
constexpr uint32_t tileOverhead = 2;
/// Tiles per worker at the end of the order that are sorted by cost.
constexpr int64_t sortedTilesPerWorker = 4;

std::vector<uint32_t> tileRowCosts(const TileListInput &input) {
  std::vector<uint32_t> costs(input.grid.tileRows);
  for (int64_t row = 0; row < input.grid.tileRows; ++row) {
    int64_t blockRow = row / input.grid.tilesPerBlockRow;
    int64_t blocks = input.rowPtr[blockRow + 1] - input.rowPtr[blockRow];
    costs[row] = uint32_t(std::min<int64_t>(blocks * input.chunksPerBlock + tileOverhead, UINT32_MAX));
  }
  return costs;
}

/// The units in the order in which they run; `panel` counts units.
std::vector<Tile> orderUnits(const TileListInput &input, const std::vector<uint32_t> &costs) {
  TileGrid grid = input.grid;
  grid.panels = ceilDivide(grid.panels, input.panelsPerUnit);
  double density = double(input.rowPtr[input.blockRows]) / std::max(1.0, double(input.blockRows) * input.blockColumns);
  int64_t group = density >= groupedDensity ? input.groupRows : grid.tileRows;
  std::vector<Tile> units(grid.tiles());
  auto next = units.begin();
  for (int64_t first = 0; first < grid.tileRows; first += group) {
    int64_t end = std::min(first + group, grid.tileRows);
    for (int64_t panel = 0; panel < grid.panels; ++panel)
      for (int64_t row = first; row < end; ++row)
        *next++ = {uint32_t(row), uint32_t(panel)};
  }
  int64_t tail = std::min<int64_t>(units.size(), sortedTilesPerWorker * input.workers);
  std::stable_sort(units.end() - tail, units.end(),
                   [&](const Tile &a, const Tile &b) { return costs[a.row] > costs[b.row]; });
  return units;
}

/// Workers by load. The one with the least load gets the next tile, so that loads never differ by more than the largest
/// cost: a ring with one list of workers for every load finds it in constant time.
class WorkerRing {
public:
  WorkerRing(int64_t workers, uint32_t largestCost)
      : mask(std::bit_ceil(uint64_t(largestCost) + 1) - 1), first(mask + 1, none), next(workers) {
    for (int64_t w = workers - 1; w >= 0; --w)
      insert(uint32_t(w), 0);
  }

  /// Gives the worker with the least load more, and returns which it was.
  uint32_t assign(uint32_t cost) {
    while (first[leastLoad & mask] == none)
      ++leastLoad;
    uint32_t worker = first[leastLoad & mask];
    first[leastLoad & mask] = next[worker];
    insert(worker, leastLoad + cost);
    return worker;
  }

private:
  static constexpr uint32_t none = UINT32_MAX;

  void insert(uint32_t worker, uint64_t load) {
    next[worker] = first[load & mask];
    first[load & mask] = worker;
  }

  uint64_t mask, leastLoad = 0;
  std::vector<uint32_t> first; // worker of a load, by load modulo the ring's size
  std::vector<uint32_t> next;  // worker of the same load, by worker
};

struct Assignment {
  std::vector<uint32_t> owners; // by unit
  std::vector<uint32_t> counts; // tiles by worker
  std::vector<uint64_t> loads;  // by worker
};

/// The panels of a unit; the last unit of a row may have fewer.
struct PanelRange {
  uint32_t begin, end;
};
PanelRange panelsOf(const Tile &unit, const TileListInput &input) {
  int64_t begin = unit.panel * input.panelsPerUnit;
  return {uint32_t(begin), uint32_t(std::min(begin + input.panelsPerUnit, input.grid.panels))};
}

Assignment assignUnits(const std::vector<Tile> &units, const std::vector<uint32_t> &costs, const TileListInput &input) {
  // Costs are compared to 16 bits, which keeps the ring small whatever the matrix.
  uint32_t largest = costs.empty() ? 1 : *std::max_element(costs.begin(), costs.end());
  unsigned shift = std::max(int(std::bit_width(largest)) - 16, 0);
  WorkerRing ring(input.workers, std::max(largest >> shift, 1u));
  Assignment assignment = {std::vector<uint32_t>(units.size()), std::vector<uint32_t>(input.workers),
                           std::vector<uint64_t>(input.workers)};
  for (size_t i = 0; i < units.size(); ++i) {
    uint32_t cost = costs[units[i].row], owner = ring.assign(std::max(cost >> shift, 1u));
    PanelRange panels = panelsOf(units[i], input);
    assignment.owners[i] = owner;
    assignment.counts[owner] += panels.end - panels.begin;
    assignment.loads[owner] += uint64_t(cost) * (panels.end - panels.begin);
  }
  return assignment;
}

double balanceOf(const std::vector<uint64_t> &loads) {
  uint64_t sum = std::accumulate(loads.begin(), loads.end(), uint64_t(0));
  uint64_t largest = *std::max_element(loads.begin(), loads.end());
  return double(sum) / (double(largest) * double(loads.size()));
}

} // namespace

TileLists makeTileLists(const TileListInput &input) {
  std::vector<uint32_t> costs = tileRowCosts(input);
  std::vector<Tile> units = orderUnits(input, costs);
  Assignment assignment = assignUnits(units, costs, input);
  TileLists lists = {std::vector<uint32_t>(input.workers + 1), std::vector<Tile>(input.grid.tiles()),
                     balanceOf(assignment.loads)};
  std::partial_sum(assignment.counts.begin(), assignment.counts.end(), lists.offsets.begin() + 1);
  std::vector<uint32_t> next(lists.offsets.begin(), lists.offsets.end() - 1);
  for (size_t i = 0; i < units.size(); ++i) {
    PanelRange panels = panelsOf(units[i], input);
    uint32_t &position = next[assignment.owners[i]];
    Tile *destination = &lists.tiles[position];
    position += panels.end - panels.begin;
    for (uint32_t panel = panels.begin, row = units[i].row; panel < panels.end; ++panel)
      *destination++ = {row, panel};
  }
  return lists;
}

} // namespace sparsec::runtime
