// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sections of windows whose consumers have streams of blocks (SPARSEC_PLAN_STAGE_OFFSETS).

#include "PlanWindow.h"

#include "Ptx.h"
#include "ScheduleAttribute.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

class PlanStreams : PlanWindow {
public:
  PlanStreams(ProductContext &context, const StreamShape &shape);

  void emitCount();
  void emitWrite();

  static int64_t wordsFor(ProgramOp program) {
    return wordsOfWindow(rowsOfWindow(program)) + consumersOf(program.getSchedule()) * prefixWords + 1;
  }

private:
  /// Those of all CTAs that share a window.
  static int64_t consumersOf(ScheduleAttr schedule) {
    return schedule.getConsumersM() * ctasOfWindow(toSchedule(schedule));
  }

  static constexpr int64_t prefixWords = mostWordsOfPlan + 1;

  /// With adjacent columns: the stages that have a column, each at the bit of its first column.
  Value columnsIn(Value word) override;
  Value stageCount();
  /// The stage of a column in the window, and its place in the stage.
  struct Place {
    Value stage, column;
  };
  Place placeOf(Value column);

  /// The columns in which a product exists, in a word: its rows are `bundle` neighbours of a consumer.
  Value productsIn(Value consumer, int64_t product, Value word);
  Value countProducts(Value consumer, Value word, Value mask);
  Value productsBefore(Value consumer) {
    return b.elementPointer(allBefore, b.i32Type(), b.mul(consumer, prefixWords));
  }
  void countAllProducts();
  void countColumns();

  void fill(PlanSection section, Value begin, Value end, int64_t value);
  void writeStages(Value firstStage);
  Value columnsBefore(int64_t product, Value own, Value column);
  void writeProducts(Value column, const Place &place, Value stage);
  void writeChunks(const Begins &begins);
  void writeOffsets(const Begins &begins);

  const int64_t consumers, bundle, products; // products: of a column and consumer, at most
  const int64_t stageColumns, chunkProducts;
  const bool areAdjacent;
  Value allBefore; // of every consumer and word: its products in the words before
  Value columns;   // a word: the columns of the window
};

} // namespace

PlanStreams::PlanStreams(ProductContext &context, const StreamShape &shape)
    : PlanWindow(context, rowsOfWindow(context.program), consumersOf(context.schedule)),
      consumers(consumersOf(context.schedule)), bundle(shape.productRows / context.matrix.getBlockRows()),
      products(shape.productsOfColumn()), stageColumns(shape.stageColumns), chunkProducts(shape.chunkProducts),
      areAdjacent(context.program.getAdjacentColumns()), allBefore(reserve(consumers * prefixWords)),
      columns(reserve(1)) {}

Value PlanStreams::columnsIn(Value word) {
  Value columns = PlanWindow::columnsIn(word);
  if (!areAdjacent)
    return columns;
  int64_t firsts = 0;
  for (int64_t bit = 0; bit < wordBits; bit += stageColumns)
    firsts |= int64_t(1) << bit;
  for (int64_t distance = 1; distance < stageColumns; distance *= 2)
    columns = b.bitOr(columns, b.shiftRight(columns, distance));
  return b.bitAnd(columns, firsts);
}

Value PlanStreams::stageCount() {
  return areAdjacent ? columnCount() : b.divide(b.add(columnCount(), stageColumns - 1), stageColumns);
}

PlanStreams::Place PlanStreams::placeOf(Value column) {
  if (areAdjacent) {
    Value inStage = b.modulo(column, stageColumns);
    return {numberOf(b.sub(column, inStage)), inStage};
  }
  Value number = numberOf(column);
  return {b.divide(number, stageColumns), b.modulo(number, stageColumns)};
}

Value PlanStreams::productsIn(Value consumer, int64_t product, Value word) {
  Value first = b.add(b.mul(consumer, rows / consumers), product * bundle);
  Value columns = wordOfRow(first, word);
  for (int64_t row = 1; row < bundle; ++row)
    columns = b.bitOr(columns, wordOfRow(b.add(first, row), word));
  return columns;
}

