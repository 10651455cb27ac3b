// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of a slot, multiplied by a power of two.

#ifndef SPARSEC_EMIT_SCALE_ROWS_H
#define SPARSEC_EMIT_SCALE_ROWS_H

#include "ProgramEmitter.h"

namespace sparsec {

void emitScaleRows(ProgramEmitter &program, ScaleRowsOp op);

} // namespace sparsec

#endif // SPARSEC_EMIT_SCALE_ROWS_H
