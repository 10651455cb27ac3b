// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/attention_tiles.h"
#include "arguments/blocks.h"
#include "plan/key_range.h"

#include <span>

namespace sparsec::runtime {

namespace {

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

/// `costOf` gives the steps of a tile by its batch, its head and its number in the head. Panel 0 has the last one.
template <typename CostOf> TileLists listTiles(const TileListRequest &request, const CostOf &costOf) {
  const TileGrid &grid = request.grid;
  const int64_t heads = request.problem.heads;
  std::vector<uint32_t> steps;
  steps.reserve(grid.tiles());
  for (int64_t row = 0; row < grid.tileRows; ++row)
    for (int64_t panel = 0; panel < grid.panels; ++panel)
      steps.push_back(costOf(row / heads, row % heads, grid.panels - 1 - panel));
  return makeRowByRowLists(steps, grid, request.workers);
}

} // namespace

TileLists attentionTileLists(const TileListRequest &request) {
  const TileCosts costs(request);
  return listTiles(request, [&](int64_t batch, int64_t head, int64_t tile) {
    return costs.of(batch, head, tile * request.stage.tile_m);
  });
}

TileLists jointTileLists(const TileListRequest &request, const JointLists &joint) {
  const JointCosts costs = jointCosts(request.kernel, request.variant);
  const auto blocksOfStep = uint32_t(blocksOfJointStep(request.stage, request.blocks->block_columns));
  const uint32_t overhead = request.kernel.planCost(request.variant, SPARSEC_PLAN_COST_TILE_OVERHEAD) * blocksOfStep;
  return listTiles(request, [&](int64_t batch, int64_t head, int64_t tile) {
    const int64_t number = (batch * request.problem.heads + head) * request.grid.panels + tile;
    const uint32_t divided = joint.dividedSteps[number];
    const uint32_t shared = joint.ranges[number].count() - divided * blocksOfStep;
    return (shared + overhead) * costs.shared + divided * costs.divided + (divided == 0 ? 0 : costs.division);
  });
}

} // namespace sparsec::runtime
