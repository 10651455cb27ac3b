// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScoreWords.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr int64_t keysOfGroup = KeyOrder::keysOfGroup;

/// The words of one row. Each is made of parts: keys of one block, `begin` of its own keys and those of the step before
/// them.
Values ScoreWords::ofRow(const ScorePositions &positions, Bits bitsOfPart) const {
  Values words;
  int64_t keys = std::min({context.keyBlock, context.tileKeys, order.keysOfWord()});
  for (int64_t first = 0; first < context.tileKeys; first += keys) {
    Value bits = bitsOfPart(positions.blockOf(first / keysOfGroup * 4), first % context.keyBlock, keys);
    int64_t place = first % order.keysOfWord() / keysOfGroup * order.bitsOfGroup();
    if (place == 0)
      words.push_back(bits);
    else
      words.back() = b.bitOr(words.back(), b.shiftLeft(bits, place));
  }
  return words;
}

/// 2^count - 1, for 32 too.
Value ScoreWords::lowestBits(Value count) const {
  Value power = b.shiftLeft(b.i64(1), b.extend(count));
  return b.sub(arith::TruncIOp::create(b, b.i32Type(), power), 1);
}

/// A thread has the first two keys of each group, counted from its first key.
Values ScoreWords::before(const ScorePositions &positions, Value keyOfFirstRow, Value keyOfSecondRow) const {
  Values words;
  for (Value key : {keyOfFirstRow, keyOfSecondRow})
    words.append(ofRow(positions, [&](const ScorePositions::Block &block, int64_t begin, int64_t keys) {
      Value distance = b.sub(b.sub(key, block.firstKey), begin);
      distance = b.minimum(arith::MaxSIOp::create(b, distance, b.i32(0)), b.i32(keys));
      Value groups = b.divide(distance, keysOfGroup);
      Value inGroup = b.minimum(b.modulo(distance, keysOfGroup), b.i32(2));
      return lowestBits(b.add(b.mul(groups, order.bitsOfGroup()), inGroup));
    }));
  return words;
}

Values ScoreWords::inFullBlocks(const ScorePositions &positions) const {
  Values words = ofRow(positions, [&](const ScorePositions::Block &block, int64_t, int64_t keys) {
    return b.select(block.isPartial, b.i32(0), lowestBits(b.i32(keys / keysOfGroup * order.bitsOfGroup())));
  });
  words.append(Values(words));
  return words;
}

/// Bit 4 * i of a register is that of the thread's own column in lane group i. The bits between them belong to other
/// columns.
Values ScoreWords::ofKeys(ValueRange ballots) const {
  Values words;
  for (auto [index, ballot] : llvm::enumerate(ballots)) {
    int64_t place = index % order.registersOfWord();
    Value bits = b.shiftLeft(b.bitAnd(ballot, 0x11111111), place);
    if (place == 0)
      words.push_back(bits);
    else
      words.back() = b.bitOr(words.back(), bits);
  }
  words.append(Values(words));
  return words;
}

Values ScoreWords::combine(ValueRange left, ValueRange right, Combine op) const {
  return llvm::map_to_vector(llvm::zip_equal(left, right),
                             [&](auto both) -> Value { return op(std::get<0>(both), std::get<1>(both)); });
}

Value ScoreWords::bit(ValueRange words, int64_t index) const {
  KeyOrder::Place place = order.placeOf(index);
  Value word = words[rowOfScore(index) * order.words() + place.word];
  return b.compare(arith::CmpIPredicate::ne, b.bitAnd(word, int64_t(1) << place.bit()), b.i32(0));
}
