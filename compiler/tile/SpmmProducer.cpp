// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of the scales of X belongs to a column of X, so that each scale that a part of K needs is in a sector of its
// own. One warp brings them for all groups, in one of two ways. Where tiles have many columns, it copies the scales of
// one part after the other, and waits for no copy: they arrive at the barrier of their slot, as tensor copies do. Where
// tiles have few, such copies would take longer than the products. The producer then copies tiles of scales, with a
// line of 128 bytes for each column, and the warp puts those of a step into its slot. Two tiles are there or on their
// way: the one that steps read and the next one. The first two are copied before the index is read, because they would
// wait behind the blocks of all slots later.
//
// The rows of a band begin at one column after another. Where each begins with its first block, rows that run together
// first read columns of X that nobody has read yet, all at once, and wait for memory. The producer therefore walks such
// rows rotated: those with equally many blocks read the same column at the same time, and columns come from memory one
// step after another.

#include "SpmmProducer.h"

#include "ScheduleAttribute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sparsec;

WalkOp SpmmProducer::walk(const Tile &tile, ValueRange inits, Walk body) {
  return walk(BlockWalkOp::create(b, blockLoop.getMatrix(), tile.firstBlock, tile.endBlock), inits, body);
}

WalkOp SpmmProducer::walkWithScales(const Tile &tile, ValueRange inits, Walk body) {
  return walk(BlockWalkOp::create(b, blockLoop.getMatrix(), tile.firstBlock, tile.endBlock, /*rotated=*/false,
                                  chain.getScales()),
              inits, body);
}

WalkOp SpmmProducer::walk(BlockWalkOp blocks, ValueRange inits, Walk body) {
  blocks.setBlocks(blocksPerStep());
  auto walk = WalkOp::create(b, blocks, inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&walk.getBody().front());
  ValueRange visited = walk.getVisited(); // the position, the columns, the block where it is another number, the scale
  Visited step = {visited[0], matrix.getTransposed() ? visited[2] : visited[0], visited.slice(1, blocksPerStep()),
                  blocks.getScales() ? visited.back() : Value()};
  YieldOp::create(b, body(step, walk.getCarried()));
  return walk;
}

Value SpmmProducer::hasBlocks(const Tile &tile) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, tile.firstBlock, tile.endBlock);
}

void SpmmProducer::makeProducer() {
  makeRole(b, "producer", RoleUnit::thread, 1, schedule.getProducerRegisters(), [&] { build(); });
}

void SpmmProducer::build() {
  Values begin{CursorOp::create(b, ring)};
  if (scaleTiles)
    begin.push_back(CursorOp::create(b, scaleTiles));
  walkTiles(begin, [&](const Tile &tile, ValueRange carried) -> Values {
    Values inits(carried);
    named(inits[0], "slot");
    Value bytes = bytesOfCopies(tile);
    if (scaleTiles) {
      Value number = inits.emplace_back(expectedScaleTile());
      for (Value first : {number, add(b, number, 1)})
        inits[1] = copyScaleTile(tile, first, inits[1]);
    }
    auto step = [&](const Visited &block, ValueRange carried) -> Values {
      Values next(carried);
      Value &cursor = next[0] = named(carried[0], "slot");
      for (int64_t chunk = 0; chunk < int64_t(blockLoop.getChunks()); ++chunk) {
        if (scaleTiles)
          copyNextScaleTiles(tile, partOfK(block.columns.front(), i32(b, chunk)), next[1], next[2]);
        AcquireOp::create(b, ring, cursor);
        auto post = PostOp::create(b, ring, cursor, /*messages=*/ValueRange(), /*empty=*/false);
        if (bytes)
          post.getBytesMutable().assign(bytes);
        copyStep(tile, block, chunk, cursor);
        cursor = NextOp::create(b, ring, cursor);
      }
      return next;
    };
    auto blocks = BlockWalkOp::create(b, blockLoop.getMatrix(), tile.firstBlock, tile.endBlock, rotatesRows());
    return Values(walk(blocks, inits, step).getResults().take_front(begin.size()));
  });
}

