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

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_ATTENTIONCANDIDATES_H
