// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an attention kernel computes, in double.

#ifndef SPARSEC_RUNTIME_REFERENCE_ATTENTION_H
#define SPARSEC_RUNTIME_REFERENCE_ATTENTION_H

#include "arguments/attention_arguments.h"

namespace sparsec::runtime {

/// Where the rows of a reference go. Any may be null.
struct AttentionRows {
  double *y, *magnitude; // rows x D
  double *lse, *lseMagnitude;
};

/// Rows [begin, end) of (checked) arguments in host memory. On failure nothing is written.
Status runAttentionReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments,
                             const AttentionSizes &sizes, int64_t begin, int64_t end, const AttentionRows &out);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_ATTENTION_H
