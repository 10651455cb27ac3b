// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The programs of a sddmm share this on all chips. A tile is the rows of one block row, or a part of them, and the next
// few stored blocks of that row. Its steps go along K.

#ifndef SPARSEC_COMPILER_TILE_SDDMMPARTS_H
#define SPARSEC_COMPILER_TILE_SDDMMPARTS_H

#include "ProgramBuilder.h"
#include "RoleBuilding.h"
#include "Schedule.h"

namespace sparsec {

class SddmmParts : public ProgramBuilder {
public:
  SddmmParts(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule);

protected:
  /// The blocks of a tile. All i32.
  struct Tile {
    TileCoordinates at;
    mlir::Value first, count; // of the blocks of all CTAs and groups
  };
  /// The part of a tile that a group stores: its rows and columns of the tile, and blocks. The column counts from the
  /// first of these blocks on.
  struct StoredPart {
    mlir::Value group, row, column;
    mlir::Value first, end; // empty where the end is not behind the first
  };
  using Values = llvm::SmallVector<mlir::Value>;

  mlir::Type elementType() override { return sddmm.getLeft().getType().getElementType(); }
  /// A ring with a tile of A and one of B.
  mlir::Value makeRing(mlir::ImplicitLocOpBuilder &b);
  /// The body gives what is carried. Tiles behind the last block of their row have none, and are passed over.
  void forEachTile(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange inits,
                   mlir::function_ref<Values(const Tile &tile, mlir::ValueRange carried)> body);
  /// The first row of the tile in A.
  mlir::Value rowOfLeft(mlir::ImplicitLocOpBuilder &b, const Tile &tile);
  CopyOp copyLeft(mlir::ImplicitLocOpBuilder &b, mlir::Value row, mlir::Value k, mlir::Value cursor);
  /// The columns of B that belong to a block column.
  mlir::Value columnOfRight(mlir::ImplicitLocOpBuilder &b, mlir::Value blockColumn);
  CopyOp copyRight(mlir::ImplicitLocOpBuilder &b, mlir::Value column, mlir::Value k, mlir::Value cursor);
  mlir::Value viewOfLeft(mlir::ImplicitLocOpBuilder &b, mlir::Value row, int64_t rows);
  mlir::Value viewOfRight(mlir::ImplicitLocOpBuilder &b, mlir::Value column, int64_t columns, mlir::StringRef name);
  void storeTile(mlir::ImplicitLocOpBuilder &b, const Tile &tile, const StoredPart &part, mlir::Value sum);

  mlir::Value operand(mlir::Value kernelValue) { return mapping.lookup(kernelValue); }
  mlir::Value depthOf(mlir::ImplicitLocOpBuilder &b) {
    return SizeOp::create(b, operand(sddmm.getLeft()), 1 - sddmm.getRowDimension());
  }
  bool isLeftTransposed() { return sddmm.getALayout() == LeftLayout::km; }
  bool isRightTransposed() { return sddmm.getBLayout() == DenseLayout::nk; }
  int64_t stride() { return blockStride(instruction, pattern.getBlockColumns(), isRightTransposed()); }
  int64_t columnsOfGroup() { return schedule.getTileN() / schedule.getConsumersN(); }
  int64_t groups() { return schedule.getConsumersM() * schedule.getConsumersN(); }

  SddmmOp sddmm;
  BsrType pattern;
  MatrixInstruction instruction;
  mlir::Value ring;

private:
  mlir::Value viewOf(mlir::ImplicitLocOpBuilder &b, int64_t index, bool isDepthContiguous, mlir::Value first,
                     int64_t outer);
};

/// By wgmma and tensor copies.
std::unique_ptr<ProgramBuilder> makeSddmmRoles(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule);
/// By mma.sync, with copies by threads.
std::unique_ptr<ProgramBuilder> makeSddmmWarps(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_SDDMMPARTS_H
