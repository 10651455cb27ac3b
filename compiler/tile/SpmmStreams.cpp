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
// A stage has few columns. The group tests each of them, one after the other, so that what depends on the number of a
// column or of a row is known when the kernel is compiled: three groups fill the uniform datapath otherwise
// (bench/notes/streams.md).
//
// Both operands of fp8 are K-major: X, which is N x K, stays in shared memory, and the group has nothing to wait for at
// the end of a column. It takes a stage row by row. With sums of two levels a stage has 128 of K: the products of a row
// in it, which the instructions add up, are then added to the row's sum.

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
  Progress visitColumn(ImplicitLocOpBuilder &b, Value slot, int64_t column, Value word, Progress progress);
  Position takeBlock(ImplicitLocOpBuilder &b, const Position &next);
  void endChunk(ImplicitLocOpBuilder &b, const Position &last);

  Progress walkRows(ImplicitLocOpBuilder &b, Value slot, Value word, Progress progress);
  Progress walkRow(ImplicitLocOpBuilder &b, Value slot, Value word, int64_t row, Progress progress);
  Value viewOfColumn(ImplicitLocOpBuilder &b, int64_t column);
  Position takeBlockInFlight(ImplicitLocOpBuilder &b, const Position &next, Value &sum);

  /// The numbers of the blocks of a chunk.
  Values readBlocks(ImplicitLocOpBuilder &b, Value chunk) {
    return readEntries(b, PlanSection::chunk_blocks, chunk, shape.chunkProducts);
  }
  /// The cursors of a group's first chunk, and of the chunk behind another one. Slot s belongs to group s mod groups.
  Value firstChunk(ImplicitLocOpBuilder &b, Value group) { return CursorOp::create(b, blockRing, group); }
  Value chunkBehind(ImplicitLocOpBuilder &b, Value chunk) {
    return NextOp::create(b, blockRing, chunk, /*step=*/groups());
  }
  /// Whether a place is behind those of a chunk.
  Value isBehind(ImplicitLocOpBuilder &b, Value place) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::uge, place, i32(b, shape.chunkProducts));
  }
  /// The place of a group between tiles: it has no chunk. As an unsigned number, it is behind all places of a chunk.
  static constexpr int64_t noPlace = -1;
  /// The cursor of the slot that a chunk before the group's first one would have.
  Value chunkBeforeFirst(ImplicitLocOpBuilder &b) {
    return CursorOp::create(b, blockRing, add(b, group, groups() * (2 * int64_t(schedule.getBlockStages()) - 1)));
  }
  Type pendingType() { return PendingType::get(kernel.getContext(), columns(), shape.productRows); }
  bool hasTwoLevels() { return spmm.hasTwoLevels(); }
  Type sumType() { return AccumulatorType::get(kernel.getContext(), columns(), shape.productRows); }
  /// The lines of a block change the order of its rows. Rows of the result may come in any order, but not those of K.
  /// A copy leaves the rows of longer blocks as they are.
  bool hasLines() { return !matrix.getTransposed() && depth() == shape.productRows; }
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

/// Between tiles no chunk is the group's: the place is `noPlace`.
void StreamBuilder::buildConsumer(ImplicitLocOpBuilder &b) {
  Value begin = CursorOp::create(b, columnRing);
  group = GroupOp::create(b);
  forEachTile(b, {begin, chunkBeforeFirst(b)}, [&](const Tile &tile, ValueRange carried) {
    Value slot = carried[0];
    Progress progress = {{}, {i32(b, noPlace), named(carried[1], "chunk")}, {}};
    for (int64_t row = 0; row < rows(); ++row)
      progress.sums.push_back(ZeroOp::create(b, hasTwoLevels() ? sumType() : pendingType()));
    if (hasTwoLevels())
      progress.others.push_back(ZeroOp::create(b, pendingType()));
    progress = walkStages(b, tile, slot, progress);
    if (!hasTwoLevels())
      for (Value &sum : progress.sums)
        sum = AwaitOp::create(b, sumType(), sum, /*outstanding=*/0);
    endChunk(b, progress.next);
    Value firstRow = multiply(b, entryOf(b, tile.window, GroupOp::create(b)), rows());
    for (auto [row, sum] : llvm::enumerate(progress.sums))
      storeRow(b, add(b, firstRow, row), tile.column, sum, /*isSwapped=*/true, hasLines());
    return Values{slot, progress.next.chunk};
  });
  DrainStoresOp::create(b);
}

