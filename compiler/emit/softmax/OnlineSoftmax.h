// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arithmetic between the two products of attention, on the registers of one warp: scores become probabilities, with
// exponents of 2. Two strategies choose m, the exponent that is subtracted from all others of a row: RunningMaximum and
// FixedShift. Any m gives the right result as long as no exponential overflows and the largest ones keep their
// precision.

#ifndef SPARSEC_EMIT_SOFTMAX_ONLINE_SOFTMAX_H
#define SPARSEC_EMIT_SOFTMAX_ONLINE_SOFTMAX_H

#include "Rescaling.h"
#include "RowState.h"
#include "ScoreMask.h"
#include "ScoreTransform.h"

#include <memory>

namespace sparsec {

/// The softmax of a tile of queries. Scores and products are those of a thread, in the layout of AccumulatorFragment,
/// one slab.
class OnlineSoftmax {
public:
  /// Makes the strategy for the kernel's score region, and loads now what its regions load by batch and head alone.
  static std::unique_ptr<OnlineSoftmax> create(QueryContext &context, const QueryTile &tile);
  virtual ~OnlineSoftmax() = default;

  /// Computes the terms of the thread's two queries, the first of which is `query`.
  void computeQueryTerms(mlir::Value query) {
    transform.computeQueryTerms(query);
    mask.computeQueryTerms(query);
  }
  /// Computes the terms of the keys of a step.
  KeyTerms computeKeyTerms(const ScorePositions &positions) {
    return {transform.computeKeyTerms(positions), mask.computeKeyTerms(positions)};
  }
  /// Terms of keys, with as many values as the regions have.
  KeyTerms noKeyTerms() {
    return {KernelBuilder::Values(transform.typesOfKeyTerms().size()),
            KernelBuilder::Values(mask.typesOfKeyTerms().size())};
  }

  /// Rows that have seen no key.
  virtual RowState begin() = 0;
  /// The sums that the products of a step start from.
  KernelBuilder::Values initialProducts(const ScorePositions &positions, int64_t count) {
    return transform.initialProducts(positions, count);
  }
  // A step has two parts, so that other work fits between them. beginStep takes the products, may make scores of them,
  // and says how the output has to change. finishStep makes probabilities of what beginStep has left in `scores`.
  virtual Rescaling beginStep(const ScorePositions &positions, KernelBuilder::Values &scores, RowState &rows) = 0;
  virtual KernelBuilder::Values finishStep(const ScorePositions &positions, mlir::ValueRange scores,
                                           RowState &rows) = 0;
  /// Whether finishStep may give a warp anything but zeros (i1, the same for all threads of a warp).
  virtual mlir::Value mayHaveProbabilities(mlir::ValueRange scores, const RowState &rows);
  /// The probability of the first score.
  mlir::Value firstProbability(mlir::ValueRange scores, const RowState &rows);

protected:
  OnlineSoftmax(QueryContext &context, const QueryTile &tile)
      : context(context), b(context.b), transform(context, tile), mask(context, tile), scale(context) {}

  /// The exponent of a score, less m.
  using Exponent = llvm::function_ref<mlir::Value(mlir::Value score, mlir::Value negativeM)>;
  /// Exponentiates scores, and adds the probabilities to l where products do not sum them.
  KernelBuilder::Values exponentiate(mlir::ValueRange scores, RowState &rows, Exponent exponent);
  KernelBuilder::Values exponentiate(mlir::ValueRange scores, RowState &rows);

  QueryContext &context;
  KernelBuilder &b;
  ScoreTransform transform;
  ScoreMask mask;
  ScoreScale scale;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_ONLINE_SOFTMAX_H
