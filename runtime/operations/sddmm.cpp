// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dense products A B^T, sampled at the blocks of a pattern (M x N).
#include "operations/operation.h"

#include "arguments/blocks.h"

namespace sparsec::runtime {

namespace {

constexpr ProblemSize sizeM = &Problem::patternRows, sizeN = &Problem::patternColumns, sizeK = &Problem::depth,
                      sizeBlocks = &Problem::batches;

Problem fixedSizes(const sparsec_kernel_s &kernel) {
  const sparsec_argument_info_t &pattern = kernel.argument(kernel.of(SPARSEC_SDDMM_PATTERN));
  Problem problem;
  problem.heads = 1;
  problem.rows = pattern.block_rows;
  problem.columns = pattern.block_columns;
  return problem;
}

Dimensions dimensions(const sparsec_operand_info_t &operand) {
  bool isTransposed = operand.layout == SPARSEC_LAYOUT_TRANSPOSED;
  switch (operand.slot) {
  case SPARSEC_SDDMM_PATTERN:
    return {sizeM, sizeN, sizeBlocks};
  case SPARSEC_SDDMM_LEFT:
    return isTransposed ? Dimensions{sizeK, sizeM} : Dimensions{sizeM, sizeK};
  case SPARSEC_SDDMM_RIGHT:
    return isTransposed ? Dimensions{sizeN, sizeK} : Dimensions{sizeK, sizeN};
  }
  return dimensionsOfEpilogue(operand, sizeM, sizeN, {sizeBlocks, &Problem::rows, &Problem::columns});
}

Status checkSizes(const sparsec_kernel_s & /*kernel*/, const CheckedOperand &operand, const Problem & /*problem*/) {
  if (operand.operand.slot != SPARSEC_SDDMM_PATTERN)
    return {};
  SPARSEC_RETURN_IF_ERROR(checkBlockMatrix(operand));
  return checkValueRows(operand);
}

/// The stored blocks that a tile takes at most: those that its extent of columns would have in a full block row.
int64_t blocksPerTile(const TileListRequest &request) {
  const auto panels = request.kernel.module->info.extents(request.stage.panel_first, request.stage.panel_count);
  return panels.empty() ? 1 : std::max<int64_t>(panels[0].block / request.blocks->block_columns, 1);
}

/// Groups of tile rows, in a group panel after panel: tiles that run together then share rows of A and B in the L2
/// cache. A tile that has blocks for one half of its columns takes half as long. One without blocks is left out only
/// where the pattern stays as it is: another pattern may have blocks there.
TileLists tileLists(const TileListRequest &request) {
  constexpr uint32_t costOfHalf = 8, tileOverhead = 1;
  const sparsec_blocks_t &pattern = *request.blocks;
  const TileGrid &grid = request.grid;
  const int64_t most = blocksPerTile(request), groupRows = std::max<int64_t>(request.stage.group_m, 1);
  std::vector<Tile> order;
  std::vector<uint32_t> costs;
  for (int64_t first = 0; first < grid.tileRows; first += groupRows)
    for (int64_t panel = 0; panel < grid.panels; ++panel)
      for (int64_t row = first; row < std::min(first + groupRows, grid.tileRows); ++row) {
        const int32_t *starts = pattern.full.starts + row / grid.tilesPerBlockRow;
        int64_t blocks = std::min(starts[1] - starts[0] - panel * most, most);
        if (blocks <= 0 && request.isStatic)
          continue;
        const uint32_t halves = blocks <= 0 ? 0 : 2 * blocks > most ? 2 : 1;
        order.push_back({uint32_t(row), uint32_t(panel)});
        costs.push_back(costOfHalf * halves + tileOverhead);
      }
  const int64_t workers = std::min(request.workers, int64_t(order.size()));
  return order.empty() ? TileLists() : makeTileLists(std::move(order), std::move(costs), workers);
}

constexpr NamedSize planSizes[] = {{"M", sizeM}, {"N", sizeN}, {"K", sizeK}, {"blocks", sizeBlocks}};

} // namespace

constexpr Operation sddmmOperation = {
    .kind = SPARSEC_OPERATION_SDDMM,
    .planSizes = planSizes,
    .hasLse = false,
    .skipsEmptyTiles = true,
    .unreadSlot = SPARSEC_SDDMM_PATTERN,
    .pairSlots = {},
    .fixedSizes = fixedSizes,
    .dimensions = dimensions,
    .checkSizes = checkSizes,
    .checkStrides = checkValueStrides,
    .tileLists = tileLists,
    .periodicLists = nullptr,
    .reference = runSddmmReference,
};

} // namespace sparsec::runtime
