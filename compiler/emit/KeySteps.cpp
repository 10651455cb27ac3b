// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry of the lists at the current position, the candidate, is loaded one step before anything depends on it.

#include "KeySteps.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

KeySteps::KeySteps(AttentionContext &context, KeyStepsOp op, const QueryTile &tile, const KeyPart &part,
                   const KeyLists *lists)
    : context(context), b(context.b), op(op), reachable(context.reachableBlocks(tile)), hasLists(lists) {
  const auto leastBlocks = static_cast<int64_t>(op.getPartBlocks());
  if (lists)
    this->lists = context.partOf(*lists, part, leastBlocks);
  else
    reachable = context.partOf(reachable, part, leastBlocks);
}

Values KeySteps::first() {
  Value before = b.i32(KeyStepsOp::end);
  if (hasLists)
    return packState(after({before, b.i32(0), lists.firstBlock}));
  return packState(after({before, reachable.begin, reachable.begin}));
}

Values KeySteps::next(ValueRange step) { return packState(after(unpackState<State>(step))); }

/// The block at a position; any number after the last one.
Value KeySteps::blockAt(Value position) {
  return b.ifThenElse(
      b.less(position, lists.count), b.i32Type(), [&] { return Values{context.keyBlockAt(lists, position)}; },
      [&] { return Values{b.i32(0)}; })[0];
}

KeySteps::State KeySteps::after(const State &state) {
  if (chunks() == 1)
    return nextBlock(state);
  Value isLast = b.equal(b.bitAnd(b.shiftRight(state.step, 1), chunks() - 1), chunks() - 1); // -1 too
  return b.ifThenElse(
      isLast, state, [&] { return nextBlock(state); },
      [&] { return State{b.add(state.step, 2), state.position, state.candidate}; });
}

/// The first chunk of the next reachable block.
KeySteps::State KeySteps::nextBlock(const State &state) {
  if (hasLists)
    return nextInLists(state);
  Value fromEnd = b.sub(b.sub(b.add(reachable.begin, reachable.end), 1), state.position);
  Value step = b.add(b.mul(op.getFromEnd() ? fromEnd : state.position, 2), 1);
  Value next = b.add(state.position, 1);
  return {b.select(b.less(state.position, reachable.end), step, b.i32(KeyStepsOp::end)), next, next};
}

KeySteps::State KeySteps::nextInLists(const State &state) {
  struct Entry {
    Value position, block;
    auto fields() { return std::tie(position, block); }
  };
  auto found = b.whileLoop(
      Entry{state.position, state.candidate},
      [&](const Entry &entry) {
        Value skip = b.logicalNot(context.isReachable(reachable, entry.block));
        return b.logicalAnd(b.less(entry.position, lists.count), skip);
      },
      [&](const Entry &entry) {
        Value next = b.add(entry.position, 1);
        return Entry{next, blockAt(next)};
      });
  Value isPartial = b.select(b.less(found.position, lists.partialCount), b.i32(1), b.i32(0));
  Value step = b.add(b.mul(found.block, 2 * chunks()), isPartial);
  Value next = b.add(found.position, 1);
  return {b.select(b.less(found.position, lists.count), step, b.i32(KeyStepsOp::end)), next, blockAt(next)};
}
