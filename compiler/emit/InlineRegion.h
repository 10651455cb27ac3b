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

/// Copies the ops of `region` to the builder's insertion point, for one element, and returns the value that the region
/// yields, or that of `wanted`, a value of the region. `arguments` are the values of the region's arguments, as far as
/// these are not tensors: those come last and are read by `loadElement`. The copied ops are those of the region (arith
/// and math); sparsec-lower-math or the host conversions lower them later.
mlir::Value inlineRegion(mlir::OpBuilder &builder, mlir::Region &region, mlir::ValueRange arguments,
                         LoadElement loadElement, ReplaceOp replace = {}, mlir::Value wanted = {});

/// The same for an epilogue: `accumulator` is the f32 sum; `extras` holds one element of every extra operand, in order.
/// An empty region is the identity.
mlir::Value inlineEpilogue(mlir::OpBuilder &builder, mlir::Region &epilogue, mlir::Value accumulator,
                           mlir::ValueRange extras);

} // namespace sparsec

#endif // SPARSEC_COMPILER_EMIT_INLINEREGION_H
