// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KeyWalk.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

KeyWalk::Range KeyWalk::makeRange() {
  const auto leastBlocks = static_cast<int64_t>(op.getPartBlocks());
  KeyBlocks reachable = context.reachableBlocks(tile);
  if (hasLists)
    return {reachable, context.partOf(lists, part, leastBlocks)};
  return {context.partOf(reachable, part, leastBlocks), KeyLists()};
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

Values KeyWalk::loop(ArrayRef<bool> /*isUsed*/, ValueRange carried, Visit visit) {
  const Range all = makeRange();
  if (!hasLists)
    return visitAll(all.reachable, carried, visit);
  if (chunks() == 1)
    return visitLists(all, carried, visit);
  return visitLists(all, carried,
                    [&](ValueRange blocks, ValueRange state) { return visitChunks(blocks[0], state, visit); });
}

/// The parts of a block, numbered among all parts.
Values KeyWalk::visitChunks(Value block, ValueRange carried, Visit visit) {
  Value first = b.mul(b.shiftRight(block, 1), chunks()), isPartial = b.bitAnd(block, 1);
  return b.forLoop(b.i32(0), b.i32(chunks()), b.i32(1), carried, [&](Value chunk, ValueRange state) {
    return visit(b.add(b.mul(b.add(first, chunk), 2), isPartial), state);
  });
}

/// Without lists all blocks are full, and each is a step.
Values KeyWalk::visitAll(const KeyBlocks &reachable, ValueRange carried, Visit visit) {
  Value last = b.sub(b.add(reachable.begin, reachable.end), 1);
  return b.forLoop(reachable.begin, reachable.end, b.i32(1), carried, [&](Value i, ValueRange state) {
    Value block = op.getFromEnd() ? b.sub(last, i) : i;
    return visit(b.add(b.mul(block, 2), 1), state);
  });
}

/// The index of the next block is loaded while this one is visited. One that is out of range is not reachable, so that
/// lists of a device that nobody has checked do no harm. Pairs need one round more for a block that is left alone.
Values KeyWalk::visitLists(const Range &all, ValueRange carried, Visit visit) {
  const KeyLists &entries = all.lists;
  bool hasPairs = op.getBlocks() == 2;
  Values init(carried);
  if (hasPairs)
    init.push_back(b.i32(KeyWalkOp::noBlock));
  init.push_back(entries.firstBlock);
  // Rounds are counted up to 0, from which all else is told: the producer has few registers.
  Value rounds = b.add(entries.count, hasPairs ? 1 : 0);
  KeyLists fromEnd = entries;
  for (Value *field : {&fromEnd.partial, &fromEnd.full})
    *field = b.add(*field, rounds);
  fromEnd.partialCount = b.sub(entries.partialCount, rounds);
  auto result = b.forLoop(b.sub(b.i32(0), rounds), b.i32(0), b.i32(1), init, [&](Value i, ValueRange current) {
    Value number = current.back();
    ValueRange state = current.drop_back();
    Value next = b.ifThenElse(
        b.less(i, hasPairs ? -2 : -1), b.i32Type(), [&] { return Values{context.keyBlockAt(fromEnd, b.add(i, 1))}; },
        [&] { return Values{b.i32(0)}; })[0];
    Value isVisited = context.isReachable(all.reachable, number);
    Value block = b.add(b.mul(number, 2), b.select(b.less(i, fromEnd.partialCount), b.i32(1), b.i32(0)));
    Values visited =
        hasPairs ? visitPair(/*isEnd=*/b.equal(i, -1), isVisited, block, state, visit)
                 : b.ifThenElse(
                       isVisited, state.getTypes(), [&] { return visit(block, state); }, [&] { return Values(state); });
    visited.push_back(next);
    return visited;
  });
  result.truncate(carried.size());
  return result;
}

/// One more block, or the end; the last carried value is a block that waits for a second one.
Values KeyWalk::visitPair(Value isEnd, Value isReachable, Value block, ValueRange carried, Visit visit) {
  Value waiting = carried.back(), none = b.i32(KeyWalkOp::noBlock);
  ValueRange state = carried.drop_back();
  Value added = b.select(b.logicalAnd(isReachable, b.logicalNot(isEnd)), block, none);
  auto exists = [&](Value block) { return b.compare(arith::CmpIPredicate::ne, block, none); };
  Value isReady = b.logicalAnd(exists(waiting), b.logicalOr(exists(added), isEnd));
  Values visited = b.ifThenElse(
      isReady, state.getTypes(), [&] { return visit({waiting, added}, state); }, [&] { return Values(state); });
  visited.push_back(b.select(isReady, none, b.select(exists(added), added, waiting)));
  return visited;
}

//===----------------------------------------------------------------------===//
// Steps
//
// The entry of the lists at the current position, the candidate, is loaded one step before anything depends on it.
//===----------------------------------------------------------------------===//

Values KeyWalk::first() {
  Value before = b.i32(KeyWalkOp::end);
  if (hasLists)
    return packState(after({before, b.i32(0), range.lists.firstBlock}));
  return packState(after({before, range.reachable.begin, range.reachable.begin}));
}

Values KeyWalk::next(ValueRange step) { return packState(after(unpackState<State>(step))); }

/// The block at a position; any number after the last one.
Value KeyWalk::blockAt(Value position) {
  return b.ifThenElse(
      b.less(position, range.lists.count), b.i32Type(),
      [&] { return Values{context.keyBlockAt(range.lists, position)}; }, [&] { return Values{b.i32(0)}; })[0];
}

KeyWalk::State KeyWalk::after(const State &state) {
  if (chunks() == 1)
    return nextBlock(state);
  Value isLast = b.equal(b.bitAnd(b.shiftRight(state.step, 1), chunks() - 1), chunks() - 1); // -1 too
  return b.ifThenElse(
      isLast, state, [&] { return nextBlock(state); },
      [&] { return State{b.add(state.step, 2), state.position, state.candidate}; });
}

/// The first chunk of the next reachable block.
KeyWalk::State KeyWalk::nextBlock(const State &state) {
  if (hasLists)
    return nextInLists(state);
  Value fromEnd = b.sub(b.sub(b.add(range.reachable.begin, range.reachable.end), 1), state.position);
  Value step = b.add(b.mul(op.getFromEnd() ? fromEnd : state.position, 2), 1);
  Value next = b.add(state.position, 1);
  return {b.select(b.less(state.position, range.reachable.end), step, b.i32(KeyWalkOp::end)), next, next};
}

KeyWalk::State KeyWalk::nextInLists(const State &state) {
  struct Entry {
    Value position, block;
    auto fields() { return std::tie(position, block); }
  };
  auto found = b.whileLoop(
      Entry{state.position, state.candidate},
      [&](const Entry &entry) {
        Value skip = b.logicalNot(context.isReachable(range.reachable, entry.block));
        return b.logicalAnd(b.less(entry.position, range.lists.count), skip);
      },
      [&](const Entry &entry) {
        Value next = b.add(entry.position, 1);
        return Entry{next, blockAt(next)};
      });
  Value isPartial = b.select(b.less(found.position, range.lists.partialCount), b.i32(1), b.i32(0));
  Value step = b.add(b.mul(found.block, 2 * chunks()), isPartial);
  Value next = b.add(found.position, 1);
  return {b.select(b.less(found.position, range.lists.count), step, b.i32(KeyWalkOp::end)), next, blockAt(next)};
}
