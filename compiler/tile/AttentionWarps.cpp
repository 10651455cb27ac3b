// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All warps are one role. Each has 16 queries of the tile and all keys of a step. Two rings, of keys and of values.
// Step j turns its scores, which the step before has multiplied, into probabilities, and needs the keys of step j + 1
// and the values of step j:
//
//   copies of Q and K0; then of K(i), V(i - 1) for i = 1 .. stages - 1
//   scores of step 0
//   for each step j: wait for K(j + 1), V(j); barrier of the CTA; copies of K(j + stages), V(j + stages - 1), into the
//     slots that step j - 1 has left; softmax of step j; scores of step j + 1; O += P V(j)
//
// so that the softmax and the scores, which do not depend on each other, can share the instruction slots. The last step
// multiplies keys that nobody needs: any number will do.
//
// The order of the work inside a CTA is that of FlashAttention-2 (Dao, 2023, section 3.3). Probabilities go from the
// accumulator layout of the first product straight into the A registers of the second one.

#include "AttentionWarps.h"

#include "AttentionRole.h"
#include "AttentionSchedule.h"
#include "ScheduleAttribute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

constexpr int64_t rowsOfWarp = 16;

class AttentionWarps : public AttentionRole {
public:
  AttentionWarps(ImplicitLocOpBuilder &b, AttentionParts &parts)
      : AttentionRole(b, parts, rowsOfWarp), stages(schedule.getStages()) {}

  void build();

private:
  /// The state that a warp carries from step to step.
  struct Progress {
    Value slot, previousSlot; // of this step and of the one before, in both rings
    Value step;               // the last of the upcoming ones
    Value scores, output;     // accumulators
    Value rows;               // m and l
    Values upcoming;          // this step and the `stages` after it, as sparsec.read_step gives them

    Values values() const;
    static Progress of(ValueRange values);
    static constexpr int64_t positionOfUpcoming = 6;
  };
  /// A tile after its last step.
  struct FinishedTile {
    Value output, rows;
  };

  void buildTile(Value tileRow, Value panel);
  FinishedTile buildSteps(const FinishedTile &none);
  Progress begin(const FinishedTile &none);
  Progress nextStep(const Progress &progress);
  void softmaxStep(Progress &progress, const Step &step);
  void copyTogether(function_ref<void()> makeCopies);
  void copyStep(Value source, Value ring, Value step, Value slot);
  void copyKeys(Value source, Value ring, Value firstKey, Value slot);
  Value endOf(Value key, Value row);
  void awaitCopies(int64_t outstanding);
  Value advance(Progress &progress);
  Value multiplyKeys(Value slot, Value step);
  bool keepsQueries();
  Value exists(Value step) { return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, step, i32(b, 0)); }
  Step stepOf(Value step) { return AttentionRole::stepOf(step, schedule.getTileN()); }
  bool isAsynchronous() { return schedule.getCopy() == Copy::cp_async; }

  int64_t stages;
  SequenceTile tile;
  Value walk, first, firstNumber; // the walk of the tile, and its first step
  Value queryCursor, keptQueries;
};

AttentionWarps::Values AttentionWarps::Progress::values() const {
  Values all{slot, previousSlot, step, scores, output, rows};
  llvm::append_range(all, upcoming);
  return all;
}

AttentionWarps::Progress AttentionWarps::Progress::of(ValueRange values) {
  return {
      values[0], values[1], values[2], values[3], values[4], values[5], Values(values.drop_front(positionOfUpcoming))};
}

void AttentionWarps::build() {
  auto loop = TileLoopOp::create(b);
  b.setInsertionPointToStart(&loop.getBody().front());
  buildTile(loop.getBody().getArgument(0), loop.getBody().getArgument(1));
}

