// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which keys a tile visits: the lists of its block row, and what causal and window allow.

#include "host/HostQueries.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace sparsec;

bool HostQueries::translateOther(Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case<TileOp, KeyLoopOp, LoadRowsOp, ZeroOp, ChainOp, SoftmaxBeginOp, SoftmaxOp, FragmentChainOp, StoreRowsOp>(
          [&](auto known) { return emit(known), true; })
      .Default(false);
}

//===----------------------------------------------------------------------===//
// Visible keys
//===----------------------------------------------------------------------===//

int64_t HostQueries::rightLimit() {
  if (keyLoop.getCausal())
    return 0;
  return keyLoop.getWindow() ? (*keyLoop.getWindow())[1] : -1;
}

int64_t HostQueries::leftLimit() { return keyLoop.getWindow() ? (*keyLoop.getWindow())[0] : -1; }

Value HostQueries::firstVisibleKey(const Sequence &sequence, Value query) {
  if (leftLimit() == -1)
    return constant(0);
  return larger(constant(0), subtract(add(query, sequence.position), constant(leftLimit())));
}

Value HostQueries::visibleKeyLimit(const Sequence &sequence, Value query) {
  if (rightLimit() == -1)
    return sequence.keys;
  return smaller(sequence.keys, add(add(query, sequence.position), constant(rightLimit() + 1)));
}

/// The queries of a group that see a key are neighbours: those from k - right on up to k + left.
HostQueries::Lanes HostQueries::lanesThatSee(const QueryTile &tile, const Group &group, Value key) {
  Value own = subtract(subtract(key, tile.sequence.position), group.firstQuery);
  auto inside = [&](Value lane) { return larger(constant(0), smaller(group.queries, lane)); };
  Lanes lanes{constant(0), group.queries};
  if (rightLimit() != -1)
    lanes.begin = inside(subtract(own, constant(rightLimit())));
  if (leftLimit() != -1)
    lanes.end = inside(add(own, constant(leftLimit() + 1)));
  return lanes;
}

Value HostQueries::isOf(const Lanes &lanes) {
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

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void HostQueries::emit(TileOp op) {
  Value row = number(op.getTileRow()), panel = number(op.getPanel());
  QueryTile tile;
  tile.head = arith::RemSIOp::create(b, row, heads());
  QueryBlock block{arith::DivSIOp::create(b, row, heads()), panel};
  if (isPacked())
    block = blockOfPanel(panel);
  tile.block = block.block;
  tile.sequence = sequenceOf(block.sequence);
  tile.keyHead = arith::DivSIOp::create(b, multiply(tile.head, keyHeads()), heads());
  tile.firstQuery = multiply(tile.block, constant(queryBlock()));
  tile.queries = inside(tile.sequence.queries, tile.firstQuery, queryBlock());
  tile.firstKey = firstVisibleKey(tile.sequence, tile.firstQuery);
  tile.keyLimit = visibleKeyLimit(tile.sequence, subtract(add(tile.firstQuery, tile.queries), constant(1)));
  // A panel of packed queries may be behind its sequence.
  if (isPacked()) {
    Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, tile.queries, constant(0));
    tile.keyLimit = select(isThere, tile.keyLimit, constant(0));
  }
  set(op.getResult(), tile);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

Value HostQueries::patternParameter(Type type, sparsec_field_t field) {
  return parameter(type, ParameterKind::pattern_field, argumentOf(keyLoop.getPattern()), field);
}

Value HostQueries::patternIndex(sparsec_field_t field) {
  return indexParameter(ParameterKind::pattern_field, argumentOf(keyLoop.getPattern()), field);
}

void HostQueries::emit(KeyLoopOp op) {
  auto tile = get<QueryTile>(op.getTile());
  carry(op.getInits(), op.getBody().getArguments().drop_front());
  if (op.getPattern()) {
    emitList(tile, {SPARSEC_FIELD_PARTIAL_STARTS, SPARSEC_FIELD_PARTIAL_INDICES, /*isPartial=*/true});
    emitList(tile, {SPARSEC_FIELD_FULL_STARTS, SPARSEC_FIELD_FULL_INDICES, /*isPartial=*/false});
  } else {
    emitKeys(tile, constant(0), tile.sequence.keys, /*isPartial=*/true);
  }
  carry(op.getInits(), op.getResults());
}

/// The number of the tile's list. One list may serve all batches or all heads.
Value HostQueries::listNumber(const QueryTile &tile, Value rows) {
  auto broadcast = [&](Value count, Value index) {
    Value isOne = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, constant(1));
    return select(isOne, constant(0), index);
  };
  Value batches = patternIndex(SPARSEC_FIELD_BATCHES), headsOfPattern = patternIndex(SPARSEC_FIELD_HEADS);
  Value batch = broadcast(batches, tile.sequence.number), head = broadcast(headsOfPattern, tile.head);
  return add(multiply(add(multiply(batch, headsOfPattern), head), rows), tile.block);
}

