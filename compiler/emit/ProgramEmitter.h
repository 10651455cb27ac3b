// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs of roles (docs/tile-programs.md), op by op in their order. Roles, loops, rings, copies and products are the
// same for all families; a family adds the ops that only it has.

#ifndef SPARSEC_EMIT_PROGRAM_EMITTER_H
#define SPARSEC_EMIT_PROGRAM_EMITTER_H

#include "ProgramValues.h"
#include "Ptx.h"
#include "Ring.h"
#include "WalkEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sparsec {

class ChipOps;
class FamilyOps;

class ProgramEmitter {
public:
  explicit ProgramEmitter(ProgramContext &context);
  ~ProgramEmitter();

  void emit(FamilyOps &ops);
  /// Emits the ops of a block. The values of the terminator's operands come back.
  KernelBuilder::Values emitBlock(mlir::Block &block);

  Ring &ringOf(mlir::Value ring) { return rings.find(ring)->second; }
  Ring::State slotOf(mlir::Value cursor) { return values.state<Ring::State>(cursor); }
  // The threads of all groups of a role of warpgroups that work on one tile: their numbers, how many they are, and a
  // named barrier for each tile of the CTA.
  mlir::Value threadOfTile() { return b.add(b.shiftLeft(group, 7), threadInGroup); }
  int64_t threadsOfTile(RoleOp role);
  void barrierOfTile(RoleOp role, int64_t firstBarrier);
  /// The number of this group among those of the role in all tiles of the CTA.
  mlir::Value groupOfCta(RoleOp role) { return b.add(b.mul(tileOfCta, int64_t(role.getCount())), group); }
  // The threads that share a copy: those of a role of warps, or in slices those of a warp.
  mlir::Value threadOfCopy() { return hasSlices() ? threadInGroup : context.thread; }
  int64_t threadsOfCopy();
  /// Lets the kernel behind this one start when all CTAs have come here or have ended. It then finds room on all
  /// SMs: where it starts earlier, its CTAs crowd on those that are free first.
  void startKernelBehind();
  /// A family made the emitter of a walk.
  void setWalk(WalkOpInterface op, std::unique_ptr<WalkEmitter> walk);

  /// A zero that no compiler knows: the sign of the warpgroup's number, which comes from another lane.
  mlir::Value unknownZero() { return mlir::arith::ShRSIOp::create(b, warpgroup, b.i32(31)); }

  ProgramContext &context;
  KernelBuilder &b;
  ProgramValues values;
  mlir::Value threadInGroup;

private:
  // Roles.
  void emitWarps(RoleOp role);
  void initBarriers();
  static int64_t postsOf(RingOp ring);
  int64_t releasesOf(RingOp ring);
  bool areThreadsReading(RingOp ring);
  /// CTAs in which a slot of a ring is released.
  int64_t releasingCtas(RingOp ring);
  void emitRolesFrom(llvm::ArrayRef<RoleOp> roles, int64_t firstWarpgroup);
  void emitRoles(llvm::ArrayRef<RoleOp> sharers, int64_t firstWarpgroup);
  void placeGroup(RoleOp role, int64_t firstWarpgroup, int64_t firstWarp);
  mlir::Value isThreadOfRole(int64_t firstWarp);
  mlir::Value isWarpOfRole(RoleOp role);
  static int64_t threadsOfGroup(RoleOp role);
  /// The rings of a tile of the CTA.
  void makeRings(mlir::Value tileOfCta);

  // Ops.
  void emitOp(mlir::Operation &op);
  void emitArithmetic(mlir::Operation &op);
  void emitTileLoop(TileLoopOp loop);
  void emitFor(mlir::scf::ForOp loop);
  void emitIf(mlir::scf::IfOp branch);
  void emitWhile(mlir::scf::WhileOp loop);
  void emitLoop(LoopOp loop);
  void emitWalk(WalkOp loop);
  KernelBuilder::Values packCursors(mlir::ValueRange of);
  void assignPacked(mlir::ValueRange of, mlir::ValueRange packed);
  KernelBuilder::Values emitRegion(mlir::Region &region, mlir::Region &into);
  mlir::Value readGroup(mlir::Operation *op);
  void emitGroupPart(GroupPartOp op);
  /// A step, and what it visits where the op has results for it.
  template <typename Op> void setStep(Op op, mlir::ValueRange step);
  void emitCopyGroup(CopyGroupOp op);
  void emitCursor(CursorOp op);
  void emitReadPlan(ReadPlanOp op);
  void emitBlockScale(BlockScaleOp op);
  void emitPromote(PromoteOp op);
  void barrierOfRole(RoleOp role);
  void emitAddSlices(AddSlicesOp op);
  KernelBuilder::Values scalesOfColumns(PromoteOp op, int64_t count);
  KernelBuilder::Values scalesOfRows(PromoteOp op);
  void emitPost(PostOp op);
  void emitWait(WaitOp op);
  void emitRelease(ReleaseOp op);
  void releaseForOthers(RingOp ring, ReleaseOp op);

  // The issuer.
  void emitIssueBegin(IssueBeginOp op);
  mlir::Value readIssuer(int64_t offset) { return ptx::loadRelaxed(b, b.byteOffset(context.sharedMemory, offset)); }
  void setIssuer(int64_t offset, mlir::Value issuer);
  bool hasSlices() { return int64_t(context.schedule.getSlices()) > 1; }
  /// The shared memory of a tile or slice of the CTA.
  mlir::Value sharedMemoryOf(mlir::Value number);
  mlir::Value isFirstThread() { return b.equal(threadInGroup, 0); }

  bool isOnlyRole = false;                       // one of warps
  llvm::function_ref<mlir::Value()> tileFollows; // in the tile loop: whether another tile follows (i1)
  std::unique_ptr<ChipOps> chip;
  FamilyOps *family = nullptr;
  llvm::DenseMap<mlir::Value, std::unique_ptr<WalkEmitter>> walks;
  llvm::DenseMap<mlir::Value, Ring> rings; // of the role that is emitted
  mlir::Value warpgroup;
  // In the role that is emitted now: the number of the tile or slice in the CTA, and that of the group in its role.
  mlir::Value tileOfCta, group;
};

/// The ops that chips translate in their own ways.
class ChipOps {
public:
  explicit ChipOps(ProgramEmitter &program)
      : context(program.context), b(program.b), program(program), values(program.values) {}
  virtual ~ChipOps() = default;

  virtual void emitCopy(CopyOp op) = 0;
  virtual void emitView(ViewOp op) = 0;
  virtual void emitLoadFragment(LoadFragmentOp op) = 0;
  virtual void emitProduct(ProductOp op) = 0;
  virtual void emitAwait(AwaitOp op) = 0;

protected:
  ProgramContext &context;
  KernelBuilder &b;
  ProgramEmitter &program;
  ProgramValues &values;
};

/// The ops that only one family has.
class FamilyOps {
public:
  virtual ~FamilyOps() = default;
  /// Emits an op of the family; false for others.
  virtual bool emit(mlir::Operation &op) = 0;

protected:
  explicit FamilyOps(ProgramEmitter &program) : b(program.b), program(program), values(program.values) {}

  KernelBuilder &b;
  ProgramEmitter &program;
  ProgramValues &values;
};

/// Threads of a CTA.
int64_t threadsOfRoles(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_EMIT_PROGRAM_EMITTER_H
