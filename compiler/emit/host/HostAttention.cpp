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
// The queries of a group lie side by side in vectors, so that the softmax needs no sum inside a vector, and K and V
// keep their order. Both products compute four vectors at a time: eight registers of eight f32, enough independent sums
// to hide the latency of a multiply-add, for two loads of vectors and four of scalars.

#include "InlineRegion.h"
#include "host/HostSequences.h"

#include "sparsec/launch_info.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace sparsec;

namespace {

/// One of the two lists that a pattern has for each block of queries.
struct BlockLists {
  Value starts, indices;
};

/// A tile and what all its queries share.
struct Tile {
  Value head, keyHead, blockRow, firstQuery;
  Value queries;            // those of the tile that are below Sq
  Value firstKey, keyLimit; // some query may see keys in [firstKey, keyLimit)
};

/// Keys that are unpacked together.
struct Chunk {
  Value firstKey;
  Value keys; // those of the chunk that are below Skv
};

/// Queries of a tile that share vectors.
struct Group {
  Value index;
  Value firstQuery; // of all queries
  Value queries;    // those of the group that are below Sq
  Value begin, end; // the keys of the chunk that some query of the group may see
};

/// Elements of a vector: [begin, end).
struct Lanes {
  Value begin, end;
};

class AttentionEmitter : HostSequences {
public:
  AttentionEmitter(KernelOp kernel, AttentionOp attention)
      : HostSequences(kernel, attention), headDimension(attention.getHeadDimension()),
        valueDimension(attention.getValueDimension()) {}

  LLVM::LLVMFuncOp emit();

private:
  // Parameters.
  Value patternParameter(Type type, sparsec_field_t field);
  void emitParameters();
  void emitPatternParameters();

  // Which keys.
  int64_t queryBlock() { return attention.getPattern() ? attention.getPattern().getType().getQueryBlock() : rowSize; }
  /// The largest k - p that causal and window leave, -1 for none.
  int64_t rightLimit() { return attention.getCausal() ? 0 : attention.getWindowRight(); }
  bool isClipped() { return rightLimit() != -1 || attention.getWindowLeft() != -1; }
  Value firstVisibleKey(Value query);
  Value visibleKeyLimit(Value query);
  Lanes lanesThatSee(const Group &group, Value key);

  // The computation.
  void emitTile(Value index);
  void emitQueries(const Tile &tile);
  void emitList(const Tile &tile, const BlockLists &lists, bool isPartial);
  std::pair<Value, Value> emitListRange(const BlockLists &lists, Value list);
  void emitKeys(const Tile &tile, Value firstKey, Value keyLimit, bool isMasked);
  void emitUnpack(const Tile &tile, const Chunk &chunk);
  void emitGroup(const Tile &tile, const Chunk &chunk, Group group, bool isMasked);
  void emitVisibleKeys(const Tile &tile, const Chunk &chunk, const Group &group, bool isMasked);
  void emitScores(const Group &group);
  void emitRegions(const Tile &tile, const Chunk &chunk, const Group &group, bool isMasked);
  Value emitRegion(Region &region, ArrayRef<Value> arguments);
  Value emitMaximum(const Chunk &chunk, const Group &group);
  Value emitWeights(const Group &group, Value reference, Value sum);
  void emitValues(const Group &group, Value correction);
  void emitSink(const Tile &tile);
  void emitResult(const Tile &tile);
  void emitResultRow(const Tile &tile, const Group &group, Value lane);

  // Vectors, by their number in a buffer.
  Value vectorAddress(Value buffer, Value index) { return address(f32, buffer, multiply(index, constant(groupSize))); }
  Value loadVector(Value buffer, Value index) {
    return LLVM::LoadOp::create(b, vectorType, vectorAddress(buffer, index), vectorAlignment);
  }
  void storeVector(Value value, Value buffer, Value index) {
    LLVM::StoreOp::create(b, value, vectorAddress(buffer, index), vectorAlignment);
  }
  Value constantVector(float value) { return constant(DenseElementsAttr::get(vectorType, value)); }
  /// Which lanes these are, a vector of i1.
  Value isOf(const Lanes &lanes);

