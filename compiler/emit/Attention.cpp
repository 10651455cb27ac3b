// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One CTA = one or two consumer warpgroups, each with 64 queries of the tile, and the producer's warpgroup, of which
// one thread works. Two rings: the tile's queries, and the keys and values of its blocks in the order in which the
// consumers need them:
//
//   K0 | K1 V0 | K2 V1 | ... | V(n-1)
//
// so that the scores of block j+1 are on their way while block j's values are multiplied. A word beside every slot
// tells the consumers which block its keys are of; values have no word, and the last ones tell that the list has ended.
// Only the producer reads the pattern.
//
// The order of a step is that of FlashAttention-3 (Shah et al., 2024, section 3.2): Q K(j), P V(j-1), softmax of j
// while the second product runs. Probabilities go from the accumulator layout of the first product straight into the A
// registers of the second one (PTX ISA 9.7.15.5.1).

#include "Attention.h"

#include "AttentionStore.h"
#include "OnlineSoftmax.h"
#include "Ptx.h"
#include "Ring.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t swizzleBytes = 128; // one row of a swizzled box
constexpr int64_t rowsPerConsumer = 64, warpsPerConsumer = 4;
constexpr int64_t endOfList = -1;

/// What a warpgroup carries from block to block.
struct Progress {
  Ring::State ring;
  Value word;           // of the slot that comes next: a block of keys, or the end
  Value output;         // accumulators of O, a struct
  Values probabilities; // of the block before, packed in pairs
  SoftmaxState state;

  Values values() const {
    Values all = ring.values();
    all.append({word, output});
    all.append(probabilities);
    all.append(state.maximum);
    all.append(state.sum);
    return all;
  }
  static Progress from(ValueRange values) {
    Progress progress;
    progress.ring = Ring::State(values.take_front(2));
    progress.word = values[2];
    progress.output = values[3];
    ValueRange rest = values.drop_front(4);
    progress.probabilities = Values(rest.drop_back(4));
    progress.state.maximum = Values(rest.take_back(4).take_front(2));
    progress.state.sum = Values(rest.take_back(2));
    return progress;
  }
};

class AttentionEmitter {
public:
  explicit AttentionEmitter(AttentionContext &context)
      : context(context), b(context.b), rings(llvm::to_vector(context.program.getBody().getOps<RingOp>())),
        queryRing(context, rings[0]), keyRing(context, rings[1]), consumers(context.schedule.getConsumersM()) {}

  void emit();

private:
  Values startOfRings();

  // Producer.
  void emitProducer(ProducerOp op);
  Values emitProducerTile(Value tileRow, Value panel, ValueRange carried);
  void copy(Ring &ring, Ring::State state, int64_t argument, Value batch, Value head, Value row);
  Ring::State send(int64_t argument, const QueryTile &tile, Value block, Value word, Ring::State state);
  Ring::State sendEnd(Ring::State state);

  // Consumer.
  void emitConsumer(ConsumerOp op);
  Values emitConsumerTile(Value tileRow, Value panel, ValueRange carried);
  Progress emitBlocks(OnlineSoftmax &softmax, Ring::State start, Value word);
  Progress firstBlock(OnlineSoftmax &softmax, Ring::State state, Value word);
  Progress nextBlock(OnlineSoftmax &softmax, Progress progress);
  Progress waitForNext(Progress progress);
  Value scores(Ring::State state);
  Value accumulate(Ring::State state, ValueRange probabilities, Value output);
  ScorePlace place(Value word);
  void release(Ring &ring, Value slot);
  Value multiplyRows(Value accumulators, ValueRange factors);

  AttentionContext &context;
  KernelBuilder &b;
  SmallVector<RingOp> rings;
  Ring queryRing, keyRing;
  int64_t consumers;
  Value consumer, threadInConsumer, isFirstLane, firstQuery; // of the thread, in its tile
  Value queryOfThread;                                       // the same in its head
  Value queryDescriptor, keyDescriptor, valueDescriptor;     // of slot 0
};

void AttentionEmitter::emit() {
  b.ifThen(b.equal(context.thread, 0), [&] {
    queryRing.initBarriers(warpsPerConsumer * consumers);
    keyRing.initBarriers(warpsPerConsumer * consumers);
    ptx::mbarrierInitFence(b);
  });
  ptx::barrierCta(b);
  consumer = ptx::broadcastFirstLane(b, b.shiftRight(context.thread, 7));
  threadInConsumer = b.bitAnd(context.thread, 127);
  b.ifThenElse(
      b.less(consumer, consumers), TypeRange(),
      [&] {
        emitConsumer(*context.program.getBody().getOps<ConsumerOp>().begin());
        return Values();
      },
      [&] {
        emitProducer(*context.program.getBody().getOps<ProducerOp>().begin());
        return Values();
      });
}

