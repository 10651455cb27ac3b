// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Emission of programs with two roles: a producer thread that fills the ring through the tensor memory accelerator and
// consumer warpgroups that multiply with wgmma.

#ifndef SPARSEC_EMIT_WARP_SPECIALIZED_H
#define SPARSEC_EMIT_WARP_SPECIALIZED_H

#include "ProgramContext.h"

namespace sparsec {

/// Threads of a CTA: the consumer warpgroups, then the producer's warpgroup.
int64_t warpSpecializedThreads(ScheduleAttr schedule);

/// Emits the program at the builder's insertion point.
void emitWarpSpecialized(SpmmContext &context);

} // namespace sparsec

#endif // SPARSEC_EMIT_WARP_SPECIALIZED_H
