// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Evaluates the mask region of a kernel for every block of a pattern.

#ifndef SPARSEC_RUNTIME_PATTERN_PREDICATE_H
#define SPARSEC_RUNTIME_PATTERN_PREDICATE_H

#include "pattern/pattern_buffer.h"

namespace sparsec::runtime {

/// Whether blocks of the kernel's pattern, where it has one, have the shape's size. `name` is that of the shape in
/// messages.
Status checkPatternBlocks(const sparsec_kernel_s &kernel, const sparsec_blocks_t &shape, const char *name);

/// Whether the kernel has a mask region, blocks of the shape's size, and good operands for its mask. `name` is that of
/// the shape in messages; the operands' memory must be that of `device`, or of the host where it is null.
Status checkPredicate(const sparsec_kernel_s &kernel, const sparsec_blocks_t &shape, const char *name,
                      const Device *device, const sparsec_argument_t *arguments, size_t count);

/// The states of all blocks; all checked, operands in host memory.
Status evaluatePredicate(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments,
                         const sparsec_blocks_t &pattern, BlockStates &outStates);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_PATTERN_PREDICATE_H
