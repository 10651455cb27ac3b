// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Terms of keys: what the regions make of elements of a step's keys, whatever the query.

#ifndef SPARSEC_EMIT_SOFTMAX_KEY_TERMS_H
#define SPARSEC_EMIT_SOFTMAX_KEY_TERMS_H

#include "KernelBuilder.h"

namespace sparsec {

/// The terms of both regions, in the registers of a thread, as KeyTermLayout says.
struct KeyTerms {
  KernelBuilder::Values score, mask;

  auto fields() { return std::tie(score, mask); }
};

/// How the lanes of a warp share the terms of a region. All groups of four lanes have scores of the same keys: lane
/// 4 r + c has those of keys 8 g + 2 c and 8 g + 2 c + 1 for every g. Of these it computes the terms where g = r, r + 8
/// and so on, and gets the others from the lanes of its column. A register has the terms of one such key a lane. A term
/// that is an i1 is a bit of its lane, the same word for all lanes of a column, so that nothing is exchanged.
class KeyTermLayout {
public:
  KeyTermLayout(KernelBuilder &b, int64_t keys, mlir::ValueRange terms) : b(b), keys(keys), terms(terms) {}

  int64_t registersOfTerm() const;
  llvm::SmallVector<mlir::Type> types() const;
  /// The terms of the score whose number is `index` among a thread's, which may belong to no key: that of
  /// ScorePositions.
  using Compute = llvm::function_ref<KernelBuilder::Values(mlir::Value index)>;
  /// The registers, of which the terms are computed for the keys of lane `lane`.
  KernelBuilder::Values compute(mlir::Value lane, Compute compute) const;
  /// The terms of score `index` of a thread.
  KernelBuilder::Values termsOf(mlir::ValueRange registers, int64_t index) const;

private:
  mlir::Value shared(mlir::Value term, mlir::Value lane) const;

  KernelBuilder &b;
  int64_t keys;
  mlir::ValueRange terms; // values of the region
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_KEY_TERMS_H
