// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Results that share memory with an input or with each other: a kernel would read what it has overwritten.

#ifndef SPARSEC_RUNTIME_OVERLAP_H
#define SPARSEC_RUNTIME_OVERLAP_H

#include "arguments/checked_argument.h"
#include "arguments/footprint.h"

namespace sparsec::runtime {

/// Whether a byte is in both. A true answer is always right. A false one may be wrong where the strides of both are so
/// different that the search for a common byte takes too long for a launch.
bool overlap(const Footprint &a, const Footprint &b);

/// Refuses results that overlap an input or another result. An epilogue operand of the result's shape may be the
/// result's own memory, element for element. The arguments are checked and all pointers are used.
Status checkOverlaps(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments);

/// The same for memory that a function of the C interface writes besides the results, `name`, and all arguments that
/// are inputs.
Status checkApartFromInputs(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const char *name,
                            const Footprint &written);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_OVERLAP_H
