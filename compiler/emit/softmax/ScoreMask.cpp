// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScoreMask.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

Values ScoreMask::computeKeyTerms(const ScorePositions &positions) {
  Value isPartial = positions.allBlocks().front().isPartial;
  for (const ScorePositions::Block &block : positions.allBlocks().drop_front())
    isPartial = b.logicalOr(isPartial, block.isPartial);
  return region.computeKeyTerms(positions, isPartial);
}

Value ScoreMask::isNeeded(const ScorePositions &positions) {
  Value needed = isNeeded(positions.allBlocks().front());
  for (const ScorePositions::Block &block : positions.allBlocks().drop_front())
    needed = b.logicalOr(needed, isNeeded(block));
  return needed;
}

Value ScoreMask::isNeeded(const ScorePositions::Block &block) {
  Value first = b.sub(block.firstKey, b.modulo(block.firstKey, context.keyBlock));
  Value last = b.add(first, context.keyBlock - 1);
  Value needed = b.compare(arith::CmpIPredicate::sge, last, context.keys(tile));
  auto either = [&](Value condition) { needed = b.logicalOr(needed, condition); };
  Value firstPosition = b.add(tile.first, context.queryOffset(tile));
  if (context.windowRight >= 0)
    either(b.compare(arith::CmpIPredicate::sgt, last, b.add(firstPosition, context.windowRight)));
  if (context.windowLeft >= 0)
    either(b.less(first, b.sub(b.add(firstPosition, context.tileRows - 1), context.windowLeft)));
  if (!region.isEmpty())
    either(block.isPartial);
  return needed;
}

Values ScoreMask::hide(const ScorePositions &positions, ValueRange scores, Value hidden) {
  return b.ifThenElse(
      isNeeded(positions), SmallVector<Type>(scores.size(), b.getF32Type()),
      [&] { return hideInBlocks(positions, scores, hidden); }, [&] { return Values(scores); });
}

Values ScoreMask::hideInBlocks(const ScorePositions &positions, ValueRange scores, Value hidden) {
  if (region.isEmpty()) {
    Values masked(scores);
    for (auto [index, score] : llvm::enumerate(masked))
      score = b.select(isInReach(positions, index), score, hidden);
    return masked;
  }
  return region.changeScores(
      positions, positions.keyTerms().mask, scores,
      [&](const SoftmaxRegion::Place &place, Value score) {
        Value inReach = isInReach(positions, place.index);
        Value allowed = region.apply({}, place);
        Value isFull = b.logicalNot(positions.blockOf(place.index).isPartial);
        return b.select(b.logicalAnd(inReach, b.logicalOr(isFull, allowed)), score, hidden);
      },
      [&](const ScorePosition &position, Value score) {
        Value allowed = b.logicalOr(b.logicalNot(position.isPartial), region.apply({}, position));
        return b.select(b.logicalAnd(context.isInReach(tile, position.query, position.key), allowed), score, hidden);
      });
}

/// Compares distances to the thread's first key of the block, so that the keys themselves are constants.
Value ScoreMask::isInReach(const ScorePositions &positions, int64_t index) {
  Value query = positions.queryOf(index), firstKey = positions.blockOf(index).firstKey;
  Value key = b.i32(positions.keyDistance(index));
  Value reach = b.less(key, b.sub(context.endOfReach(tile, query), firstKey));
  if (Value first = context.firstInReach(tile, query))
    reach = b.logicalAnd(reach, b.compare(arith::CmpIPredicate::sge, key, b.sub(first, firstKey)));
  return reach;
}
