// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A step of a group of queries: its two products, and the softmax between them.

#include "InlineRegion.h"
#include "host/HostQueries.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Sums that begin inside a step are those of a group.
void HostQueries::emit(ZeroOp op) {
  auto type = cast<AccumulatorType>(op.getType());
  int64_t vectors = (keyLoop->isAncestor(op) ? groupSize : type.getRows()) * type.getColumns() / vectorSize;
  set(op.getResult(), Sum{bufferOf(op, vectors), vectors, /*isZero=*/true, /*factor=*/Value()});
}

/// The products of queries with all keys that share a vector of sums with a visible one.
void HostQueries::emit(ChainOp op) {
  auto queries = get<Rows>(op.getA()), rows = get<Rows>(op.getX());
  auto sum = get<Sum>(op.getAccumulator());
  const Group group = get<Keys>(rows.block).group;
  Value size = constant(productRows), width = constant(rows.width);
  Value end = arith::DivSIOp::create(b, add(group.end, constant(productRows - 1)), size);
  loop(arith::DivSIOp::create(b, group.begin, size), end, [&](Value index) {
    Value first = multiply(index, size);
    auto column = [&](unsigned i) { return add(first, constant(i)); };
    Values products = multiplyAdd(
        constant(0), width, Values(productRows, constantVector(0)),
        [&](Value d, unsigned i) { return load(f32, rows.unpacked, add(multiply(column(i), width), d)); },
        [&](Value d) { return loadVector(queries.unpacked, vectorOf(group, queries.width, d)); });
    for (auto [i, product] : llvm::enumerate(products))
      storeVector(product, sum.buffer, column(i));
  });
  set(op.getResult(), Sum{sum.buffer, sum.vectors, /*isZero=*/false, /*factor=*/Value()});
}

