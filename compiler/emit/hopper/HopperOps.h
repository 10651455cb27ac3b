// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies by the tensor memory accelerator and products by wgmma.

#ifndef SPARSEC_EMIT_HOPPER_HOPPER_OPS_H
#define SPARSEC_EMIT_HOPPER_HOPPER_OPS_H

#include "ProgramEmitter.h"
#include "hopper/Products.h"

namespace sparsec {

class HopperOps : public ChipOps {
public:
  using ChipOps::ChipOps;

  void emitCopy(CopyOp op) override;
  void emitView(ViewOp op) override;
  void emitLoadFragment(LoadFragmentOp op) override;
  void emitProduct(ProductOp op) override;
  void emitAwait(AwaitOp op) override;

private:
  struct Descriptors {
    WgmmaDescriptors left, right; // no left ones where A is a fragment
  };

  WgmmaOperand operandOf(mlir::Value view, mlir::Value cursor);
  Descriptors describe(ProductOp op, WgmmaShape shape);

  ZeroMaker zeros;
  mlir::Operation *firstOfStep = nullptr; // makes the first descriptor of a step that keeps them
};

} // namespace sparsec

#endif // SPARSEC_EMIT_HOPPER_HOPPER_OPS_H
