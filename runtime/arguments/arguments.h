// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks of launch arguments against what the kernel says it takes.

#ifndef SPARSEC_RUNTIME_ARGUMENTS_H
#define SPARSEC_RUNTIME_ARGUMENTS_H

#include "arguments/checked_argument.h"

namespace sparsec::runtime {

/// The sizes of one product: W is m x k, X is k x n, Y is m x n.
struct ProblemSizes {
  int64_t m, n, k;
};

/// View, type, block, shape, strides and pointers of every argument of a product. Allocates nothing when all is well.
Status checkSpmmArguments(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count, Use use,
                          ProblemSizes &outSizes);

/// The first variant whose alignment the (checked) arguments have.
Status chooseVariant(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t &outVariant);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_ARGUMENTS_H