/// Releases the chunk that the group has, if it has one. The last chunk of a tile may have fewer products. The next
/// tile begins with another chunk.
void StreamBuilder::endChunk(ImplicitLocOpBuilder &b, const Position &last) {
  Value hasChunk = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, last.place, i32(b, noPlace));
  ReleaseOp::create(b, blockRing, last.chunk, hasChunk);
}

/// Whether a word has one of these bits.
Value hasBits(ImplicitLocOpBuilder &b, Value word, int64_t bits) {
  Value those = arith::AndIOp::create(b, word, i32(b, bits));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, those, i32(b, 0));
}

StreamBuilder::Progress StreamBuilder::walkColumns(ImplicitLocOpBuilder &b, Value slot, Value word, Progress progress) {
  awaitColumns(b, slot);
  if (isF8())
    return walkRows(b, slot, word, progress);
  const int64_t bitsOfColumn = (int64_t(1) << rows()) - 1;
  for (int64_t column = 0; column < shape.stageColumns; ++column) {
    Value hasProducts = hasBits(b, word, bitsOfColumn << (column * rows()));
    Values values =
        carryIf(b, hasProducts, progress.pack(), [&] { return visitColumn(b, slot, column, word, progress).pack(); });
    progress = progress.unpack(values);
  }
  return progress;
}

/// A column has at most as many products as a chunk. So at most one chunk is complete with them: the one that the group
/// had before, if the place is not behind that of before.
StreamBuilder::Progress StreamBuilder::visitColumn(ImplicitLocOpBuilder &b, Value slot, int64_t column, Value word,
                                                   Progress progress) {
  Value x = loadColumn(b, slot, i32(b, column), /*first=*/0, columns());
  const Position before = progress.next;
  for (auto [row, sum] : llvm::enumerate(progress.sums)) {
    Value exists = hasBits(b, word, int64_t(1) << (column * rows() + int64_t(row)));
    Values values = carryIf(b, exists, {sum, progress.next.place, progress.next.chunk}, [&] {
      const Position block = takeBlock(b, progress.next);
      Value product = ProductOp::create(b, pendingType(), x, /*a_cursor=*/Value(), viewOfBlock(b, block.place),
                                        block.chunk, sum, depth());
      return Values{product, add(b, block.place, 1), block.chunk};
    });
    sum = values[0];
    progress.next = {named(values[1], "place"), named(values[2], "chunk")};
  }
  // This waits for the products of all rows.
  progress.sums.back() = AwaitOp::create(b, pendingType(), progress.sums.back(), /*outstanding=*/0);
  Value isComplete = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, progress.next.place, before.place);
  ReleaseOp::create(b, blockRing, before.chunk, isComplete);
  return progress;
}

/// Behind the places of a chunk, the next product is in the next chunk, for which the group waits.
StreamBuilder::Position StreamBuilder::takeBlock(ImplicitLocOpBuilder &b, const Position &next) {
  Values values = carryIf(b, isBehind(b, next.place), {next.place, next.chunk}, [&] {
    Value chunk = chunkBehind(b, next.chunk);
    WaitOp::create(b, TypeRange(), blockRing, chunk);
    return Values{i32(b, 0), chunk};
  });
  return {values[0], values[1]};
}

