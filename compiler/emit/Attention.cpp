// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CTA works on `tiles_per_cta` tiles side by side. A consumer group computes a tile; each of its warpgroups has 64
// queries. The last warpgroup has the producers: one warp for every consumer group, in which one thread works. A
// consumer group has two rings: one for the tile's queries, and one for the keys and values of its steps in the order
// in which the consumers need them:
//
//   K0 | K1 V0 | K2 V1 | ... | V(n-1)
//
// so that the scores of step j+1 are on their way while step j's values are multiplied. A step is one block of keys of
// the pattern, or two where they are small. Only the producer reads plan and pattern. It tells the consumers by two
// messages beside every slot: with queries the tile, with keys the blocks. Those with values say nothing, but with the
// last values that the list has ended.
//
// The order of a step is that of FlashAttention-3 (Shah et al., 2024, section 3.2): Q K(j), P V(j-1), softmax of j
// while the second product runs. Probabilities go from the accumulator layout of the first product straight into the A
// registers of the second one (PTX ISA 9.7.15.5.1).

#include "Attention.h"

#include "AttentionStore.h"
#include "Ptx.h"
#include "Ring.h"
#include "softmax/OnlineSoftmax.h"

#include "sparsec/launch_info.h"

#include <variant>

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t swizzleBytes = 128; // one row of a swizzled box
constexpr int64_t rowsPerConsumer = 64, warpsPerConsumer = 4;
constexpr int64_t threadsPerWarpgroup = 128;
constexpr int64_t turnsOfTile = 2; // warpgroups that issue products in turns
// Messages beside a slot.
constexpr int64_t endOfTiles = -1, endOfList = -1;
constexpr int64_t noIssuer = 0; // else the number of the consumer group after that
/// A read takes some 30 cycles, and products 500 to 1000.
constexpr int64_t mostReads = 64;

/// The state that the producer carries from tile to tile.
struct Feed {
  Ring::State queries, keys;
  Value tile;

  auto fields() { return std::tie(queries, keys, tile); }
};

/// The state that the producer carries from step to step.
struct Stream {
  Value ring;  // slot and phase in one register: the producer has few
  Values sent; // blocks whose values are still to be sent, noBlock at the start

  auto fields() { return std::tie(ring, sent); }
};

Value packRing(KernelBuilder &b, Ring::State ring) { return b.add(b.shiftLeft(ring.slot, 1), ring.phase); }
Ring::State unpackRing(KernelBuilder &b, Value ring) {
  Value slot = b.shiftRight(ring, 1);
  return {slot, b.bitAnd(ring, 1)};
}

/// The state that a consumer carries from tile to tile: the slots and the coordinates of the next tile.
struct NextTile {
  Ring::State queries, keys;
  Value tileRow, panel;

  auto fields() { return std::tie(queries, keys, tileRow, panel); }
};

/// The state that a consumer carries from step to step.
struct Progress {
  Ring::State ring;
  Values messages;      // of the slot that comes next: the blocks of a step, or the end
  Value output;         // accumulators of O, a struct
  Values probabilities; // of the step before, packed in pairs
  RowState rows;

  auto fields() { return std::tie(ring, messages, output, probabilities, rows); }
};

/// A tile after its last step.
struct FinishedTile {
  Ring::State keys;
  Value output;
  RowState rows;

  auto fields() { return std::tie(keys, output, rows); }
};

/// The tile that a consumer warpgroup works on.
struct ConsumerTile {
  QueryTile tile;
  Value querySlot;
  /// The queries as left operand of all products: their descriptor, or the registers of all A operands.
  std::variant<Value, Values> queries;
  Values messages; // of the first keys: the blocks of the first step, or the end
  std::unique_ptr<OnlineSoftmax> softmax;
  Value threadQuery; // the first of the thread's two queries, in the head
};