  // Small words.
  /// Calls `body` for the groups of a tile.
  void forGroups(const Tile &tile, llvm::function_ref<void(Group)> body);
  // The vector of dimension d of a group, in `queryPanel` and in `accumulator`.
  Value queryVector(Value group, Value d) { return add(multiply(group, constant(headDimension)), d); }
  Value sumVector(Value group, Value d) { return add(multiply(group, constant(valueDimension)), d); }
  Value exponential(Value x);
  Value isEqual(Value x, Value y) { return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }
  Value asI32(Value index) { return arith::TruncIOp::create(b, i32, index); }

  /// Queries in a vector: two registers of eight f32.
  static constexpr int64_t groupSize = 16;
  /// Vectors of sums that a loop of a product computes.
  static constexpr int64_t productRows = 4;
  static constexpr unsigned vectorAlignment = groupSize * sizeof(float);
  VectorType vectorType = VectorType::get(groupSize, f32);

  int64_t headDimension, valueDimension;
  Tensor query, key, value, result, lse, sinks;
  Value scale;
  Value encoding, patternBatches, patternHeads, capacity;
  BlockLists partial, full;
  SmallVector<Tensor> extras;
  Value blockRows;   // blocks of queries of a head
  Value patternRows; // block rows of the pattern
  Sequence sequence; // of the tile
  // Rows of 64 keys.
  Value keyPanel, valuePanel; // D and Dv elements
  Value scores;               // a vector of queries
  // Groups of queries.
  Value queryPanel, accumulator; // D and Dv vectors
  Value maxima, sums;            // one vector
};

} // namespace

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

Value AttentionEmitter::patternParameter(Type type, sparsec_field_t field) {
  return parameter(type, ParameterKind::pattern_field, argumentOf(attention.getPattern()), field);
}

