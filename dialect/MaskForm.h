// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which values of a mask region are computed for many keys at once, as mask words: a bit for each key.

#ifndef SPARSEC_DIALECT_MASKFORM_H
#define SPARSEC_DIALECT_MASKFORM_H

#include "RegionSplit.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace sparsec {

/// A comparison of the key with a number of the query: keys from `begin` up to, but without, `end`.
struct KeyInterval {
  mlir::Value origin; // the number, a value of the region; null: queries * query
  int64_t queries = 0;
  std::optional<int64_t> begin, end; // less the number; without: no limit
  bool isOutside = false;            // the other keys
};

/// Whether an i32 that the query determines is one that the key determines.
struct TermEquality {
  mlir::Value ofQuery, ofKey;
  bool isEqual; // else: is another one
};

/// A value is made of words where its bits are those of intervals of keys, comparisons of terms for equality, and
/// values that the query or the key alone determines, with any logic between them.
class MaskForm {
public:
  MaskForm() = default;
  explicit MaskForm(mlir::Region &mask);

  /// The last values of the region, on the way to what it yields, that are made of words.
  llvm::SmallVector<mlir::Value> words;
  /// The values of the query that the words need. They are computed once a tile.
  llvm::SetVector<mlir::Value> queryValues;
  /// The terms of what is left to compute for each score.
  RegionSplit rest;

  /// Whether the word of the first value is that of the region.
  bool isWhole() const { return isWholeWord; }
  /// Whether there is something to compute for the keys of a step.
  bool hasKeyTerms() const { return !words.empty() || !rest.ofKey.empty(); }

  // How a value is made of words. A value of none of these forms is an op on other words.
  std::optional<KeyInterval> interval(mlir::Value value) const;
  std::optional<TermEquality> equality(mlir::Value value) const;
  bool isOfQuery(mlir::Value value) const { return !dependences.lookup(value).onKey; }
  bool isOfKey(mlir::Value value) const { return !dependences.lookup(value).onQuery; }

private:
  mlir::Value queryValue(mlir::Value value) const;
  llvm::SetVector<mlir::Value> queryValuesOf(mlir::Value value) const;
  bool isMadeOfWords(mlir::Value value) const;

  bool isWholeWord = false;
  llvm::DenseMap<mlir::Value, Dependence> dependences;
  llvm::DenseSet<mlir::Value> made; // of words
};

} // namespace sparsec

#endif // SPARSEC_DIALECT_MASKFORM_H
