// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The base of the auxiliary kernels that write windows or streams (SPARSEC_PLAN_WINDOW_COUNTS): each CTA has a window.
// The block rows of the windows are in their own order, as in plans with SPARSEC_PLAN_FAST.

#ifndef SPARSEC_EMIT_PLAN_WINDOW_H
#define SPARSEC_EMIT_PLAN_WINDOW_H

#include "PlanKernel.h"

namespace sparsec {

class PlanWindow : public PlanKernel {
protected:
  /// `rows` is the number of block rows of a window, `lists` that of the lists that its groups or consumers have.
  PlanWindow(ProductContext &context, int64_t rows, int64_t lists);

  /// Words of shared memory that the base takes.
  static constexpr int64_t wordsOfWindow(int64_t rows) { return (rows + 1) * mostWordsOfPlan + 1 + countersOfWindow; }

  /// Reads the window's blocks into the words of its rows, and counts its columns. All threads call it.
  void gather();
  /// Calls `body` with every block: the place of its row in the window, its position in the index, and its column.
  using BlockBody = llvm::function_ref<void(Value place, Value position, Value column)>;
  void forEachBlock(BlockBody body);
  /// Calls `body` with every block column that some row of the window has, over the threads.
  void forEachColumn(Body body);

  /// A word of a row, and that of all rows together.
  Value wordOfRow(Value row, Value word) { return loadWord(rowWords, b.add(b.mul(row, mostWordsOfPlan), word)); }
  Value wordOfRow(int64_t row, Value word) { return wordOfRow(b.i32(row), word); }
  virtual Value columnsIn(Value word);
  /// The number of a column among those of the window. After gather().
  Value numberOf(Value column);
  /// The columns of the window. After gather().
  Value columnCount() { return loadWord(columnsBefore, words); }

  /// Block row `place` of the window.
  Value rowAt(Value place) { return b.add(b.mul(window, rows), place); }
  Value isLast() { return b.compare(mlir::arith::CmpIPredicate::eq, b.add(window, 1), windows); }

  /// Number `entry` of the window's counts: its columns or stages, then those of its lists.
  void storeCount(Value entry, Value count);
  /// One thread writes the sizes that make up the cost of the window (SPARSEC_PLAN_WINDOW_SIZES).
  void storeSizes(Value columns, Value blocks);
  Value loadCount(Value window, int64_t entry);
  /// Where the window's columns or stages begin, and where its lists begin, each in its section.
  struct Begins {
    Value columns;
    llvm::SmallVector<Value> lists; // and the end of the last one
  };
  /// All threads call it. CTAs before this one have counted.
  Begins begins();

  const int64_t rows, lists;
  BlockIndex index;
  Value window, windows, blockRows, blockColumns, words;

private:
  static constexpr int64_t countersOfWindow = 2;

  Value rowWords;      // words of the first row, of the second one, ...
  Value columnsBefore; // of every word: the columns in the words before it
  Value counters;
};

/// The kernel argument that is the matrix of a program by windows or streams, and the block rows of a window.
mlir::Value matrixOf(ProgramOp program);
int64_t rowsOfWindow(ProgramOp program);

/// Adds a kernel for the windows of a program, with so many words of shared memory.
void emitWindowKernel(ProgramOp program, AuxiliaryKind kind, int64_t words,
                      llvm::function_ref<void(ProductContext &)> emitBody);

/// The kernels of a program by windows, and of one by streams.
void emitPlanWindows(ProgramOp program);
void emitPlanStreams(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_EMIT_PLAN_WINDOW_H
