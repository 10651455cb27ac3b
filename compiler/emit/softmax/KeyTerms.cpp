// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KeyTerms.h"

#include "Ptx.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// A warp has eight groups of four lanes. Scores 4 g to 4 g + 3 of a thread are those of two rows and two keys.
static constexpr int64_t groups = 8, lanesOfGroup = 4, keysOfGroup = 8, keysOfThread = 2, scoresOfThread = 4;

int64_t KeyTermLayout::registersOfTerm() const { return keysOfThread * llvm::divideCeil(keys, groups * keysOfGroup); }

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
  for (int64_t i = 0; i < registersOfTerm(); ++i) {
    int64_t first = i / keysOfThread * groups * scoresOfThread + i % keysOfThread;
    for (Value term : compute(b.add(b.mul(group, scoresOfThread), first)))
      registers.push_back(shared(term, lane));
  }
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
  int64_t number = index / scoresOfThread, group = number % groups;
  int64_t place = number / groups * keysOfThread + index % keysOfThread;
  Values results;
  for (auto [i, term] : llvm::enumerate(terms)) {
    Value shared = registers[place * terms.size() + i];
    if (!term.getType().isInteger(1)) {
      results.push_back(ptx::fromGroup(b, shared, group));
      continue;
    }
    Value bit = b.bitAnd(shared, int64_t(1) << (lanesOfGroup * group));
    results.push_back(b.compare(arith::CmpIPredicate::ne, bit, b.i32(0)));
  }
  return results;
}
