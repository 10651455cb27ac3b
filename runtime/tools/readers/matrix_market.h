// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix Market files (.mtx): coordinate; real, integer or pattern; general, symmetric or skew-symmetric.

#ifndef SPARSEC_TOOLS_READERS_MATRIX_MARKET_H
#define SPARSEC_TOOLS_READERS_MATRIX_MARKET_H

#include "block_matrix.h"

namespace sparsec::readers {

/// `name` is the file's name, for messages. The other half of symmetric matrices is filled in; the elements of a
/// pattern are 1.
llvm::Expected<CoordinateMatrix> readMatrixMarket(llvm::StringRef text, llvm::StringRef name);

} // namespace sparsec::readers

#endif // SPARSEC_TOOLS_READERS_MATRIX_MARKET_H
