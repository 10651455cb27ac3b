// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sections of windows whose groups have steps (SPARSEC_PLAN_STEPS). A group has one block row. The first lane of a
// warp walks the columns of the group's row in order, because where its next waypoint is follows from its last step.

#include "PlanWindow.h"

#include "Ptx.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// Block 65535 of a step: it multiplies nothing (SPARSEC_PLAN_STEPS).
static constexpr int64_t noBlock = 65535;
/// A column of SPARSEC_PLAN_COLUMNS is above the bits that count groups.
static constexpr int64_t groupBits = 3;

namespace {

class PlanWindows : PlanWindow {
public:
  explicit PlanWindows(ProductContext &context)
      : PlanWindow(context, rowsOfWindow(context.program), rowsOfWindow(context.program)),
        slots(context.schedule.getStages()), blocksBefore(reserve(mostWordsOfPlan + 1)) {}

  void emitCount();
  void emitWrite();

  static int64_t wordsFor(int64_t groups) { return wordsOfWindow(groups) + mostWordsOfPlan + 1; }

private:
  /// The walk of a group: how many steps it has, the first column behind its last step, and the last column that its
  /// next step may be for.
  struct Walk {
    Value steps, next, limit;
    auto fields() { return std::tie(steps, next, limit); }
  };
  /// Calls `store` with every step: its number in the group, its column and its block.
  using StoreStep = llvm::function_ref<void(Value number, Value column, Value block)>;
  /// Returns the number of steps.
  Value walk(Value group, StoreStep store);
  Walk takeStep(const Walk &walk, Value column, Value block, StoreStep store);
  Walk waitUpTo(const Walk &walk, Value column, StoreStep store);
  Walk walkWord(Walk walk, Value group, Value word, StoreStep store);
  Walk endWalk(const Walk &walk, StoreStep store);
  void forEachGroup(llvm::function_ref<void(Value group)> body);

  Value endRow() { return b.minimum(rowAt(b.i32(rows)), blockRows); }
  void countBlocks();
  Value blockNumber(Value group, Value column);
  void writeOffsets(const Begins &begins);
  void writeEnds(const Begins &begins);

  const int64_t slots;
  Value blocksBefore; // of every word: the blocks in the words before it
};

} // namespace

/// A step passes over the columns up to its own, and the next one must not skip as many columns as there are slots.
PlanWindows::Walk PlanWindows::takeStep(const Walk &walk, Value column, Value block, StoreStep store) {
  store(walk.steps, column, block);
  return {b.add(walk.steps, 1), b.add(column, 1), b.add(column, slots)};
}

/// Waypoints until a step may be for `column`.
PlanWindows::Walk PlanWindows::waitUpTo(const Walk &walk, Value column, StoreStep store) {
  return b.whileLoop(
      walk, [&](const Walk &now) { return b.less(now.limit, column); },
      [&](const Walk &now) { return takeStep(now, now.limit, b.i32(noBlock), store); });
}

PlanWindows::Walk PlanWindows::walkWord(Walk walk, Value group, Value word, StoreStep store) {
  struct State {
    Value bits;
    Walk walk;
    auto fields() { return std::tie(bits, walk); }
  };
  State begin = {wordOfRow(group, word), walk};
  return b
      .whileLoop(
          begin, [&](const State &now) { return b.logicalNot(b.equal(now.bits, 0)); },
          [&](const State &now) {
            Value blockColumn = b.add(b.mul(word, wordBits), b.lowestBit(now.bits));
            Value column = numberOf(blockColumn);
            Walk waited = waitUpTo(now.walk, column, store);
            return State{b.bitAnd(now.bits, b.sub(now.bits, 1)),
                         takeStep(waited, column, blockNumber(group, blockColumn), store)};
          })
      .walk;
}

/// Every group has a step in a window that has columns, and leaves at most slots / 2 columns at its end.
PlanWindows::Walk PlanWindows::endWalk(const Walk &walk, StoreStep store) {
  Value count = columnCount();
  const int64_t left = slots / 2;
  Value last = b.sub(count, 1 + left);
  last = b.select(b.less(last, 0), b.i32(0), last);
  return b.whileLoop(
      walk,
      [&](const Walk &now) {
        Value isFar = b.less(b.i32(left), b.sub(count, now.next));
        return b.logicalAnd(b.less(b.i32(0), count), b.logicalOr(b.equal(now.next, 0), isFar));
      },
      [&](const Walk &now) { return takeStep(now, b.minimum(last, now.limit), b.i32(noBlock), store); });
}

Value PlanWindows::walk(Value group, StoreStep store) {
  struct State {
    Value word;
    Walk walk;
    auto fields() { return std::tie(word, walk); }
  };
  Walk begin = {b.i32(0), b.i32(0), b.i32(slots - slots / 2 - 1)};
  Walk last =
      b.whileLoop(
           State{b.i32(0), begin}, [&](const State &now) { return b.less(now.word, words); },
           [&](const State &now) { return State{b.add(now.word, 1), walkWord(now.walk, group, now.word, store)}; })
          .walk;
  return endWalk(last, store).steps;
}

