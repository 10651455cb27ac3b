// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SoftmaxRegion.h"

#include "LongRegion.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// How many scores are under way at once: more where there are registers for them.
size_t SoftmaxRegion::scoresAhead() {
  constexpr int64_t manyRegisters = 200;
  return loadsByPosition(region) || context.schedule.getConsumerRegisters() < manyRegisters ? 4 : 8;
}

/// Left to itself, LLVM computes all positions and addresses first, which takes the registers of the output. A true
/// dependence keeps it in order: the positions of a score depend on the changed score `scoresAhead` before it.
Values SoftmaxRegion::changeScores(const ScorePositions &positions, ValueRange scores, Change change,
                                   ChangeInLoop changeInLoop) {
  if (isLong(region))
    return sparsec::changeInLoop(context, region, scores,
                                 [&](Value index, Value score) { return changeInLoop(positions.at(index), score); });
  Values changed;
  ScorePositions later = positions;
  size_t ahead = scoresAhead();
  for (auto [index, score] : llvm::enumerate(scores)) {
    if (index >= ahead && index % 4 == 0)
      later = positions.knownAfter(changed[index - ahead]);
    changed.push_back(change(later, index, score));
  }
  return changed;
}

Value SoftmaxRegion::apply(ValueRange leading, const ScorePosition &position, ReplaceOp replace) {
  Values arguments(leading);
  arguments.append({tile.batch, tile.head, position.query, position.key});
  return context.applyRegion(region, arguments, replace, wanted);
}

/// Sums of positions do not depend on earlier scores, so that scores share their conversions to floats.
Value SoftmaxRegion::apply(ValueRange leading, const ScorePositions &positions, const ScorePositions &later,
                           int64_t index) {
  auto convertSum = [&](Operation &op) -> Value {
    auto convert = dyn_cast<arith::SIToFPOp>(op);
    auto sum = convert ? positionSum(convert.getIn()) : std::nullopt;
    return sum ? positions.asFloat(*sum, index) : Value();
  };
  Value query = later.queryOf(index), key = later.keyOf(index);
  return apply(leading, {query, key, later.blockOf(index).isPartial}, convertSum);
}
