// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host kernel of sparsec.attention.
//
//   for tile in [tile_begin, tile_end)        one block of queries of one head of one batch
//     queries = Q[tile] as f32, transposed
//     maximum, sum, accumulator = -inf, 0, 0
//     for block in the lists of partial and of full blocks, or in all keys
//       for chunk of 64 keys that some query of the tile may see
//         keys, values = K[chunk], V[chunk] as f32
//         for group of 16 queries, and the keys that some query of it may see
//           scores[key] = scale * sum over d of keys[key, d] * queries[d]                  16 queries at once
//           scores[key] = score(scores[key]), or -inf where the mask region hides it       one at a time
//           scores[key] = -inf where causal or window hides it
//           scores[key] = exp(scores[key] - new maximum)
//           accumulator[d] = exp(maximum - new maximum) * accumulator[d] + sum over keys of values[key, d] *
//           scores[key]
//     for query: the sink of the head joins maximum and sum
//     for query: O = accumulator / sum, LSE = maximum + log(sum)
//
// The queries of a group are neighbours in vectors, so that the softmax needs no sum inside a vector, and K and V
// keep their order. Both products compute four vectors at a time: eight registers of eight f32, enough independent sums
// to hide the latency of a multiply-add, for two loads of vectors and four of scalars.

#include "host/HostAttention.h"

#include "sparsec/launch_info.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

Value HostAttention::patternParameter(Type type, sparsec_field_t field) {
  return parameter(type, ParameterKind::pattern_field, argumentOf(attention.getPattern()), field);
}

void HostAttention::emitPatternParameters() {
  encoding = patternParameter(i32, SPARSEC_FIELD_ENCODING);
  int64_t argument = argumentOf(attention.getPattern());
  patternBatches = indexParameter(ParameterKind::pattern_field, argument, SPARSEC_FIELD_BATCHES);
  patternRows = blockRows;
  if (isPacked()) {
    Value rows = add(sizeParameter(argument, 0), constant(queryBlock() - 1));
    patternRows = arith::DivSIOp::create(b, rows, constant(queryBlock()));
  }
  patternHeads = indexParameter(ParameterKind::pattern_field, argument, SPARSEC_FIELD_HEADS);
  capacity = patternParameter(i64, SPARSEC_FIELD_CAPACITY);
  partial.starts = patternParameter(pointer, SPARSEC_FIELD_PARTIAL_STARTS);
  partial.indices = patternParameter(pointer, SPARSEC_FIELD_PARTIAL_INDICES);
  full.starts = patternParameter(pointer, SPARSEC_FIELD_FULL_STARTS);
  full.indices = patternParameter(pointer, SPARSEC_FIELD_FULL_INDICES);
}

void HostAttention::emitParameters() {
  int64_t resultArgument = attention->getParentOfType<KernelOp>().getArgumentTypes().size();
  query = operandParameter(attention.getQuery());
  key = operandParameter(attention.getKey());
  value = operandParameter(attention.getValue());
  result = tensorParameter(resultArgument, attention.getResult().getType());
  emitSequenceParameters();
  blockRows = panels(queryBlock());
  if (attention.getLse())
    lse = tensorParameter(resultArgument + 1, attention.getLse().getType());
  if (attention.getSinks())
    sinks = operandParameter(attention.getSinks());
  if (attention.getScale())
    scale = parameter(f32, ParameterKind::scalar, argumentOf(attention.getScale()));
  else
    scale = f32Constant(1 / std::sqrt(float(headDimension)));
  if (attention.getPattern())
    emitPatternParameters();
  for (Value extra : attention.getExtras())
    extras.push_back(operandParameter(extra));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void HostAttention::forGroups(const Tile &tile, llvm::function_ref<void(Group)> body) {
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

/// Zeros in the lanes of queries that are not there: what they compute is not used, but it is finite.
void HostAttention::emitQueries(const Tile &tile) {
  loop(constant(0), constant(queryBlock() / groupSize * headDimension),
       [&](Value index) { storeVector(constantVector(0), queryPanel, index); });
  forGroups(tile, [&](Group group) {
    loop(constant(0), group.queries, [&](Value lane) {
      SmallVector<Value> place = queryPlace(sequence, tile.head, add(group.firstQuery, lane));
      place.push_back(constant(0));
      Value row = elementAddress(query, place);
      loop(constant(0), constant(headDimension), [&](Value d) {
        store(toF32(load(query.elementType, row, d)), vectorAddress(queryPanel, queryVector(group.index, d)), lane);
      });
    });
  });
}

void HostAttention::emitTile(Value index) {
  Tile tile;
  tile.blockRow = arith::RemSIOp::create(b, index, blockRows);
  Value headIndex = arith::DivSIOp::create(b, index, blockRows);
  tile.head = arith::RemSIOp::create(b, headIndex, heads);
  QueryBlock block{arith::DivSIOp::create(b, headIndex, heads), tile.blockRow};
  if (isPacked())
    block = blockOfPanel(tile.blockRow, queryBlock());
  tile.blockRow = block.block;
  sequence = sequenceOf(block.sequence);
  tile.keyHead = arith::DivSIOp::create(b, multiply(tile.head, keyHeads), heads);
  tile.firstQuery = multiply(tile.blockRow, constant(queryBlock()));
  tile.queries = inside(sequence.queries, tile.firstQuery, queryBlock());
  tile.firstKey = firstVisibleKey(tile.firstQuery);
  tile.keyLimit = visibleKeyLimit(subtract(add(tile.firstQuery, tile.queries), constant(1)));
  // A panel of packed queries may be behind its sequence.
  if (isPacked()) {
    Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, tile.queries, constant(0));
    tile.keyLimit = select(isThere, tile.keyLimit, constant(0));
  }

  emitQueries(tile);
  loop(constant(0), constant(queryBlock() / groupSize * valueDimension),
       [&](Value index) { storeVector(constantVector(0), accumulator, index); });
  loop(constant(0), constant(queryBlock() / groupSize), [&](Value index) {
    storeVector(constantVector(-INFINITY), maxima, index);
    storeVector(constantVector(0), sums, index);
  });
  if (attention.getPattern()) {
    emitList(tile, partial, /*isPartial=*/true);
    emitList(tile, full, /*isPartial=*/false);
  } else {
    emitKeys(tile, constant(0), sequence.keys, attention.hasMask());
  }
  emitResult(tile);
}

LLVM::LLVMFuncOp HostAttention::emit() {
  begin();
  keyPanel = buffer(headDimension);
  valuePanel = buffer(valueDimension);
  queryPanel = buffer(queryBlock() * headDimension / rowSize);
  accumulator = buffer(queryBlock() * valueDimension / rowSize);
  maxima = buffer(queryBlock() / rowSize);
  sums = buffer(queryBlock() / rowSize);
  scores = buffer(groupSize);
  emitParameters();
  forTiles([&](Value tile) { emitTile(tile); });
  return finish();
}