/// Addresses that depend on the thread alone are computed for every tile: registers of the whole kernel would be
/// missing in the steps.
void AttentionWarps::buildTile(Value tileRow, Value panel) {
  makeViews();
  TilePartOp part = parts.makePart(b, panel);
  if (parts.hasPackedQueries()) {
    auto packed =
        PackedTileOp::create(b, parts.query, parts.keyLoop.getQueryStarts(), tileRow, panel, schedule.getTileM());
    tileRow = packed.getTileRow();
    panel = packed.getBlock();
  }
  tile = parts.makeTile(b, part, tileRow, panel);
  walk = parts.makeWalk(b, tile, parts.makeLists(b, tile.tile));
  softmax = makeSoftmax(tile);
  auto firstStep = FirstStepOp::create(b, walk, /*reads=*/true);
  first = firstStep.getResult();
  firstNumber = firstStep.getVisited()[0];
  FinishedTile none = {ZeroOp::create(b, outputType()), SoftmaxBeginOp::create(b, stateType(), softmax)};

  auto branch =
      scf::IfOp::create(b, TypeRange{outputType(), stateType()}, exists(firstNumber), /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    FinishedTile finished = buildSteps(none);
    scf::YieldOp::create(b, ValueRange{finished.output, finished.rows});
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, ValueRange{none.output, none.rows});
  }
  parts.makeStore(b, tile, add(b, tile.tile.getFirst(), groupRow), branch.getResult(0), branch.getResult(1));
}

/// The steps of a list that has some.
AttentionWarps::FinishedTile AttentionWarps::buildSteps(const FinishedTile &none) {
  Progress last = Progress::of(
      loopWhile(b, begin(none).values(), {"slot", "previous_slot", "step", "scores", "output", "rows", "upcoming"},
                {Progress::positionOfUpcoming, LoopTest::sge, 0},
                [&](ValueRange progress) { return nextStep(Progress::of(progress)).values(); }));
  return {last.output, SumRowsOp::create(b, stateType(), last.rows, /*output=*/Value())};
}

/// The copies that the steps do not start, and the scores of the first step, which exists. Output and rows begin as
/// those of a tile without keys.
AttentionWarps::Progress AttentionWarps::begin(const FinishedTile &none) {
  BarrierOp::create(b); // all warps are done with the slots of the previous tile
  queryCursor = CursorOp::create(b, parts.queryRing);
  Progress progress;
  progress.upcoming.push_back(firstNumber);
  progress.step = first;
  Value begin = CursorOp::create(b, parts.keyRing), slot = begin, previousSlot;
  for (int64_t i = 0; i < stages; ++i) {
    copyTogether([&] {
      if (i == 0)
        CopyOp::create(b, parts.query, parts.queryCoordinates(b, tile, tile.tile.getFirst()), parts.queryRing,
                       queryCursor, /*index=*/0);
      copyStep(parts.key, parts.keyRing, progress.upcoming[i], slot);
      if (i > 0)
        copyStep(parts.value, parts.valueRing, progress.upcoming[i - 1], previousSlot);
    });
    progress.upcoming.push_back(advance(progress));
    previousSlot = slot;
    slot = NextOp::create(b, parts.keyRing, slot);
  }
  awaitCopies(stages - 1);
  if (keepsQueries())
    keptQueries = LoadFragmentOp::create(b, queryFragmentType(), queryView, queryCursor);

  progress.slot = begin;
  progress.previousSlot = previousSlot;
  progress.scores = multiplyKeys(begin, progress.upcoming[0]);
  progress.output = none.output;
  progress.rows = none.rows;
  return progress;
}

bool AttentionWarps::keepsQueries() {
  AttentionDescription problem;
  problem.headDimension = parts.headDimension;
  problem.valueDimension = parts.valueDimension;
  return sparsec::keepsQueries(toSchedule(schedule), problem);
}

AttentionWarps::Progress AttentionWarps::nextStep(const Progress &progress) {
  Progress next = progress;
  Value terms = makeTerms(progress.upcoming[0], schedule.getTileN());
  awaitCopies(stages - 2);
  copyTogether([&] {
    copyStep(parts.key, parts.keyRing, progress.upcoming[stages], progress.slot);
    copyStep(parts.value, parts.valueRing, progress.upcoming[stages - 1], progress.previousSlot);
  });
  Step step = stepOf(progress.upcoming[0]);
  step.terms = terms;
  softmaxStep(next, step);
  Value probabilities = fragmentOf(next.scores);
  next.slot = NextOp::create(b, parts.keyRing, progress.slot);
  next.previousSlot = progress.slot;
  next.scores = multiplyKeys(next.slot, progress.upcoming[1]);
  next.output = ProductOp::create(b, outputType(), probabilities, /*a_cursor=*/Value(), valueView, progress.slot,
                                  next.output, schedule.getTileN());
  next.upcoming.erase(next.upcoming.begin());
  next.upcoming.push_back(advance(next));
  return next;
}