/// Where in the indices a list begins and ends. Counts have one entry less than starts.
std::pair<Value, Value> HostQueries::listRange(Value starts, Value list) {
  Value encoding = patternParameter(i32, SPARSEC_FIELD_ENCODING);
  Value isPadded = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, encoding,
                                         arith::ConstantIntOp::create(b, SPARSEC_PATTERN_PADDED_LISTS, 32));
  Value first = loadIndex(starts, list);
  Value next = loadIndex(starts, select(isPadded, list, add(list, constant(1))));
  Value begin = select(isPadded, multiply(list, patternParameter(i64, SPARSEC_FIELD_CAPACITY)), first);
  return {begin, select(isPadded, add(begin, first), next)};
}

void HostQueries::emitList(const QueryTile &tile, const BlockLists &lists) {
  Value starts = patternParameter(pointer, lists.starts), indices = patternParameter(pointer, lists.indices);
  Value none = LLVM::ZeroOp::create(b, pointer), rows = panels();
  Value hasLists = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, starts, none);
  if (isPacked()) { // a sequence may have more queries than the pattern has rows
    Value queries = add(sizeOf(keyLoop.getPattern(), 0), constant(queryBlock() - 1));
    rows = arith::DivSIOp::create(b, queries, constant(queryBlock()));
    hasLists =
        arith::AndIOp::create(b, hasLists, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, tile.block, rows));
  }
  auto exists = scf::IfOp::create(b, hasLists);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(exists.thenBlock());
  auto [begin, end] = listRange(starts, listNumber(tile, rows));
  Value size = constant(cast<PatternType>(keyLoop.getPattern().getType()).getKeyBlock());
  loop(begin, end, [&](Value entry) {
    Value firstKey = multiply(loadIndex(indices, entry), size);
    emitKeys(tile, firstKey, add(firstKey, size), lists.isPartial);
  });
}

/// Visits [firstKey, keyLimit), as far as some query of the tile may see it. firstKey is a multiple of the keys of a
/// step.
void HostQueries::emitKeys(const QueryTile &tile, Value firstKey, Value keyLimit, bool isPartial) {
  int64_t keysOfStep = program.getSchedule().getTileN();
  Value size = constant(keysOfStep);
  Value begin = arith::DivSIOp::create(b, larger(firstKey, tile.firstKey), size);
  Value limit = larger(constant(0), smaller(keyLimit, tile.keyLimit));
  Value end = arith::DivSIOp::create(b, add(limit, constant(keysOfStep - 1)), size);
  loop(begin, end, [&](Value index) {
    Value first = multiply(index, size);
    emitStep(tile, {first, inside(tile.sequence.keys, first, keysOfStep), isPartial, {}});
  });
}

/// Loads come before the groups of queries, which share them.
void HostQueries::emitStep(const QueryTile &tile, Keys keys) {
  Block &body = keyLoop.getBody().front();
  Value block = body.getArgument(0);
  set(block, keys);
  for (auto load : body.getOps<LoadRowsOp>())
    emit(load);
  forGroups(tile, [&](Group group) {
    keys.group = group;
    ifVisible(tile, keys, [&] {
      set(block, keys);
      for (Operation &op : body.without_terminator())
        if (!isa<LoadRowsOp>(op))
          translate(op);
    });
  });
}

/// Finds the keys that the queries of a group may see, and emits the body for these if there are some. The ops of a
/// step do not say which keys these are: that follows from causal and window of the walk.
void HostQueries::ifVisible(const QueryTile &tile, Keys &keys, llvm::function_ref<void()> body) {
  Group &group = keys.group;
  group.begin = constant(0);
  group.end = keys.count;
  if (!isClipped())
    return body();
  Value lastQuery = subtract(add(group.firstQuery, group.queries), constant(1));
  group.begin = larger(constant(0), subtract(firstVisibleKey(tile.sequence, group.firstQuery), keys.first));
  group.end = smaller(keys.count, subtract(visibleKeyLimit(tile.sequence, lastQuery), keys.first));
  Value isVisible = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, group.begin, group.end);
  auto seesSome = scf::IfOp::create(b, isVisible);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(seesSome.thenBlock());
  body();
}
