// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The epilogue region of sparsec.spmm and sparsec.store, as every emitter applies it: on one element.

#ifndef SPARSEC_COMPILER_EMIT_EPILOGUE_H
#define SPARSEC_COMPILER_EMIT_EPILOGUE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Region.h"

namespace sparsec {

/// Copies the ops of `epilogue` to the builder's insertion point, for one result element, and returns the f32 that the
/// region yields. `accumulator` is the f32 sum; `extras` holds one element of every extra operand, in order, of the
/// types of the region's arguments. An empty region is the identity. The copied ops are those of the region (arith and
/// math); sparsec-lower-math or the host conversions lower them later.
mlir::Value inlineEpilogue(mlir::OpBuilder &builder, mlir::Region &epilogue, mlir::Value accumulator,
                           mlir::ValueRange extras);

} // namespace sparsec

#endif // SPARSEC_COMPILER_EMIT_EPILOGUE_H
