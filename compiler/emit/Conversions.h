// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The stock passes between our emitters and the translation to LLVM IR.

#ifndef SPARSEC_COMPILER_EMIT_CONVERSIONS_H
#define SPARSEC_COMPILER_EMIT_CONVERSIONS_H

#include "mlir/Pass/PassManager.h"

namespace sparsec {

/// Registers the patterns for the ops of each dialect, which the conversion passes below look up.
void registerConversions(mlir::DialectRegistry &registry);

/// After sparsec-emit-host and sparsec-embed-launch-info (which must have erased the sparsec.kernel ops: these passes
/// would rewrite their epilogues too): scf, arith and math to the LLVM dialect. math becomes libm calls that the
/// runtime resolves; bf16 becomes integer arithmetic, so that no compiler-runtime call appears.
void addHostConversionPasses(mlir::OpPassManager &passes);

/// After sparsec-lower-math: everything inside gpu.module to the LLVM and NVVM dialects.
void addGpuConversionPasses(mlir::OpPassManager &passes);

/// After either of them: removes the casts that they leave between types.
void addCastRemovalPass(mlir::OpPassManager &passes);

} // namespace sparsec

#endif // SPARSEC_COMPILER_EMIT_CONVERSIONS_H
