// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of the scales of X belongs to a column of X, so that each scale that a part of K needs is in a sector of its
// own. One warp copies them for all groups. It waits for no copy: they arrive at the barrier of their slot, as tensor
// copies do.

#include "SpmmProducer.h"

#include "ScheduleAttribute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sparsec;

WalkOp SpmmProducer::walk(const Tile &tile, ValueRange inits, Walk body) {
  Value blocks = BlockWalkOp::create(b, blockLoop.getMatrix(), tile.firstBlock, tile.endBlock);
  auto walk = WalkOp::create(b, blocks, inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&walk.getBody().front());
  ValueRange visited = walk.getVisited(); // the position, the column, the block where it is another number
  Value block = matrix.getTransposed() ? visited[2] : visited[0];
  YieldOp::create(b, body(visited[0], block, visited[1], walk.getCarried()));
  return walk;
}

Value SpmmProducer::hasBlocks(const Tile &tile) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, tile.firstBlock, tile.endBlock);
}

void SpmmProducer::makeProducer() {
  makeRole(b, "producer", RoleUnit::thread, 1, schedule.getProducerRegisters(), [&] { build(); });
}

void SpmmProducer::build() {
  Value begin = CursorOp::create(b, ring), bytes = bytesOfCopies();
  walkTiles(begin, [&](const Tile &tile, ValueRange carried) -> Values {
    named(carried[0], "slot");
    return walk(tile, carried,
                [&](Value /*position*/, Value block, Value column, ValueRange carried) {
                  Value cursor = named(carried[0], "slot");
                  for (int64_t chunk = 0; chunk < int64_t(blockLoop.getChunks()); ++chunk) {
                    AcquireOp::create(b, ring, cursor);
                    auto post = PostOp::create(b, ring, cursor, /*messages=*/ValueRange(), /*empty=*/false);
                    if (bytes)
                      post.getBytesMutable().assign(bytes);
                    copyStep(tile, block, column, chunk, cursor);
                    cursor = NextOp::create(b, ring, cursor);
                  }
                  return Values{cursor};
                })
        .getResults();
  });
}

/// Those of A and X, where a slot has scales too; else null.
Value SpmmProducer::bytesOfCopies() {
  auto buffers = cast<RingType>(ring.getType()).getBuffers();
  if (buffers.size() == loads.size())
    return Value();
  int64_t bytes = 0;
  for (LoadOp load : loads)
    bytes += load.getType().getRows() * load.getType().getColumns() *
             load.getType().getElementType().getIntOrFloatBitWidth() / 8;
  return i32(b, bytes);
}

/// The CTAs of a cluster work on one tile row, so that they share A.
void SpmmProducer::copyStep(const Tile &tile, Value block, Value column, int64_t chunk, Value cursor) {
  Value k = i32(b, chunk * schedule.getTileK());
  auto copy = CopyOp::create(b, loads[0].getSource(), ValueRange{block, tile.at.row, k}, ring, cursor, /*index=*/0);
  copy.setMulticast(schedule.getCluster() > 1);
  if (mayCutBlocks())
    copy.getBlockColumnsMutable().assign(column);
  Value depth = add(b, multiply(b, column, matrix.getBlockColumns()), chunk * schedule.getTileK());
  CopyOp::create(b, loads[1].getSource(), coordinatesOfX(depth, tile.at.column), ring, cursor, /*index=*/1);
}

void SpmmProducer::makeScaleProducer(Value scaleRing, int64_t chunksOfSlot) {
  makeRole(b, "scales", RoleUnit::warp, 1, schedule.getProducerRegisters(),
           [&] { buildScaleProducer(scaleRing, chunksOfSlot); });
}

void SpmmProducer::buildScaleProducer(Value scaleRing, int64_t chunksOfSlot) {
  const int64_t chunks = blockLoop.getChunks();
  Value begin = CursorOp::create(b, scaleRing);
  walkTiles(begin, [&](const Tile &tile, ValueRange carried) -> Values {
    named(carried[0], "slot");
    return walk(tile, carried,
                [&](Value /*position*/, Value /*block*/, Value column, ValueRange carried) {
                  Value slot = named(carried[0], "slot");
                  for (int64_t chunk = 0; chunk < chunks; chunk += chunksOfSlot) {
                    AcquireOp::create(b, scaleRing, slot);
                    auto group = CopyGroupOp::create(b, /*condition=*/Value());
                    OpBuilder::InsertionGuard guard(b);
                    b.createBlock(&group.getBody());
                    CopyScalesOp::create(b, chain.getXScale(), tile.at.column, partOfK(column, i32(b, chunk)),
                                         scaleRing, slot);
                    b.setInsertionPointAfter(group);
                    slot = NextOp::create(b, scaleRing, slot);
                  }
                  return Values{slot};
                })
        .getResults();
  });
  AwaitCopiesOp::create(b, /*outstanding=*/0);
}
