// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a spmm with small blocks by streams, with mma.sync: StreamProgram.h describes the parts that it
// shares. A group is a warp, which copies its own blocks by cp.async into a slot that no other warp uses:
//
//   copies of the first chunks
//   for each product that begins a chunk: wait for its copies; barrier of the warp; copies of a later chunk
//
// The loop over columns is rotated: while the operands of a column come from shared memory, the warp finds the next
// one. A warp issues its instructions in their order, so that it would otherwise do nothing meanwhile.
//
// A block has as many rows as the instruction, so that a block is the operand with the rows. A column of X is the
// operand with the columns. It is loaded in parts of 64 columns, those behind the first part only after the next column
// is found.

#include "StreamProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

class WarpStreamBuilder : public StreamProgram {
public:
  WarpStreamBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule) : StreamProgram(kernel, spmm, schedule) {}

private:
  void buildBody(ImplicitLocOpBuilder &b) override;
  void buildConsumer(ImplicitLocOpBuilder &b);
  Progress beginTile(ImplicitLocOpBuilder &b, const Tile &tile);
  Value firstProduct(ImplicitLocOpBuilder &b, const Tile &tile);
  void storeTile(ImplicitLocOpBuilder &b, const Tile &tile, Values sums);
  /// A chunk of the tile, and the numbers of its blocks. Behind the tile's chunks there may be none: the blocks are
  /// then those behind its last one.
  struct Chunk {
    Value number, blocks;

    Values pack() const { return {number, blocks}; }
  };
  Chunk readChunk(ImplicitLocOpBuilder &b, Value number) {
    auto type = BlockNumbersType::get(b.getContext(), shape.chunkProducts);
    return {number, ReadBlocksOp::create(b, type, arith::MinSIOp::create(b, number, chunks.end))};
  }
  Chunk chunkAfter(ImplicitLocOpBuilder &b, const Chunk &chunk) { return readChunk(b, add(b, chunk.number, 1)); }
  void copyChunk(ImplicitLocOpBuilder &b, const Chunk &chunk, Value firstPlace);

  Progress walkColumns(ImplicitLocOpBuilder &b, Value slot, Value word, Progress progress) override;
  /// A column whose block is in shared memory.
  struct Visit {
    Value column, word; // the bits of this column and those behind it; 0: there is no column left
  };
  Progress whileVisits(ImplicitLocOpBuilder &b, const Progress &begin, const Visit &first,
                       function_ref<Visit(Progress &progress, const Visit &visit)> body);
  Visit beginVisit(ImplicitLocOpBuilder &b, Value word, Progress &progress);
  Visit visitBehind(ImplicitLocOpBuilder &b, const Visit &visit, Progress &progress);
  Values beginChunk(ImplicitLocOpBuilder &b, const Progress &progress);
  void enterChunk(ImplicitLocOpBuilder &b, Value place, Progress &progress);
  Value isAny(ImplicitLocOpBuilder &b, Value word) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, word, i32(b, 0));
  }

  static constexpr int64_t columnsOfPart = StreamShape::columnsOfPart;
  int64_t parts() { return columns() / columnsOfPart; }
  Type sumType() { return AccumulatorType::get(kernel.getContext(), shape.productRows, columnsOfPart); }
  /// Chunks whose copies start before the first product. When a chunk begins, all blocks of the one before it are in
  /// registers: the copies then take its places.
  int64_t chunksAhead() { return schedule.getBlockStages() - 1; }
  /// The slot of a group has so many places for blocks, which the group takes in turn.
  int64_t places() { return shape.slotProducts; }
  Value placeBehind(ImplicitLocOpBuilder &b, Value place, int64_t count);

  Range chunks; // of the tile
};

void WarpStreamBuilder::buildBody(ImplicitLocOpBuilder &b) {
  makeRings(b, /*releasesOfBlocks=*/IntegerAttr());
  makeRole(b, "consumer", RoleUnit::warp, groups(), schedule.getConsumerRegisters(), [&] { buildConsumer(b); });
  // A stage has many small copies: one thread alone would start them too slowly.
  makeColumnProducers(b, StreamShape::columnProducers);
}

