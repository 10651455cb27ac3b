// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a spmm with small blocks by streams, with wgmma: StreamProgram.h describes the parts that it shares.
// A producer "w" for each group copies the blocks of the group's products.
//
// wgmma has 64 rows or more. A small block therefore is the operand with the columns, and a product is that of a part
// of X^T and the transpose of the block: no row of the instruction is wasted.
//
// A group visits all stages of X and all chunks of its own blocks in their order. The producers do not wait for one
// another, so no group can hold what another one needs.
//
// The loop over columns is rotated: while the products of a column are computed, the group finds the next one and waits
// for its blocks. It loads it later: ptxas serialises products while others' registers are loaded (C7513).

#include "StreamProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

Value isMultiple(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, remainder(b, x, y), i32(b, 0));
}

class StreamBuilder : public StreamProgram {
public:
  StreamBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule) : StreamProgram(kernel, spmm, schedule) {}

private:
  void buildBody(ImplicitLocOpBuilder &b) override;
  void buildBlockProducer(ImplicitLocOpBuilder &b, int64_t group);
  void copyChunk(ImplicitLocOpBuilder &b, Value slot, ValueRange blocks);
  void buildConsumer(ImplicitLocOpBuilder &b);

  Progress walkColumns(ImplicitLocOpBuilder &b, Value slot, Value word, Progress progress) override;
  /// A column whose blocks are in shared memory.
  struct Visit {
    Value column, bits, rest; // no bits: there is no column left. The rest are those of the columns behind it
    Value first;              // the number of the first product

    Values pack() const { return {column, bits, rest, first}; }
    static Visit unpack(ValueRange values) {
      return {named(values[0], "column"), named(values[1], "bits"), named(values[2], "rest"),
              named(values[3], "first")};
    }
  };
  Visit beginVisit(ImplicitLocOpBuilder &b, Value rest, Value product);
  Values issueProducts(ImplicitLocOpBuilder &b, Value x, const Column &products, ValueRange sums);
  /// The slots of the chunks in which the products of a column are: at most two, because a column has at most one
  /// product more than a chunk.
  struct ColumnChunks {
    Value first, last, areTwo;
  };
  ColumnChunks chunksOf(ImplicitLocOpBuilder &b, Value first, Value end);
  void waitForChunks(ImplicitLocOpBuilder &b, Value first, const ColumnChunks &chunks);
  void waitIf(ImplicitLocOpBuilder &b, Value condition, Value chunk);
  Value endTile(ImplicitLocOpBuilder &b, Value product);

  Type sumType() { return AccumulatorType::get(kernel.getContext(), columns(), shape.productRows); }
  /// The lines of a block change the order of its rows. Rows of the result may come in any order, but not those of K.
  bool hasLines() { return !matrix.getTransposed(); }
  /// The slot of the chunk in which a product of this group is. Products are counted from the first tile on.
  Value chunkSlotOf(ImplicitLocOpBuilder &b, Value product) { return chunkSlot(b, group, chunkOf(b, product)); }
};

void StreamBuilder::buildBody(ImplicitLocOpBuilder &b) {
  makeRings(b, /*releasesOfBlocks=*/b.getI64IntegerAttr(1));
  int64_t registers = schedule.getProducerRegisters();
  makeRole(b, "consumer", RoleUnit::warpgroup, groups(), schedule.getConsumerRegisters(), [&] { buildConsumer(b); });
  makeColumnProducers(b, /*count=*/1);
  for (int64_t group = 0; group < groups(); ++group)
    makeRole(b, "w" + std::to_string(group), RoleUnit::thread, 1, registers, [&] { buildBlockProducer(b, group); });
}

/// Carries the number of chunks so far. The numbers of the blocks of the next chunk are loaded while those of this one
/// are copied. The CTAs of a cluster work on one window, so that they share its blocks.
void StreamBuilder::buildBlockProducer(ImplicitLocOpBuilder &b, int64_t group) {
  Value self = i32(b, group);
  forEachTile(b, i32(b, 0), [&](const Tile &tile, ValueRange carried) {
    Range chunks = readRange(b, PlanSection::chunk_offsets, add(b, multiply(b, tile.window, groups()), self));
    Values inits{carried[0]};
    llvm::append_range(inits, readBlocks(b, chunks.first));
    auto loop = scf::ForOp::create(b, chunks.first, chunks.end, i32(b, 1), inits);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value chunk = named(loop.getRegionIterArg(0), "chunk");
    Values yielded = readBlocks(b, add(b, loop.getInductionVar(), 1));
    copyChunk(b, chunkSlot(b, self, chunk), loop.getRegionIterArgs().drop_front());
    yielded.insert(yielded.begin(), add(b, chunk, 1));
    scf::YieldOp::create(b, yielded);
    return Values{loop.getResult(0)};
  });
}

void StreamBuilder::copyChunk(ImplicitLocOpBuilder &b, Value slot, ValueRange blocks) {
  AcquireOp::create(b, blockRing, slot);
  PostOp::create(b, blockRing, slot, /*messages=*/ValueRange(), /*empty=*/false);
  Value zero = i32(b, 0);
  for (auto [i, block] : llvm::enumerate(blocks)) {
    auto copy = CopyOp::create(b, operand(spmm.getMatrix()), ValueRange{named(block, "block"), zero, zero}, blockRing,
                               slot, /*index=*/0);
    copy.setRows(ArrayRef<int64_t>{int64_t(i) * rowsOfBlock(), rowsOfBlock()});
    copy.setMulticast(int64_t(schedule.getCluster()) > 1);
    copy.setLines(hasLines());
  }
}

