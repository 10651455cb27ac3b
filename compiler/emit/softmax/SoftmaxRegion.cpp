// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SoftmaxRegion.h"

#include "LongRegion.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

SoftmaxRegion::SoftmaxRegion(QueryContext &context, const QueryTile &tile, Region &region, const RegionSplit &split,
                             Value wanted)
    : context(context), tile(tile), region(region), wanted(wanted) {
  if (!isEmpty() && !isLong(region))
    this->split = split;
}

/// `query` and `key` may be null where the terms do not depend on them.
Values SoftmaxRegion::computeTerms(ValueRange terms, Value query, Value key) {
  KernelBuilder &b = context.b;
  Values arguments;
  if (region.getArgument(0).getType().isF32())
    arguments.push_back(b.f32(0)); // no term depends on a score
  Value none = b.i32(0);
  arguments.append({tile.batch, tile.head, query ? query : none, key ? key : none});
  return context.computeValues(region, arguments, terms);
}

void SoftmaxRegion::computeQueryTerms(Value query) {
  if (split.ofQuery.empty())
    return;
  for (int64_t distance : {0, 8})
    llvm::append_range(queryTerms, computeTerms(split.ofQuery, context.b.add(query, distance), /*key=*/Value()));
}

Values SoftmaxRegion::computeKeyTerms(const ScorePositions &positions, Value condition) {
  if (split.ofKey.empty())
    return {};
  KernelBuilder &b = context.b;
  auto compute = [&] {
    return keyTermLayout().compute(b.bitAnd(context.thread, 31), [&](Value index) {
      return computeTerms(split.ofKey, /*query=*/Value(), positions.at(index).key);
    });
  };
  if (!condition)
    return compute();
  auto zero = [&](Type type) { return type.isF32() ? b.f32(0) : b.i32(0); };
  SmallVector<Type> types = typesOfKeyTerms();
  return b.ifThenElse(condition, types, compute, [&] { return Values(llvm::map_range(types, zero)); });
}

/// The terms of a score's query and key.
SmallVector<std::pair<Value, Value>> SoftmaxRegion::termsOf(ValueRange ofKey, int64_t index) {
  SmallVector<std::pair<Value, Value>> known;
  if (!queryTerms.empty())
    for (auto [i, term] : llvm::enumerate(split.ofQuery))
      known.push_back({term, queryTerms[rowOfScore(index) * split.ofQuery.size() + i]});
  for (auto [term, value] : llvm::zip(split.ofKey, ofKey))
    known.push_back({term, value});
  return known;
}

/// How many scores are under way at once: more where there are registers for them.
size_t SoftmaxRegion::scoresAhead() { return split.loadsForScore || !context.hasManyRegisters() ? 4 : 8; }

/// Left to itself, LLVM computes all positions and addresses first, which takes the registers of the output. A true
/// dependence keeps it in order: the positions of a score depend on the changed score `scoresAhead` before it.
Values SoftmaxRegion::changeScores(const ScorePositions &positions, ValueRange keyTerms, ValueRange scores,
                                   Change change, ChangeInLoop changeInLoop) {
  if (isLong(region))
    return sparsec::changeInLoop(context, region, scores,
                                 [&](Value index, Value score) { return changeInLoop(positions.at(index), score); });
  Values changed;
  std::array<Values, 2> ofKeys; // of the two keys that a thread has together
  ScorePositions later = positions;
  size_t ahead = scoresAhead();
  for (auto [index, score] : llvm::enumerate(scores)) {
    if (index >= ahead && index % 4 == 0)
      later = positions.knownAfter(changed[index - ahead]);
    if (!keyTerms.empty() && index % 4 < ofKeys.size())
      ofKeys[index % 4] = keyTermLayout().termsOf(keyTerms, index);
    auto terms = termsOf(ofKeys[index % 2], index);
    changed.push_back(change(Place{positions, later, int64_t(index), terms}, score));
  }
  return changed;
}

Value SoftmaxRegion::apply(ValueRange leading, const ScorePosition &position, KnownValues terms, ReplaceOp replace) {
  Values arguments(leading);
  arguments.append({tile.batch, tile.head, position.query, position.key});
  return context.computeValues(region, arguments, wanted ? wanted : yieldedValue(region), terms, replace)[0];
}

/// Sums of positions do not depend on earlier scores, so that scores share their conversions to floats.
Value SoftmaxRegion::apply(ValueRange leading, const Place &place) {
  const ScorePositions &later = place.later;
  auto convertSum = [&](Operation &op) -> Value {
    auto convert = dyn_cast<arith::SIToFPOp>(op);
    auto sum = convert ? positionSum(convert.getIn()) : std::nullopt;
    return sum ? place.positions.asFloat(*sum, place.index) : Value();
  };
  Value query = later.queryOf(place.index), key = later.keyOf(place.index);
  return apply(leading, {query, key, later.blockOf(place.index).isPartial}, place.terms, convertSum);
}
