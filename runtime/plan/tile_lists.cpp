// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/tile_lists.h"
#include "operations/kernel_shape.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <numeric>

namespace sparsec::runtime {

double balanceOf(const std::vector<uint64_t> &loads) {
  uint64_t sum = std::accumulate(loads.begin(), loads.end(), uint64_t(0));
  uint64_t largest = *std::max_element(loads.begin(), loads.end());
  return largest == 0 ? 1 : double(sum) / (double(largest) * double(loads.size()));
}

namespace {

// These numbers belong to the algorithm, not to a chip: they decide how level the loads become. The numbers that
// were measured on a chip are in the input.

/// Tiles per worker at the end of the order that are sorted by cost. The worker with the least load gets the costly
/// ones first, so that the loads end level. All tiles before them keep the order that shares operands in the L2 cache.
constexpr int64_t sortedTilesPerWorker = 4;
/// Lists of whole panels whose balance is below this are made in other orders too.
constexpr double goodBalance = 0.95;
/// Lists of tile row after tile row whose balance is below this get more tiles at the end that are sorted.
constexpr double goodBalanceOfRows = 0.98;
/// Loads that are as level as this stay as they are.
constexpr double levelBalance = 0.999;
/// The effort to level loads, in comparisons of two units. It is counted, not timed, so that lists do not depend on how
/// busy the machine is. 1000 comparisons take about a microsecond.
constexpr int64_t mostComparisons = int64_t(1) << 21;
/// A tile that takes more than such a part of a worker's time is heavy.
constexpr double heavyParts[] = {0.25, 0.0625};
/// Tiles per worker of a period: loads that differ by a tile or two are then still level.
constexpr int64_t tilesPerPeriod = 64;

/// Costs are compared to 16 bits, which keeps what has an entry for every cost small whatever the matrix.
class ComparedCosts {
public:
  explicit ComparedCosts(const std::vector<uint32_t> &costs) {
    uint32_t greatest = costs.empty() ? 1 : *std::max_element(costs.begin(), costs.end());
    shift = std::max(int(std::bit_width(greatest)) - 16, 0);
    largest = of(greatest);
  }
  uint32_t of(uint32_t cost) const { return std::max(cost >> shift, 1u); }

