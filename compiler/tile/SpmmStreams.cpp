// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a spmm with small blocks, by the streams of a plan. A tile is a window of block rows, of which every
// group of consumers has an equal share. The columns of X that any of the window's rows needs are loaded once:
//
//   producer "x" copies the columns of the window, several to a stage;
//   a producer "w" for each group copies the blocks of the group's products, in the order of its products;
//   a group takes every stage. It loads a column of X into registers and multiplies it by the blocks that its rows have
//   there.
//
// wgmma has 64 rows or more. A small block therefore is the operand with the columns, and a product is that of a part
// of X^T and the transpose of the block: no row of the instruction is wasted.
//
// A group visits all stages of X and all chunks of its own blocks in their order. The producers do not wait for one
// another, so no group can hold what another one needs.

#include "WindowProgram.h"

#include "ScheduleAttribute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

Value isMultiple(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, remainder(b, x, y), i32(b, 0));
}

class StreamBuilder : public WindowProgram {
public:
  StreamBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule)
      : WindowProgram(kernel, spmm, schedule), shape(streamShape(toSchedule(schedule), matrix.getBlockColumns())) {}

private:
  void buildBody(ImplicitLocOpBuilder &b) override;
  void makeRings(ImplicitLocOpBuilder &b);
  Values readEntries(ImplicitLocOpBuilder &b, PlanSection section, Value number, int64_t count);
  void buildColumnProducer(ImplicitLocOpBuilder &b);
  void buildBlockProducer(ImplicitLocOpBuilder &b, int64_t group);
  void copyChunk(ImplicitLocOpBuilder &b, Value slot, ValueRange blocks);
  void buildConsumer(ImplicitLocOpBuilder &b);

  /// The sums of a group's rows, and the place of its next product in its stream, counted from the first tile on: what
  /// its loops carry.
  struct Progress {
    Values sums;
    Value product;

    Values pack(ValueRange others = {}) const;
    static Progress unpack(ValueRange values, int64_t rows);
  };
  Progress walkStages(ImplicitLocOpBuilder &b, const Tile &tile, Value &slot, Value firstProduct);
  Progress walkColumns(ImplicitLocOpBuilder &b, Value slot, Value word, Progress progress);
  Progress multiplyColumn(ImplicitLocOpBuilder &b, Value slot, Value column, Value bits, Progress progress);
  /// The slots of the chunks in which the products of a column are: at most two, because a column has at most one
  /// product more than a chunk.
  struct ColumnChunks {
    Value first, last, areTwo;
  };
  ColumnChunks waitForChunks(ImplicitLocOpBuilder &b, Value first, Value end);
  void waitIf(ImplicitLocOpBuilder &b, Value condition, Value chunk);
  Value issueProduct(ImplicitLocOpBuilder &b, Value fragment, Value place, Value sum, Value condition);
  Value endTile(ImplicitLocOpBuilder &b, Value product);

  int64_t groups() { return schedule.getConsumersM(); }
  int64_t columns() { return schedule.getTileN(); }
  int64_t rows() { return shape.productsOfColumn(); }
  int64_t depth() { return matrix.getBlockColumns(); }
  Type sumType() { return AccumulatorType::get(kernel.getContext(), columns(), shape.productRows); }
  /// Rows of the buffer that a column of X fills.
  int64_t rowsOfColumn() { return isTransposed() ? columns() : depth(); }
  /// The same for the blocks of a product.
  int64_t rowsOfBlock() { return matrix.getTransposed() ? depth() : shape.productRows; }
  /// The lines of a block change the order of its rows. Rows of the result may come in any order, but not those of K.
  bool hasLines() { return !matrix.getTransposed(); }
  /// The place in the ring of blocks of a chunk of a group.
  Value chunkSlot(ImplicitLocOpBuilder &b, Value group, Value chunk) {
    return CursorOp::create(b, blockRing, add(b, multiply(b, chunk, groups()), group));
  }
  /// That of the chunk in which a product of this group is.
  Value chunkSlotOf(ImplicitLocOpBuilder &b, Value product) {
    return chunkSlot(b, group, divide(b, product, shape.chunkProducts));
  }

  StreamShape shape;
  Value columnRing, blockRing;
  Value group; // of the consumer role
};

