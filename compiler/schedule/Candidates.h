// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedules that are worth a look, and the best of them. Pure functions.

#ifndef SPARSEC_COMPILER_SCHEDULE_CANDIDATES_H
#define SPARSEC_COMPILER_SCHEDULE_CANDIDATES_H

#include "CostModel.h"
#include "Fit.h"

#include <vector>

namespace sparsec {

struct Candidate {
  Schedule schedule;
  Fit fit;
  /// Only where it fits.
  Cost cost;
};

/// All schedules to consider when pointers and row strides are multiples of `alignment` bytes. Each has as many stages
/// as are useful and fit.
std::vector<Schedule> candidateSchedules(const ProblemDescription &problem, const Chip &chip, int64_t alignment);

/// The candidates with fit and cost: those that fit first, the cheapest at the front.
std::vector<Candidate> rankCandidates(const ProblemDescription &problem, const Chip &chip, int64_t alignment);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_CANDIDATES_H
