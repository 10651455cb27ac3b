// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KeyTerms.h"

#include "Ptx.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// A warp has eight groups of four lanes. Scores 4 g to 4 g + 3 of a thread are those of two rows and two keys.
static constexpr int64_t laneGroups = 8, lanesOfGroup = 4, keysOfThread = 2, scoresOfThread = 4;

KeyOrder::Place KeyOrder::placeOf(int64_t score) const {
  int64_t group = score / scoresOfThread, groupsOfWord = laneGroups * groupsOfLane;
  return {group / groupsOfWord, group % groupsOfWord / groupsOfLane,
          group % groupsOfLane * keysOfThread + score % keysOfThread};
}

int64_t KeyOrder::firstScore(int64_t number) const {
  int64_t word = number / registersOfWord(), place = number % registersOfWord();
  return (word * laneGroups * groupsOfLane + place / keysOfThread) * scoresOfThread + place % keysOfThread;
}

int64_t KeyOrder::scoresOfLane() const { return groupsOfLane * scoresOfThread; }

SmallVector<Type> KeyTermLayout::types() const {
  SmallVector<Type> types;
  for (int64_t i = 0; i < registersOfTerm(); ++i)
    for (Value term : terms)
      types.push_back(term.getType().isInteger(1) ? b.i32Type() : term.getType());
  return types;
}

Values KeyTermLayout::compute(Value lane, Compute compute) const {
  Values registers;
  Value group = b.shiftRight(lane, 2);
  for (int64_t i = 0; i < registersOfTerm(); ++i)
    for (Value term : compute(b.add(b.mul(group, order.scoresOfLane()), order.firstScore(i))))
      registers.push_back(shared(term, lane));
  return registers;
}

/// A register that has the terms of all lanes. Bits of the own column begin with bit 0.
Value KeyTermLayout::shared(Value term, Value lane) const {
  if (!term.getType().isInteger(1))
    return term;
  Value column = b.bitAnd(lane, lanesOfGroup - 1);
  return arith::ShRUIOp::create(b, ptx::ballot(b, term), column);
}

Values KeyTermLayout::termsOf(ValueRange registers, int64_t index) const {
  KeyOrder::Place place = order.placeOf(index);
  int64_t number = place.word * order.registersOfWord() + place.registerOfWord;
  Values results;
  for (auto [i, term] : llvm::enumerate(terms)) {
    Value shared = registers[number * terms.size() + i];
    if (!term.getType().isInteger(1)) {
      results.push_back(ptx::fromGroup(b, shared, place.laneGroup));
      continue;
    }
    Value bit = b.bitAnd(shared, int64_t(1) << (lanesOfGroup * place.laneGroup));
    results.push_back(b.compare(arith::CmpIPredicate::ne, bit, b.i32(0)));
  }
  return results;
}
