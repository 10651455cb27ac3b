// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "hopper/TensorCopy.h"

#include "Ptx.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

/// Rows of a box (CUDA Driver API, cuTensorMapEncodeTiled).
constexpr int64_t mostBoxRows = 256;

class TensorCopy {
public:
  TensorCopy(ProgramContext &context, CopyOp copy, Ring &ring, Ring::State slot)
      : context(context), b(context.b), copy(copy), ring(ring), slot(slot),
        argument(cast<BlockArgument>(copy.getSource()).getArgNumber()), buffer(copy.getIndex()),
        panelBytes(ring.panelBytes(buffer)) {
    firstRow = 0;
    rows = ring.bufferRows(buffer);
    if (std::optional<ArrayRef<int64_t>> part = copy.getRows()) {
      firstRow = (*part)[0];
      rows = (*part)[1];
    }
  }

  void copyTensor(ValueRange coordinates, Value place);
  void copyBlock(ValueRange coordinates, Value column);
  void copyLines(ValueRange coordinates);

private:
  void load(Value destination, Value map, Values at, Value full, int64_t boxRows, int64_t cluster, int64_t rowBytes);
  Value mapOfBlocks(ArrayRef<int64_t> box, Value column);
  TensorMapAttr mapOf(TensorMapKind kind, ArrayRef<int64_t> box) {
    return TensorMapAttr::get(b.getContext(), kind, argument, box[0] * ring.elementBytes(buffer), box);
  }

  ProgramContext &context;
  KernelBuilder &b;
  CopyOp copy;
  Ring &ring;
  Ring::State slot;
  int64_t argument, buffer, panelBytes;
  int64_t firstRow, rows; // of the buffer, that the copy fills
};

/// A box for each panel of the buffer and each part of the rows that a box can have. With multicast each CTA of the
/// cluster loads its share of the rows of a box for all of them. Rows of one panel, as those of K-major operands are,
/// and columns of whole panels of 64 rows, as those of MN-major operands are, both lie `panelBytes` apart: so does what
/// begins at `place`.
void TensorCopy::copyTensor(ValueRange coordinates, Value place) {
  int64_t bufferRows = ring.bufferRows(buffer);
  int64_t cluster = copy.getMulticast() ? context.schedule.getCluster() : 1;
  int64_t parts = llvm::divideCeil(rows, mostBoxRows), boxRows = rows / parts / cluster;
  int64_t columns = copy.getColumns().value_or(ring.bufferColumns(buffer));
  int64_t inner = panelBytes / ring.elementBytes(buffer);
  SmallVector<int64_t> box{inner, boxRows};
  box.resize(coordinates.size(), 1);
  Value full = ring.fullBarrier(slot.slot), destination = ring.slotPointer(buffer, slot.slot);
  Value map = context.parameters.tensorMap(mapOf(TensorMapKind::dense, box));
  if (place)
    destination = b.byteOffset(destination, b.mul(place, panelBytes));
  for (int64_t panel = 0; panel < columns / inner; ++panel)
    for (int64_t part = 0; part < parts; ++part) {
      Values at(llvm::reverse(coordinates)); // innermost first
      at[0] = b.add(at[0], panel * inner);
      at[1] = b.add(at[1], part * boxRows * cluster);
      int64_t offset = (panel * bufferRows + firstRow + part * boxRows * cluster) * panelBytes;
      load(b.byteOffset(destination, offset), map, at, full, boxRows, cluster, panelBytes);
    }
}

/// One box; with several CTAs this CTA's share of theirs, which have `boxRows` each.
void TensorCopy::load(Value destination, Value map, Values at, Value full, int64_t boxRows, int64_t cluster,
                      int64_t rowBytes) {
  if (cluster == 1)
    return ptx::tensorLoad(b, destination, map, at, full);
  Value rank = ptx::clusterRank(b);
  at[1] = b.add(at[1], b.mul(rank, boxRows));
  destination = b.byteOffset(destination, b.mul(rank, boxRows * rowBytes));
  ptx::tensorLoadMulticast(b, destination, map, at, full, (1 << cluster) - 1);
}

/// Rows of one block: {columns, rows, blocks}.
void TensorCopy::copyBlock(ValueRange coordinates, Value column) {
  int64_t cluster = copy.getMulticast() ? context.schedule.getCluster() : 1;
  int64_t boxRows = rows / cluster;
  Value map = mapOfBlocks({ring.bufferColumns(buffer), boxRows, 1}, column);
  Value full = ring.fullBarrier(slot.slot);
  Value destination = b.byteOffset(ring.slotPointer(buffer, slot.slot), firstRow * panelBytes);
  load(destination, map, Values(llvm::reverse(coordinates)), full, boxRows, cluster, panelBytes);
}

/// {elements of a line, lines, blocks}: a block as a whole.
void TensorCopy::copyLines(ValueRange coordinates) {
  constexpr int64_t lineBytes = 128;
  int64_t cluster = copy.getMulticast() ? context.schedule.getCluster() : 1;
  int64_t boxLines = rows * panelBytes / lineBytes / cluster;
  TensorMapAttr map = mapOf(TensorMapKind::bsr_lines, {lineBytes / ring.elementBytes(buffer), boxLines, 1});
  Value destination = b.byteOffset(ring.slotPointer(buffer, slot.slot), firstRow * panelBytes);
  load(destination, context.parameters.tensorMap(map), Values(llvm::reverse(coordinates)), ring.fullBarrier(slot.slot),
       boxLines, cluster, lineBytes);
}

/// Elements beyond K do not count, but a NaN among them would in the product with the zeros of X. The map of blocks
/// that K cuts ends there, so that the copy brings zeros. There is such a block column K / block columns or none.
Value TensorCopy::mapOfBlocks(ArrayRef<int64_t> box, Value column) {
  Value whole = context.parameters.tensorMap(mapOf(TensorMapKind::bsr_values, box));
  if (!column)
    return whole;
  Value depth = context.parameters.get(ParameterKind::size, argument, 1);
  Value cutColumn = b.divide(depth, cast<BsrType>(copy.getSource().getType()).getBlockColumns());
  Value isCut = b.compare(arith::CmpIPredicate::eq, column, cutColumn);
  return b.select(isCut, context.parameters.tensorMap(mapOf(TensorMapKind::bsr_edge_values, box)), whole);
}

} // namespace

void sparsec::emitTensorCopy(ProgramContext &context, CopyOp copy, Ring &ring, Ring::State slot, ValueRange coordinates,
                             Value blockColumn, Value place) {
  TensorCopy emitter(context, copy, ring, slot);
  if (copy.getLines())
    emitter.copyLines(coordinates);
  else if (isa<BsrType>(copy.getSource().getType()))
    emitter.copyBlock(coordinates, blockColumn);
  else
    emitter.copyTensor(coordinates, place);
}
