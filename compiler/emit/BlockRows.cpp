// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BlockRows.h"

#include "BlockIndex.h"
#include "BlockWalk.h"
#include "CutTiles.h"
#include "PartSums.h"
#include "Ptx.h"
#include "StagedStore.h"
#include "StoreTile.h"
#include "ampere/BlockCopies.h"

#include "sparsec/launch_info.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr int64_t rowsOfSlab = 16, rowsOfWarpgroup = 64;

bool BlockRows::emit(Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](RowBlocksOp blocks) { return emitRowBlocks(blocks), true; })
      .Case([&](BlockWalkOp op) {
        Value first = values.one(op.getFirst()), end = values.one(op.getEnd());
        return program.setWalk(op, std::make_unique<BlockWalk>(context, op, first, end)), true;
      })
      .Case([&](BlockColumnOp op) {
        Value position = values.one(op.getPosition());
        return values.set(op, BlockIndex(context, op.getMatrix()).column(position)), true;
      })
      .Case([&](ReadBlocksOp read) { return emitReadBlocks(program, read), true; })
      .Case([&](CopyBlocksOp copy) { return emitCopyBlocks(program, copy), true; })
      .Case([&](ColumnScalesOp scales) { return emitColumnScales(scales), true; })
      .Case([&](CopyScalesOp copy) { return emitCopyScales(copy), true; })
      .Case([&](StageScalesOp stage) { return emitStageScales(stage), true; })
      .Case([&](StagedScalesOp scales) { return emitStagedScales(scales), true; })
      .Case([&](RowScalesOp scales) { return emitRowScales(scales), true; })
      .Case([&](TilePartOp part) { return emitTilePart(context, values, part), true; })
      .Case([&](CountProductsOp count) { return emitCountProducts(program, count), true; })
      .Case([&](JoinPartsOp join) { return emitJoinParts(program, join), true; })
      .Case([&](StoreOp store) { return emitStore(store), true; })
      .Case([&](WriteSumsOp write) { return writeSums(context, write, values.sums(write.getAccumulator())), true; })
      .Case([&](ReleaseSumsOp release) { return releaseSums(context, release), true; })
      .Case([&](AcquireSumsOp acquire) { return acquireSums(context, acquire), true; })
      .Case([&](AddSumsOp add) {
        Values all = addSums(context, add, values.sums(add.getAccumulator()));
        return values.set(add, values.fromSums(all)), true;
      })
      .Default(false);
}

void BlockRows::emitRowBlocks(RowBlocksOp op) {
  BlockIndex index(context, op.getMatrix());
  Value row = values.one(op.getBlockRow());
  values.set(op.getFirst(), index.start(row));
  values.set(op.getEnd(), index.start(b.add(row, 1)));
}

/// Each thread of a warp loads one of every 32 columns. A thread has sums in two neighbours of every 8 columns; so have
/// the threads whose numbers end in the same two bits. These threads load its columns, in the order of their groups of
/// four.
void BlockRows::emitColumnScales(ColumnScalesOp op) {
  constexpr int64_t threadsOfGroup = 4, columnsOfThread = 2, columnsOfGroup = 8;
  int64_t argument = cast<BlockArgument>(op.getXScale()).getArgNumber();
  Value scales = context.parameters.get(ParameterKind::pointer, argument);
  Value stride = context.parameters.get(ParameterKind::stride, argument, 0);
  Value thread = b.bitAnd(context.thread, warpLanes - 1);
  Value group = b.divide(thread, threadsOfGroup), inGroup = b.modulo(thread, threadsOfGroup);
  Value place = b.add(b.mul(b.divide(group, columnsOfThread), columnsOfGroup),
                      b.add(b.mul(inGroup, columnsOfThread), b.modulo(group, columnsOfThread)));
  Value first = b.add(values.one(op.getColumn()), place), last = b.sub(context.columns(), 1);
  Value parts = context.parameters.get(ParameterKind::size, argument, 1), part = values.one(op.getPart());
  Value scale = values.one(op.getScale());
  const bool mayEnd = mayHavePartsBeyondK();
  Value stored = b.extend(mayEnd ? b.minimum(part, b.sub(parts, 1)) : part);
  Values loaded;
  for (int64_t i = 0; i < values.columnScaleCount(op.getType()); ++i) {
    Value column = b.minimum(b.add(first, warpLanes * i), last);
    Value element = b.loadElement(b.getF32Type(), scales, b.add(b.mul(b.extend(column), stride), stored));
    if (mayEnd)
      element = b.select(b.less(part, parts), element, b.f32(0));
    loaded.push_back(scale ? b.mulF(element, scale) : element);
  }
  values.set(op, loaded);
}

/// A block that K cuts may have parts beyond K, whose sums are zero.
bool BlockRows::mayHavePartsBeyondK() { return context.matrix.getBlockColumns() > SPARSEC_X_SCALE_DEPTH; }

