// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-run's table of operations: how it reports and checks each of them.

#ifndef SPARSEC_TOOLS_RUN_OPERATION_VIEW_H
#define SPARSEC_TOOLS_RUN_OPERATION_VIEW_H

#include "report.h"

namespace sparsec::run {

struct OperationView {
  sparsec_operation_kind_t kind;
  RowsToCheck (*rowsToCheck)(const HostArguments &host);
  /// The columns, members and operations of the report.
  void (*describe)(sparsec_kernel_t kernel, const HostArguments &host, Report &report);
};

const OperationView &operationView(sparsec_kernel_t kernel);

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_OPERATION_VIEW_H
