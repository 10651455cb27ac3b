// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of two block-sparse matrices A (M x K) and B (K x N): of all of the result, or of the blocks of a pattern.
#include "operations/operation.h"

#include "arguments/blocks.h"
#include "arguments/strides.h"

namespace sparsec::runtime {

namespace {

/// The sizes of a result that is dense.
struct DenseResult {
  static constexpr ProblemSize m = &Problem::rows, n = &Problem::columns;
  static Dimensions result(bool isTransposed) { return isTransposed ? Dimensions{n, m} : Dimensions{m, n}; }
};

/// Those of the values of a pattern's blocks.
struct SampledResult {
  static constexpr ProblemSize m = &Problem::patternRows, n = &Problem::patternColumns;
  static Dimensions result(bool /*isTransposed*/) { return {&Problem::batches, &Problem::rows, &Problem::columns}; }
};

Problem fixedDenseSizes(const sparsec_kernel_s & /*kernel*/) {
  Problem problem;
  problem.batches = problem.heads = 1;
  return problem;
}

Problem fixedSampledSizes(const sparsec_kernel_s &kernel) {
  const sparsec_argument_info_t &pattern = kernel.argument(kernel.of(SPARSEC_SPGEMM_PATTERN));
  Problem problem;
  problem.heads = 1;
  problem.rows = pattern.block_rows;
  problem.columns = pattern.block_columns;
  return problem;
}

template <typename Result> Dimensions dimensions(const sparsec_operand_info_t &operand) {
  switch (operand.slot) {
  case SPARSEC_SPGEMM_LEFT:
    return {Result::m, &Problem::depth, &Problem::blocks};
  case SPARSEC_SPGEMM_RIGHT:
    return {&Problem::depth, Result::n};
  case SPARSEC_SPGEMM_PATTERN:
    return {Result::m, Result::n, &Problem::batches};
  }
  return dimensionsOfEpilogue(operand, Result::m, Result::n,
                              Result::result(operand.layout == SPARSEC_LAYOUT_TRANSPOSED));
}

/// Block-sparse operands agree on the sizes that they share.
template <typename Result>
Status checkSizes(const sparsec_kernel_s & /*kernel*/, const CheckedOperand &operand, const Problem &problem) {
  if (operand.info.kind != SPARSEC_ARGUMENT_BSR)
    return {};
  SPARSEC_RETURN_IF_ERROR(checkBlockMatrix(operand));
  const sparsec_blocks_t &matrix = operand.blocks();
  const Dimensions sizes = dimensions<Result>(operand.operand);
  const int64_t rows = problem.*sizes[0], columns = problem.*sizes[1];
  if (matrix.rows != rows)
    return operand.refuse("expects ", rows, " rows, but got ", matrix.rows);
  if (matrix.columns != columns)
    return operand.refuse("expects ", columns, " columns, but got ", matrix.columns);
  return operand.operand.slot == SPARSEC_SPGEMM_PATTERN ? checkValueRows(operand) : Status();
}

/// Groups of tile rows, in a group panel after panel: tiles that run together then share rows of A and columns of B in
/// the L2 cache. A tile costs its pairs, and what it takes to store it.
TileLists tileLists(const TileListRequest &request) {
  constexpr uint32_t costOfPair = 2, costOfStore = 3, mostCost = UINT16_MAX;
  const TileGrid &grid = request.grid;
  const MatrixRows *pattern = request.result;
  const int64_t groupRows = std::max<int64_t>(request.stage.group_m, 1);
  std::vector<Tile> order;
  std::vector<uint32_t> costs;
  for (int64_t first = 0; first < grid.tileRows; first += groupRows)
    for (int64_t panel = 0; panel < grid.panels; ++panel)
      for (int64_t row = first; row < std::min(first + groupRows, grid.tileRows); ++row) {
        const int64_t blockRow = row / grid.tilesPerBlockRow;
        int64_t block = blockRow * grid.panels + panel;
        if (pattern) {
          block = pattern->pattern.rowPtr[blockRow] + panel;
          if (block >= pattern->pattern.rowPtr[blockRow + 1])
            continue;
        }
        order.push_back({uint32_t(row), uint32_t(panel)});
        costs.push_back(std::min(costOfPair * uint32_t(request.pairs->countOf(block)) + costOfStore, mostCost));
      }
  const int64_t workers = std::min(request.workers, int64_t(order.size()));
  return order.empty() ? TileLists() : makeTileLists(std::move(order), std::move(costs), workers);
}

constexpr NamedSize densePlanSizes[] = {
    {"M", DenseResult::m}, {"N", DenseResult::n}, {"K", &Problem::depth}, {"blocks", &Problem::blocks}};
constexpr NamedSize sampledPlanSizes[] = {{"M", SampledResult::m},
                                          {"N", SampledResult::n},
                                          {"K", &Problem::depth},
                                          {"blocks of A", &Problem::blocks},
                                          {"blocks", &Problem::batches}};

} // namespace

constexpr Operation spgemmOperation = {
    .kind = SPARSEC_OPERATION_SPGEMM,
    .planSizes = densePlanSizes,
    .hasLse = false,
    .skipsEmptyTiles = false,
    .unreadSlot = 0,
    .pairSlots = {SPARSEC_SPGEMM_LEFT, SPARSEC_SPGEMM_RIGHT, 0},
    .fixedSizes = fixedDenseSizes,
    .dimensions = dimensions<DenseResult>,
    .checkSizes = checkSizes<DenseResult>,
    .checkStrides = checkRowStride,
    .tileLists = tileLists,
    .periodicLists = nullptr,
    .reference = runSpgemmReference,
};

constexpr Operation sampledSpgemmOperation = {
    .kind = SPARSEC_OPERATION_SAMPLED_SPGEMM,
    .planSizes = sampledPlanSizes,
    .hasLse = false,
    .skipsEmptyTiles = true,
    .unreadSlot = SPARSEC_SPGEMM_PATTERN,
    .pairSlots = {SPARSEC_SPGEMM_LEFT, SPARSEC_SPGEMM_RIGHT, SPARSEC_SPGEMM_PATTERN},
    .fixedSizes = fixedSampledSizes,
    .dimensions = dimensions<SampledResult>,
    .checkSizes = checkSizes<SampledResult>,
    .checkStrides = checkValueStrides,
    .tileLists = tileLists,
    .periodicLists = nullptr,
    .reference = runSpgemmReference,
};

} // namespace sparsec::runtime