/// The last buffer of a ring.
static int64_t ofScales(TypedValue<RingType> ring) { return int64_t(ring.getType().getBuffers().size()) - 1; }

/// Each thread of a warp copies the scale of one of every 32 columns: neighbours in the slot, rows of the tensor. It
/// arrives at the slot's barrier when its copies do.
void BlockRows::emitCopyScales(CopyScalesOp op) {
  constexpr int64_t scaleBytes = 4, mostCopies = 4;
  int64_t argument = cast<BlockArgument>(op.getXScale()).getArgNumber();
  Value scales = context.parameters.get(ParameterKind::pointer, argument);
  Value stride = context.parameters.get(ParameterKind::stride, argument, 0);
  Value lane = b.bitAnd(context.thread, warpLanes - 1), last = b.sub(context.columns(), 1);
  Value part = values.one(op.getPart()), bytes;
  if (mayHavePartsBeyondK()) {
    Value parts = context.parameters.get(ParameterKind::size, argument, 1);
    bytes = b.select(b.less(part, parts), b.i32(scaleBytes), b.i32(0));
    part = b.minimum(part, b.sub(parts, 1));
  }
  Ring &ring = program.ringOf(op.getRing());
  const int64_t buffer = ofScales(op.getRing());
  Value number = program.slotOf(op.getCursor()).slot, slot = ring.slotPointer(buffer, number);
  // A role that copies has registers for few addresses: it computes some at a time, in a loop that stays one.
  int64_t columns = ring.bufferColumns(buffer), step = mostCopies * warpLanes;
  while (columns % step != 0)
    step -= warpLanes;
  b.forLoop(b.i32(0), ptx::opaque(b, b.i32(columns)), b.i32(step), {}, [&](Value first, ValueRange) {
    for (int64_t i = 0; i < step; i += warpLanes) {
      Value place = b.add(b.add(first, lane), i), column = b.minimum(b.add(values.one(op.getColumn()), place), last);
      Value source = b.elementPointer(scales, b.getF32Type(), b.add(b.mul(b.extend(column), stride), b.extend(part)));
      ptx::copyAsync4(b, b.elementPointer(slot, b.getF32Type(), place), source, bytes);
    }
    return Values();
  });
  ptx::copyAsyncArrive(b, ring.fullBarrier(number));
}

/// Each thread of the warp has one of every 32 columns.
void BlockRows::emitStageScales(StageScalesOp op) {
  constexpr int64_t scaleBytes = 4, vectorBytes = 16, scalesOfVector = vectorBytes / scaleBytes;
  Type f32 = b.getF32Type();
  Ring &tiles = program.ringOf(op.getTiles()), &ring = program.ringOf(op.getRing());
  Value tile = tiles.slotPointer(0, program.slotOf(op.getTile()).slot);
  Value number = program.slotOf(op.getCursor()).slot, slot = ring.slotPointer(ofScales(op.getRing()), number);
  Value lane = b.bitAnd(context.thread, warpLanes - 1);
  Value part = b.modulo(values.one(op.getPart()), tiles.bufferColumns(0));
  Value vector = b.divide(part, scalesOfVector), inVector = b.modulo(part, scalesOfVector);
  Value ofBlock = values.one(op.getScale());
  for (int64_t first = 0; first < tiles.bufferRows(0); first += warpLanes) {
    Value column = b.add(lane, first), place = tiles.swizzle(0).place(b, column, vector);
    Value row = b.byteOffset(tile, b.add(b.mul(column, tiles.stripBytes(0)), b.mul(place, vectorBytes)));
    Value scale = b.load(f32, b.elementPointer(row, f32, inVector));
    LLVM::StoreOp::create(b, ofBlock ? b.mulF(scale, ofBlock) : scale, b.elementPointer(slot, f32, column));
  }
  ptx::barrierWarp(b);
  ptx::mbarrierArrive(b, ring.fullBarrier(number), b.equal(lane, 0));
}

/// A thread has sums in two neighbours of every 8 columns.
void BlockRows::emitStagedScales(StagedScalesOp op) {
  constexpr int64_t threadsOfGroup = 4, columnsOfThread = 2, columnsOfGroup = 8;
  Type f32 = b.getF32Type();
  Value slot = program.ringOf(op.getRing()).slotPointer(ofScales(op.getRing()), program.slotOf(op.getCursor()).slot);
  Value inGroup = b.modulo(context.thread, threadsOfGroup);
  Value first = b.elementPointer(slot, f32, b.add(values.one(op.getAt()), b.mul(inGroup, columnsOfThread)));
  Values scales;
  for (int64_t column = 0; column < op.getType().getColumns(); column += columnsOfGroup) {
    Value pair = b.load(VectorType::get(columnsOfThread, f32), b.elementPointer(first, f32, b.i32(column)));
    for (int64_t i = 0; i < columnsOfThread; ++i)
      scales.push_back(LLVM::ExtractElementOp::create(b, pair, b.i32(i)));
  }
  values.set(op, scales);
}