/// The products of a consumer in the columns of a word that a mask has.
Value PlanStreams::countProducts(Value consumer, Value word, Value mask) {
  Value count = b.i32(0);
  for (int64_t product = 0; product < products; ++product)
    count = b.add(count, b.countBits(b.bitAnd(productsIn(consumer, product, word), mask)));
  return count;
}

/// Fills allBefore. All threads call it, after gather().
void PlanStreams::countAllProducts() {
  Value all = b.i32(-1);
  for (int64_t consumer = 0; consumer < consumers; ++consumer) {
    Value number = b.i32(consumer);
    forEachOfThread(b.i32(0), words,
                    [&](Value word) { storeWord(productsBefore(number), word, countProducts(number, word, all)); });
  }
  ptx::barrierCta(b);
  forEachOfWarp(b.i32(consumers), [&](Value consumer) { addUp(productsBefore(consumer), words); });
  ptx::barrierCta(b);
}

/// Stages may have more columns than those that some row of the window has.
void PlanStreams::countColumns() {
  fillWords(columns, b.i32(1), 0);
  ptx::barrierCta(b);
  forEachOfThread(b.i32(0), words,
                  [&](Value word) { ptx::addInto(b, columns, b.countBits(PlanWindow::columnsIn(word))); });
  ptx::barrierCta(b);
}

void PlanStreams::emitCount() {
  gather();
  countAllProducts();
  countColumns();
  b.ifThen(b.equal(context.thread, 0), [&] {
    storeCount(b.i32(0), stageCount());
    Value count = loadWord(productsBefore(b.i32(0)), words);
    for (int64_t consumer = 1; consumer < consumers; ++consumer)
      count = b.add(count, loadWord(productsBefore(b.i32(consumer)), words));
    storeSizes(loadWord(columns, b.i32(0)), count);
  });
  b.ifThen(b.less(context.thread, consumers), [&] {
    Value count = loadWord(productsBefore(context.thread), words);
    storeCount(b.add(context.thread, 1), b.divide(b.add(count, chunkProducts - 1), chunkProducts));
  });
}

void PlanStreams::fill(PlanSection section, Value begin, Value end, int64_t value) {
  forEachOfThread(begin, end, [&](Value entry) { storeEntry(section, entry, b.i32(value)); });
}

void PlanStreams::emitWrite() {
  gather();
  countAllProducts();
  const Begins begins = this->begins();
  // Readers may load one stage and one chunk more than there are.
  Value isLast = b.select(this->isLast(), b.i32(1), b.i32(0));
  Value endStage = b.add(begins.columns, stageCount()), filledStages = b.add(endStage, isLast);
  Value filledChunks = b.add(begins.lists.back(), isLast);
  const int64_t chunkBlocks = chunkProducts * bundle;
  fill(PlanSection::stage_columns, b.mul(begins.columns, stageColumns), b.mul(filledStages, stageColumns), -1);
  fill(PlanSection::stage_products, b.mul(begins.columns, consumers), b.mul(filledStages, consumers), 0);
  fill(PlanSection::chunk_blocks, b.mul(begins.lists[0], chunkBlocks), b.mul(filledChunks, chunkBlocks), -1);
  ptx::barrierCta(b);
  writeStages(begins.columns);
  writeChunks(begins);
  writeOffsets(begins);
}

void PlanStreams::writeStages(Value firstStage) {
  forEachOfThread(b.i32(0), blockColumns, [&](Value column) {
    Value first = areAdjacent ? b.sub(column, b.modulo(column, stageColumns)) : column;
    Value isThere = b.bitAnd(columnsIn(wordOf(first)), bitOf(first));
    b.ifThen(b.logicalNot(b.equal(isThere, 0)), [&] {
      const Place place = placeOf(column);
      Value stage = b.add(firstStage, place.stage);
      storeEntry(PlanSection::stage_columns, b.add(b.mul(stage, stageColumns), place.column), column);
      writeProducts(column, place, stage);
    });
  });
}

