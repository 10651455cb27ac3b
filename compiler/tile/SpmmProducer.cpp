// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SpmmProducer.h"

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
  Value begin = CursorOp::create(b, ring);
  walkTiles(begin, [&](const Tile &tile, ValueRange carried) -> Values {
    named(carried[0], "slot");
    return walk(tile, carried,
                [&](Value /*position*/, Value block, Value column, ValueRange carried) {
                  Value cursor = named(carried[0], "slot");
                  for (int64_t chunk = 0; chunk < int64_t(blockLoop.getChunks()); ++chunk) {
                    AcquireOp::create(b, ring, cursor);
                    PostOp::create(b, ring, cursor, /*messages=*/ValueRange(), /*empty=*/false);
                    copyStep(tile, block, column, chunk, cursor);
                    cursor = NextOp::create(b, ring, cursor);
                  }
                  return Values{cursor};
                })
        .getResults();
  });
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
