// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One CTA = consumer warpgroups 0 .. c-1 and the producer's warpgroup c, of which one thread works. They meet at the
// ring: slot s has a full barrier (the copies of the slot have arrived) and an empty barrier (every consumer of every
// CTA of the cluster is done with it). Both walk the same tiles and blocks, so a slot index and a phase bit are all the
// state they need.
//
// In a cluster the CTAs work on neighbouring columns of one tile row: each loads its share of A into all of them.

#include "WarpSpecialized.h"

#include "Ptx.h"
#include "Ring.h"
#include "StagedStore.h"
#include "StoreTile.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

int64_t sparsec::warpSpecializedThreads(ScheduleAttr schedule) {
  return 128 * (schedule.getConsumersM() * schedule.getConsumersN() + 1);
}

namespace {

constexpr int64_t swizzleBytes = 128; // one row of a swizzled box
constexpr int64_t maxBoxSize = 256;   // elements in a dimension (CUDA Driver API, cuTensorMapEncodeTiled)
constexpr int64_t rowsPerConsumer = 64;

class WarpSpecializedEmitter {
public:
  explicit WarpSpecializedEmitter(SpmmContext &context)
      : context(context), b(context.b), schedule(context.schedule),
        ring(context, *context.program.getBody().getOps<RingOp>().begin()),
        consumers(schedule.getConsumersM() * schedule.getConsumersN()),
        columnsPerConsumer(schedule.getTileN() / schedule.getConsumersN()),
        elementBytes(context.element.getIntOrFloatBitWidth() / 8) {}

  void emit();

private:
  // Set-up.
  void emitBarriers();

  // Producer.
  void emitProducer(ProducerOp producer);
  Ring::State emitProducerTile(BlockLoopOp loop, const TilePosition &position, Ring::State state);
  void emitCopy(CopyOp copy, const TilePosition &position, Value block, Value column, int64_t chunk, Ring::State state);
  void emitCopyA(CopyOp copy, const TilePosition &position, Value block, Value column, int64_t chunk,
                 Ring::State state);
  Value tensorMapOfA(int64_t boxRows, Value column);
  void emitCopyX(CopyOp copy, const TilePosition &position, Value column, int64_t chunk, Ring::State state);

  // Consumer.
  void emitConsumer(ConsumerOp consumer);
  Values emitSteps(BlockLoopOp loop, RowBlocks range, Ring::State state);
  Values emitConsumerTile(TileLoopOp tileLoop, const TilePosition &position, Ring::State state);
  Value emitChain(ChainOp chain, int64_t chunk, Value accumulators, Ring::State state);
  void emitRelease(Value slot, Value predicate);
  Type accumulatorType();
  Value zeroAccumulators();

