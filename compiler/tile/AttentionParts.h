// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Both roles of an attention program use the parts of its values form, the rings, and the same messages.

#ifndef SPARSEC_COMPILER_TILE_ATTENTIONPARTS_H
#define SPARSEC_COMPILER_TILE_ATTENTIONPARTS_H

#include "RoleBuilding.h"
#include "SparsecDialect.h"

namespace sparsec {

// The messages of a slot of queries are the tile row and the panel, those of a slot of keys the blocks of the step.
/// This number in place of the tile row says that no tile is left.
inline constexpr int64_t endOfTiles = -1;
/// This number in place of the first block says that the list has ended. It comes with the last values of a tile.
inline constexpr int64_t endOfList = -1;

struct AttentionParts {
  explicit AttentionParts(ProgramOp program);
  mlir::Value makeRing(mlir::ImplicitLocOpBuilder &b, mlir::StringRef name, int64_t stages, int64_t rows,
                       int64_t columns, bool hasMessages);
  /// Whether the walk begins at the last keys. Scores that depend on distances, as those of ALiBi, are largest near the
  /// diagonal: from there m rises less often.
  bool startsAtEnd() { return !keyLoop.getPattern() && !softmax.getScore().empty(); }

  ScheduleAttr schedule;
  TileLoopOp tileLoop;
  KeyLoopOp keyLoop;
  SoftmaxOp softmax;
  StoreRowsOp store;
  mlir::Value query, key, value;
  mlir::Type element;
  int64_t headDimension, valueDimension;
  int64_t keyBlock;                          // keys of a block, or of a part of one where steps are shorter
  int64_t blocksPerStep;                     // 1 or 2
  int64_t chunks;                            // parts of a block
  mlir::Value queryRing, keyRing, valueRing; // keys and values may share one
};

// The bodies of the roles, at the insertion point.
void buildAttentionProducer(mlir::ImplicitLocOpBuilder &b, AttentionParts &parts);
void buildAttentionConsumer(mlir::ImplicitLocOpBuilder &b, AttentionParts &parts);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_ATTENTIONPARTS_H
