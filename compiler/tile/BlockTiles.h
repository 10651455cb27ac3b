// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The programs in values form whose tile is one block of the result share this. The columns of a block may be more than
// a tile of the host has in its buffers: then it computes them in parts.

#ifndef SPARSEC_COMPILER_TILE_BLOCKTILES_H
#define SPARSEC_COMPILER_TILE_BLOCKTILES_H

#include "ProgramBuilder.h"
#include "RoleBuilding.h"

namespace sparsec {

class BlockTileBuilder : public ProgramBuilder {
public:
  using ProgramBuilder::ProgramBuilder;

protected:
  using Values = llvm::SmallVector<mlir::Value>;

  /// A block of the result. All i32.
  struct ResultBlock {
    mlir::Value number; // in the order of the block rows
    mlir::Value row, column;
    mlir::Value pattern; // null if the result is dense
  };

  /// Some columns of a block.
  struct Part {
    mlir::Value column; // of the block
    int64_t columns;
  };

  /// Makes the ops of `body` where the block row of the pattern has so many blocks that the panel has one.
  void ifBlockExists(mlir::ImplicitLocOpBuilder &b, mlir::Value pattern, mlir::Value blockRow, mlir::Value panel,
                     mlir::function_ref<void(const ResultBlock &)> body);
  /// Makes the ops of `body` for every part of a block.
  void forParts(mlir::ImplicitLocOpBuilder &b, int64_t blockColumns, mlir::function_ref<void(const Part &)> body);
  /// Carries a sum, which begins as zero, through a loop.
  mlir::Value sumUp(mlir::ImplicitLocOpBuilder &b, AccumulatorType type, mlir::Value begin, mlir::Value end,
                    int64_t step, mlir::function_ref<mlir::Value(mlir::Value index, mlir::Value sum)> body);

  /// Stores a part of a block with the epilogue of `op`.
  template <typename Op>
  void storePart(mlir::ImplicitLocOpBuilder &b, Op op, mlir::Value sum, const ResultBlock &block, const Part &part,
                 bool transposed) {
    Values extras;
    for (mlir::Value extra : op.getExtras())
      extras.push_back(mapping.lookup(extra));
    StoreOp store = makeStore(b, sum, block, part, extras, op.getBroadcast());
    store.setTransposed(transposed);
    setEpilogue(b, store, op.getEpilogue());
  }

private:
  StoreOp makeStore(mlir::ImplicitLocOpBuilder &b, mlir::Value sum, const ResultBlock &block, const Part &part,
                    mlir::ValueRange extras, mlir::ArrayAttr broadcast);
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_BLOCKTILES_H
