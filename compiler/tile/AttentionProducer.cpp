// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys of a step, then the values of the step before. The end of a list is a message: beside the last values, or beside
// an empty slot where the list has no block.
//
// Where pages are small, several producers share the copies of a slot. The first one takes the tiles and posts every
// slot with all its bytes. The others take the tile from the messages of the queries and walk the same list. A slot is
// full when the last one's copies have arrived, so that none of them can fall a round behind.

#include "AttentionParts.h"

#include "sparsec/launch_info.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

class AttentionProducer {
public:
  AttentionProducer(ImplicitLocOpBuilder &b, AttentionParts &parts, int64_t number)
      : b(b), parts(parts), number(number) {}

  void build();

private:
  bool isFirst() { return number == 0; }
  void buildFirst();
  void buildOther();
  void buildTile(ValueRange arguments);
  void buildCutTile(ValueRange arguments);
  SmallVector<Value> sendTile(const SequenceTile &tile, ValueRange messages, Value queries, Value keys);
  Value walkKeys(SequenceTile tile, Value lists, Value cursor);
  Value endOfTile(const SequenceTile &tile);
  SmallVector<Value> sendStep(const SequenceTile &tile, ValueRange blocks, Value cursor, ValueRange sent);
  Value sendLast(const SequenceTile &tile, Value cursor, ValueRange sent);
  Value sendRows(Value source, const SequenceTile &tile, ValueRange blocks, ValueRange messages, Value cursor);
  /// Rows of a slot that one copy fills.
  struct Part {
    int64_t firstRow, rows;
    SmallVector<Value> coordinates;
  };
  void addParts(const SequenceTile &tile, Value firstKey, int64_t firstRow, SmallVectorImpl<Part> &all);
  void copyPart(Value source, const Part &part, Value cursor);
  void postMessages(Value ring, ValueRange messages, Value cursor);
  int64_t columnsOf(Value source) { return source == parts.value ? parts.valueDimension : parts.headDimension; }
  /// A slot has room for the wider one of keys and values.
  int64_t slotColumns() { return std::max(parts.headDimension, parts.valueDimension); }
  Value next(Value cursor) { return NextOp::create(b, parts.keyRing, cursor); }
  Value isNone(Value block) { return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, block, none()); }
  Value none() { return i32(b, parts.noBlock()); }
  /// The cursor of either branch.

  ImplicitLocOpBuilder &b;
  AttentionParts &parts;
  int64_t number; // among the producers
};

void AttentionProducer::build() { isFirst() ? buildFirst() : buildOther(); }

void AttentionProducer::buildFirst() {
  Value queries = CursorOp::create(b, parts.queryRing), keys = CursorOp::create(b, parts.keyRing);
  auto loop = TileLoopOp::create(b, ValueRange{queries, keys}, /*cut=*/parts.isCut);
  loop.setCounter(!parts.isCut);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&loop.getBody().front());
    buildTile(loop.getBody().getArguments());
  }
  postMessages(parts.queryRing, {i32(b, endOfTiles), i32(b, 0)}, loop.getResult(0));
}

void AttentionProducer::buildOther() {
  auto waitForTile = [&](Value queries, Value keys) -> SmallVector<Value> {
    auto wait = WaitOp::create(b, TypeRange{b.getI32Type(), b.getI32Type()}, parts.queryRing, queries);
    return {queries, keys, wait.getResult(0), wait.getResult(1)};
  };
  Value queries = CursorOp::create(b, parts.queryRing), keys = CursorOp::create(b, parts.keyRing);
  loopWhile(b, waitForTile(queries, keys), {"query_slot", "key_slot", "tile_row", "panel"},
            {/*position=*/2, LoopTest::ne, endOfTiles}, [&](ValueRange carried) {
              Value queries = carried[0], keys = carried[1], tileRow = carried[2], panel = carried[3];
              ReleaseOp::create(b, parts.queryRing, queries);
              TilePartOp part = parts.makePart(b, panel);
              SequenceTile tile = parts.makeTile(b, part, tileRow, panel);
              Value behindKeys = walkKeys(tile, parts.makeLists(b, tile.tile), keys);
              return waitForTile(NextOp::create(b, parts.queryRing, queries), behindKeys);
            });
}

