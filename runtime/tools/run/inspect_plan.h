// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints what a saved plan holds; needs no GPU and no compiled file.

#ifndef SPARSEC_TOOLS_RUN_INSPECT_PLAN_H
#define SPARSEC_TOOLS_RUN_INSPECT_PLAN_H

#include "status_error.h"

#include "llvm/Support/raw_ostream.h"

namespace sparsec::run {

/// "fixed", "lists" or "counter" of sparsec_tile_order_t.
const char *orderName(uint32_t order);

/// Whether a file begins as a saved plan does.
bool isSavedPlan(llvm::StringRef file);

/// Prints a saved plan for people, or as JSON.
llvm::Error inspectPlan(llvm::raw_ostream &stream, llvm::StringRef file, bool asJson);

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_INSPECT_PLAN_H
