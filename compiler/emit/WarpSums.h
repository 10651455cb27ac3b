// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the f32 sums of a warp lie in memory, where another CTA reads them. A lane has whole vectors, and the vectors of
// all lanes with one number lie side by side.

#ifndef SPARSEC_EMIT_WARP_SUMS_H
#define SPARSEC_EMIT_WARP_SUMS_H

#include "KernelBuilder.h"

namespace sparsec {

/// The bytes of a warp whose lanes have `count` sums each.
int64_t bytesOfWarpSums(int64_t count);

/// The place of a lane's first vector. `warp` is the number of the warp (i32) in the memory at `sums`.
mlir::Value placeOfSums(KernelBuilder &b, mlir::Value sums, mlir::Value warp, mlir::Value lane, int64_t count);

/// Stores the sums of a lane at its place.
void storeSums(KernelBuilder &b, mlir::Value place, mlir::ValueRange sums);
/// Loads the `count` sums of a lane from its place.
KernelBuilder::Values loadSums(KernelBuilder &b, mlir::Value place, int64_t count);

} // namespace sparsec

#endif // SPARSEC_EMIT_WARP_SUMS_H
