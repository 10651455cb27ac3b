// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CTA works on `tiles_per_cta` tiles side by side. A team of consumer warpgroups, each with 64 queries, does a tile,
// and the last warpgroup has the producers: of a warp for every team one thread works. A team has two rings: the tile's
// queries, and the keys and values of its steps in the order in which the consumers need them:
//
//   K0 | K1 V0 | K2 V1 | ... | V(n-1)
//
// so that the scores of step j+1 are on their way while step j's values are multiplied. A step is one block of keys of
// the pattern, or two where they are small. Only the producer reads plan and pattern. It tells the consumers by two
// words beside every slot: with queries the tile, with keys the blocks; values have no words, and the last ones tell
// that the list has ended.
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

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t swizzleBytes = 128; // one row of a swizzled box
constexpr int64_t rowsPerConsumer = 64, warpsPerConsumer = 4;
constexpr int64_t threadsPerWarpgroup = 128;
constexpr int64_t turnsOfTile = 2; // warpgroups that issue products in turns
// Words beside a slot.
constexpr int64_t endOfTiles = -1, endOfList = -1;
constexpr int64_t noIssuer = 0; // else the number of the team after that
/// A read takes some 30 cycles, and products 500 to 1000.
constexpr int64_t mostReads = 64;

/// What a warpgroup carries from step to step.
struct Progress {
  Ring::State ring;
  Values words;         // of the slot that comes next: the blocks of a step, or the end
  Value output;         // accumulators of O, a struct
  Values probabilities; // of the step before, packed in pairs
  RowState rows;

  Values values() const {
    Values all = ring.values();
    all.append(words);
    all.push_back(output);
    all.append(probabilities);
    all.append(rows.m);
    all.append(rows.l);
    return all;
  }
  static Progress from(ValueRange values) {
    Progress progress;
    progress.ring = Ring::State(values.take_front(2));
    progress.words = Values(values.slice(2, 2));
    progress.output = values[4];
    ValueRange rest = values.drop_front(5);
    progress.probabilities = Values(rest.drop_back(4));
    progress.rows.m = Values(rest.take_back(4).take_front(2));
    progress.rows.l = Values(rest.take_back(2));
    return progress;
  }
};

/// What the producer carries from tile to tile.
struct Feed {
  Ring::State queries, keys;
  Value tile;

  Values values() const {
    Values all = queries.values();
    llvm::append_range(all, keys.values());
    all.push_back(tile);
    return all;
  }
  static Feed from(ValueRange values) {
    return {Ring::State(values.take_front(2)), Ring::State(values.slice(2, 2)), values[4]};
  }
};

/// What the producer carries from step to step: the ring, and the blocks whose values are still to be sent, noBlock at
/// the start. The ring takes one register: the producer has few.
struct Stream {
  Ring::State ring;
  Values sent;

  Values values(KernelBuilder &b) const {
    Values all{b.add(b.shiftLeft(ring.slot, 1), ring.phase)};
    all.append(sent);
    return all;
  }
  static Stream from(KernelBuilder &b, ValueRange values) {
    Values ring{b.shiftRight(values[0], 1), b.bitAnd(values[0], 1)};
    return {Ring::State(ring), Values(values.drop_front())};
  }
};

class AttentionEmitter {
public:
  explicit AttentionEmitter(AttentionContext &context)
      : context(context), b(context.b), teams(context.schedule.getTilesPerCta()),
        consumersPerTile(context.schedule.getConsumersM()), consumers(teams * consumersPerTile) {}

  void emit();

private:
  void findTeam();
  Ring ring(int64_t number, Value base);
  void initBarriers();

  // Producer.
  void emitProducer(ProducerOp op);
  TileRange tileRange();
  Feed emitProducerTile(Feed feed);
  Value nextTile(const TileRange &range, Value tile);
  Ring::State sendBlocks(const QueryTile &tile, const KeyLists &lists, Ring::State state);
  Stream sendStep(const QueryTile &tile, Stream stream, ValueRange blocks);
  Ring::State send(int64_t argument, const QueryTile &tile, ValueRange blocks, ValueRange words, Ring::State state);
  Ring::State sendWords(Ring &ring, ValueRange words, Ring::State state);
  void copy(Value destination, int64_t argument, ValueRange rows, Value head, Value batch, Value barrier);

