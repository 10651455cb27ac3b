// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reference of products of two block-sparse matrices.

#ifndef SPARSEC_RUNTIME_REFERENCE_SPGEMM_H
#define SPARSEC_RUNTIME_REFERENCE_SPGEMM_H

#include "operations/operation.h"

namespace sparsec::runtime {

/// The reference of `spgemmOperation` and `sampledSpgemmOperation`. Rows are those of the result, or those of all
/// blocks of the pattern, one block after the other.
Status runSpgemmReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                          RowRange rows, const ReferenceRows &out);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_SPGEMM_H
