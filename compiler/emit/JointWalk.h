// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Joint lists: the key blocks that one of the two block rows of a tile sees (SPARSEC_PLAN_JOINT_BLOCKS).

#ifndef SPARSEC_EMIT_JOINT_WALK_H
#define SPARSEC_EMIT_JOINT_WALK_H

#include "ProgramValues.h"
#include "QueryContext.h"
#include "WalkEmitter.h"

namespace sparsec {

/// The parts of an entry.
class JointEntry {
public:
  JointEntry(KernelBuilder &b, mlir::Value entry) : b(b), entry(entry) {}

  mlir::Value block();
  /// Takes the bits of a block row, 0 or 1.
  void select(mlir::Value row) { ofRow = mlir::arith::ShRUIOp::create(b, entry, row); }
  mlir::Value isPartial();
  /// A key behind all keys where the row does not see the block, else 0.
  mlir::Value keyIfAbsent();

private:
  KernelBuilder &b;
  mlir::Value entry, ofRow;
};

/// The walk of sparsec.joint_walk.
class JointWalk : public WalkEmitter {
public:
  JointWalk(QueryContext &context, ProgramValues &values, JointWalkOp op);

  KernelBuilder::Values loop(mlir::ArrayRef<bool> isUsed, mlir::ValueRange carried, Visit visit) override;
  /// As for the walk of key lists.
  bool packsCursors() const override { return true; }

  // It has no steps.
  KernelBuilder::Values first() override { llvm_unreachable("a loop alone"); }
  KernelBuilder::Values next(mlir::ValueRange) override { llvm_unreachable("a loop alone"); }
  KernelBuilder::Values read(mlir::ValueRange) override { llvm_unreachable("a loop alone"); }

private:
  KernelBuilder::Values load(mlir::Value position);

  QueryContext &context;
  KernelBuilder &b;
  JointList list;
  int64_t blocks; // of a step
};

} // namespace sparsec

#endif // SPARSEC_EMIT_JOINT_WALK_H
