// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host kernel of sparsec.attention.
//
//   for tile in [tile_begin, tile_end)        one block of queries of one head of one batch
//     maximum, sum, accumulator = -inf, 0, 0
//     for block in the lists of partial and of full blocks, or in all keys
//       for chunk of 64 keys that some query of the tile may see
//         keys, values = K[chunk] transposed, V[chunk] as f32
//         for query
//           scores = sum over d of Q[query, d] * keys[d]          64 at once
//           for key that causal and window let the query see
//             scores[key] = score(scale * scores[key]), or -inf where the mask region hides it
//           accumulator, sum *= exp(maximum - new maximum)
//           for such key: accumulator += exp(scores[key] - maximum) * values[key]
//     for query: O = accumulator / sum, LSE = maximum + log(sum)

#include "HostBuilder.h"
#include "InlineRegion.h"

#include "sparsec/launch_info.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;

namespace {

/// A tensor in memory: the last dimension is contiguous, `strides` has the others.
struct Tensor {
  Value data;
  Type elementType;
  SmallVector<Value> strides;
};

/// One of the two lists that a pattern has for each block of queries.
struct BlockLists {
  Value starts, indices;
};

/// A tile and what all its queries share.
struct Tile {
  Value batch, head, keyHead, blockRow, firstQuery;
  Value queries;            // those of the tile that are below Sq
  Value firstKey, keyLimit; // some query may see keys in [firstKey, keyLimit)
};

/// Keys that are unpacked together.
struct Chunk {
  Value firstKey;
  Value keys; // those of the chunk that are below Skv
};

class AttentionEmitter : HostBuilder {
public:
  AttentionEmitter(KernelOp kernel, AttentionOp attention)
      : HostBuilder(kernel), attention(attention), headDimension(attention.getHeadDimension()) {}

  LLVM::LLVMFuncOp emit();

private:
  // Parameters.
  Tensor tensorParameter(int64_t argument, Type type);
  Value patternParameter(Type type, sparsec_pattern_field_t field);
  void emitParameters();
  void emitPatternParameters();

  // Which keys.
  int64_t queryBlock() { return attention.getPattern() ? attention.getPattern().getType().getQueryBlock() : rowSize; }
  /// The largest k - p that causal and window leave, -1 for none.
  int64_t rightLimit() { return attention.getCausal() ? 0 : attention.getWindowRight(); }
  bool isClipped() { return rightLimit() != -1 || attention.getWindowLeft() != -1; }
  Value firstVisibleKey(Value query);
  Value visibleKeyLimit(Value query);

  // The computation.
  void emitTile(Value index);
  void emitList(const Tile &tile, const BlockLists &lists, bool isPartial);
  std::pair<Value, Value> emitListRange(const BlockLists &lists, Value list);
  void emitKeys(const Tile &tile, Value firstKey, Value keyLimit, bool isMasked);
  void emitUnpack(const Tile &tile, const Chunk &chunk);
  void emitQuery(const Tile &tile, const Chunk &chunk, Value query, bool isMasked);
  void emitVisibleKeys(const Tile &tile, const Chunk &chunk, Value query, Value begin, Value end, bool isMasked);
  Value emitScore(const Tile &tile, Value query, Value key, Value product, bool isMasked);
  Value emitRegion(Region &region, ArrayRef<Value> arguments);
  void emitResult(const Tile &tile);

  // Small words.
  Value elementAddress(const Tensor &tensor, ArrayRef<Value> indices);
  Value exponential(Value x) { return math::ExpOp::create(b, x); }
  Value isEqual(Value x, Value y) { return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }
  Value asI32(Value index) { return arith::TruncIOp::create(b, i32, index); }
  /// Row of the accumulator, or of the values, that holds elements [64 part, 64 part + 64) of row `row` of `rows`.
  Value partRow(int64_t part, int64_t rows, Value row) { return add(constant(part * rows), row); }

  AttentionOp attention;
  int64_t headDimension;
  Tensor query, key, value, result, lse;
  Value heads, queryCount, keyHeads, keyCount, scale;
  Value encoding, patternBatches, patternHeads, capacity;
  BlockLists partial, full;
  SmallVector<Tensor> extras;
  Value blockRows;    // blocks of queries
  Value position;     // Skv - Sq, that of query 0 among the keys
  Value keyPanel;     // D rows of 64 keys
  Value valuePanel;   // D / 64 parts of 64 keys
  Value accumulator;  // D / 64 parts of a row per query
  Value maxima, sums; // one number per query
  Value scores;       // one row
};

} // namespace

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

