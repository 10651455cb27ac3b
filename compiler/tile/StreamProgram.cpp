// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StreamProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Rings, and the columns of X
//===----------------------------------------------------------------------===//

void StreamProgram::makeRings(ImplicitLocOpBuilder &b, IntegerAttr releasesOfBlocks) {
  MLIRContext *context = b.getContext();
  auto makeRing = [&](StringRef name, int64_t stages, Type buffer, IntegerAttr releases) -> Value {
    return RingOp::create(b, RingType::get(context, stages, {buffer}), b.getStringAttr(name), /*messages=*/false,
                          /*skips=*/false, releases, DenseI64ArrayAttr(), IntegerAttr());
  };
  Type x = areColumnsAdjacent() ? bufferOf(schedule, columns(), shape.stageColumns * depth(), elementOfX())
                                : bufferOf(schedule, shape.stageColumns * rowsOfColumn(),
                                           isTransposed() ? depth() : columns(), elementOfX());
  cast<ProgramOp>(b.getInsertionBlock()->getParentOp()).setAdjacentColumns(areColumnsAdjacent());
  Type blocks = matrix.getTransposed()
                    ? bufferOf(schedule, shape.slotProducts * depth(), shape.productRows, elementType())
                    : bufferOf(schedule, shape.slotProducts * shape.productRows, depth(), elementType());
  blockRing = makeRing("block_ring", groups() * shape.slots, blocks, releasesOfBlocks);
  columnRing = makeRing("column_ring", schedule.getStages(), x, IntegerAttr());
}

StreamProgram::Values StreamProgram::readEntries(ImplicitLocOpBuilder &b, PlanSection section, Value number,
                                                 int64_t count) {
  Values entries;
  Value first = multiply(b, number, count);
  for (int64_t i = 0; i < count; ++i)
    entries.push_back(ReadPlanOp::create(b, section, add(b, first, i)));
  return entries;
}

/// Parts have equally many stages, or one more.
StreamProgram::Range StreamProgram::stagesOf(ImplicitLocOpBuilder &b, const Tile &tile) {
  Range all = readRange(b, PlanSection::stage_offsets, tile.window);
  TilePartOp part = tile.part;
  if (!part)
    return all;
  Value parts = part.getParts(), count = arith::SubIOp::create(b, all.end, all.first);
  auto begin = [&](Value number) {
    Value before = arith::DivUIOp::create(b, arith::MulIOp::create(b, count, number), parts);
    return add(b, all.first, before);
  };
  return {begin(part.getPart()), begin(add(b, part.getPart(), 1))};
}

void StreamProgram::makeColumnProducers(ImplicitLocOpBuilder &b, int64_t count) {
  for (int64_t producer = 0; producer < count; ++producer)
    makeRole(b, count == 1 ? "x" : "x" + std::to_string(producer), RoleUnit::thread, 1, schedule.getProducerRegisters(),
             [&] { buildColumnProducer(b, producer, count); });
}

/// Stages are counted from the first tile on: the producer has those whose number is its own modulo `count`. A single
/// producer loads the numbers of the next stage's columns while it copies those of this one. Producers that take turns
/// have time to load them later, into the same registers.
void StreamProgram::buildColumnProducer(ImplicitLocOpBuilder &b, int64_t producer, int64_t count) {
  forEachTile(b, i32(b, 0), [&](const Tile &tile, ValueRange carried) {
    Range stages = stagesOf(b, tile);
    Value before = named(arith::SubIOp::create(b, carried[0], stages.first), "before");
    Value first = add(b, stages.first, remainder(b, arith::SubIOp::create(b, i32(b, producer), carried[0]), count));
    auto readColumns = [&](Value stage) {
      return readEntries(b, PlanSection::stage_columns, arith::MinSIOp::create(b, stage, stages.end),
                         shape.stageColumns);
    };
    auto loop = scf::ForOp::create(b, first, stages.end, i32(b, count), readColumns(first));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value stage = loop.getInductionVar();
    Value slot = named(CursorOp::create(b, columnRing, add(b, before, stage)), "slot");
    auto readNext = [&] { return readColumns(add(b, stage, count)); };
    Values next = count == 1 ? readNext() : Values();
    copyColumns(b, tile, slot, loop.getRegionIterArgs());
    if (count > 1)
      next = readNext();
    scf::YieldOp::create(b, next);
    b.setInsertionPointAfter(loop);
    return Values{add(b, before, stages.end)};
  });
}

