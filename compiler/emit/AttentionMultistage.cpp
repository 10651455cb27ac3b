// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One CTA = tile_m / 16 warps, each with 16 queries of the tile and all keys of a step. All copy: by cp.async, or where
// operands may have any alignment by loads and stores, which take effect by the same barriers. Two rings, of keys and
// of values. Step j turns its scores, which the step before has multiplied, into probabilities and needs the keys of
// step j + 1 and the values of step j:
//
//   copies of Q and K0; then of K(i), V(i - 1) for i = 1 .. stages - 1
//   scores of step 0
//   for each step j: wait for K(j + 1), V(j); CTA barrier; copies of K(j + stages), V(j + stages - 1), into the slots
//     that step j - 1 has left; softmax of step j; scores of step j + 1; O += P V(j)
//
// so that the softmax and the scores, which do not depend on each other, can share the instruction slots. The last step
// multiplies keys that nobody needs: any number will do.
//
// The order of the work inside a CTA is that of FlashAttention-2 (Dao, 2023, section 3.3). Probabilities go from the
// accumulator layout of the first product straight into the A registers of the second one.

#include "AttentionMultistage.h"

#include "AttentionStore.h"
#include "KeySteps.h"
#include "Ptx.h"
#include "RowCopy.h"
#include "softmax/OnlineSoftmax.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t rowsPerWarp = 16;
constexpr int64_t mostResident = 128; // registers that hold something from step to step

/// What a warp carries from step to step.
struct Progress {
  Values upcoming;          // this step and the `stages` after it, as KeySteps has them
  KeySteps::State walk;     // from the last of them on
  Value slot, previousSlot; // of this step's values and of those before, in both rings
  Values scores, output;    // accumulators
  RowState rows;

  auto fields() { return std::tie(upcoming, walk, slot, previousSlot, scores, output, rows); }
};

/// A tile after its last step.
struct FinishedTile {
  Values output;
  RowState rows;

  auto fields() { return std::tie(output, rows); }
};

/// A tile of queries, in one warp.
class TileEmitter {
public:
  TileEmitter(AttentionContext &context, const QueryTile &tile);

  void emit();

private:
  FinishedTile emitSteps(const KeySteps::State &first);
  Progress begin(const KeySteps::State &first);
  Values loadQueries(int64_t k);
  bool keepsQueries();
  Progress emitStep(Progress progress);
  void startCopies(const Progress &progress);
  void copyKeys(Value step, Value slot);
  void copyValues(Value step, Value slot);
  Values multiplyKeys(Value slot, Value step);
  void multiplyValues(Value slot, ValueRange probabilities, Values &output);
  ScorePositions positions(Value step);
  /// sums (16 rows x 8 columns of group `group`) += a * (two registers of b)
  void multiply(Values &sums, int64_t group, ValueRange a, ValueRange bRegisters);
  void ifExists(Value step, llvm::function_ref<void()> body) { b.ifThen(steps.exists(step), body); }

  AttentionContext &context;
  KernelBuilder &b;
  const QueryTile &tile;
  int64_t stages, stepKeys;
  SmallVector<RingOp> rings;
  Ring queryRing, keyRing, valueRing;
  UnitLayout queryLayout, keyLayout, valueLayout;
  RowCopy queryCopy, keyCopy, valueCopy;
  RowCopy::Source keys, values;
  KeySteps steps;
  std::unique_ptr<OnlineSoftmax> softmax;
  Value lane, warpRow;
  SmallVector<Values> queries; // A operands for each 16 of the head dimension, if they are kept
};

