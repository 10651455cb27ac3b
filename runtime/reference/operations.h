// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The references of the operations: what each of them computes, in double.

#ifndef SPARSEC_RUNTIME_REFERENCE_OPERATIONS_H
#define SPARSEC_RUNTIME_REFERENCE_OPERATIONS_H

#include "operations/operation.h"

namespace sparsec::runtime {

/// The reference of `spmmOperation`.
Status runSpmmReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                        RowRange rows, const ReferenceRows &out);

/// The reference of `sddmmOperation`. Rows are those of all blocks, one block after the other.
Status runSddmmReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                         RowRange rows, const ReferenceRows &out);

/// The reference of `spgemmOperation` and `sampledSpgemmOperation`. Rows are those of the result, or those of all
/// blocks of the pattern, one block after the other.
Status runSpgemmReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                          RowRange rows, const ReferenceRows &out);

/// The reference of `attentionOperation`.
Status runAttentionReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments,
                             const Problem &problem, RowRange rows, const ReferenceRows &out);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_OPERATIONS_H
