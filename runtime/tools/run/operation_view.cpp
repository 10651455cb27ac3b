// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "operation_view.h"

#include "arguments/blocks.h"
#include "reference/numbers.h"

namespace sparsec::run {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// A product of M x N with a sum over K, of which one has a block-sparse matrix. `width` is that of what multiplies its
/// stored elements.
static void describeProduct(const readers::BlockMatrix &matrix, int64_t m, int64_t k, int64_t n, int64_t width,
                            Report &report) {
  const auto [blockRows, blockColumns, dtype] = matrix.format;
  double places = double(matrix.blockRowCount()) * double(matrix.blockColumnCount());
  double stored = double(matrix.blockCount()) * double(blockRows * blockColumns);
  double density = places == 0.0 ? 0.0 : double(matrix.blockCount()) / places;
  double fillIn = matrix.nonzeros == 0 ? 1.0 : stored / double(matrix.nonzeros);
  report.columns = {
      {"shape MxKxN", 18, fmt::format("{}x{}x{}", m, k, n)},
      {"block", 8, fmt::format("{}x{}", blockRows, blockColumns)},
      {"nnzb", 8, fmt::format("{}", matrix.blockCount())},
      {"density", 8, fmt::format("{:.4f}", density)},
      {"fill-in", 8, fmt::format("{:.2f}", fillIn)},
  };
  report.members = llvm::json::Object{{"m", m},
                                      {"k", k},
                                      {"n", n},
                                      {"block", llvm::json::Array{blockRows, blockColumns}},
                                      {"nnzb", matrix.blockCount()},
                                      {"density", density},
                                      {"fill_in", fillIn}};
  report.operations = 2.0 * stored * double(width);
}

static void describeSpmm(sparsec_kernel_t /*kernel*/, const HostArguments &host, Report &report) {
  const runtime::Problem &problem = host.problem();
  describeProduct(host.of(SPARSEC_SPMM_MATRIX)->matrix, problem.rows, problem.depth, problem.columns, problem.columns,
                  report);
}

static void describeSddmm(sparsec_kernel_t /*kernel*/, const HostArguments &host, Report &report) {
  const runtime::Problem &problem = host.problem();
  describeProduct(host.of(SPARSEC_SDDMM_PATTERN)->matrix, problem.patternRows, problem.depth, problem.patternColumns,
                  problem.depth, report);
}

/// The elements that multiply a stored block of A: the stored elements of B in its block row.
static double widthOfB(const HostArguments &host) {
  const readers::BlockMatrix &left = host.of(SPARSEC_SPGEMM_LEFT)->matrix,
                             &right = host.of(SPARSEC_SPGEMM_RIGHT)->matrix;
  double pairs = 0;
  for (int32_t column : left.colIdx)
    pairs += double(right.rowPtr[column + 1] - right.rowPtr[column]);
  return left.blockCount() == 0 ? 0.0 : pairs / double(left.blockCount()) * double(right.format.blockColumns);
}

/// The work is that of all pairs; a pattern takes fewer of them.
static void describeSpgemm(sparsec_kernel_t /*kernel*/, const HostArguments &host, Report &report) {
  const runtime::Problem &problem = host.problem();
  const bool isSampled = host.of(SPARSEC_SPGEMM_PATTERN) != nullptr;
  describeProduct(host.of(SPARSEC_SPGEMM_LEFT)->matrix, isSampled ? problem.patternRows : problem.rows, problem.depth,
                  isSampled ? problem.patternColumns : problem.columns, widthOfB(host), report);
}

/// The rows of a transposed matrix are the columns of the stored one, whose lengths are not at hand.
static RowsToCheck rowsOfSpmm(const HostArguments &host) {
  const HostArgument &operand = *host.of(SPARSEC_SPMM_MATRIX);
  const runtime::Problem &problem = host.problem();
  RowsToCheck rows = rowsToCheck(operand.matrix, problem.columns);
  if (operand.operand->layout != SPARSEC_LAYOUT_TRANSPOSED)
    return rows;
  rows.productsPerRow *= double(rows.rows) / std::max(double(problem.rows), 1.0);
  return {problem.rows, rows.productsPerRow, 0, operand.matrix.format.blockColumns};
}

/// The reference reads the columns of a block once for all its rows.
static RowsToCheck rowsOfSddmm(const HostArguments &host) {
  const runtime::Problem &problem = host.problem();
  return {problem.resultRows(), double(problem.columns) * double(problem.depth), 0, problem.rows};
}

/// The reference multiplies a whole row of A, also for the rows of one block of a pattern.
static RowsToCheck rowsOfSpgemm(const HostArguments &host) {
  const readers::BlockMatrix &left = host.of(SPARSEC_SPGEMM_LEFT)->matrix;
  double products = double(left.blockCount() * left.format.blockRows * left.format.blockColumns) * widthOfB(host);
  return {host.problem().resultRows(), products / std::max(double(left.rows), 1.0), 0, left.format.blockRows};
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Blocks in the lists of one kind.
static int64_t countBlocks(const sparsec_blocks_t &pattern, const sparsec_block_lists_t &lists) {
  int64_t count = 0;
  for (int64_t list = 0; list < runtime::listCount(pattern); ++list)
    count += int64_t(runtime::blockList(pattern, lists, list).size());
  return count;
}

static void describeAttention(sparsec_kernel_t kernel, const HostArguments &host, Report &report) {
  const runtime::Problem &problem = host.problem();
  const HostArgument *argument = host.of(SPARSEC_ATTENTION_PATTERN);
  std::optional<sparsec_blocks_t> pattern;
  if (argument)
    pattern = argument->hostView().blocks;
  const std::vector<Argument> views = host.hostViews();
  const runtime::SequenceArrays arrays(*kernel, ArgumentArray(views).data());
  const Pairs pairs = countPairs(runtime::keyWindow(*kernel), problem, arrays, pattern ? &*pattern : nullptr);
  double density = pairs.all == 0.0 ? 0.0 : pairs.visited / pairs.all;
  report.operations = 2.0 * double(problem.headDimension + problem.columns) * pairs.visited;
  report.columns = {
      {"shape BxHxSqxSkvxD", 22,
       fmt::format("{}x{}x{}x{}x{}", problem.batches, problem.heads, problem.rows, problem.depth,
                   problem.headDimension)},
      {"KV heads", 8, fmt::format("{}", problem.keyHeads)},
      {"block", 8, pattern ? fmt::format("{}x{}", pattern->block_rows, pattern->block_columns) : "-"},
      {"full", 8, pattern ? fmt::format("{}", countBlocks(*pattern, pattern->full)) : "-"},
      {"partial", 8, pattern ? fmt::format("{}", countBlocks(*pattern, pattern->partial)) : "-"},
      {"density", 8, fmt::format("{:.4f}", density)},
  };
  report.members = llvm::json::Object{{"batches", problem.batches},
                                      {"heads", problem.heads},
                                      {"key_heads", problem.keyHeads},
                                      {"queries", problem.rows},
                                      {"keys", problem.depth},
                                      {"head_dimension", problem.headDimension},
                                      {"value_dimension", problem.columns},
                                      {"density", density}};
  if (runtime::hasOwnLengths(*kernel)) {
    report.columns.push_back({"sequences", 9, fmt::format("{}", problem.sequences)});
    report.members["sequences"] = problem.sequences;
  }
  if (!pattern)
    return;
  report.members["block"] = llvm::json::Array{pattern->block_rows, pattern->block_columns};
  report.members["full_blocks"] = countBlocks(*pattern, pattern->full);
  report.members["partial_blocks"] = countBlocks(*pattern, pattern->partial);
}

/// A lone row makes the reference read all keys and values, whatever it sees of them. Causal rows grow to the end. The
/// reference takes a few rows at a time, and cuts them where heads end. Packed rows behind the last start
/// belong to no sequence.
static RowsToCheck rowsOfAttention(const HostArguments &host) {
  const runtime::Problem &problem = host.problem();
  RowsToCheck rows = {problem.resultRows(), double(problem.depth) * double(2 * problem.headDimension + problem.columns),
                      std::max<int64_t>(problem.rows, 1) - 1, 32};
  if (const HostArgument *starts = host.of(SPARSEC_ATTENTION_QUERY_STARTS)) {
    rows.period = problem.rows;
    rows.written = int64_t(runtime::readElement(starts->elements.data(), SPARSEC_DTYPE_I32, problem.sequences));
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// Merges
//===----------------------------------------------------------------------===//

/// Two multiplications and an addition for each element.
static void describeMerge(sparsec_kernel_t /*kernel*/, const HostArguments &host, Report &report) {
  const runtime::Problem &problem = host.problem();
  report.columns = {{"shape BxHxSqxD", 18,
                     fmt::format("{}x{}x{}x{}", problem.batches, problem.heads, problem.rows, problem.columns)}};
  report.members = llvm::json::Object{{"batches", problem.batches},
                                      {"heads", problem.heads},
                                      {"queries", problem.rows},
                                      {"value_dimension", problem.columns}};
  report.operations = 3.0 * double(problem.resultRows()) * double(problem.columns);
}

static RowsToCheck rowsOfMerge(const HostArguments &host) {
  const runtime::Problem &problem = host.problem();
  return {problem.resultRows(), 2.0 * double(problem.columns), 0, 1};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static const OperationView operationViews[] = {
    {SPARSEC_OPERATION_SPMM, rowsOfSpmm, describeSpmm},
    {SPARSEC_OPERATION_SDDMM, rowsOfSddmm, describeSddmm},
    {SPARSEC_OPERATION_SPGEMM, rowsOfSpgemm, describeSpgemm},
    {SPARSEC_OPERATION_SAMPLED_SPGEMM, rowsOfSpgemm, describeSpgemm},
    {SPARSEC_OPERATION_ATTENTION, rowsOfAttention, describeAttention},
    {SPARSEC_OPERATION_MERGE, rowsOfMerge, describeMerge},
};

const OperationView &operationView(sparsec_kernel_t kernel) {
  return *llvm::find_if(operationViews,
                        [&](const OperationView &view) { return view.kind == runtime::operationOf(*kernel).kind; });
}

} // namespace sparsec::run
