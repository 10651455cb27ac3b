// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which values of a region of attention are not computed for every score: those that depend on the query or on the key
// alone, and load elements by it.

#ifndef SPARSEC_DIALECT_REGIONSPLIT_H
#define SPARSEC_DIALECT_REGIONSPLIT_H

#include "ScoreForm.h"

#include "llvm/ADT/DenseMap.h"

namespace sparsec {

/// Tells whether a value of a region depends on the query, or on the key. A score depends on both.
struct Dependence {
  bool onQuery = false, onKey = false;
  bool loads = false; // by more than batch and head

  bool onBoth() const { return onQuery && onKey; }
  void add(const Dependence &other);
};
/// The dependences of the arguments and the values of a region.
llvm::DenseMap<mlir::Value, Dependence> dependencesOf(mlir::Region &region);

/// The last values of a region, on the way from loads to what is wanted, that depend on the query or the key alone.
/// Values that use no such load are computed for every score: positions are cheap.
struct RegionSplit {
  RegionSplit() = default;
  /// Splits what `wanted`, a value of the region, is made of, but for `known` values.
  explicit RegionSplit(mlir::Value wanted, llvm::ArrayRef<mlir::Value> known = {});
  /// The split of the part of a score region that is computed for every score.
  static RegionSplit ofScore(const ScoreForm &form);

  /// Terms of queries: the same for all keys. Loads that only batch and head determine, by computed indices, count as
  /// such.
  llvm::SmallVector<mlir::Value> ofQuery;
  /// Terms of keys: the same for all queries.
  llvm::SmallVector<mlir::Value> ofKey;
  /// Whether elements are left that are loaded for every score.
  bool loadsForScore = false;
};

} // namespace sparsec

#endif // SPARSEC_DIALECT_REGIONSPLIT_H
