// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedules of the host. There is nothing to choose: tiles are as large as the buffers that they need stay in the
// caches of one core.

#ifndef SPARSEC_COMPILER_SCHEDULE_HOSTSCHEDULE_H
#define SPARSEC_COMPILER_SCHEDULE_HOSTSCHEDULE_H

#include "SparsecDialect.h"

namespace sparsec {

/// Gives a kernel the schedule of the host in place of all others, which are those of chips.
void setHostSchedule(KernelOp kernel);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_HOSTSCHEDULE_H