class AttentionEmitter {
public:
  explicit AttentionEmitter(AttentionContext &context)
      : context(context), b(context.b), groups(context.schedule.getTilesPerCta()),
        consumersPerTile(context.schedule.getConsumersM()), consumers(groups * consumersPerTile) {}

  void emit();

private:
  void findConsumerGroup();
  Ring ring(int64_t number, Value base);
  void initBarriers();

  // Producer.
  void emitProducer(ProducerOp op);
  TileRange tileRange();
  Feed emitProducerTile(const Feed &feed);
  Value nextTile(const TileRange &range, Value tile);
  Ring::State sendBlocks(const QueryTile &tile, const KeyLists &lists, Ring::State state);
  Stream sendStep(const QueryTile &tile, const Stream &stream, ValueRange blocks);
  Ring::State send(int64_t argument, const QueryTile &tile, ValueRange blocks, ValueRange messages, Ring::State state);
  Ring::State sendMessages(Ring &ring, ValueRange messages, Ring::State state);
  void copy(Value destination, int64_t argument, ValueRange rows, Value head, Value batch, Value barrier);

  // Consumer.
  void emitConsumer(ConsumerOp op);
  NextTile waitForTile(Ring::State queries, Ring::State keys);
  NextTile emitConsumerTile(const NextTile &next);
  ConsumerTile beginTile(const NextTile &next);
  FinishedTile emitSteps(const ConsumerTile &tile, Ring::State start);
  Progress firstStep(const ConsumerTile &tile, Ring::State state);
  Progress nextStep(const ConsumerTile &tile, Progress progress);
  Progress waitForNext(Progress progress);
  bool keepsQueries();
  bool takesTurns();
  Value turnBarrier(Value warpgroup);
  void passTurn();
  void beginProducts();
  void endProducts();
  bool yieldsToIssuer();
  Value isFirstThread();
  Value issuer() { return b.byteOffset(context.sharedMemory, context.issuerOffset()); }
  Values loadQueries(Value slot);
  Value scores(const ConsumerTile &tile, Ring::State state, ValueRange messages);
  Value accumulate(Ring::State state, ValueRange probabilities, Value output);
  ScorePositions positions(const ConsumerTile &tile, ValueRange messages);
  void release(Ring &ring, Value slot);
  void releaseQueries(const ConsumerTile &tile);
  Value rescaled(Value accumulators, const Rescaling &rescaling);

  AttentionContext &context;
  KernelBuilder &b;
  int64_t groups, consumersPerTile, consumers;
  Value isConsumer, group;                               // the number of the thread's consumer group
  std::optional<Ring> queryRing, keyRing;                // of the consumer group
  Value warpgroupRow;                                    // first row of the warpgroup in its tile
  Value turn;                                            // 0 or 1: the number of the warpgroup in its tile
  Value threadRow;                                       // first of the thread's two rows in its tile
  Value isFirstLane;                                     // of the warp
  Value queryDescriptor, keyDescriptor, valueDescriptor; // of slot 0
};

/// Warpgroup w is consumer w, the one after all consumers has the producers.
void AttentionEmitter::findConsumerGroup() {
  Value warp = ptx::broadcastFirstLane(b, b.shiftRight(context.thread, 5));
  Value consumer = b.shiftRight(warp, 2);
  isConsumer = b.less(consumer, consumers);
  Value producer = b.sub(warp, consumers * warpsPerConsumer);
  group = b.select(isConsumer, b.divide(consumer, consumersPerTile), producer);
  warpgroupRow = b.mul(b.sub(consumer, b.mul(group, consumersPerTile)), rowsPerConsumer);
}

Ring AttentionEmitter::ring(int64_t number, Value base) {
  auto op = std::next(context.program.getBody().getOps<RingOp>().begin(), number);
  return Ring(context, *op, base);
}