/// A warp of a warpgroup has 16 of every 64 rows, and a thread of it two of them (AccumulatorFragment).
void BlockRows::emitRowScales(RowScalesOp op) {
  constexpr int64_t threadsOfRow = 4, rowsOfHalf = 8;
  Type f32 = b.getF32Type();
  Value slot = program.ringOf(op.getRing()).slotPointer(ofScales(op.getRing()), program.slotOf(op.getCursor()).slot);
  Value warp = b.divide(program.threadInGroup, warpLanes), lane = b.modulo(program.threadInGroup, warpLanes);
  Value row = b.add(b.mul(warp, rowsOfSlab), b.divide(lane, threadsOfRow));
  Value first = b.elementPointer(slot, f32, b.add(values.one(op.getAt()), row));
  Values scales;
  for (int64_t slab = 0; slab < op.getType().getRows(); slab += rowsOfWarpgroup)
    for (int64_t half : {int64_t(0), rowsOfHalf})
      scales.push_back(b.load(f32, b.elementPointer(first, f32, b.i32(slab + half))));
  values.set(op, scales);
}

/// Rows of blocks that came in lines of two are rows of the accumulators here. The upper half of a slab has groups of 8
/// rows with an even number, and the lower half those with an odd one: row r of it is where row r ^ 1 would be. Bit 0
/// of a row is bit 2 of the lane.
static void restoreRows(KernelBuilder &b, AccumulatorFragment &fragment) {
  constexpr int64_t lanesOfRow = 4;
  for (int64_t slab = 0; slab < fragment.slabs; ++slab)
    for (int64_t group = 0; group < fragment.groups; ++group)
      for (int64_t index : {2, 3})
        fragment.at(slab, group, index) = ptx::exchange(b, fragment.at(slab, group, index), lanesOfRow);
}

/// Rows of blocks that came in lines are columns of the accumulators here. A line has two or four rows: column c of
/// group g of 8 is where column c ^ (g mod 2) or c ^ (g mod 4) would be. Bit 0 of a column says which of two neighbours
/// of a thread it is, bit 1 is bit 0 of the lane.
static void restoreColumns(KernelBuilder &b, AccumulatorFragment &fragment, int64_t rowsOfLine) {
  for (int64_t slab = 0; slab < fragment.slabs; ++slab)
    for (int64_t group = 0; group < fragment.groups; ++group) {
      const int64_t change = group % rowsOfLine;
      if (change & 1)
        for (int64_t index : {0, 2})
          std::swap(fragment.at(slab, group, index), fragment.at(slab, group, index + 1));
      if (change & 2)
        for (int64_t index = 0; index < 4; ++index)
          fragment.at(slab, group, index) = ptx::exchange(b, fragment.at(slab, group, index), 1);
    }
}

void BlockRows::emitStore(StoreOp op) {
  context.waitBehindPattern();
  program.startKernelBehind();
  TilePosition position{values.one(op.getBlockRow()),
                        values.one(op.getRow()),
                        values.one(op.getColumn()),
                        values.one(op.getFirstBlock()),
                        values.one(op.getEndBlock()),
                        int64_t(op.getBlockStride().value_or(0)),
                        op.getSwapped()};
  AccumulatorType type = op.getAccumulator().getType();
  bool isWarp = op->getParentOfType<RoleOp>().getUnit() == RoleUnit::warp;
  AccumulatorFragment fragment;
  fragment.slabRows = isWarp ? rowsOfSlab : rowsOfWarpgroup;
  fragment.slabs = type.getRows() / fragment.slabRows;
  fragment.groups = type.getColumns() / 8;
  fragment.values = values.sums(op.getAccumulator());
  if (op.getLines()) {
    constexpr int64_t lineBytes = 128;
    const int64_t bits = context.matrix.getElementType().getIntOrFloatBitWidth();
    const int64_t rowsOfLine = lineBytes / (context.matrix.getBlockColumns() * bits / 8);
    assert((op.getSwapped() || rowsOfLine == 2) && "a lane has the rows of one group of 8");
    if (op.getSwapped())
      restoreColumns(b, fragment, rowsOfLine);
    else
      restoreRows(b, fragment);
  }
  fragment.row = values.one(op.getGroupRow());
  if (!isWarp) {
    // The store's thread coordinates are computed here, once per tile: kept from tile to tile they would take registers
    // that the accumulators need. Each warp of a warpgroup has a slab of every 64 rows.
    Value warp = b.shiftRight(ptx::opaque(b, program.threadInGroup), 5);
    fragment.row = b.add(fragment.row, b.mul(warp, rowsOfSlab));
  }
  fragment.column = values.one(op.getGroupColumn());
  if (op.getStaged())
    emitStagedStore(context, op, position, fragment, values.one(op.getGroup()), values.one(op.getGroupRow()));
  else
    emitDirectStore(context, op, position, fragment);
}
