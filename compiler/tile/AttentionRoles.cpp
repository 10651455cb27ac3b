// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile has two rings: one for its queries, and one for the keys and values of its steps in the order in which the
// consumers need them:
//
//   K0 | K1 V0 | K2 V1 | ... | V(n-1)
//
// so that the scores of step j + 1 are on their way while the values of step j are multiplied. A step is one block of
// keys of the pattern, two where they are small, or a part of one where heads are wide. Only producers read plan and
// pattern. The first one tells the consumers by two messages beside every slot.

#include "AttentionRoles.h"

#include "AttentionParts.h"
#include "ScheduleAttribute.h"

using namespace mlir;
using namespace sparsec;

AttentionParts::AttentionParts(ProgramOp program)
    : schedule(program.getSchedule()), isSplit(program.getSplit()), isCut(program.getCut()),
      isJoint(schedule.getWalk() == Walk::joint), tileLoop(*program.getBody().getOps<TileLoopOp>().begin()),
      keyLoop(*tileLoop.getBody().getOps<KeyLoopOp>().begin()), softmax(*keyLoop.getBody().getOps<SoftmaxOp>().begin()),
      store(*tileLoop.getBody().getOps<StoreRowsOp>().begin()), keyBlock(schedule.getTileN()) {
  LoadRowsOp queries = *tileLoop.getBody().getOps<LoadRowsOp>().begin();
  auto loads = llvm::to_vector(keyLoop.getBody().getOps<LoadRowsOp>());
  query = queries.getSource();
  key = loads[0].getSource();
  value = loads[1].getSource();
  element = queries.getType().getElementType();
  headDimension = queries.getType().getColumns();
  valueDimension = loads[1].getType().getColumns();
  if (Value pattern = keyLoop.getPattern())
    keyBlock = std::min<int64_t>(keyBlock, cast<PatternType>(pattern.getType()).getKeyBlock());
  blocksPerStep = schedule.getTileN() / keyBlock;
  chunks = keyLoop.getChunks();
}

Value AttentionParts::makeRing(ImplicitLocOpBuilder &b, StringRef name, int64_t stages, int64_t rows, int64_t columns,
                               bool hasMessages) {
  auto buffer = bufferOf(schedule, rows, columns, element);
  return RingOp::create(b, RingType::get(b.getContext(), stages, {buffer}), b.getStringAttr(name), hasMessages);
}

SmallVector<Value> SequenceTile::sizes() {
  return sequence ? SmallVector<Value>{sequence.getQueries(), sequence.getKeys()} : SmallVector<Value>();
}

SmallVector<Value> SequenceTile::partOfKeys() {
  if (firstBlock)
    return {firstBlock, blocks};
  return part ? SmallVector<Value>{part.getPart(), part.getParts()} : SmallVector<Value>();
}

TilePartOp AttentionParts::makePart(ImplicitLocOpBuilder &b, Value &panel) {
  if (!isSplit)
    return {};
  auto part = TilePartOp::create(b, panel);
  panel = part.getPanel();
  return part;
}

SequenceTile AttentionParts::makeTile(ImplicitLocOpBuilder &b, TilePartOp part, Value tileRow, Value panel) {
  SequenceTile made;
  made.part = part;
  made.tile = QueryTileOp::create(b, query, key, tileRow, panel, schedule.getTileM(), /*forward=*/hasPackedQueries());
  if (hasSequences())
    made.sequence = SequenceOp::create(b, query, key, made.tile.getBatch(), keyLoop.getQueryStarts(),
                                       keyLoop.getKeyStarts(), keyLoop.getKeyLengths(), keyLoop.getPageTable());
  return made;
}

Value AttentionParts::makeLists(ImplicitLocOpBuilder &b, QueryTileOp tile) {
  Value pattern = keyLoop.getPattern();
  if (isJoint)
    return JointListOp::create(b, pattern, tile.getBatch(), tile.getHead(), tile.getFirst());
  return pattern ? KeyListsOp::create(b, pattern, tile.getBatch(), tile.getHead(), tile.getFirst(),
                                      /*packed=*/hasPackedQueries())
                 : Value();
}

AttentionParts::KeyBlock AttentionParts::makeKeyBlock(ImplicitLocOpBuilder &b, Value block, Value row, int64_t keys) {
  if (isJoint) {
    auto made = JointBlockOp::create(b, block, row, keys);
    return {made.getKey(), made.getPartial()};
  }
  auto made = KeyBlockOp::create(b, block, keys);
  return {made.getKey(), made.getPartial()};
}