void AttentionEmitter::initBarriers() {
  b.ifThen(b.equal(context.thread, 0), [&] {
    for (int64_t i = 0; i < groups; ++i)
      for (int64_t number : {0, 1})
        ring(number, b.byteOffset(context.sharedMemory, i * context.tileSharedMemory()))
            .initBarriers(warpsPerConsumer * consumersPerTile);
    ptx::mbarrierInitFence(b);
    if (yieldsToIssuer())
      ptx::storeRelaxed(b, issuer(), b.i32(noIssuer));
  });
  ptx::barrierCta(b);
}

void AttentionEmitter::emit() {
  initBarriers();
  findConsumerGroup();
  Value base = b.byteOffset(context.sharedMemory, b.mul(group, context.tileSharedMemory()));
  queryRing.emplace(ring(0, base));
  keyRing.emplace(ring(1, base));
  b.ifThenElse(
      isConsumer, TypeRange(),
      [&] {
        emitConsumer(*context.program.getBody().getOps<ConsumerOp>().begin());
        return Values();
      },
      [&] {
        emitProducer(*context.program.getBody().getOps<ProducerOp>().begin());
        return Values();
      });
}

//===----------------------------------------------------------------------===//
// Producer
//===----------------------------------------------------------------------===//

void AttentionEmitter::emitProducer(ProducerOp op) {
  if (op.getRegisters())
    ptx::setRegisters(b, op.getRegisters(), /*increase=*/false);
  Value isFirst = b.equal(b.bitAnd(context.thread, 31), 0);
  b.ifThen(b.logicalAnd(isFirst, b.less(group, groups)), [&] {
    Feed begin = {queryRing->begin(), keyRing->begin(), tileRange().begin};
    Feed last = b.whileLoop(
        begin, [&](const Feed &feed) { return b.less(feed.tile, tileRange().end); },
        [&](const Feed &feed) { return emitProducerTile(feed); });
    sendMessages(*queryRing, {b.i32(endOfTiles), b.i32(0)}, last.queries);
  });
}

/// The tiles of the consumer group. Neighbours in the order of workers are on different SMs: where tiles are few, each
/// has an SM to itself. The producer has few registers: it asks anew for every tile.
TileRange AttentionEmitter::tileRange() {
  Value grid = ptx::opaque(b, ptx::gridSize(b)), block = ptx::opaque(b, ptx::blockIndex(b));
  return emitTileRange(context, b.add(b.mul(group, grid), block), b.mul(grid, groups));
}

/// The next tile, and where lists begin, are on their way while the last tile's copies are issued.
Feed AttentionEmitter::emitProducerTile(const Feed &feed) {
  TileRange range = tileRange();
  Value next = nextTile(range, feed.tile);
  auto coordinates = emitTileCoordinates(context, range, feed.tile);
  QueryTile tile = context.tile(coordinates[0], coordinates[1]);
  KeyLists lists = context.keyLists(tile);

  queryRing->waitUntilFree(feed.queries);
  queryRing->setMessages(feed.queries.slot, coordinates);
  queryRing->expect(feed.queries);
  copy(queryRing->slotPointer(0, feed.queries.slot), context.query, tile.first, tile.head, tile.batch,
       queryRing->fullBarrier(feed.queries.slot));
  Ring::State keys = sendBlocks(tile, lists, feed.keys);
  return {queryRing->advance(feed.queries), keys, next};
}

/// Where the launch has a counter, workers take tiles as they become free. Every tile that is done takes one number, so
/// that the counter is zero again at the end.
Value AttentionEmitter::nextTile(const TileRange &range, Value tile) {
  Value counter = context.parameters.workspace(
      WorkspaceAttr::get(b.getContext(), WorkspaceKind::tile_counter, /*bytes=*/sizeof(uint32_t)));
  return b.ifThenElse(
      b.isNotNull(counter), b.i32Type(),
      [&] { return Values{b.add(range.step, ptx::fetchIncrement(b, counter, b.sub(range.end, 1)))}; },
      [&] { return Values{b.add(tile, range.step)}; })[0];
}

