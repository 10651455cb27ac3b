// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which values of a region of attention are not computed for every score: those that depend on the query or on the key
// alone, and load elements by it.

#ifndef SPARSEC_DIALECT_REGIONSPLIT_H
#define SPARSEC_DIALECT_REGIONSPLIT_H

#include "ScoreForm.h"

namespace sparsec {

/// The last values of a region, on the way from loads to what is wanted, that depend on the query or the key alone.
/// Values that use no such load are computed for every score: positions are cheap.
struct RegionSplit {
  RegionSplit() = default;
  /// Splits what `wanted`, a value of the region, is made of.
  explicit RegionSplit(mlir::Value wanted);
  /// The split of the part of a score region that is computed for every score.
  static RegionSplit ofScore(const ScoreForm &form);
  static RegionSplit ofMask(mlir::Region &mask);

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
