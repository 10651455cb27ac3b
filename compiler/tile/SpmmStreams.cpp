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

    Values pack() const { return {column, bits, rest}; }
    static Visit unpack(ValueRange values) {
      return {named(values[0], "column"), named(values[1], "bits"), named(values[2], "rest")};
    }
  };
  Visit beginVisit(ImplicitLocOpBuilder &b, Value rest, const Position &first);
  Values issueProducts(ImplicitLocOpBuilder &b, Value x, const Column &products, Value chunk, ValueRange sums);
  Value endTile(ImplicitLocOpBuilder &b, const Position &next);

  Type sumType() { return AccumulatorType::get(kernel.getContext(), columns(), shape.productRows); }
  /// The lines of a block change the order of its rows. Rows of the result may come in any order, but not those of K.
  bool hasLines() { return !matrix.getTransposed(); }
};

void StreamBuilder::buildBody(ImplicitLocOpBuilder &b) {
  makeRings(b, /*releasesOfBlocks=*/b.getI64IntegerAttr(1));
  int64_t registers = schedule.getProducerRegisters();
  makeRole(b, "consumer", RoleUnit::warpgroup, groups(), schedule.getConsumerRegisters(), [&] { buildConsumer(b); });
  makeColumnProducers(b, /*count=*/1);
  for (int64_t group = 0; group < groups(); ++group)
    makeRole(b, "w" + std::to_string(group), RoleUnit::thread, 1, registers, [&] { buildBlockProducer(b, group); });
}

/// Carries the cursor of the next chunk. The numbers of its blocks are loaded while those of the chunk before are
/// copied.
void StreamBuilder::buildBlockProducer(ImplicitLocOpBuilder &b, int64_t group) {
  Value self = i32(b, group);
  forEachTile(b, firstChunk(b, self), [&](const Tile &tile, ValueRange carried) {
    Range chunks = readRange(b, PlanSection::chunk_offsets, entryOf(b, tile.window, self));
    Values inits{carried[0]};
    llvm::append_range(inits, readBlocks(b, chunks.first));
    auto loop = scf::ForOp::create(b, chunks.first, chunks.end, i32(b, 1), inits);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value slot = named(loop.getRegionIterArg(0), "slot");
    Values next = readBlocks(b, add(b, loop.getInductionVar(), 1));
    copyChunk(b, slot, loop.getRegionIterArgs().drop_front());
    Values yielded{chunkBehind(b, slot)};
    llvm::append_range(yielded, next);
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
    copy.setLines(hasLines());
  }
}

void StreamBuilder::buildConsumer(ImplicitLocOpBuilder &b) {
  Value begin = CursorOp::create(b, columnRing);
  group = GroupOp::create(b);
  forEachTile(b, {begin, firstChunk(b, group)}, [&](const Tile &tile, ValueRange carried) {
    Value slot = carried[0];
    Progress progress = {{}, {i32(b, 0), named(carried[1], "chunk")}, {}};
    for (int64_t row = 0; row < rows(); ++row)
      progress.sums.push_back(ZeroOp::create(b, sumType()));
    progress = walkStages(b, tile, slot, progress);
    Value chunk = endTile(b, progress.next);
    Value firstRow = multiply(b, entryOf(b, tile.window, GroupOp::create(b)), rows());
    for (auto [row, sum] : llvm::enumerate(progress.sums))
      storeRow(b, add(b, firstRow, row), tile.column, sum, /*isSwapped=*/true, hasLines());
    return Values{slot, chunk};
  });
  DrainStoresOp::create(b);
}

/// The last chunk of a tile may have fewer products. The next tile begins with another chunk.
Value StreamBuilder::endTile(ImplicitLocOpBuilder &b, const Position &next) {
  Value isPartial = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, next.place, i32(b, 0));
  return carryIf(b, isPartial, next.chunk, [&] {
    ReleaseOp::create(b, blockRing, next.chunk);
    return Values{chunkBehind(b, next.chunk)};
  })[0];
}

StreamBuilder::Progress StreamBuilder::walkColumns(ImplicitLocOpBuilder &b, Value slot, Value word, Progress begin) {
  Values first = beginVisit(b, word, begin.next).pack();
  return whileVisits(b, begin, first, [&](Progress &progress, ValueRange values) {
    Visit visit = Visit::unpack(values);
    Column products = productsOf(b, visit.bits, progress.next.place);
    Value chunk = progress.next.chunk;
    Value x = loadColumn(b, slot, visit.column, /*first=*/0, columns());
    progress.sums = issueProducts(b, x, products, chunk, progress.sums);
    progress.next = positionOf(b, products.end(), chunk);
    Visit next = beginVisit(b, visit.rest, progress.next);
    for (Value &sum : progress.sums)
      sum = AwaitOp::create(b, sumType(), sum, /*outstanding=*/0);
    ReleaseOp::create(b, blockRing, chunk, isBehind(b, products.end()));
    return next.pack();
  });
}

/// The first column of `rest`, whose first product is at `first`. The group has waited for its chunk before, unless
/// the chunk begins there. Where there is no column, no chunk begins.
StreamBuilder::Visit StreamBuilder::beginVisit(ImplicitLocOpBuilder &b, Value rest, const Position &first) {
  auto [column, bits, others] = firstColumn(b, rest);
  Column products = productsOf(b, bits, first.place);
  Value hasProducts = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bits, i32(b, 0));
  carryIf(b, arith::AndIOp::create(b, hasProducts, beginsChunk(b, products)), {}, [&] {
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, first.place, i32(b, 0));
    Values behind = carryIf(b, arith::XOrIOp::create(b, isFirst, arith::ConstantIntOp::create(b, 1, 1)), first.chunk,
                            [&] { return Values{chunkBehind(b, first.chunk)}; });
    WaitOp::create(b, TypeRange(), blockRing, behind[0]);
    return Values();
  });
  return {column, bits, others};
}

/// Those of a column of X with the rows of the group that have one there.
StreamBuilder::Values StreamBuilder::issueProducts(ImplicitLocOpBuilder &b, Value x, const Column &products,
                                                   Value chunk, ValueRange sums) {
  Type pending = PendingType::get(b.getContext(), columns(), shape.productRows);
  Values issued;
  for (auto [sum, place, exists] : llvm::zip(sums, products.places, products.exists)) {
    Position block = issued.empty() ? Position{place, chunk} : positionOf(b, place, chunk);
    issued.push_back(ProductOp::create(b, pending, x, /*a_cursor=*/Value(), viewOfBlock(b, block.place), block.chunk,
                                       sum, /*registers=*/Value(), exists, depth(), /*columns=*/IntegerAttr()));
  }
  return issued;
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeStreamBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule) {
  if (schedule.getInstruction() == Instruction::mma_sync)
    return makeWarpStreamBuilder(kernel, spmm, schedule);
  return std::make_unique<StreamBuilder>(kernel, spmm, schedule);
}
