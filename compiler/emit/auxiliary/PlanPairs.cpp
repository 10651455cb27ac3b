// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each CTA has a block row of A and of the result. The first kernel counts the pairs of the row. In the second one a
// CTA knows from the counts where its pairs begin, and from its own pairs in each block column where those of a block
// begin. It takes the blocks of its row of A by 32: one word then holds those of them that have a pair in a column, so
// that the place of a pair among those of its block is the number of bits below its own.

#include "PlanPairs.h"

#include "PlanKernel.h"
#include "Ptx.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

/// The product of the program's kernel; null if it has another op, or is not there.
SpgemmOp productOf(ProgramOp program) {
  auto kernel = program->getParentOfType<ModuleOp>().lookupSymbol<KernelOp>(program.getKernelAttr());
  return kernel ? dyn_cast<SpgemmOp>(kernel.getAnchor()) : SpgemmOp();
}

class PlanPairs : PlanKernel {
public:
  PlanPairs(ProductContext &context, SpgemmOp product)
      : PlanKernel(context), left(context, product.getLeft()), right(context, product.getRight()),
        row(ptx::blockIndex(b)), columns(right.blockColumns()), counts(reserve(mostColumnsOfPlan + 1)),
        sum(reserve(1)) {
    if (Value pattern = product.getPattern())
      result.emplace(context, pattern);
  }

  void emitCount();
  void emitWrite();

  static constexpr int64_t countWords = mostColumnsOfPlan + 2, writeWords = countWords + 2 * mostColumnsOfPlan;

private:
  /// A pair by the positions of its blocks in A and B, and its block column.
  using PairBody = llvm::function_ref<void(Value left, Value right, Value column)>;
  /// Calls `body` with the pairs of a block of A, over the lanes.
  void forEachPair(Value leftBlock, PairBody body);
  void countPairs();
  /// Adds a value of every thread. All threads call it, and get the sum.
  Value sumOfThreads(Value value);

  /// The blocks of the result's row: how many, the number of the first one, and the column of each.
  Value blocksOfRow();
  Value firstBlock();
  Value columnOf(Value number) { return result ? result->column(b.add(firstBlock(), number)) : number; }

  void findPlaces(Value places);
  void writeStarts(Value firstPair);
  void writeGroup(Value firstOfGroup, Value places, Value leftOfColumn, Value firstPair);
  void writePair(Value number, Value leftBlock, Value rightBlock);

  BlockIndex left, right;
  std::optional<BlockIndex> result; // the pattern of the result, if it has one
  Value row, columns;
  Value counts; // of the pairs in each block column; later where the pairs of each block of the row begin
  Value sum;
};

} // namespace

void PlanPairs::forEachPair(Value leftBlock, PairBody body) {
  Value k = left.column(leftBlock);
  forEachOfLane(right.start(k), right.start(b.add(k, 1)),
                [&](Value rightBlock) { body(leftBlock, rightBlock, right.column(rightBlock)); });
}

/// Fills `counts`. All threads call it.
void PlanPairs::countPairs() {
  fillWords(counts, columns, 0);
  ptx::barrierCta(b);
  Value begin = left.start(row);
  forEachOfWarp(b.sub(left.start(b.add(row, 1)), begin), [&](Value number) {
    forEachPair(b.add(begin, number), [&](Value, Value, Value column) {
      ptx::addInto(b, b.elementPointer(counts, b.i32Type(), column), b.i32(1));
    });
  });
  ptx::barrierCta(b);
}

Value PlanPairs::sumOfThreads(Value value) {
  fillWords(sum, b.i32(1), 0);
  ptx::barrierCta(b);
  ptx::addInto(b, sum, value);
  ptx::barrierCta(b);
  return loadWord(sum, b.i32(0));
}

Value PlanPairs::blocksOfRow() { return result ? b.sub(result->start(b.add(row, 1)), result->start(row)) : columns; }
Value PlanPairs::firstBlock() { return result ? result->start(row) : b.mul(row, columns); }

void PlanPairs::emitCount() {
  countPairs();
  Value own = b.forLoop(context.thread, blocksOfRow(), b.i32(planThreads), {b.i32(0)},
                        [&](Value number, ValueRange carried) -> Values {
                          return {b.add(carried[0], loadWord(counts, columnOf(number)))};
                        })[0];
  Value all = sumOfThreads(own);
  b.ifThen(b.equal(context.thread, 0), [&] { storeEntry(PlanSection::pair_counts, row, all); });
}