TileEmitter::TileEmitter(AttentionContext &context, const QueryTile &tile)
    : context(context), b(context.b), tile(tile), stages(context.schedule.getStages()), stepKeys(context.tileKeys),
      rings(llvm::to_vector(context.program.getBody().getOps<RingOp>())), queryRing(context, rings[0]),
      keyRing(context, rings[1]), valueRing(context, rings[2]), queryLayout(b, queryRing), keyLayout(b, keyRing),
      valueLayout(b, valueRing), queryCopy(context, queryRing), keyCopy(context, keyRing),
      valueCopy(context, valueRing), keys(keyCopy.source(context.key, tile.batch, tile.keyHead)),
      values(valueCopy.source(context.value, tile.batch, tile.keyHead)), steps(context, tile),
      softmax(OnlineSoftmax::create(context, tile)), lane(b.bitAnd(context.thread, 31)),
      warpRow(b.mul(ptx::broadcastFirstLane(b, b.shiftRight(context.thread, 5)), rowsPerWarp)) {}

void TileEmitter::emit() {
  FinishedTile none = {Values(context.headDimension / 2, b.f32(0)), softmax->begin()};
  KeySteps::State first = steps.next(steps.begin());
  FinishedTile finished = b.changeIf(steps.exists(first.step), none, [&] { return emitSteps(first); });
  Value query = b.add(tile.first, b.add(warpRow, b.shiftRight(lane, 2)));
  emitAttentionStore(context, tile, query, finished.output, finished.rows);
}

/// The steps of a list that has some.
FinishedTile TileEmitter::emitSteps(const KeySteps::State &first) {
  Progress last = b.whileLoop(
      begin(first), [&](const Progress &progress) { return steps.exists(progress.upcoming[0]); },
      [&](const Progress &progress) { return emitStep(progress); });
  return {last.output, finishRows(b, last.rows)};
}

/// The copies that the steps do not start, and the scores of the first step.
Progress TileEmitter::begin(const KeySteps::State &first) {
  ptx::barrierCta(b); // all warps are done with the slots of the previous tile
  Progress progress;
  progress.upcoming.push_back(first.step);
  progress.walk = first;
  queryCopy.emit(queryCopy.source(context.query, tile.batch, tile.head), tile.first, b.i32(0));
  for (int64_t i = 0; i < stages; ++i) {
    ifExists(progress.upcoming[i], [&] { copyKeys(progress.upcoming[i], b.i32(i)); });
    if (i > 0)
      ifExists(progress.upcoming[i - 1], [&] { copyValues(progress.upcoming[i - 1], b.i32(i - 1)); });
    context.commitCopies();
    progress.walk = steps.next(progress.walk);
    progress.upcoming.push_back(progress.walk.step);
  }
  context.waitForCopies(stages - 1);
  ptx::barrierCta(b);
  if (keepsQueries())
    for (int64_t k = 0; k < context.headDimension / 16; ++k)
      queries.push_back(loadQueries(k));

  progress.slot = b.i32(0);
  progress.previousSlot = b.i32(stages - 1);
  progress.scores = multiplyKeys(progress.slot, progress.upcoming[0]);
  progress.output = Values(context.headDimension / 2, b.f32(0));
  progress.rows = softmax->begin();
  return progress;
}

/// Whether the queries stay in registers for all steps: with two steps' scores and the output they must leave room for
/// addresses and for what the instructions in flight need.
bool TileEmitter::keepsQueries() {
  int64_t outputs = context.headDimension / 2, scores = 2 * stepKeys / 2, operands = context.headDimension / 4;
  return outputs + scores + operands <= mostResident;
}

Values TileEmitter::loadQueries(int64_t k) {
  return queryLayout.loadA(/*buffer=*/0, b.i32(0), lane, warpRow, /*constantRow=*/0, k);
}

