// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a gpu.module of LLVM and NVVM ops to PTX text, in process: LLVM IR, LLVM's passes, the NVPTX back end.

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

/// LLVM's passes for code of the host, whose loops it also vectorises: O3.
inline constexpr llvm::StringLiteral hostPasses = "default<O3>";

/// LLVM's passes for kernels. A kernel calls no function and has no variables in memory, and the emitters have unrolled
/// its loops where that pays. Kernels by O3 are as fast, and O3 takes about twice as long
/// (bench/notes/compile-time.md).
inline constexpr llvm::StringLiteral kernelPasses =
    "function(simplifycfg,early-cse,instcombine<max-iterations=1;no-verify-fixpoint>,simplifycfg,early-cse,"
    "speculative-execution,simplifycfg,reassociate,"
    "loop-mssa(loop-instsimplify,licm<no-allowspeculation>,loop-rotate<header-duplication>,licm),simplifycfg,"
    "instcombine<max-iterations=1;no-verify-fixpoint>,loop(indvars),gvn,sccp,"
    "instcombine<max-iterations=1;no-verify-fixpoint>,correlated-propagation,loop-mssa(licm),"
    "simplifycfg<bonus-inst-threshold=1;sink-common-insts;hoist-common-insts>,loop-unroll,"
    "instcombine<max-iterations=1;no-verify-fixpoint>)";

/// Runs the passes of this text, in LLVM's own syntax.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, llvm::StringRef text);

/// Runs the back end. The error is what it could not select or allocate.
llvm::Expected<std::string> emitPtx(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_TRANSLATE_H