  uint32_t largest;

private:
  unsigned shift;
};

/// The numbers of costs, the largest one first; those of equal costs stay in their order.
std::vector<uint32_t> sortByCost(const std::vector<uint32_t> &costs) {
  ComparedCosts compared(costs);
  std::vector<uint32_t> begins(compared.largest + 2); // of the numbers of a cost, the largest one first
  for (uint32_t cost : costs)
    ++begins[compared.largest - compared.of(cost) + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<uint32_t> sorted(costs.size());
  for (uint32_t number = 0; number < costs.size(); ++number)
    sorted[begins[compared.largest - compared.of(costs[number])]++] = number;
  return sorted;
}

/// The units in the order in which they run; `panel` counts units. Rows of a panel go by falling cost, so that those
/// that run together take about the same time and walk the panels together; groups of a nearly dense pattern stay as
/// they are.
std::vector<Tile> orderUnits(const TileListInput &input) {
  TileGrid grid = input.grid;
  grid.panels = ceilDivide(grid.panels, input.panelsPerUnit);
  std::vector<uint32_t> rows(grid.tileRows);
  std::iota(rows.begin(), rows.end(), 0);
  if (input.groupRows == 0)
    rows = sortByCost(input.rowCosts);
  const int64_t group = input.groupRows != 0 ? input.groupRows : grid.tileRows;
  const int64_t atOnce = input.groupRows != 0 ? 1 : input.panelsAtOnce;
  std::vector<Tile> units(grid.tiles());
  auto next = units.begin();
  for (int64_t firstRow = 0; firstRow < grid.tileRows; firstRow += group) {
    const int64_t endRow = std::min(firstRow + group, grid.tileRows);
    for (int64_t firstPanel = 0; firstPanel < grid.panels; firstPanel += atOnce) {
      const int64_t endPanel = std::min(firstPanel + atOnce, grid.panels);
      for (int64_t row = firstRow; row < endRow; ++row)
        for (int64_t panel = firstPanel; panel < endPanel; ++panel)
          *next++ = {rows[row], uint32_t(panel)};
    }
  }
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

/// Sorts the end of an order by falling cost.
void levelEnd(std::vector<Tile> &units, std::vector<uint32_t> &costs, int64_t workers,
              int64_t tilesPerWorker = sortedTilesPerWorker) {
  size_t tail = std::min<size_t>(units.size(), tilesPerWorker * workers), first = units.size() - tail;
  std::vector<size_t> sorted(tail);
  std::iota(sorted.begin(), sorted.end(), first);
  std::stable_sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) { return costs[a] > costs[b]; });
  std::vector<Tile> tiles(tail);
  std::vector<uint32_t> tileCosts(tail);
  for (size_t i = 0; i < tail; ++i) {
    tiles[i] = units[sorted[i]];
    tileCosts[i] = costs[sorted[i]];
  }
  std::copy(tiles.begin(), tiles.end(), units.begin() + first);
  std::copy(tileCosts.begin(), tileCosts.end(), costs.begin() + first);
}

/// Moves the units whose tiles are heavy to the front: behind the others they would end long after them. Heavy ones and
/// light ones keep their order.
void moveHeavyToFront(std::vector<Tile> &units, std::vector<uint32_t> &costs, int64_t workers, double heavyPart) {
  const double load = double(std::accumulate(costs.begin(), costs.end(), uint64_t(0))) / double(workers);
  std::vector<Tile> tiles;
  std::vector<uint32_t> tileCosts;
  tiles.reserve(units.size());
  tileCosts.reserve(units.size());
  for (bool areHeavy : {true, false})
    for (size_t i = 0; i < units.size(); ++i)
      if ((double(costs[i]) > heavyPart * load) == areHeavy) {
        tiles.push_back(units[i]);
        tileCosts.push_back(costs[i]);
      }
  units = std::move(tiles);
  costs = std::move(tileCosts);
}

/// `panelsOf(unit)` are the tiles of a unit, `costs` those of one of its tiles.
template <typename PanelsOf>
Assignment assignUnits(const std::vector<Tile> &units, const std::vector<uint32_t> &costs, int64_t workers,
                       const PanelsOf &panelsOf) {
  ComparedCosts compared(costs);
  WorkerRing ring(workers, compared.largest);
  Assignment assignment = {std::vector<uint32_t>(units.size()), std::vector<uint32_t>(workers),
                           std::vector<uint64_t>(workers)};
  for (size_t i = 0; i < units.size(); ++i) {
    uint32_t owner = ring.assign(compared.of(costs[i]));
    PanelRange panels = panelsOf(units[i]);
    assignment.owners[i] = owner;
    assignment.counts[owner] += panels.end - panels.begin;
    assignment.loads[owner] += uint64_t(costs[i]) * (panels.end - panels.begin);
  }
  return assignment;
}

/// The group of a unit. Units of a group share operands, so that workers may swap them.
using GroupOf = uint32_t (*)(const Tile &unit);
uint32_t panelOf(const Tile &unit) { return unit.panel; }
uint32_t rowOf(const Tile &unit) { return unit.row; }
uint32_t groupOfAll(const Tile & /*unit*/) { return 0; }

/// Levels the loads of an assignment: the worker with the largest load gives a unit to another one, and gets a less
/// costly unit of the same group for it. What runs at about the same time stays the same, and so does what it shares in
/// the L2 cache.
class LoadLevelling {
public:
  LoadLevelling(const std::vector<Tile> &units, const std::vector<uint32_t> &costs, GroupOf groupOf,
                Assignment &assignment)
      : units(units), costs(costs), groupOf(groupOf), assignment(assignment), unitsOf(assignment.loads.size()) {
    for (uint32_t unit = 0; unit < units.size(); ++unit) {
      unitsOf[assignment.owners[unit]].push_back(unit);
      const uint32_t group = groupOf(units[unit]);
      if (group >= ofGroup.size())
        ofGroup.resize(group + 1);
      ofGroup[group].push_back(unit);
    }
  }

