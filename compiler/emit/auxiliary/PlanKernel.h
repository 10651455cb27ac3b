// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The base of the auxiliary kernels that write sections of a plan from the index arrays of matrices. They make the same
// sections as the builders of runtime/plan, bit for bit. A set of block columns is an array of 32-bit words in shared
// memory, one bit for each column, so that the order of threads does not matter: the place of a column among others is
// the number of bits below its own.

#ifndef SPARSEC_EMIT_PLAN_KERNEL_H
#define SPARSEC_EMIT_PLAN_KERNEL_H

#include "BlockIndex.h"
#include "ProgramContext.h"

namespace sparsec {

/// Block columns that a matrix may have at most: those of 65536 columns in blocks of 16.
inline constexpr int64_t mostColumnsOfPlan = 4096;
inline constexpr int64_t wordBits = 32, mostWordsOfPlan = mostColumnsOfPlan / wordBits;

/// The CTA of such a kernel.
inline constexpr int64_t planWarps = 8, planThreads = planWarps * warpLanes;

class PlanKernel {
protected:
  using Value = mlir::Value;

  explicit PlanKernel(ProductContext &context);

  /// A section of the plan, and its entries of 32 bits.
  Value section(PlanSection number);
  Value loadEntry(PlanSection number, Value index);
  void storeEntry(PlanSection number, Value index, Value value);

  /// Reserves words of shared memory.
  Value reserve(int64_t words);
  Value loadWord(Value array, Value index);
  void storeWord(Value array, Value index, Value value);

  /// for (i = begin + thread; i < end; i += threads) body(i), over the threads of the CTA or the lanes of the warp.
  using Body = llvm::function_ref<void(Value index)>;
  void forEachOfThread(Value begin, Value end, Body body);
  void forEachOfLane(Value begin, Value end, Body body);
  /// The same for this warp: for (i = warp; i < end; i += warps) body(i).
  void forEachOfWarp(Value end, Body body);
  void fillWords(Value array, Value count, int64_t value);

  /// One warp replaces each of `count` words by the sum of those before it. The word behind them becomes the sum of
  /// all.
  void addUp(Value array, Value count);

  /// The bits below that of a column in its word.
  Value below(Value column);
  Value wordOf(Value column) { return b.shiftRight(column, 5); }
  Value bitOf(Value column) { return b.shiftLeft(b.i32(1), b.bitAnd(column, wordBits - 1)); }

  ProductContext &context;
  KernelBuilder &b;
  Value warp, lane;

private:
  int64_t reservedWords = 0;
};

/// Adds such a kernel for a program. Its tile rows are slices, windows or block rows of `tileM` rows, and it takes so
/// many words of shared memory.
void emitPlanKernel(ProgramOp program, AuxiliaryKind kind, llvm::StringRef suffix, int64_t tileM, int64_t words,
                    llvm::function_ref<void(ProductContext &)> emitBody);

} // namespace sparsec

#endif // SPARSEC_EMIT_PLAN_KERNEL_H
