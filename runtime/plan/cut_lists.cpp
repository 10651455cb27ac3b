// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/cut_lists.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace sparsec::runtime {

namespace {

// Measured on an H200 (bench/notes/level-tiles.md). Variants that cut tiles are for wgmma alone.

/// The time to write a sum, and that to read one, in steps.
constexpr uint64_t stepsOfSum = 3;
/// Cut tiles take memory and power: they have to gain so much, in percent of the time.
constexpr double leastGain = 2;

class CutListBuilder {
public:
  CutListBuilder(const std::vector<Tile> &order, const std::vector<uint32_t> &rowCosts, const CutCosts &costs,
                 int64_t workers)
      : order(order), rowCosts(rowCosts), costs(costs), workers(workers), own(workers) {
    uint64_t total = (costs.tileOverhead + 2 * stepsOfSum) * uint64_t(workers - 1);
    for (size_t i = 0; i < order.size(); ++i)
      total += costOf(i);
    mean = double(total) / double(workers);
  }

  double mean = 0;

  CutLists run() {
    for (auto rounds = int64_t(order.size()) / workers - 1; rounds >= 0; --rounds)
      if (takeRounds(rounds))
        return cut();
    return {};
  }

private:
  /// The tiles of a worker, as numbers in the order: those of its rounds, and those of its share.
  struct Worker {
    std::vector<size_t> rounds, wholes;
    uint64_t load = 0; // of the rounds
    size_t first = none, rest = none;
    uint32_t firstCount = 0;
  };
  static constexpr size_t none = SIZE_MAX;

  uint64_t costOf(size_t number) const { return rowCosts[order[number].row]; }
  uint32_t blocksOf(size_t number) const {
    return uint32_t((costOf(number) - costs.tileOverhead) / costs.chunksPerBlock);
  }

  /// Hands out whole rounds. False if some worker would have less than a tile to go.
  bool takeRounds(int64_t rounds) {
    using Load = std::pair<uint64_t, int64_t>; // of a worker
    std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
    for (int64_t w = 0; w < workers; ++w) {
      own[w] = {};
      loads.push({0, w});
    }
    next = size_t(rounds * workers);
    uint64_t largestLoad = 0, largestCost = 0;
    for (size_t i = 0; i < next; ++i) {
      const int64_t w = loads.top().second;
      loads.pop();
      own[w].rounds.push_back(i);
      own[w].load += costOf(i);
      largestLoad = std::max(largestLoad, own[w].load);
      loads.push({own[w].load, w});
    }
    for (size_t i = next; i < order.size(); ++i)
      largestCost = std::max(largestCost, costOf(i));
    return mean - double(largestLoad) >= double(largestCost);
  }

  CutLists cut() {
    CutLists lists;
    lists.offsets = {0};
    std::vector<uint64_t> loads;
    double budget = 0; // what is left up to the mean, of all workers so far
    for (int64_t w = 0; w < workers; ++w) {
      budget += mean - double(own[w].load);
      takeShare(w, budget);
      list(w, lists.tiles);
      lists.offsets.push_back(uint32_t(lists.tiles.size()));
      loads.push_back(loadOf(w));
    }
    lists.balance = balanceOf(loads);
    return lists;
  }

  /// The last worker takes what is left.
  void takeShare(int64_t w, double &budget) {
    Worker &worker = own[w];
    if (w > 0 && own[w - 1].first != none) {
      worker.rest = own[w - 1].first;
      budget -= double(costOf(worker.rest) - uint64_t(own[w - 1].firstCount) * costs.chunksPerBlock + stepsOfSum);
    }
    const bool isLast = w == workers - 1;
    while (next < order.size() && (isLast || budget >= double(costOf(next)))) {
      budget -= double(costOf(next));
      worker.wholes.push_back(next++);
    }
    const double overhead = double(costs.tileOverhead + stepsOfSum);
    if (next == order.size() || blocksOf(next) < 2 || budget < overhead + costs.chunksPerBlock)
      return;
    worker.firstCount = std::min(uint32_t((budget - overhead) / costs.chunksPerBlock), blocksOf(next) - 1);
    budget -= overhead + double(worker.firstCount) * costs.chunksPerBlock;
    worker.first = next++;
  }

  uint64_t loadOf(int64_t w) const {
    const Worker &worker = own[w];
    uint64_t load = worker.load;
    for (size_t number : worker.wholes)
      load += costOf(number);
    if (worker.first != none)
      load += costs.tileOverhead + stepsOfSum + uint64_t(worker.firstCount) * costs.chunksPerBlock;
    if (worker.rest != none)
      load += costOf(worker.rest) + stepsOfSum - uint64_t(own[w - 1].firstCount) * costs.chunksPerBlock;
    return load;
  }

  void list(int64_t w, std::vector<CutTile> &tiles) const {
    const Worker &worker = own[w];
    auto add = [&](size_t number, uint32_t first, uint32_t count, CutKind kind) {
      tiles.push_back({order[number], first, count | uint32_t(kind) << CutTile::kindShift});
    };
    for (const std::vector<size_t> *wholes : {&worker.rounds, &worker.wholes})
      for (size_t number : *wholes)
        add(number, 0, blocksOf(number), CutKind::whole);
    if (worker.first != none)
      add(worker.first, 0, worker.firstCount, CutKind::first);
    if (worker.rest != none) {
      const uint32_t first = own[w - 1].firstCount;
      add(worker.rest, first, blocksOf(worker.rest) - first, CutKind::rest);
    }
  }

  const std::vector<Tile> &order;
  const std::vector<uint32_t> &rowCosts;
  const CutCosts costs;
  const int64_t workers;
  std::vector<Worker> own;
  size_t next = 0; // in the order
};

} // namespace

CutLists makeCutLists(const std::vector<Tile> &order, const std::vector<uint32_t> &rowCosts, const CutCosts &costs,
                      int64_t workers, uint64_t wholeLoad) {
  CutListBuilder builder(order, rowCosts, costs, workers);
  const double gain = builder.mean == 0 ? 0 : double(wholeLoad) / builder.mean - 1;
  CutLists lists = gain < leastGain / 100 ? CutLists() : builder.run();
  lists.gain = gain;
  return lists;
}

CutLists makeCutLists(const TileListInput &input, const CutCosts &costs) {
  const std::vector<Tile> order = orderOfTiles(input);
  uint64_t total = 0;
  for (const Tile &tile : order)
    total += input.rowCosts[tile.row];
  const double balance = makeTileLists(input).balance;
  const auto wholeLoad = uint64_t(std::llround(double(total) / (balance * double(input.workers))));
  return makeCutLists(order, input.rowCosts, costs, input.workers, wholeLoad);
}

} // namespace sparsec::runtime