Value AttentionParts::makeWalk(ImplicitLocOpBuilder &b, SequenceTile tile, Value lists) {
  if (isJoint)
    return JointWalkOp::create(b, lists, blocksPerStep);
  return KeyWalkOp::create(b, lists, tile.tile.getFirst(), tile.sizes(), tile.partOfKeys(), schedule.getTileM(),
                           blocksPerStep, chunks, keyLoop.getCausal(), keyLoop.getWindowAttr(), startsAtEnd(),
                           partBlocks());
}

SmallVector<Value> AttentionParts::queryCoordinates(ImplicitLocOpBuilder &b, const SequenceTile &tile, Value row) {
  QueryTileOp at = tile.tile;
  SequenceOp sequence = tile.sequence;
  if (hasPackedQueries())
    return {i32(b, 0), at.getHead(), add(b, sequence.getQueryRow(), row), i32(b, 0)};
  return {at.getBatch(), at.getHead(), row, i32(b, 0)};
}

SmallVector<Value> AttentionParts::keyCoordinates(ImplicitLocOpBuilder &b, const SequenceTile &tile, Value first) {
  QueryTileOp at = tile.tile;
  SequenceOp sequence = tile.sequence;
  if (Value table = keyLoop.getPageTable()) {
    auto page = FindPageOp::create(b, table, key, at.getBatch(), first, sequence.getKeys());
    return {page.getPage(), at.getKeyHead(), page.getPageRow(), i32(b, 0)};
  }
  if (keyLoop.getKeyStarts())
    return {i32(b, 0), at.getKeyHead(), add(b, sequence.getKeyRow(), first), i32(b, 0)};
  return {at.getBatch(), at.getKeyHead(), first, i32(b, 0)};
}

int64_t AttentionParts::contiguousKeys(int64_t keys) {
  return keyLoop.getPageTable() ? std::min(keys, cast<RankedTensorType>(key.getType()).getDimSize(2)) : keys;
}

bool AttentionParts::startsAhead() {
  return headDimension == 128 && schedule.getConsumersM() > 1 && !keepsQueries() && !isSplit && !hasSequences() &&
         softmax.getScore().empty() && softmax.getMask().empty();
}

int64_t AttentionParts::producers() {
  constexpr int64_t leastParts = 2;
  if (int64_t(schedule.getConcurrentTiles()) > 1)
    return 1;
  return std::clamp<int64_t>(int64_t(schedule.getTileN()) / contiguousKeys(keyBlock) / leastParts, 1,
                             RoleOp::warpsOfWarpgroup);
}

void AttentionParts::makeStore(ImplicitLocOpBuilder &b, const SequenceTile &tile, Value row, Value output,
                               Value state) {
  SmallVector<Value> at = queryCoordinates(b, tile, row);
  at.pop_back(); // whole rows
  SequenceOp sequence = tile.sequence;
  Value end = hasPackedQueries() ? add(b, sequence.getQueryRow(), sequence.getQueries()) : Value();
  if (SequenceTile made = tile; isSplit)
    StorePartOp::create(b, output, state, at[0], at[1], at[2], made.partOfKeys(), store.getResult(), end,
                        store.getLse(), store.getSinks());
  else
    StoreRowsOp::create(b, output, state, at, store.getResult(), end, store.getLse(), store.getSinks());
}

void sparsec::splitAttentionRoles(ProgramOp program) {
  AttentionParts parts(program);
  ScheduleAttr schedule = parts.schedule;
  ImplicitLocOpBuilder b(program.getLoc(), program.getContext());
  b.setInsertionPoint(parts.tileLoop);
  int64_t stagesOfQueries = queryStages(toSchedule(schedule));
  auto ring = [&](StringRef name, int64_t stages, int64_t rows, int64_t columns) {
    return parts.makeRing(b, name, stages, rows, columns, /*hasMessages=*/true);
  };
  parts.queryRing = ring("query_ring", stagesOfQueries, schedule.getTileM(), parts.headDimension);
  parts.keyRing =
      ring("key_ring", schedule.getStages(), schedule.getTileN(), std::max(parts.headDimension, parts.valueDimension));
  parts.valueRing = parts.keyRing;
  makeRole(b, "consumer", RoleUnit::warpgroup, schedule.getConsumersM(), schedule.getConsumerRegisters(),
           [&] { buildAttentionConsumer(b, parts); });
  for (int64_t number = 0; number < parts.producers(); ++number)
    makeRole(b, number == 0 ? "producer" : "producer" + std::to_string(number), RoleUnit::thread, 1,
             schedule.getProducerRegisters(), [&] { buildAttentionProducer(b, parts, number); });
  parts.tileLoop.erase();
}
