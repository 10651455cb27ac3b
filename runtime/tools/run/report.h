// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What sparsec-run prints: one row of a table, or JSON.

#ifndef SPARSEC_TOOLS_RUN_REPORT_H
#define SPARSEC_TOOLS_RUN_REPORT_H

#include "check.h"
#include "execute.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace sparsec::run {

struct Report {
  std::string file, kernel, target, device;
  ProductShape shape = {};
  int64_t blockRows = 0, blockColumns = 0, blockCount = 0;
  double density = 0.0, fillIn = 0.0;
  Execution execution;
  std::optional<CheckResult> check;

  /// 2 * stored elements * N / time: the work of the blocks that are there.
  std::optional<double> usefulTeraflops() const;
};

Report makeReport(const LoadedModule &loaded, sparsec_kernel_t kernel, llvm::StringRef file, const HostArguments &host);

/// A header and one row. Columns have fixed widths, so that rows of several runs line up.
void printTable(llvm::raw_ostream &stream, const Report &report);
llvm::json::Value describeReport(const Report &report);

/// Says what was checked and, if so, what is wrong.
void printCheck(llvm::raw_ostream &stream, const CheckResult &check);

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_REPORT_H
