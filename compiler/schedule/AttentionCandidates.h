// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedules of attention that are worth a look, with how long they are expected to take. Candidates.h ranks them.

#ifndef SPARSEC_COMPILER_SCHEDULE_ATTENTIONCANDIDATES_H
#define SPARSEC_COMPILER_SCHEDULE_ATTENTIONCANDIDATES_H

#include "AttentionSchedule.h"
#include "Candidates.h"

namespace sparsec {

/// The cost of one step of a tile.
Cost estimateCost(const Schedule &schedule, const AttentionDescription &problem, const Chip &chip);

std::vector<Schedule> candidateSchedules(const AttentionDescription &problem, const Chip &chip, int64_t alignment);

/// The schedules of tiles with two block rows of the pattern, whose key blocks a plan joins, in order of preference.
/// None where such tiles are not faster than two tiles side by side.
std::vector<Schedule> jointSchedules(const AttentionDescription &problem, const Chip &chip);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_ATTENTIONCANDIDATES_H
