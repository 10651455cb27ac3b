// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pass sparsec-pipeline-stages: puts a ring of shared-memory stages between the loads and the chain of a program.

#include "AttentionRoles.h"
#include "Passes.h"
#include "PipelineAttention.h"
#include "RoleBuilding.h"
#include "SpmmRoles.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sparsec {
#define GEN_PASS_DEF_PIPELINESTAGESPASS
#include "Passes.h.inc"
} // namespace sparsec

using namespace mlir;
using namespace sparsec;

namespace {

/// The parts of a program in values form.
struct ValuesForm {
  explicit ValuesForm(ProgramOp program) : tileLoop(*program.getBody().getOps<TileLoopOp>().begin()) {
    blockLoop = *tileLoop.getBody().getOps<BlockLoopOp>().begin();
    loads = llvm::to_vector(blockLoop.getBody().getOps<LoadOp>());
  }
  Value tile() { return blockLoop.getTile(); }

  TileLoopOp tileLoop;
  BlockLoopOp blockLoop;
  SmallVector<LoadOp> loads;
};

class Pipeliner {
public:
  explicit Pipeliner(ProgramOp program)
      : program(program), schedule(program.getSchedule()), form(program), b(program.getLoc(), program.getContext()) {}

  void run() {
    b.setInsertionPoint(form.tileLoop);
    SmallVector<Type> buffers;
    for (LoadOp load : form.loads)
      buffers.push_back(load.getType());
    ring = RingOp::create(b, RingType::get(b.getContext(), schedule.getStages(), buffers), /*name=*/StringAttr(),
                          /*messages=*/false, DenseI64ArrayAttr(), IntegerAttr());
    prefetchAhead();
  }

private:
  void prefetchAhead();
  void copyLoads(Value tile, Value block, Value chunk);
  void waitAndRelease();

  ProgramOp program;
  ScheduleAttr schedule;
  ValuesForm form;
  ImplicitLocOpBuilder b;
  Value ring;
};

/// The loads of one step as copies into the current slot.
void Pipeliner::copyLoads(Value tile, Value block, Value chunk) {
  for (auto [index, load] : llvm::enumerate(form.loads))
    PrefetchOperandOp::create(b, load.getSource(), tile, block, chunk, ring, index, load.getOperand(),
                              form.blockLoop.getBlocksPerStep());
}

/// In the loop that multiplies, the loaded values come from the ring.
void Pipeliner::waitAndRelease() {
  Block &body = form.blockLoop.getBody().front();
  b.setInsertionPoint(form.loads.front());
  auto wait = WaitOp::create(b, cast<RingType>(ring.getType()).getBuffers(), ring, /*cursor=*/Value());
  for (auto [load, buffer] : llvm::zip(form.loads, wait.getResults())) {
    load.getResult().replaceAllUsesWith(buffer);
    load.erase();
  }
  b.setInsertionPoint(body.getTerminator());
  ReleaseOp::create(b, ring, /*cursor=*/Value(), /*condition=*/Value());
}

/// One role: each step waits for its slot, then fills the slot that the previous step has left.
void Pipeliner::prefetchAhead() {
  Block &body = form.blockLoop.getBody().front();
  b.setInsertionPointToStart(&body);
  auto prefetch = PrefetchOp::create(b, ring, schedule.getStages() - 1);
  Block *prefetchBody = b.createBlock(&prefetch.getBody());
  Value block = prefetchBody->addArgument(BlockType::get(b.getContext()), program.getLoc());
  Value chunk = prefetchBody->addArgument(b.getI32Type(), program.getLoc());
  copyLoads(form.tile(), block, chunk);
  waitAndRelease();
  // Waiting also says that every warp is done with the slot that is filled next.
  prefetch->moveAfter(*body.getOps<WaitOp>().begin());
}

class PipelineStages : public sparsec::impl::PipelineStagesPassBase<PipelineStages> {
public:
  using PipelineStagesPassBase::PipelineStagesPassBase;
  void runOnOperation() override {
    ProgramOp program = getOperation();
    if (!program.getBody().getOps<RoleOp>().empty()) {
      tidy(program); // it was built with roles
    } else if (program.getSchedule().getCopy() == Copy::tma) {
      program.isAttention() ? splitAttentionRoles(program) : splitSpmmRoles(program);
      tidy(program);
    } else if (program.isAttention()) {
      prefetchAttention(program);
    } else {
      Pipeliner(program).run();
    }
  }
};

} // namespace
