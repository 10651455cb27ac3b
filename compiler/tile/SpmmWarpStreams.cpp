// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a spmm with small blocks by streams, with mma.sync: StreamProgram.h describes the parts that it
// shares. A group is a warp, which copies its own blocks by cp.async into slots that no other warp uses:
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
  /// The chunk of the tile whose blocks are copied next.
  struct NextCopy {
    Value chunk, slot; // its number in the plan, and the cursor of the slot that it gets
    Values blocks;     // their numbers

    Values pack() const;
    static NextCopy unpack(ValueRange values) { return {values[0], values[1], Values(values.drop_front(2))}; }
  };
  NextCopy copyOf(ImplicitLocOpBuilder &b, Value chunk, Value slot);
  NextCopy copyAfter(ImplicitLocOpBuilder &b, const NextCopy &copy) {
    return copyOf(b, add(b, copy.chunk, 1), chunkBehind(b, copy.slot));
  }
  void copyChunk(ImplicitLocOpBuilder &b, const NextCopy &copy);

  Progress walkColumns(ImplicitLocOpBuilder &b, Value slot, Value word, Progress progress) override;
  /// A column whose block is in shared memory.
  struct Visit {
    Value column, exists; // does not exist: there is no column left
    Value rest;           // the bits of the columns behind it
    Position block;

    Values pack() const { return {column, exists, rest, block.place, block.chunk}; }
    static Visit unpack(ValueRange values);
  };
  Progress whileVisits(ImplicitLocOpBuilder &b, const Progress &begin, const Visit &first,
                       function_ref<Visit(Progress &progress, const Visit &visit)> body);
  Visit beginVisit(ImplicitLocOpBuilder &b, Value word, Progress &progress);
  Values beginChunk(ImplicitLocOpBuilder &b, const Progress &progress);

  static constexpr int64_t columnsOfPart = 64;
  int64_t parts() { return columns() / columnsOfPart; }
  Type sumType() { return AccumulatorType::get(kernel.getContext(), shape.productRows, columnsOfPart); }
  int64_t stages() { return schedule.getBlockStages(); }
  /// Chunks whose copies start before the first product. When a chunk begins, all blocks of the one before it are in
  /// registers: the copies then go into its slot.
  int64_t chunksAhead() { return stages() - 1; }

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
    Value row = entryOf(b, tile.window, GroupOp::create(b));
    for (auto [part, sum] : llvm::enumerate(progress.sums))
      storeRow(b, row, add(b, tile.column, int64_t(part) * columnsOfPart), sum, /*isSwapped=*/false,
               /*inLines=*/false);
    return Values{slot};
  });
  DrainStoresOp::create(b);
}

/// Every tile begins with the first slots of the group. The first of the other values are those of the next copy.
WarpStreamBuilder::Progress WarpStreamBuilder::beginTile(ImplicitLocOpBuilder &b, const Tile &tile) {
  chunks = readRange(b, PlanSection::chunk_offsets, entryOf(b, tile.window, group));
  Value first = firstChunk(b, group);
  SmallVector<NextCopy> copies{copyOf(b, chunks.first, first)};
  for (int64_t chunk = 0; chunk < chunksAhead(); ++chunk)
    copies.push_back(copyAfter(b, copies.back()));
  BarrierOp::create(b, /*group=*/true); // all threads are done with the slots of the tile before
  for (const NextCopy &copy : ArrayRef(copies).drop_back())
    copyChunk(b, copy);
  Progress progress = {{}, {i32(b, 0), first}, copies.back().pack()};
  for (int64_t part = 0; part < parts(); ++part)
    progress.sums.push_back(ZeroOp::create(b, sumType()));
  return progress;
}

WarpStreamBuilder::Values WarpStreamBuilder::NextCopy::pack() const {
  Values all{chunk, slot};
  llvm::append_range(all, blocks);
  return all;
}

/// Behind the tile's chunks there may be none: the blocks are then those behind its last one.
WarpStreamBuilder::NextCopy WarpStreamBuilder::copyOf(ImplicitLocOpBuilder &b, Value chunk, Value slot) {
  return {chunk, slot, readBlocks(b, arith::MinSIOp::create(b, chunk, chunks.end))};
}

/// Behind the last products of a chunk there is no block: any other one takes its place.
void WarpStreamBuilder::copyChunk(ImplicitLocOpBuilder &b, const NextCopy &copy) {
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, copy.chunk, chunks.end);
  auto copies = CopyGroupOp::create(b, exists);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&copies.getBody());
  Value zero = i32(b, 0);
  for (auto [i, block] : llvm::enumerate(copy.blocks)) {
    Value stored = arith::MaxSIOp::create(b, named(block, "block"), zero);
    auto copyOfBlock =
        CopyOp::create(b, operand(spmm.getMatrix()), ValueRange{stored, zero, zero}, blockRing, copy.slot, /*index=*/0);
    copyOfBlock.setRows(ArrayRef<int64_t>{int64_t(i) * rowsOfBlock(), rowsOfBlock()});
  }
}

