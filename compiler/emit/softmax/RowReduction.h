// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions of the scores of a row: over those of one thread, and over the four threads that share the row.

#ifndef SPARSEC_EMIT_SOFTMAX_ROW_REDUCTION_H
#define SPARSEC_EMIT_SOFTMAX_ROW_REDUCTION_H

#include "KernelBuilder.h"

namespace sparsec {

using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;

/// The row, 0 or 1, of score `index` of a thread. A thread has scores of two rows, 8 apart.
constexpr int64_t rowOfScore(int64_t index) { return index % 4 / 2; }
/// The scores of one row of a thread.
KernelBuilder::Values scoresOfRow(mlir::ValueRange scores, int64_t row);
/// Writes scores of one row back to where scoresOfRow took them from.
void setScoresOfRow(KernelBuilder::Values &scores, int64_t row, mlir::ValueRange values);

/// How many partial maxima a thread computes side by side.
inline constexpr size_t chainsOfMaximum = 4;
/// Combines the values of a thread in `chains` partial results, a power of two, so that no instruction waits for the
/// one before.
mlir::Value reduceInThread(mlir::ValueRange values, size_t chains, Combine combine);
/// The largest of a thread's f32 values by the signed order of their bits, which for positive numbers is their own
/// order. Hopper combines three integers in one instruction.
mlir::Value largestByBits(KernelBuilder &b, mlir::ValueRange values);
/// Combines the values of the four threads that share a row.
mlir::Value reduceOverThreads(KernelBuilder &b, mlir::Value value, Combine combine);

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_ROW_REDUCTION_H