  // Consumer.
  void emitConsumer(ConsumerOp op);
  Values emitConsumerTile(ValueRange carried);
  Values waitForTile(Ring::State queries, Ring::State keys);
  Progress emitSteps(OnlineSoftmax &softmax, Ring::State queries, Ring::State start, ValueRange words);
  Progress firstStep(OnlineSoftmax &softmax, Ring::State state, ValueRange words);
  Progress nextStep(OnlineSoftmax &softmax, Progress progress);
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
  Value scores(OnlineSoftmax &softmax, Ring::State state, ValueRange words);
  Value accumulate(Ring::State state, ValueRange probabilities, Value output);
  ScorePositions positions(ValueRange words);
  void release(Ring &ring, Value slot);
  Value rescaled(Value accumulators, const Rescaling &rescaling);

  AttentionContext &context;
  KernelBuilder &b;
  int64_t teams, consumersPerTile, consumers;
  Value isConsumer, team;
  std::optional<Ring> queryRing, keyRing;                // of the team
  Value turn;                                            // 0 or 1: the number of the warpgroup in its tile
  Value firstRow;                                        // of the warpgroup, in its tile
  Value isFirstLane, firstQuery;                         // of the thread, in its tile
  Value queryOfThread;                                   // the same in its head
  Value queryDescriptor, keyDescriptor, valueDescriptor; // of slot 0
  // Of the tile's queries: a descriptor, or A operands of all products.
  Value tileDescriptor;
  Values tileFragments;
};

/// Warpgroup w is consumer w, the one after all consumers has the producers.
void AttentionEmitter::findTeam() {
  Value warp = ptx::broadcastFirstLane(b, b.shiftRight(context.thread, 5));
  Value consumer = b.shiftRight(warp, 2);
  isConsumer = b.less(consumer, consumers);
  Value producer = b.sub(warp, consumers * warpsPerConsumer);
  team = b.select(isConsumer, b.divide(consumer, consumersPerTile), producer);
  firstQuery = b.mul(b.sub(consumer, b.mul(team, consumersPerTile)), rowsPerConsumer);
}

Ring AttentionEmitter::ring(int64_t number, Value base) {
  auto op = std::next(context.program.getBody().getOps<RingOp>().begin(), number);
  return Ring(context, *op, base);
}

