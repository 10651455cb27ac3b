// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The math ops of host kernels.

#ifndef SPARSEC_COMPILER_EMIT_HOSTMATH_H
#define SPARSEC_COMPILER_EMIT_HOSTMATH_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace sparsec {

/// What the processor has as instructions becomes LLVM's intrinsics, exp becomes arithmetic; both of f32 and of vectors
/// of it. The host conversions make libm calls of the others.
void lowerHostMath(mlir::LLVM::LLVMFuncOp function);

} // namespace sparsec

#endif // SPARSEC_COMPILER_EMIT_HOSTMATH_H