/// What both roles carry from tile to tile: the states of the two rings.
Values AttentionEmitter::startOfRings() {
  Values states = queryRing.begin().values();
  llvm::append_range(states, keyRing.begin().values());
  return states;
}

//===----------------------------------------------------------------------===//
// Producer
//===----------------------------------------------------------------------===//

void AttentionEmitter::emitProducer(ProducerOp op) {
  if (op.getRegisters())
    ptx::setRegisters(b, op.getRegisters(), /*increase=*/false);
  b.ifThen(b.equal(context.thread, 128 * consumers), [&] {
    emitTileRows(context, startOfRings(),
                 [&](Value tileRow, Value panel, ValueRange state) { return emitProducerTile(tileRow, panel, state); });
  });
}

Values AttentionEmitter::emitProducerTile(Value tileRow, Value panel, ValueRange carried) {
  QueryTile tile = context.tile(tileRow, panel);
  Ring::State queries(carried.take_front(2)), keys(carried.drop_front(2));
  queryRing.waitUntilFree(queries);
  queryRing.expect(queries);
  copy(queryRing, queries, context.query, tile.batch, tile.head, tile.first);

  // The values of a block follow the keys of the next one.
  Value none = b.i32(-1);
  Values state = keys.values();
  state.push_back(none);
  state = context.forEachKeyBlock(tile, state, [&](Value block, bool isPartial, ValueRange current) {
    Value word = b.add(b.mul(block, 2), isPartial ? 1 : 0);
    Ring::State ring = send(context.key, tile, block, word, Ring::State(current.take_front(2)));
    Value previous = current[2];
    auto sent = b.ifThenElse(
        b.compare(arith::CmpIPredicate::ne, previous, none), {b.i32Type(), b.i32Type()},
        [&] { return send(context.value, tile, previous, b.i32(0), ring).values(); }, [&] { return ring.values(); });
    return Values{sent[0], sent[1], block};
  });
  Value last = state[2];
  Ring::State end(ValueRange(state).take_front(2));
  auto ended = b.ifThenElse(
      b.compare(arith::CmpIPredicate::ne, last, none), {b.i32Type(), b.i32Type()},
      [&] { return send(context.value, tile, last, b.i32(endOfList), end).values(); },
      [&] { return sendEnd(end).values(); });
  Values next = queryRing.advance(queries).values();
  llvm::append_range(next, ended);
  return next;
}

/// Keys or values of a block, with a word for the consumers.
Ring::State AttentionEmitter::send(int64_t argument, const QueryTile &tile, Value block, Value word,
                                   Ring::State state) {
  keyRing.waitUntilFree(state);
  keyRing.setWord(state.slot, word);
  keyRing.expect(state);
  copy(keyRing, state, argument, tile.batch, tile.keyHead, b.mul(block, context.keyBlock));
  return keyRing.advance(state);
}

/// A list without blocks: a slot without bytes.
Ring::State AttentionEmitter::sendEnd(Ring::State state) {
  keyRing.waitUntilFree(state);
  keyRing.setWord(state.slot, b.i32(endOfList));
  ptx::mbarrierArrive(b, keyRing.fullBarrier(state.slot), arith::ConstantOp::create(b, b.getBoolAttr(true)));
  return keyRing.advance(state);
}

/// Boxes of 64 elements along the head dimension. Rows beyond the tensor arrive as zero.
void AttentionEmitter::copy(Ring &ring, Ring::State state, int64_t argument, Value batch, Value head, Value row) {
  int64_t inner = swizzleBytes * 8 / context.element.getIntOrFloatBitWidth(), rows = ring.bufferRows(0);
  auto map = TensorMapAttr::get(b.getContext(), TensorMapKind::dense, argument, swizzleBytes, {inner, rows, 1, 1});
  Value destination = ring.slotPointer(0, state.slot);
  for (int64_t box = 0; box < context.headDimension / inner; ++box)
    ptx::tensorLoad(b, b.byteOffset(destination, box * rows * swizzleBytes), context.parameters.tensorMap(map),
                    {b.i32(box * inner), row, head, batch}, ring.fullBarrier(state.slot));
}

