// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The output, a sum of values weighted by 2^(exponent - m), has to follow when m changes.

#ifndef SPARSEC_EMIT_SOFTMAX_RESCALING_H
#define SPARSEC_EMIT_SOFTMAX_RESCALING_H

#include "KernelBuilder.h"

namespace sparsec {

/// Multiplies the two output rows of a thread by alpha = 2^(old m - new m).
struct Rescaling {
  mlir::Value isNeeded;        // i1, the same for all threads of a warp
  KernelBuilder::Values alpha; // of the two rows; poison where no rescaling is needed

  /// The rescaling of a softmax whose m never changes.
  static Rescaling none(KernelBuilder &b);
  /// The rescaled output (in the layout of AccumulatorFragment, one slab) where a rescaling is needed.
  KernelBuilder::Values apply(KernelBuilder &b, mlir::ValueRange output) const;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_RESCALING_H
