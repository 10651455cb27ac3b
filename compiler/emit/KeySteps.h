// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The walk of sparsec.key_steps: over the keys of a tile of queries, in steps of a key block, or of a part of one.

#ifndef SPARSEC_EMIT_KEY_STEPS_H
#define SPARSEC_EMIT_KEY_STEPS_H

#include "AttentionContext.h"
#include "StepWalk.h"

namespace sparsec {

class KeySteps : public StepWalk {
public:
  /// `lists` are null where the program has no pattern.
  KeySteps(AttentionContext &context, KeyStepsOp op, const QueryTile &tile, const KeyPart &part, const KeyLists *lists);

  KernelBuilder::Values first() override;
  KernelBuilder::Values next(mlir::ValueRange step) override;
  KernelBuilder::Values read(mlir::ValueRange step) override { return {step[0]}; }

private:
  /// Where the walk is. `step` is the step itself: twice its number among all steps of the head, plus 1 in a partial
  /// block; -1 before the first step and after the last. Position and candidate are those of the next block.
  struct State {
    mlir::Value step, position, candidate;

    auto fields() { return std::tie(step, position, candidate); }
  };
  int64_t chunks() { return context.keyBlock / static_cast<int64_t>(op.getKeys()); }
  State after(const State &state);
  State nextBlock(const State &state);
  State nextInLists(const State &state);
  mlir::Value blockAt(mlir::Value position);

  AttentionContext &context;
  KernelBuilder &b;
  KeyStepsOp op;
  KeyBlocks reachable;
  bool hasLists;
  KeyLists lists;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_KEY_STEPS_H
