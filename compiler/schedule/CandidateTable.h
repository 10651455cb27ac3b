// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The candidates of a kernel as a table to read (--remarks).

#ifndef SPARSEC_COMPILER_SCHEDULE_CANDIDATETABLE_H
#define SPARSEC_COMPILER_SCHEDULE_CANDIDATETABLE_H

#include "Candidates.h"

namespace sparsec {

/// A line of headings and one for each candidate: instruction, tile, stages, roles, predicted speed, bound, verdict.
/// The verdict is that of `verdicts`, or why the candidate does not fit.
std::string tabulate(const std::vector<Candidate> &candidates, const std::vector<std::string> &verdicts);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_CANDIDATETABLE_H
