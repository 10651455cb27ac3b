// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "report.h"

#include "arguments/blocks.h"

#include "llvm/ADT/STLExtras.h"

namespace sparsec::run {

static void describeProduct(const HostArguments &host, Report &report) {
  const readers::BlockMatrix &matrix = host.matrix();
  ProductShape shape = host.product();
  const auto [blockRows, blockColumns, dtype] = matrix.format;
  double places = double(matrix.blockRowCount()) * double(matrix.blockColumnCount());
  double stored = double(matrix.blockCount()) * double(blockRows * blockColumns);
  double density = places == 0.0 ? 0.0 : double(matrix.blockCount()) / places;
  double fillIn = matrix.nonzeros == 0 ? 1.0 : stored / double(matrix.nonzeros);
  report.columns = {
      {"shape MxKxN", 18, fmt::format("{}x{}x{}", shape.m, shape.k, shape.n)},
      {"block", 8, fmt::format("{}x{}", blockRows, blockColumns)},
      {"nnzb", 8, fmt::format("{}", matrix.blockCount())},
      {"density", 8, fmt::format("{:.4f}", density)},
      {"fill-in", 8, fmt::format("{:.2f}", fillIn)},
  };
  report.members = llvm::json::Object{{"m", shape.m},
                                      {"k", shape.k},
                                      {"n", shape.n},
                                      {"block", llvm::json::Array{blockRows, blockColumns}},
                                      {"nnzb", matrix.blockCount()},
                                      {"density", density},
                                      {"fill_in", fillIn}};
  report.operations = 2.0 * stored * double(shape.n);
}

/// Blocks in the lists of one kind.
static int64_t countBlocks(const sparsec_blocks_t &pattern, const sparsec_block_lists_t &lists) {
  int64_t count = 0;
  for (int64_t list = 0; list < runtime::listCount(pattern); ++list)
    count += int64_t(runtime::blockList(pattern, lists, list).size());
  return count;
}

static void describeAttention(sparsec_kernel_t kernel, const HostArguments &host, Report &report) {
  AttentionShape shape = host.attention();
  const HostArgument *argument = host.of(SPARSEC_ROLE_PATTERN);
  std::optional<sparsec_blocks_t> pattern;
  if (argument)
    pattern = argument->hostView().blocks;
  double pairs = visitedPairs(*sparsec_kernel_attention(kernel), shape, pattern ? &*pattern : nullptr);
  double all = double(host.resultRows()) * double(shape.keys);
  double density = all == 0.0 ? 0.0 : pairs / all;
  report.operations = 4.0 * double(shape.dimension) * pairs;
  report.columns = {
      {"shape BxHxSqxSkvxD", 22,
       fmt::format("{}x{}x{}x{}x{}", shape.batches, shape.heads, shape.queries, shape.keys, shape.dimension)},
      {"KV heads", 8, fmt::format("{}", shape.keyHeads)},
      {"block", 8, pattern ? fmt::format("{}x{}", pattern->block_rows, pattern->block_columns) : "-"},
      {"full", 8, pattern ? fmt::format("{}", countBlocks(*pattern, pattern->full)) : "-"},
      {"partial", 8, pattern ? fmt::format("{}", countBlocks(*pattern, pattern->partial)) : "-"},
      {"density", 8, fmt::format("{:.4f}", density)},
  };
  report.members =
      llvm::json::Object{{"batches", shape.batches}, {"heads", shape.heads}, {"key_heads", shape.keyHeads},
                         {"queries", shape.queries}, {"keys", shape.keys},   {"head_dimension", shape.dimension},
                         {"density", density}};
  if (!pattern)
    return;
  report.members["block"] = llvm::json::Array{pattern->block_rows, pattern->block_columns};
  report.members["full_blocks"] = countBlocks(*pattern, pattern->full);
  report.members["partial_blocks"] = countBlocks(*pattern, pattern->partial);
}

Report makeReport(const LoadedModule &loaded, sparsec_kernel_t kernel, llvm::StringRef file,
                  const HostArguments &host) {
  Report report;
  report.file = file.str();
  report.kernel = nameOf(sparsec_kernel_info(kernel)->name).str();
  report.target = nameOf(sparsec_module_launch_info(loaded.module.get())->target).str();
  report.device = loaded.deviceInfo.name;
  if (host.isAttention())
    describeAttention(kernel, host, report);
  else
    describeProduct(host, report);
  return report;
}

std::optional<double> Report::usefulTeraflops() const {
  if (!execution.timing)
    return std::nullopt;
  return operations / (execution.timing->medianMilliseconds * 1e9);
}

void printTable(llvm::raw_ostream &stream, const Report &report) {
  const sparsec_variant_info_t &variant = *report.execution.variant;
  const std::optional<Timing> &timing = report.execution.timing;
  bool onDevice = variant.registers != 0;
  int64_t sharedMemory = int64_t(variant.dynamic_shared_memory) + variant.static_shared_memory;
  std::vector<Column> columns = report.columns;
  llvm::append_values(
      columns, Column{"target", 7, report.target}, Column{"schedule", 42, nameOf(variant.schedule).str()},
      Column{"registers", 9, onDevice ? fmt::format("{}", variant.registers) : "-"},
      Column{"shared memory", 13, onDevice ? fmt::format("{} B", sharedMemory) : "-"},
      Column{"time", 12, timing ? fmt::format("{:.4f} ms", timing->medianMilliseconds) : "-"},
      Column{"TFLOP/s", 8, timing ? fmt::format("{:.4g}", *report.usefulTeraflops()) : "-"},
      Column{"max rel. error", 14, report.check ? fmt::format("{:.1e}", report.check->relativeError()) : "-"});
  for (auto text : {+[](const Column &column) { return std::string(column.title); },
                    +[](const Column &column) { return column.text; }}) {
    std::string line;
    for (const Column &column : columns)
      line += fmt::format("{:<{}}  ", text(column), column.width);
    stream << llvm::StringRef(line).rtrim() << '\n';
  }
}

static llvm::json::Object describeCheck(const CheckResult &check) {
  llvm::json::Object object{{"passed", check.wrongElements == 0},
                            {"rows_checked", check.rowsChecked},
                            {"rows", check.rows},
                            {"wrong_elements", check.wrongElements},
                            {"max_relative_error", check.relativeError()}};
  return object;
}

llvm::json::Value describeReport(const Report &report) {
  const sparsec_variant_info_t &variant = *report.execution.variant;
  llvm::json::Object object = report.members;
  object["file"] = report.file;
  object["kernel"] = report.kernel;
  object["target"] = report.target;
  object["device"] = report.device;
  object["schedule"] = nameOf(variant.schedule).str();
  object["registers"] = variant.registers ? llvm::json::Value(variant.registers) : nullptr; // 0 is unknown
  object["shared_memory"] = int64_t(variant.dynamic_shared_memory) + variant.static_shared_memory;
  if (const std::optional<sparsec_plan_info_t> &plan = report.execution.plan)
    object["plan"] = llvm::json::Object{{"workers", plan->workers},
                                        {"tiles", plan->tiles},
                                        {"balance", plan->balance},
                                        {"milliseconds", plan->milliseconds}};
  if (const std::optional<Timing> &timing = report.execution.timing)
    object["time"] = llvm::json::Object{{"median_milliseconds", timing->medianMilliseconds},
                                        {"minimum_milliseconds", timing->minimumMilliseconds},
                                        {"samples", timing->samples},
                                        {"launches_per_sample", timing->launchesPerSample},
                                        {"useful_teraflops", *report.usefulTeraflops()}};
  if (report.check)
    object["check"] = describeCheck(*report.check);
  return object;
}

void printCheck(llvm::raw_ostream &stream, const CheckResult &check) {
  std::string rows = check.rowsChecked == check.rows
                         ? fmt::format("all {} rows", check.rows)
                         : fmt::format("a sample of {} of {} rows", check.rowsChecked, check.rows);
  if (check.wrongElements == 0) {
    stream << fmt::format("sparsec-run: checked {}: every element is within the error bound\n", rows);
    return;
  }
  stream << fmt::format(
      "sparsec-run: error: checked {}: {} elements are outside of the error bound; the first one, row "
      "{}, column {} of '{}', is {} and should be {}\n",
      rows, check.wrongElements, check.firstWrong->row, check.firstWrong->column, check.firstWrong->result,
      check.firstWrong->got, check.firstWrong->exact);
}

} // namespace sparsec::run