Ring::State AttentionEmitter::sendBlocks(const QueryTile &tile, const KeyLists &lists, Ring::State state) {
  Stream begin = {packRing(b, state), Values(context.blocksPerStep, b.i32(noBlock))};
  Values carried = context.forEachStep(tile, lists, packState(begin), [&](ValueRange blocks, ValueRange carried) {
    return packState(sendStep(tile, unpackState(carried, begin), blocks));
  });
  Stream last = unpackState(carried, begin);
  Ring::State ring = unpackRing(b, last.ring);
  Values end{b.i32(endOfList), b.i32(0)};
  return b.ifThenElse(
      b.equal(last.sent[0], noBlock), ring, [&] { return sendMessages(*keyRing, end, ring); },
      [&] { return send(context.value, tile, last.sent, end, ring); });
}

/// Keys of a step, then the values of the step before.
Stream AttentionEmitter::sendStep(const QueryTile &tile, const Stream &stream, ValueRange blocks) {
  Ring::State before = unpackRing(b, stream.ring);
  Values messages(blocks);
  messages.resize(2, b.i32(noBlock));
  Ring::State ring = send(context.key, tile, blocks, messages, before);
  ring = b.ifThenElse(
      b.equal(stream.sent[0], noBlock), ring, [&] { return ring; },
      [&] { return send(context.value, tile, stream.sent, {b.i32(0), b.i32(0)}, ring); });
  return {packRing(b, ring), Values(blocks)};
}

/// Keys or values of a step, with messages for the consumers. A step that is not full gets its first block twice.
Ring::State AttentionEmitter::send(int64_t argument, const QueryTile &tile, ValueRange blocks, ValueRange messages,
                                   Ring::State state) {
  Values rows;
  for (Value block : blocks) {
    Value exists = b.compare(arith::CmpIPredicate::ne, block, b.i32(noBlock));
    Value loaded = rows.empty() ? block : b.select(exists, block, blocks[0]);
    rows.push_back(b.mul(b.shiftRight(loaded, 1), context.keyBlock));
  }
  keyRing->waitUntilFree(state);
  keyRing->setMessages(state.slot, messages);
  keyRing->expect(state);
  copy(keyRing->slotPointer(0, state.slot), argument, rows, tile.keyHead, tile.batch, keyRing->fullBarrier(state.slot));
  return keyRing->advance(state);
}

/// Fills a slot with messages alone, without bytes.
Ring::State AttentionEmitter::sendMessages(Ring &ring, ValueRange messages, Ring::State state) {
  ring.waitUntilFree(state);
  ring.setMessages(state.slot, messages);
  ptx::mbarrierArrive(b, ring.fullBarrier(state.slot), arith::ConstantOp::create(b, b.getBoolAttr(true)));
  return ring.advance(state);
}

/// Boxes of 64 elements along the head dimension, one below the other for each of `rows`. Rows beyond the tensor arrive
/// as zero.
void AttentionEmitter::copy(Value destination, int64_t argument, ValueRange rows, Value head, Value batch,
                            Value barrier) {
  int64_t inner = swizzleBytes * 8 / context.element.getIntOrFloatBitWidth();
  int64_t boxRows = argument == context.query ? context.tileRows : context.keyBlock;
  auto map = TensorMapAttr::get(b.getContext(), TensorMapKind::dense, argument, swizzleBytes, {inner, boxRows, 1, 1});
  for (int64_t panel = 0; panel < context.headDimension / inner; ++panel)
    for (auto [i, row] : llvm::enumerate(rows)) {
      int64_t offset = (panel * rows.size() + i) * boxRows * swizzleBytes;
      ptx::tensorLoad(b, b.byteOffset(destination, offset), context.parameters.tensorMap(map),
                      {b.i32(panel * inner), row, head, batch}, barrier);
    }
}

//===----------------------------------------------------------------------===//
// Consumer
//===----------------------------------------------------------------------===//

