// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which candidate is the best, and how good the choice of the cost model is.

#ifndef SPARSEC_TOOLS_TUNE_RANKING_H
#define SPARSEC_TOOLS_TUNE_RANKING_H

#include "measurements.h"

namespace sparsec::tune {

/// A candidate with the times of all patterns, as ratios to the best candidate of each.
struct Rank {
  const Candidate *candidate;
  double mean;  // the geometric mean
  double worst; // the largest one
};

/// The candidates whose results were right on every pattern, the best first. A pattern counts if as many candidates
/// were measured on it as on any other.
struct Ranking {
  std::vector<Rank> ranks;
  size_t patterns = 0;
};
Ranking rank(llvm::ArrayRef<Candidate> candidates, llvm::ArrayRef<Pattern> patterns, const Setting &setting,
             const Journal &journal);

/// Prints a table for each pattern, the best candidates first, and how far the model's choice is from the best.
void printRanking(llvm::raw_ostream &stream, llvm::ArrayRef<Candidate> candidates, llvm::ArrayRef<Pattern> patterns,
                  const Setting &setting, const Journal &journal);

/// The rows of a schedule table with the best candidate in place of the row of its problem and chip, if there is one.
llvm::Expected<std::string> updateTable(llvm::StringRef table, llvm::StringRef path, const Ranking &ranking,
                                        const Setting &setting);

} // namespace sparsec::tune

#endif // SPARSEC_TOOLS_TUNE_RANKING_H