/// Consumers that read the scales of blocks walk the rows in their order. Rows of a transposed matrix and variants for
/// few columns keep their order too: few tiles of the latter share columns of X, and all wait for their first block. So
/// do rows whose blocks are copied together, as memory has them. A part of a row begins where all others are.
bool SpmmProducer::rotatesRows() {
  auto program = tileLoop->getParentOfType<ProgramOp>();
  return !chain.getScales() && !chain.getXScale() && !matrix.getTransposed() && !program.getMostPanels() &&
         blocksPerStep() == 1 && !program.getCut();
}

/// The tile in which the first block of a slice has its scales as a rule, or the one before it. The producer copies it
/// before it knows the block.
Value SpmmProducer::expectedScaleTile() {
  Value parts = SizeOp::create(b, chain.getXScale(), /*dimension=*/1);
  Value before = arith::MulIOp::create(b, SliceOp::create(b), divide(b, parts, int64_t(schedule.getSlices())));
  return divide(b, arith::MaxSIOp::create(b, add(b, before, -1), i32(b, 0)), scaleTileParts);
}

/// Copies what comes behind the tiles `number` and `number` + 1, where a step has its scales in another one than
/// `number`. Columns ascend as a rule, so that it is the next one.
void SpmmProducer::copyNextScaleTiles(const Tile &tile, Value part, Value &cursor, Value &number) {
  named(cursor, "scale_slot");
  named(number, "scale_tile");
  Value own = divide(b, part, scaleTileParts);
  cursor = carryIf(b, differ(own, number), cursor, [&]() -> Values {
    Value isUnexpected = differ(own, add(b, number, 1));
    Value next = carryIf(b, isUnexpected, cursor, [&]() -> Values { return {copyScaleTile(tile, own, cursor)}; })[0];
    return {copyScaleTile(tile, add(b, own, 1), next)};
  })[0];
  number = own;
}

/// Gives the next slot. A tile beyond K has no scales: its slot is full at once.
Value SpmmProducer::copyScaleTile(const Tile &tile, Value number, Value cursor) {
  Value first = multiply(b, number, scaleTileParts);
  Value parts = SizeOp::create(b, chain.getXScale(), /*dimension=*/1);
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, first, parts);
  const int64_t scaleBytes = 4, tileBytes = int64_t(schedule.getTileN()) * scaleTileParts * scaleBytes;
  Value bytes = arith::SelectOp::create(b, exists, i32(b, tileBytes), i32(b, 0));
  AcquireOp::create(b, scaleTiles, cursor);
  auto post = PostOp::create(b, scaleTiles, cursor, /*messages=*/ValueRange(), /*empty=*/false);
  post.getBytesMutable().assign(bytes);
  carryIf(b, exists, {}, [&]() -> Values {
    CopyOp::create(b, chain.getXScale(), ValueRange{tile.at.column, first}, scaleTiles, cursor, /*index=*/0);
    return {};
  });
  return NextOp::create(b, scaleTiles, cursor);
}

Value SpmmProducer::differ(Value one, Value other) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, one, other);
}

/// Those of A and X in a slot, where they are not all that its buffers hold; else null.
Value SpmmProducer::bytesOfCopies(const Tile &tile) {
  auto buffers = cast<RingType>(ring.getType()).getBuffers();
  if (buffers.size() == loads.size() && !clipsRows() && !clipsStrips())
    return Value();
  int64_t bytes = 0;
  for (LoadOp load : loads)
    bytes += load.getType().getRows() * load.getType().getColumns() *
             load.getType().getElementType().getIntOrFloatBitWidth() / 8;
  if (clipsRows())
    return arith::SubIOp::create(b, i32(b, bytes), bytesOfMissingRows(tile));
  if (clipsStrips())
    return arith::SubIOp::create(b, i32(b, bytes), bytesOfMissingStrips(tile));
  return i32(b, bytes);
}

