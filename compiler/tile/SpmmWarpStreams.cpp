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
// operand with the columns, for the products of all rows of the group. It is loaded in parts of 64 columns: with one
// block row, those behind the first part only after the next column is found.

#include "StreamProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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
  /// A column whose blocks are in shared memory.
  struct Visit {
    Value column, bits;    // no bits: there is no column left
    Value rest;            // the bits of the columns behind it
    Values chunks, places; // of each row's block; where it has none, the last one's

    Values pack() const;
    Visit unpack(ValueRange values) const;
  };
  Visit beginVisit(ImplicitLocOpBuilder &b, Value rest, Progress &progress);
  void awaitBlocks(ImplicitLocOpBuilder &b, Value bits, const Column &products, Progress &progress);
  Values loadBlocks(ImplicitLocOpBuilder &b, const Visit &visit);
  Value loadPart(ImplicitLocOpBuilder &b, Value slot, Value column, int64_t part) {
    return loadColumn(b, slot, column, part * columnsOfPart, columnsOfPart);
  }
  void multiplyColumn(ImplicitLocOpBuilder &b, ValueRange x, ValueRange blocks, Value bits, Progress &progress);

  static constexpr int64_t columnsOfPart = 64;
  int64_t parts() { return columns() / columnsOfPart; }
  Type sumType() { return AccumulatorType::get(kernel.getContext(), shape.productRows, columnsOfPart); }
  int64_t stages() { return schedule.getBlockStages(); }
  /// Chunks whose copies start before the first product. At a chunk's first product the one before it may still have
  /// one that is to be multiplied: the copies then go into the slot before that.
  int64_t chunksAhead() { return stages() - 2; }

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
    Value firstRow = multiply(b, entryOf(b, tile.window, GroupOp::create(b)), rows());
    for (auto [i, sum] : llvm::enumerate(progress.sums))
      storeRow(b, add(b, firstRow, i / parts()), add(b, tile.column, i % parts() * columnsOfPart), sum,
               /*isSwapped=*/false, /*inLines=*/false);
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
  for (int64_t sum = 0; sum < rows() * parts(); ++sum)
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

WarpStreamBuilder::Values WarpStreamBuilder::Visit::pack() const {
  Values all{column, bits, rest};
  llvm::append_range(all, chunks);
  llvm::append_range(all, places);
  return all;
}

WarpStreamBuilder::Visit WarpStreamBuilder::Visit::unpack(ValueRange values) const {
  return {named(values[0], "column"), named(values[1], "bits"), named(values[2], "rest"),
          Values(values.slice(3, chunks.size())), Values(values.drop_front(3 + chunks.size()))};
}

WarpStreamBuilder::Progress WarpStreamBuilder::walkColumns(ImplicitLocOpBuilder &b, Value slot, Value word,
                                                           Progress begin) {
  Visit first = beginVisit(b, word, begin);
  return whileVisits(b, begin, first.pack(), [&](Progress &progress, ValueRange values) {
    Visit visit = first.unpack(values);
    Values blocks = loadBlocks(b, visit), x;
    auto loadParts = [&](int64_t end) {
      for (int64_t part = x.size(); part < end; ++part)
        x.push_back(loadPart(b, slot, visit.column, part));
    };
    loadParts(rows() == 1 ? 1 : parts());
    Visit next = beginVisit(b, visit.rest, progress);
    loadParts(parts());
    multiplyColumn(b, x, blocks, visit.bits, progress);
    return next.pack();
  });
}

/// The first column of `rest`, and its blocks.
WarpStreamBuilder::Visit WarpStreamBuilder::beginVisit(ImplicitLocOpBuilder &b, Value rest, Progress &progress) {
  Visit visit;
  std::tie(visit.column, visit.bits, visit.rest) = firstColumn(b, rest);
  const Position first = progress.next;
  Column products = productsOf(b, visit.bits, first.place);
  awaitBlocks(b, visit.bits, products, progress);
  progress.next = positionOf(b, products.end(), first.chunk);
  Value last = add(b, products.end(), -1);
  for (auto [place, exists] : llvm::zip(products.places, products.exists)) {
    // Where a row has no block, the one before it may be in a slot that is copied again.
    Value own = rows() == 1 ? place : arith::SelectOp::create(b, exists, place, last).getResult();
    Position block = rows() == 1 ? first : positionOf(b, own, first.chunk);
    visit.chunks.push_back(block.chunk);
    visit.places.push_back(block.place);
  }
  return visit;
}

WarpStreamBuilder::Values WarpStreamBuilder::loadBlocks(ImplicitLocOpBuilder &b, const Visit &visit) {
  auto type = FragmentType::get(b.getContext(), shape.productRows, depth(), elementType());
  Values blocks;
  for (auto [chunk, place] : llvm::zip(visit.chunks, visit.places))
    blocks.push_back(LoadFragmentOp::create(b, type, viewOfBlock(b, place), chunk));
  return blocks;
}

/// Where a chunk begins: waits for its copies, and starts later ones.
void WarpStreamBuilder::awaitBlocks(ImplicitLocOpBuilder &b, Value bits, const Column &products, Progress &progress) {
  Value hasProducts = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bits, i32(b, 0));
  Value begins = arith::AndIOp::create(b, hasProducts, beginsChunk(b, products));
  progress.others = carryIf(b, begins, progress.others, [&] {
    AwaitCopiesOp::create(b, chunksAhead() - 1);
    BarrierOp::create(b, /*group=*/true);
    const NextCopy copy = NextCopy::unpack(progress.others);
    copyChunk(b, copy);
    return copyAfter(b, copy).pack();
  });
}

/// If the group has one row, it has a product in every column that it visits.
void WarpStreamBuilder::multiplyColumn(ImplicitLocOpBuilder &b, ValueRange x, ValueRange blocks, Value bits,
                                       Progress &progress) {
  Column products = productsOf(b, bits, i32(b, 0));
  for (auto [i, sum] : llvm::enumerate(progress.sums)) {
    Value exists = rows() == 1 ? Value() : products.exists[i / parts()];
    sum =
        ProductOp::create(b, sumType(), blocks[i / parts()], /*a_cursor=*/Value(), x[i % parts()],
                          /*b_cursor=*/Value(), sum, /*registers=*/Value(), exists, depth(), /*columns=*/IntegerAttr());
  }
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeWarpStreamBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule) {
  return std::make_unique<WarpStreamBuilder>(kernel, spmm, schedule);
}
