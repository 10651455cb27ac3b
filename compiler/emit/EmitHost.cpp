// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-emit-host: a sparsec.kernel becomes one function of type sparsec_host_kernel_t (launch_info.h). HostSpmm.cpp
// and HostAttention.cpp say how each family is computed.

#include "HostBuilder.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

namespace sparsec {
#define GEN_PASS_DEF_EMITHOSTPASS
#include "Passes.h.inc"
} // namespace sparsec

/// The math ops that the processor has as instructions become LLVM's intrinsics; the host conversions make libm calls
/// of the others.
static void useInstructions(LLVM::LLVMFuncOp function) {
  IRRewriter rewriter(function.getContext());
  function.walk([&](Operation *op) {
    rewriter.setInsertionPoint(op);
    TypeSwitch<Operation *>(op)
        .Case([&](math::AbsFOp abs) { rewriter.replaceOpWithNewOp<LLVM::FAbsOp>(abs, abs.getOperand()); })
        .Case([&](math::SqrtOp sqrt) { rewriter.replaceOpWithNewOp<LLVM::SqrtOp>(sqrt, sqrt.getOperand()); })
        .Case([&](math::FloorOp floor) { rewriter.replaceOpWithNewOp<LLVM::FFloorOp>(floor, floor.getOperand()); })
        .Case([&](math::CeilOp ceil) { rewriter.replaceOpWithNewOp<LLVM::FCeilOp>(ceil, ceil.getOperand()); })
        .Case([&](math::FmaOp fma) {
          rewriter.replaceOpWithNewOp<LLVM::FMAOp>(fma, fma.getA(), fma.getB(), fma.getC());
        });
  });
}

namespace {

struct EmitHostPass : sparsec::impl::EmitHostPassBase<EmitHostPass> {
  using EmitHostPassBase::EmitHostPassBase;

  void runOnOperation() override {
    auto target = getOperation()->getAttrOfType<TargetAttr>("sparsec.target");
    if (!target || target.getChip() != "host")
      return;
    SymbolTable symbols(getOperation());
    for (KernelOp kernel : llvm::to_vector(getOperation().getOps<KernelOp>())) {
      LLVM::LLVMFuncOp function =
          TypeSwitch<Operation *, LLVM::LLVMFuncOp>(kernel.getAnchor())
              .Case([&](SpmmOp spmm) { return emitHostSpmm(kernel, spmm); })
              .Case([&](AttentionOp attention) { return emitHostAttention(kernel, attention); });
      useInstructions(function);
      symbols.insert(function);
    }
  }
};

} // namespace
