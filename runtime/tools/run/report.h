// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The output of sparsec-run: one row of a table, or JSON.

#ifndef SPARSEC_TOOLS_RUN_REPORT_H
#define SPARSEC_TOOLS_RUN_REPORT_H

#include "check.h"
#include "execute.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace sparsec::run {

/// A column of the table.
struct Column {
  const char *title;
  int width;
  std::string text;
};

struct Report {
  std::string file, kernel, target, device;
  /// The parts that only the kernel's family has: the table's first columns, and members of the JSON object.
  std::vector<Column> columns;
  llvm::json::Object members;
  /// For a product 2 * stored elements * N, for attention 4 * D for every query and key that meet: the work of the
  /// blocks that are there.
  double operations = 0.0;
  Execution execution;
  std::optional<CheckResult> check;

  std::optional<double> usefulTeraflops() const;
};

Report makeReport(const LoadedModule &loaded, sparsec_kernel_t kernel, llvm::StringRef file, const HostArguments &host);

/// A header and one row. Columns have fixed widths, so that rows of several runs line up.
void printTable(llvm::raw_ostream &stream, const Report &report);
llvm::json::Value describeReport(const Report &report);

/// Says what the plan of the launch holds, and why.
void printPlan(llvm::raw_ostream &stream, const sparsec_plan_info_t &plan);

/// Says what was checked and, if so, what is wrong.
void printCheck(llvm::raw_ostream &stream, const CheckResult &check);

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_REPORT_H