void AttentionEmitter::emitConsumer(ConsumerOp op) {
  if (op.getRegisters())
    ptx::setRegisters(b, op.getRegisters(), /*increase=*/true);
  Value warp = b.bitAnd(b.shiftRight(context.thread, 5), warpsPerConsumer - 1), lane = b.bitAnd(context.thread, 31);
  isFirstLane = b.equal(lane, 0);

  // Q and K are K-major, groups of 8 rows are 1024 bytes apart. V has the head dimension contiguous, which is N: panels
  // of 64 elements of it are the step's rows of 128 bytes apart.
  int64_t groupBytes = 8 * swizzleBytes;
  Value queries = b.byteOffset(queryRing->slotPointer(0, b.i32(0)), b.mul(warpgroupRow, swizzleBytes));
  Value keys = keyRing->slotPointer(0, b.i32(0));
  queryDescriptor = ptx::wgmmaDescriptor(b, queries, ptx::wgmmaDescriptorBits(16, groupBytes));
  keyDescriptor = ptx::wgmmaDescriptor(b, keys, ptx::wgmmaDescriptorBits(16, groupBytes));
  valueDescriptor =
      ptx::wgmmaDescriptor(b, keys, ptx::wgmmaDescriptorBits(context.tileKeys * swizzleBytes, groupBytes));
  turn = b.divide(warpgroupRow, rowsPerConsumer);
  threadRow = b.add(warpgroupRow, b.add(b.mul(warp, 16), b.shiftRight(lane, 2)));

  if (takesTurns())
    b.ifThen(b.equal(turn, 1), [&] { passTurn(); }); // the first turn
  b.whileLoop(
      waitForTile(queryRing->begin(), keyRing->begin()),
      [&](const NextTile &next) { return b.compare(arith::CmpIPredicate::ne, next.tileRow, b.i32(endOfTiles)); },
      [&](const NextTile &next) { return emitConsumerTile(next); });
}

NextTile AttentionEmitter::waitForTile(Ring::State queries, Ring::State keys) {
  queryRing->wait(queries);
  Values coordinates = queryRing->messages(queries.slot);
  return {queries, keys, coordinates[0], coordinates[1]};
}

NextTile AttentionEmitter::emitConsumerTile(const NextTile &next) {
  ConsumerTile tile = beginTile(next);
  FinishedTile none = {next.keys, b.pack(Values(context.headDimension / 2, b.f32(0))), tile.softmax->begin()};
  FinishedTile finished = b.ifThenElse(
      b.compare(arith::CmpIPredicate::ne, tile.messages[0], b.i32(endOfList)), none,
      [&] { return emitSteps(tile, next.keys); },
      [&] {
        releaseQueries(tile);
        release(*keyRing, next.keys.slot);
        return FinishedTile{keyRing->advance(next.keys), none.output, none.rows};
      });
  emitAttentionStore(context, tile.tile, tile.threadQuery, b.unpack(finished.output), finished.rows);
  return waitForTile(queryRing->advance(next.queries), finished.keys);
}

/// The tile whose queries have arrived, with the first keys there too. Queries that move to registers leave their slot
/// at once.
ConsumerTile AttentionEmitter::beginTile(const NextTile &next) {
  ConsumerTile tile;
  tile.tile = context.tile(next.tileRow, next.panel);
  tile.querySlot = next.queries.slot;
  if (keepsQueries()) {
    tile.queries = loadQueries(tile.querySlot);
    release(*queryRing, tile.querySlot);
  } else {
    tile.queries = b.add(queryDescriptor, b.extend(b.mul(tile.querySlot, queryRing->slotBytes(0) / 16)));
  }
  keyRing->wait(next.keys);
  tile.messages = keyRing->messages(next.keys.slot);
  tile.softmax = OnlineSoftmax::create(context, tile.tile);
  tile.threadQuery = b.add(tile.tile.first, threadRow);
  return tile;
}

