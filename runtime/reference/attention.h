// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The result of an attention kernel, computed in double.

#ifndef SPARSEC_RUNTIME_REFERENCE_ATTENTION_H
#define SPARSEC_RUNTIME_REFERENCE_ATTENTION_H

#include "operations/operation.h"

namespace sparsec::runtime {

/// The reference of `attentionOperation`.
Status runAttentionReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments,
                             const Problem &problem, RowRange rows, const ReferenceRows &out);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_ATTENTION_H
