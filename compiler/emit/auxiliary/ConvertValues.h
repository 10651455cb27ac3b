// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine kernel that quantises the operands of fp8 products.

#ifndef SPARSEC_EMIT_CONVERT_VALUES_H
#define SPARSEC_EMIT_CONVERT_VALUES_H

#include "SparsecDialect.h"

namespace sparsec {

/// Whether the program has a matrix of fp8.
bool hasF8(ProgramOp program);

/// Emits it as a function beside the program.
void emitConvertValues(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_EMIT_CONVERT_VALUES_H
