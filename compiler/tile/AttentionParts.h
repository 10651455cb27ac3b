// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Both roles of an attention program use the parts of its values form, the rings, and the same messages.

#ifndef SPARSEC_COMPILER_TILE_ATTENTIONPARTS_H
#define SPARSEC_COMPILER_TILE_ATTENTIONPARTS_H

#include "AttentionSchedule.h"
#include "RoleBuilding.h"
#include "SparsecDialect.h"

namespace sparsec {

// A slot of queries has two messages, the tile row and the panel. Where tiles may be cut, the two highest bits of the
// second one are the kind of the tile (sparsec_cut_kind_t). A slot of keys has the blocks of the step.
/// This number in place of the tile row says that no tile is left.
inline constexpr int64_t endOfTiles = -1;
/// This number in place of the first block says that the list has ended. It comes with the last values of a tile.
inline constexpr int64_t endOfList = -1;
// The bits of the second message beside the end of a list.
/// Another tile follows, which starts ahead: in programs where tiles do so.
inline constexpr int64_t tileFollowsBit = 1;
/// The tile is a first part, whose sums are for the next worker.
inline constexpr int64_t firstPartBit = 2;

/// A tile of queries, its part of the keys, and its sequence where sequences have sizes of their own.
struct SequenceTile {
  TilePartOp part; // or null
  // A tile that may be cut along the keys has these, for others they are null.
  mlir::Value firstBlock, blocks; // the first block that the worker visits, and how many
  mlir::Value kind;               // bits of the message beside the queries
  QueryTileOp tile;
  SequenceOp sequence; // or null

  /// The queries and keys of the sequence, where they are not those of Q and K.
  llvm::SmallVector<mlir::Value> sizes();
  /// The part of the keys and the number of parts, where the program is split; the blocks where it is cut.
  llvm::SmallVector<mlir::Value> partOfKeys();
};

struct AttentionParts {
  explicit AttentionParts(ProgramOp program);
  mlir::Value makeRing(mlir::ImplicitLocOpBuilder &b, mlir::StringRef name, int64_t stages, int64_t rows,
                       int64_t columns, bool hasMessages);
  /// A tile of the grid: its part and the panel, where the program is split. `panel` becomes that of the tile.
  TilePartOp makePart(mlir::ImplicitLocOpBuilder &b, mlir::Value &panel);
  /// The tile of a row and a panel, and its sequence. With packed queries, sparsec.packed_tile gives row and panel.
  SequenceTile makeTile(mlir::ImplicitLocOpBuilder &b, TilePartOp part, mlir::Value tileRow, mlir::Value panel);
  mlir::Value makeLists(mlir::ImplicitLocOpBuilder &b, QueryTileOp tile);
  /// The first key of a block that a walk visits, and whether the mask region applies. `row` is the block row of a
  /// joint list that asks, 0 or 1; null: the copy of the block, which both rows share.
  struct KeyBlock {
    mlir::Value key, partial;
  };
  KeyBlock makeKeyBlock(mlir::ImplicitLocOpBuilder &b, mlir::Value block, mlir::Value row, int64_t keys);
  /// Whether the end of a joint list may have steps whose halves are of one block row each.
  bool hasDividedSteps() { return isJoint && blocksPerStep == 2; }
  /// This number in place of a block says that the step has none there.
  int64_t noBlock() { return isJoint ? JointListOp::noBlock : KeyWalkOp::noBlock; }
  /// The walk over the keys of a tile, by these lists where the program has a pattern.
  mlir::Value makeWalk(mlir::ImplicitLocOpBuilder &b, SequenceTile tile, mlir::Value lists);
  // The coordinates of rows of the tile: those of Q from its query `row` on, and of K and V from a key of its sequence
  // on. Pages have coordinates for one page.
  llvm::SmallVector<mlir::Value> queryCoordinates(mlir::ImplicitLocOpBuilder &b, const SequenceTile &tile,
                                                  mlir::Value row);
  llvm::SmallVector<mlir::Value> keyCoordinates(mlir::ImplicitLocOpBuilder &b, const SequenceTile &tile,
                                                mlir::Value key);
  /// `keys` rows of K or V follow one another in a sequence. This is how many of them follow one another in memory:
  /// those of a page.
  int64_t contiguousKeys(int64_t keys);
  /// The producers that share the copies of a slot: one thread starts a copy in 50 clocks or more, and a slot may have
  /// many pages. Each has a warp of the producers' warpgroup, which tiles side by side take for themselves.
  int64_t producers();
  /// Writes the rows of a group, which begin at its query `row`: results, or those of a part.
  void makeStore(mlir::ImplicitLocOpBuilder &b, const SequenceTile &tile, mlir::Value row, mlir::Value output,
                 mlir::Value state);
  bool hasSequences() { return keyLoop.getQueryStarts() || keyLoop.getKeyStarts() || keyLoop.getKeyLengths(); }
  /// The fewest blocks of a part of the keys; 1 where the program is not split.
  int64_t partBlocks() { return isSplit ? std::max<int64_t>(1, leastPartKeys / (keyBlock * chunks)) : 1; }
  /// Where a step has 64 keys, there are registers for the queries: their slot is free at once, and each product reads
  /// half as much of shared memory.
  bool keepsQueries() { return schedule.getTileN() == 64 && headDimension == 128 && valueDimension <= 128; }
  /// Whether the first scores of a tile may be issued before the results of the tile before are stored. Groups with
  /// tiles of their own hide the store of one another, regions load what they need for each key behind the first
  /// scores, and longer heads are up to 3 % slower with it (bench/notes/attention-tile-change.md).
  bool startsAhead();
  bool hasPackedQueries() { return bool(keyLoop.getQueryStarts()); }
  /// Whether the walk begins at the last keys. Scores that depend on distances, as those of ALiBi, are largest near the
  /// diagonal: from there m rises less often.
  bool startsAtEnd() { return !keyLoop.getPattern() && !softmax.getScore().empty(); }

  ScheduleAttr schedule;
  bool isSplit; // keys are split into parts
  bool isCut;   // the plan cuts some tiles along the keys
  bool isJoint; // a tile has two block rows and their joint list
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
/// Producer `number` of parts.producers().
void buildAttentionProducer(mlir::ImplicitLocOpBuilder &b, AttentionParts &parts, int64_t number);
void buildAttentionConsumer(mlir::ImplicitLocOpBuilder &b, AttentionParts &parts);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_ATTENTIONPARTS_H
