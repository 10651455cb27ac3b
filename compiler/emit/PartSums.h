// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles that a launch splits into parts of K, each for a CTA of its own, and how their sums are joined.

#ifndef SPARSEC_EMIT_PART_SUMS_H
#define SPARSEC_EMIT_PART_SUMS_H

#include "ProgramEmitter.h"

namespace sparsec {

void emitTilePart(ProgramContext &context, ProgramValues &values, TilePartOp op);
void emitCountProducts(ProgramEmitter &program, CountProductsOp op);
void emitJoinParts(ProgramEmitter &program, JoinPartsOp op);

} // namespace sparsec

#endif // SPARSEC_EMIT_PART_SUMS_H