  /// A unit counts `tilesOf(unit)` times.
  template <typename TilesOf> void run(const TilesOf &tilesOf) {
    const uint64_t sum = std::accumulate(assignment.loads.begin(), assignment.loads.end(), uint64_t(0));
    const double enough = double(sum) / (levelBalance * double(assignment.loads.size()));
    for (int64_t comparisons = 0; comparisons < mostComparisons;) {
      const auto largest = std::max_element(assignment.loads.begin(), assignment.loads.end());
      const auto worker = uint32_t(largest - assignment.loads.begin());
      Swap best = {0, 0, 0, *largest};
      for (uint32_t place = 0; place < unitsOf[worker].size(); ++place)
        findBetter(worker, place, tilesOf, best, comparisons);
      if (double(*largest) <= enough || best.largestLoad == *largest)
        return;
      swap(worker, best);
    }
  }

private:
  /// A unit of a worker, by its place there, and another one; the larger of both loads after a swap.
  struct Swap {
    uint32_t place, other;
    uint64_t difference, largestLoad;
  };

  template <typename TilesOf>
  void findBetter(uint32_t worker, uint32_t place, const TilesOf &tilesOf, Swap &best, int64_t &comparisons) const {
    const uint32_t unit = unitsOf[worker][place];
    const std::vector<uint32_t> &others = ofGroup[groupOf(units[unit])];
    comparisons += int64_t(others.size());
    for (uint32_t other : others) {
      if (costs[other] >= costs[unit])
        continue;
      const uint64_t difference = uint64_t(costs[unit] - costs[other]) * tilesOf(units[unit]);
      const uint64_t load =
          std::max(assignment.loads[worker] - difference, assignment.loads[assignment.owners[other]] + difference);
      if (load < best.largestLoad)
        best = {place, other, difference, load};
    }
  }

  void swap(uint32_t worker, const Swap &best) {
    const uint32_t unit = unitsOf[worker][best.place], partner = assignment.owners[best.other];
    assignment.loads[worker] -= best.difference;
    assignment.loads[partner] += best.difference;
    unitsOf[worker][best.place] = best.other;
    *std::find(unitsOf[partner].begin(), unitsOf[partner].end(), best.other) = unit;
    std::swap(assignment.owners[unit], assignment.owners[best.other]);
  }