  SpmmContext &context;
  KernelBuilder &b;
  ScheduleAttr schedule;
  Ring ring;
  int64_t consumers, columnsPerConsumer, elementBytes;
  Value consumer;                 // index of the warpgroup, uniform in a warp
  Value threadInConsumer;         // thread in its warpgroup
  Value descriptorA, descriptorX; // of slot 0, for this consumer
};

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

void WarpSpecializedEmitter::emitBarriers() {
  b.ifThen(b.equal(context.thread, 0), [&] {
    ring.initBarriers(consumers * schedule.getCluster());
    ptx::mbarrierInitFence(b);
  });
  if (schedule.getCluster() > 1)
    ptx::barrierCluster(b);
  else
    ptx::barrierCta(b);
}

void WarpSpecializedEmitter::emit() {
  emitBarriers();
  consumer = ptx::broadcastFirstLane(b, b.shiftRight(context.thread, 7));
  threadInConsumer = b.bitAnd(context.thread, 127);
  auto producerOp = *context.program.getBody().getOps<ProducerOp>().begin();
  auto consumerOp = *context.program.getBody().getOps<ConsumerOp>().begin();
  b.ifThenElse(
      b.less(consumer, consumers), TypeRange(),
      [&] {
        emitConsumer(consumerOp);
        return Values();
      },
      [&] {
        emitProducer(producerOp);
        return Values();
      });
  // A CTA must not exit while others of its cluster may still write into its shared memory or arrive at its barriers.
  if (schedule.getCluster() > 1)
    ptx::barrierCluster(b);
}

//===----------------------------------------------------------------------===//
// Producer
//===----------------------------------------------------------------------===//

void WarpSpecializedEmitter::emitProducer(ProducerOp producer) {
  if (producer.getRegisters())
    ptx::setRegisters(b, producer.getRegisters(), /*increase=*/false);
  auto tileLoop = *producer.getBody().getOps<TileLoopOp>().begin();
  auto blockLoop = *tileLoop.getBody().getOps<BlockLoopOp>().begin();
  b.ifThen(b.equal(context.thread, 128 * consumers), [&] {
    emitTileLoop(context, ring.begin().values(), [&](const TilePosition &position, ValueRange state) {
      return emitProducerTile(blockLoop, position, Ring::State(state)).values();
    });
  });
}

/// The block column of the next block is loaded while the copies of this one are issued.
Ring::State WarpSpecializedEmitter::emitProducerTile(BlockLoopOp loop, const TilePosition &position,
                                                     Ring::State state) {
  RowBlocks range = emitRowBlocks(context, position);
  Value columns = context.parameters.get(ParameterKind::col_idx, context.matrixArgument);
  Value lastBlock = b.sub(range.last, 1);
  auto columnOf = [&](Value block) { return b.loadElement(b.i32Type(), columns, block); };
  Value isEmpty = b.compare(arith::CmpIPredicate::sge, range.first, range.last);
  auto firstColumn = b.ifThenElse(
      isEmpty, {b.i32Type()}, [&] { return Values{b.i32(0)}; }, [&] { return Values{columnOf(range.first)}; });

  auto result = b.forLoop(range.first, range.last, b.i32(1), {state.slot, state.phase, firstColumn[0]},
                          [&](Value block, ValueRange carried) {
                            Ring::State current(carried);
                            Value nextColumn = columnOf(b.minimum(b.add(block, 1), lastBlock));
                            for (int64_t chunk = 0; chunk < static_cast<int64_t>(loop.getChunks()); ++chunk)
                              for (Operation &op : loop.getBody().front()) {
                                if (isa<AcquireOp>(op))
                                  ring.acquire(current);
                                else if (auto copy = dyn_cast<CopyOp>(op))
                                  emitCopy(copy, position, block, carried[2], chunk, current);
                                else if (isa<CommitOp>(op))
                                  current = ring.advance(current);
                              }
                            return Values{current.slot, current.phase, nextColumn};
                          });
  return Ring::State(result);
}

void WarpSpecializedEmitter::emitCopy(CopyOp copy, const TilePosition &position, Value block, Value column,
                                      int64_t chunk, Ring::State state) {
  if (copy.getOperand() == Operand::a)
    emitCopyA(copy, position, block, column, chunk, state);
  else
    emitCopyX(copy, position, column, chunk, state);
}

/// Elements beyond K do not count, but a NaN among them would in the product with the zeros of X. The map of blocks
/// that K cuts ends there, so that the copy brings zeros. There is such a block column K / block columns or none.
Value WarpSpecializedEmitter::tensorMapOfA(int64_t boxRows, Value column) {
  auto mapOf = [&](TensorMapKind kind) {
    return context.parameters.tensorMap(TensorMapAttr::get(b.getContext(), kind, context.matrixArgument, swizzleBytes,
                                                           {schedule.getTileK(), boxRows, 1}));
  };
  Value whole = mapOf(TensorMapKind::bsr_values);
  if (!context.mayCutBlocks())
    return whole;
  Value cutColumn = b.divide(context.depth(), context.matrix.getBlockColumns());
  Value isCut = b.compare(arith::CmpIPredicate::eq, column, cutColumn);
  return b.select(isCut, mapOf(TensorMapKind::bsr_edge_values), whole);
}

/// A: rows of one block, {columns, rows, blocks}. Rows and columns beyond the block arrive as zero.
void WarpSpecializedEmitter::emitCopyA(CopyOp copy, const TilePosition &position, Value block, Value column,
                                       int64_t chunk, Ring::State state) {
  int64_t cluster = copy.getMulticast() ? schedule.getCluster() : 1;
  int64_t boxRows = rowsPerConsumer * schedule.getConsumersM() / cluster;
  Value map = tensorMapOfA(boxRows, column);
  Value destination = ring.slotPointer(copy.getIndex(), state.slot);
  Value row = position.rowInBlock;
  if (cluster > 1) {
    Value rank = ptx::clusterRank(b);
    destination = b.byteOffset(destination, b.mul(rank, boxRows * swizzleBytes));
    row = b.add(row, b.mul(rank, boxRows));
  }
  Value full = ring.fullBarrier(state.slot);
  Values coordinates{b.i32(chunk * schedule.getTileK()), row, block};
  if (cluster > 1)
    ptx::tensorLoadMulticast(b, destination, map, coordinates, full, (1 << cluster) - 1);
  else
    ptx::tensorLoad(b, destination, map, coordinates, full);
}

/// X: boxes of 128 bytes along the contiguous dimension. K x N: boxes of tile_k rows, one per 64 columns. N x K: one
/// box for all rows, or one per consumer where they exceed a box.
void WarpSpecializedEmitter::emitCopyX(CopyOp copy, const TilePosition &position, Value column, int64_t chunk,
                                       Ring::State state) {
  int64_t tileN = schedule.getTileN(), tileK = schedule.getTileK();
  int64_t inner = swizzleBytes / elementBytes;
  int64_t rowsOfTransposed = tileN <= maxBoxSize ? tileN : columnsPerConsumer;
  int64_t outer = context.denseTransposed ? rowsOfTransposed : tileK;
  auto map =
      TensorMapAttr::get(b.getContext(), TensorMapKind::dense, context.denseArgument, swizzleBytes, {inner, outer});
  Value depth = b.add(b.mul(column, context.matrix.getBlockColumns()), chunk * tileK);
  Value full = ring.fullBarrier(state.slot);
  Value destination = ring.slotPointer(copy.getIndex(), state.slot);
  int64_t boxes = tileN / (context.denseTransposed ? outer : inner);
  for (int64_t box = 0; box < boxes; ++box) {
    Value n = b.add(position.column, box * (tileN / boxes));
    Values coordinates = context.denseTransposed ? Values{depth, n} : Values{n, depth};
    ptx::tensorLoad(b, b.byteOffset(destination, box * outer * swizzleBytes), context.parameters.tensorMap(map),
                    coordinates, full);
  }
}

//===----------------------------------------------------------------------===//
// Consumer
//===----------------------------------------------------------------------===//

Type WarpSpecializedEmitter::accumulatorType() {
  return LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(columnsPerConsumer / 2, b.getF32Type()));
}

