// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text files with a JSON object in each line.

#ifndef SPARSEC_TOOLS_TUNE_JSON_LINES_H
#define SPARSEC_TOOLS_TUNE_JSON_LINES_H

#include "status_error.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

namespace sparsec::tune {

/// Reads a row, as fromJSON does: false where the path has an error.
using ReadRow = llvm::function_ref<bool(llvm::StringRef line, const llvm::json::Value &row, llvm::json::Path place)>;

/// Reads all lines that are not empty. An error says "path:line: missing value at row.name".
llvm::Error forEachLine(llvm::StringRef text, llvm::StringRef path, ReadRow read);

} // namespace sparsec::tune

#endif // SPARSEC_TOOLS_TUNE_JSON_LINES_H
