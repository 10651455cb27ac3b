// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// BSR matrices that scipy.sparse.save_npz wrote (.npz, compressed or not).

#ifndef SPARSEC_TOOLS_READERS_SCIPY_H
#define SPARSEC_TOOLS_READERS_SCIPY_H

#include "block_matrix.h"

namespace sparsec::readers {

/// `name` is the file's name, for messages. The matrix must already have the blocks that the kernel wants.
llvm::Expected<BlockMatrix> readSciPyBsr(llvm::StringRef bytes, llvm::StringRef name, BlockFormat format,
                                         const Limits &limits);

} // namespace sparsec::readers

#endif // SPARSEC_TOOLS_READERS_SCIPY_H
