// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SPARSEC_COMPILER_BINARY_READBACK_H
#define SPARSEC_COMPILER_BINARY_READBACK_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace sparsec {

/// Reads every image of a compiled file with the runtime's own checks, so that nothing is written that no runtime
/// loads.
llvm::Error readBack(llvm::StringRef file);

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_READBACK_H