void AttentionEmitter::initBarriers() {
  b.ifThen(b.equal(context.thread, 0), [&] {
    for (int64_t i = 0; i < teams; ++i)
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
  findTeam();
  Value base = b.byteOffset(context.sharedMemory, b.mul(team, context.tileSharedMemory()));
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
  b.ifThen(b.logicalAnd(isFirst, b.less(team, teams)), [&] {
    Feed begin = {queryRing->begin(), keyRing->begin(), tileRange().begin};
    auto last = b.whileLoop(
        begin.values(), [&](ValueRange values) { return b.less(Feed::from(values).tile, tileRange().end); },
        [&](ValueRange values) { return emitProducerTile(Feed::from(values)).values(); });
    sendWords(*queryRing, {b.i32(endOfTiles), b.i32(0)}, Feed::from(last).queries);
  });
}

/// The team's tiles. Neighbours in the order of workers are on different SMs: where tiles are few, each has an SM to
/// itself. The producer has few registers: it asks anew for every tile.
TileRange AttentionEmitter::tileRange() {
  Value grid = ptx::opaque(b, ptx::gridSize(b)), block = ptx::opaque(b, ptx::blockIndex(b));
  return emitTileRange(context, b.add(b.mul(team, grid), block), b.mul(grid, teams));
}

/// The next tile, and where lists begin, are on their way while the last tile's copies are issued.
Feed AttentionEmitter::emitProducerTile(Feed feed) {
  TileRange range = tileRange();
  Value next = nextTile(range, feed.tile);
  auto coordinates = emitTileCoordinates(context, range, feed.tile);
  QueryTile tile = context.tile(coordinates[0], coordinates[1]);
  KeyLists lists = context.keyLists(tile);

  queryRing->waitUntilFree(feed.queries);
  queryRing->setWords(feed.queries.slot, coordinates);
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
  Stream stream = {state, Values(context.blocksPerStep, b.i32(noBlock))};
  Values result = context.forEachStep(tile, lists, stream.values(b), [&](ValueRange blocks, ValueRange carried) {
    return sendStep(tile, Stream::from(b, carried), blocks).values(b);
  });
  stream = Stream::from(b, result);
  Values end{b.i32(endOfList), b.i32(0)};
  auto ended = b.ifThenElse(
      b.equal(stream.sent[0], noBlock), {b.i32Type(), b.i32Type()},
      [&] { return sendWords(*keyRing, end, stream.ring).values(); },
      [&] { return send(context.value, tile, stream.sent, end, stream.ring).values(); });
  return Ring::State(ended);
}

/// Keys of a step, then the values of the step before.
Stream AttentionEmitter::sendStep(const QueryTile &tile, Stream stream, ValueRange blocks) {
  Values words(blocks);
  words.resize(2, b.i32(noBlock));
  Ring::State ring = send(context.key, tile, blocks, words, stream.ring);
  auto sent = b.ifThenElse(
      b.equal(stream.sent[0], noBlock), {b.i32Type(), b.i32Type()}, [&] { return ring.values(); },
      [&] { return send(context.value, tile, stream.sent, {b.i32(0), b.i32(0)}, ring).values(); });
  return {Ring::State(sent), Values(blocks)};
}

/// Keys or values of a step, with words for the consumers. A step that is not full gets its first block twice.
Ring::State AttentionEmitter::send(int64_t argument, const QueryTile &tile, ValueRange blocks, ValueRange words,
                                   Ring::State state) {
  Values rows;
  for (Value block : blocks) {
    Value exists = b.compare(arith::CmpIPredicate::ne, block, b.i32(noBlock));
    Value loaded = rows.empty() ? block : b.select(exists, block, blocks[0]);
    rows.push_back(b.mul(b.shiftRight(loaded, 1), context.keyBlock));
  }
  keyRing->waitUntilFree(state);
  keyRing->setWords(state.slot, words);
  keyRing->expect(state);
  copy(keyRing->slotPointer(0, state.slot), argument, rows, tile.keyHead, tile.batch, keyRing->fullBarrier(state.slot));
  return keyRing->advance(state);
}

/// A slot without bytes.
Ring::State AttentionEmitter::sendWords(Ring &ring, ValueRange words, Ring::State state) {
  ring.waitUntilFree(state);
  ring.setWords(state.slot, words);
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
  Value queries = b.byteOffset(queryRing->slotPointer(0, b.i32(0)), b.mul(firstQuery, swizzleBytes));
  Value keys = keyRing->slotPointer(0, b.i32(0));
  queryDescriptor = ptx::wgmmaDescriptor(b, queries, ptx::wgmmaDescriptorBits(16, groupBytes));
  keyDescriptor = ptx::wgmmaDescriptor(b, keys, ptx::wgmmaDescriptorBits(16, groupBytes));
  valueDescriptor =
      ptx::wgmmaDescriptor(b, keys, ptx::wgmmaDescriptorBits(context.tileKeys * swizzleBytes, groupBytes));
  firstRow = firstQuery;
  turn = b.divide(firstQuery, rowsPerConsumer);
  firstQuery = b.add(firstQuery, b.add(b.mul(warp, 16), b.shiftRight(lane, 2)));

  if (takesTurns())
    b.ifThen(b.equal(turn, 1), [&] { passTurn(); }); // the first turn
  b.whileLoop(
      waitForTile(queryRing->begin(), keyRing->begin()),
      [&](ValueRange values) { return b.compare(arith::CmpIPredicate::ne, values[4], b.i32(endOfTiles)); },
      [&](ValueRange values) { return emitConsumerTile(values); });
}

/// The states of the rings, tile row and panel of the tile that comes next.
Values AttentionEmitter::waitForTile(Ring::State queries, Ring::State keys) {
  queryRing->wait(queries);
  Values carried = queries.values();
  llvm::append_range(carried, keys.values());
  llvm::append_range(carried, queryRing->words(queries.slot));
  return carried;
}

Values AttentionEmitter::emitConsumerTile(ValueRange carried) {
  Ring::State queries(carried.take_front(2)), keys(carried.slice(2, 2));
  QueryTile tile = context.tile(carried[4], carried[5]);
  if (keepsQueries()) {
    tileFragments = loadQueries(queries.slot);
    release(*queryRing, queries.slot);
  } else {
    tileDescriptor = b.add(queryDescriptor, b.extend(b.mul(queries.slot, queryRing->slotBytes(0) / 16)));
  }
  keyRing->wait(keys);
  Values words = keyRing->words(keys.slot);

  Type i32 = b.i32Type(), f32 = b.getF32Type();
  Value empty = b.pack(Values(context.headDimension / 2, b.f32(0)));
  SmallVector<Type> types{i32, i32, empty.getType(), f32, f32, f32, f32};
  auto softmax = OnlineSoftmax::create(context, tile);
  queryOfThread = b.add(tile.first, firstQuery);
  auto result = [&](Ring::State ring, Value output, const RowState &rows) {
    Values values = ring.values();
    values.push_back(output);
    llvm::append_range(values, rows.m);
    llvm::append_range(values, rows.l);
    return values;
  };
  auto done = b.ifThenElse(
      b.compare(arith::CmpIPredicate::ne, words[0], b.i32(endOfList)), types,
      [&] {
        Progress progress = emitSteps(*softmax, queries, keys, words);
        progress.rows = finishRows(b, progress.rows);
        return result(progress.ring, progress.output, progress.rows);
      },
      [&] {
        if (!keepsQueries())
          release(*queryRing, queries.slot);
        release(*keyRing, keys.slot);
        return result(keyRing->advance(keys), empty, softmax->begin());
      });

  RowState rows{Values{done[3], done[4]}, Values{done[5], done[6]}};
  emitAttentionStore(context, tile, queryOfThread, b.unpack(done[2]), rows);
  return waitForTile(queryRing->advance(queries), Ring::State(ValueRange(done).take_front(2)));
}

/// The steps of a list that has blocks; the slot of the first keys is full. The queries are free when the last scores
/// are there, so that the next tile's arrive while this one is finished.
Progress AttentionEmitter::emitSteps(OnlineSoftmax &softmax, Ring::State queries, Ring::State start, ValueRange words) {
  Progress first = firstStep(softmax, start, words);
  first.ring = start;
  first = waitForNext(first);
  auto result = b.whileLoop(
      first.values(),
      [&](ValueRange values) {
        return b.compare(arith::CmpIPredicate::ne, Progress::from(values).words[0], b.i32(endOfList));
      },
      [&](ValueRange values) { return waitForNext(nextStep(softmax, Progress::from(values))).values(); });
  if (!keepsQueries())
    release(*queryRing, queries.slot);

  // The values of the last step.
  Progress last = Progress::from(result);
  last.output = ptx::wgmmaWait(b, 0, accumulate(last.ring, last.probabilities, last.output));
  release(*keyRing, last.ring.slot);
  last.ring = keyRing->advance(last.ring);
  return last;
}

/// Goes to the next slot, of which it waits for the copies, and reads its words.
Progress AttentionEmitter::waitForNext(Progress progress) {
  progress.ring = keyRing->advance(progress.ring);
  keyRing->wait(progress.ring);
  progress.words = keyRing->words(progress.ring.slot);
  return progress;
}

Progress AttentionEmitter::firstStep(OnlineSoftmax &softmax, Ring::State state, ValueRange words) {
  Progress progress;
  Values current = b.unpack(ptx::wgmmaWait(b, 0, scores(softmax, state, words)));
  release(*keyRing, state.slot);
  progress.rows = softmax.begin();
  softmax.beginStep(positions(words), current, progress.rows);
  progress.probabilities = context.packPairs(softmax.finishStep(positions(words), current, progress.rows));
  progress.output = b.pack(Values(context.headDimension / 2, b.f32(0)));
  return progress;
}

/// The scores of a step and the values of the step before. Gives the state at the slot of those values.
Progress AttentionEmitter::nextStep(OnlineSoftmax &softmax, Progress progress) {
  Ring::State keys = progress.ring, values = keyRing->advance(keys);
  beginProducts();
  Value product = scores(softmax, keys, progress.words);
  keyRing->wait(values);
  Value output = accumulate(values, progress.probabilities, progress.output);
  endProducts();
  Values current = b.unpack(ptx::wgmmaWait(b, 1, product));
  release(*keyRing, keys.slot);
  Rescaling rescaling = softmax.beginStep(positions(progress.words), current, progress.rows);
  auto finish = [&] { return softmax.finishStep(positions(progress.words), current, progress.rows); };
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

/// One thread of every warp: all threads have read the slot's word, which no matrix instruction orders.
void AttentionEmitter::release(Ring &ring, Value slot) {
  ptx::barrierWarp(b);
  ptx::mbarrierArrive(b, ring.emptyBarrier(slot), isFirstLane);
}

/// Whether the two warpgroups of a tile issue their products in turns: without, they drift into step, so that both
/// multiply and then both exponentiate. It is worth the barriers where the scores take many instructions.
bool AttentionEmitter::takesTurns() { return consumersPerTile == turnsOfTile && context.scoreForm.hasFixedShift(); }

/// Of three teams one lets another that issues products finish: mixed, they would end at the same time, and both
/// warpgroups exponentiate at the same time. That is a courtesy and no lock: nobody waits for long, and two that see no
/// issuer both begin. So nothing depends on who has work at the time. Two warpgroups lose 2 to 4 % by it, and a soft
/// cap gains nothing.
bool AttentionEmitter::yieldsToIssuer() { return teams > 2 && !context.scoreForm.hasFixedShift(); }

void AttentionEmitter::beginProducts() {
  if (takesTurns())
    ptx::barrierNamed(b, turnBarrier(turn), consumersPerTile * threadsPerWarpgroup);
  if (!yieldsToIssuer())
    return;
  Value self = b.add(team, noIssuer + 1);
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

/// Of the warpgroup.
Value AttentionEmitter::isFirstThread() { return b.equal(b.bitAnd(context.thread, threadsPerWarpgroup - 1), 0); }

/// The named barrier that says that it is the turn of warpgroup 0 or 1 of the tile. Tiles side by side in a CTA have
/// different numbers of steps: each has its own two, after barrier 0 of the whole CTA.
Value AttentionEmitter::turnBarrier(Value warpgroup) {
  Value number = b.add(warpgroup, 1);
  return teams == 1 ? number : b.add(number, b.mul(team, turnsOfTile));
}

void AttentionEmitter::passTurn() {
  ptx::barrierNamedArrive(b, turnBarrier(b.sub(b.i32(1), turn)), consumersPerTile * threadsPerWarpgroup);
}

ScorePositions AttentionEmitter::positions(ValueRange words) {
  Value column = b.shiftLeft(b.bitAnd(context.thread, 3), 1);
  SmallVector<ScorePositions::Block, 2> blocks;
  for (Value word : words.take_front(context.blocksPerStep))
    blocks.push_back({b.add(b.mul(b.shiftRight(word, 1), context.keyBlock), column), b.equal(b.bitAnd(word, 1), 1)});
  return ScorePositions(context, queryOfThread, blocks);
}

/// Where a step has 64 keys, there are registers for the queries: their slot is free at once, and each product reads
/// half as much of shared memory.
bool AttentionEmitter::keepsQueries() { return context.tileKeys == 64 && context.headDimension == 128; }

/// The queries of the warp as A operands: 16 rows x 16 elements in four registers. Lanes 0 to 15 point to the rows, the
/// others to the same rows 16 bytes on; 16-byte units are mixed with the row by the swizzle.
Values AttentionEmitter::loadQueries(Value slot) {
  Value lane = b.bitAnd(context.thread, 31), warp = b.bitAnd(b.shiftRight(context.thread, 5), warpsPerConsumer - 1);
  Value row = b.add(b.mul(warp, 16), b.bitAnd(lane, 15)), half = b.shiftRight(lane, 4);
  Value rowPointer = b.byteOffset(queryRing->slotPointer(0, slot), b.mul(b.add(firstRow, row), swizzleBytes));
  Values fragments;
  for (int64_t k = 0; k < context.headDimension / 16; ++k) {
    Value unit = b.bitXor(b.add(half, k % 4 * 2), b.bitAnd(row, 7));
    Value panel = b.byteOffset(rowPointer, k / 4 * context.tileRows * swizzleBytes);
    llvm::append_range(fragments, ptx::loadMatrix(b, b.byteOffset(panel, b.shiftLeft(unit, 4)), 4, false));
  }
  return fragments;
}

/// Q K of one step, as one group of matrix instructions.
Value AttentionEmitter::scores(OnlineSoftmax &softmax, Ring::State state, ValueRange words) {
  int64_t keys = context.tileKeys, perPanel = 64 / 16; // chains of 16 in a panel of 64
  Value key = b.add(keyDescriptor, b.extend(b.mul(state.slot, keyRing->slotBytes(0) / 16)));
  Type type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(keys / 2, b.getF32Type()));
  Value sums = context.scoreForm.bias ? b.pack(softmax.initialProducts(positions(words), keys / 2))
                                      : LLVM::UndefOp::create(b, type);
  ptx::wgmmaFence(b);
  for (int64_t k = 0; k < context.headDimension / 16; ++k) {
    int64_t panel = k / perPanel, inPanel = k % perPanel * 2; // in units of 16 bytes
    Value keyOperand = b.add(key, panel * keys * swizzleBytes / 16 + inPanel);
    bool accumulates = k > 0 || context.scoreForm.bias;
    if (keepsQueries())
      sums =
          ptx::wgmmaFromRegisters(b, keys, context.element, sums, ValueRange(tileFragments).slice(4 * k, 4), keyOperand,
                                  /*bNMajor=*/false, accumulates);
    else
      sums = ptx::wgmma(b, keys, context.element, sums,
                        b.add(tileDescriptor, panel * context.tileRows * swizzleBytes / 16 + inPanel), keyOperand,
                        /*bNMajor=*/false, accumulates);
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
