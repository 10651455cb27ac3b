// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "report.h"

#include "inspect_plan.h"
#include "operation_view.h"

#include "llvm/ADT/STLExtras.h"

namespace sparsec::run {

Report makeReport(const LoadedModule &loaded, sparsec_kernel_t kernel, llvm::StringRef file,
                  const HostArguments &host) {
  Report report;
  report.file = file.str();
  report.kernel = nameOf(sparsec_kernel_info(kernel)->name).str();
  report.target = nameOf(sparsec_module_launch_info(loaded.module.get())->target).str();
  report.device = loaded.deviceInfo.name;
  operationView(kernel).describe(kernel, host, report);
  return report;
}

std::optional<double> Report::usefulTeraflops() const {
  if (!execution.timing)
    return std::nullopt;
  return operations / (execution.timing->medianMilliseconds * 1e9);
}

void printTable(llvm::raw_ostream &stream, const Report &report) {
  const sparsec_variant_info_t &variant = *report.execution.variant;
  const sparsec_stage_info_t &stage = *report.execution.stage;
  const std::optional<Timing> &timing = report.execution.timing;
  bool onDevice = stage.registers != 0;
  int64_t sharedMemory = int64_t(stage.dynamic_shared_memory) + stage.static_shared_memory;
  std::vector<Column> columns = report.columns;
  llvm::append_values(
      columns, Column{"target", 7, report.target}, Column{"schedule", 42, nameOf(variant.schedule).str()},
      Column{"registers", 9, onDevice ? fmt::format("{}", stage.registers) : "-"},
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

static llvm::json::Object describePlan(const sparsec_plan_info_t &plan) {
  llvm::json::Object object{{"order", orderName(plan.order)},
                            {"reason", plan.reason},
                            {"workers", plan.workers},
                            {"tiles", plan.tiles},
                            {"bytes", plan.bytes},
                            {"balance", plan.balance},
                            {"milliseconds", plan.milliseconds}};
  if (plan.windows != 0) {
    object["windows"] = plan.windows;
    object["columns"] = plan.columns;
    object["packed_bytes"] = plan.packed_bytes;
  }
  return object;
}

llvm::json::Value describeReport(const Report &report) {
  const sparsec_variant_info_t &variant = *report.execution.variant;
  const sparsec_stage_info_t &stage = *report.execution.stage;
  llvm::json::Object object = report.members;
  object["file"] = report.file;
  object["kernel"] = report.kernel;
  object["target"] = report.target;
  object["device"] = report.device;
  object["schedule"] = nameOf(variant.schedule).str();
  object["registers"] = stage.registers ? llvm::json::Value(stage.registers) : nullptr; // 0 is unknown
  object["shared_memory"] = int64_t(stage.dynamic_shared_memory) + stage.static_shared_memory;
  if (report.execution.plan)
    object["plan"] = describePlan(*report.execution.plan);
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

void printPlan(llvm::raw_ostream &stream, const sparsec_plan_info_t &plan) {
  stream << fmt::format("sparsec-run: plan of {} bytes in {:.2f} ms, balance {:.3f}: {}\n", plan.bytes,
                        plan.milliseconds, plan.balance, plan.reason);
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
