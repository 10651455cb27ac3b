// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Computes a dense product at the blocks of a pattern, in double.

#ifndef SPARSEC_RUNTIME_REFERENCE_SDDMM_H
#define SPARSEC_RUNTIME_REFERENCE_SDDMM_H

#include "operations/operation.h"

namespace sparsec::runtime {

/// The reference of `sddmmOperation`. Rows are those of all blocks, one block after the other.
Status runSddmmReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                         RowRange rows, const ReferenceRows &out);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_SDDMM_H
