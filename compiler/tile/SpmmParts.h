// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of a product in values form, and what its programs of roles have in common on all chips.

#ifndef SPARSEC_COMPILER_TILE_SPMMPARTS_H
#define SPARSEC_COMPILER_TILE_SPMMPARTS_H

#include "RoleBuilding.h"
#include "SparsecDialect.h"

namespace sparsec {

class SpmmParts {
protected:
  /// A group of the role that multiplies has `rowsOfGroup` rows of the tile.
  SpmmParts(ProgramOp program, int64_t rowsOfGroup);

  struct Tile {
    TileCoordinates at;
    mlir::Value firstBlock, endBlock; // of its block row, or of what a plan gives this worker of it
    mlir::Value kind;                 // in a program that is cut: what becomes of the sum
  };
  using Values = llvm::SmallVector<mlir::Value>;

  /// With `hasScales`, the last buffer of a slot has a scale for each column of the tile.
  void makeRing(bool hasScales = false);
  /// The tile loop. The body gives what is carried. A slice has some of the blocks of a tile.
  void walkTiles(mlir::ValueRange inits, mlir::function_ref<Values(const Tile &, mlir::ValueRange carried)> body);
  Tile sliceOf(const Tile &tile);
  /// The same with a plan that cuts tiles.
  void walkCutTiles(mlir::ValueRange inits, mlir::function_ref<Values(const Tile &, mlir::ValueRange carried)> body);
  Tile tileAt(mlir::Value tileRow, mlir::Value panel);
  mlir::Value viewOfA(mlir::Value row);
  mlir::Value viewOfX(mlir::Value column) { return viewOfX(column, columnsOfGroup()); }
  /// The view has `columns` columns from the first on.
  mlir::Value viewOfX(mlir::Value first, int64_t columns);
  /// With sums of two levels, the views of X whose products are added to the sum one after the other.
  Values viewsOfParts(mlir::Value firstColumn);
  /// The scale of a block, or null where blocks have none.
  mlir::Value scaleOf(mlir::Value block);
  /// A chunk of a block, and the scale of the block or null.
  struct Chunk {
    mlir::Value blockColumn, number, scale;
  };
  /// Chunks of a block for which the same scales of X count, unless the block has fewer.
  int64_t chunksOfScale();
  /// The part of K in which a chunk lies: its number among those that have scales of X.
  mlir::Value partOfK(mlir::Value blockColumn, mlir::Value chunk);
  /// Where X has scales, those of a part's columns from `first` on for a chunk, times that of the block; else that of
  /// the block.
  mlir::Value scaleOfPart(mlir::Value first, const Chunk &chunk);
  /// Adds the complete products of the parts to the sum, times their scales where there are any. Both functions get the
  /// part's number, and that of the scale comes behind the product.
  mlir::Value addProducts(mlir::Value sum, mlir::function_ref<mlir::Value(int64_t part)> scaleOf,
                          mlir::function_ref<mlir::Value(int64_t part)> multiply);
  /// Coordinates in X, as K x N or as N x K.
  Values coordinatesOfX(mlir::Value k, mlir::Value column);
  GroupPart partOfGroup() { return sparsec::partOf(b, schedule, rowsOfGroup, columnsOfGroup()); }
  void storeTile(const Tile &tile, const GroupPart &part, mlir::Value sum);
  /// With slices, waits until the sums of the tile before are added.
  void beginSlices();
  /// With slices, the first one stores the sum of all.
  void storeSlices(const Tile &tile, const GroupPart &part, mlir::Value sum);
  /// In a program that is cut, writes the sum of a first part, and adds that of the worker before to the sum of a rest.
  void storeCut(const Tile &tile, const GroupPart &part, mlir::Value sum);

  bool isCut() { return tileLoop->getParentOfType<ProgramOp>().getCut(); }
  bool hasSlices() { return int64_t(schedule.getSlices()) > 1; }
  int64_t groups() { return schedule.getConsumersM() * schedule.getConsumersN(); }
  int64_t columnsOfGroup() { return schedule.getTileN() / schedule.getConsumersN(); }
  /// The type of the sum of a group, or of `columns` of its columns.
  mlir::Type sumType() { return sumType(columnsOfGroup()); }
  mlir::Type sumType(int64_t columns);
  int64_t columnsOfPart();
  int64_t blocksPerStep() { return blockLoop.getBlocksPerStep(); }
  int64_t partCount() { return columnsOfGroup() / columnsOfPart(); }
  bool isTransposed() { return chain.getXTransposed(); }
  /// Whether X is the A operand: its columns are rows of the accumulators.
  bool swapsOperands();
  /// Whether K may end inside a block.
  bool mayCutBlocks();
  /// Whether blocks are copied as lines of 128 bytes. No block is cut then.
  bool copiesLines();

  ScheduleAttr schedule;
  TileLoopOp tileLoop;
  BlockLoopOp blockLoop;
  StoreOp store;
  ChainOp chain;
  BsrType matrix;
  mlir::ImplicitLocOpBuilder b;
  llvm::SmallVector<LoadOp> loads; // A, X
  int64_t rowsOfGroup;
  mlir::Value ring;
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_SPMMPARTS_H
