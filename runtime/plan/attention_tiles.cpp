// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/attention_tiles.h"
#include "arguments/blocks.h"
#include "plan/key_range.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace sparsec::runtime {

namespace {

// Measured on an H200 (bench/notes/attention-cut-tiles.md).
constexpr uint32_t stepsOfOutput = 1;   // to write the output of a first part, and to read it
constexpr double leastGainOfCuts = 1.5; // in percent

/// The time of a step with `active` tiles side by side, as part of that with all of them: fewer tiles take less time,
/// but not as much less as they are fewer.
constexpr double shareOfTime(int64_t active, int64_t tilesOfCta) { return double(active + 1) / double(tilesOfCta + 1); }

/// The costs of tiles, in steps.
class TileCosts {
public:
  explicit TileCosts(const TileListRequest &request)
      : window(keyWindow(request.kernel)),
        tileOverhead(request.kernel.planCost(request.variant, SPARSEC_PLAN_COST_TILE_OVERHEAD)), stage(request.stage),
        problem(request.problem), pattern(request.blocks) {}

  uint32_t of(int64_t batch, int64_t head, int64_t firstQuery) const {
    KeyRange keys = reachable(firstQuery);
    int64_t blocks = ceilDivide(keys.end, int64_t(keyBlock())) - keys.begin / keyBlock();
    if (keys.begin >= keys.end)
      blocks = 0;
    if (pattern)
      blocks = listed(listNumber(*pattern, batch, head, firstQuery / pattern->block_rows), keys);
    return uint32_t(ceilDivide(blocks * keyBlock(), int64_t(stage.tile_n))) + tileOverhead;
  }

private:
  int32_t keyBlock() const { return pattern ? pattern->block_columns : int32_t(stage.tile_n); }

  /// The keys that some query of the tile may see.
  KeyRange reachable(int64_t firstQuery) const {
    int64_t lastQuery = std::min<int64_t>(firstQuery + stage.tile_m, problem.rows) - 1;
    return {visibleKeys(window, problem.rows, problem.depth, firstQuery).begin,
            visibleKeys(window, problem.rows, problem.depth, lastQuery).end};
  }

  int64_t listed(int64_t list, KeyRange keys) const {
    int64_t first = keys.begin / keyBlock(), end = keys.begin < keys.end ? ceilDivide(keys.end, keyBlock()) : 0;
    auto isReachable = [&](int32_t block) { return block >= first && block < end; };
    auto count = [&](std::span<const int32_t> blocks) {
      return std::count_if(blocks.begin(), blocks.end(), isReachable);
    };
    return count(blockList(*pattern, pattern->partial, list)) + count(blockList(*pattern, pattern->full, list));
  }

  const KeyWindow window;
  const uint32_t tileOverhead;
  const sparsec_stage_info_t &stage;
  const Problem &problem;
  const sparsec_blocks_t *pattern;
};

/// The costs of all tiles, head after head. `costOf` gives that of a tile by its batch, its head and its number in the
/// head. Panel 0 has the last one.
template <typename CostOf> std::vector<uint32_t> costsOfTiles(const TileListRequest &request, const CostOf &costOf) {
  const TileGrid &grid = request.grid;
  const int64_t heads = request.problem.heads;
  std::vector<uint32_t> steps;
  steps.reserve(grid.tiles());
  for (int64_t row = 0; row < grid.tileRows; ++row)
    for (int64_t panel = 0; panel < grid.panels; ++panel)
      steps.push_back(costOf(row / heads, row % heads, grid.panels - 1 - panel));
  return steps;
}

std::vector<uint32_t> stepsOfTiles(const TileListRequest &request) {
  const TileCosts costs(request);
  return costsOfTiles(request, [&](int64_t batch, int64_t head, int64_t tile) {
    return costs.of(batch, head, tile * request.stage.tile_m);
  });
}

} // namespace

TileLists attentionTileLists(const TileListRequest &request) {
  return makeRowByRowLists(stepsOfTiles(request), request.grid, request.workers);
}

/// The time of tiles side by side with these loads, in steps with all of them.
static double timeSideBySide(std::vector<uint64_t> loads) {
  std::sort(loads.begin(), loads.end());
  double time = 0;
  uint64_t before = 0;
  for (size_t done = 0; done < loads.size(); before = loads[done++])
    time += double(loads[done] - before) * shareOfTime(int64_t(loads.size() - done), int64_t(loads.size()));
  return time;
}

/// The time until the last CTA has run its lists. `costs` are those of all tiles, row after row.
static uint64_t timeOfLists(const TileLists &lists, const std::vector<uint32_t> &costs,
                            const TileListRequest &request) {
  const int64_t tilesOfCta = request.stage.concurrent_tiles, ctas = request.workers / tilesOfCta;
  std::vector<uint64_t> loads(size_t(request.workers));
  for (int64_t worker = 0; worker < request.workers; ++worker)
    for (uint32_t i = lists.offsets[worker]; i < lists.offsets[worker + 1]; ++i)
      loads[worker] += costs[lists.tiles[i].row * request.grid.panels + lists.tiles[i].panel];
  double longest = 0;
  for (int64_t cta = 0; cta < ctas; ++cta) {
    std::vector<uint64_t> ofCta(size_t(tilesOfCta), 0);
    for (int64_t tile = 0; tile < tilesOfCta; ++tile)
      ofCta[tile] = loads[tile * ctas + cta];
    longest = std::max(longest, timeSideBySide(std::move(ofCta)));
  }
  return uint64_t(std::llround(longest));
}

CutLists attentionCutLists(const TileListRequest &request) {
  const std::vector<uint32_t> steps = stepsOfTiles(request);
  const std::vector<Tile> order = orderRowByRow(steps, request.grid);
  const TileLists whole = makeRowByRowLists(steps, request.grid, request.workers);
  const uint32_t keyBlock = request.blocks ? uint32_t(request.blocks->block_columns) : request.stage.tile_n;
  const CutCosts costs = {.chunksPerBlock = std::max(keyBlock / request.stage.tile_n, 1u),
                          .tileOverhead = request.kernel.planCost(request.variant, SPARSEC_PLAN_COST_TILE_OVERHEAD),
                          .sum = stepsOfOutput,
                          .leastGain = leastGainOfCuts};
  return makeCutLists({.order = order,
                       .orderedCosts = costsInOrder(order, steps, request.grid),
                       .costs = costs,
                       .workers = request.workers,
                       .wholeLoad = timeOfLists(whole, steps, request),
                       .areRestsResumed = true,
                       .listBlocks = std::max(request.stage.tile_n / keyBlock, 1u)});
}

TileLists jointTileLists(const TileListRequest &request, const JointLists &joint) {
  const JointCosts costs = jointCosts(request.kernel, request.variant);
  const auto blocksOfStep = uint32_t(blocksOfJointStep(request.stage, request.blocks->block_columns));
  const uint32_t overhead = request.kernel.planCost(request.variant, SPARSEC_PLAN_COST_TILE_OVERHEAD) * blocksOfStep;
  const auto costOf = [&](int64_t batch, int64_t head, int64_t tile) {
    const int64_t number = (batch * request.problem.heads + head) * request.grid.panels + tile;
    const uint32_t divided = joint.dividedSteps[number];
    const uint32_t shared = joint.ranges[number].count() - divided * blocksOfStep;
    return (shared + overhead) * costs.shared + divided * costs.divided + (divided == 0 ? 0 : costs.division);
  };
  return makeRowByRowLists(costsOfTiles(request, costOf), request.grid, request.workers);
}

} // namespace sparsec::runtime