Value WarpSpecializedEmitter::zeroAccumulators() { return LLVM::ZeroOp::create(b, accumulatorType()); }

void WarpSpecializedEmitter::emitConsumer(ConsumerOp op) {
  if (op.getRegisters())
    ptx::setRegisters(b, op.getRegisters(), /*increase=*/true);
  Value consumerRow = b.divide(consumer, schedule.getConsumersN());
  Value consumerColumn = b.modulo(consumer, schedule.getConsumersN());

  // A is K-major: groups of 8 rows are 1024 bytes apart. X as N x K alike; X as K x N is N-major: columns of atoms (64
  // elements of N) are tile_k rows of 128 bytes apart, groups of 8 rows of K 1024 bytes.
  int64_t groupBytes = 8 * swizzleBytes;
  int64_t columnBytes = context.denseTransposed ? columnsPerConsumer * swizzleBytes
                                                : columnsPerConsumer * elementBytes * schedule.getTileK();
  Value a = b.byteOffset(ring.slotPointer(0, b.i32(0)), b.mul(consumerRow, rowsPerConsumer * swizzleBytes));
  Value x = b.byteOffset(ring.slotPointer(1, b.i32(0)), b.mul(consumerColumn, columnBytes));
  int64_t leadingBytes = context.denseTransposed ? 16 : schedule.getTileK() * swizzleBytes;
  descriptorA = ptx::wgmmaDescriptor(b, a, ptx::wgmmaDescriptorBits(16, groupBytes));
  descriptorX = ptx::wgmmaDescriptor(b, x, ptx::wgmmaDescriptorBits(leadingBytes, groupBytes));

  auto tileLoop = *op.getBody().getOps<TileLoopOp>().begin();
  emitTileLoop(context, ring.begin().values(), [&](const TilePosition &position, ValueRange state) {
    return emitConsumerTile(tileLoop, position, Ring::State(state));
  });
  // Shared memory must outlive the stores that read it.
  b.ifThen(b.equal(threadInConsumer, 0), [&] { ptx::bulkWait(b, 0, /*read=*/false); });
}

