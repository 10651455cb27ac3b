// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The emission of a walk. An op with the interface WalkOpInterface defines it; a family makes its emitter when it comes
// to that op. A program goes over the walk by a loop (sparsec.walk) or in steps (sparsec.first_step, next_step and
// read_step), for a role that copies for later steps than the one it works on.

#ifndef SPARSEC_EMIT_WALK_EMITTER_H
#define SPARSEC_EMIT_WALK_EMITTER_H

#include "KernelBuilder.h"

namespace sparsec {

class WalkEmitter {
public:
  virtual ~WalkEmitter() = default;

  using Visit = llvm::function_ref<KernelBuilder::Values(mlir::ValueRange visited, mlir::ValueRange carried)>;
  /// Emits a loop that calls `visit` for a step. `isUsed` says which of the visited values the body uses: others may be
  /// null. Gives the carried values behind the loop.
  virtual KernelBuilder::Values loop(mlir::ArrayRef<bool> isUsed, mlir::ValueRange carried, Visit visit) = 0;
  /// Whether the loop leaves so few registers that it carries a cursor in one.
  virtual bool packsCursors() const { return false; }

  /// Emits what steps share, where the walk is defined. A loop emits what it needs where it begins.
  virtual void beginSteps() {}
  /// The i32 of a step.
  virtual KernelBuilder::Values first() = 0;
  virtual KernelBuilder::Values next(mlir::ValueRange step) = 0;
  /// The values that a step visits.
  virtual KernelBuilder::Values read(mlir::ValueRange step) = 0;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_WALK_EMITTER_H
