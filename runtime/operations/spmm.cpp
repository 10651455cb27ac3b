// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of a block-sparse matrix W (M x K) and a dense X (K x N).
#include "operations/operation.h"

#include "arguments/blocks.h"
#include "arguments/strides.h"
#include "reference/spmm.h"

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
    return {sizeM, sizeK};
  case SPARSEC_SPMM_DENSE:
    return isTransposed ? Dimensions{sizeN, sizeK} : Dimensions{sizeK, sizeN};
  }
  // An operand of the epilogue, or the result.
  switch (operand.broadcast) {
  case SPARSEC_BROADCAST_PER_ROW:
    return {sizeM};
  case SPARSEC_BROADCAST_PER_COLUMN:
    return {sizeN};
  case SPARSEC_BROADCAST_SCALAR:
    return {};
  }
  return isTransposed ? Dimensions{sizeN, sizeM} : Dimensions{sizeM, sizeN};
}

Status checkMatrix(const Checked &argument) {
  const sparsec_argument_info_t &info = argument.info;
  const sparsec_blocks_t &matrix = argument.blocks();
  SPARSEC_RETURN_IF_ERROR(checkBlocks(matrix, argument.subject()));
  SPARSEC_RETURN_IF_ERROR(argument.checkType(enumValue(matrix.dtype)));
  if (matrix.encoding != SPARSEC_PATTERN_INDEX_ARRAYS)
    return argument.refuse("expects encoding ", int(SPARSEC_PATTERN_INDEX_ARRAYS), " (index arrays), but got ",
                           int(matrix.encoding));
  if (matrix.batches != 1 || matrix.heads != 1)
    return argument.refuse("expects 1 batch and 1 head, but got ", matrix.batches, " and ", matrix.heads);
  if (matrix.partial.starts)
    return argument.refuse("expects partial.starts to be NULL: blocks with values are full");
  if (matrix.rows != 0 && !matrix.full.starts)
    return argument.refuse("full.starts is NULL");
  if (matrix.block_rows != int32_t(info.block_rows) || matrix.block_columns != int32_t(info.block_columns))
    return argument.refuse("expects blocks of ", info.block_rows, " x ", info.block_columns, ", but got ",
                           matrix.block_rows, " x ", matrix.block_columns);
  int64_t sizes[] = {matrix.rows, matrix.columns};
  for (int d = 0; d < 2; ++d)
    if (info.sizes[d] != SPARSEC_DYNAMIC && info.sizes[d] != sizes[d])
      return argument.refuse("expects ", info.sizes[d], d ? " columns" : " rows", ", but got ", sizes[d]);
  return {};
}

Status checkSizes(const sparsec_kernel_s & /*kernel*/, const CheckedOperand &operand, const Problem & /*problem*/) {
  return operand.operand.slot == SPARSEC_SPMM_MATRIX ? checkMatrix(operand) : Status();
}

Status checkStrides(const CheckedOperand &operand) {
  if (operand.info.rank != 2)
    return {};
  const sparsec_dense_t &tensor = operand.dense();
  if (usesStride(tensor, 0) && (tensor.strides[0] < tensor.sizes[1] || tensor.strides[0] > INT32_MAX))
    return operand.refuse("expects stride 0 to be at least its width, ", tensor.sizes[1], ", and at most ", INT32_MAX,
                          ", but got ", tensor.strides[0]);
  return {};
}

/// A fallback has smaller tiles, so that its list takes longer to make than the preferred variant's. It may stay
/// coarser: neighbouring tiles that lie in one panel of the preferred variant go together, as long as every worker gets
/// enough units to even out the load. How many are enough is a matter of the algorithm, not of the chip: with 16, loads
/// that differ by a unit differ by a sixteenth at most.
int64_t panelsPerUnit(const TileListRequest &request) {
  constexpr int64_t unitsPerWorker = 16;
  auto panelColumns = [](const sparsec_stage_info_t &stage) { return int64_t(stage.tile_n) * stage.cluster; };
  int64_t wanted = panelColumns(*request.kernel.variants.front().first().info) / panelColumns(request.stage);
  return std::max<int64_t>(std::min(wanted, request.grid.tiles() / (unitsPerWorker * request.workers)), 1);
}

TileListInput listInput(const TileListRequest &request) {
  const sparsec_blocks_t &matrix = *request.blocks;
  return {matrix.full.starts,
          blockRowCount(matrix),
          blockColumnCount(matrix),
          request.grid,
          ceilDivide(matrix.block_columns, request.stage.tile_k),
          request.workers,
          std::max<int64_t>(request.stage.group_m, 1),
          /*panelsPerUnit=*/1,
          request.kernel.planCost(request.variant, SPARSEC_PLAN_COST_TILE_OVERHEAD),
          request.kernel.planCost(request.variant, SPARSEC_PLAN_COST_GROUPED_DENSITY)};
}

TileLists tileLists(const TileListRequest &request) {
  TileListInput input = listInput(request);
  input.panelsPerUnit = panelsPerUnit(request);
  return makeTileLists(input);
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
    .fixedSizes = fixedSizes,
    .dimensions = dimensions,
    .checkSizes = checkSizes,
    .checkStrides = checkStrides,
    .tileLists = tileLists,
    .periodicLists = periodicLists,
    .reference = runSpmmReference,
};

} // namespace sparsec::runtime
