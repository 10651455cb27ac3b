// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products by mma.sync, and copies by threads or, where one thread has them, by the tensor memory accelerator.

#ifndef SPARSEC_EMIT_AMPERE_AMPERE_OPS_H
#define SPARSEC_EMIT_AMPERE_AMPERE_OPS_H

#include "ProgramEmitter.h"
#include "ampere/Products.h"

namespace sparsec {

class AmpereOps : public ChipOps {
public:
  using ChipOps::ChipOps;

  void emitCopy(CopyOp op) override;
  /// A view is where its products look it up.
  void emitView(ViewOp) override {}
  void emitLoadFragment(LoadFragmentOp op) override;
  void emitProduct(ProductOp op) override;
  /// Products are complete at once.
  void emitAwait(AwaitOp) override { llvm_unreachable("no product by mma.sync is pending"); }

private:
  MmaOperand operandOf(mlir::Value view, mlir::Value cursor);
  /// The sums after a product.
  KernelBuilder::Values product(ProductOp op, mlir::ValueRange sums);
};

} // namespace sparsec

#endif // SPARSEC_EMIT_AMPERE_AMPERE_OPS_H
