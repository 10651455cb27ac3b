// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of a tile of queries one after another, for a role that copies for later steps than the one it works on. A
// step is tile_n keys: a key block, or a chunk of one.

#ifndef SPARSEC_EMIT_KEY_STEPS_H
#define SPARSEC_EMIT_KEY_STEPS_H

#include "AttentionContext.h"

namespace sparsec {

class KeySteps {
public:
  KeySteps(AttentionContext &context, const QueryTile &tile);

  /// Where the walk is. All i32, carried from step to step. `step` is the one taken last: twice its number among all
  /// tile_n keys of the head, plus 1 in a partial block; -1 before the first step and after the last.
  struct State {
    mlir::Value step, position, candidate;

    auto fields() { return std::tie(step, position, candidate); }
  };
  State begin();
  State next(const State &state);

  // A step taken, as State has it.
  mlir::Value exists(mlir::Value step) { return b.compare(mlir::arith::CmpIPredicate::sge, step, b.i32(0)); }
  mlir::Value firstKey(mlir::Value step) { return b.mul(b.shiftRight(step, 1), context.tileKeys); }
  mlir::Value isPartial(mlir::Value step) { return b.equal(b.bitAnd(step, 1), 1); }

private:
  int64_t chunks() { return context.keyBlock / context.tileKeys; }
  State nextBlock(const State &state);
  State nextInLists(const State &state);
  mlir::Value blockAt(mlir::Value position);

  AttentionContext &context;
  KernelBuilder &b;
  KeyBlocks reachable;
  KeyLists lists;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_KEY_STEPS_H
