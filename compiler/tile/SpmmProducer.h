// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The producers of a product with block rows for TMA, and the walks that they share with consumers.

#ifndef SPARSEC_COMPILER_TILE_SPMMPRODUCER_H
#define SPARSEC_COMPILER_TILE_SPMMPRODUCER_H

#include "SpmmParts.h"

namespace sparsec {

class SpmmProducer : public SpmmParts {
protected:
  using SpmmParts::SpmmParts;

  /// `position` is that of the block in its block row's order, counted from the matrix's first block.
  using Walk =
      mlir::function_ref<Values(mlir::Value position, mlir::Value block, mlir::Value column, mlir::ValueRange carried)>;
  /// A loop over the blocks of a tile, in the order of the row unless `rotated`.
  WalkOp walk(const Tile &tile, mlir::ValueRange inits, Walk body, bool rotated = false);
  mlir::Value hasBlocks(const Tile &tile);
  /// The role that copies A and X of each step into the next slot.
  void makeProducer();
  /// The role that copies the scales of X into the next slot of a ring, one slot for so many chunks of a block.
  void makeScaleProducer(mlir::Value scaleRing, int64_t chunksOfSlot);
  /// The ring of tiles of the scales of X. Where there is one, the producer fills it.
  void makeScaleTiles();
  /// The role that puts the scales of X of each step into its slot, from these tiles.
  void makeScaleStager();

private:
  void build();
  bool rotatesRows();
  void copyStep(const Tile &tile, mlir::Value block, mlir::Value column, int64_t chunk, mlir::Value cursor);
  void buildScaleProducer(mlir::Value scaleRing, int64_t chunksOfSlot);
  void copyScaleTile(const Tile &tile, mlir::Value part, mlir::Value &cursor, mlir::Value &number);
  void enterScaleTile(mlir::Value part, mlir::Value &cursor, mlir::Value &number);
  mlir::Value leaveScaleTile(mlir::Value cursor, mlir::Value number);
  mlir::Value differ(mlir::Value one, mlir::Value other);
  mlir::Value bytesOfCopies();

  mlir::Value scaleTiles; // a ring, or null
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_SPMMPRODUCER_H
