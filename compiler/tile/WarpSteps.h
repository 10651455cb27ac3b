// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of a tile in a role of warps that copies for itself. Step q multiplies slot q mod stages, after it has
// started the copies of step q + stages - 1 into the slot that step q - 1 has left:
//
//   copies of steps 0 .. stages - 2
//   for each step: wait for its copies; barrier of the CTA (or of the warp); copies `stages - 1` steps later; product

#ifndef SPARSEC_COMPILER_TILE_WARPSTEPS_H
#define SPARSEC_COMPILER_TILE_WARPSTEPS_H

#include "RoleBuilding.h"
#include "SparsecDialect.h"

namespace sparsec {

class WarpSteps {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  /// Starts the copies of step `number` into a slot. `carried` belongs to this step.
  using Copies = mlir::function_ref<void(mlir::Value number, mlir::Value slot, mlir::ValueRange carried)>;
  /// Returns the values that the copies of the step after `number` get as `carried`. There may be no such step.
  using Advance = mlir::function_ref<Values(mlir::Value number, mlir::ValueRange carried)>;
  /// Reads what the product of step `number` takes from global memory into registers. A step before it calls it.
  using Load = mlir::function_ref<Values(mlir::Value number)>;
  /// Gives the sum after step `number`, whose slot holds its operands once `meet` was called: that waits for the
  /// copies, lets the warps meet, and starts later copies. `loaded` is what was loaded for the step.
  using Product = mlir::function_ref<mlir::Value(mlir::Value number, mlir::Value slot, mlir::ValueRange loaded,
                                                 mlir::Value sum, mlir::function_ref<void()> meet)>;

  WarpSteps(mlir::ImplicitLocOpBuilder &b, ScheduleAttr schedule, mlir::Value ring, mlir::Value count)
      : b(b), ring(ring), count(count), ahead(schedule.getStages() - 1),
        isAsynchronous(schedule.getCopy() == Copy::cp_async), isSlice(int64_t(schedule.getSlices()) > 1) {}

  /// Gives the sum of all steps. All warps are done with the slots before. `inits` belong to the copies of step 0, and
  /// have these names in dumps. With `load` there is at least one step.
  mlir::Value run(mlir::Value begin, mlir::ValueRange inits, llvm::ArrayRef<llvm::StringRef> names, mlir::Type sumType,
                  Copies copies, Advance advance, Product product, Load load = {});

private:
  Values startCopies(mlir::Value number, mlir::ValueRange slotAndCarried, Copies copies, Advance advance);
  Values loop(mlir::Value count, mlir::ValueRange inits, llvm::ArrayRef<llvm::StringRef> names,
              mlir::function_ref<Values(mlir::Value index, mlir::ValueRange carried)> body);

  mlir::ImplicitLocOpBuilder &b;
  mlir::Value ring, count;
  int64_t ahead;
  bool isAsynchronous;
  bool isSlice; // of one warp, whose ring no other warp reads
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_WARPSTEPS_H