/// The groups share out the slots of the ring of blocks: slot s belongs to group s mod groups.
void StreamBuilder::makeRings(ImplicitLocOpBuilder &b) {
  MLIRContext *context = b.getContext();
  auto makeRing = [&](StringRef name, int64_t stages, Type buffer, IntegerAttr releases) -> Value {
    return RingOp::create(b, RingType::get(context, stages, {buffer}), b.getStringAttr(name), /*messages=*/false,
                          /*skips=*/false, releases, DenseI64ArrayAttr(), IntegerAttr());
  };
  int64_t rowsOfStage = shape.stageColumns * rowsOfColumn();
  Type x = BufferType::get(context, rowsOfStage, isTransposed() ? depth() : columns(), elementType());
  Type chunk = matrix.getTransposed()
                   ? BufferType::get(context, shape.chunkProducts * depth(), shape.productRows, elementType())
                   : BufferType::get(context, shape.chunkProducts * shape.productRows, depth(), elementType());
  blockRing = makeRing("block_ring", groups() * schedule.getBlockStages(), chunk, b.getI64IntegerAttr(1));
  columnRing = makeRing("column_ring", schedule.getStages(), x, IntegerAttr());
}

void StreamBuilder::buildBody(ImplicitLocOpBuilder &b) {
  makeRings(b);
  int64_t registers = schedule.getProducerRegisters();
  makeRole(b, "consumer", RoleUnit::warpgroup, groups(), schedule.getConsumerRegisters(), [&] { buildConsumer(b); });
  makeRole(b, "x", RoleUnit::thread, 1, registers, [&] { buildColumnProducer(b); });
  for (int64_t group = 0; group < groups(); ++group)
    makeRole(b, "w" + std::to_string(group), RoleUnit::thread, 1, registers, [&] { buildBlockProducer(b, group); });
}

//===----------------------------------------------------------------------===//
// Producers
//===----------------------------------------------------------------------===//

/// Part `number` of a section whose parts have `count` entries each.
StreamBuilder::Values StreamBuilder::readEntries(ImplicitLocOpBuilder &b, PlanSection section, Value number,
                                                 int64_t count) {
  Values entries;
  Value first = multiply(b, number, count);
  for (int64_t i = 0; i < count; ++i)
    entries.push_back(ReadPlanOp::create(b, section, add(b, first, i)));
  return entries;
}

/// The numbers of the columns of the next stage are loaded while those of this one are copied.
void StreamBuilder::buildColumnProducer(ImplicitLocOpBuilder &b) {
  Value begin = CursorOp::create(b, columnRing);
  forEachTile(b, begin, [&](const Tile &tile, ValueRange carried) {
    Range stages = readRange(b, PlanSection::stage_offsets, tile.window);
    auto readColumns = [&](Value stage) {
      return readEntries(b, PlanSection::stage_columns, stage, shape.stageColumns);
    };
    Values inits{carried[0]};
    llvm::append_range(inits, readColumns(stages.first));
    auto loop = scf::ForOp::create(b, stages.first, stages.end, i32(b, 1), inits);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value slot = named(loop.getRegionIterArg(0), "slot");
    Values yielded = readColumns(add(b, loop.getInductionVar(), 1));
    AcquireOp::create(b, columnRing, slot);
    PostOp::create(b, columnRing, slot, /*messages=*/ValueRange(), /*empty=*/false);
    for (int64_t i = 0; i < shape.stageColumns; ++i) {
      Value k = multiply(b, named(loop.getRegionIterArg(1 + i), "column"), depth());
      auto copy = CopyOp::create(b, operand(spmm.getDense()), coordinatesOfX(k, tile.column), columnRing, slot,
                                 /*index=*/0);
      copy.setRows(ArrayRef<int64_t>{i * rowsOfColumn(), rowsOfColumn()});
    }
    yielded.insert(yielded.begin(), NextOp::create(b, columnRing, slot));
    scf::YieldOp::create(b, yielded);
    return Values{loop.getResult(0)};
  });
}

