// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A walk in steps, for a role that copies for later steps than the one it works on (sparsec.first_step, next_step and
// read_step). The op that defines a walk has the interface StepsOpInterface; a family makes the walk when it emits it.

#ifndef SPARSEC_EMIT_STEP_WALK_H
#define SPARSEC_EMIT_STEP_WALK_H

#include "KernelBuilder.h"

namespace sparsec {

class StepWalk {
public:
  virtual ~StepWalk() = default;
  /// The i32 of a step.
  virtual KernelBuilder::Values first() = 0;
  virtual KernelBuilder::Values next(mlir::ValueRange step) = 0;
  /// The results of sparsec.read_step.
  virtual KernelBuilder::Values read(mlir::ValueRange step) = 0;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_STEP_WALK_H
