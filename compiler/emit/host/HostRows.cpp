// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of Q, K and V at the beginning of a tile or a step; sinks, rows of O and LSE at the end of a tile.

#include "host/HostQueries.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void HostQueries::forGroups(const QueryTile &tile, llvm::function_ref<void(Group)> body) {
  Value count = arith::DivSIOp::create(b, add(tile.queries, constant(groupSize - 1)), constant(groupSize));
  loop(constant(0), count, [&](Value index) {
    Group group;
    group.index = index;
    Value first = multiply(index, constant(groupSize));
    group.firstQuery = add(tile.firstQuery, first);
    group.queries = inside(tile.queries, first, groupSize);
    body(group);
  });
}

void HostQueries::emit(LoadRowsOp op) {
  if (op.getBlock())
    loadKeys(op);
  else
    loadQueries(op);
}

/// Zeros in the lanes of queries that are not there: what they compute is not used, but it is finite.
void HostQueries::loadQueries(LoadRowsOp op) {
  auto tile = get<QueryTile>(op.getTile());
  Tensor tensor = tensorOf(op.getSource());
  int64_t width = op.getType().getColumns(), vectors = queryBlock() / groupSize * width;
  Value unpacked = bufferOf(op, vectors);
  loop(constant(0), constant(vectors), [&](Value index) { storeVector(constantVector(0), unpacked, index); });
  forGroups(tile, [&](Group group) {
    loop(constant(0), group.queries, [&](Value lane) {
      SmallVector<Value> place = queryPlace(tile.sequence, tile.head, add(group.firstQuery, lane));
      place.push_back(constant(0));
      Value row = elementAddress(tensor, place);
      loop(constant(0), constant(width), [&](Value d) {
        store(toF32(load(tensor.elementType, row, d)), vectorAddress(unpacked, vectorOf(group, width, d)), lane);
      });
    });
  });
  set(op.getResult(), Rows{unpacked, width, /*block=*/Value()});
}

/// Keys beyond Skv keep what was there before: they only reach scores that are not used.
void HostQueries::loadKeys(LoadRowsOp op) {
  auto tile = get<QueryTile>(op.getTile());
  auto keys = get<Keys>(op.getBlock());
  Tensor tensor = tensorOf(op.getSource());
  int64_t width = op.getType().getColumns(), vectors = width / groupSize;
  auto narrow = VectorType::get(groupSize, tensor.elementType);
  unsigned alignment = tensor.elementType.getIntOrFloatBitWidth() / 8;
  Value unpacked = bufferOf(op, op.getType().getRows() * vectors);
  loop(constant(0), keys.count, [&](Value column) {
    SmallVector<Value> place = keyPlace(tile.sequence, tile.keyHead, add(keys.first, column));
    place.push_back(constant(0));
    Value from = elementAddress(tensor, place), first = multiply(column, constant(vectors));
    for (int64_t i = 0; i < vectors; ++i) {
      Value part = address(tensor.elementType, from, constant(i * groupSize));
      Value elements = LLVM::LoadOp::create(b, narrow, part, alignment);
      storeVector(arith::ExtFOp::create(b, vectorType, elements), unpacked, add(first, constant(i)));
    }
  });
  set(op.getResult(), Rows{unpacked, width, op.getBlock()});
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

void HostQueries::emit(StoreRowsOp op) {
  auto tile = get<QueryTile>(op.getAt().front());
  if (op.getSinks())
    forGroups(tile, [&](Group group) { emitSink(op, group); });
  forGroups(tile, [&](Group group) {
    emitMeans(op, group);
    loop(constant(0), group.queries, [&](Value lane) { storeQuery(op, group, lane); });
  });
}

/// The sink of the head joins the sums, as the score of a key without a value.
void HostQueries::emitSink(StoreRowsOp op, const Group &group) {
  auto state = get<State>(op.getState());
  Value output = get<Sum>(op.getOutput()).buffer, head = get<QueryTile>(op.getAt().front()).head;
  int64_t width = op.getOutput().getType().getColumns();
  Value sink = splat(load(f32, elementAddress(tensorOf(op.getSinks()), {head}), constant(0)), vectorType);
  Value oldMaximum = loadVector(state.maxima, group.index);
  Value isLarger = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, oldMaximum, sink);
  Value maximum = select(isLarger, oldMaximum, sink);
  Value reference = select(isEqual(maximum, constantVector(-INFINITY)), constantVector(0), maximum);
  Value correction = exponential(arith::SubFOp::create(b, oldMaximum, reference));
  Value weight = exponential(arith::SubFOp::create(b, sink, reference));
  Value sum = arith::MulFOp::create(b, loadVector(state.sums, group.index), correction);
  storeVector(arith::AddFOp::create(b, sum, weight), state.sums, group.index);
  storeVector(maximum, state.maxima, group.index);
  loop(constant(0), constant(width), [&](Value d) {
    Value index = vectorOf(group, width, d);
    storeVector(arith::MulFOp::create(b, loadVector(output, index), correction), output, index);
  });
}

/// output / l, or 0 where no key was visible.
void HostQueries::emitMeans(StoreRowsOp op, const Group &group) {
  Value output = get<Sum>(op.getOutput()).buffer;
  int64_t width = op.getOutput().getType().getColumns();
  Value sum = loadVector(get<State>(op.getState()).sums, group.index);
  Value isEmpty = isEqual(sum, constantVector(0));
  loop(constant(0), constant(width), [&](Value d) {
    Value index = vectorOf(group, width, d);
    Value mean = arith::DivFOp::create(b, loadVector(output, index), sum);
    storeVector(select(isEmpty, constantVector(0), mean), output, index);
  });
}

void HostQueries::storeQuery(StoreRowsOp op, const Group &group, Value lane) {
  auto tile = get<QueryTile>(op.getAt().front());
  Tensor result = tensorOf(op.getResult());
  Value output = get<Sum>(op.getOutput()).buffer;
  int64_t width = op.getOutput().getType().getColumns();
  SmallVector<Value> place = queryPlace(tile.sequence, tile.head, add(group.firstQuery, lane));
  Value lsePlace = op.getLse() ? elementAddress(tensorOf(op.getLse()), place) : Value();
  place.push_back(constant(0));
  Value to = elementAddress(result, place);
  loop(constant(0), constant(width), [&](Value d) {
    Value mean = load(f32, vectorAddress(output, vectorOf(group, width, d)), lane);
    store(fromF32(mean, result.elementType), to, d);
  });
  if (!op.getLse())
    return;
  auto state = get<State>(op.getState());
  Value sum = load(f32, vectorAddress(state.sums, group.index), lane);
  Value maximum = load(f32, vectorAddress(state.maxima, group.index), lane);
  Value logarithm = arith::AddFOp::create(b, maximum, math::LogOp::create(b, sum));
  LLVM::StoreOp::create(b, select(isEqual(sum, f32Constant(0)), f32Constant(-INFINITY), logarithm), lsePlace);
}
