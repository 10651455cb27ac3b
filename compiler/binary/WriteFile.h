// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file that the compiler writes beside its result.

#ifndef SPARSEC_COMPILER_BINARY_WRITEFILE_H
#define SPARSEC_COMPILER_BINARY_WRITEFILE_H

#include "llvm/Support/Error.h"

namespace sparsec {

/// Writes `contents` to a new file. LLVM's own call would also install signal handlers in the process of the caller.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef contents);

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_WRITEFILE_H