Tensor AttentionEmitter::tensorParameter(int64_t argument, Type type) {
  auto tensorType = cast<RankedTensorType>(type);
  Tensor tensor{parameter(pointer, ParameterKind::pointer, argument), tensorType.getElementType(), {}};
  for (int64_t dimension = 0; dimension + 1 < tensorType.getRank(); ++dimension)
    tensor.strides.push_back(parameter(i64, ParameterKind::stride, argument, dimension));
  return tensor;
}

Value AttentionEmitter::patternParameter(Type type, sparsec_pattern_field_t field) {
  return parameter(type, ParameterKind::pattern_field, argumentOf(attention.getPattern()), field);
}

void AttentionEmitter::emitPatternParameters() {
  encoding = patternParameter(i32, SPARSEC_PATTERN_FIELD_ENCODING);
  int64_t argument = argumentOf(attention.getPattern());
  patternBatches = indexParameter(ParameterKind::pattern_field, argument, SPARSEC_PATTERN_FIELD_BATCHES);
  patternHeads = indexParameter(ParameterKind::pattern_field, argument, SPARSEC_PATTERN_FIELD_HEADS);
  capacity = patternParameter(i64, SPARSEC_PATTERN_FIELD_CAPACITY);
  partial.starts = patternParameter(pointer, SPARSEC_PATTERN_FIELD_PARTIAL_STARTS);
  partial.indices = patternParameter(pointer, SPARSEC_PATTERN_FIELD_PARTIAL_INDICES);
  full.starts = patternParameter(pointer, SPARSEC_PATTERN_FIELD_FULL_STARTS);
  full.indices = patternParameter(pointer, SPARSEC_PATTERN_FIELD_FULL_INDICES);
}

void AttentionEmitter::emitParameters() {
  auto operandParameter = [&](Value operand) { return tensorParameter(argumentOf(operand), operand.getType()); };
  int64_t resultArgument = kernel.getArgumentTypes().size();
  query = operandParameter(attention.getQuery());
  key = operandParameter(attention.getKey());
  value = operandParameter(attention.getValue());
  result = tensorParameter(resultArgument, attention.getResult().getType());
  heads = sizeParameter(argumentOf(attention.getQuery()), 1);
  queryCount = sizeParameter(argumentOf(attention.getQuery()), 2);
  keyHeads = sizeParameter(argumentOf(attention.getKey()), 1);
  keyCount = sizeParameter(argumentOf(attention.getKey()), 2);
  if (attention.getLse())
    lse = tensorParameter(resultArgument + 1, attention.getLse().getType());
  if (attention.getScale())
    scale = parameter(f32, ParameterKind::scalar, argumentOf(attention.getScale()));
  else
    scale = f32Constant(1 / std::sqrt(float(headDimension)));
  if (attention.getPattern())
    emitPatternParameters();
  for (Value extra : attention.getExtras())
    extras.push_back(operandParameter(extra));
}

Value AttentionEmitter::elementAddress(const Tensor &tensor, ArrayRef<Value> indices) {
  Value offset = indices.empty() ? constant(0) : indices.back();
  for (auto [index, stride] : llvm::zip_first(tensor.strides, indices))
    offset = add(offset, multiply(stride, index));
  return address(tensor.elementType, tensor.data, offset);
}

//===----------------------------------------------------------------------===//
// Which keys
//===----------------------------------------------------------------------===//

Value AttentionEmitter::firstVisibleKey(Value query) {
  if (attention.getWindowLeft() == -1)
    return constant(0);
  return larger(constant(0), subtract(add(query, position), constant(attention.getWindowLeft())));
}

Value AttentionEmitter::visibleKeyLimit(Value query) {
  if (rightLimit() == -1)
    return keyCount;
  return smaller(keyCount, add(add(query, position), constant(rightLimit() + 1)));
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
  auto exists = scf::IfOp::create(b, LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, lists.starts, none).getResult());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(exists.thenBlock());

  // One list may serve all batches or all heads.
  auto broadcast = [&](Value count, Value index) {
    Value isOne = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, constant(1));
    return select(isOne, constant(0), index);
  };
  Value list = add(multiply(broadcast(patternBatches, tile.batch), patternHeads), broadcast(patternHeads, tile.head));
  list = add(multiply(list, blockRows), tile.blockRow);
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
    chunk.keys = inside(keyCount, chunk.firstKey, rowSize);
    emitUnpack(tile, chunk);
    loop(constant(0), tile.queries, [&](Value query) { emitQuery(tile, chunk, query, isMasked); });
  });
}