void StreamProgram::copyColumns(ImplicitLocOpBuilder &b, const Tile &tile, Value slot, ValueRange stageColumns) {
  AcquireOp::create(b, columnRing, slot);
  PostOp::create(b, columnRing, slot, /*messages=*/ValueRange(), /*empty=*/false);
  for (auto [i, column] : llvm::enumerate(areColumnsAdjacent() ? stageColumns.take_front(1) : stageColumns)) {
    Value k = multiply(b, named(column, "column"), depth());
    auto copy = CopyOp::create(b, operand(spmm.getDense()), coordinatesOfX(k, tile.column), columnRing, slot,
                               /*index=*/0);
    copy.setMulticast(int64_t(schedule.getCluster()) > 1);
    if (!areColumnsAdjacent())
      copy.setRows(ArrayRef<int64_t>{int64_t(i) * rowsOfColumn(), rowsOfColumn()});
  }
}

Value StreamProgram::entryOf(ImplicitLocOpBuilder &b, Value number, Value groupOfCta) {
  const int64_t cluster = schedule.getCluster();
  Value entry = add(b, multiply(b, number, groups() * cluster), groupOfCta);
  if (cluster == 1)
    return entry;
  return add(b, entry, multiply(b, ClusterRankOp::create(b), groups()));
}

Value StreamProgram::viewOfBlock(ImplicitLocOpBuilder &b, Value place) {
  MLIRContext *context = b.getContext();
  Value line = multiply(b, place, rowsOfBlock());
  auto type = matrix.getTransposed() ? ViewType::get(context, depth(), shape.productRows, elementType(), Major::mn)
                                     : ViewType::get(context, shape.productRows, depth(), elementType(), Major::k);
  return named(ViewOp::create(b, type, blockRing, line, /*column=*/Value(), /*index=*/0), "w");
}

//===----------------------------------------------------------------------===//
// The loops of a group
//===----------------------------------------------------------------------===//

StreamProgram::Values StreamProgram::Progress::pack(ValueRange more) const {
  Values all(sums);
  llvm::append_range(all, next.pack());
  llvm::append_range(all, others);
  llvm::append_range(all, more);
  return all;
}

StreamProgram::Progress StreamProgram::Progress::unpack(ValueRange values) const {
  for (Value sum : values.take_front(sums.size()))
    named(sum, "sum");
  Position position = {named(values[sums.size()], "place"), Value()};
  if (next.chunk)
    position.chunk = named(values[sums.size() + 1], "chunk");
  return {Values(values.take_front(sums.size())), position,
          Values(values.slice(sums.size() + next.pack().size(), others.size()))};
}

/// The word of the next stage is loaded while the group works on this one.
StreamProgram::Progress StreamProgram::walkStages(ImplicitLocOpBuilder &b, const Tile &tile, Value &slot,
                                                  Progress progress) {
  Range stages = stagesOf(b, tile);
  auto readWord = [&](Value stage) -> Value {
    return ReadPlanOp::create(b, PlanSection::stage_products, entryOf(b, stage, group));
  };
  size_t slotIndex = progress.count(), wordIndex = slotIndex + 1;
  Values inits = progress.pack({slot, readWord(stages.first)});
  auto loop = scf::ForOp::create(b, stages.first, stages.end, i32(b, 1), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ValueRange carried = loop.getRegionIterArgs();
  progress = progress.unpack(carried);
  Value current = named(carried[slotIndex], "slot"), word = named(carried[wordIndex], "word");
  Value next = readWord(add(b, loop.getInductionVar(), 1));
  progress = walkColumns(b, current, word, progress);
  ReleaseOp::create(b, columnRing, current);
  scf::YieldOp::create(b, progress.pack({NextOp::create(b, columnRing, current), next}));
  slot = loop.getResult(slotIndex);
  return progress.unpack(loop.getResults());
}

void StreamProgram::awaitColumns(ImplicitLocOpBuilder &b, Value slot) {
  WaitOp::create(b, TypeRange(), columnRing, slot);
}

Type StreamProgram::elementOfFragment(Type stored) {
  return isF8() && isOfWarps() ? Float16Type::get(stored.getContext()) : stored;
}

Value StreamProgram::loadColumn(ImplicitLocOpBuilder &b, Value slot, Value column, int64_t first, int64_t count) {
  MLIRContext *context = b.getContext();
  auto viewType = isTransposed() ? ViewType::get(context, count, depth(), elementOfX(), Major::k)
                                 : ViewType::get(context, depth(), count, elementOfX(), Major::mn);
  Value row, inRow;
  if (areColumnsAdjacent()) {
    row = i32(b, first);
    inRow = multiply(b, column, depth());
  } else {
    row = multiply(b, column, rowsOfColumn());
    inRow = i32(b, isTransposed() ? 0 : first);
    row = isTransposed() ? add(b, row, first) : row;
  }
  Value view = ViewOp::create(b, viewType, columnRing, row, inRow, /*index=*/0);
  auto fragmentType = FragmentType::get(context, count, depth(), elementOfFragment(elementOfX()));
  return named(LoadFragmentOp::create(b, fragmentType, view, slot, /*as_b=*/isOfWarps()), "x");
}