/// The steps of a block row that has blocks. Each step waits for its slot, starts its chain, and releases the slot of
/// the step before, whose chain is complete by then: one chain is always in flight. Gives slot, phase and accumulators.
Values WarpSpecializedEmitter::emitSteps(BlockLoopOp loop, RowBlocks range, Ring::State state) {
  Value releases = b.less(threadInConsumer, schedule.getCluster()); // thread q tells CTA q
  auto result = b.forLoop(range.first, range.last, b.i32(1), {state.slot, state.phase, state.slot, zeroAccumulators()},
                          [&](Value block, ValueRange carried) {
                            Ring::State current(carried);
                            Value previous = carried[2], accumulators = carried[3];
                            Value hasPrevious = b.compare(arith::CmpIPredicate::sgt, block, range.first);
                            for (int64_t chunk = 0; chunk < static_cast<int64_t>(loop.getChunks()); ++chunk)
                              for (Operation &op : loop.getBody().front()) {
                                if (isa<WaitOp>(op)) {
                                  ring.wait(current);
                                } else if (auto chain = dyn_cast<ChainOp>(op)) {
                                  accumulators = emitChain(chain, chunk, accumulators, current);
                                } else if (isa<ReleaseOp>(op)) {
                                  accumulators = ptx::wgmmaWait(b, 1, accumulators);
                                  emitRelease(previous, chunk == 0 ? b.logicalAnd(hasPrevious, releases) : releases);
                                  previous = current.slot;
                                  current = ring.advance(current);
                                }
                              }
                            return Values{current.slot, current.phase, previous, accumulators};
                          });
  Value accumulators = ptx::wgmmaWait(b, 0, result[3]);
  emitRelease(result[2], releases);
  return {result[0], result[1], accumulators};
}

Values WarpSpecializedEmitter::emitConsumerTile(TileLoopOp tileLoop, const TilePosition &position, Ring::State state) {
  auto loop = *tileLoop.getBody().getOps<BlockLoopOp>().begin();
  auto store = *tileLoop.getBody().getOps<StoreOp>().begin();
  RowBlocks range = emitRowBlocks(context, position);
  // The last wait belongs to the branch that has chains in flight: where a row without blocks joins before it, ptxas
  // sees its zeros as writes to accumulators in flight and serializes every chain (C7515).
  auto result = b.ifThenElse(
      b.less(range.first, range.last), {b.i32Type(), b.i32Type(), accumulatorType()},
      [&] { return emitSteps(loop, range, state); },
      [&] { return Values{state.slot, state.phase, zeroAccumulators()}; });
  Value accumulators = result[2];

  AccumulatorFragment fragment;
  fragment.slabs = 1;
  fragment.groups = columnsPerConsumer / 8;
  fragment.values = b.unpack(accumulators);
  // What the store needs of the thread is computed here, once per tile: kept from tile to tile it would take registers
  // that the accumulators need.
  Value storingConsumer = ptx::opaque(b, consumer);
  Value consumerRow = b.divide(storingConsumer, schedule.getConsumersN());
  Value consumerColumn = b.modulo(storingConsumer, schedule.getConsumersN());
  Value warp = b.shiftRight(ptx::opaque(b, threadInConsumer), 5);
  fragment.row = b.add(b.mul(consumerRow, rowsPerConsumer), b.mul(warp, 16));
  fragment.column = b.mul(consumerColumn, columnsPerConsumer);
  if (store.getStaged())
    emitStagedStore(context, store, position, fragment, storingConsumer);
  else
    emitDirectStore(context, store, position, fragment);
  return {result[0], result[1]};
}

/// depth / 16 instructions on one slot, as one group.
Value WarpSpecializedEmitter::emitChain(ChainOp chain, int64_t chunk, Value accumulators, Ring::State state) {
  // In units of 16 bytes, as descriptors count.
  Value a = b.add(descriptorA, b.extend(b.mul(state.slot, ring.slotBytes(0) / 16)));
  Value x = b.add(descriptorX, b.extend(b.mul(state.slot, ring.slotBytes(1) / 16)));
  int64_t stepA = 16 * elementBytes / 16;
  int64_t stepX = context.denseTransposed ? stepA : 16 * swizzleBytes / 16;
  ptx::wgmmaFence(b);
  for (int64_t k = 0; k < chain.getDepth()[chunk] / 16; ++k)
    accumulators = ptx::wgmma(b, columnsPerConsumer, context.element, accumulators, b.add(a, k * stepA),
                              b.add(x, k * stepX), /*bNMajor=*/!context.denseTransposed);
  ptx::wgmmaCommit(b);
  return accumulators;
}

void WarpSpecializedEmitter::emitRelease(Value slot, Value predicate) {
  Value empty = ring.emptyBarrier(slot);
  if (schedule.getCluster() > 1)
    ptx::mbarrierArriveRemote(b, empty, b.bitAnd(threadInConsumer, schedule.getCluster() - 1), predicate);
  else
    ptx::mbarrierArrive(b, empty, predicate);
}

} // namespace

void sparsec::emitWarpSpecialized(SpmmContext &context) { WarpSpecializedEmitter(context).emit(); }