//===----------------------------------------------------------------------===//
// Consumer
//===----------------------------------------------------------------------===//

void AttentionEmitter::emitConsumer(ConsumerOp op) {
  if (op.getRegisters())
    ptx::setRegisters(b, op.getRegisters(), /*increase=*/true);
  Value warp = b.shiftRight(threadInConsumer, 5), lane = b.bitAnd(context.thread, 31);
  isFirstLane = b.equal(lane, 0);
  firstQuery = b.add(b.mul(consumer, rowsPerConsumer), b.add(b.mul(warp, 16), b.shiftRight(lane, 2)));

  // Q and K are K-major, groups of 8 rows are 1024 bytes apart. V has the head dimension contiguous, which is N: panels
  // of 64 elements of it are the block's rows of 128 bytes apart.
  int64_t groupBytes = 8 * swizzleBytes;
  Value queries = b.byteOffset(queryRing.slotPointer(0, b.i32(0)), b.mul(consumer, rowsPerConsumer * swizzleBytes));
  Value keys = keyRing.slotPointer(0, b.i32(0));
  queryDescriptor = ptx::wgmmaDescriptor(b, queries, ptx::wgmmaDescriptorBits(16, groupBytes));
  keyDescriptor = ptx::wgmmaDescriptor(b, keys, ptx::wgmmaDescriptorBits(16, groupBytes));
  valueDescriptor =
      ptx::wgmmaDescriptor(b, keys, ptx::wgmmaDescriptorBits(context.keyBlock * swizzleBytes, groupBytes));

  emitTileRows(context, startOfRings(),
               [&](Value tileRow, Value panel, ValueRange state) { return emitConsumerTile(tileRow, panel, state); });
}

Values AttentionEmitter::emitConsumerTile(Value tileRow, Value panel, ValueRange carried) {
  QueryTile tile = context.tile(tileRow, panel);
  Ring::State queries(carried.take_front(2)), keys(carried.drop_front(2));
  queryRing.wait(queries);
  keyRing.wait(keys);
  Value word = keyRing.word(keys.slot);

  Type i32 = b.i32Type(), f32 = b.getF32Type();
  Value empty = b.pack(Values(context.headDimension / 2, b.f32(0)));
  SmallVector<Type> types{i32, i32, empty.getType(), f32, f32, f32, f32};
  OnlineSoftmax softmax(context, tile);
  queryOfThread = b.add(tile.first, firstQuery);
  auto done = b.ifThenElse(
      b.compare(arith::CmpIPredicate::ne, word, b.i32(endOfList)), types,
      [&] {
        Progress progress = emitBlocks(softmax, keys, word);
        softmax.finish(progress.state);
        Values values = progress.ring.values();
        values.push_back(progress.output);
        llvm::append_range(values, progress.state.maximum);
        llvm::append_range(values, progress.state.sum);
        return values;
      },
      [&] {
        release(keyRing, keys.slot);
        SoftmaxState state = softmax.begin();
        Values values = keyRing.advance(keys).values();
        values.push_back(empty);
        llvm::append_range(values, state.maximum);
        llvm::append_range(values, state.sum);
        return values;
      });
  release(queryRing, queries.slot);

  SoftmaxState state{Values{done[3], done[4]}, Values{done[5], done[6]}};
  emitAttentionStore(context, tile, queryOfThread, b.unpack(done[2]), state);
  Values next = queryRing.advance(queries).values();
  next.append({done[0], done[1]});
  return next;
}

/// The blocks of a list that has some; the slot of the first keys is full.
Progress AttentionEmitter::emitBlocks(OnlineSoftmax &softmax, Ring::State start, Value word) {
  Progress first = firstBlock(softmax, start, word);
  first.ring = start;
  first = waitForNext(first);

  Values end = b.whileLoop(
      first.values(),
      [&](ValueRange current) { return b.compare(arith::CmpIPredicate::ne, current[2], b.i32(endOfList)); },
      [&](ValueRange current) { return waitForNext(nextBlock(softmax, Progress::from(current))).values(); });

  // The values of the last block.
  Progress last = Progress::from(end);
  last.output = ptx::wgmmaWait(b, 0, accumulate(last.ring, last.probabilities, last.output));
  release(keyRing, last.ring.slot);
  last.ring = keyRing.advance(last.ring);
  return last;
}

