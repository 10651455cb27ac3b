// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention as a kernel with one role: all warps copy (cp.async) and multiply (mma.sync), an online softmax in
// registers.

#ifndef SPARSEC_EMIT_ATTENTION_MULTISTAGE_H
#define SPARSEC_EMIT_ATTENTION_MULTISTAGE_H

#include "AttentionContext.h"

namespace sparsec {

void emitAttentionMultistage(AttentionContext &context);

} // namespace sparsec

#endif // SPARSEC_EMIT_ATTENTION_MULTISTAGE_H
