// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multiplies rows of a slot by a power of two (sparsec.scale_rows).

#ifndef SPARSEC_EMIT_SCALE_ROWS_H
#define SPARSEC_EMIT_SCALE_ROWS_H

#include "ProgramEmitter.h"

namespace sparsec {

void emitScaleRows(ProgramEmitter &program, ScaleRowsOp op);

} // namespace sparsec

#endif // SPARSEC_EMIT_SCALE_ROWS_H