/// Goes to the next slot, of which it waits for the copies, and reads its word.
Progress AttentionEmitter::waitForNext(Progress progress) {
  progress.ring = keyRing.advance(progress.ring);
  keyRing.wait(progress.ring);
  progress.word = keyRing.word(progress.ring.slot);
  return progress;
}

Progress AttentionEmitter::firstBlock(OnlineSoftmax &softmax, Ring::State state, Value word) {
  Progress progress;
  Values current = b.unpack(ptx::wgmmaWait(b, 0, scores(state)));
  release(keyRing, state.slot);
  progress.state = softmax.begin();
  softmax.step(place(word), current, progress.state);
  progress.probabilities = context.packPairs(current);
  progress.output = b.pack(Values(context.headDimension / 2, b.f32(0)));
  return progress;
}

/// The scores of a block and the values of the block before. Gives the state at the slot of those values.
Progress AttentionEmitter::nextBlock(OnlineSoftmax &softmax, Progress progress) {
  Ring::State keys = progress.ring, values = keyRing.advance(keys);
  Value product = scores(keys);
  keyRing.wait(values);
  Value output = accumulate(values, progress.probabilities, progress.output);
  Values current = b.unpack(ptx::wgmmaWait(b, 1, product));
  release(keyRing, keys.slot);
  Values factors = softmax.step(place(progress.word), current, progress.state);
  output = ptx::wgmmaWait(b, 0, output);
  release(keyRing, values.slot);
  progress.output = multiplyRows(output, factors);
  progress.probabilities = context.packPairs(current); // not before the product that reads the old ones is complete
  progress.ring = values;
  return progress;
}

/// One thread of every warp: all threads have read the slot's word, which no matrix instruction orders.
void AttentionEmitter::release(Ring &ring, Value slot) {
  ptx::barrierWarp(b);
  ptx::mbarrierArrive(b, ring.emptyBarrier(slot), isFirstLane);
}

ScorePlace AttentionEmitter::place(Value word) {
  Value column = b.shiftLeft(b.bitAnd(context.thread, 3), 1);
  ScorePlace place;
  place.query = queryOfThread;
  place.firstKey = b.add(b.mul(b.shiftRight(word, 1), context.keyBlock), column);
  place.isPartial = b.equal(b.bitAnd(word, 1), 1);
  return place;
}

/// Q K of one block, as one group of matrix instructions.
Value AttentionEmitter::scores(Ring::State state) {
  int64_t keys = context.keyBlock, perPanel = 64 / 16; // chains of 16 in a panel of 64
  Value key = b.add(keyDescriptor, b.extend(b.mul(state.slot, keyRing.slotBytes(0) / 16)));
  Value sums = LLVM::UndefOp::create(
      b, LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(keys / 2, b.getF32Type())));
  ptx::wgmmaFence(b);
  for (int64_t k = 0; k < context.headDimension / 16; ++k) {
    int64_t panel = k / perPanel, inPanel = k % perPanel * 2; // in units of 16 bytes
    sums = ptx::wgmma(b, keys, context.element, sums,
                      b.add(queryDescriptor, panel * queryRing.bufferRows(0) * swizzleBytes / 16 + inPanel),
                      b.add(key, panel * keys * swizzleBytes / 16 + inPanel), /*bNMajor=*/false, /*accumulate=*/k > 0);
  }
  ptx::wgmmaCommit(b);
  return sums;
}

/// output + P V of one block, as one group of matrix instructions.
Value AttentionEmitter::accumulate(Ring::State state, ValueRange probabilities, Value output) {
  Value value = b.add(valueDescriptor, b.extend(b.mul(state.slot, keyRing.slotBytes(0) / 16)));
  ptx::wgmmaFence(b);
  for (int64_t k = 0; k < context.keyBlock / 16; ++k)
    output = ptx::wgmmaFromRegisters(b, context.headDimension, context.element, output, probabilities.slice(4 * k, 4),
                                     b.add(value, k * 16 * swizzleBytes / 16), /*bNMajor=*/true);
  ptx::wgmmaCommit(b);
  return output;
}

Value AttentionEmitter::multiplyRows(Value accumulators, ValueRange factors) {
  Values values = b.unpack(accumulators);
  for (auto [i, value] : llvm::enumerate(values))
    value = arith::MulFOp::create(b, value, factors[i % 4 / 2]);
  return b.pack(values);
}

} // namespace

void sparsec::emitAttention(AttentionContext &context) { AttentionEmitter(context).emit(); }
