// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dialects that the tools know: ours, and those that a kernel meets on its way to LLVM IR.

#ifndef SPARSEC_COMPILER_TOOLS_REGISTERDIALECTS_H
#define SPARSEC_COMPILER_TOOLS_REGISTERDIALECTS_H

#include "SparsecDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sparsec {

inline void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<SparsecDialect, mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                  mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect, mlir::math::MathDialect,
                  mlir::scf::SCFDialect>();
}

} // namespace sparsec

#endif // SPARSEC_COMPILER_TOOLS_REGISTERDIALECTS_H
