// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "hopper/TensorCopy.h"

#include "BlockIndex.h"
#include "Ptx.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

/// Rows of a box (CUDA Driver API, cuTensorMapEncodeTiled).
constexpr int64_t mostBoxRows = 256;
constexpr int64_t lineBytes = 128;

class TensorCopy {
public:
  TensorCopy(ProgramContext &context, CopyOp copy, Ring &ring, Ring::State slot)
      : context(context), b(context.b), copy(copy), ring(ring), slot(slot),
        argument(cast<BlockArgument>(copy.getSource()).getArgNumber()), buffer(copy.getIndex()),
        stripBytes(ring.stripBytes(buffer)) {
    firstRow = 0;
    rows = ring.bufferRows(buffer);
    if (std::optional<ArrayRef<int64_t>> part = copy.getRows()) {
      firstRow = (*part)[0];
      rows = (*part)[1];
    }
  }

  void copyTensor(ValueRange coordinates, Value place);
  void copyClipped(ValueRange coordinates, Value place);
  void copyBlock(ValueRange coordinates, Value column);
  void copyBlocks(ValueRange coordinates, ValueRange columns);
  void copyLines(ValueRange coordinates);

private:
  /// How far the part of a CTA of the cluster is from the one before: elements of a dimension, innermost first, and
  /// bytes of the buffer.
  struct Share {
    int64_t dimension, elements, bytes;
  };
  Value hasElements(ValueRange coordinates, int64_t count);
  void load(Value destination, Value map, Values at, Value full, Share share);
  int64_t cluster() { return copy.getMulticast() ? int64_t(context.schedule.getCluster()) : 1; }
  Value mapOfBlocks(ArrayRef<int64_t> box, Value column);
  Value mapOfLines(int64_t lines, int64_t blocks);
  TensorMapAttr mapOf(TensorMapKind kind, ArrayRef<int64_t> box) {
    return TensorMapAttr::get(b.getContext(), kind, argument, ring.swizzle(buffer).bytes(), box);
  }

  ProgramContext &context;
  KernelBuilder &b;
  CopyOp copy;
  Ring &ring;
  Ring::State slot;
  int64_t argument, buffer, stripBytes;
  int64_t firstRow, rows; // of the buffer, that the copy fills
};

/// A box for each strip of the buffer and each part of the rows that a box can have. With multicast each CTA of the
/// cluster loads its share for all of them: some of the strips if they can be divided, which takes fewer copies, or
/// some of the rows of each box. Rows of one strip, as those of K-major operands are, and columns of whole strips of 64
/// rows, as those of MN-major operands are, both are `stripBytes` apart. So is what begins at `place`.
void TensorCopy::copyTensor(ValueRange coordinates, Value place) {
  int64_t bufferRows = ring.bufferRows(buffer);
  int64_t columns = copy.getColumns().value_or(ring.bufferColumns(buffer));
  int64_t inner = stripBytes / ring.elementBytes(buffer), strips = columns / inner;
  bool sharesStrips = strips % cluster() == 0;
  int64_t parts = llvm::divideCeil(rows, mostBoxRows), partRows = rows / parts;
  int64_t boxRows = sharesStrips ? partRows : partRows / cluster();
  Share share = {1, boxRows, boxRows * stripBytes};
  if (sharesStrips) {
    strips /= cluster();
    share = {0, strips * inner, strips * bufferRows * stripBytes};
  }
  SmallVector<int64_t> box{inner, boxRows};
  box.resize(coordinates.size(), 1);
  Value full = ring.fullBarrier(slot.slot), destination = ring.slotPointer(buffer, slot.slot);
  Value map = context.parameters.tensorMap(mapOf(TensorMapKind::dense, box));
  if (place)
    destination = b.byteOffset(destination, b.mul(place, stripBytes));
  auto copyStrip = [&](int64_t strip) {
    for (int64_t part = 0; part < parts; ++part) {
      Values at(llvm::reverse(coordinates)); // innermost first
      at[0] = b.add(at[0], strip * inner);
      at[1] = b.add(at[1], part * partRows);
      int64_t offset = (strip * bufferRows + firstRow + part * partRows) * stripBytes;
      load(b.byteOffset(destination, offset), map, at, full, share);
    }
  };
  for (int64_t strip = 0; strip < strips; ++strip)
    if (strip > 0 && copy.getClippedStrips())
      b.ifThen(hasElements(coordinates, strip * inner), [&] { copyStrip(strip); });
    else
      copyStrip(strip);
}

