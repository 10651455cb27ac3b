// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention as a warp-specialised kernel: TMA, WGMMA, an online softmax in registers.

#ifndef SPARSEC_EMIT_ATTENTION_H
#define SPARSEC_EMIT_ATTENTION_H

#include "AttentionContext.h"

namespace sparsec {

int64_t attentionThreads(ScheduleAttr schedule);
void emitAttention(AttentionContext &context);

} // namespace sparsec

#endif // SPARSEC_EMIT_ATTENTION_H
