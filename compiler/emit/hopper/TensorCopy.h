// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec.copy by the tensor memory accelerator: boxes of a strip's bytes times rows, in the swizzle of that length.

#ifndef SPARSEC_EMIT_HOPPER_TENSOR_COPY_H
#define SPARSEC_EMIT_HOPPER_TENSOR_COPY_H

#include "Ring.h"

namespace sparsec {

/// Starts the copies of one op into a slot, by one thread. The values are those of the op's operands, null where it has
/// none.
void emitTensorCopy(ProgramContext &context, CopyOp copy, Ring &ring, Ring::State slot, mlir::ValueRange coordinates,
                    mlir::ValueRange blockColumns, mlir::Value place);

} // namespace sparsec

#endif // SPARSEC_EMIT_HOPPER_TENSOR_COPY_H