void HostQueries::emit(FragmentChainOp op) {
  Value weights = get<Probabilities>(op.getFragment()).buffer;
  auto rows = get<Rows>(op.getX());
  auto output = get<Sum>(op.getAccumulator());
  const Group group = get<Keys>(rows.block).group;
  loop(constant(0), constant(rows.width / productRows), [&](Value index) {
    Value first = multiply(index, constant(productRows));
    auto dimension = [&](unsigned i) { return add(first, constant(i)); };
    auto place = [&](unsigned i) { return vectorOf(group, rows.width, dimension(i)); };
    Values init;
    for (unsigned i = 0; i < productRows; ++i)
      init.push_back(arith::MulFOp::create(b, loadVector(output.buffer, place(i)), output.factor));
    Values total = multiplyAdd(
        group.begin, group.end, init,
        [&](Value column, unsigned i) {
          return load(f32, rows.unpacked, add(multiply(column, constant(rows.width)), dimension(i)));
        },
        [&](Value column) { return loadVector(weights, column); });
    for (auto [i, sum] : llvm::enumerate(total))
      storeVector(sum, output.buffer, place(i));
  });
  output.factor = {};
  set(op.getResult(), output);
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// m is -inf until a key is visible, not the lowest finite number: then it is the row maximum whatever the scores are.
void HostQueries::emit(SoftmaxBeginOp op) {
  int64_t groups = queryBlock() / groupSize;
  Value buffer = bufferOf(op, 2 * groups);
  State state{buffer, vectorAddress(buffer, constant(groups))};
  loop(constant(0), constant(groups), [&](Value index) {
    storeVector(constantVector(-INFINITY), state.maxima, index);
    storeVector(constantVector(0), state.sums, index);
  });
  set(op.getResult(), state);
}

Value HostQueries::scaleOf(SoftmaxOp op) {
  if (op.getScale())
    return parameter(f32, ParameterKind::scalar, argumentOf(op.getScale()));
  return f32Constant(1 / std::sqrt(float(cast<RankedTensorType>(query.getType()).getDimSize(3))));
}

/// Changes the scores to probabilities in their place. The new output waits for its factor until the second product
/// reads it: that saves a walk over the output.
void HostQueries::emit(SoftmaxOp op) {
  auto keys = get<Keys>(op.getBlock());
  auto state = get<State>(op.getState());
  Value buffer = get<Sum>(op.getScores()).buffer, group = keys.group.index, scale = scaleOf(op);
  bool isMasked = keys.isPartial && !op.getMask().empty();
  if (isMasked || !op.getScore().empty()) {
    emitRegions(op, keys, buffer, isMasked);
    scale = {};
  }
  Value oldMaximum = loadVector(state.maxima, group);
  Value maximum = emitMaximum(op, keys, buffer, oldMaximum, scale);
  // Nothing was visible so far: any finite reference gives exp(-inf) = 0 where the difference to -inf gave NaN.
  Value reference = select(isEqual(maximum, constantVector(-INFINITY)), constantVector(0), maximum);
  Value correction = exponential(arith::SubFOp::create(b, oldMaximum, reference));
  Value oldSum = arith::MulFOp::create(b, loadVector(state.sums, group), correction);
  storeVector(emitWeights(keys, buffer, reference, oldSum), state.sums, group);
  storeVector(maximum, state.maxima, group);

  auto output = get<Sum>(op.getOutput());
  output.factor = correction;
  set(op.getProbabilities(), Probabilities{buffer});
  set(op.getNewState(), state);
  set(op.getNewOutput(), output);
}

/// Scales the scores that causal and window allow and applies the regions to them; -inf where the mask hides them.
void HostQueries::emitRegions(SoftmaxOp op, const Keys &keys, Value buffer, bool isMasked) {
  auto tile = get<QueryTile>(op.getTile());
  const Group &group = keys.group;
  loop(group.begin, group.end, [&](Value column) {
    Value key = add(keys.first, column), row = vectorAddress(buffer, column);
    Lanes lanes = lanesThatSee(tile, group, key);
    loop(lanes.begin, lanes.end, [&](Value lane) {
      Value score = arith::MulFOp::create(b, load(f32, row, lane), scaleOf(op)), query = add(group.firstQuery, lane);
      SmallVector<Value> arguments{score, asI32(tile.sequence.number), asI32(tile.head), asI32(query), asI32(key)};
      if (!op.getScore().empty())
        score = emitRegion(op, op.getScore(), arguments);
      if (isMasked) {
        Value isVisible = emitRegion(op, op.getMask(), ArrayRef(arguments).drop_front());
        score = select(isVisible, score, f32Constant(-INFINITY));
      }
      store(score, row, lane);
    });
  });
}

Value HostQueries::emitRegion(SoftmaxOp op, Region &region, ArrayRef<Value> arguments) {
  return inlineRegion(b, region, arguments, [&](ElementOp element, ValueRange indices) -> Value {
    unsigned argument = cast<BlockArgument>(element.getTensor()).getArgNumber();
    Tensor extra = tensorOf(op.getExtras()[argument - arguments.size()]);
    SmallVector<Value> wide;
    for (Value index : indices)
      wide.push_back(arith::ExtSIOp::create(b, i64, index));
    return LLVM::LoadOp::create(b, extra.elementType, elementAddress(extra, wide));
  });
}

/// The maxima with the scores of the visible keys. Other scores become -inf. Without regions nothing has scaled the
/// scores yet: that happens here.
Value HostQueries::emitMaximum(SoftmaxOp op, const Keys &keys, Value buffer, Value oldMaximum, Value scale) {
  auto tile = get<QueryTile>(op.getTile());
  return reduce(keys.group.begin, keys.group.end, oldMaximum,
                [&](Value column, ValueRange carried) -> Values {
                  Value score = loadVector(buffer, column), largest = carried.front();
                  if (scale)
                    score = arith::MulFOp::create(b, score, splat(scale, vectorType));
                  if (isClipped())
                    score = select(isOf(lanesThatSee(tile, keys.group, add(keys.first, column))), score,
                                   constantVector(-INFINITY));
                  if (scale || isClipped())
                    storeVector(score, buffer, column);
                  // A NaN does not count here; its weight is NaN.
                  Value isLarger = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, score, largest);
                  return {select(isLarger, score, largest)};
                })
      .front();
}

/// Turns the scores into weights, and returns `sum` with all of them.
Value HostQueries::emitWeights(const Keys &keys, Value buffer, Value reference, Value sum) {
  return reduce(keys.group.begin, keys.group.end, sum,
                [&](Value column, ValueRange carried) -> Values {
                  Value weight = exponential(arith::SubFOp::create(b, loadVector(buffer, column), reference));
                  storeVector(weight, buffer, column);
                  return {arith::AddFOp::create(b, carried.front(), weight)};
                })
      .front();
}

/// exp(x) for x <= 0. What is subnormal becomes 0: it adds nothing to a sum in which 1 was, but processors multiply it
/// slowly.
Value HostQueries::exponential(Value x) {
  Value leastExponent = constantVector(-87.33f); // log(2^-126), rounded up
  Value isSubnormal = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, leastExponent);
  return select(isSubnormal, constantVector(0), math::ExpOp::create(b, select(isSubnormal, leastExponent, x)));
}
