// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-attach-target: writes the chip that the module is compiled for.

#include "Passes.h"
#include "TargetInfo.h"

namespace sparsec {
#define GEN_PASS_DEF_ATTACHTARGETPASS
#include "Passes.h.inc"
} // namespace sparsec

using namespace mlir;
using namespace sparsec;

namespace {
struct AttachTarget : sparsec::impl::AttachTargetPassBase<AttachTarget> {
  using AttachTargetPassBase::AttachTargetPassBase;

  void runOnOperation() override {
    if (!isKnownTarget(chip.getValue())) {
      getOperation().emitError("expects the chip to be one of ")
          << knownTargets() << ", but got \"" << chip.getValue() << "\"";
      return signalPassFailure();
    }
    getOperation()->setAttr("sparsec.target", TargetAttr::get(&getContext(), chip));
  }
};
} // namespace
