// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-emit-host: a sparsec.program in values form becomes one function of type sparsec_host_kernel_t
// (launch_info.h), op by op (host/HostProgram.h).

#include "host/HostMath.h"
#include "host/HostProgram.h"

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
    SymbolTable symbols(getOperation());
    for (ProgramOp program : llvm::to_vector(getOperation().getOps<ProgramOp>())) {
      LLVM::LLVMFuncOp function = makeHostProgram(program)->emit();
      if (!function)
        return signalPassFailure();
      symbols.erase(program);
      lowerHostMath(function);
      lowerHostBf16(function);
      lowerHostF8(function);
      symbols.insert(function);
    }
  }
};

} // namespace
