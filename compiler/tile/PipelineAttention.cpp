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
  void splitRoles();
  void prefetchAhead();
  void buildProducer(Value keyRing);
  void fill(Value ring, LoadRowsOp load, Value tile, Value block);
  void drain(Value ring, LoadRowsOp load, Operation *lastUse);

  ScheduleAttr schedule;
  TileLoopOp tileLoop;
  KeyLoopOp keyLoop;
  ImplicitLocOpBuilder b;
  LoadRowsOp queries;
  SmallVector<LoadRowsOp> loads; // of one key block
  Value queryRing;
};

Value AttentionPipeliner::makeRing(LoadRowsOp load, int64_t stages) {
  auto type = RingType::get(b.getContext(), stages, {load.getType()});
  return RingOp::create(b, type, DenseI64ArrayAttr(), IntegerAttr());
}

void AttentionPipeliner::run() {
  queries = *tileLoop.getBody().getOps<LoadRowsOp>().begin();
  loads = llvm::to_vector(keyLoop.getBody().getOps<LoadRowsOp>());
  b.setInsertionPoint(tileLoop);
  queryRing = makeRing(queries, queryStages(toSchedule(schedule)));
  if (schedule.getCopy() == Copy::tma)
    splitRoles();
  else
    prefetchAhead();
}

/// Two roles; keys and values share a ring.
void AttentionPipeliner::splitRoles() {
  Value keyRing = makeRing(loads.front(), schedule.getStages());
  buildProducer(keyRing);
  auto consumer = ConsumerOp::create(b, schedule.getConsumerRegisters());
  Block *body = b.createBlock(&consumer.getBody());
  tileLoop->moveBefore(body, body->end());
  for (LoadRowsOp load : loads)
    drain(keyRing, load, *load.getResult().user_begin());
  drain(queryRing, queries, keyLoop);
}

/// One role: every step waits for its slots, then fills those that the previous step has left. Keys are needed before
/// values, so each has a ring.
void AttentionPipeliner::prefetchAhead() {
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

/// Walks the same tiles and key blocks and only copies.
void AttentionPipeliner::buildProducer(Value keyRing) {
  auto producer = ProducerOp::create(b, schedule.getProducerRegisters());
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&producer.getBody());
  Block &tileBody = TileLoopOp::create(b).getBody().front();
  b.setInsertionPoint(tileBody.getTerminator());
  Value tile = TileOp::create(b, tileBody.getArgument(0), tileBody.getArgument(1));
  fill(queryRing, queries, tile, /*block=*/Value());
  auto keys = KeyLoopOp::create(b, TypeRange(), keyLoop.getPattern(), tile, ValueRange(), keyLoop.getCausal(),
                                keyLoop.getWindowAttr(), keyLoop.getChunks());
  Block *keyBody = b.createBlock(&keys.getBody(), {}, {BlockType::get(b.getContext())}, {b.getLoc()});
  for (LoadRowsOp load : loads)
    fill(keyRing, load, tile, keyBody->getArgument(0));
  YieldOp::create(b, ValueRange());
}

void AttentionPipeliner::fill(Value ring, LoadRowsOp load, Value tile, Value block) {
  AcquireOp::create(b, ring, /*cursor=*/Value());
  CopyRowsOp::create(b, load.getSource(), tile, block, ring);
  CommitOp::create(b, ring);
}

/// The loaded value comes from the ring, and its slot is free after its last use.
void AttentionPipeliner::drain(Value ring, LoadRowsOp load, Operation *lastUse) {
  b.setInsertionPoint(load);
  auto wait = WaitOp::create(b, TypeRange{load.getType()}, ring, /*cursor=*/Value());
  load.getResult().replaceAllUsesWith(wait.getBuffers().front());
  load.erase();
  b.setInsertionPointAfter(lastUse);
  ReleaseOp::create(b, ring, /*cursor=*/Value(), /*condition=*/Value());
}

} // namespace

void sparsec::pipelineAttention(ProgramOp program) { AttentionPipeliner(program).run(); }
