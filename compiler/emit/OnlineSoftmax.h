// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arithmetic between the two products of attention, on the registers of one warpgroup: scale, regions, visibility,
// and the online softmax. Exponents are base 2.

#ifndef SPARSEC_EMIT_ONLINE_SOFTMAX_H
#define SPARSEC_EMIT_ONLINE_SOFTMAX_H

#include "AttentionContext.h"

namespace sparsec {

/// Maximum (base 2, over all keys so far) and sum (of this thread's keys) of the two rows of a thread: f32.
struct SoftmaxState {
  KernelBuilder::Values maximum, sum;
};

/// Where a thread's scores lie. All i32.
struct ScorePlace {
  mlir::Value query;     // of the first of its two rows; the other is 8 below
  mlir::Value firstKey;  // of the first of its scores: columns 8 * group + {0, 1} follow
  mlir::Value isPartial; // i1: the mask region applies
};

class OnlineSoftmax {
public:
  OnlineSoftmax(AttentionContext &context, const QueryTile &tile) : context(context), b(context.b), tile(tile) {}

  SoftmaxState begin();
  /// Turns scores (in the layout of AccumulatorFragment, one slab) into probabilities, in place, and updates the state.
  /// Gives what the output of the two rows is to be multiplied by.
  KernelBuilder::Values step(const ScorePlace &place, llvm::MutableArrayRef<mlir::Value> scores, SoftmaxState &state);
  /// The sums over all threads of a row.
  void finish(SoftmaxState &state);

private:
  void applyScore(const ScorePlace &place, llvm::MutableArrayRef<mlir::Value> scores);
  void hide(const ScorePlace &place, llvm::MutableArrayRef<mlir::Value> scores);
  mlir::Value rowMaximum(mlir::ValueRange row);
  mlir::Value scale();
  mlir::Value factor();
  mlir::Value isNegative();
  mlir::Value needsMask(const ScorePlace &place);
  mlir::Value isVisible(const ScorePlace &place, int64_t index);
  mlir::Value queryOf(const ScorePlace &place, int64_t index) { return b.add(place.query, index % 4 / 2 * 8); }
  mlir::Value keyOf(const ScorePlace &place, int64_t index) { return b.add(place.firstKey, index / 4 * 8 + index % 2); }
  mlir::Value applyRegion(mlir::Region &region, llvm::ArrayRef<mlir::Value> leading, const ScorePlace &place,
                          int64_t index);
  mlir::Value overRow(mlir::Value value,
                      llvm::function_ref<mlir::Value(KernelBuilder &, mlir::Value, mlir::Value)> combine);

  AttentionContext &context;
  KernelBuilder &b;
  QueryTile tile;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_ONLINE_SOFTMAX_H
