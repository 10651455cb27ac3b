// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arithmetic between the two products of attention, on the registers of one warpgroup: scale, regions, visibility,
// and the online softmax. Exponents are base 2.

#ifndef SPARSEC_EMIT_ONLINE_SOFTMAX_H
#define SPARSEC_EMIT_ONLINE_SOFTMAX_H

#include "AttentionContext.h"

namespace sparsec {

/// Of the two rows of a thread: the exponent that stands for 1, which is about the largest one so far, and the sum of
/// this thread's keys in terms of it. f32.
struct SoftmaxState {
  KernelBuilder::Values reference, sum;
};

/// A block of keys in a step.
struct KeyPlace {
  mlir::Value firstKey;  // i32, of the thread's first score in the block: columns 8 * group + {0, 1} follow
  mlir::Value isPartial; // i1: the mask region applies
};

/// Where a thread's scores lie.
struct ScorePlace {
  mlir::Value query; // i32, of the first of its two rows; the other is 8 below
  llvm::SmallVector<KeyPlace, 2> blocks;
};

/// What a step asks of the output.
struct Rescaling {
  mlir::Value isNeeded;          // i1, the same for all threads of a warp
  KernelBuilder::Values factors; // of the two rows
};

/// tanh(y) = y (c0 + c1 y^2 + ...) up to a magnitude of y: minimax for the relative error, which is less than the
/// hardware's 2^-11.
struct TanhPolynomial {
  double largestOperand;
  llvm::ArrayRef<double> coefficients;
};

class OnlineSoftmax {
public:
  OnlineSoftmax(AttentionContext &context, const QueryTile &tile)
      : context(context), b(context.b), form(context.scoreForm), tile(tile) {
    context.loadForTile(tile);
  }

  SoftmaxState begin();
  /// What the sums of products of a step start from: zeros but for a bias.
  KernelBuilder::Values firstSums(const ScorePlace &place, int64_t count);
  // A step in two parts: scores (in the layout of AccumulatorFragment, one slab) become probabilities. The first part
  // ends with a branch and tells what becomes of the output.
  Rescaling beginStep(const ScorePlace &place, llvm::MutableArrayRef<mlir::Value> scores, SoftmaxState &state);
  KernelBuilder::Values finishStep(const ScorePlace &place, llvm::MutableArrayRef<mlir::Value> scores,
                                   SoftmaxState &state);
  /// The output (one slab) where a rescaling is needed.
  KernelBuilder::Values rescaled(mlir::ValueRange output, const Rescaling &rescaling);
  /// The sums over all threads of a row.
  void finish(SoftmaxState &state);

private:
  using Change = llvm::function_ref<mlir::Value(const ScorePlace &, int64_t index, mlir::Value score)>;
  KernelBuilder::Values inOrder(const ScorePlace &place, mlir::ValueRange scores, size_t ahead, Change change);
  ScorePlace startAfter(const ScorePlace &place, mlir::Value score);
  /// Where one score lies, whose number is known at run time only.
  struct LonePlace {
    mlir::Value query, key, isPartial;
  };
  LonePlace placeOf(const ScorePlace &place, mlir::Value index);
  using ChangeAlone = llvm::function_ref<mlir::Value(const LonePlace &, mlir::Value score)>;
  KernelBuilder::Values inLoop(const ScorePlace &place, mlir::Region &region, mlir::ValueRange scores,
                               ChangeAlone change);
  void applyScore(const ScorePlace &place, llvm::MutableArrayRef<mlir::Value> scores);
  mlir::Value biasSlope();
  mlir::Value capRatio();
  mlir::Value largestMagnitude(mlir::ValueRange scores);
  KernelBuilder::Values byMagnitude(llvm::ArrayRef<TanhPolynomial> polynomials, mlir::Value magnitude,
                                    llvm::ArrayRef<mlir::Type> types,
                                    llvm::function_ref<KernelBuilder::Values(const TanhPolynomial *)> compute);
  mlir::Value largestScore(const TanhPolynomial &polynomial);
  mlir::Value capped(const TanhPolynomial &polynomial, mlir::Value score, double multiplier, mlir::Value addend);
  void applyCap(const ScorePlace &place, llvm::MutableArrayRef<mlir::Value> scores);
  KernelBuilder::Values finishCapped(const ScorePlace &place, mlir::ValueRange scores, SoftmaxState &state);
  using Exponent = llvm::function_ref<mlir::Value(mlir::Value score, mlir::Value negativeReference)>;
  KernelBuilder::Values probabilities(mlir::ValueRange scores, SoftmaxState &state, Exponent exponent = {});
  void hide(const ScorePlace &place, llvm::MutableArrayRef<mlir::Value> scores);
  Rescaling raiseReference(mlir::ValueRange maxima, SoftmaxState &state);
  KernelBuilder::Values raiseRow(mlir::Value maximum, const SoftmaxState &state, int64_t half);
  KernelBuilder::Values rowMaxima(mlir::ValueRange scores, const SoftmaxState &state);
  mlir::Value largestByBits(mlir::ValueRange values);
  mlir::Value roundingOf(mlir::Value exponent);
  mlir::Value exponentBy(mlir::Value score, mlir::Value negativeReference);
  mlir::Value scale();
  mlir::Value factor();
  mlir::Value isNegative();
  mlir::Value needsMask(const KeyPlace &block);
  mlir::Value needsMask(const ScorePlace &place);
  mlir::Value isInReach(const ScorePlace &place, int64_t index);
  mlir::Value isVisible(const ScorePlace &place, const ScorePlace &at, int64_t index);
  size_t scoresAhead(mlir::Region &region);
  mlir::Value positionAsFloat(const PositionSum &sum, const ScorePlace &place, int64_t index);
  double positionStep(const PositionSum &sum, int64_t index) {
    return double(sum.queries * (index % 4 / 2 * 8) + sum.keys * keyInBlock(index));
  }
  mlir::Value firstPosition(const PositionSum &sum, const ScorePlace &place, int64_t index);
  mlir::Value queryOf(const ScorePlace &place, int64_t index) { return b.add(place.query, index % 4 / 2 * 8); }
  const KeyPlace &blockOf(const ScorePlace &place, int64_t index) {
    return place.blocks[index / 4 * 8 / context.keyBlock];
  }
  mlir::Value keyOf(const ScorePlace &place, int64_t index) {
    return b.add(blockOf(place, index).firstKey, keyInBlock(index));
  }
  /// Distance to the thread's first key of the block.
  int64_t keyInBlock(int64_t index) { return index / 4 * 8 % context.keyBlock + index % 2; }
  mlir::Value applyRegion(mlir::Region &region, llvm::ArrayRef<mlir::Value> leading, const ScorePlace &place,
                          const ScorePlace &at, int64_t index);
  mlir::Value applyRegion(mlir::Region &region, llvm::ArrayRef<mlir::Value> leading, mlir::Value query, mlir::Value key,
                          ReplaceOp replace = {});
  mlir::Value overRow(mlir::Value value,
                      llvm::function_ref<mlir::Value(KernelBuilder &, mlir::Value, mlir::Value)> combine);

  AttentionContext &context;
  KernelBuilder &b;
  const ScoreForm &form;
  QueryTile tile;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_ONLINE_SOFTMAX_H