/// A tile, some of whose blocks may be those of another worker.
void AttentionProducer::buildCutTile(ValueRange arguments) {
  Value tileRow = arguments[0], panel = arguments[1], countAndKind = arguments[3];
  SequenceTile tile = parts.makeTile(b, /*part=*/{}, tileRow, panel);
  const int64_t mostBlocks = (int64_t(1) << SPARSEC_CUT_KIND_SHIFT) - 1;
  tile.firstBlock = arguments[2];
  tile.blocks = arith::AndIOp::create(b, countAndKind, i32(b, mostBlocks));
  tile.kind = arith::AndIOp::create(b, countAndKind, i32(b, ~mostBlocks));
  Value message = arith::OrIOp::create(b, panel, tile.kind);
  YieldOp::create(b, sendTile(tile, {tileRow, message}, arguments[4], arguments[5]));
}

void AttentionProducer::buildTile(ValueRange arguments) {
  if (parts.isCut)
    return buildCutTile(arguments);
  Value tileRow = arguments[0], panel = arguments[1], queries = arguments[2], keys = arguments[3];
  Value panelOfTile = panel;
  TilePartOp part = parts.makePart(b, panelOfTile);
  if (!parts.hasPackedQueries()) {
    SequenceTile tile = parts.makeTile(b, part, tileRow, panelOfTile);
    YieldOp::create(b, sendTile(tile, {tileRow, panel}, queries, keys));
    return;
  }
  auto packed = PackedTileOp::create(b, parts.query, parts.keyLoop.getQueryStarts(), tileRow, panelOfTile,
                                     parts.schedule.getTileM());
  SequenceTile tile = parts.makeTile(b, part, packed.getTileRow(), packed.getBlock());
  SmallVector<Value> messages{packed.getTileRow(), packed.getBlock()};
  if (part) // the consumers take the panel apart again
    messages[1] = add(b, arith::MulIOp::create(b, packed.getBlock(), part.getParts()), part.getPart());
  // The panel may be behind its sequence.
  Value hasQueries =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, tile.tile.getFirst(), tile.sequence.getQueries());
  auto branch = scf::IfOp::create(b, TypeRange(arguments.drop_front(2)), hasQueries, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, sendTile(tile, messages, queries, keys));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, ValueRange{queries, keys});
  }
  YieldOp::create(b, branch.getResults());
}

/// Gives the next cursors.
SmallVector<Value> AttentionProducer::sendTile(const SequenceTile &tile, ValueRange messages, Value queries,
                                               Value keys) {
  QueryTileOp at = tile.tile;
  Value lists = parts.makeLists(b, at);
  AcquireOp::create(b, parts.queryRing, queries);
  PostOp::create(b, parts.queryRing, queries, messages, /*empty=*/false);
  CopyOp::create(b, parts.query, parts.queryCoordinates(b, tile, at.getFirst()), parts.queryRing, queries,
                 /*index=*/0);
  keys = walkKeys(tile, lists, keys);
  return {NextOp::create(b, parts.queryRing, queries), keys};
}

/// Gives the cursor behind all keys and values of the tile.
Value AttentionProducer::walkKeys(SequenceTile tile, Value lists, Value cursor) {
  SmallVector<Value> inits{cursor};
  inits.append(parts.blocksPerStep, none());
  auto walk = WalkOp::create(b, parts.makeWalk(b, tile, lists), inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&walk.getBody().front());
    ValueRange carried = walk.getCarried();
    YieldOp::create(b, sendStep(tile, walk.getVisited(), carried[0], carried.drop_front()));
  }
  return sendLast(tile, walk.getResult(0), walk.getResults().drop_front());
}

/// The second message beside the end of a list. Where tiles start ahead, the number of the next tile is taken before
/// the last values, so that it is on its way while their slot becomes free.
Value AttentionProducer::endOfTile(const SequenceTile &tile) {
  static_assert(tileFollowsBit == 1 && firstPartBit == int64_t(SPARSEC_CUT_FIRST) << 1);
  Value bits = parts.startsAhead() ? Value(TileFollowsOp::create(b, b.getI32Type())) : i32(b, 0);
  if (!parts.isCut)
    return bits;
  // A rest has the bit above that, which no one reads.
  Value kind = arith::ShRUIOp::create(b, tile.kind, i32(b, SPARSEC_CUT_KIND_SHIFT - 1));
  return arith::OrIOp::create(b, bits, kind);
}

