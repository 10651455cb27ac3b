// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The index of a transposed operand is a counting sort of the blocks by their block column, which keeps the order of
// block rows. Each CTA has a slice of 32 block rows of the argument, so that one word holds the rows of the slice that
// have a block in a column. The first kernel counts the blocks of every slice and column. In the second one a CTA adds
// up the counts of all slices, and knows then where its blocks go.

#include "PlanIndex.h"

#include "PlanKernel.h"
#include "Ptx.h"

#include "sparsec/launch_info.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static_assert(SPARSEC_SLICE_ROWS == wordBits);

namespace {

class PlanIndex : PlanKernel {
public:
  explicit PlanIndex(ProductContext &context)
      : PlanKernel(context), slice(ptx::blockIndex(b)), rows(countOf(0)), columns(countOf(1)),
        rowsOfColumn(reserve(mostColumnsOfPlan)) {}

  void emitCount();
  void emitWrite();

  static constexpr int64_t countWords = mostColumnsOfPlan;
  static constexpr int64_t writeWords = 3 * mostColumnsOfPlan + 1;

private:
  /// Block rows (0) or block columns (1) of the argument.
  Value countOf(int64_t dimension);
  Value firstRow() { return b.mul(slice, SPARSEC_SLICE_ROWS); }
  /// Calls `body` with the slice's blocks: the row in the slice, the position in col_idx, and the column.
  void forEachBlock(llvm::function_ref<void(Value row, Value position, Value column)> body);
  void gather();

  Value slice, rows, columns;
  Value rowsOfColumn; // words: the rows of the slice, for each column
};

} // namespace

Value PlanIndex::countOf(int64_t dimension) {
  const BsrType type = context.matrix;
  const int64_t block = dimension == 0 ? type.getBlockColumns() : type.getBlockRows();
  Value size = context.parameters.get(ParameterKind::size, context.matrixArgument, dimension);
  return b.divide(b.add(size, block - 1), block);
}

void PlanIndex::forEachBlock(llvm::function_ref<void(Value, Value, Value)> body) {
  Value starts = context.parameters.get(ParameterKind::row_ptr, context.matrixArgument);
  Value indices = context.parameters.get(ParameterKind::col_idx, context.matrixArgument);
  Value rowsOfSlice = b.minimum(b.i32(SPARSEC_SLICE_ROWS), b.sub(rows, firstRow()));
  forEachOfWarp(rowsOfSlice, [&](Value row) {
    Value number = b.add(firstRow(), row);
    Value begin = b.loadElement(b.i32Type(), starts, number);
    Value end = b.loadElement(b.i32Type(), starts, b.add(number, 1));
    forEachOfLane(begin, end,
                  [&](Value position) { body(row, position, b.loadElement(b.i32Type(), indices, position)); });
  });
}

void PlanIndex::gather() {
  fillWords(rowsOfColumn, columns, 0);
  ptx::barrierCta(b);
  forEachBlock([&](Value row, Value /*position*/, Value column) {
    ptx::orInto(b, b.elementPointer(rowsOfColumn, b.i32Type(), column), bitOf(row));
  });
  ptx::barrierCta(b);
}

void PlanIndex::emitCount() {
  gather();
  Value first = b.mul(slice, columns);
  forEachOfThread(b.i32(0), columns, [&](Value column) {
    storeEntry(PlanSection::column_counts, b.add(first, column), b.countBits(loadWord(rowsOfColumn, column)));
  });
}

void PlanIndex::emitWrite() {
  // For each column, `starts` counts the blocks of all slices, and later says where they begin. `before` counts those
  // of the slices before this one.
  Value starts = reserve(mostColumnsOfPlan + 1), before = reserve(mostColumnsOfPlan);
  gather();
  Value slices = b.divide(b.add(rows, SPARSEC_SLICE_ROWS - 1), SPARSEC_SLICE_ROWS), zero = b.i32(0);
  forEachOfThread(zero, columns, [&](Value column) {
    Values sums = b.forLoop(zero, slices, b.i32(1), {zero, zero}, [&](Value other, ValueRange carried) -> Values {
      Value count = loadEntry(PlanSection::column_counts, b.add(b.mul(other, columns), column));
      Value isBefore = b.less(other, slice);
      return {b.add(carried[0], count), b.add(carried[1], b.select(isBefore, count, zero))};
    });
    storeWord(starts, column, sums[0]);
    storeWord(before, column, sums[1]);
  });
  ptx::barrierCta(b);
  b.ifThen(b.equal(warp, 0), [&] { addUp(starts, columns); });
  ptx::barrierCta(b);
  b.ifThen(b.equal(slice, 0), [&] {
    forEachOfThread(zero, b.add(columns, 1),
                    [&](Value column) { storeEntry(PlanSection::row_starts, column, loadWord(starts, column)); });
  });
  forEachBlock([&](Value row, Value position, Value column) {
    Value rowsBefore = b.countBits(b.bitAnd(loadWord(rowsOfColumn, column), below(row)));
    Value place = b.add(b.add(loadWord(starts, column), loadWord(before, column)), rowsBefore);
    storeEntry(PlanSection::row_columns, place, b.add(firstRow(), row));
    storeEntry(PlanSection::row_blocks, place, position);
  });
}

bool sparsec::takesTranspose(ProgramOp program) {
  return llvm::any_of(program.getBody().getArgumentTypes(), [](Type type) {
    auto matrix = dyn_cast<BsrType>(type);
    return matrix && matrix.getTransposed();
  });
}

void sparsec::emitPlanIndex(ProgramOp program) {
  auto emit = [&](AuxiliaryKind kind, StringRef suffix, int64_t words, void (PlanIndex::*body)()) {
    emitPlanKernel(program, kind, suffix, SPARSEC_SLICE_ROWS, words, [&](ProductContext &context) {
      PlanIndex index(context);
      (index.*body)();
    });
  };
  emit(AuxiliaryKind::count_columns, "_count_columns", PlanIndex::countWords, &PlanIndex::emitCount);
  emit(AuxiliaryKind::write_index, "_write_index", PlanIndex::writeWords, &PlanIndex::emitWrite);
}
