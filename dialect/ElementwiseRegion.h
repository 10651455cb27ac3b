// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions that compute one element: the epilogue of spmm; attention's regions will be others.

#ifndef SPARSEC_DIALECT_ELEMENTWISEREGION_H
#define SPARSEC_DIALECT_ELEMENTWISEREGION_H

#include "mlir/IR/Operation.h"

namespace sparsec {

/// Verifies the types of a region of `op`: one block with arguments of `argumentTypes` that yields one `yieldedType`.
/// `name` is what the messages call the region.
llvm::LogicalResult verifyRegionSignature(mlir::Operation *op, mlir::Region &region, llvm::StringRef name,
                                          mlir::TypeRange argumentTypes, mlir::Type yieldedType);

/// Verifies that every op of an epilogue region has a lowering: it is in EpilogueOps.def and computes in f32 or i1.
llvm::LogicalResult verifyEpilogueOps(mlir::Region &region);

} // namespace sparsec

#endif // SPARSEC_DIALECT_ELEMENTWISEREGION_H
