// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec.copy by the tensor memory accelerator: boxes of 128 bytes times rows, in the 128-byte swizzle.

#ifndef SPARSEC_EMIT_HOPPER_TENSOR_COPY_H
#define SPARSEC_EMIT_HOPPER_TENSOR_COPY_H

#include "Ring.h"

namespace sparsec {

/// A panel of a buffer: its columns lie in panels of so many bytes, one after the other.
inline constexpr int64_t panelBytes = 128;

/// Starts the copies of one op into a slot, by one thread. The values are those of the op's operands, null where it has
/// none.
void emitTensorCopy(ProgramContext &context, CopyOp copy, Ring &ring, Ring::State slot, mlir::ValueRange coordinates,
                    mlir::Value blockColumn, mlir::Value place);

} // namespace sparsec

#endif // SPARSEC_EMIT_HOPPER_TENSOR_COPY_H