/// Calls `body` in one lane of a warp for each group.
void PlanWindows::forEachGroup(llvm::function_ref<void(Value group)> body) {
  assert(rows <= planWarps && "a window has a warp for each group");
  b.ifThen(b.logicalAnd(b.less(warp, rows), b.equal(lane, 0)), [&] { body(warp); });
}

void PlanWindows::emitCount() {
  gather();
  b.ifThen(b.equal(context.thread, 0), [&] {
    storeCount(b.i32(0), columnCount());
    storeSizes(columnCount(), b.sub(index.start(endRow()), index.start(rowAt(b.i32(0)))));
  });
  forEachGroup([&](Value group) { storeCount(b.add(group, 1), walk(group, [](Value, Value, Value) {})); });
}

/// Fills blocksBefore. All threads call it, after gather().
void PlanWindows::countBlocks() {
  forEachOfThread(b.i32(0), words, [&](Value word) {
    Value count = b.countBits(wordOfRow(0, word));
    for (int64_t row = 1; row < rows; ++row)
      count = b.add(count, b.countBits(wordOfRow(row, word)));
    storeWord(blocksBefore, word, count);
  });
  ptx::barrierCta(b);
  b.ifThen(b.equal(warp, 0), [&] { addUp(blocksBefore, words); });
  ptx::barrierCta(b);
}

/// The number of a block in the window: by column, then by group.
Value PlanWindows::blockNumber(Value group, Value column) {
  Value word = wordOf(column), number = loadWord(blocksBefore, word);
  for (int64_t row = 0; row < rows; ++row) {
    // Groups with a lower number come before it in the same column too.
    Value ownColumn = b.select(b.less(b.i32(row), group), bitOf(column), b.i32(0));
    Value before = b.bitAnd(wordOfRow(row, word), b.bitOr(below(column), ownColumn));
    number = b.add(number, b.countBits(before));
  }
  return number;
}

void PlanWindows::emitWrite() {
  gather();
  countBlocks();
  const Begins begins = this->begins();
  Value firstBlock = index.start(rowAt(b.i32(0)));
  forEachColumn([&](Value column) {
    Value entry = b.bitOr(b.shiftLeft(column, groupBits), b.i32(rows));
    storeEntry(PlanSection::columns, b.add(begins.columns, numberOf(column)), entry);
  });
  forEachBlock([&](Value place, Value position, Value column) {
    Value entry = b.mul(b.add(firstBlock, blockNumber(place, column)), 2);
    storeEntry(PlanSection::blocks, entry, index.block(position));
    storeEntry(PlanSection::blocks, b.add(entry, 1), column);
  });
  writeOffsets(begins);
  ptx::barrierCta(b); // steps count down what the columns hold
  forEachGroup([&](Value group) {
    Value first = begins.lists[0];
    for (int64_t i = 1; i < rows; ++i)
      first = b.select(b.equal(group, i), begins.lists[i], first);
    walk(group, [&](Value number, Value column, Value block) {
      storeEntry(PlanSection::steps, b.add(first, number), b.bitOr(column, b.shiftLeft(block, 16)));
      Value entry = b.add(begins.columns, column);
      ptx::addInto(b, b.elementPointer(section(PlanSection::columns), b.i32Type(), entry), b.i32(-1));
    });
  });
}

/// The ends of the window in every section. Those before the first window are 0 since the plan was made.
void PlanWindows::writeOffsets(const Begins &begins) {
  b.ifThen(b.equal(context.thread, 0), [&] {
    Value next = b.add(window, 1);
    storeEntry(PlanSection::column_offsets, next, b.add(begins.columns, columnCount()));
    storeEntry(PlanSection::block_offsets, next, index.start(endRow()));
    for (int64_t group = 0; group < rows; ++group)
      storeEntry(PlanSection::step_offsets, b.add(rowAt(b.i32(group)), 1), begins.lists[group + 1]);
    b.ifThen(isLast(), [&] { writeEnds(begins); });
  });
}

/// Readers may load one entry more than there are.
void PlanWindows::writeEnds(const Begins &begins) {
  Value zero = b.i32(0), blocks = b.mul(index.start(blockRows), 2);
  storeEntry(PlanSection::columns, b.add(begins.columns, columnCount()), zero);
  storeEntry(PlanSection::blocks, blocks, zero);
  storeEntry(PlanSection::blocks, b.add(blocks, 1), zero);
  storeEntry(PlanSection::steps, begins.lists.back(), zero);
}

void sparsec::emitPlanWindows(ProgramOp program) {
  const int64_t groups = rowsOfWindow(program);
  auto emit = [&](AuxiliaryKind kind, void (PlanWindows::*body)()) {
    emitWindowKernel(program, kind, PlanWindows::wordsFor(groups), [&](ProductContext &context) {
      PlanWindows windows(context);
      (windows.*body)();
    });
  };
  emit(AuxiliaryKind::count_windows, &PlanWindows::emitCount);
  emit(AuxiliaryKind::write_windows, &PlanWindows::emitWrite);
}