void AttentionEmitter::emitPatternParameters() {
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

void AttentionEmitter::emitParameters() {
  int64_t resultArgument = kernel.getArgumentTypes().size();
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
// Which keys
//===----------------------------------------------------------------------===//

Value AttentionEmitter::firstVisibleKey(Value query) {
  if (attention.getWindowLeft() == -1)
    return constant(0);
  return larger(constant(0), subtract(add(query, sequence.position), constant(attention.getWindowLeft())));
}

Value AttentionEmitter::visibleKeyLimit(Value query) {
  if (rightLimit() == -1)
    return sequence.keys;
  return smaller(sequence.keys, add(add(query, sequence.position), constant(rightLimit() + 1)));
}

/// The queries of a group that see a key stand side by side: those from k - right on up to k + left.
Lanes AttentionEmitter::lanesThatSee(const Group &group, Value key) {
  Value own = subtract(subtract(key, sequence.position), group.firstQuery);
  auto inside = [&](Value lane) { return larger(constant(0), smaller(group.queries, lane)); };
  Lanes lanes{constant(0), group.queries};
  if (rightLimit() != -1)
    lanes.begin = inside(subtract(own, constant(rightLimit())));
  if (attention.getWindowLeft() != -1)
    lanes.end = inside(add(own, constant(attention.getWindowLeft() + 1)));
  return lanes;
}

Value AttentionEmitter::isOf(const Lanes &lanes) {
  SmallVector<int32_t> numbers(groupSize);
  std::iota(numbers.begin(), numbers.end(), 0);
  auto integers = VectorType::get(groupSize, i32);
  Value lane = constant(DenseElementsAttr::get(integers, ArrayRef(numbers)));
  auto compare = [&](arith::CmpIPredicate predicate, Value bound) -> Value {
    return arith::CmpIOp::create(b, predicate, lane, splat(asI32(bound), integers));
  };
  return arith::AndIOp::create(b, compare(arith::CmpIPredicate::sge, lanes.begin),
                               compare(arith::CmpIPredicate::slt, lanes.end));
}

/// Where in `indices` a list begins and ends. Counts have one entry less than starts.
std::pair<Value, Value> AttentionEmitter::emitListRange(const BlockLists &lists, Value list) {
  Value isPadded = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, encoding,
                                         arith::ConstantIntOp::create(b, SPARSEC_PATTERN_PADDED_LISTS, 32));
  Value first = loadIndex(lists.starts, list);
  Value next = loadIndex(lists.starts, select(isPadded, list, add(list, constant(1))));
  Value begin = select(isPadded, multiply(list, capacity), first);
  return {begin, select(isPadded, add(begin, first), next)};
}

void AttentionEmitter::emitList(const Tile &tile, const BlockLists &lists, bool isPartial) {
  Value none = LLVM::ZeroOp::create(b, pointer);
  Value hasLists = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, lists.starts, none);
  if (isPacked()) // a sequence may have more queries than the pattern has rows
    hasLists = arith::AndIOp::create(b, hasLists,
                                     arith::CmpIOp::create(b, arith::CmpIPredicate::slt, tile.blockRow, patternRows));
  auto exists = scf::IfOp::create(b, hasLists);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(exists.thenBlock());

  // One list may serve all batches or all heads.
  auto broadcast = [&](Value count, Value index) {
    Value isOne = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, constant(1));
    return select(isOne, constant(0), index);
  };
  Value list =
      add(multiply(broadcast(patternBatches, sequence.number), patternHeads), broadcast(patternHeads, tile.head));
  list = add(multiply(list, patternRows), tile.blockRow);
  auto [begin, end] = emitListRange(lists, list);
  Value size = constant(attention.getPattern().getType().getKeyBlock());
  loop(begin, end, [&](Value entry) {
    Value firstKey = multiply(loadIndex(lists.indices, entry), size);
    emitKeys(tile, firstKey, add(firstKey, size), isPartial && attention.hasMask());
  });
}

/// Visits [firstKey, keyLimit), as far as some query of the tile may see it. firstKey is a multiple of 64.
void AttentionEmitter::emitKeys(const Tile &tile, Value firstKey, Value keyLimit, bool isMasked) {
  Value size = constant(rowSize);
  Value begin = arith::DivSIOp::create(b, larger(firstKey, tile.firstKey), size);
  Value limit = larger(constant(0), smaller(keyLimit, tile.keyLimit));
  Value end = arith::DivSIOp::create(b, add(limit, constant(rowSize - 1)), size);
  loop(begin, end, [&](Value index) {
    Chunk chunk;
    chunk.firstKey = multiply(index, size);
    chunk.keys = inside(sequence.keys, chunk.firstKey, rowSize);
    emitUnpack(tile, chunk);
    forGroups(tile, [&](Group group) { emitGroup(tile, chunk, group, isMasked); });
  });
}

//===----------------------------------------------------------------------===//
// The computation
//===----------------------------------------------------------------------===//

