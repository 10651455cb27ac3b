// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The regions of kernel ops, as every emitter applies them: on one element.

#ifndef SPARSEC_COMPILER_EMIT_INLINEREGION_H
#define SPARSEC_COMPILER_EMIT_INLINEREGION_H

#include "SparsecDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Region.h"

namespace sparsec {

/// Does what a sparsec.element of a region says; the indices are i32.
using LoadElement = llvm::function_ref<mlir::Value(ElementOp element, mlir::ValueRange indices)>;

/// The value of an op of a region, or null to have the op copied.
using ReplaceOp = llvm::function_ref<mlir::Value(mlir::Operation &op)>;

/// Values of a region, and what they are for an element, where that has been computed before.
using KnownValues = llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>>;

/// Computes `wanted`, values of a region, for one element. Copies the ops that they need to the builder's insertion
/// point, but for those that `known` values make needless. `arguments` are the values of the region's arguments, as far
/// as these are not tensors: those come last and are read by `loadElement`. The copied ops are those of the region
/// (arith and math); sparsec-lower-math or the host conversions lower them later.
llvm::SmallVector<mlir::Value> inlineValues(mlir::OpBuilder &builder, mlir::Region &region, mlir::ValueRange arguments,
                                            mlir::ValueRange wanted, LoadElement loadElement, KnownValues known = {},
                                            ReplaceOp replace = {});

/// The value that the region yields.
mlir::Value inlineRegion(mlir::OpBuilder &builder, mlir::Region &region, mlir::ValueRange arguments,
                         LoadElement loadElement);

/// The same for an epilogue: `accumulator` is the f32 sum; `extras` holds one element of every extra operand, in order.
/// An empty region is the identity.
mlir::Value inlineEpilogue(mlir::OpBuilder &builder, mlir::Region &epilogue, mlir::Value accumulator,
                           mlir::ValueRange extras);

} // namespace sparsec

#endif // SPARSEC_COMPILER_EMIT_INLINEREGION_H
