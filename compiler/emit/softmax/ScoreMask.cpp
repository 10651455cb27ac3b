// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScoreMask.h"

#include "LongRegion.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// A long region has no words, as it has no terms.
MaskForm ScoreMask::formOf(Region &mask) { return mask.empty() || isLong(mask) ? MaskForm() : MaskForm(mask); }

void ScoreMask::computeQueryTerms(Value query) {
  maskWords.computeQueryValues(query);
  region.computeQueryTerms(query);
}

SmallVector<Type> ScoreMask::typesOfKeyTerms() {
  SmallVector<Type> types(maskWords.count(), b.i32Type());
  llvm::append_range(types, region.typesOfKeyTerms());
  return types;
}

Values ScoreMask::computeKeyTerms(const ScorePositions &positions) {
  Value isPartial = this->isPartial(positions);
  Values terms;
  if (int64_t count = maskWords.count())
    terms = b.ifThenElse(
        isPartial, SmallVector<Type>(count, b.i32Type()), [&] { return maskWords.compute(positions); },
        [&] { return Values(count, b.i32(0)); });
  llvm::append_range(terms, region.computeKeyTerms(positions, isPartial));
  return terms;
}

Value ScoreMask::isNeeded(const ScorePositions &positions) {
  return region.isEmpty() ? isCut(positions) : b.logicalOr(isCut(positions), isPartial(positions));
}

Value ScoreMask::isPartial(const ScorePositions &positions) {
  return inAnyBlock(positions, [](const ScorePositions::Block &block) { return block.isPartial; });
}

Value ScoreMask::isCut(const ScorePositions &positions) {
  return inAnyBlock(positions, [&](const ScorePositions::Block &block) { return isCut(block); });
}

Value ScoreMask::inAnyBlock(const ScorePositions &positions, BlockTest test) {
  Value any = test(positions.allBlocks().front());
  for (const ScorePositions::Block &block : positions.allBlocks().drop_front())
    any = b.logicalOr(any, test(block));
  return any;
}

/// The limits of a tile are the same in all its steps, so that a step only compares the number of its block with them.
/// Where blocks have no numbers, any key of the block serves. Where registers are few, that is the first key, which is
/// the same for all threads, so that no register is kept for the column of the thread. Where there are many, such a key
/// makes the assembler move polynomials of soft caps ahead of exponentials, which takes 1 % longer.
Value ScoreMask::isCut(const ScorePositions::Block &block) {
  bool isByStep = block.step && !(context.hasManyRegisters() && context.scoreForm.hasFixedShift());
  Value place = isByStep ? block.step : context.hasManyRegisters() ? block.firstKey : block.key;
  int64_t keys = isByStep ? block.keys : context.keyBlock, unit = isByStep ? 2 : keys;
  // The place of the block of a key. Keys before the first one are in none.
  auto placeOf = [&](Value key) {
    Value zero = b.i32(0), number = arith::MaxSIOp::create(b, key, zero);
    return b.mul(b.divide(number, keys), unit);
  };
  Value firstPosition = b.add(tile.first, context.queryOffset(tile)), end = context.keys(tile);
  if (context.windowRight >= 0)
    end = b.minimum(end, b.add(firstPosition, context.windowRight + 1));
  Value cut = b.compare(arith::CmpIPredicate::sge, place, placeOf(end));
  if (context.windowLeft < 0)
    return cut;
  Value begin = b.sub(b.add(firstPosition, context.tileRows - 1), context.windowLeft);
  return b.logicalOr(cut, b.less(place, placeOf(b.add(begin, keys - 1))));
}

/// Changes scores where a condition holds.
Values ScoreMask::hideIf(Value condition, ValueRange scores, llvm::function_ref<Values()> hide) {
  return b.ifThenElse(condition, SmallVector<Type>(scores.size(), b.getF32Type()), hide,
                      [&] { return Values(scores); });
}

Values ScoreMask::hide(const ScorePositions &positions, ValueRange scores, Value hidden) {
  if (region.isEmpty() || form.isWhole())
    return hideIf(isNeeded(positions), scores, [&] { return hideByWords(visibleWords(positions), scores, hidden); });
  Values masked = hideIf(isPartial(positions), scores, [&] { return hideByRegion(positions, scores, hidden); });
  return hideIf(isCut(positions), masked, [&] { return hideByWords(wordsInReach(positions), masked, hidden); });
}

/// The scores that are visible, where all that says so is words.
Values ScoreMask::visibleWords(const ScorePositions &positions) {
  Values visible = wordsInReach(positions);
  if (region.isEmpty())
    return visible;
  auto either = [&](Value x, Value y) { return b.bitOr(x, y); };
  Values allowed = words.combine(positions.keyTerms().mask, words.inFullBlocks(positions), either);
  return words.combine(visible, allowed, [&](Value x, Value y) { return b.bitAnd(x, y); });
}

/// The values of the region for each score, of which words are a part.
Values ScoreMask::hideByRegion(const ScorePositions &positions, ValueRange scores, Value hidden) {
  ValueRange terms = positions.keyTerms().mask, computed = terms.take_front(maskWords.count());
  // All scores of a step with one block are in a partial one.
  auto hideUnless = [&](Value allowed, Value isPartial, Value score) {
    if (positions.allBlocks().size() > 1)
      allowed = b.logicalOr(b.logicalNot(isPartial), allowed);
    return b.select(allowed, score, hidden);
  };
  return region.changeScores(
      positions, terms.drop_front(maskWords.count()), scores,
      [&](const SoftmaxRegion::Place &place, Value score) {
        SmallVector<std::pair<Value, Value>> known = maskWords.valuesOf(computed, place.index);
        llvm::append_range(known, place.terms);
        Value allowed = region.apply({}, {place.positions, place.later, place.index, known});
        return hideUnless(allowed, positions.blockOf(place.index).isPartial, score);
      },
      [&](const ScorePosition &position, Value score) {
        return hideUnless(region.apply({}, position), position.isPartial, score);
      });
}

/// One row after the other: the assembler moves seven neighbouring bits of a word to predicates at once.
Values ScoreMask::hideByWords(ValueRange visible, ValueRange scores, Value hidden) {
  Values masked(scores);
  for (int64_t row : {0, 1})
    for (auto [index, score] : llvm::enumerate(masked))
      if (rowOfScore(index) == row)
        score = b.select(words.bit(visible, index), score, hidden);
  return masked;
}

/// The scores of keys that causal, window and the number of keys allow.
Values ScoreMask::wordsInReach(const ScorePositions &positions) {
  Value first = positions.queryOf(0), second = positions.queryOf(2);
  Values reach = words.before(positions, context.endOfReach(tile, first), context.endOfReach(tile, second));
  if (Value begin = context.firstInReach(tile, first)) {
    Values before = words.before(positions, begin, context.firstInReach(tile, second));
    reach = words.combine(reach, before, [&](Value x, Value y) { return b.bitAnd(x, b.bitXor(y, -1)); });
  }
  return reach;
}