/// Carries the number of chunks so far. The numbers of the blocks of the next chunk are loaded while those of this one
/// are copied. The CTAs of a cluster work on one window, so that they share its blocks.
void StreamBuilder::buildBlockProducer(ImplicitLocOpBuilder &b, int64_t group) {
  Value self = i32(b, group);
  forEachTile(b, i32(b, 0), [&](const Tile &tile, ValueRange carried) {
    Range chunks = readRange(b, PlanSection::chunk_offsets, add(b, multiply(b, tile.window, groups()), self));
    auto readBlocks = [&](Value chunk) {
      return readEntries(b, PlanSection::chunk_blocks, chunk, shape.chunkProducts);
    };
    Values inits{carried[0]};
    llvm::append_range(inits, readBlocks(chunks.first));
    auto loop = scf::ForOp::create(b, chunks.first, chunks.end, i32(b, 1), inits);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value chunk = named(loop.getRegionIterArg(0), "chunk");
    Values yielded = readBlocks(add(b, loop.getInductionVar(), 1));
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

//===----------------------------------------------------------------------===//
// Consumer
//===----------------------------------------------------------------------===//

StreamBuilder::Values StreamBuilder::Progress::pack(ValueRange others) const {
  Values all(sums);
  all.push_back(product);
  llvm::append_range(all, others);
  return all;
}

StreamBuilder::Progress StreamBuilder::Progress::unpack(ValueRange values, int64_t rows) {
  for (Value sum : values.take_front(rows))
    named(sum, "sum");
  return {Values(values.take_front(rows)), named(values[rows], "product")};
}

void StreamBuilder::buildConsumer(ImplicitLocOpBuilder &b) {
  Value begin = CursorOp::create(b, columnRing);
  group = GroupOp::create(b);
  forEachTile(b, {begin, i32(b, 0)}, [&](const Tile &tile, ValueRange carried) {
    Value slot = carried[0];
    Progress progress = walkStages(b, tile, slot, named(carried[1], "product"));
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

/// The word of the next stage is loaded while the group works on this one. `slot` becomes the one behind the last
/// stage.
StreamBuilder::Progress StreamBuilder::walkStages(ImplicitLocOpBuilder &b, const Tile &tile, Value &slot,
                                                  Value firstProduct) {
  Range stages = readRange(b, PlanSection::stage_offsets, tile.window);
  auto readWord = [&](Value stage) -> Value {
    return ReadPlanOp::create(b, PlanSection::stage_products, add(b, multiply(b, stage, groups()), group));
  };
  Progress progress = {{}, firstProduct};
  for (int64_t row = 0; row < rows(); ++row)
    progress.sums.push_back(ZeroOp::create(b, sumType()));
  Values inits = progress.pack({slot, readWord(stages.first)});
  auto loop = scf::ForOp::create(b, stages.first, stages.end, i32(b, 1), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ValueRange carried = loop.getRegionIterArgs();
  progress = Progress::unpack(carried, rows());
  Value current = named(carried[rows() + 1], "slot"), word = named(carried[rows() + 2], "word");
  Value next = readWord(add(b, loop.getInductionVar(), 1));
  WaitOp::create(b, TypeRange(), columnRing, current);
  progress = walkColumns(b, current, word, progress);
  ReleaseOp::create(b, columnRing, current);
  scf::YieldOp::create(b, progress.pack({NextOp::create(b, columnRing, current), next}));
  slot = loop.getResult(rows() + 1);
  return Progress::unpack(loop.getResults(), rows());
}

/// A word has the bits of the first column lowest.
StreamBuilder::Progress StreamBuilder::walkColumns(ImplicitLocOpBuilder &b, Value slot, Value word, Progress progress) {
  auto loop = scf::ForOp::create(b, i32(b, 0), i32(b, shape.stageColumns), i32(b, 1), progress.pack(word));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  progress = Progress::unpack(loop.getRegionIterArgs(), rows());
  Value rest = named(loop.getRegionIterArgs().back(), "rest");
  Value bits = named(remainder(b, rest, int64_t(1) << rows()), "bits");
  Value hasProducts = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bits, i32(b, 0));
  auto branch = scf::IfOp::create(b, TypeRange(ValueRange(progress.pack())), hasProducts, /*withElseRegion=*/true);
  Value next = divide(b, rest, int64_t(1) << rows());
  scf::YieldOp::create(b, Progress::unpack(branch.getResults(), rows()).pack(next));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, progress.pack());
  b.setInsertionPointToStart(branch.thenBlock());
  progress = multiplyColumn(b, slot, loop.getInductionVar(), bits, progress);
  scf::YieldOp::create(b, progress.pack());
  return Progress::unpack(loop.getResults(), rows());
}

/// Bit i of `bits` says whether the group has a product of this column in its row i; one is set. The products of the
/// column are complete before the group goes on: another one multiplies meanwhile.
StreamBuilder::Progress StreamBuilder::multiplyColumn(ImplicitLocOpBuilder &b, Value slot, Value column, Value bits,
                                                      Progress progress) {
  MLIRContext *context = b.getContext();
  Values exists, places{progress.product}; // of each row, and behind the last one
  for (int64_t row = 0; row < rows(); ++row) {
    Value bit = remainder(b, divide(b, bits, int64_t(1) << row), 2);
    exists.push_back(arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, i32(b, 0)));
    places.push_back(add(b, places.back(), bit));
  }
  ColumnChunks chunks = waitForChunks(b, places.front(), places.back());
  auto viewType = isTransposed() ? ViewType::get(context, columns(), depth(), elementType(), Major::k)
                                 : ViewType::get(context, depth(), columns(), elementType(), Major::mn);
  Value view = ViewOp::create(b, viewType, columnRing, multiply(b, column, rowsOfColumn()), /*column=*/Value(),
                              /*index=*/0);
  auto fragmentType = FragmentType::get(context, columns(), depth(), elementType());
  Value fragment = named(LoadFragmentOp::create(b, fragmentType, view, slot), "x");
  for (int64_t row = 0; row < rows(); ++row)
    progress.sums[row] = issueProduct(b, fragment, places[row], progress.sums[row], exists[row]);
  for (Value &sum : progress.sums)
    sum = AwaitOp::create(b, sumType(), sum, /*outstanding=*/0);
  ReleaseOp::create(b, blockRing, chunks.first, chunks.areTwo);
  ReleaseOp::create(b, blockRing, chunks.last, isMultiple(b, places.back(), shape.chunkProducts));
  return {progress.sums, places.back()};
}

/// Waits for the chunks of the products from place `first` up to `end`. The group has waited for the first chunk
/// before, unless it begins there.
StreamBuilder::ColumnChunks StreamBuilder::waitForChunks(ImplicitLocOpBuilder &b, Value first, Value end) {
  auto chunkOf = [&](Value place) { return divide(b, place, shape.chunkProducts); };
  Value last = add(b, end, -1);
  ColumnChunks chunks = {chunkSlotOf(b, first), chunkSlotOf(b, last), Value()};
  Value begins = isMultiple(b, first, shape.chunkProducts);
  chunks.areTwo = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, chunkOf(first), chunkOf(last));
  waitIf(b, begins, chunks.first);
  waitIf(b, chunks.areTwo, chunks.last);
  return chunks;
}

void StreamBuilder::waitIf(ImplicitLocOpBuilder &b, Value condition, Value chunk) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  WaitOp::create(b, TypeRange(), blockRing, chunk);
}

/// `place` is that of the product in the stream.
Value StreamBuilder::issueProduct(ImplicitLocOpBuilder &b, Value fragment, Value place, Value sum, Value condition) {
  MLIRContext *context = b.getContext();
  auto viewType = matrix.getTransposed() ? ViewType::get(context, depth(), shape.productRows, elementType(), Major::mn)
                                         : ViewType::get(context, shape.productRows, depth(), elementType(), Major::k);
  Value row = multiply(b, remainder(b, place, shape.chunkProducts), rowsOfBlock());
  Value view = named(ViewOp::create(b, viewType, blockRing, row, /*column=*/Value(), /*index=*/0), "w");
  Type pending = PendingType::get(context, columns(), shape.productRows);
  return ProductOp::create(b, pending, fragment, /*a_cursor=*/Value(), view, chunkSlotOf(b, place), sum, condition,
                           depth(), /*columns=*/IntegerAttr());
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeStreamBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule) {
  return std::make_unique<StreamBuilder>(kernel, spmm, schedule);
}
