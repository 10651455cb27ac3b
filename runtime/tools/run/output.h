// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that sparsec-run writes.

#ifndef SPARSEC_TOOLS_RUN_OUTPUT_H
#define SPARSEC_TOOLS_RUN_OUTPUT_H

#include "llvm/Support/Error.h"

namespace sparsec::run {

/// Whether a file can be written there, as far as it is known before the work.
llvm::Error checkOutput(llvm::StringRef path);

/// Writes aside and renames, so that no half-written file is left.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes);

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_OUTPUT_H
