// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The producers of a product with block rows for TMA, and the walks that they share with consumers.

#ifndef SPARSEC_COMPILER_TILE_SPMMPRODUCER_H
#define SPARSEC_COMPILER_TILE_SPMMPRODUCER_H

#include "SpmmParts.h"

namespace sparsec {

class SpmmProducer : public SpmmParts {
protected:
  using SpmmParts::SpmmParts;

  /// A step of a walk. `position` is that of its first block in the block's row, counted from the matrix's first block.
  /// `scale` is null unless the walk visits the scales of blocks.
  struct Visited {
    mlir::Value position, block;
    mlir::ValueRange columns; // of each block
    mlir::Value scale;
  };
  using Walk = mlir::function_ref<Values(const Visited &visited, mlir::ValueRange carried)>;
  /// A loop over the blocks of a tile.
  WalkOp walk(const Tile &tile, mlir::ValueRange inits, Walk body);
  /// The same, which visits the scale of each block where blocks have scales.
  WalkOp walkWithScales(const Tile &tile, mlir::ValueRange inits, Walk body);
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
  WalkOp walk(BlockWalkOp blocks, mlir::ValueRange inits, Walk body);
  void build();
  bool rotatesRows();
  void copyStep(const Tile &tile, const Visited &step, int64_t chunk, mlir::Value cursor);
  void setPart(CopyOp copy, int64_t number);
  void buildScaleProducer(mlir::Value scaleRing, int64_t chunksOfSlot);
  mlir::Value expectedScaleTile();
  void copyNextScaleTiles(const Tile &tile, mlir::Value part, mlir::Value &cursor, mlir::Value &number);
  mlir::Value copyScaleTile(const Tile &tile, mlir::Value number, mlir::Value cursor);
  void enterScaleTile(mlir::Value part, mlir::Value &cursor, mlir::Value &number);
  mlir::Value leaveScaleTile(mlir::Value cursor);
  mlir::Value differ(mlir::Value one, mlir::Value other);
  mlir::Value bytesOfCopies(const Tile &tile);
  mlir::Value bytesOfMissingRows(const Tile &tile);
  mlir::Value bytesOfMissingStrips(const Tile &tile);
  bool clipsOperand();
  bool clipsRows();
  bool clipsStrips();
  BufferType bufferOfX() { return mlir::cast<BufferType>(mlir::cast<RingType>(ring.getType()).getBuffers()[1]); }

  mlir::Value scaleTiles; // a ring, or null
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_SPMMPRODUCER_H