WarpStreamBuilder::Visit WarpStreamBuilder::Visit::unpack(ValueRange values) {
  return {named(values[0], "column"), named(values[1], "exists"), named(values[2], "rest"), {values[3], values[4]}};
}

/// The group has a block row, and so a product in every column that it visits. It finds the first one before it waits
/// for the columns, because the warp has nothing else to do then.
WarpStreamBuilder::Progress WarpStreamBuilder::walkColumns(ImplicitLocOpBuilder &b, Value slot, Value word,
                                                           Progress begin) {
  Visit first = beginVisit(b, word, begin);
  awaitColumns(b, slot);
  return whileVisits(b, begin, first, [&](Progress &progress, const Visit &visit) {
    auto type = FragmentType::get(b.getContext(), shape.productRows, depth(), elementOfFragment(elementType()));
    Value w = LoadFragmentOp::create(b, type, viewOfBlock(b, visit.block.place), visit.block.chunk);
    auto loadPart = [&](int64_t part) {
      return loadColumn(b, slot, visit.column, part * columnsOfPart, columnsOfPart);
    };
    Values x{loadPart(0)};
    Visit next = beginVisit(b, visit.rest, progress);
    for (int64_t part = 1; part < parts(); ++part)
      x.push_back(loadPart(part));
    for (auto [part, sum] : llvm::enumerate(progress.sums))
      sum = ProductOp::create(b, sumType(), w, /*a_cursor=*/Value(), x[part], /*b_cursor=*/Value(), sum, depth());
    return next;
  });
}

/// A loop over columns, until a visit does not exist. The body gives the next visit.
WarpStreamBuilder::Progress
WarpStreamBuilder::whileVisits(ImplicitLocOpBuilder &b, const Progress &begin, const Visit &first,
                               function_ref<Visit(Progress &progress, const Visit &visit)> body) {
  Values inits = begin.pack(first.pack());
  TypeRange types = TypeRange(ValueRange(inits));
  auto loop = scf::WhileOp::create(b, types, inits);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locations(inits.size(), b.getLoc());
  auto visitOf = [&](ValueRange values) { return Visit::unpack(values.drop_front(begin.count())); };
  Block *before = b.createBlock(&loop.getBefore(), {}, types, locations);
  scf::ConditionOp::create(b, visitOf(before->getArguments()).exists, before->getArguments());
  Block *after = b.createBlock(&loop.getAfter(), {}, types, locations);
  Progress carried = begin.unpack(after->getArguments());
  Visit next = body(carried, visitOf(after->getArguments()));
  scf::YieldOp::create(b, carried.pack(next.pack()));
  return begin.unpack(loop.getResults());
}

/// The first column of which a word has the bit. A word without bits gets the highest bit, which is that of no column:
/// the number of trailing zeros of 0 takes a second instruction.
WarpStreamBuilder::Visit WarpStreamBuilder::beginVisit(ImplicitLocOpBuilder &b, Value word, Progress &progress) {
  Visit visit;
  visit.column = math::CountTrailingZerosOp::create(b, arith::OrIOp::create(b, word, i32(b, INT32_MIN)));
  Value bit = remainder(b, arith::ShRUIOp::create(b, word, visit.column), 2);
  visit.exists = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, i32(b, 0));
  visit.rest = arith::XOrIOp::create(b, word, arith::ShLIOp::create(b, bit, visit.column));
  visit.block = progress.next;
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, visit.block.place, i32(b, 0));
  progress.others = carryIf(b, arith::AndIOp::create(b, visit.exists, isFirst), progress.others,
                            [&] { return beginChunk(b, progress); });
  Value place = add(b, visit.block.place, bit);
  Values chunk =
      carryIf(b, isBehind(b, place), visit.block.chunk, [&] { return Values{chunkBehind(b, visit.block.chunk)}; });
  progress.next = {remainder(b, place, shape.chunkProducts), chunk[0]};
  return visit;
}

/// Waits for the copies of a chunk, and starts later ones. Returns the next copy.
WarpStreamBuilder::Values WarpStreamBuilder::beginChunk(ImplicitLocOpBuilder &b, const Progress &progress) {
  AwaitCopiesOp::create(b, chunksAhead() - 1);
  BarrierOp::create(b, /*group=*/true);
  const NextCopy copy = NextCopy::unpack(progress.others);
  copyChunk(b, copy);
  return copyAfter(b, copy).pack();
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeWarpStreamBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule) {
  return std::make_unique<WarpStreamBuilder>(kernel, spmm, schedule);
}