//===----------------------------------------------------------------------===//
// The computation
//===----------------------------------------------------------------------===//

/// Keys beyond Skv keep what was there before: they only reach scores that are not used.
void AttentionEmitter::emitUnpack(const Tile &tile, const Chunk &chunk) {
  loop(constant(0), chunk.keys, [&](Value column) {
    Value row = add(chunk.firstKey, column);
    Value keyRow = elementAddress(key, {tile.batch, tile.keyHead, row, constant(0)});
    Value valueRow = elementAddress(value, {tile.batch, tile.keyHead, row, constant(0)});
    loop(constant(0), constant(headDimension),
         [&](Value d) { store(toF32(load(key.elementType, keyRow, d)), bufferRow(keyPanel, d), column); });
    for (int64_t part = 0; part < headDimension / rowSize; ++part) {
      Value to = bufferRow(valuePanel, partRow(part, rowSize, column));
      loop(constant(0), constant(rowSize),
           [&](Value d) { store(toF32(load(value.elementType, valueRow, add(constant(part * rowSize), d))), to, d); });
    }
  });
}

void AttentionEmitter::emitQuery(const Tile &tile, const Chunk &chunk, Value query, bool isMasked) {
  if (!isClipped())
    return emitVisibleKeys(tile, chunk, query, constant(0), chunk.keys, isMasked);
  Value number = add(tile.firstQuery, query);
  Value begin = larger(constant(0), subtract(firstVisibleKey(number), chunk.firstKey));
  Value end = smaller(chunk.keys, subtract(visibleKeyLimit(number), chunk.firstKey));
  auto seesSome = scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, begin, end).getResult());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(seesSome.thenBlock());
  emitVisibleKeys(tile, chunk, query, begin, end, isMasked);
}

void AttentionEmitter::emitVisibleKeys(const Tile &tile, const Chunk &chunk, Value row, Value begin, Value end,
                                       bool isMasked) {
  Value number = add(tile.firstQuery, row);
  Value queryRow = elementAddress(query, {tile.batch, tile.head, number, constant(0)});
  Value products = multiplyAdd(
      constant(0), constant(headDimension), LLVM::ZeroOp::create(b, rowType),
      [&](Value d) { return toF32(load(query.elementType, queryRow, d)); },
      [&](Value d) { return loadRow(keyPanel, d); });
  storeRow(products, scores, constant(0));

  Value oldMaximum = load(f32, maxima, row);
  Value maximum = reduce(begin, end, oldMaximum, [&](Value column, Value largest) -> Value {
    Value product = load(f32, scores, column);
    Value score = emitScore(tile, number, add(chunk.firstKey, column), product, isMasked);
    store(score, scores, column);
    return arith::MaximumFOp::create(b, largest, score);
  });
  // Nothing was visible so far: any finite reference gives exp(-inf) = 0 where the difference to -inf gave NaN.
  Value reference = select(isEqual(maximum, f32Constant(-INFINITY)), f32Constant(0), maximum);
  Value correction = exponential(arith::SubFOp::create(b, oldMaximum, reference));
  Value oldSum = arith::MulFOp::create(b, load(f32, sums, row), correction);
  Value sum = reduce(begin, end, oldSum, [&](Value column, Value total) -> Value {
    Value weight = exponential(arith::SubFOp::create(b, load(f32, scores, column), reference));
    store(weight, scores, column);
    return arith::AddFOp::create(b, total, weight);
  });
  store(maximum, maxima, row);
  store(sum, sums, row);

  for (int64_t part = 0; part < headDimension / rowSize; ++part) {
    Value accumulatorRow = partRow(part, queryBlock(), row);
    Value scaled = arith::MulFOp::create(b, loadRow(accumulator, accumulatorRow), splat(correction));
    Value total = multiplyAdd(
        begin, end, scaled, [&](Value column) { return load(f32, scores, column); },
        [&](Value column) { return loadRow(valuePanel, partRow(part, rowSize, column)); });
    storeRow(total, accumulator, accumulatorRow);
  }
}

