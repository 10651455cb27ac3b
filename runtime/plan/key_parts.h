// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts into which a launch of attention splits the keys of every tile, and a launch of a product splits K. With
// parts, few tiles have work for the whole GPU.

#ifndef SPARSEC_RUNTIME_KEY_PARTS_H
#define SPARSEC_RUNTIME_KEY_PARTS_H

#include "operations/operation.h"

namespace sparsec::runtime {

/// The problem with the number of parts for launches of the variant: 1 where there are tiles for all workers, where
/// keys are few, where a size is open that the number of tiles depends on, and for variants of whole tiles.
Problem withParts(const sparsec_kernel_s &kernel, const Variant &variant, const Problem &problem);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_KEY_PARTS_H
