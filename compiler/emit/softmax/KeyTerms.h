// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Terms of keys: what the regions make of elements of a step's keys, whatever the query.

#ifndef SPARSEC_EMIT_SOFTMAX_KEY_TERMS_H
#define SPARSEC_EMIT_SOFTMAX_KEY_TERMS_H

#include "KernelBuilder.h"

#include "llvm/Support/MathExtras.h"

namespace sparsec {

/// The terms of both regions, in the registers of a thread, as KeyTermLayout says.
struct KeyTerms {
  KernelBuilder::Values score, mask;

  auto fields() { return std::tie(score, mask); }
};

/// Which lane has the terms of which key of a step, and the order of the bits of mask words. All groups of four lanes
/// have scores of the same keys: lane 4 r + c has those of keys 8 g + 2 c and 8 g + 2 c + 1 for every g. Of these it
/// computes the terms where g = r, or, in steps of more than 64 keys, g = 2 r and g = 2 r + 1: a register has the terms
/// of one such key. Further registers have those of the next 64 or 128 keys, the keys of a word. Bits 4 r and after
/// it of a word are those of the keys of lane 4 r + c, so that bits are in the order of keys.
class KeyOrder {
public:
  static constexpr int64_t keysOfGroup = 8;

  explicit KeyOrder(int64_t keys) : keys(keys), groupsOfLane(keys > 64 ? 2 : 1) {}

  int64_t keysOfWord() const { return 64 * groupsOfLane; }
  int64_t words() const { return llvm::divideCeil(keys, keysOfWord()); }
  int64_t registersOfWord() const { return 2 * groupsOfLane; }
  int64_t bitsOfGroup() const { return 4 / groupsOfLane; }

  /// Where the term of a thread's score is: in a register, of the lanes of a group.
  struct Place {
    int64_t word, laneGroup, registerOfWord;

    int64_t bit() const { return 4 * laneGroup + registerOfWord; }
  };
  Place placeOf(int64_t score) const;
  /// The score whose terms register `number` has, in lane group 0, and how many further that of the next group is.
  int64_t firstScore(int64_t number) const;
  int64_t scoresOfLane() const;

private:
  int64_t keys, groupsOfLane;
};

/// How the lanes of a warp share the terms of a region. Each computes those of its keys (KeyOrder), and gets the others
/// from the lanes of its column. A register has the terms of one such key a lane. A term that is an i1 is a bit of its
/// lane, the same word for all lanes of a column, so that nothing is exchanged.
class KeyTermLayout {
public:
  KeyTermLayout(KernelBuilder &b, int64_t keys, mlir::ValueRange terms) : b(b), order(keys), terms(terms) {}

  int64_t registersOfTerm() const { return order.words() * order.registersOfWord(); }
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
  KeyOrder order;
  mlir::ValueRange terms; // values of the region
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_KEY_TERMS_H