/// Those of rows that X, N x K, does not have. Copies leave out all of them where X has one tile, and otherwise half of
/// the rows of a tile.
Value SpmmProducer::bytesOfMissingRows(const Tile &tile) {
  const BufferType ofX = bufferOfX();
  const int64_t half = ofX.getRows() / 2;
  auto compare = [&](Value x, int64_t y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::sle, x, i32(b, y)); };
  Value size = SizeOp::create(b, loads[1].getSource(), /*dimension=*/0);
  Value rest = arith::SubIOp::create(b, size, tile.at.column);
  Value ofHalves = arith::SelectOp::create(b, compare(rest, half), i32(b, half), i32(b, 0));
  Value beyond = arith::SubIOp::create(b, i32(b, ofX.getRows()), size);
  Value missing = arith::SelectOp::create(b, compare(size, ofX.getRows()), beyond, ofHalves);
  return multiply(b, missing, ofX.getRowBytes());
}

/// Those of the strips of a tile that begin beyond X, K x N. A tile begins before its end.
Value SpmmProducer::bytesOfMissingStrips(const Tile &tile) {
  const BufferType ofX = bufferOfX();
  Value rest = arith::SubIOp::create(b, SizeOp::create(b, loads[1].getSource(), /*dimension=*/1), tile.at.column);
  Value missing = arith::MaxSIOp::create(b, arith::SubIOp::create(b, i32(b, ofX.getColumns()), rest), i32(b, 0));
  missing = divide(b, missing, ofX.getStripBytes() / ofX.getElementBytes());
  return multiply(b, missing, ofX.getRows() * ofX.getStripBytes());
}

/// Whether copies leave out rows of the A operand that do not exist. Where X is that operand, no result depends on
/// them, and zeros would take longer than rows that exist.
bool SpmmProducer::clipsOperand() { return swapsOperands() && hasSlices() && !chain.getXScale(); }

bool SpmmProducer::clipsRows() { return clipsOperand() && isTransposed(); }

/// With X as K x N rows of the operand are columns of X. They are left out as strips, if there are several.
bool SpmmProducer::clipsStrips() {
  return clipsOperand() && !isTransposed() && blocksPerStep() == 1 &&
         bufferOfX().getRowBytes() > bufferOfX().getStripBytes();
}

/// The CTAs of a cluster work on one tile row, so that they share A.
void SpmmProducer::copyStep(const Tile &tile, const Visited &step, int64_t chunk, Value cursor) {
  Value k = i32(b, chunk * schedule.getTileK());
  auto copy =
      CopyOp::create(b, loads[0].getSource(), ValueRange{step.block, tile.at.row, k}, ring, cursor, /*index=*/0);
  copy.setMulticast(schedule.getCluster() > 1);
  copy.setLines(copiesLines());
  if (mayCutBlocks() || step.columns.size() > 1)
    copy.getBlockColumnsMutable().assign(step.columns);
  for (auto [number, column] : llvm::enumerate(step.columns)) {
    Value depth = add(b, multiply(b, column, matrix.getBlockColumns()), chunk * schedule.getTileK());
    auto copyOfX =
        CopyOp::create(b, loads[1].getSource(), coordinatesOfX(depth, tile.at.column), ring, cursor, /*index=*/1);
    copyOfX.setClipped(clipsRows());
    copyOfX.setClippedStrips(clipsStrips());
    if (step.columns.size() > 1)
      setPart(copyOfX, int64_t(number));
  }
}

