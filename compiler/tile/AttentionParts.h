// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What both roles of an attention program use: the parts of the values form, the rings, and the meaning of messages.

#ifndef SPARSEC_COMPILER_TILE_ATTENTIONPARTS_H
#define SPARSEC_COMPILER_TILE_ATTENTIONPARTS_H

#include "Coordinates.h"
#include "SparsecDialect.h"

namespace sparsec {

// The messages of a slot of queries are the tile row and the panel, those of a slot of keys the blocks of the step.
/// In place of the tile row: no tile is left.
inline constexpr int64_t endOfTiles = -1;
/// In place of the first block, beside the last values of a tile: its list has ended.
inline constexpr int64_t endOfList = -1;

struct AttentionParts {
  explicit AttentionParts(ProgramOp program);

  ScheduleAttr schedule;
  TileLoopOp tileLoop;
  KeyLoopOp keyLoop;
  SoftmaxOp softmax;
  StoreRowsOp store;
  mlir::Value query, key, value;
  mlir::Type element;
  int64_t headDimension;
  int64_t keyBlock;      // keys of a block
  int64_t blocksPerStep; // 1 or 2
  mlir::Value queryRing, keyRing;
};

// The bodies of the roles, at the insertion point.
void buildAttentionProducer(mlir::ImplicitLocOpBuilder &b, AttentionParts &parts);
void buildAttentionConsumer(mlir::ImplicitLocOpBuilder &b, AttentionParts &parts);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_ATTENTIONPARTS_H
