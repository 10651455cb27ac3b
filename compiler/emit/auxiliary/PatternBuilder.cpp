// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One CTA writes the two lists (padded, in ascending order) of one block of queries. Its warps take a key block each
// and evaluate the mask region for all pairs that causal and window allow, one key per lane; then every warp knows from
// the states of the blocks before its own where its block goes. Nothing depends on the order in which CTAs or warps
// run.

#include "PatternBuilder.h"

#include "PatternLists.h"
#include "Ptx.h"

#include "sparsec/launch_info.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t builderWarps = 16, lanes = warpLanes;

/// The bits that a lane has seen of a block, and those that follow for all lanes.
enum Seen : int64_t { nothing = 0, visible = 1, hidden = 2, both = 3 };
/// By ListKind.
constexpr Seen kindOfSeen[] = {both, visible};

class PatternBuilderEmitter {
public:
  explicit PatternBuilderEmitter(QueryContext &context)
      : context(context), b(context.b), lists(context),
        warp(ptx::broadcastFirstLane(b, b.divide(context.thread, lanes))), lane(b.modulo(context.thread, lanes)) {}

  void emit();

private:
  Value seenOf(const QueryTile &tile, Value block);
  Value seenByLane(const QueryTile &tile, Value firstKey, Value index);
  Values appendRound(Value list, Value seen, Value block, ValueRange counts);
  Value stateSlot(int64_t warp) { return b.byteOffset(context.sharedMemory, 4 * warp); }

  QueryContext &context;
  KernelBuilder &b;
  PatternLists lists;
  Value warp, lane;
};

void PatternBuilderEmitter::emit() {
  Value list = ptx::blockIndex(b);
  QueryTile tile = lists.tileOf(list);
  KeyBlocks reachable = context.reachableBlocks(tile);
  Value zero = b.i32(0);
  Values counts =
      b.forLoop(reachable.begin, reachable.end, b.i32(builderWarps), {zero, zero}, [&](Value first, ValueRange s) {
        Value block = b.add(first, warp);
        Value seen = b.ifThenElse(
            b.less(block, reachable.end), b.i32Type(), [&] { return Values{seenOf(tile, block)}; },
            [&] { return Values{b.i32(nothing)}; })[0];
        return appendRound(list, seen, block, s);
      });
  lists.storeCounts(list, counts, b.equal(context.thread, 0));
}

/// The bits that the warp sees of a block: the same in all lanes.
Value PatternBuilderEmitter::seenOf(const QueryTile &tile, Value block) {
  Value firstKey = b.mul(block, context.keyBlock);
  int64_t pairs = context.queryBlock * context.keyBlock;
  Value seen =
      b.forLoop(b.i32(0), b.i32(pairs / lanes), b.i32(1), {b.i32(nothing)}, [&](Value index, ValueRange carried) {
        return Values{arith::OrIOp::create(b, carried[0], seenByLane(tile, firstKey, index))};
      })[0];
  for (int64_t distance = 1; distance < lanes; distance *= 2)
    seen = arith::OrIOp::create(b, seen, ptx::exchange(b, seen, distance));
  return seen;
}

/// One pair of a query and a key: pair `index` of the lane.
Value PatternBuilderEmitter::seenByLane(const QueryTile &tile, Value firstKey, Value index) {
  int64_t keysPerLane = context.keyBlock / lanes;
  Value query = b.add(tile.first, b.divide(index, keysPerLane));
  Value key = b.add(b.add(firstKey, lane), b.mul(b.modulo(index, keysPerLane), lanes));
  Value counts = b.logicalAnd(b.less(query, context.queries()), context.isInReach(tile, query, key));
  Region &mask = *context.softmax.mask;
  Value isVisible = context.computeValues(mask, {tile.batch, tile.head, query, key}, yieldedValue(mask))[0];
  return b.select(counts, b.select(isVisible, b.i32(visible), b.i32(hidden)), b.i32(nothing));
}

/// Appends the blocks of all warps to the lists. Counts: of partial blocks, of full ones.
Values PatternBuilderEmitter::appendRound(Value list, Value seen, Value block, ValueRange counts) {
  Value isFirstLane = b.equal(lane, 0), zero = b.i32(0);
  b.ifThen(isFirstLane,
           [&] { LLVM::StoreOp::create(b, seen, b.elementPointer(context.sharedMemory, b.i32Type(), warp)); });
  ptx::barrierCta(b);
  Values positions(counts), next(counts);
  for (int64_t other = 0; other < builderWarps; ++other) {
    Value state = b.load(b.i32Type(), stateSlot(other));
    Value isBefore = b.less(b.i32(other), warp);
    for (ListKind kind : listKinds) {
      Value one = b.select(b.equal(state, kindOfSeen[kind]), b.i32(1), zero);
      next[kind] = b.add(next[kind], one);
      positions[kind] = b.add(positions[kind], b.select(isBefore, one, zero));
    }
  }
  ptx::barrierCta(b); // the next round writes the states again
  for (ListKind kind : listKinds)
    lists.append(kind, list, positions[kind], block, b.logicalAnd(isFirstLane, b.equal(seen, kindOfSeen[kind])));
  return next;
}

} // namespace

bool sparsec::hasPatternBuilder(ProgramOp program) {
  bool hasMask = false;
  program.walk([&](TileSoftmaxOp softmax) { hasMask = !softmax.getMask().empty(); });
  return hasMask && hasPattern(program);
}

void sparsec::emitPatternBuilder(ProgramOp program) {
  emitAuxiliary(
      program,
      {AuxiliaryKind::pattern_builder, "_pattern", builderWarps, /*listsPerCta=*/1, /*sharedMemory=*/4 * builderWarps},
      [](QueryContext &context) {
        // Positions differ from sequence to sequence: the lists have what the mask alone allows.
        if (context.hasSequences)
          context.windowLeft = context.windowRight = -1;
        PatternBuilderEmitter(context).emit();
      });
}