void WarpStreamBuilder::buildConsumer(ImplicitLocOpBuilder &b) {
  Value begin = CursorOp::create(b, columnRing);
  forEachTile(b, begin, [&](const Tile &tile, ValueRange carried) {
    group = GroupOp::create(b);
    Value slot = carried[0];
    Progress progress = walkStages(b, tile, slot, beginTile(b, tile));
    storeTile(b, tile, progress.sums);
    return Values{slot};
  });
  DrainStoresOp::create(b);
}

/// The last part of a tile to end stores the sums of all parts.
void WarpStreamBuilder::storeTile(ImplicitLocOpBuilder &b, const Tile &tile, Values sums) {
  OpBuilder::InsertionGuard guard(b);
  if (tile.part) {
    AwaitCopiesOp::create(b, 0); // of blocks behind the part, which nobody has needed
    auto joined = JoinPartsOp::create(b, sums[0], tile.window, tile.panel);
    sums[0] = joined.getTotal();
    b.setInsertionPointToStart(scf::IfOp::create(b, joined.getIsLast(), /*withElseRegion=*/false).thenBlock());
  }
  Value row = entryOf(b, tile.window, GroupOp::create(b));
  for (auto [part, sum] : llvm::enumerate(sums))
    storeRow(b, row, add(b, tile.column, int64_t(part) * columnsOfPart), sum, /*isSwapped=*/false, /*inLines=*/false);
}

/// Returns how many products the group has in the stages of the window before those of the part.
Value WarpStreamBuilder::firstProduct(ImplicitLocOpBuilder &b, const Tile &tile) {
  Value firstStage = ReadPlanOp::create(b, PlanSection::stage_offsets, tile.window);
  return CountProductsOp::create(b, firstStage, stagesOf(b, tile).first, entryOf(b, i32(b, 0), group),
                                 groups() * int64_t(schedule.getCluster()));
}

/// Every tile begins in the first chunk of the group's places. The other values are those of the next chunk to copy.
WarpStreamBuilder::Progress WarpStreamBuilder::beginTile(ImplicitLocOpBuilder &b, const Tile &tile) {
  chunks = readRange(b, PlanSection::chunk_offsets, entryOf(b, tile.window, group));
  Value inChunk = i32(b, 0);
  if (tile.part) {
    Value product = firstProduct(b, tile);
    chunks.first = add(b, chunks.first, divide(b, product, shape.chunkProducts));
    inChunk = remainder(b, product, shape.chunkProducts);
  }
  SmallVector<Chunk> first{readChunk(b, chunks.first)};
  for (int64_t chunk = 0; chunk < chunksAhead(); ++chunk)
    first.push_back(chunkAfter(b, first.back()));
  BarrierOp::create(b, /*group=*/true); // all threads are done with the blocks of the tile before
  for (auto [i, chunk] : llvm::enumerate(ArrayRef(first).drop_back()))
    copyChunk(b, chunk, i32(b, int64_t(i) * shape.chunkProducts));
  Progress progress = {{}, {i32(b, 0), Value()}, first.back().pack()};
  for (int64_t part = 0; part < parts(); ++part)
    progress.sums.push_back(ZeroOp::create(b, sumType()));
  if (tile.part)
    enterChunk(b, inChunk, progress);
  return progress;
}

/// A part of K may begin inside a chunk, whose first product belongs to the part before. No product of this part then
/// begins the chunk, so that the part begins it here.
void WarpStreamBuilder::enterChunk(ImplicitLocOpBuilder &b, Value place, Progress &progress) {
  Value isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, place, i32(b, 0));
  progress.others = carryIf(b, isInside, progress.others, [&] { return beginChunk(b, progress); });
  progress.next.place = place;
}

void WarpStreamBuilder::copyChunk(ImplicitLocOpBuilder &b, const Chunk &chunk, Value firstPlace) {
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, chunk.number, chunks.end);
  auto copies = CopyGroupOp::create(b, exists);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&copies.getBody());
  CopyBlocksOp::create(b, operand(spmm.getMatrix()), chunk.blocks, blockRing, CursorOp::create(b, blockRing, group),
                       multiply(b, firstPlace, rowsOfBlock()));
}

/// The place that comes `count` places later. A remainder of another number than a power of two takes a multiplication.
Value WarpStreamBuilder::placeBehind(ImplicitLocOpBuilder &b, Value place, int64_t count) {
  Value behind = add(b, place, count);
  if (llvm::isPowerOf2_64(places()))
    return remainder(b, behind, places());
  Value isEnd = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, behind, i32(b, places()));
  return arith::SelectOp::create(b, isEnd, add(b, behind, -places()), behind);
}