/// The bits of a column in the word of every consumer.
void PlanStreams::writeProducts(Value column, const Place &place, Value stage) {
  for (int64_t consumer = 0; consumer < consumers; ++consumer) {
    Value bits = b.i32(0);
    for (int64_t product = 0; product < products; ++product) {
      Value word = productsIn(b.i32(consumer), product, wordOf(column));
      Value isThere = b.logicalNot(b.equal(b.bitAnd(word, bitOf(column)), 0));
      const int64_t bit = areAdjacent ? product * stageColumns : product;
      bits = b.bitOr(bits, b.select(isThere, b.i32(static_cast<int32_t>(uint32_t(1) << bit)), b.i32(0)));
    }
    Value entry = b.add(b.mul(stage, consumers), consumer);
    Value shifted = b.shiftLeft(bits, areAdjacent ? place.column : b.mul(place.column, products));
    ptx::orInto(b, b.elementPointer(section(PlanSection::stage_products), b.i32Type(), entry), shifted);
  }
}

/// The columns in a word in which the blocks of product number `product` come before those of product `own` in a
/// column. Blocks come by column, then by product; with adjacent columns by stage, by product, and then by column.
Value PlanStreams::columnsBefore(int64_t product, Value own, Value column) {
  Value isLower = b.less(b.i32(product), own);
  if (!areAdjacent)
    return b.bitOr(below(column), b.select(isLower, bitOf(column), b.i32(0)));
  Value first = b.sub(column, b.modulo(column, stageColumns));
  Value ofStage = b.shiftLeft(b.i32((1 << stageColumns) - 1), b.bitAnd(first, wordBits - 1));
  Value ofOthers = b.select(b.equal(own, product), below(column), below(first));
  return b.select(isLower, b.bitOr(below(first), ofStage), ofOthers);
}

/// The blocks of a consumer's products in their order.
void PlanStreams::writeChunks(const Begins &begins) {
  const int64_t rowsOfConsumer = rows / consumers;
  forEachBlock([&](Value place, Value position, Value column) {
    Value consumer = b.divide(place, rowsOfConsumer), own = b.divide(b.modulo(place, rowsOfConsumer), bundle);
    Value word = wordOf(column), number = loadWord(productsBefore(consumer), word);
    for (int64_t product = 0; product < products; ++product) {
      Value before = b.bitAnd(productsIn(consumer, product, word), columnsBefore(product, own, column));
      number = b.add(number, b.countBits(before));
    }
    Value firstChunk = begins.lists[0];
    for (int64_t i = 1; i < consumers; ++i)
      firstChunk = b.select(b.equal(consumer, i), begins.lists[i], firstChunk);
    Value entry = b.add(b.mul(firstChunk, chunkProducts), number);
    storeEntry(PlanSection::chunk_blocks, b.add(b.mul(entry, bundle), b.modulo(place, bundle)), index.block(position));
  });
}

/// The ends of the window in the sections of offsets. Those before the first window are 0 since the plan was made.
void PlanStreams::writeOffsets(const Begins &begins) {
  b.ifThen(b.equal(context.thread, 0), [&] {
    storeEntry(PlanSection::stage_offsets, b.add(window, 1), b.add(begins.columns, stageCount()));
    for (int64_t consumer = 0; consumer < consumers; ++consumer)
      storeEntry(PlanSection::chunk_offsets, b.add(b.mul(window, consumers), consumer + 1), begins.lists[consumer + 1]);
  });
}

void sparsec::emitPlanStreams(ProgramOp program) {
  auto matrix = cast<BsrType>(matrixOf(program).getType());
  const StreamShape shape = streamShape(toSchedule(program.getSchedule()), matrix.getBlockColumns());
  // The adjacent columns of a stage have to be in one word.
  if (program.getAdjacentColumns() && wordBits % shape.stageColumns != 0)
    return;
  auto emit = [&](AuxiliaryKind kind, void (PlanStreams::*body)()) {
    emitWindowKernel(program, kind, PlanStreams::wordsFor(program), [&](ProductContext &context) {
      PlanStreams streams(context, shape);
      (streams.*body)();
    });
  };
  emit(AuxiliaryKind::count_windows, &PlanStreams::emitCount);
  emit(AuxiliaryKind::write_windows, &PlanStreams::emitWrite);
}
