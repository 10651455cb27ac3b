// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The walk of sparsec.block_steps.

#ifndef SPARSEC_EMIT_BLOCK_STEPS_H
#define SPARSEC_EMIT_BLOCK_STEPS_H

#include "ProgramContext.h"
#include "StepWalk.h"

namespace sparsec {

class BlockSteps : public StepWalk {
public:
  /// The blocks from `first` up to `end`.
  BlockSteps(ProgramContext &context, BlockStepsOp op, mlir::Value first, mlir::Value end)
      : context(context), b(context.b), op(op), firstBlock(first), end(end) {}

  KernelBuilder::Values first() override;
  KernelBuilder::Values next(mlir::ValueRange step) override;
  KernelBuilder::Values read(mlir::ValueRange step) override;

private:
  /// A step; the block columns that it needs are loaded.
  struct State {
    mlir::Value block, chunk;
    KernelBuilder::Values columns;

    auto fields() { return std::tie(block, chunk, columns); }
  };
  KernelBuilder::Values at(mlir::Value block, mlir::Value chunk);
  mlir::Value columnOf(mlir::Value block);
  mlir::Value columnBeyondMatrix();
  int64_t blocks() { return op.getBlocks(); }
  int64_t matrix() { return mlir::cast<mlir::BlockArgument>(op.getMatrix()).getArgNumber(); }

  ProgramContext &context;
  KernelBuilder &b;
  BlockStepsOp op;
  mlir::Value firstBlock, end;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_BLOCK_STEPS_H