/// The steps of a list that has blocks; the slot of the first keys is full. The queries are free when the last scores
/// are there, so that the next tile's arrive while this one is finished.
FinishedTile AttentionEmitter::emitSteps(const ConsumerTile &tile, Ring::State start) {
  Progress last = b.whileLoop(
      waitForNext(firstStep(tile, start)),
      [&](const Progress &progress) {
        return b.compare(arith::CmpIPredicate::ne, progress.messages[0], b.i32(endOfList));
      },
      [&](const Progress &progress) { return waitForNext(nextStep(tile, progress)); });
  releaseQueries(tile);

  // The values of the last step.
  Value output = ptx::wgmmaWait(b, 0, accumulate(last.ring, last.probabilities, last.output));
  release(*keyRing, last.ring.slot);
  Ring::State keys = keyRing->advance(last.ring);
  return {keys, output, finishRows(b, last.rows)};
}

/// Goes to the next slot, of which it waits for the copies, and reads its messages.
Progress AttentionEmitter::waitForNext(Progress progress) {
  progress.ring = keyRing->advance(progress.ring);
  keyRing->wait(progress.ring);
  progress.messages = keyRing->messages(progress.ring.slot);
  return progress;
}

/// Computes the probabilities of the first step. Gives the state at the slot of its keys.
Progress AttentionEmitter::firstStep(const ConsumerTile &tile, Ring::State state) {
  Progress progress;
  progress.ring = state;
  Values current = b.unpack(ptx::wgmmaWait(b, 0, scores(tile, state, tile.messages)));
  release(*keyRing, state.slot);
  progress.rows = tile.softmax->begin();
  tile.softmax->beginStep(positions(tile, tile.messages), current, progress.rows);
  progress.probabilities =
      context.packPairs(tile.softmax->finishStep(positions(tile, tile.messages), current, progress.rows));
  progress.output = b.pack(Values(context.headDimension / 2, b.f32(0)));
  return progress;
}

/// Computes the scores of a step, and multiplies the values of the step before. Gives the state at the slot of those
/// values.
Progress AttentionEmitter::nextStep(const ConsumerTile &tile, Progress progress) {
  Ring::State keys = progress.ring, values = keyRing->advance(keys);
  beginProducts();
  Value product = scores(tile, keys, progress.messages);
  keyRing->wait(values);
  Value output = accumulate(values, progress.probabilities, progress.output);
  endProducts();
  Values current = b.unpack(ptx::wgmmaWait(b, 1, product));
  release(*keyRing, keys.slot);
  Rescaling rescaling = tile.softmax->beginStep(positions(tile, progress.messages), current, progress.rows);
  auto finish = [&] { return tile.softmax->finishStep(positions(tile, progress.messages), current, progress.rows); };
  auto complete = [&] {
    output = ptx::wgmmaWait(b, 0, output);
    release(*keyRing, values.slot);
    progress.output = rescaled(output, rescaling);
  };
  // Where exponentials are behind a branch, they hide the product. Else the assembler would move the wait up before
  // them anyhow, and conversions share the instruction slots with them instead. Conversions replace the operands of the
  // product, which must be complete.
  Values probabilities;
  if (context.scoreForm.hasFixedShift()) {
    probabilities = finish();
    complete();
  } else {
    complete();
    probabilities = finish();
  }
  progress.probabilities = context.packPairs(probabilities);
  progress.ring = values;
  return progress;
}

/// One thread of every warp: all threads have read the slot's messages, which no matrix instruction orders.
void AttentionEmitter::release(Ring &ring, Value slot) {
  ptx::barrierWarp(b);
  ptx::mbarrierArrive(b, ring.emptyBarrier(slot), isFirstLane);
}

/// Releases the queries' slot, if that has not been done when they moved to registers.
void AttentionEmitter::releaseQueries(const ConsumerTile &tile) {
  if (!keepsQueries())
    release(*queryRing, tile.querySlot);
}

