// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Computes a block-sparse product in double.

#ifndef SPARSEC_RUNTIME_REFERENCE_SPMM_H
#define SPARSEC_RUNTIME_REFERENCE_SPMM_H

#include "operations/operation.h"

namespace sparsec::runtime {

/// The reference of `spmmOperation`.
Status runSpmmReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                        RowRange rows, const ReferenceRows &out);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_SPMM_H
