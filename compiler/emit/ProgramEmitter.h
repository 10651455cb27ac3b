// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs of roles: each op of the tile program becomes instructions where it stands (docs/tile-programs.md).

#ifndef SPARSEC_EMIT_PROGRAM_EMITTER_H
#define SPARSEC_EMIT_PROGRAM_EMITTER_H

#include "ProgramContext.h"

namespace sparsec {

/// Whether a program says what the machine does in its order.
bool hasRoles(ProgramOp program);
/// Threads of a CTA of such a program.
int64_t threadsOfRoles(ProgramOp program);

void emitRoles(SpmmContext &context);

} // namespace sparsec

#endif // SPARSEC_EMIT_PROGRAM_EMITTER_H
