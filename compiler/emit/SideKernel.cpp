// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SideKernel.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sparsec;

/// Writes the attributes that the launch info and ptxas read from the function.
static void setAttributes(ProgramOp program, LLVM::LLVMFuncOp function, const SideKernelShape &shape) {
  Builder b(function.getContext());
  int64_t threads = shape.warps * warpLanes;
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    b.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  if (shape.ctasPerSm != 0)
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      b.getI32IntegerAttr(static_cast<int32_t>(shape.ctasPerSm)));
  function->setAttr("sparsec.kernel", program.getKernelAttr());
  function->setAttr("sparsec.shared_memory", b.getI64IntegerAttr(shape.sharedMemory));
  function->setAttr("sparsec.threads", b.getI64IntegerAttr(threads));
  function->setAttr("sparsec.concurrent_tiles", b.getI64IntegerAttr(shape.tilesOfCta));
  function->setAttr("sparsec.tile_m", b.getI64IntegerAttr(shape.tileM));
  function->setAttr("sparsec.tile_n", b.getI64IntegerAttr(shape.tileN));
  function->setAttr("sparsec.tile_k", b.getI64IntegerAttr(1));
}

LLVM::LLVMFuncOp sparsec::addSideKernel(ProgramOp program, const SideKernelShape &shape,
                                        llvm::function_ref<void(LLVM::LLVMFuncOp, KernelBuilder &)> emitBody) {
  KernelBuilder b(program.getLoc(), program.getContext());
  b.setInsertionPoint(program);
  std::string name = (program.getKernel() + shape.suffix).str();
  while (SymbolTable::lookupSymbolIn(program->getParentOp(), name))
    name += "_";
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {});
  auto function = LLVM::LLVMFuncOp::create(b, name, type);
  b.createBlock(&function.getBody());
  emitBody(function, b);
  setAttributes(program, function, shape);
  return function;
}
