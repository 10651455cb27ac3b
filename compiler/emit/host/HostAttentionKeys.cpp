// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which keys a tile visits: the lists of its block row, and what causal and window allow.

#include "host/HostAttention.h"

#include "sparsec/launch_info.h"

#include <numeric>

using namespace mlir;
using namespace sparsec;

Value HostAttention::firstVisibleKey(Value query) {
  if (attention.getWindowLeft() == -1)
    return constant(0);
  return larger(constant(0), subtract(add(query, sequence.position), constant(attention.getWindowLeft())));
}

Value HostAttention::visibleKeyLimit(Value query) {
  if (rightLimit() == -1)
    return sequence.keys;
  return smaller(sequence.keys, add(add(query, sequence.position), constant(rightLimit() + 1)));
}

/// The queries of a group that see a key are neighbours: those from k - right on up to k + left.
HostAttention::Lanes HostAttention::lanesThatSee(const Group &group, Value key) {
  Value own = subtract(subtract(key, sequence.position), group.firstQuery);
  auto inside = [&](Value lane) { return larger(constant(0), smaller(group.queries, lane)); };
  Lanes lanes{constant(0), group.queries};
  if (rightLimit() != -1)
    lanes.begin = inside(subtract(own, constant(rightLimit())));
  if (attention.getWindowLeft() != -1)
    lanes.end = inside(add(own, constant(attention.getWindowLeft() + 1)));
  return lanes;
}

Value HostAttention::isOf(const Lanes &lanes) {
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
std::pair<Value, Value> HostAttention::emitListRange(const BlockLists &lists, Value list) {
  Value isPadded = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, encoding,
                                         arith::ConstantIntOp::create(b, SPARSEC_PATTERN_PADDED_LISTS, 32));
  Value first = loadIndex(lists.starts, list);
  Value next = loadIndex(lists.starts, select(isPadded, list, add(list, constant(1))));
  Value begin = select(isPadded, multiply(list, capacity), first);
  return {begin, select(isPadded, add(begin, first), next)};
}

void HostAttention::emitList(const Tile &tile, const BlockLists &lists, bool isPartial) {
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
void HostAttention::emitKeys(const Tile &tile, Value firstKey, Value keyLimit, bool isMasked) {
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

/// Keys beyond Skv keep what was there before: they only reach scores that are not used.
void HostAttention::emitUnpack(const Tile &tile, const Chunk &chunk) {
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