  const std::vector<Tile> &units;
  const std::vector<uint32_t> &costs;
  const GroupOf groupOf;
  Assignment &assignment;
  std::vector<std::vector<uint32_t>> unitsOf; // by worker
  std::vector<std::vector<uint32_t>> ofGroup;
};

/// Workers swap units to level their loads, once for each kind of groups: those of a group.
template <typename PanelsOf>
TileLists listUnits(const std::vector<Tile> &units, const std::vector<uint32_t> &costs, int64_t workers,
                    const PanelsOf &panelsOf, std::initializer_list<GroupOf> swaps = {}) {
  Assignment assignment = assignUnits(units, costs, workers, panelsOf);
  for (GroupOf groupOf : swaps)
    LoadLevelling(units, costs, groupOf, assignment).run([&](const Tile &unit) {
      const PanelRange panels = panelsOf(unit);
      return panels.end - panels.begin;
    });
  TileLists lists = {std::vector<uint32_t>(workers + 1), {}, balanceOf(assignment.loads)};
  lists.largestLoad = *std::max_element(assignment.loads.begin(), assignment.loads.end());
  std::partial_sum(assignment.counts.begin(), assignment.counts.end(), lists.offsets.begin() + 1);
  lists.tiles.resize(lists.offsets.back());
  std::vector<uint32_t> next(lists.offsets.begin(), lists.offsets.end() - 1);
  for (size_t i = 0; i < units.size(); ++i) {
    PanelRange panels = panelsOf(units[i]);
    uint32_t &position = next[assignment.owners[i]];
    Tile *destination = &lists.tiles[position];
    position += panels.end - panels.begin;
    for (uint32_t panel = panels.begin, row = units[i].row; panel < panels.end; ++panel)
      *destination++ = {row, panel};
  }
  return lists;
}

TileLists listTiles(const std::vector<Tile> &order, const std::vector<uint32_t> &costs, int64_t workers,
                    std::initializer_list<GroupOf> swaps = {}) {
  auto panelsOf = [](const Tile &tile) { return PanelRange{tile.panel, tile.panel + 1}; };
  return listUnits(order, costs, workers, panelsOf, swaps);
}

} // namespace

std::vector<uint32_t> costsOfBlockRows(const int32_t *rowPtr, const TileGrid &grid, int64_t chunksPerBlock,
                                       uint32_t tileOverhead) {
  std::vector<uint32_t> costs(grid.tileRows);
  for (int64_t row = 0; row < grid.tileRows; ++row) {
    int64_t blockRow = row / grid.tilesPerBlockRow;
    int64_t blocks = rowPtr[blockRow + 1] - rowPtr[blockRow];
    costs[row] = uint32_t(std::min<int64_t>(blocks * chunksPerBlock + tileOverhead, UINT32_MAX));
  }
  return costs;
}

bool isNearlyDense(int64_t blocks, int64_t blockRows, int64_t blockColumns, uint32_t groupedDensity) {
  return 100 * double(blocks) >= double(groupedDensity) * std::max(1.0, double(blockRows) * double(blockColumns));
}

double panelsOfFewestBytes(int64_t workers, const OperandBytes &bytes) {
  return std::sqrt(double(workers) * bytes.blocksOfRow / bytes.panel);
}

PanelLimits panelLimits(int64_t workers, const OperandBytes &ofOneBlock, int64_t panels, double roomBytes) {
  const double blocks = ofOneBlock.panel / (double(workers) * ofOneBlock.blocksOfRow);
  return {int64_t(std::clamp(roomBytes / ofOneBlock.panel, 1.0, double(panels))),
          int64_t(std::ceil(std::clamp<double>(blocks, 1, INT32_MAX)))};
}

int64_t choosePanelsAtOnce(const PanelLimits &limits, int64_t blocks) {
  int64_t panels = 1;
  while (panels < limits.most && (panels + 1) * (panels + 1) * limits.blocksOfOne <= blocks)
    ++panels;
  return panels;
}

std::vector<Tile> orderOfTiles(const TileListInput &input) {
  TileListInput single = input;
  single.panelsPerUnit = 1;
  return orderUnits(single);
}

TileLists makeTileLists(std::vector<Tile> order, std::vector<uint32_t> costs, int64_t workers) {
  levelEnd(order, costs, workers);
  return listTiles(order, costs, workers);
}

std::vector<Tile> orderRowByRow(const std::vector<uint32_t> &costs, const TileGrid &grid) {
  std::vector<Tile> order;
  order.reserve(costs.size());
  for (int64_t row = 0; row < grid.tileRows; ++row) {
    const auto ofRow = costs.begin() + row * grid.panels;
    for (uint32_t panel : sortByCost({ofRow, ofRow + grid.panels}))
      order.push_back({uint32_t(row), panel});
  }
  return order;
}

std::vector<uint32_t> costsInOrder(const std::vector<Tile> &order, const std::vector<uint32_t> &costs,
                                   const TileGrid &grid) {
  std::vector<uint32_t> ordered;
  ordered.reserve(order.size());
  for (const Tile &tile : order)
    ordered.push_back(costs[tile.row * grid.panels + tile.panel]);
  return ordered;
}

TileLists makeRowByRowLists(const std::vector<uint32_t> &costs, const TileGrid &grid, int64_t workers) {
  const std::vector<Tile> order = orderRowByRow(costs, grid);
  const std::vector<uint32_t> orderedCosts = costsInOrder(order, costs, grid);
  auto listWith = [&](int64_t sortedTiles) {
    std::vector<Tile> tiles = order;
    std::vector<uint32_t> tileCosts = orderedCosts;
    levelEnd(tiles, tileCosts, workers, sortedTiles);
    return listTiles(tiles, tileCosts, workers, {rowOf});
  };
  const bool isShort = grid.tiles() <= sortedTilesPerWorker * workers;
  TileLists lists = listWith(isShort ? sortedTilesPerWorker : 1);
  if (!isShort && lists.balance < goodBalanceOfRows)
    if (TileLists others = listWith(sortedTilesPerWorker); others.balance > lists.balance)
      return others;
  return lists;
}

TileLists makeTileLists(const TileListInput &input) {
  const std::vector<Tile> ordered = orderUnits(input);
  using Change = std::function<void(std::vector<Tile> &, std::vector<uint32_t> &)>;
  auto listWith = [&](const Change &change, std::initializer_list<GroupOf> swaps) {
    std::vector<Tile> units = ordered;
    std::vector<uint32_t> costs(units.size());
    for (size_t i = 0; i < units.size(); ++i)
      costs[i] = input.rowCosts[units[i].row];
    change(units, costs);
    return listUnits(units, costs, input.workers, [&](const Tile &unit) { return panelsOf(unit, input); }, swaps);
  };
  auto unchanged = [](auto &, auto &) {};
  auto levelled = [&](auto &units, auto &costs) { levelEnd(units, costs, input.workers); };
  if (input.groupRows != 0) {
    TileLists lists = listWith(levelled, {});
    lists.groupRows = input.groupRows;
    return lists;
  }
  // Rows by falling cost mostly end level as they are. Where a few rows cost far more than the others, those of the
  // last panels begin too late.
  TileLists best = listWith(unchanged, {panelOf});
  const double balanceInOrder = best.balance;
  auto improve = [&](const Change &change) {
    if (best.balance < goodBalance)
      if (TileLists lists = listWith(change, {panelOf}); lists.balance > best.balance)
        best = std::move(lists);
  };
  improve(levelled);
  for (double part : heavyParts)
    improve([&](auto &units, auto &costs) {
      moveHeavyToFront(units, costs, input.workers, part);
      levelled(units, costs);
    });
  // Where so few tiles are all sorted, each worker begins with a costly one, and these read all panels at once. Swaps
  // of tiles of any panels leave most of them in the order of the panels.
  const bool areAllSorted = int64_t(ordered.size()) <= sortedTilesPerWorker * input.workers;
  if (areAllSorted && best.balance > balanceInOrder)
    if (TileLists lists = listWith(unchanged, {panelOf, groupOfAll}); lists.balance >= goodBalance)
      best = std::move(lists);
  best.panelsAtOnce = input.panelsAtOnce;
  return best;
}

int64_t choosePeriod(int64_t tileRows, int64_t workers) {
  int64_t period = ceilDivide(tilesPerPeriod * workers, tileRows);
  // The least number of panels whose tiles are a multiple of the workers: rows that cost the same are then level.
  int64_t even = workers / std::gcd(tileRows, workers);
  return even <= period ? ceilDivide(period, even) * even : period;
}

TileLists makePeriodicLists(const TileListInput &input) {
  if (input.grid.tiles() == 0 || input.groupRows != 0) {
    TileLists none;
    none.groupRows = input.groupRows;
    return none;
  }
  const std::vector<uint32_t> rows = sortByCost(input.rowCosts);
  std::vector<Tile> order;
  std::vector<uint32_t> costs;
  order.reserve(input.grid.tiles());
  costs.reserve(input.grid.tiles());
  for (int64_t panel = 0; panel < input.grid.panels; ++panel)
    for (uint32_t row : rows) {
      order.push_back({row, uint32_t(panel)});
      costs.push_back(input.rowCosts[row]);
    }
  TileLists lists = listTiles(order, costs, input.workers);
  lists.period = input.grid.panels;
  return lists;
}

} // namespace sparsec::runtime