/// The group has a block row, and so a product in every column that it visits. It finds the first one before it waits
/// for the columns, because the warp has nothing else to do then.
WarpStreamBuilder::Progress WarpStreamBuilder::walkColumns(ImplicitLocOpBuilder &b, Value slot, Value word,
                                                           Progress begin) {
  Visit first = beginVisit(b, word, begin);
  awaitColumns(b, slot);
  return whileVisits(b, begin, first, [&](Progress &progress, const Visit &visit) {
    auto type = FragmentType::get(b.getContext(), shape.productRows, depth(), elementOfFragment(elementType()));
    Value w =
        LoadFragmentOp::create(b, type, viewOfBlock(b, progress.next.place), CursorOp::create(b, blockRing, group));
    auto loadPart = [&](int64_t part) {
      return loadColumn(b, slot, visit.column, part * columnsOfPart, columnsOfPart);
    };
    Values x{loadPart(0)};
    Visit next = visitBehind(b, visit, progress);
    for (int64_t part = 1; part < parts(); ++part)
      x.push_back(loadPart(part));
    for (auto [part, sum] : llvm::enumerate(progress.sums))
      sum = ProductOp::create(b, sumType(), w, /*a_cursor=*/Value(), x[part], /*b_cursor=*/Value(), sum, depth());
    return next;
  });
}

/// A loop over columns, until none is left. The body gives the next visit.
WarpStreamBuilder::Progress
WarpStreamBuilder::whileVisits(ImplicitLocOpBuilder &b, const Progress &begin, const Visit &first,
                               function_ref<Visit(Progress &progress, const Visit &visit)> body) {
  Values inits = begin.pack({first.column, first.word});
  TypeRange types = TypeRange(ValueRange(inits));
  auto loop = scf::WhileOp::create(b, types, inits);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locations(inits.size(), b.getLoc());
  auto visitOf = [&](ValueRange values) {
    return Visit{named(values[begin.count()], "column"), named(values[begin.count() + 1], "word")};
  };
  Block *before = b.createBlock(&loop.getBefore(), {}, types, locations);
  scf::ConditionOp::create(b, isAny(b, visitOf(before->getArguments()).word), before->getArguments());
  Block *after = b.createBlock(&loop.getAfter(), {}, types, locations);
  Progress carried = begin.unpack(after->getArguments());
  Visit next = body(carried, visitOf(after->getArguments()));
  scf::YieldOp::create(b, carried.pack({next.column, next.word}));
  return begin.unpack(loop.getResults());
}

/// The first column of which a word has the bit.
WarpStreamBuilder::Visit WarpStreamBuilder::beginVisit(ImplicitLocOpBuilder &b, Value word, Progress &progress) {
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                        remainder(b, progress.next.place, shape.chunkProducts), i32(b, 0));
  progress.others = carryIf(b, arith::AndIOp::create(b, isAny(b, word), isFirst), progress.others,
                            [&] { return beginChunk(b, progress); });
  return {math::CountTrailingZerosOp::create(b, word), word};
}

WarpStreamBuilder::Visit WarpStreamBuilder::visitBehind(ImplicitLocOpBuilder &b, const Visit &visit,
                                                        Progress &progress) {
  Value rest = arith::AndIOp::create(b, visit.word, arith::AddIOp::create(b, visit.word, i32(b, -1)));
  progress.next.place = placeBehind(b, progress.next.place, 1);
  return beginVisit(b, rest, progress);
}

/// Waits for the copies of a chunk, and starts those of a later one. Returns the next chunk to copy.
WarpStreamBuilder::Values WarpStreamBuilder::beginChunk(ImplicitLocOpBuilder &b, const Progress &progress) {
  AwaitCopiesOp::create(b, chunksAhead() - 1);
  BarrierOp::create(b, /*group=*/true);
  const Chunk chunk = {progress.others[0], progress.others[1]};
  copyChunk(b, chunk, placeBehind(b, progress.next.place, chunksAhead() * shape.chunkProducts));
  return chunkAfter(b, chunk).pack();
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeWarpStreamBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule) {
  return std::make_unique<WarpStreamBuilder>(kernel, spmm, schedule);
}