void StreamBuilder::buildConsumer(ImplicitLocOpBuilder &b) {
  Value begin = CursorOp::create(b, columnRing);
  group = GroupOp::create(b);
  forEachTile(b, {begin, i32(b, 0)}, [&](const Tile &tile, ValueRange carried) {
    Value slot = carried[0];
    Progress progress = {{}, named(carried[1], "product"), {}};
    for (int64_t row = 0; row < rows(); ++row)
      progress.sums.push_back(ZeroOp::create(b, sumType()));
    progress = walkStages(b, tile, slot, progress);
    Value next = endTile(b, progress.product);
    Value firstRow = multiply(b, add(b, multiply(b, tile.window, groups()), GroupOp::create(b)), rows());
    for (auto [row, sum] : llvm::enumerate(progress.sums))
      storeRow(b, add(b, firstRow, row), tile.column, sum, /*isSwapped=*/true, hasLines());
    return Values{slot, next};
  });
  DrainStoresOp::create(b);
}

/// The last chunk of a tile may have fewer products. The next tile begins with another chunk.
Value StreamBuilder::endTile(ImplicitLocOpBuilder &b, Value product) {
  Value inChunk = remainder(b, product, shape.chunkProducts);
  Value isPartial = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, inChunk, i32(b, 0));
  ReleaseOp::create(b, blockRing, chunkSlotOf(b, product), isPartial);
  Value chunks = divide(b, add(b, product, shape.chunkProducts - 1), shape.chunkProducts);
  return multiply(b, chunks, shape.chunkProducts);
}

StreamBuilder::Progress StreamBuilder::walkColumns(ImplicitLocOpBuilder &b, Value slot, Value word, Progress begin) {
  Values first = beginVisit(b, word, begin.product).pack();
  return whileVisits(b, begin, first, [&](Progress &progress, ValueRange values) {
    Visit visit = Visit::unpack(values);
    Column products = productsOf(b, visit.bits, visit.first);
    progress.product = products.places.back();
    Value x = loadColumn(b, slot, visit.column, /*first=*/0, columns());
    progress.sums = issueProducts(b, x, products, progress.sums);
    Visit next = beginVisit(b, visit.rest, progress.product);
    for (Value &sum : progress.sums)
      sum = AwaitOp::create(b, sumType(), sum, /*outstanding=*/0);
    ColumnChunks chunks = chunksOf(b, visit.first, progress.product);
    ReleaseOp::create(b, blockRing, chunks.first, chunks.areTwo);
    ReleaseOp::create(b, blockRing, chunks.last, isMultiple(b, progress.product, shape.chunkProducts));
    return next.pack();
  });
}

/// The first column of `rest`. Where there is none, no product is waited for.
StreamBuilder::Visit StreamBuilder::beginVisit(ImplicitLocOpBuilder &b, Value rest, Value product) {
  auto [column, bits, others] = firstColumn(b, rest);
  Value hasProducts = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bits, i32(b, 0));
  auto branch = scf::IfOp::create(b, hasProducts, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    waitForChunks(b, product, chunksOf(b, product, productsOf(b, bits, product).places.back()));
  }
  return {column, bits, others, product};
}

/// Those of a column of X with the rows of the group that have one there.
StreamBuilder::Values StreamBuilder::issueProducts(ImplicitLocOpBuilder &b, Value x, const Column &products,
                                                   ValueRange sums) {
  Type pending = PendingType::get(b.getContext(), columns(), shape.productRows);
  Values issued;
  for (auto [sum, place, exists] : llvm::zip(sums, products.places, products.exists))
    issued.push_back(ProductOp::create(b, pending, x, /*a_cursor=*/Value(), viewOfBlock(b, lineOfBlock(b, place)),
                                       chunkSlotOf(b, place), sum, /*registers=*/Value(), exists, depth(),
                                       /*columns=*/IntegerAttr()));
  return issued;
}

/// Those of the products from place `first` up to `end`.
StreamBuilder::ColumnChunks StreamBuilder::chunksOf(ImplicitLocOpBuilder &b, Value first, Value end) {
  Value last = add(b, end, -1);
  Value areTwo = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, chunkOf(b, first), chunkOf(b, last));
  return {chunkSlotOf(b, first), chunkSlotOf(b, last), areTwo};
}

/// The group has waited for the chunk of the first product before, unless the chunk begins there.
void StreamBuilder::waitForChunks(ImplicitLocOpBuilder &b, Value first, const ColumnChunks &chunks) {
  waitIf(b, isMultiple(b, first, shape.chunkProducts), chunks.first);
  waitIf(b, chunks.areTwo, chunks.last);
}

void StreamBuilder::waitIf(ImplicitLocOpBuilder &b, Value condition, Value chunk) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  WaitOp::create(b, TypeRange(), blockRing, chunk);
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeStreamBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule) {
  if (schedule.getInstruction() == Instruction::mma_sync)
    return makeWarpStreamBuilder(kernel, spmm, schedule);
  return std::make_unique<StreamBuilder>(kernel, spmm, schedule);
}
