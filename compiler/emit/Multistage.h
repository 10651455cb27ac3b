// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Emission of programs with one role: all warps copy (cp.async, or element by element) and multiply (mma.sync).

#ifndef SPARSEC_EMIT_MULTISTAGE_H
#define SPARSEC_EMIT_MULTISTAGE_H

#include "ProgramContext.h"

namespace sparsec {

/// Emits the program at the builder's insertion point.
void emitMultistage(SpmmContext &context);

} // namespace sparsec

#endif // SPARSEC_EMIT_MULTISTAGE_H
