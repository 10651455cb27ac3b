// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/cut_lists.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

namespace sparsec::runtime {

namespace {

/// Measured on an H200 (bench/notes/level-tiles.md), for products. Variants that cut tiles are for wgmma alone, and
/// take memory and power.
constexpr uint32_t stepsOfSum = 3;
constexpr double leastGain = 2;

class CutListBuilder {
public:
  explicit CutListBuilder(const CutListInput &input)
      : input(input), order(input.order), costs(input.costs), workers(input.workers), own(size_t(input.workers)) {
    uint64_t total = (costs.tileOverhead + 2 * costs.sum) * uint64_t(workers - 1);
    for (uint32_t cost : input.orderedCosts)
      total += cost;
    mean = double(total) / double(workers);
  }

  double mean = 0;

  CutLists run() {
    const int64_t most = int64_t(order.size()) / workers - 1;
    for (int64_t rounds = most; rounds >= std::max<int64_t>(0, most - mostDroppedRounds); --rounds)
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
  /// Where costs differ so much that fewer rounds are not enough, tiles stay whole.
  static constexpr int64_t mostDroppedRounds = 4;

  uint64_t costOf(size_t number) const { return input.orderedCosts[number]; }
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
      budget -= double(costOf(worker.rest) - uint64_t(own[w - 1].firstCount) * costs.chunksPerBlock + costs.sum);
    }
    const bool isLast = w == workers - 1;
    while (next < order.size() && (isLast || budget >= double(costOf(next)))) {
      budget -= double(costOf(next));
      worker.wholes.push_back(next++);
    }
    const double overhead = double(costs.tileOverhead + costs.sum);
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
      load += costs.tileOverhead + costs.sum + uint64_t(worker.firstCount) * costs.chunksPerBlock;
    if (worker.rest != none)
      load += costOf(worker.rest) + costs.sum - uint64_t(own[w - 1].firstCount) * costs.chunksPerBlock;
    return load;
  }

  void list(int64_t w, std::vector<CutTile> &tiles) const {
    const Worker &worker = own[w];
    auto add = [&](size_t number, uint32_t first, uint32_t count, CutKind kind) {
      tiles.push_back({order[number], first, count | uint32_t(kind) << CutTile::kindShift});
    };
    auto addFirst = [&] {
      if (worker.first != none)
        add(worker.first, 0, worker.firstCount * input.listBlocks, CutKind::first);
    };
    auto blocksOfList = [&](size_t number) { return input.areRestsResumed ? allBlocks : blocksOf(number); };
    if (input.areRestsResumed)
      addFirst();
    for (const std::vector<size_t> *wholes : {&worker.rounds, &worker.wholes})
      for (size_t number : *wholes)
        add(number, 0, blocksOfList(number), CutKind::whole);
    if (!input.areRestsResumed)
      addFirst();
    if (worker.rest != none) {
      const uint32_t first = own[w - 1].firstCount * input.listBlocks;
      add(worker.rest, first, blocksOfList(worker.rest) - first, CutKind::rest);
    }
  }

  const CutListInput &input;
  const std::vector<Tile> &order;
  const CutCosts costs;
  const int64_t workers;
  std::vector<Worker> own;
  size_t next = 0; // in the order
};

} // namespace

CutLists makeCutLists(const CutListInput &input) {
  CutListBuilder builder(input);
  const double gain = builder.mean == 0 ? 0 : double(input.wholeLoad) / builder.mean - 1;
  CutLists lists = gain < input.costs.leastGain / 100 ? CutLists() : builder.run();
  lists.gain = gain;
  return lists;
}

CutLists makeCutLists(const TileListInput &input, uint32_t chunksPerBlock, uint32_t tileOverhead) {
  const std::vector<Tile> order = orderOfTiles(input);
  std::vector<uint32_t> orderedCosts;
  orderedCosts.reserve(order.size());
  for (const Tile &tile : order)
    orderedCosts.push_back(input.rowCosts[tile.row]);
  const uint64_t total = std::accumulate(orderedCosts.begin(), orderedCosts.end(), uint64_t(0));
  // The loads of whole tiles, from how level they are.
  const auto wholeLoad = uint64_t(std::llround(double(total) / double(input.workers) / makeTileLists(input).balance));
  return makeCutLists({order,
                       std::move(orderedCosts),
                       {chunksPerBlock, tileOverhead, stepsOfSum, leastGain},
                       input.workers,
                       wholeLoad});
}

} // namespace sparsec::runtime