/// The part of a step's X that goes with one of its blocks: rows of the buffer, or a strip of it.
void SpmmProducer::setPart(CopyOp copy, int64_t number) {
  const int64_t depth = matrix.getBlockColumns();
  if (!isTransposed())
    return copy.setRows(ArrayRef<int64_t>{number * depth, depth});
  copy.setColumns(depth);
  copy.getAtMutable().assign(i32(b, number * schedule.getTileN()));
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
                [&](const Visited &block, ValueRange carried) {
                  Value slot = named(carried[0], "slot");
                  for (int64_t chunk = 0; chunk < chunks; chunk += chunksOfSlot) {
                    AcquireOp::create(b, scaleRing, slot);
                    auto group = CopyGroupOp::create(b, /*condition=*/Value());
                    OpBuilder::InsertionGuard guard(b);
                    b.createBlock(&group.getBody());
                    CopyScalesOp::create(b, chain.getXScale(), tile.at.column,
                                         partOfK(block.columns.front(), i32(b, chunk)), scaleRing, slot);
                    b.setInsertionPointAfter(group);
                    slot = NextOp::create(b, scaleRing, slot);
                  }
                  return Values{slot};
                })
        .getResults();
  });
  AwaitCopiesOp::create(b, /*outstanding=*/0);
}

void SpmmProducer::makeScaleTiles() {
  Type buffer = bufferOf(schedule, schedule.getTileN(), scaleTileParts, b.getF32Type());
  scaleTiles = RingOp::create(b, RingType::get(b.getContext(), scaleTileStages, buffer), b.getStringAttr("scale_tiles"),
                              /*messages=*/false);
}

void SpmmProducer::makeScaleStager() {
  makeRole(b, "scales", RoleUnit::warp, 1, schedule.getProducerRegisters(), [&] {
    Value begin = CursorOp::create(b, ring), beginOfTiles = CursorOp::create(b, scaleTiles);
    walkTiles({begin, beginOfTiles}, [&](const Tile &tile, ValueRange carried) -> Values {
      Values inits(carried);
      inits.push_back(expectedScaleTile());
      WaitOp::create(b, TypeRange(), scaleTiles, carried[1]);
      auto loop = walkWithScales(tile, inits, [&](const Visited &block, ValueRange carried) {
        Value slot = named(carried[0], "slot"), cursor = carried[1], number = carried[2];
        for (int64_t chunk = 0; chunk < int64_t(blockLoop.getChunks()); ++chunk) {
          Value part = partOfK(block.columns.front(), i32(b, chunk));
          enterScaleTile(part, cursor, number);
          AcquireOp::create(b, ring, slot);
          StageScalesOp::create(b, scaleTiles, cursor, part, block.scale, ring, slot);
          slot = NextOp::create(b, ring, slot);
        }
        return Values{slot, cursor, number};
      });
      // The tile behind the last one is on its way, too.
      Value last = leaveScaleTile(loop.getResult(1));
      ReleaseOp::create(b, scaleTiles, last, /*condition=*/Value());
      return Values{loop.getResult(0), NextOp::create(b, scaleTiles, last)};
    });
  });
}

/// Waits for the tile of scales of a part of K, where it is another one than that of the step before.
void SpmmProducer::enterScaleTile(Value part, Value &cursor, Value &number) {
  named(cursor, "scale_slot");
  named(number, "scale_tile");
  Value own = divide(b, part, scaleTileParts);
  cursor = carryIf(b, differ(own, number), cursor, [&]() -> Values {
    Value next = leaveScaleTile(cursor), isUnexpected = differ(own, add(b, number, 1));
    return carryIf(b, isUnexpected, next, [&]() -> Values { return {leaveScaleTile(next)}; });
  })[0];
  number = own;
}

/// Gives the slot of the tile behind, when it is there.
Value SpmmProducer::leaveScaleTile(Value cursor) {
  ReleaseOp::create(b, scaleTiles, cursor, /*condition=*/Value());
  Value next = NextOp::create(b, scaleTiles, cursor);
  WaitOp::create(b, TypeRange(), scaleTiles, next);
  return next;
}
