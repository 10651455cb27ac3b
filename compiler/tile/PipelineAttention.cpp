// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PipelineAttention.h"

#include "AttentionSchedule.h"
#include "ScheduleAttribute.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace sparsec;

namespace {

class AttentionPipeliner {
public:
  explicit AttentionPipeliner(ProgramOp program)
      : schedule(program.getSchedule()), tileLoop(*program.getBody().getOps<TileLoopOp>().begin()),
        keyLoop(*tileLoop.getBody().getOps<KeyLoopOp>().begin()), b(program.getLoc(), program.getContext()) {}

  void run();

private:
  Value makeRing(LoadRowsOp load, int64_t stages);
  void drain(Value ring, LoadRowsOp load, Operation *lastUse);

  ScheduleAttr schedule;
  TileLoopOp tileLoop;
  KeyLoopOp keyLoop;
  ImplicitLocOpBuilder b;
  LoadRowsOp queries;
  SmallVector<LoadRowsOp> loads; // of one key block
};

Value AttentionPipeliner::makeRing(LoadRowsOp load, int64_t stages) {
  auto type = RingType::get(b.getContext(), stages, {load.getType()});
  return RingOp::create(b, type, /*name=*/StringAttr(), /*messages=*/false, DenseI64ArrayAttr(), IntegerAttr());
}

/// Every step waits for its slots, then fills those that the previous step has left. Keys are needed before values, so
/// each has a ring.
void AttentionPipeliner::run() {
  queries = *tileLoop.getBody().getOps<LoadRowsOp>().begin();
  loads = llvm::to_vector(keyLoop.getBody().getOps<LoadRowsOp>());
  b.setInsertionPoint(tileLoop);
  Value queryRing = makeRing(queries, queryStages(toSchedule(schedule)));
  SmallVector<Value> rings;
  for (LoadRowsOp load : loads)
    rings.push_back(makeRing(load, schedule.getStages()));
  Value tile = queries.getTile();
  b.setInsertionPoint(queries);
  CopyRowsOp::create(b, queries.getSource(), tile, /*block=*/Value(), queryRing);
  for (auto [ring, load] : llvm::zip(rings, loads)) {
    b.setInsertionPoint(load);
    auto prefetch = PrefetchOp::create(b, ring, schedule.getStages() - 1);
    Block *body = b.createBlock(&prefetch.getBody(), {}, {BlockType::get(b.getContext())}, {b.getLoc()});
    CopyRowsOp::create(b, load.getSource(), tile, body->getArgument(0), ring);
    drain(ring, load, *load.getResult().user_begin());
    // Waiting also says that every warp is done with the slot that is filled next.
    prefetch->moveAfter(prefetch->getNextNode());
  }
  drain(queryRing, queries, keyLoop);
}

/// The loaded value comes from the ring, and its slot is free after its last use.
void AttentionPipeliner::drain(Value ring, LoadRowsOp load, Operation *lastUse) {
  b.setInsertionPoint(load);
  auto wait = WaitOp::create(b, TypeRange{load.getType()}, ring, /*cursor=*/Value());
  load.getResult().replaceAllUsesWith(wait.getResult(0));
  load.erase();
  b.setInsertionPointAfter(lastUse);
  ReleaseOp::create(b, ring, /*cursor=*/Value(), /*condition=*/Value());
}

} // namespace

void sparsec::prefetchAttention(ProgramOp program) { AttentionPipeliner(program).run(); }
