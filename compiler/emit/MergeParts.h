// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The second stage of attention where a launch splits the keys: it merges the rows that sparsec.store_part has written.

#ifndef SPARSEC_EMIT_MERGE_PARTS_H
#define SPARSEC_EMIT_MERGE_PARTS_H

#include "SparsecDialect.h"

namespace sparsec {

/// Emits the machine kernel beside a program that is split.
void emitPartMerge(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_EMIT_MERGE_PARTS_H