/// Whether the two warpgroups of a tile issue their products in turns: without, they drift into step, so that both
/// multiply and then both exponentiate. It is worth the barriers where the scores take many instructions.
bool AttentionEmitter::takesTurns() { return consumersPerTile == turnsOfTile && context.scoreForm.hasFixedShift(); }

/// One of three consumer groups lets another that issues products finish: mixed, their products would end at the
/// same time, and both groups would exponentiate at the same time. That is a courtesy and no lock: nobody waits for
/// long, and two that see no issuer both begin. So nothing depends on who has work at the time. Two consumer groups
/// lose 2 to 4 % by it, and a soft cap gains nothing.
bool AttentionEmitter::yieldsToIssuer() { return groups > 2 && !context.scoreForm.hasFixedShift(); }

void AttentionEmitter::beginProducts() {
  if (takesTurns())
    ptx::barrierNamed(b, turnBarrier(turn), consumersPerTile * threadsPerWarpgroup);
  if (!yieldsToIssuer())
    return;
  Value self = b.add(group, noIssuer + 1);
  b.whileLoop(
      b.i32(0),
      [&](ValueRange reads) {
        Value current = ptx::loadRelaxed(b, issuer());
        Value exists = b.compare(arith::CmpIPredicate::ne, current, b.i32(noIssuer));
        Value isOther = b.compare(arith::CmpIPredicate::ne, current, self);
        return b.logicalAnd(b.logicalAnd(exists, isOther), b.less(reads[0], mostReads));
      },
      [&](ValueRange reads) { return Values{b.add(reads[0], 1)}; });
  b.ifThen(isFirstThread(), [&] { ptx::storeRelaxed(b, issuer(), self); });
}

void AttentionEmitter::endProducts() {
  if (takesTurns())
    passTurn();
  if (yieldsToIssuer())
    b.ifThen(isFirstThread(), [&] { ptx::storeRelaxed(b, issuer(), b.i32(noIssuer)); });
}

/// Whether the thread is the first one of its warpgroup.
Value AttentionEmitter::isFirstThread() { return b.equal(b.bitAnd(context.thread, threadsPerWarpgroup - 1), 0); }

/// The named barrier that says that it is the turn of warpgroup 0 or 1 of the tile. Tiles side by side in a CTA have
/// different numbers of steps: each has its own two, after barrier 0 of the whole CTA.
Value AttentionEmitter::turnBarrier(Value warpgroup) {
  Value number = b.add(warpgroup, 1);
  return groups == 1 ? number : b.add(number, b.mul(group, turnsOfTile));
}

void AttentionEmitter::passTurn() {
  ptx::barrierNamedArrive(b, turnBarrier(b.sub(b.i32(1), turn)), consumersPerTile * threadsPerWarpgroup);
}

ScorePositions AttentionEmitter::positions(const ConsumerTile &tile, ValueRange messages) {
  Value column = b.shiftLeft(b.bitAnd(context.thread, 3), 1);
  SmallVector<ScorePositions::Block, 2> blocks;
  for (Value block : messages.take_front(context.blocksPerStep))
    blocks.push_back({b.add(b.mul(b.shiftRight(block, 1), context.keyBlock), column), b.equal(b.bitAnd(block, 1), 1)});
  return ScorePositions(context, tile.threadQuery, blocks);
}

/// Where a step has 64 keys, there are registers for the queries: their slot is free at once, and each product reads
/// half as much of shared memory.
bool AttentionEmitter::keepsQueries() { return context.tileKeys == 64 && context.headDimension == 128; }

