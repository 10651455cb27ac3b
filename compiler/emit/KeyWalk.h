// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The walk of sparsec.key_walk: over the keys of a tile of queries, one or two blocks in a step, or a part of one.

#ifndef SPARSEC_EMIT_KEY_WALK_H
#define SPARSEC_EMIT_KEY_WALK_H

#include "QueryContext.h"
#include "WalkEmitter.h"

namespace sparsec {

class KeyWalk : public WalkEmitter {
public:
  /// `lists` are null where the program has no pattern.
  KeyWalk(QueryContext &context, KeyWalkOp op, const QueryTile &tile, const KeyPart &part, const KeyLists *lists)
      : context(context), b(context.b), op(op), tile(tile), part(part), hasLists(lists),
        lists(lists ? *lists : KeyLists()) {}

  KernelBuilder::Values loop(mlir::ArrayRef<bool> isUsed, mlir::ValueRange carried, Visit visit) override;
  /// The loops are those of roles of one thread, which have few registers.
  bool packsCursors() const override { return true; }

  void beginSteps() override { range = makeRange(); }
  KernelBuilder::Values first() override;
  KernelBuilder::Values next(mlir::ValueRange step) override;
  KernelBuilder::Values read(mlir::ValueRange step) override { return {step[0]}; }

private:
  /// The blocks that causal and window allow, and the entries of the lists where there are some. Without lists the
  /// blocks are those of the part, else the entries are.
  struct Range {
    KeyBlocks reachable;
    KeyLists lists;
  };
  Range makeRange();

  // The loop.
  KernelBuilder::Values visitAll(const KeyBlocks &reachable, mlir::ValueRange carried, Visit visit);
  KernelBuilder::Values visitLists(const Range &all, mlir::ValueRange carried, Visit visit);
  KernelBuilder::Values visitChunks(mlir::Value block, mlir::ValueRange carried, Visit visit);
  KernelBuilder::Values visitPair(mlir::Value isEnd, mlir::Value isReachable, mlir::Value block,
                                  mlir::ValueRange carried, Visit visit);

  /// Where the walk is in steps. `step` is the step itself: twice its number among all steps of the head, plus 1 in a
  /// partial block; -1 before the first step and after the last. Position and candidate are those of the next block.
  struct State {
    mlir::Value step, position, candidate;

    auto fields() { return std::tie(step, position, candidate); }
  };
  State after(const State &state);
  State nextBlock(const State &state);
  State nextInLists(const State &state);
  mlir::Value blockAt(mlir::Value position);

  int64_t chunks() { return op.getChunks(); }

  QueryContext &context;
  KernelBuilder &b;
  KeyWalkOp op;
  QueryTile tile;
  KeyPart part;
  bool hasLists;
  KeyLists lists; // of the tile
  Range range;    // of steps
};

} // namespace sparsec

#endif // SPARSEC_EMIT_KEY_WALK_H