/// Writes to `places` where the pairs of each block column begin in the row, or -1 where the result lacks its block.
/// `counts` gets the same by the number of the block. All threads call it.
void PlanPairs::findPlaces(Value places) {
  Value blocks = blocksOfRow();
  fillWords(places, columns, -1);
  ptx::barrierCta(b);
  // Through `places`, because the blocks of a pattern may be in any order.
  forEachOfThread(b.i32(0), blocks, [&](Value number) {
    Value column = columnOf(number);
    storeWord(places, column, loadWord(counts, column));
  });
  ptx::barrierCta(b);
  forEachOfThread(b.i32(0), blocks,
                  [&](Value number) { storeWord(counts, number, loadWord(places, columnOf(number))); });
  ptx::barrierCta(b);
  b.ifThen(b.equal(warp, 0), [&] { addUp(counts, blocks); });
  ptx::barrierCta(b);
  forEachOfThread(b.i32(0), blocks,
                  [&](Value number) { storeWord(places, columnOf(number), loadWord(counts, number)); });
  ptx::barrierCta(b);
}

/// The start of the first block is 0 since the plan was made.
void PlanPairs::writeStarts(Value firstPair) {
  Value first = firstBlock();
  forEachOfThread(b.i32(0), blocksOfRow(), [&](Value number) {
    Value next = b.add(number, 1);
    storeEntry(PlanSection::pair_starts, b.add(first, next), b.add(firstPair, loadWord(counts, next)));
  });
}

void PlanPairs::writePair(Value number, Value leftBlock, Value rightBlock) {
  Value entry = b.mul(number, 3);
  storeEntry(PlanSection::pairs, entry, leftBlock);
  storeEntry(PlanSection::pairs, b.add(entry, 1), rightBlock);
  storeEntry(PlanSection::pairs, b.add(entry, 2), left.column(leftBlock));
}

/// Writes the pairs of up to 32 blocks of A, and moves `places` behind them. `leftOfColumn` has a word for each column.
void PlanPairs::writeGroup(Value firstOfGroup, Value places, Value leftOfColumn, Value firstPair) {
  Value blocks = b.minimum(b.i32(wordBits), b.sub(left.start(b.add(row, 1)), firstOfGroup));
  fillWords(leftOfColumn, columns, 0);
  ptx::barrierCta(b);
  forEachOfWarp(blocks, [&](Value number) {
    forEachPair(b.add(firstOfGroup, number), [&](Value, Value, Value column) {
      ptx::orInto(b, b.elementPointer(leftOfColumn, b.i32Type(), column), bitOf(number));
    });
  });
  ptx::barrierCta(b);
  forEachOfWarp(blocks, [&](Value number) {
    forEachPair(b.add(firstOfGroup, number), [&](Value leftBlock, Value rightBlock, Value column) {
      Value place = loadWord(places, column);
      Value before = b.countBits(b.bitAnd(loadWord(leftOfColumn, column), below(number)));
      b.ifThen(b.logicalNot(b.equal(place, -1)),
               [&] { writePair(b.add(b.add(firstPair, place), before), leftBlock, rightBlock); });
    });
  });
  ptx::barrierCta(b);
  forEachOfThread(b.i32(0), columns, [&](Value column) {
    Value place = loadWord(places, column), moved = b.add(place, b.countBits(loadWord(leftOfColumn, column)));
    storeWord(places, column, b.select(b.equal(place, -1), place, moved));
  });
  ptx::barrierCta(b);
}

void PlanPairs::emitWrite() {
  Value places = reserve(mostColumnsOfPlan), leftOfColumn = reserve(mostColumnsOfPlan), zero = b.i32(0);
  countPairs();
  Value own =
      b.forLoop(context.thread, row, b.i32(planThreads), {zero}, [&](Value before, ValueRange carried) -> Values {
        return {b.add(carried[0], loadEntry(PlanSection::pair_counts, before))};
      })[0];
  Value firstPair = sumOfThreads(own);
  findPlaces(places);
  writeStarts(firstPair);
  b.forLoop(left.start(row), left.start(b.add(row, 1)), b.i32(wordBits), {}, [&](Value first, ValueRange) -> Values {
    writeGroup(first, places, leftOfColumn, firstPair);
    return {};
  });
  // Readers may load one pair more than there are.
  Value isLast = b.compare(arith::CmpIPredicate::eq, b.add(row, 1), left.blockRows());
  b.ifThen(b.logicalAnd(isLast, b.less(context.thread, 3)), [&] {
    Value end = b.mul(b.add(firstPair, loadWord(counts, blocksOfRow())), 3);
    storeEntry(PlanSection::pairs, b.add(end, context.thread), zero);
  });
}

bool sparsec::takesPairs(ProgramOp program) { return bool(productOf(program)); }

void sparsec::emitPlanPairs(ProgramOp program) {
  SpgemmOp product = productOf(program);
  auto emit = [&](AuxiliaryKind kind, StringRef suffix, int64_t words, void (PlanPairs::*body)()) {
    emitPlanKernel(program, kind, suffix, /*tileM=*/1, words, [&](ProductContext &context) {
      PlanPairs pairs(context, product);
      (pairs.*body)();
    });
  };
  emit(AuxiliaryKind::count_pairs, "_count_pairs", PlanPairs::countWords, &PlanPairs::emitCount);
  emit(AuxiliaryKind::write_pairs, "_write_pairs", PlanPairs::writeWords, &PlanPairs::emitWrite);
}
