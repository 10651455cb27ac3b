// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops of programs of roles that only products have: block rows, and the store of a tile.

#ifndef SPARSEC_EMIT_BLOCK_ROWS_H
#define SPARSEC_EMIT_BLOCK_ROWS_H

#include "ProgramEmitter.h"

namespace sparsec {

class BlockRows : public FamilyOps {
public:
  BlockRows(ProductContext &context, ProgramEmitter &program) : FamilyOps(program), context(context) {}

  bool emit(mlir::Operation &op) override;

private:
  void emitRowBlocks(RowBlocksOp op);
  bool mayHavePartsBeyondK();
  void emitColumnScales(ColumnScalesOp op);
  void emitCopyScales(CopyScalesOp op);
  void emitStageScales(StageScalesOp op);
  void emitStagedScales(StagedScalesOp op);
  void emitRowScales(RowScalesOp op);
  void emitStore(StoreOp op);

  ProductContext &context;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_BLOCK_ROWS_H
