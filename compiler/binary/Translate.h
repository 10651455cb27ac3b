// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a gpu.module of LLVM and NVVM ops to PTX text, in process: LLVM IR, O3, the NVPTX back end.

#ifndef SPARSEC_COMPILER_BINARY_TRANSLATE_H
#define SPARSEC_COMPILER_BINARY_TRANSLATE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace sparsec {

/// Makes the dialects that reach LLVM IR translatable.
void registerTranslations(mlir::DialectRegistry &registry);

/// The NVPTX back end for one chip, e.g. "sm_90a" and "+ptx86".
std::unique_ptr<llvm::TargetMachine> createGpuTargetMachine(llvm::StringRef chip, llvm::StringRef features);

/// The module as LLVM IR for `machine`, not optimised. Null after an error has been reported on an operation.
std::unique_ptr<llvm::Module> translateToLLVM(mlir::gpu::GPUModuleOp module, llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine);

/// Runs LLVM's O3 pipeline.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// Runs the back end. The error is what it could not select or allocate.
llvm::Expected<std::string> emitPtx(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_TRANSLATE_H
