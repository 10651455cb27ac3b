// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Machine kernels beside those of programs: auxiliary kernels, and later stages of a variant.

#ifndef SPARSEC_EMIT_SIDE_KERNEL_H
#define SPARSEC_EMIT_SIDE_KERNEL_H

#include "KernelBuilder.h"
#include "SparsecDialect.h"

namespace sparsec {

/// The CTAs of a machine kernel beside those of programs.
struct SideKernelShape {
  llvm::StringRef suffix; // of its name, after that of the kernel
  int64_t warps, tilesOfCta;
  int64_t tileM, tileN;
  int64_t sharedMemory; // bytes
  /// At least so many CTAs must fit an SM: ptxas limits the registers to what that leaves. 0: ptxas chooses.
  int64_t ctasPerSm = 0;
};

/// Adds the function of such a machine kernel before a program. `emitBody` makes a context with the operands of the
/// program, and fills the function.
mlir::LLVM::LLVMFuncOp
addSideKernel(ProgramOp program, const SideKernelShape &shape,
              llvm::function_ref<void(mlir::LLVM::LLVMFuncOp function, KernelBuilder &b)> emitBody);

/// The same for a kind of context.
template <typename Context>
mlir::LLVM::LLVMFuncOp emitSideKernel(ProgramOp program, const SideKernelShape &shape,
                                      llvm::function_ref<void(Context &)> emitBody) {
  return addSideKernel(program, shape, [&](mlir::LLVM::LLVMFuncOp function, KernelBuilder &b) {
    Context context(program, function, b);
    emitBody(context);
    mlir::LLVM::ReturnOp::create(b, mlir::ValueRange());
    context.parameters.finish();
  });
}

/// The same for an auxiliary kernel.
template <typename Context>
void emitAuxiliaryKernel(ProgramOp program, AuxiliaryKind kind, const SideKernelShape &shape,
                         llvm::function_ref<void(Context &)> emitBody) {
  mlir::LLVM::LLVMFuncOp function = emitSideKernel<Context>(program, shape, emitBody);
  function->setAttr("sparsec.auxiliary", AuxiliaryKindAttr::get(program.getContext(), kind));
}

} // namespace sparsec

#endif // SPARSEC_EMIT_SIDE_KERNEL_H