void AttentionEmitter::forGroups(const Tile &tile, llvm::function_ref<void(Group)> body) {
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
void AttentionEmitter::emitQueries(const Tile &tile) {
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

/// Keys beyond Skv keep what was there before: they only reach scores that are not used.
void AttentionEmitter::emitUnpack(const Tile &tile, const Chunk &chunk) {
  auto unpack = [&](const Tensor &tensor, int64_t width, Value panel, Value column, ArrayRef<Value> place) {
    Value from = elementAddress(tensor, place);
    auto narrow = VectorType::get(groupSize, tensor.elementType);
    unsigned alignment = tensor.elementType.getIntOrFloatBitWidth() / 8;
    int64_t vectors = width / groupSize;
    for (int64_t i = 0; i < vectors; ++i) {
      Value part = address(tensor.elementType, from, constant(i * groupSize));
      Value elements = LLVM::LoadOp::create(b, narrow, part, alignment);
      storeVector(arith::ExtFOp::create(b, vectorType, elements), panel,
                  add(multiply(column, constant(vectors)), constant(i)));
    }
  };
  loop(constant(0), chunk.keys, [&](Value column) {
    SmallVector<Value> place = keyPlace(sequence, tile.keyHead, add(chunk.firstKey, column));
    place.push_back(constant(0));
    unpack(key, headDimension, keyPanel, column, place);
    unpack(value, valueDimension, valuePanel, column, place);
  });
}

void AttentionEmitter::emitGroup(const Tile &tile, const Chunk &chunk, Group group, bool isMasked) {
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

void AttentionEmitter::emitVisibleKeys(const Tile &tile, const Chunk &chunk, const Group &group, bool isMasked) {
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
void AttentionEmitter::emitScores(const Group &group) {
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

/// Applies the regions to the scores that causal and window leave; -inf where the mask hides them.
void AttentionEmitter::emitRegions(const Tile &tile, const Chunk &chunk, const Group &group, bool isMasked) {
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
Value AttentionEmitter::emitMaximum(const Chunk &chunk, const Group &group) {
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
Value AttentionEmitter::emitWeights(const Group &group, Value reference, Value sum) {
  return reduce(group.begin, group.end, sum,
                [&](Value column, ValueRange carried) -> Values {
                  Value weight = exponential(arith::SubFOp::create(b, loadVector(scores, column), reference));
                  storeVector(weight, scores, column);
                  return {arith::AddFOp::create(b, carried.front(), weight)};
                })
      .front();
}

/// The second product.
void AttentionEmitter::emitValues(const Group &group, Value correction) {
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
Value AttentionEmitter::exponential(Value x) {
  Value leastExponent = constantVector(-87.33f); // log(2^-126), rounded up
  Value isSubnormal = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, leastExponent);
  return select(isSubnormal, constantVector(0), math::ExpOp::create(b, select(isSubnormal, leastExponent, x)));
}

Value AttentionEmitter::emitRegion(Region &region, ArrayRef<Value> arguments) {
  return inlineRegion(b, region, arguments, [&](ElementOp element, ValueRange indices) -> Value {
    unsigned argument = cast<BlockArgument>(element.getTensor()).getArgNumber();
    const Tensor &extra = extras[argument - arguments.size()];
    SmallVector<Value> wide;
    for (Value index : indices)
      wide.push_back(arith::ExtSIOp::create(b, i64, index));
    return LLVM::LoadOp::create(b, extra.elementType, elementAddress(extra, wide));
  });
}

/// The sink of the head joins the sums, as the score of a key without a value.
void AttentionEmitter::emitSink(const Tile &tile) {
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

void AttentionEmitter::emitResult(const Tile &tile) {
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

void AttentionEmitter::emitResultRow(const Tile &tile, const Group &group, Value lane) {
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

void AttentionEmitter::emitTile(Value index) {
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

LLVM::LLVMFuncOp AttentionEmitter::emit() {
  begin();
  keyPanel = buffer(headDimension);
  valuePanel = buffer(valueDimension);
  queryPanel = buffer(queryBlock() * headDimension / rowSize);
  accumulator = buffer(queryBlock() * valueDimension / rowSize);
  maxima = buffer(queryBlock() / rowSize);
  sums = buffer(queryBlock() / rowSize);
  scores = buffer(groupSize);
  emitParameters();
  return finish({queryBlock(), rowSize, headDimension}, [&](Value tile) { emitTile(tile); });
}

LLVM::LLVMFuncOp sparsec::emitHostAttention(KernelOp kernel, AttentionOp attention) {
  return AttentionEmitter(kernel, attention).emit();
}
