// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-emit-host: a sparsec.kernel becomes one function of type sparsec_host_kernel_t (launch_info.h). HostSpmm.cpp,
// HostSddmm.cpp, HostSpgemm.cpp and HostAttention.cpp say how each family is computed.

#include "host/HostBuilder.h"
#include "host/HostMath.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

namespace sparsec {
#define GEN_PASS_DEF_EMITHOSTPASS
#include "Passes.h.inc"
} // namespace sparsec

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
              .Case([&](SddmmOp sddmm) { return emitHostSddmm(kernel, sddmm); })
              .Case([&](SpgemmOp spgemm) { return emitHostSpgemm(kernel, spgemm); })
              .Case([&](AttentionOp attention) { return emitHostAttention(kernel, attention); });
      lowerHostMath(function);
      lowerHostBf16(function);
      lowerHostF8(function);
      symbols.insert(function);
    }
  }
};

} // namespace
