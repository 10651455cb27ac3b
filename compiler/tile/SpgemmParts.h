// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The programs of a spgemm share this on all chips. A tile is one block of the result, or some rows of one. The plan
// lists its pairs: blocks of A and B that match. Without a pattern a tile that has no pair is stored, too: it is the
// epilogue of zeros.

#ifndef SPARSEC_COMPILER_TILE_SPGEMMPARTS_H
#define SPARSEC_COMPILER_TILE_SPGEMMPARTS_H

#include "ProgramBuilder.h"
#include "RoleBuilding.h"

namespace sparsec {

class SpgemmParts : public ProgramBuilder {
public:
  SpgemmParts(KernelOp kernel, SpgemmOp spgemm, ScheduleAttr schedule)
      : ProgramBuilder(kernel, schedule), spgemm(spgemm), left(spgemm.getLeft().getType()),
        right(spgemm.getRight().getType()) {}

protected:
  using Values = llvm::SmallVector<mlir::Value>;
  struct Tile {
    TileCoordinates at;
    mlir::Value number;     // of the block of the result
    mlir::Value first, end; // of its pairs
    mlir::Value column;     // of the result without a pattern
  };
  /// A pair of stored blocks, and the number of their block along K: null where K cuts no block.
  struct Pair {
    mlir::Value left, right, k;

    Values values() const { return k ? Values{left, right, k} : Values{left, right}; }
    static Pair of(mlir::ValueRange values);
  };

  mlir::Type elementType() override { return left.getElementType(); }
  /// A ring with rows of a block of A and those of one of B.
  mlir::Value makeRing(mlir::ImplicitLocOpBuilder &b);
  /// The body gives what is carried. With a pattern, panels behind the last block of a row are passed over.
  void forEachTile(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange inits,
                   mlir::function_ref<Values(const Tile &tile, mlir::ValueRange carried)> body);
  Pair readPair(mlir::ImplicitLocOpBuilder &b, mlir::Value position);
  /// Copies a step of a pair, from column `k` of A's block on.
  void copyStep(mlir::ImplicitLocOpBuilder &b, const Tile &tile, const Pair &pair, mlir::Value k, mlir::Value cursor);
  void storeTile(mlir::ImplicitLocOpBuilder &b, const Tile &tile, const GroupPart &part, mlir::Value sum);

  mlir::Value operand(mlir::Value kernelValue) { return mapping.lookup(kernelValue); }
  bool isSampled() { return spgemm.getPattern() != mlir::Value(); }
  int64_t columns() { return right.getBlockColumns(); }
  /// The steps of a pair.
  int64_t steps();
  /// Whether K may end inside a block.
  bool mayCutBlocks() { return left.mayBeCutBy(left.getColumns()) && left.mayBeCutBy(right.getRows()); }

  SpgemmOp spgemm;
  BsrType left, right;
  mlir::Value ring;

private:
  mlir::Value blockNumber(mlir::ImplicitLocOpBuilder &b, mlir::Value blockRow, mlir::Value panel);
  mlir::Value exists(mlir::ImplicitLocOpBuilder &b, mlir::Value blockRow, mlir::Value panel);
  Tile readTile(mlir::ImplicitLocOpBuilder &b, const TileCoordinates &at, mlir::Value panel);
};

/// By wgmma and tensor copies.
std::unique_ptr<ProgramBuilder> makeSpgemmRoles(KernelOp kernel, SpgemmOp spgemm, ScheduleAttr schedule);
/// By mma.sync, with copies by threads.
std::unique_ptr<ProgramBuilder> makeSpgemmWarps(KernelOp kernel, SpgemmOp spgemm, ScheduleAttr schedule);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_SPGEMMPARTS_H