/// One box, which has no more rows than the tensor. Where the tensor has more rows than the buffer, and its last tile
/// has at most half of them, all tiles have boxes of half of the rows: the last one has a single box.
void TensorCopy::copyClipped(ValueRange coordinates, Value place) {
  const int64_t half = rows / 2, inner = stripBytes / ring.elementBytes(buffer);
  const int64_t strips = copy.getColumns().value_or(ring.bufferColumns(buffer)) / inner;
  Value whole = context.parameters.tensorMap(mapOf(TensorMapKind::dense_clipped, {inner, rows}));
  Value halves = context.parameters.tensorMap(mapOf(TensorMapKind::dense, {inner, half}));
  Value size = context.size(argument, 0);
  Value hasHalfTile = b.less(b.modulo(b.sub(size, 1), rows), half);
  Value areHalves = b.logicalAnd(b.less(b.i32(rows), size), hasHalfTile);
  Value full = ring.fullBarrier(slot.slot), destination = ring.slotPointer(buffer, slot.slot);
  if (place)
    destination = b.byteOffset(destination, b.mul(place, stripBytes));
  for (int64_t strip = 0; strip < strips; ++strip) {
    Values at(llvm::reverse(coordinates)); // innermost first
    at[0] = b.add(at[0], strip * inner);
    Value ofStrip = b.byteOffset(destination, strip * ring.bufferRows(buffer) * stripBytes);
    load(ofStrip, b.select(areHalves, halves, whole), at, full, {});
    at[1] = b.add(at[1], half);
    b.ifThen(b.logicalAnd(areHalves, b.less(at[1], size)),
             [&] { load(b.byteOffset(ofStrip, half * stripBytes), halves, at, full, {}); });
  }
}

/// Whether the tensor has an element `count` places behind the coordinates in its row.
Value TensorCopy::hasElements(ValueRange coordinates, int64_t count) {
  const int64_t inner = int64_t(coordinates.size()) - 1;
  return b.less(b.add(coordinates.back(), count), context.size(argument, inner));
}

/// One box; with several CTAs this CTA's share for all of them.
void TensorCopy::load(Value destination, Value map, Values at, Value full, Share share) {
  if (cluster() == 1)
    return ptx::tensorLoad(b, destination, map, at, full, copy.getEvictFirst());
  Value rank = ptx::clusterRank(b);
  at[share.dimension] = b.add(at[share.dimension], b.mul(rank, share.elements));
  destination = b.byteOffset(destination, b.mul(rank, share.bytes));
  ptx::tensorLoadMulticast(b, destination, map, at, full, (1 << cluster()) - 1);
}

/// Rows of one block as it is stored: {columns, rows, blocks}, a box for each strip of the buffer. With multicast the
/// CTAs share out the strips if they can: that takes fewer copies than shares of their rows.
void TensorCopy::copyBlock(ValueRange coordinates, Value column) {
  int64_t inner = stripBytes / ring.elementBytes(buffer), bufferRows = ring.bufferRows(buffer);
  int64_t strips = ring.bufferColumns(buffer) / inner, boxRows = rows / cluster();
  Share share = {1, boxRows, boxRows * stripBytes};
  if (strips % cluster() == 0) {
    strips /= cluster();
    boxRows = rows;
    share = {0, strips * inner, strips * bufferRows * stripBytes};
  }
  Value map = mapOfBlocks({inner, boxRows, 1}, column);
  Value full = ring.fullBarrier(slot.slot), destination = ring.slotPointer(buffer, slot.slot);
  for (int64_t strip = 0; strip < strips; ++strip) {
    Values at(llvm::reverse(coordinates));
    if (cast<BsrType>(copy.getSource().getType()).getTransposed())
      std::swap(at[0], at[1]);
    at[0] = b.add(at[0], strip * inner);
    load(b.byteOffset(destination, (strip * bufferRows + firstRow) * stripBytes), map, at, full, share);
  }
}

/// {elements of a line, lines, blocks}: whole rows of blocks.
Value TensorCopy::mapOfLines(int64_t lines, int64_t blocks) {
  return context.parameters.tensorMap(
      TensorMapAttr::get(b.getContext(), TensorMapKind::bsr_lines, argument, /*swizzle=*/lineBytes,
                         ArrayRef<int64_t>{lineBytes / ring.elementBytes(buffer), lines, blocks}));
}

