// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One CTA = consumers_m x consumers_n warps, all in one role. Step q of a tile multiplies slot q mod stages, after it
// has started the copies of step q + stages - 1 into the slot that step q - 1 has left:
//
//   copies of steps 0 .. stages - 2
//   for each step: wait for its copies; CTA barrier; copies `ahead` steps later; chain of ldmatrix and mma.sync

#include "Multistage.h"

#include "Ptx.h"
#include "StoreTile.h"
#include "TileCopy.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

class MultistageEmitter {
public:
  explicit MultistageEmitter(SpmmContext &context)
      : context(context), b(context.b), schedule(context.schedule),
        ring(context, *context.program.getBody().getOps<RingOp>().begin()), layout(context.b, ring),
        copy(context, ring), slabs(schedule.getTileM() / schedule.getConsumersM() / 16),
        groups(schedule.getTileN() / schedule.getConsumersN() / 8) {}

  void emit();

private:
  void emitTile(const TilePosition &position);
  Values emitSteps(const TilePosition &position, RowBlocks range);
  Values emitChain(Value slot, ValueRange accumulators);
  Value zero() { return b.f32(0); }

  SpmmContext &context;
  KernelBuilder &b;
  ScheduleAttr schedule;
  Ring ring;
  UnitLayout layout;
  TileCopy copy;
  int64_t slabs, groups;           // of one warp: 16 rows, 8 columns
  Value lane, warpRow, warpColumn; // first row and column of the warp in the tile
  BlockLoopOp blockLoop;
  StoreOp store;
};

void MultistageEmitter::emit() {
  auto tileLoop = *context.program.getBody().getOps<TileLoopOp>().begin();
  blockLoop = *tileLoop.getBody().getOps<BlockLoopOp>().begin();
  store = *tileLoop.getBody().getOps<StoreOp>().begin();
  Value warp = ptx::broadcastFirstLane(b, b.shiftRight(context.thread, 5));
  lane = b.bitAnd(context.thread, 31);
  warpRow = b.mul(b.divide(warp, schedule.getConsumersN()), 16 * slabs);
  warpColumn = b.mul(b.modulo(warp, schedule.getConsumersN()), 8 * groups);
  emitTileLoop(context, {}, [&](const TilePosition &position, ValueRange) {
    emitTile(position);
    return Values();
  });
}

void MultistageEmitter::emitTile(const TilePosition &position) {
  RowBlocks range = emitRowBlocks(context, position);
  int64_t count = slabs * groups * 4;
  AccumulatorFragment fragment;
  fragment.slabs = slabs;
  fragment.groups = groups;
  fragment.row = warpRow;
  fragment.column = warpColumn;
  fragment.values = b.ifThenElse(
      b.less(range.first, range.last), SmallVector<Type>(count, b.getF32Type()),
      [&] { return emitSteps(position, range); }, [&] { return Values(count, zero()); });
  emitDirectStore(context, store, position, fragment);
}

/// The steps of a block row that has blocks. The block columns of a step are loaded one step before its copies start.
Values MultistageEmitter::emitSteps(const TilePosition &position, RowBlocks range) {
  int64_t ahead = (*blockLoop.getBody().getOps<PrefetchOp>().begin()).getAhead();
  copy.beginTile(position, range, blockLoop);
  ptx::barrierCta(b); // all warps are done with the slots of the previous tile
  Value steps = copy.stepCount();

  auto startCopies = [&](Value index, Value slot, const TileCopy::Step &step) {
    b.ifThen(b.less(index, steps), [&] { copy.emit(step, slot); });
    context.commitCopies();
    return copy.nextStep(step).values();
  };
  Values step =
      b.forLoop(b.i32(0), b.i32(ahead), b.i32(1), copy.firstStep().values(),
                [&](Value index, ValueRange state) { return startCopies(index, index, TileCopy::Step(state)); });

  Values carried{b.i32(0), b.i32(ahead % schedule.getStages())}; // slots to read and to fill
  int64_t stepBegin = carried.size();
  llvm::append_range(carried, step);
  int64_t accumulatorBegin = carried.size();
  carried.append(slabs * groups * 4, zero());
  auto result = b.forLoop(b.i32(0), steps, b.i32(1), carried, [&](Value index, ValueRange state) {
    context.waitForCopies(ahead - 1);
    ptx::barrierCta(b);
    TileCopy::Step current(state.slice(stepBegin, accumulatorBegin - stepBegin));
    Values next{ring.nextSlot(state[0]), ring.nextSlot(state[1])};
    llvm::append_range(next, startCopies(b.add(index, ahead), state[1], current));
    llvm::append_range(next, emitChain(state[0], state.drop_front(accumulatorBegin)));
    return next;
  });
  return Values(ArrayRef<Value>(result).drop_front(accumulatorBegin));
}

/// accumulators += A X on one slot, 16 of K at a time.
Values MultistageEmitter::emitChain(Value slot, ValueRange accumulators) {
  Values sums(accumulators);
  for (int64_t k = 0; k < schedule.getTileK() / 16; ++k) {
    SmallVector<Values> a;
    for (int64_t slab = 0; slab < slabs; ++slab)
      a.push_back(layout.loadA(/*buffer=*/0, slot, lane, warpRow, 16 * slab, k));
    for (int64_t pair = 0; pair < groups / 2; ++pair) {
      Values x = layout.loadB(/*buffer=*/1, slot, lane, warpColumn, pair, k, context.denseTransposed);
      for (int64_t slab = 0; slab < slabs; ++slab)
        for (int64_t half = 0; half < 2; ++half) {
          auto sum = MutableArrayRef<Value>(sums).slice((slab * groups + 2 * pair + half) * 4, 4);
          Values result = ptx::mma(b, context.element, a[slab], ArrayRef<Value>(x).slice(2 * half, 2), sum);
          llvm::copy(result, sum.begin());
        }
    }
  }
  return sums;
}

} // namespace

void sparsec::emitMultistage(SpmmContext &context) { MultistageEmitter(context).emit(); }
