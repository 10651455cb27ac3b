// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pattern builder of an attention kernel: a machine kernel of its own that writes the lists of a block pattern from
// the mask region.

#ifndef SPARSEC_EMIT_PATTERN_BUILDER_H
#define SPARSEC_EMIT_PATTERN_BUILDER_H

#include "SparsecDialect.h"

namespace sparsec {

/// Whether the program has both a mask region and a pattern to build.
bool hasPatternBuilder(ProgramOp program);

/// Emits the builder of such a program as a function beside it.
void emitPatternBuilder(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_EMIT_PATTERN_BUILDER_H