/// The queries of the warp as A operands: 16 rows x 16 elements in four registers. Lanes 0 to 15 point to the rows, the
/// others to the same rows 16 bytes on; the swizzle mixes the number of a 16-byte vector with the row.
Values AttentionEmitter::loadQueries(Value slot) {
  Value lane = b.bitAnd(context.thread, 31), warp = b.bitAnd(b.shiftRight(context.thread, 5), warpsPerConsumer - 1);
  Value row = b.add(b.mul(warp, 16), b.bitAnd(lane, 15)), half = b.shiftRight(lane, 4);
  Value rowPointer = b.byteOffset(queryRing->slotPointer(0, slot), b.mul(b.add(warpgroupRow, row), swizzleBytes));
  Values fragments;
  for (int64_t k = 0; k < context.headDimension / 16; ++k) {
    Value vector = b.bitXor(b.add(half, k % 4 * 2), b.bitAnd(row, 7));
    Value panel = b.byteOffset(rowPointer, k / 4 * context.tileRows * swizzleBytes);
    llvm::append_range(fragments, ptx::loadMatrix(b, b.byteOffset(panel, b.shiftLeft(vector, 4)), 4, false));
  }
  return fragments;
}

/// Q K of one step, as one group of matrix instructions.
Value AttentionEmitter::scores(const ConsumerTile &tile, Ring::State state, ValueRange messages) {
  int64_t keys = context.tileKeys, perPanel = 64 / 16; // chains of 16 in a panel of 64
  Value key = b.add(keyDescriptor, b.extend(b.mul(state.slot, keyRing->slotBytes(0) / 16)));
  Type type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(keys / 2, b.getF32Type()));
  bool hasBias = context.scoreForm.bias.has_value();
  Value sums = hasBias ? b.pack(tile.softmax->initialProducts(positions(tile, messages), keys / 2))
                       : LLVM::UndefOp::create(b, type);
  ptx::wgmmaFence(b);
  for (int64_t k = 0; k < context.headDimension / 16; ++k) {
    int64_t panel = k / perPanel, inPanel = k % perPanel * 2; // in units of 16 bytes
    Value keyOperand = b.add(key, panel * keys * swizzleBytes / 16 + inPanel);
    bool accumulates = k > 0 || hasBias;
    if (auto *registers = std::get_if<Values>(&tile.queries))
      sums = ptx::wgmmaFromRegisters(b, keys, context.element, sums, ValueRange(*registers).slice(4 * k, 4), keyOperand,
                                     /*bNMajor=*/false, accumulates);
    else
      sums = ptx::wgmma(b, keys, context.element, sums,
                        b.add(std::get<Value>(tile.queries), panel * context.tileRows * swizzleBytes / 16 + inPanel),
                        keyOperand, /*bNMajor=*/false, accumulates);
  }
  ptx::wgmmaCommit(b);
  return sums;
}

/// output + P V of one step, as one group of matrix instructions.
Value AttentionEmitter::accumulate(Ring::State state, ValueRange probabilities, Value output) {
  Value value = b.add(valueDescriptor, b.extend(b.mul(state.slot, keyRing->slotBytes(0) / 16)));
  ptx::wgmmaFence(b);
  for (int64_t k = 0; k < context.tileKeys / 16; ++k)
    output = ptx::wgmmaFromRegisters(b, context.headDimension, context.element, output, probabilities.slice(4 * k, 4),
                                     b.add(value, k * 16 * swizzleBytes / 16), /*bNMajor=*/true);
  ptx::wgmmaCommit(b);
  return output;
}

Value AttentionEmitter::rescaled(Value accumulators, const Rescaling &rescaling) {
  return b.ifThenElse(
      rescaling.isNeeded, accumulators.getType(),
      [&] { return Values{b.pack(rescaling.apply(b, b.unpack(accumulators)))}; },
      [&] { return Values{accumulators}; })[0];
}

} // namespace

int64_t sparsec::attentionThreads(ScheduleAttr schedule) {
  return threadsPerWarpgroup * (schedule.getConsumersM() * schedule.getTilesPerCta() + 1);
}

void sparsec::emitAttention(AttentionContext &context) { AttentionEmitter(context).emit(); }
