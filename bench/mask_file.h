// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SPARSEC_BENCH_MASK_FILE_H
#define SPARSEC_BENCH_MASK_FILE_H

#include "masks.h"

namespace sparsec::bench {

/// The mask of a file of DLMC (.smtx), each of whose nonzeros is a block. Throws when it cannot be read.
Mask readMask(const std::string &path);

} // namespace sparsec::bench

#endif // SPARSEC_BENCH_MASK_FILE_H
