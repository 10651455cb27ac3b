// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "report.h"

#include "llvm/ADT/STLExtras.h"

namespace sparsec::run {

Report makeReport(const LoadedModule &loaded, sparsec_kernel_t kernel, llvm::StringRef file,
                  const HostArguments &host) {
  const readers::BlockMatrix &matrix = host.matrix().matrix;
  double places = double(matrix.blockRowCount()) * double(matrix.blockColumnCount());
  double stored = double(matrix.blockCount()) * double(matrix.format.blockRows * matrix.format.blockColumns);
  Report report;
  report.file = file.str();
  report.kernel = nameOf(sparsec_kernel_info(kernel)->name).str();
  report.target = nameOf(sparsec_module_launch_info(loaded.module.get())->target).str();
  report.device = loaded.deviceInfo.name;
  report.shape = host.shape();
  report.blockRows = matrix.format.blockRows;
  report.blockColumns = matrix.format.blockColumns;
  report.blockCount = matrix.blockCount();
  report.density = places == 0.0 ? 0.0 : double(matrix.blockCount()) / places;
  report.fillIn = matrix.nonzeros == 0 ? 1.0 : stored / double(matrix.nonzeros);
  return report;
}

std::optional<double> Report::usefulTeraflops() const {
  if (!execution.timing)
    return std::nullopt;
  double operations = 2.0 * double(blockCount) * double(blockRows * blockColumns) * double(shape.n);
  return operations / (execution.timing->medianMilliseconds * 1e9);
}

void printTable(llvm::raw_ostream &stream, const Report &report) {
  const sparsec_variant_info_t &variant = *report.execution.variant;
  const std::optional<Timing> &timing = report.execution.timing;
  bool onDevice = variant.registers != 0;
  int64_t sharedMemory = int64_t(variant.dynamic_shared_memory) + variant.static_shared_memory;
  struct Column {
    const char *title;
    int width;
    std::string text;
  };
  const Column columns[] = {
      {"shape MxKxN", 18, fmt::format("{}x{}x{}", report.shape.m, report.shape.k, report.shape.n)},
      {"block", 8, fmt::format("{}x{}", report.blockRows, report.blockColumns)},
      {"nnzb", 8, fmt::format("{}", report.blockCount)},
      {"density", 8, fmt::format("{:.4f}", report.density)},
      {"fill-in", 8, fmt::format("{:.2f}", report.fillIn)},
      {"target", 7, report.target},
      {"schedule", 42, nameOf(variant.schedule).str()},
      {"registers", 9, onDevice ? fmt::format("{}", variant.registers) : "-"},
      {"shared memory", 13, onDevice ? fmt::format("{} B", sharedMemory) : "-"},
      {"time", 12, timing ? fmt::format("{:.4f} ms", timing->medianMilliseconds) : "-"},
      {"TFLOP/s", 8, timing ? fmt::format("{:.4g}", *report.usefulTeraflops()) : "-"},
      {"max rel. error", 14, report.check ? fmt::format("{:.1e}", report.check->relativeError()) : "-"},
  };
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
  llvm::json::Object object{
      {"file", report.file},
      {"kernel", report.kernel},
      {"target", report.target},
      {"device", report.device},
      {"m", report.shape.m},
      {"k", report.shape.k},
      {"n", report.shape.n},
      {"block", llvm::json::Array{report.blockRows, report.blockColumns}},
      {"nnzb", report.blockCount},
      {"density", report.density},
      {"fill_in", report.fillIn},
      {"schedule", nameOf(variant.schedule).str()},
      {"registers", variant.registers ? llvm::json::Value(variant.registers) : nullptr}, // 0 is unknown
      {"shared_memory", int64_t(variant.dynamic_shared_memory) + variant.static_shared_memory},
  };
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
      "{}, column {}, is {} and should be {}\n",
      rows, check.wrongElements, check.firstWrong->row, check.firstWrong->column, check.firstWrong->got,
      check.firstWrong->exact);
}

} // namespace sparsec::run
