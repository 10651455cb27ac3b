// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The math ops and the conversions of host kernels.

#ifndef SPARSEC_EMIT_HOST_MATH_H
#define SPARSEC_EMIT_HOST_MATH_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace sparsec {

/// Lowers math ops on f32 and on vectors of it: those that the processor has as instructions to LLVM's intrinsics,
/// maxnumf and minnumf to comparisons, exp, tanh and erf to arithmetic. The host conversions lower the others to calls
/// of libm.
void lowerHostMath(mlir::LLVM::LLVMFuncOp function);

/// A bf16 becomes the i16 of its bits, from its load or its rounding to its store or its extension: processors without
/// AVX512-BF16 know no bf16, and LLVM would call the compiler's library to round to one (HostBf16.cpp).
void lowerHostBf16(mlir::LLVM::LLVMFuncOp function);

/// An f8E4M3FN or f8E5M2 becomes the i8 of its bits, from its load to its extension: LLVM has no such types
/// (HostF8.cpp).
void lowerHostF8(mlir::LLVM::LLVMFuncOp function);

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_MATH_H