/// `sent` are the blocks of the step before, whose values are still to be sent, or none. Gives the next cursor and the
/// blocks of this step.
SmallVector<Value> AttentionProducer::sendStep(const SequenceTile &tile, ValueRange blocks, Value cursor,
                                               ValueRange sent) {
  SmallVector<Value> messages(blocks);
  messages.resize(2, none());
  Value behindKeys = sendRows(parts.key, tile, blocks, messages, cursor);
  SmallVector<Value> result{choose(
      b, CursorType::get(b.getContext()), isNone(sent[0]), [&] { return behindKeys; },
      [&] { return sendRows(parts.value, tile, sent, /*messages=*/{}, behindKeys); })};
  llvm::append_range(result, blocks);
  return result;
}

Value AttentionProducer::sendLast(const SequenceTile &tile, Value cursor, ValueRange sent) {
  SmallVector<Value> end{i32(b, endOfList), endOfTile(tile)};
  return choose(
      b, CursorType::get(b.getContext()), isNone(sent[0]),
      [&] { return postMessages(parts.keyRing, end, cursor), next(cursor); },
      [&] { return sendRows(parts.value, tile, sent, end, cursor); });
}

/// Keys or values of a step. A step that is not full gets its first block twice. Pages are looked up before the slot is
/// free, and all at once. Each producer has every n-th of them.
Value AttentionProducer::sendRows(Value source, const SequenceTile &tile, ValueRange blocks, ValueRange messages,
                                  Value cursor) {
  SmallVector<Part> all;
  for (auto [index, block] : llvm::enumerate(blocks)) {
    Value loaded = index == 0 ? block : arith::SelectOp::create(b, isNone(block), blocks[0], block);
    addParts(tile, parts.makeKeyBlock(b, loaded, /*row=*/Value(), parts.keyBlock).key, int64_t(index) * parts.keyBlock,
             all);
  }
  bool fillsSlot = columnsOf(source) == slotColumns();
  int64_t bytes = int64_t(parts.schedule.getTileN()) * columnsOf(source) * parts.element.getIntOrFloatBitWidth() / 8;
  AcquireOp::create(b, parts.keyRing, cursor);
  if (isFirst())
    PostOp::create(b, parts.keyRing, cursor, messages, fillsSlot ? Value() : i32(b, bytes), /*empty=*/false);
  for (size_t index = number; index < all.size(); index += parts.producers())
    copyPart(source, all[index], cursor);
  return next(cursor);
}

/// The parts of a block of keys or values from `firstKey` on, for the rows of the slot from `firstRow` on.
void AttentionProducer::addParts(const SequenceTile &tile, Value firstKey, int64_t firstRow,
                                 SmallVectorImpl<Part> &all) {
  const int64_t rows = parts.contiguousKeys(parts.keyBlock);
  for (int64_t row = 0; row < parts.keyBlock; row += rows) {
    Value key = row == 0 ? firstKey : add(b, firstKey, i32(b, row));
    all.push_back({firstRow + row, rows, parts.keyCoordinates(b, tile, key)});
  }
}

/// A launch with parts reads its keys once where the queries of a head fit a tile. They leave L2 first, which saves up
/// to 7 % of the time (bench/notes/attention-decode.md).
void AttentionProducer::copyPart(Value source, const Part &part, Value cursor) {
  auto copy = CopyOp::create(b, source, part.coordinates, parts.keyRing, cursor, /*index=*/0);
  copy.setEvictFirst(parts.isSplit);
  if (int64_t columns = columnsOf(source); columns < slotColumns())
    copy.setColumns(columns);
  if (part.rows < int64_t(parts.schedule.getTileN()))
    copy.setRows(ArrayRef<int64_t>{part.firstRow, part.rows});
}

/// A slot with messages alone, which only the first producer comes to.
void AttentionProducer::postMessages(Value ring, ValueRange messages, Value cursor) {
  if (!isFirst())
    return;
  AcquireOp::create(b, ring, cursor);
  PostOp::create(b, ring, cursor, messages, /*empty=*/true);
}

} // namespace

void sparsec::buildAttentionProducer(ImplicitLocOpBuilder &b, AttentionParts &parts, int64_t number) {
  AttentionProducer(b, parts, number).build();
}
