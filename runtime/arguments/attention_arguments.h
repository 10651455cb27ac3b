// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks of the arguments of attention kernels.

#ifndef SPARSEC_RUNTIME_ATTENTION_ARGUMENTS_H
#define SPARSEC_RUNTIME_ATTENTION_ARGUMENTS_H

#include "arguments/checked_argument.h"

namespace sparsec::runtime {

/// Q is batches x heads x queries x dimension, K and V are batches x keyHeads x keys x dimension.
struct AttentionSizes {
  int64_t batches, heads, keyHeads, queries, keys, dimension;

  /// Rows of the result: the queries of all batches and heads.
  int64_t rows() const { return batches * heads * queries; }
};

/// View, type, shape, strides and pointers of every argument, the sizes of the pattern, a finite scale. Allocates
/// nothing when all is well.
Status checkAttentionArguments(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count,
                               Use use, AttentionSizes &outSizes);

/// Blocks, rows, columns and so on of a pattern argument.
Status checkPatternArgumentSizes(const Checked &argument, const AttentionSizes &sizes);

/// An extra operand of the score and mask regions.
Status checkRegionOperand(const Checked &argument);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_ATTENTION_ARGUMENTS_H
