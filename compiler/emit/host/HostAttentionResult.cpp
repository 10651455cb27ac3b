// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of a tile: sinks, O and LSE.

#include "host/HostAttention.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;

/// The sink of the head joins the sums, as the score of a key without a value.
void HostAttention::emitSink(const Tile &tile) {
  Value sink = splat(load(f32, elementAddress(sinks, {tile.head}), constant(0)), vectorType);
  forGroups(tile, [&](Group group) {
    Value oldMaximum = loadVector(maxima, group.index);
    Value isLarger = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, oldMaximum, sink);
    Value maximum = select(isLarger, oldMaximum, sink);
    Value reference = select(isEqual(maximum, constantVector(-INFINITY)), constantVector(0), maximum);
    Value correction = exponential(arith::SubFOp::create(b, oldMaximum, reference));
    Value weight = exponential(arith::SubFOp::create(b, sink, reference));
    Value sum = arith::MulFOp::create(b, loadVector(sums, group.index), correction);
    storeVector(arith::AddFOp::create(b, sum, weight), sums, group.index);
    storeVector(maximum, maxima, group.index);
    loop(constant(0), constant(valueDimension), [&](Value d) {
      Value index = sumVector(group.index, d);
      storeVector(arith::MulFOp::create(b, loadVector(accumulator, index), correction), accumulator, index);
    });
  });
}

void HostAttention::emitResult(const Tile &tile) {
  if (attention.getSinks())
    emitSink(tile);
  forGroups(tile, [&](Group group) {
    Value sum = loadVector(sums, group.index);
    Value isEmpty = isEqual(sum, constantVector(0));
    loop(constant(0), constant(valueDimension), [&](Value d) {
      Value index = sumVector(group.index, d);
      Value mean = arith::DivFOp::create(b, loadVector(accumulator, index), sum);
      storeVector(select(isEmpty, constantVector(0), mean), accumulator, index);
    });
    loop(constant(0), group.queries, [&](Value lane) { emitResultRow(tile, group, lane); });
  });
}

void HostAttention::emitResultRow(const Tile &tile, const Group &group, Value lane) {
  Value number = add(group.firstQuery, lane);
  SmallVector<Value> place = queryPlace(sequence, tile.head, number);
  Value lsePlace = attention.getLse() ? elementAddress(lse, place) : Value();
  place.push_back(constant(0));
  Value to = elementAddress(result, place);
  loop(constant(0), constant(valueDimension), [&](Value d) {
    Value mean = load(f32, vectorAddress(accumulator, sumVector(group.index, d)), lane);
    store(fromF32(mean, result.elementType), to, d);
  });
  if (!attention.getLse())
    return;
  Value sum = load(f32, vectorAddress(sums, group.index), lane);
  Value maximum = load(f32, vectorAddress(maxima, group.index), lane);
  Value logarithm = arith::AddFOp::create(b, maximum, math::LogOp::create(b, sum));
  LLVM::StoreOp::create(b, select(isEqual(sum, f32Constant(0)), f32Constant(-INFINITY), logarithm), lsePlace);
}