/// What the regions make of a product of a query and a key; -inf where the mask hides it.
Value AttentionEmitter::emitScore(const Tile &tile, Value query, Value key, Value product, bool isMasked) {
  Value score = arith::MulFOp::create(b, product, scale);
  SmallVector<Value> arguments{score, asI32(tile.batch), asI32(tile.head), asI32(query), asI32(key)};
  if (attention.hasScore())
    score = emitRegion(attention.getScore(), arguments);
  if (!isMasked)
    return score;
  Value isVisible = emitRegion(attention.getMask(), ArrayRef(arguments).drop_front());
  return select(isVisible, score, f32Constant(-INFINITY));
}

Value AttentionEmitter::emitRegion(Region &region, ArrayRef<Value> arguments) {
  return inlineRegion(b, region, arguments, [&](unsigned argument, ValueRange indices) -> Value {
    const Tensor &extra = extras[argument - arguments.size()];
    SmallVector<Value> wide;
    for (Value index : indices)
      wide.push_back(arith::ExtSIOp::create(b, i64, index));
    return LLVM::LoadOp::create(b, extra.elementType, elementAddress(extra, wide));
  });
}

void AttentionEmitter::emitResult(const Tile &tile) {
  loop(constant(0), tile.queries, [&](Value row) {
    Value number = add(tile.firstQuery, row);
    Value sum = load(f32, sums, row);
    Value isEmpty = isEqual(sum, f32Constant(0));
    Value to = elementAddress(result, {tile.batch, tile.head, number, constant(0)});
    for (int64_t part = 0; part < headDimension / rowSize; ++part) {
      Value from = bufferRow(accumulator, partRow(part, queryBlock(), row));
      loop(constant(0), constant(rowSize), [&](Value d) {
        Value mean = arith::DivFOp::create(b, load(f32, from, d), sum);
        Value element = fromF32(select(isEmpty, f32Constant(0), mean), result.elementType);
        store(element, to, add(constant(part * rowSize), d));
      });
    }
    if (!attention.getLse())
      return;
    Value logarithm = arith::AddFOp::create(b, load(f32, maxima, row), math::LogOp::create(b, sum));
    LLVM::StoreOp::create(b, select(isEmpty, f32Constant(-INFINITY), logarithm),
                          elementAddress(lse, {tile.batch, tile.head, number}));
  });
}

void AttentionEmitter::emitTile(Value index) {
  Tile tile;
  tile.blockRow = arith::RemSIOp::create(b, index, blockRows);
  Value headIndex = arith::DivSIOp::create(b, index, blockRows);
  tile.head = arith::RemSIOp::create(b, headIndex, heads);
  tile.batch = arith::DivSIOp::create(b, headIndex, heads);
  tile.keyHead = arith::DivSIOp::create(b, multiply(tile.head, keyHeads), heads);
  tile.firstQuery = multiply(tile.blockRow, constant(queryBlock()));
  tile.queries = inside(queryCount, tile.firstQuery, queryBlock());
  tile.firstKey = firstVisibleKey(tile.firstQuery);
  tile.keyLimit = visibleKeyLimit(subtract(add(tile.firstQuery, tile.queries), constant(1)));

  Value zeroRow = LLVM::ZeroOp::create(b, rowType);
  loop(constant(0), constant(queryBlock() * headDimension / rowSize),
       [&](Value row) { storeRow(zeroRow, accumulator, row); });
  loop(constant(0), tile.queries, [&](Value row) {
    store(f32Constant(-INFINITY), maxima, row);
    store(f32Constant(0), sums, row);
  });
  if (attention.getPattern()) {
    emitList(tile, partial, /*isPartial=*/true);
    emitList(tile, full, /*isPartial=*/false);
  } else {
    emitKeys(tile, constant(0), keyCount, attention.hasMask());
  }
  emitResult(tile);
}

LLVM::LLVMFuncOp AttentionEmitter::emit() {
  begin();
  keyPanel = buffer(headDimension);
  valuePanel = buffer(headDimension);
  accumulator = buffer(queryBlock() * headDimension / rowSize);
  maxima = buffer(queryBlock() / rowSize);
  sums = buffer(queryBlock() / rowSize);
  scores = buffer(1);
  emitParameters();
  blockRows = arith::DivSIOp::create(b, add(queryCount, constant(queryBlock() - 1)), constant(queryBlock()));
  position = subtract(keyCount, queryCount);
  return finish({queryBlock(), rowSize, headDimension}, [&](Value tile) { emitTile(tile); });
}

LLVM::LLVMFuncOp sparsec::emitHostAttention(KernelOp kernel, AttentionOp attention) {
  return AttentionEmitter(kernel, attention).emit();
}
