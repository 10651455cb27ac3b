// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PlanWindow.h"

#include "Ptx.h"
#include "ScheduleAttribute.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

Value sparsec::matrixOf(ProgramOp program) {
  for (BlockArgument argument : program.getBody().getArguments())
    if (isa<BsrType>(argument.getType()))
      return argument;
  llvm_unreachable("a program with windows has a matrix");
}

int64_t sparsec::rowsOfWindow(ProgramOp program) {
  const Schedule schedule = toSchedule(program.getSchedule());
  return schedule.tileM * ctasOfWindow(schedule) / cast<BsrType>(matrixOf(program).getType()).getBlockRows();
}

PlanWindow::PlanWindow(ProductContext &context, int64_t rows, int64_t lists)
    : PlanKernel(context), rows(rows), lists(lists), index(context, matrixOf(context.program)),
      window(ptx::blockIndex(b)), rowWords(reserve(rows * mostWordsOfPlan)),
      columnsBefore(reserve(mostWordsOfPlan + 1)), counters(reserve(countersOfWindow)) {
  blockRows = index.blockRows();
  blockColumns = index.blockColumns();
  windows = b.divide(b.add(blockRows, rows - 1), rows);
  words = b.divide(b.add(blockColumns, wordBits - 1), wordBits);
}

void PlanWindow::forEachBlock(BlockBody body) {
  Value places = b.minimum(b.i32(rows), b.sub(blockRows, rowAt(b.i32(0))));
  forEachOfWarp(places, [&](Value place) {
    Value row = rowAt(place);
    forEachOfLane(index.start(row), index.start(b.add(row, 1)),
                  [&](Value position) { body(place, position, index.column(position)); });
  });
}

void PlanWindow::gather() {
  Value zero = b.i32(0);
  fillWords(rowWords, b.i32(rows * mostWordsOfPlan), 0);
  ptx::barrierCta(b);
  forEachBlock([&](Value place, Value /*position*/, Value column) {
    Value word = b.add(b.mul(place, mostWordsOfPlan), wordOf(column));
    ptx::orInto(b, b.elementPointer(rowWords, b.i32Type(), word), bitOf(column));
  });
  ptx::barrierCta(b);
  forEachOfThread(zero, words, [&](Value word) { storeWord(columnsBefore, word, b.countBits(columnsIn(word))); });
  ptx::barrierCta(b);
  b.ifThen(b.equal(warp, 0), [&] { addUp(columnsBefore, words); });
  ptx::barrierCta(b);
}

Value PlanWindow::columnsIn(Value word) {
  Value all = wordOfRow(0, word);
  for (int64_t row = 1; row < rows; ++row)
    all = b.bitOr(all, wordOfRow(row, word));
  return all;
}

Value PlanWindow::numberOf(Value column) {
  Value word = wordOf(column);
  return b.add(loadWord(columnsBefore, word), b.countBits(b.bitAnd(columnsIn(word), below(column))));
}

void PlanWindow::forEachColumn(Body body) {
  forEachOfThread(b.i32(0), blockColumns, [&](Value column) {
    Value isThere = b.bitAnd(columnsIn(wordOf(column)), bitOf(column));
    b.ifThen(b.logicalNot(b.equal(isThere, 0)), [&] { body(column); });
  });
}

void PlanWindow::storeCount(Value entry, Value count) {
  storeEntry(PlanSection::window_counts, b.add(b.mul(window, 1 + lists), entry), count);
}

void PlanWindow::storeSizes(Value columns, Value blocks) {
  Value entry = b.mul(window, 2);
  storeEntry(PlanSection::window_sizes, entry, columns);
  storeEntry(PlanSection::window_sizes, b.add(entry, 1), blocks);
}

Value PlanWindow::loadCount(Value window, int64_t entry) {
  return loadEntry(PlanSection::window_counts, b.add(b.mul(window, 1 + lists), entry));
}

PlanWindow::Begins PlanWindow::begins() {
  fillWords(counters, b.i32(countersOfWindow), 0);
  ptx::barrierCta(b);
  forEachOfThread(b.i32(0), window, [&](Value before) {
    Value sum = loadCount(before, 1);
    for (int64_t list = 1; list < lists; ++list)
      sum = b.add(sum, loadCount(before, 1 + list));
    ptx::addInto(b, b.elementPointer(counters, b.i32Type(), b.i32(0)), loadCount(before, 0));
    ptx::addInto(b, b.elementPointer(counters, b.i32Type(), b.i32(1)), sum);
  });
  ptx::barrierCta(b);
  Begins begins = {loadWord(counters, b.i32(0)), {loadWord(counters, b.i32(1))}};
  for (int64_t list = 0; list < lists; ++list)
    begins.lists.push_back(b.add(begins.lists.back(), loadCount(window, 1 + list)));
  return begins;
}

void sparsec::emitWindowKernel(ProgramOp program, AuxiliaryKind kind, int64_t words,
                               llvm::function_ref<void(ProductContext &)> emitBody) {
  StringRef suffix = kind == AuxiliaryKind::count_windows ? "_count_windows" : "_write_windows";
  const int64_t tileM = rowsOfWindow(program) * cast<BsrType>(matrixOf(program).getType()).getBlockRows();
  emitPlanKernel(program, kind, suffix, tileM, words, emitBody);
}
