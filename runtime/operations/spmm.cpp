// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of a block-sparse matrix W (M x K, stored so or as its transpose) and a dense X (K x N).
#include "operations/operation.h"

#include "arguments/blocks.h"
#include "plan/round_lists.h"

#include <algorithm>
#include <cmath>

namespace sparsec::runtime {

namespace {

constexpr ProblemSize sizeM = &Problem::rows, sizeN = &Problem::columns, sizeK = &Problem::depth;

Problem fixedSizes(const sparsec_kernel_s & /*kernel*/) {
  Problem problem;
  problem.batches = problem.heads = 1;
  return problem;
}

Dimensions dimensions(const sparsec_operand_info_t &operand) {
  bool isTransposed = operand.layout == SPARSEC_LAYOUT_TRANSPOSED;
  switch (operand.slot) {
  case SPARSEC_SPMM_MATRIX:
    return isTransposed ? Dimensions{sizeK, sizeM, &Problem::blocks} : Dimensions{sizeM, sizeK, &Problem::blocks};
  case SPARSEC_SPMM_SCALES:
    return {&Problem::blocks};
  case SPARSEC_SPMM_X_SCALE:
    return {sizeN, &Problem::scaledParts};
  case SPARSEC_SPMM_DENSE:
    return isTransposed ? Dimensions{sizeN, sizeK} : Dimensions{sizeK, sizeN};
  }
  return dimensionsOfEpilogue(operand, sizeM, sizeN,
                              isTransposed ? Dimensions{sizeN, sizeM} : Dimensions{sizeM, sizeN});
}

void deriveSizes(const sparsec_kernel_s & /*kernel*/, Problem &problem) {
  constexpr int64_t depthOfScale = SPARSEC_X_SCALE_DEPTH;
  problem.scaledParts = isKnown(problem.depth) ? ceilDivide(problem.depth, depthOfScale) : SPARSEC_DYNAMIC;
}

Status checkSizes(const sparsec_kernel_s & /*kernel*/, const CheckedOperand &operand, const Problem & /*problem*/) {
  return operand.operand.slot == SPARSEC_SPMM_MATRIX ? checkBlockMatrix(operand) : Status();
}

int64_t panelColumns(const sparsec_kernel_s &kernel, const sparsec_stage_info_t &stage) {
  const auto panels = kernel.module->info.extents(stage.panel_first, stage.panel_count);
  return panels.empty() ? 1 : panels[0].tile;
}

/// A fallback has smaller tiles, so that its list takes longer to make than the preferred variant's. It may stay
/// coarser: neighbouring tiles that lie in one panel of the preferred variant go together, as long as every worker gets
/// enough units to even out the load. How many are enough is a matter of the algorithm, not of the chip: with 16, loads
/// that differ by a unit differ by a sixteenth at most.
int64_t panelsPerUnit(const TileListRequest &request) {
  constexpr int64_t unitsPerWorker = 16;
  auto preferred = request.kernel.variants.begin();
  while (preferred->info->most_panels != 0 || isPacked(*preferred->info))
    ++preferred;
  int64_t wanted = panelColumns(request.kernel, *preferred->first().info) / panelColumns(request.kernel, request.stage);
  return std::max<int64_t>(std::min(wanted, request.grid.tiles() / (unitsPerWorker * request.workers)), 1);
}

/// Those of a matrix of so many blocks.
OperandBytes operandBytes(const PanelRequest &request, int64_t blocks) {
  const auto elementBytes = double(dtypeBytes(request.kernel.argument(request.kernel.of(SPARSEC_SPMM_MATRIX)).dtype));
  return {elementBytes * double(blocks) * double(request.elementsOfBlock) / double(request.grid.tileRows),
          elementBytes * double(panelColumns(request.kernel, request.stage)) * double(request.depth)};
}

PanelRequest panelRequest(const TileListRequest &request) {
  const MatrixRows &matrix = *request.matrix;
  return {request.kernel, request.variant, request.stage,
          request.grid,   request.workers, matrix.rowsOfBlock * matrix.columnsOfBlock,
          matrix.depth};
}

/// The number of tile rows in a group of streams, or 0 for no groups: that of panelsOfFewestBytes(). Where one group
/// would have most of the rows, all rows of a panel run together instead, by falling cost (bench/notes/streams.md).
int64_t groupRowsOfStreams(const TileListRequest &request) {
  if (request.matrix->pattern.count() == 0)
    return 0;
  const OperandBytes bytes = operandBytes(panelRequest(request), request.matrix->pattern.count());
  const int64_t rows = std::llround(double(request.workers) / panelsOfFewestBytes(request.workers, bytes));
  return 3 * rows <= 2 * request.grid.tileRows ? std::max<int64_t>(rows, 1) : 0;
}

PanelLimits panelLimits(const PanelRequest &request) {
  const uint32_t percentage = request.kernel.planCost(request.variant, SPARSEC_PLAN_COST_PANEL_CACHE);
  if (percentage == 0 || request.depth == 0)
    return {};
  const double roomBytes = percentage / 100.0 * request.kernel.module->device->l2Bytes;
  return runtime::panelLimits(request.workers, operandBytes(request, /*blocks=*/1), request.grid.panels, roomBytes);
}

/// Windows in rounds run one panel at a time: two took up to 1 % more (bench/notes/panels-at-once.md).
PanelLimits panelLimitsOfRounds(const PanelRequest &request) {
  return hasWindowsOfBlocks(request.variant) ? PanelLimits() : panelLimits(request);
}

/// Windows are never in groups of tile rows: the rows of a nearly dense pattern share columns already.
TileListInput windowListInput(const TileListRequest &request, uint32_t tileOverhead) {
  const uint32_t columnCost = request.kernel.planCost(request.variant, SPARSEC_PLAN_COST_COLUMN);
  return {request.streams ? streamCosts(*request.streams, columnCost, tileOverhead)
                          : windowCosts(*request.windows, columnCost, tileOverhead),
          request.grid, request.workers, /*groupRows=*/0, /*panelsPerUnit=*/1};
}

TileListInput listInput(const TileListRequest &request) {
  const sparsec_kernel_s &kernel = request.kernel;
  const uint32_t tileOverhead = kernel.planCost(request.variant, SPARSEC_PLAN_COST_TILE_OVERHEAD);
  if (request.windows || request.streams)
    return windowListInput(request, tileOverhead);
  const BlockPattern &pattern = request.matrix->pattern;
  const bool isGrouped = isNearlyDense(pattern.count(), pattern.blockRows, pattern.blockColumns,
                                       kernel.planCost(request.variant, SPARSEC_PLAN_COST_GROUPED_DENSITY));
  const int64_t chunksPerBlock = ceilDivide(request.matrix->columnsOfBlock, request.stage.tile_k);
  return {costsOfBlockRows(pattern.rowPtr, request.grid, chunksPerBlock, tileOverhead), request.grid, request.workers,
          isGrouped ? std::max<int64_t>(request.stage.group_m, 1) : 0, /*panelsPerUnit=*/1};
}

TileLists tileLists(const TileListRequest &request) {
  TileListInput input = listInput(request);
  const int64_t blocks = request.matrix->pattern.count();
  if (request.inRounds) {
    input.panelsAtOnce = choosePanelsAtOnce(panelLimitsOfRounds(panelRequest(request)), blocks);
    if (hasWindowsOfBlocks(request.variant))
      input.lastRounds = 0; // as their panels
    return makeRoundLists(input);
  }
  input.panelsPerUnit = panelsPerUnit(request);
  // Periodic lists, which serve every width, have no groups.
  if (request.streams && request.isStatic)
    input.groupRows = groupRowsOfStreams(request);
  if (input.panelsPerUnit == 1)
    input.panelsAtOnce = choosePanelsAtOnce(panelLimits(panelRequest(request)), blocks);
  return makeTileLists(input);
}

CutLists cutLists(const TileListRequest &request) {
  const TileListInput input = listInput(request);
  if (input.groupRows == 0)
    return {};
  const auto chunksPerBlock = uint32_t(ceilDivide(request.matrix->columnsOfBlock, request.stage.tile_k));
  return makeCutLists(input, chunksPerBlock, request.kernel.planCost(request.variant, SPARSEC_PLAN_COST_TILE_OVERHEAD));
}

TileLists periodicLists(const TileListRequest &request) {
  TileListInput input = listInput(request);
  input.grid.panels = choosePeriod(std::max<int64_t>(input.grid.tileRows, 1), input.workers);
  return makePeriodicLists(input);
}

constexpr NamedSize planSizes[] = {{"M", sizeM}, {"N", sizeN}, {"K", sizeK}, {"blocks", &Problem::blocks}};

} // namespace

constexpr Operation spmmOperation = {
    .kind = SPARSEC_OPERATION_SPMM,
    .planSizes = planSizes,
    .hasLse = false,
    .skipsEmptyTiles = false,
    .unreadSlot = 0,
    .pairSlots = {},
    .quantizedSlots = {SPARSEC_SPMM_MATRIX, SPARSEC_SPMM_DENSE},
    .fixedSizes = fixedSizes,
    .dimensions = dimensions,
    .deriveSizes = deriveSizes,
    .checkSizes = checkSizes,
    .checkStrides = checkRowStride,
    .tileLists = tileLists,
    .periodicLists = periodicLists,
    .cutLists = cutLists,
    .panelLimits = panelLimitsOfRounds,
    .reference = runSpmmReference,
};

} // namespace sparsec::runtime