/// Replaces the scores by probabilities.
void AttentionWarps::softmaxStep(Progress &progress, const Step &step) {
  if (!form.hasFixedShift()) {
    RowMaximumOp maximum = raiseMaximum(progress.scores, progress.rows, step);
    progress.output = RescaleOp::create(b, outputType(), progress.output, maximum.getRescaling());
    progress.scores = maximum.getScores();
    progress.rows = maximum.getRaised();
  }
  Exponentials exponentials = exponentiate(progress.scores, progress.rows, step);
  progress.scores = exponentials.probabilities;
  progress.rows = exponentials.rows;
}

/// Goes to the step after the last upcoming one.
Value AttentionWarps::advance(Progress &progress) {
  auto next = NextStepOp::create(b, walk, progress.step, /*reads=*/true);
  progress.step = next.getResult();
  return next.getVisited()[0];
}

/// Makes a group of copies.
void AttentionWarps::copyTogether(function_ref<void()> makeCopies) {
  auto group = CopyGroupOp::create(b, /*condition=*/Value());
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&group.getBody());
  makeCopies();
}

/// Copies keys or values of a step, if it exists. The first step does.
void AttentionWarps::copyStep(Value source, Value ring, Value step, Value slot) {
  if (step == firstNumber)
    return copyKeys(source, ring, stepOf(step).keys[0], slot);
  auto branch = IfStepOp::create(b, step, schedule.getTileN());
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&branch.getBody(), {}, b.getI32Type(), b.getLoc());
  copyKeys(source, ring, body->getArgument(0), slot);
}

void AttentionWarps::copyKeys(Value source, Value ring, Value firstKey, Value slot) {
  const int64_t keys = schedule.getTileN(), rows = parts.contiguousKeys(keys);
  for (int64_t row = 0; row < keys; row += rows) {
    Value key = row == 0 ? firstKey : add(b, firstKey, i32(b, row));
    SmallVector<Value> coordinates = parts.keyCoordinates(b, tile, key);
    Value end = endOf(key, coordinates[2]);
    auto copy = CopyOp::create(b, source, coordinates, ring, slot, /*index=*/0);
    if (rows < keys)
      copy.setRows(ArrayRef<int64_t>{row, rows});
    if (end)
      copy.getEndMutable().assign(end);
  }
}

/// The coordinate of the first row behind the sequence's last key, where `row` is that of a key; null where Q and K
/// have the sizes of all sequences.
Value AttentionWarps::endOf(Value key, Value row) {
  SequenceOp sequence = tile.sequence;
  if (!sequence)
    return Value();
  return add(b, row, arith::SubIOp::create(b, sequence.getKeys(), key));
}

/// After it all threads see the copies but those of the last groups.
void AttentionWarps::awaitCopies(int64_t outstanding) {
  if (isAsynchronous())
    AwaitCopiesOp::create(b, outstanding);
  BarrierOp::create(b);
}

/// Q K of a step.
Value AttentionWarps::multiplyKeys(Value slot, Value step) {
  bool keeps = keepsQueries();
  return ProductOp::create(b, scoreType(), keeps ? keptQueries : queryView, keeps ? Value() : queryCursor, keyView,
                           slot, biasOf(stepOf(step)), parts.headDimension);
}

} // namespace

void sparsec::makeAttentionWarps(ProgramOp program) {
  AttentionParts parts(program);
  ScheduleAttr schedule = parts.schedule;
  ImplicitLocOpBuilder b(program.getLoc(), program.getContext());
  b.setInsertionPoint(parts.tileLoop);
  auto ring = [&](StringRef name, int64_t stages, int64_t rows, int64_t columns) {
    return parts.makeRing(b, name, stages, rows, columns, /*hasMessages=*/false);
  };
  parts.queryRing = ring("query_ring", queryStages(toSchedule(schedule)), schedule.getTileM(), parts.headDimension);
  parts.keyRing = ring("key_ring", schedule.getStages(), schedule.getTileN(), parts.headDimension);
  parts.valueRing = ring("value_ring", schedule.getStages(), schedule.getTileN(), parts.valueDimension);
  makeRole(b, "all", RoleUnit::warp, schedule.getTileM() / rowsOfWarp, /*registers=*/0,
           [&] { AttentionWarps(b, parts).build(); });
  parts.tileLoop.erase();
}
