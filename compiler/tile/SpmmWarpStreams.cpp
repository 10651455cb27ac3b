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
  Values readBlocksOf(ImplicitLocOpBuilder &b, Value chunk);
  void copyChunk(ImplicitLocOpBuilder &b, Value chunk, ValueRange blocks);

  Progress walkColumns(ImplicitLocOpBuilder &b, Value slot, Value word, Progress progress) override;
  /// A column whose blocks are in shared memory.
  struct Visit {
    Value column, bits;  // no bits: there is no column left
    Value rest;          // the bits of the columns behind it
    Values slots, lines; // of each row's block: its cursor and its first row there; where it has none, the last one's

    Values pack() const;
    Visit unpack(ValueRange values) const;
  };
  Visit beginVisit(ImplicitLocOpBuilder &b, Value rest, Progress &progress);
  void awaitBlocks(ImplicitLocOpBuilder &b, Value end, Progress &progress);
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
    Value firstRow = multiply(b, add(b, multiply(b, tile.window, groups()), GroupOp::create(b)), rows());
    for (auto [i, sum] : llvm::enumerate(progress.sums))
      storeRow(b, add(b, firstRow, i / parts()), add(b, tile.column, i % parts() * columnsOfPart), sum,
               /*isSwapped=*/false, /*inLines=*/false);
    return Values{slot};
  });
  DrainStoresOp::create(b);
}

/// Carries the chunks that have come so far, and the numbers of the blocks of the chunk that is copied next.
WarpStreamBuilder::Progress WarpStreamBuilder::beginTile(ImplicitLocOpBuilder &b, const Tile &tile) {
  chunks = readRange(b, PlanSection::chunk_offsets, add(b, multiply(b, tile.window, groups()), group));
  SmallVector<Values> blocks;
  for (int64_t chunk = 0; chunk <= chunksAhead(); ++chunk)
    blocks.push_back(readBlocksOf(b, i32(b, chunk)));
  BarrierOp::create(b, /*group=*/true); // all threads are done with the slots of the tile before
  for (int64_t chunk = 0; chunk < chunksAhead(); ++chunk)
    copyChunk(b, i32(b, chunk), blocks[chunk]);
  Progress progress = {{}, i32(b, 0), {i32(b, 0)}};
  llvm::append_range(progress.others, blocks.back());
  for (int64_t sum = 0; sum < rows() * parts(); ++sum)
    progress.sums.push_back(ZeroOp::create(b, sumType()));
  return progress;
}

/// Those of a chunk of the tile, or where there is none those behind its last one.
WarpStreamBuilder::Values WarpStreamBuilder::readBlocksOf(ImplicitLocOpBuilder &b, Value chunk) {
  return readBlocks(b, arith::MinSIOp::create(b, add(b, chunks.first, chunk), chunks.end));
}

/// Behind the last products of a chunk there is no block: any other one takes its place.
void WarpStreamBuilder::copyChunk(ImplicitLocOpBuilder &b, Value chunk, ValueRange blocks) {
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, add(b, chunks.first, chunk), chunks.end);
  auto copies = CopyGroupOp::create(b, exists);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&copies.getBody());
  Value slot = chunkSlot(b, group, chunk), zero = i32(b, 0);
  for (auto [i, block] : llvm::enumerate(blocks)) {
    Value stored = arith::MaxSIOp::create(b, named(block, "block"), zero);
    auto copy = CopyOp::create(b, operand(spmm.getMatrix()), ValueRange{stored, zero, zero}, blockRing, slot,
                               /*index=*/0);
    copy.setRows(ArrayRef<int64_t>{int64_t(i) * rowsOfBlock(), rowsOfBlock()});
  }
}

WarpStreamBuilder::Values WarpStreamBuilder::Visit::pack() const {
  Values all{column, bits, rest};
  llvm::append_range(all, slots);
  llvm::append_range(all, lines);
  return all;
}

WarpStreamBuilder::Visit WarpStreamBuilder::Visit::unpack(ValueRange values) const {
  return {named(values[0], "column"), named(values[1], "bits"), named(values[2], "rest"),
          Values(values.slice(3, slots.size())), Values(values.drop_front(3 + slots.size()))};
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
  Column products = productsOf(b, visit.bits, progress.product);
  awaitBlocks(b, products.places.back(), progress);
  progress.product = products.places.back();
  Value last = add(b, products.places.back(), -1);
  for (auto [behind, exists] : llvm::zip(ValueRange(products.places).drop_front(), products.exists)) {
    // Where a row has no block, the one before it may be in a slot that is copied again.
    Value place = rows() == 1 ? last : arith::SelectOp::create(b, exists, add(b, behind, -1), last).getResult();
    visit.slots.push_back(chunkSlot(b, group, chunkOf(b, place)));
    visit.lines.push_back(lineOfBlock(b, place));
  }
  return visit;
}

WarpStreamBuilder::Values WarpStreamBuilder::loadBlocks(ImplicitLocOpBuilder &b, const Visit &visit) {
  auto type = FragmentType::get(b.getContext(), shape.productRows, depth(), elementType());
  Values blocks;
  for (auto [slot, line] : llvm::zip(visit.slots, visit.lines))
    blocks.push_back(LoadFragmentOp::create(b, type, viewOfBlock(b, line), slot));
  return blocks;
}

/// Waits for the blocks of the products up to `end`. A column has at most as many products as a chunk, so that at most
/// one chunk begins there.
void WarpStreamBuilder::awaitBlocks(ImplicitLocOpBuilder &b, Value end, Progress &progress) {
  Value come = named(progress.others.front(), "come");
  Value begins = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, end, multiply(b, come, shape.chunkProducts));
  progress.others = carryIf(b, begins, progress.others, [&] {
    AwaitCopiesOp::create(b, chunksAhead() - 1);
    BarrierOp::create(b, /*group=*/true);
    Value chunk = add(b, come, chunksAhead());
    copyChunk(b, chunk, ValueRange(progress.others).drop_front());
    Values next{add(b, come, 1)};
    llvm::append_range(next, readBlocksOf(b, add(b, chunk, 1)));
    return next;
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
