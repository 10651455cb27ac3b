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
  /// A step; the block columns that it needs are loaded, and the blocks' numbers where they are not the positions.
  struct State {
    mlir::Value position, chunk;
    KernelBuilder::Values columns, numbers;

    auto fields() { return std::tie(position, chunk, columns, numbers); }
  };
  State unpack(mlir::ValueRange values);
  KernelBuilder::Values at(mlir::Value position, mlir::Value chunk);
  mlir::Value columnBeyondMatrix();
  int64_t blocks() { return op.getBlocks(); }
  bool hasNumbers() { return op.getMatrix().getType().getTransposed(); }

  ProgramContext &context;
  KernelBuilder &b;
  BlockStepsOp op;
  mlir::Value firstBlock, end;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_BLOCK_STEPS_H
