// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The language server's tables of ops: their documentation, and which of them a kernel holds.

#ifndef SPARSEC_COMPILER_TOOLS_DOCUMENTATION_H
#define SPARSEC_COMPILER_TOOLS_DOCUMENTATION_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace sparsec {

/// The documentation of an op of sparsec, arith or math as Markdown; empty for other names.
std::string getDocumentation(llvm::StringRef op);

/// The place of an op, or of a dialect, in the order in which a kernel's author looks for it; none for what kernels do
/// not hold.
std::optional<unsigned> getRank(llvm::StringRef name);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TOOLS_DOCUMENTATION_H
