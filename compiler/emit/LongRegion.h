// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A region that is applied to every value of a thread: repeated for each of them where it is short, in a loop over the
// values where it is long. A thread of a GPU has up to 128 values: repeating a long region would take minutes to
// compile, and more registers than there are.

#ifndef SPARSEC_COMPILER_EMIT_LONGREGION_H
#define SPARSEC_COMPILER_EMIT_LONGREGION_H

#include "ProgramContext.h"

namespace sparsec {

/// About how many instructions an op of a region becomes.
int64_t instructionsOf(mlir::Operation &op);
/// About how many instructions a whole region becomes, for one value.
int64_t instructionsOf(mlir::Region &region);

/// Whether a region is to be in a loop.
bool isLong(mlir::Region &region);

/// The new value of value `index` (i32) of a thread.
using ChangeValue = llvm::function_ref<mlir::Value(mlir::Value index, mlir::Value value)>;

/// On a loop whose region is so long that functions of the maths library are better called than repeated in it, a unit
/// attribute for sparsec-lower-math.
inline constexpr llvm::StringRef callsMathAttribute = "sparsec.calls_math";

/// Changes f32 values by a long region, which `change` applies to one of them, in a loop. Registers have no index, so
/// that the values are in local memory meanwhile.
KernelBuilder::Values changeInLoop(ProgramContext &context, mlir::Region &region, mlir::ValueRange values,
                                   ChangeValue change);

} // namespace sparsec

#endif // SPARSEC_COMPILER_EMIT_LONGREGION_H
