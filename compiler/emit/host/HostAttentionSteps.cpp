// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step: the two products of a group of queries with a chunk of keys, and the softmax between them.

#include "InlineRegion.h"
#include "host/HostAttention.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;

void HostAttention::emitGroup(const Tile &tile, const Chunk &chunk, Group group, bool isMasked) {
  group.begin = constant(0);
  group.end = chunk.keys;
  if (!isClipped())
    return emitVisibleKeys(tile, chunk, group, isMasked);
  Value lastQuery = subtract(add(group.firstQuery, group.queries), constant(1));
  group.begin = larger(constant(0), subtract(firstVisibleKey(group.firstQuery), chunk.firstKey));
  group.end = smaller(chunk.keys, subtract(visibleKeyLimit(lastQuery), chunk.firstKey));
  Value isVisible = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, group.begin, group.end);
  auto seesSome = scf::IfOp::create(b, isVisible);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(seesSome.thenBlock());
  emitVisibleKeys(tile, chunk, group, isMasked);
}

void HostAttention::emitVisibleKeys(const Tile &tile, const Chunk &chunk, const Group &group, bool isMasked) {
  emitScores(group);
  if (attention.hasScore() || isMasked)
    emitRegions(tile, chunk, group, isMasked);
  Value oldMaximum = loadVector(maxima, group.index);
  Value maximum = emitMaximum(chunk, group);
  // Nothing was visible so far: any finite reference gives exp(-inf) = 0 where the difference to -inf gave NaN.
  Value reference = select(isEqual(maximum, constantVector(-INFINITY)), constantVector(0), maximum);
  Value correction = exponential(arith::SubFOp::create(b, oldMaximum, reference));
  Value oldSum = arith::MulFOp::create(b, loadVector(sums, group.index), correction);
  storeVector(emitWeights(group, reference, oldSum), sums, group.index);
  storeVector(maximum, maxima, group.index);
  emitValues(group, correction);
}

/// The first product, of all keys that share a vector of sums with a visible one.
void HostAttention::emitScores(const Group &group) {
  Value size = constant(productRows);
  Value end = arith::DivSIOp::create(b, add(group.end, constant(productRows - 1)), size);
  loop(arith::DivSIOp::create(b, group.begin, size), end, [&](Value index) {
    Value first = multiply(index, size);
    auto column = [&](unsigned i) { return add(first, constant(i)); };
    Values products = multiplyAdd(
        constant(0), constant(headDimension), Values(productRows, constantVector(0)),
        [&](Value d, unsigned i) { return load(f32, keyPanel, add(multiply(column(i), constant(headDimension)), d)); },
        [&](Value d) { return loadVector(queryPanel, queryVector(group.index, d)); });
    for (auto [i, product] : llvm::enumerate(products))
      storeVector(arith::MulFOp::create(b, product, splat(scale, vectorType)), scores, column(i));
  });
}

/// Applies the regions to the scores that causal and window allow; -inf where the mask hides them.
void HostAttention::emitRegions(const Tile &tile, const Chunk &chunk, const Group &group, bool isMasked) {
  loop(group.begin, group.end, [&](Value column) {
    Value key = add(chunk.firstKey, column), row = vectorAddress(scores, column);
    Lanes lanes = lanesThatSee(group, key);
    loop(lanes.begin, lanes.end, [&](Value lane) {
      Value score = load(f32, row, lane), query = add(group.firstQuery, lane);
      SmallVector<Value> arguments{score, asI32(sequence.number), asI32(tile.head), asI32(query), asI32(key)};
      if (attention.hasScore())
        score = emitRegion(attention.getScore(), arguments);
      if (isMasked) {
        Value isVisible = emitRegion(attention.getMask(), ArrayRef(arguments).drop_front());
        score = select(isVisible, score, f32Constant(-INFINITY));
      }
      store(score, row, lane);
    });
  });
}

/// The maxima with the scores of the visible keys. Other scores become -inf.
Value HostAttention::emitMaximum(const Chunk &chunk, const Group &group) {
  Value oldMaximum = loadVector(maxima, group.index);
  return reduce(group.begin, group.end, oldMaximum,
                [&](Value column, ValueRange carried) -> Values {
                  Value score = loadVector(scores, column), largest = carried.front();
                  if (isClipped()) {
                    score = select(isOf(lanesThatSee(group, add(chunk.firstKey, column))), score,
                                   constantVector(-INFINITY));
                    storeVector(score, scores, column);
                  }
                  // A NaN does not count here; its weight is NaN.
                  Value isLarger = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, score, largest);
                  return {select(isLarger, score, largest)};
                })
      .front();
}

/// Turns the scores into weights, and returns `sum` with all of them.
Value HostAttention::emitWeights(const Group &group, Value reference, Value sum) {
  return reduce(group.begin, group.end, sum,
                [&](Value column, ValueRange carried) -> Values {
                  Value weight = exponential(arith::SubFOp::create(b, loadVector(scores, column), reference));
                  storeVector(weight, scores, column);
                  return {arith::AddFOp::create(b, carried.front(), weight)};
                })
      .front();
}

/// The second product.
void HostAttention::emitValues(const Group &group, Value correction) {
  loop(constant(0), constant(valueDimension / productRows), [&](Value index) {
    Value first = multiply(index, constant(productRows));
    auto dimension = [&](unsigned i) { return add(first, constant(i)); };
    Values init;
    for (unsigned i = 0; i < productRows; ++i)
      init.push_back(
          arith::MulFOp::create(b, loadVector(accumulator, sumVector(group.index, dimension(i))), correction));
    Values total = multiplyAdd(
        group.begin, group.end, init,
        [&](Value column, unsigned i) {
          return load(f32, valuePanel, add(multiply(column, constant(valueDimension)), dimension(i)));
        },
        [&](Value column) { return loadVector(scores, column); });
    for (auto [i, sum] : llvm::enumerate(total))
      storeVector(sum, accumulator, sumVector(group.index, dimension(i)));
  });
}

/// exp(x) for x <= 0. What is subnormal becomes 0: it adds nothing to a sum in which 1 was, but processors multiply it
/// slowly.
Value HostAttention::exponential(Value x) {
  Value leastExponent = constantVector(-87.33f); // log(2^-126), rounded up
  Value isSubnormal = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, leastExponent);
  return select(isSubnormal, constantVector(0), math::ExpOp::create(b, select(isSubnormal, leastExponent, x)));
}

Value HostAttention::emitRegion(Region &region, ArrayRef<Value> arguments) {
  return inlineRegion(b, region, arguments, [&](ElementOp element, ValueRange indices) -> Value {
    unsigned argument = cast<BlockArgument>(element.getTensor()).getArgNumber();
    const Tensor &extra = extras[argument - arguments.size()];
    SmallVector<Value> wide;
    for (Value index : indices)
      wide.push_back(arith::ExtSIOp::create(b, i64, index));
    return LLVM::LoadOp::create(b, extra.elementType, elementAddress(extra, wide));
  });
}
