// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conversions.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void sparsec::registerConversions(DialectRegistry &registry) {
  registerConvertToLLVMDependentDialectLoading(registry);
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry); // absf, fma, floor, ceil, copysign
  registerConvertNVVMToLLVMInterface(registry);
}

/// One walk converts the ops of all dialects. A walk for each dialect takes longer (bench/notes/compile-time.md).
static void addConversionsToLLVM(OpPassManager &passes) {
  passes.addPass(createSCFToControlFlowPass({.allowPatternRollback = false}));
  ConvertToLLVMPassOptions options;
  options.allowPatternRollback = false;
  passes.addPass(createConvertToLLVMPass(options));
}

void sparsec::addHostConversionPasses(OpPassManager &passes) {
  passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  addConversionsToLLVM(passes);
}

void sparsec::addGpuConversionPasses(OpPassManager &passes) {
  OpPassManager &kernels = passes.nest<gpu::GPUModuleOp>();
  kernels.addPass(createCSEPass());
  addConversionsToLLVM(kernels);
}

void sparsec::addCastRemovalPass(OpPassManager &passes) { passes.addPass(createReconcileUnrealizedCastsPass()); }