void TensorCopy::copyLines(ValueRange coordinates) {
  Values at(llvm::reverse(coordinates));
  at[1] = b.divide(at[1], lineBytes / stripBytes);
  int64_t boxLines = rows * stripBytes / lineBytes / cluster();
  Value destination = b.byteOffset(ring.slotPointer(buffer, slot.slot), firstRow * stripBytes);
  load(destination, mapOfLines(boxLines, 1), at, ring.fullBarrier(slot.slot), {1, boxLines, boxLines * lineBytes});
}

/// Blocks that follow one another in memory and in the buffer, with a strip for each: one box. The last step of a row
/// may have fewer blocks, and K may cut some of those of a step: these are copied one by one. The strips of blocks that
/// are not there become zero, as those of X do.
void TensorCopy::copyBlocks(ValueRange coordinates, ValueRange columns) {
  BlockIndex index(context, copy.getSource());
  const int64_t count = int64_t(columns.size()), depth = cast<BsrType>(copy.getSource().getType()).getBlockColumns();
  const bool hasLines = copy.getLines();
  Value full = ring.fullBarrier(slot.slot), destination = ring.slotPointer(buffer, slot.slot);
  Values at(llvm::reverse(coordinates));
  if (hasLines)
    at[1] = b.divide(at[1], lineBytes / stripBytes);
  auto mapOf = [&](int64_t blocks, Value column) {
    if (hasLines)
      return mapOfLines(rows * stripBytes / lineBytes, blocks);
    return mapOfBlocks({stripBytes / ring.elementBytes(buffer), rows, blocks}, column);
  };
  auto exists = [&](Value column) { return b.less(column, index.blockColumns()); };
  Value areWhole = exists(columns.back());
  if (!hasLines)
    areWhole = b.logicalAnd(areWhole, b.equal(b.modulo(index.depth(), depth), 0));
  auto copyEach = [&] {
    for (auto [number, column] : llvm::enumerate(columns)) {
      Values ofBlock = at;
      ofBlock[2] = b.select(exists(column), b.add(at[2], int64_t(number)), b.i32(-1));
      load(b.byteOffset(destination, int64_t(number) * rows * stripBytes), mapOf(1, column), ofBlock, full, {});
    }
    return Values();
  };
  b.ifThenElse(
      areWhole, {}, [&] { return load(destination, mapOf(count, Value()), at, full, {}), Values(); }, copyEach);
}

/// Elements beyond K do not count, but a NaN among them would in the product with the zeros of X. The map of blocks
/// that K cuts ends there, so that the copy brings zeros. There is such a block column K / block columns or none. In a
/// transposed matrix, and in the right operand of a product, K cuts the stored rows.
Value TensorCopy::mapOfBlocks(ArrayRef<int64_t> box, Value column) {
  Value whole = context.parameters.tensorMap(mapOf(TensorMapKind::bsr_values, box));
  if (!column)
    return whole;
  auto matrix = cast<BsrType>(copy.getSource().getType());
  BlockIndex index(context, copy.getSource());
  Value cutColumn = copy.getDepthRows() ? b.divide(index.rows(), matrix.getBlockRows())
                                        : b.divide(index.depth(), matrix.getBlockColumns());
  Value isCut = b.compare(arith::CmpIPredicate::eq, column, cutColumn);
  bool cutsRows = matrix.getTransposed() || copy.getDepthRows();
  TensorMapKind edge = cutsRows ? TensorMapKind::bsr_edge_rows : TensorMapKind::bsr_edge_values;
  return b.select(isCut, context.parameters.tensorMap(mapOf(edge, box)), whole);
}

} // namespace

void sparsec::emitTensorCopy(ProgramContext &context, CopyOp copy, Ring &ring, Ring::State slot, ValueRange coordinates,
                             ValueRange blockColumns, Value place) {
  TensorCopy emitter(context, copy, ring, slot);
  if (copy.getBlockColumns().size() > 1)
    emitter.copyBlocks(coordinates, blockColumns);
  else if (copy.getLines())
    emitter.copyLines(coordinates);
  else if (isa<BsrType>(copy.getSource().getType()))
    emitter.copyBlock(coordinates, blockColumns.empty() ? Value() : blockColumns.front());
  else if (copy.getClipped())
    emitter.copyClipped(coordinates, place);
  else
    emitter.copyTensor(coordinates, place);
}
