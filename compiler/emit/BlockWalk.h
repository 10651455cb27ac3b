// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The walk of sparsec.block_walk: over the blocks of a matrix from one position to another.

#ifndef SPARSEC_EMIT_BLOCK_WALK_H
#define SPARSEC_EMIT_BLOCK_WALK_H

#include "BlockIndex.h"
#include "WalkEmitter.h"

namespace sparsec {

class BlockWalk : public WalkEmitter {
public:
  /// The blocks from `first` up to `end`.
  BlockWalk(ProgramContext &context, BlockWalkOp op, mlir::Value first, mlir::Value end)
      : context(context), b(context.b), op(op), index(context, op.getMatrix()), firstBlock(first), end(end) {}

  KernelBuilder::Values loop(mlir::ArrayRef<bool> isUsed, mlir::ValueRange carried, Visit visit) override;

  KernelBuilder::Values first() override;
  KernelBuilder::Values next(mlir::ValueRange step) override;
  KernelBuilder::Values read(mlir::ValueRange step) override;

private:
  /// A step. `chunk` is that of its block, where blocks have chunks. The block columns that the step needs are loaded,
  /// and the blocks' numbers where they are not the positions.
  struct State {
    mlir::Value position;
    KernelBuilder::Values chunk, columns, numbers;

    auto fields() { return std::tie(position, chunk, columns, numbers); }
  };
  State unpack(mlir::ValueRange values);
  KernelBuilder::Values load(mlir::Value position);
  KernelBuilder::Values loadStep(mlir::Value position);
  KernelBuilder::Values nothingLoaded();
  State at(mlir::Value position, const KernelBuilder::Values &chunk);
  mlir::Value columnBeyondMatrix();
  KernelBuilder::Values loopByLanes(mlir::ValueRange carried, Visit visit);
  KernelBuilder::Values rotatedLoop(int64_t loadedCount, mlir::ValueRange carried, Visit visit);
  KernelBuilder::Values beginOfRotation();
  KernelBuilder::Values visitedAt(mlir::Value position);
  /// The position, or that of the first block in place of the end.
  mlir::Value wrap(mlir::Value position);
  int64_t blocks() { return op.getBlocks(); }
  int64_t columnsOfBlock() { return op.getMatrix().getType().getBlockColumns(); }
  bool hasChunks() { return op.getChunkColumns().has_value(); }
  bool hasNumbers() { return op.getMatrix().getType().getTransposed(); }

  ProgramContext &context;
  KernelBuilder &b;
  BlockWalkOp op;
  BlockIndex index;
  mlir::Value firstBlock, end;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_BLOCK_WALK_H
