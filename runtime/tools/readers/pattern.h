// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DLMC patterns (.smtx): line 1 `rows, columns, nonzeros`, line 2 the row offsets, line 3 the column indices.

#ifndef SPARSEC_TOOLS_READERS_PATTERN_H
#define SPARSEC_TOOLS_READERS_PATTERN_H

#include "block_matrix.h"

namespace sparsec::readers {

/// `name` is the file's name, for messages.
llvm::Expected<Pattern> readPattern(llvm::StringRef text, llvm::StringRef name);

} // namespace sparsec::readers

#endif // SPARSEC_TOOLS_READERS_PATTERN_H