/// A stage of adjacent columns: those of a row are neighbours in the word, and so are its blocks in the stream.
StreamBuilder::Progress StreamBuilder::walkRows(ImplicitLocOpBuilder &b, Value slot, Value word, Progress progress) {
  const int64_t bitsOfRow = (int64_t(1) << shape.stageColumns) - 1;
  for (int64_t row = 0; row < rows(); ++row) {
    Value hasProducts = hasBits(b, word, bitsOfRow << (row * shape.stageColumns));
    Values values =
        carryIf(b, hasProducts, progress.pack(), [&] { return walkRow(b, slot, word, row, progress).pack(); });
    progress = progress.unpack(values);
  }
  if (!hasTwoLevels()) // this waits for the products of all rows
    progress.sums.back() = AwaitOp::create(b, pendingType(), progress.sums.back(), /*outstanding=*/0);
  return progress;
}

StreamBuilder::Progress StreamBuilder::walkRow(ImplicitLocOpBuilder &b, Value slot, Value word, int64_t row,
                                               Progress progress) {
  Value &sum = hasTwoLevels() ? progress.others[0] : progress.sums[row];
  const int64_t firstBit = row * shape.stageColumns;
  for (int64_t column = 0; column < shape.stageColumns; ++column) {
    Value exists = hasBits(b, word, int64_t(1) << (firstBit + column));
    Values values = carryIf(b, exists, {sum, progress.next.place, progress.next.chunk}, [&] {
      Value before = sum;
      const Position block = takeBlockInFlight(b, progress.next, before);
      auto multiply = [&](Value accumulator, Value registers) -> Value {
        return ProductOp::create(b, pendingType(), viewOfColumn(b, column), slot, viewOfBlock(b, block.place),
                                 block.chunk, accumulator, registers, depth(), /*columns=*/IntegerAttr(),
                                 /*ones=*/IntegerAttr());
      };
      // With two levels the first product of a row in a stage begins a sum.
      Value product = before;
      if (!hasTwoLevels())
        product = multiply(before, Value());
      else if (column == 0)
        product = multiply(Value(), before);
      else
        product = choose(
            b, pendingType(), hasBits(b, word, ((int64_t(1) << column) - 1) << firstBit),
            [&] { return multiply(before, Value()); }, [&] { return multiply(Value(), before); });
      return Values{product, add(b, block.place, 1), block.chunk};
    });
    sum = values[0];
    progress.next = {named(values[1], "place"), named(values[2], "chunk")};
  }
  if (hasTwoLevels()) {
    // The next row of a stage begins its sum in these registers. PTX does not allow a read of registers to which a
    // product in flight adds, so the loop carries them from behind the wait.
    sum = AwaitOp::create(b, pendingType(), sum, /*outstanding=*/0);
    Value complete = AwaitOp::create(b, sumType(), sum, /*outstanding=*/0);
    progress.sums[row] =
        PromoteOp::create(b, complete, progress.sums[row], /*scale=*/Value(), /*rows=*/Value(), /*column=*/0);
  }
  return progress;
}

/// A column of X in its slot.
Value StreamBuilder::viewOfColumn(ImplicitLocOpBuilder &b, int64_t column) {
  auto type = ViewType::get(b.getContext(), columns(), depth(), elementOfX(), Major::k);
  return named(ViewOp::create(b, type, columnRing, /*row=*/Value(), i32(b, column * depth()), /*index=*/0), "x");
}

/// As takeBlock(), while products are in flight. They read blocks of the chunk before, so the group completes them
/// before it releases that chunk.
StreamBuilder::Position StreamBuilder::takeBlockInFlight(ImplicitLocOpBuilder &b, const Position &next, Value &sum) {
  Values values = carryIf(b, isBehind(b, next.place), {sum, next.place, next.chunk}, [&] {
    Value complete = AwaitOp::create(b, pendingType(), sum, /*outstanding=*/0);
    endChunk(b, next);
    Value chunk = chunkBehind(b, next.chunk);
    WaitOp::create(b, TypeRange(), blockRing, chunk);
    return Values{complete, i32(b, 0), chunk};
  });
  sum = values[0];
  return {values[1], values[2]};
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeStreamBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule) {
  if (schedule.getInstruction() == Instruction::mma_sync)
    return makeWarpStreamBuilder(kernel, spmm, schedule);
  return std::make_unique<StreamBuilder>(kernel, spmm, schedule);
}
