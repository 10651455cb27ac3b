// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SddmmParts.h"

#include "ScheduleAttribute.h"
#include "SharedMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sparsec;

SddmmParts::SddmmParts(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule)
    : ProgramBuilder(kernel, schedule), sddmm(sddmm), pattern(sddmm.getPattern().getType()),
      instruction(toSchedule(schedule).instruction) {}

Value SddmmParts::makeRing(ImplicitLocOpBuilder &b) {
  int64_t m = schedule.getTileM(), n = schedule.getTileN(), k = schedule.getTileK();
  auto bufferOfOperand = [&](bool isDepthContiguous, int64_t outer) -> Type {
    return isDepthContiguous ? bufferOf(schedule, outer, k, elementType())
                             : bufferOf(schedule, k, outer, elementType());
  };
  Type buffers[] = {bufferOfOperand(!isLeftTransposed(), m), bufferOfOperand(isRightTransposed(), n)};
  return sparsec::makeRing(b, schedule, buffers);
}

void SddmmParts::forEachTile(ImplicitLocOpBuilder &b, ValueRange inits,
                             function_ref<Values(const Tile &tile, ValueRange carried)> body) {
  walkTiles(b, inits, [&](Value tileRow, Value panel, ValueRange carried) {
    Tile tile;
    tile.at = tileCoordinates(b, schedule, pattern, tileRow, panel);
    auto row = RowBlocksOp::create(b, operand(sddmm.getPattern()), tile.at.blockRow);
    int64_t most = int64_t(schedule.getCluster()) * schedule.getTileN() / stride();
    tile.first = named(add(b, row.getFirst(), multiply(b, panel, most)), "tile_first");
    Value rest = arith::SubIOp::create(b, row.getEnd(), tile.first);
    Value hasBlocks = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rest, i32(b, 0));
    return carryIf(b, hasBlocks, carried, [&] {
      tile.count = named(arith::MinSIOp::create(b, rest, i32(b, most)), "count");
      return body(tile, carried);
    });
  });
}

Value SddmmParts::rowOfLeft(ImplicitLocOpBuilder &b, const Tile &tile) {
  return add(b, multiply(b, tile.at.blockRow, pattern.getBlockRows()), tile.at.row);
}

CopyOp SddmmParts::copyLeft(ImplicitLocOpBuilder &b, Value row, Value k, Value cursor) {
  Values coordinates = isLeftTransposed() ? Values{k, row} : Values{row, k};
  return CopyOp::create(b, operand(sddmm.getLeft()), coordinates, ring, cursor, /*index=*/0);
}

Value SddmmParts::columnOfRight(ImplicitLocOpBuilder &b, Value blockColumn) {
  return multiply(b, blockColumn, pattern.getBlockColumns());
}

CopyOp SddmmParts::copyRight(ImplicitLocOpBuilder &b, Value column, Value k, Value cursor) {
  Values coordinates = isRightTransposed() ? Values{column, k} : Values{k, column};
  return CopyOp::create(b, operand(sddmm.getRight()), coordinates, ring, cursor, /*index=*/1);
}

Value SddmmParts::viewOf(ImplicitLocOpBuilder &b, int64_t index, bool isDepthContiguous, Value first, int64_t outer) {
  MLIRContext *context = b.getContext();
  int64_t k = schedule.getTileK();
  if (isDepthContiguous)
    return ViewOp::create(b, ViewType::get(context, outer, k, elementType(), Major::k), ring, /*row=*/first,
                          /*column=*/Value(), index);
  return ViewOp::create(b, ViewType::get(context, k, outer, elementType(), Major::mn), ring, /*row=*/Value(),
                        /*column=*/first, index);
}

Value SddmmParts::viewOfLeft(ImplicitLocOpBuilder &b, Value row, int64_t rows) {
  return named(viewOf(b, /*index=*/0, !isLeftTransposed(), row, rows), "a");
}

Value SddmmParts::viewOfRight(ImplicitLocOpBuilder &b, Value column, int64_t columns, StringRef name) {
  return named(viewOf(b, /*index=*/1, isRightTransposed(), column, columns), name);
}

void SddmmParts::storeTile(ImplicitLocOpBuilder &b, const Tile &tile, const StoredPart &part, Value sum) {
  SmallVector<Value> extras;
  for (Value extra : sddmm.getExtras())
    extras.push_back(operand(extra));
  ProblemDescription product = productOf(describeProblem(sddmm, /*density=*/1), instruction);
  auto store =
      StoreOp::create(b, sum, results[0], tile.at.blockRow, tile.at.row, /*column=*/i32(b, 0), part.group, part.row,
                      part.column, part.first, part.end, operand(sddmm.getPattern()), extras, sddmm.getBroadcast(),
                      pattern.getBlockRows(), b.getI64IntegerAttr(stride()), /*transposed=*/false,
                      /*swapped=*/false, /*lines=*/false, usesStagedStore(toSchedule(schedule), product),
                      /*staging=*/DenseI64ArrayAttr());
  setEpilogue(b, store, sddmm.getEpilogue());
}

std::unique_ptr<ProgramBuilder> sparsec::makeSddmmBuilder(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule) {
  return schedule.getCopy() == Copy::tma ? makeSddmmRoles(kernel, sddmm, schedule)
                                         : makeSddmmWarps(kernel, sddmm, schedule);
}