Progress TileEmitter::emitStep(Progress progress) {
  context.waitForCopies(stages - 2);
  ptx::barrierCta(b);
  startCopies(progress);

  Rescaling rescaling = softmax->beginStep(positions(progress.upcoming[0]), progress.scores, progress.rows);
  progress.output = b.ifThenElse(
      rescaling.isNeeded, ValueRange(progress.output).getTypes(), [&] { return rescaling.apply(b, progress.output); },
      [&] { return progress.output; });
  Values probabilities = ptx::packPairs(
      b, context.element, softmax->finishStep(positions(progress.upcoming[0]), progress.scores, progress.rows));
  Value nextSlot = keyRing.nextSlot(progress.slot);
  progress.scores = multiplyKeys(nextSlot, progress.upcoming[1]);
  multiplyValues(progress.slot, probabilities, progress.output);

  progress.previousSlot = progress.slot;
  progress.slot = nextSlot;
  progress.walk = steps.next(progress.walk);
  progress.upcoming.erase(progress.upcoming.begin());
  progress.upcoming.push_back(progress.walk.step);
  return progress;
}

void TileEmitter::startCopies(const Progress &progress) {
  Value keyStep = progress.upcoming[stages], valueStep = progress.upcoming[stages - 1];
  ifExists(keyStep, [&] { copyKeys(keyStep, progress.slot); });
  ifExists(valueStep, [&] { copyValues(valueStep, progress.previousSlot); });
  context.commitCopies();
}

void TileEmitter::copyKeys(Value step, Value slot) { keyCopy.emit(keys, steps.firstKey(step), slot); }
void TileEmitter::copyValues(Value step, Value slot) { valueCopy.emit(values, steps.firstKey(step), slot); }

void TileEmitter::multiply(Values &sums, int64_t group, ValueRange a, ValueRange bRegisters) {
  auto sum = MutableArrayRef<Value>(sums).slice(4 * group, 4);
  llvm::copy(ptx::mma(b, context.element, a, bRegisters, sum), sum.begin());
}

/// Q K of one step.
Values TileEmitter::multiplyKeys(Value slot, Value step) {
  Values sums = softmax->initialProducts(positions(step), stepKeys / 2);
  for (int64_t k = 0; k < context.headDimension / 16; ++k) {
    Values query = keepsQueries() ? queries[k] : loadQueries(k);
    for (int64_t pair = 0; pair < stepKeys / 16; ++pair) {
      Values key = keyLayout.loadB(/*buffer=*/0, slot, lane, b.i32(0), pair, k, /*transposed=*/true);
      for (int64_t half = 0; half < 2; ++half)
        multiply(sums, 2 * pair + half, query, ArrayRef<Value>(key).slice(2 * half, 2));
    }
  }
  return sums;
}

/// output += P V of one step.
void TileEmitter::multiplyValues(Value slot, ValueRange probabilities, Values &output) {
  for (int64_t k = 0; k < stepKeys / 16; ++k)
    for (int64_t pair = 0; pair < context.headDimension / 16; ++pair) {
      Values value = valueLayout.loadB(/*buffer=*/0, slot, lane, b.i32(0), pair, k, /*transposed=*/false);
      for (int64_t half = 0; half < 2; ++half)
        multiply(output, 2 * pair + half, probabilities.slice(4 * k, 4), ArrayRef<Value>(value).slice(2 * half, 2));
    }
}

ScorePositions TileEmitter::positions(Value step) {
  Value query = b.add(tile.first, b.add(warpRow, b.shiftRight(lane, 2)));
  Value column = b.shiftLeft(b.bitAnd(lane, 3), 1);
  ScorePositions::Block block = {b.add(steps.firstKey(step), column), steps.isPartial(step)};
  return ScorePositions(context, query, block);
}

} // namespace

void sparsec::emitAttentionMultistage(AttentionContext &context) {
  Value thread = context.thread;
  emitTileRows(context, {}, [&](Value tileRow, Value panel, ValueRange) {
    // Addresses that depend on the thread alone are computed for every tile: in registers of the whole kernel they
    // would leave too few for the steps.
    context.thread = ptx::opaque(context.b, thread);
    QueryTile tile = context.tile(tileRow, panel);
    TileEmitter(context, tile).emit();
    return Values();
  });
}
