// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KeyWalk.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

Values KeyWalk::emit(ValueRange carried, Visit visit) {
  KeyBlocks reachable = context.reachableBlocks(tile);
  const auto leastBlocks = static_cast<int64_t>(op.getPartBlocks());
  if (!lists)
    return visitAll(context.partOf(reachable, part, leastBlocks), carried, visit);
  KeyLists entries = context.partOf(*lists, part, leastBlocks);
  if (op.getChunks() == 1)
    return visitLists(reachable, entries, carried, visit);
  return visitLists(reachable, entries, carried,
                    [&](ValueRange blocks, ValueRange state) { return visitChunks(blocks[0], state, visit); });
}

/// The parts of a block, numbered among all parts.
Values KeyWalk::visitChunks(Value block, ValueRange carried, Visit visit) {
  Value first = b.mul(b.shiftRight(block, 1), op.getChunks()), isPartial = b.bitAnd(block, 1);
  return b.forLoop(b.i32(0), b.i32(op.getChunks()), b.i32(1), carried, [&](Value chunk, ValueRange state) {
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
Values KeyWalk::visitLists(const KeyBlocks &reachable, const KeyLists &entries, ValueRange carried, Visit visit) {
  bool hasPairs = op.getBlocks() == 2;
  Values init(carried);
  if (hasPairs)
    init.push_back(b.i32(WalkKeysOp::noBlock));
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
    Value isVisited = context.isReachable(reachable, number);
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
  Value waiting = carried.back(), none = b.i32(WalkKeysOp::noBlock);
  ValueRange state = carried.drop_back();
  Value added = b.select(b.logicalAnd(isReachable, b.logicalNot(isEnd)), block, none);
  auto exists = [&](Value block) { return b.compare(arith::CmpIPredicate::ne, block, none); };
  Value isReady = b.logicalAnd(exists(waiting), b.logicalOr(exists(added), isEnd));
  Values visited = b.ifThenElse(
      isReady, state.getTypes(), [&] { return visit({waiting, added}, state); }, [&] { return Values(state); });
  visited.push_back(b.select(isReady, none, b.select(exists(added), added, waiting)));
  return visited;
}
