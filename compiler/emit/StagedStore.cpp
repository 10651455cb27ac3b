// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StagedStore.h"

#include "Ptx.h"
#include "StoreTile.h"
#include "Swizzle.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t warpRows = 16, warpgroupThreads = 128;

/// The results of a group are stored in chunks of `columns` columns of the accumulators, and 64 rows of a warpgroup or
/// 16 of a warp. A chunk is in a staging buffer as its tensor store needs it: these rows with `columns` elements, or
/// where rows of the accumulators are contiguous in the result `columns` rows with as many elements as the chunk has
/// rows, in the swizzle of its row length. Of the values of blocks, a chunk is a part of one block, whose rows end
/// where those of the block do.
class StagedStore {
public:
  StagedStore(ProductContext &context, StoreOp store, const TilePosition &position, AccumulatorFragment &fragment,
              Value consumer, Value groupRow)
      : context(context), b(context.b), position(position), fragment(fragment),
        at(makeCoordinates(context, position, fragment)), epilogue(context, store, *at, fragment), consumer(consumer),
        transposed(store.isContiguousAlongRows()), element(store.getResult().getType().getElementType()),
        columns((*store.getStaging())[1]), buffers((*store.getStaging())[2]), rows(fragment.slabRows),
        bufferBytes(rows * columns * 2), rowBytes(transposed ? 2 * rows : 2 * columns) {
    // Addresses are computed here, once per tile: kept from tile to tile they would take registers that the
    // accumulators need.
    Value thread = ptx::opaque(b, b.bitAnd(context.thread, isWarp() ? 31 : warpgroupThreads - 1));
    isLeader = b.equal(thread, 0);
    warp = b.shiftRight(thread, 5);
    lane = b.bitAnd(thread, 31);
    staging = b.byteOffset(b.byteOffset(context.sharedMemory, (*store.getStaging())[0]),
                           b.mul(consumer, buffers * bufferBytes));
    rowInBlock = b.add(position.rowInBlock, groupRow);
    firstRow = b.add(b.mul(position.blockRow, context.matrix.getBlockRows()), rowInBlock);
    firstColumn = b.add(position.column, fragment.column);
    if (position.isSwapped)
      std::swap(firstRow, firstColumn);
  }

  /// The first chunks of a tile fill all buffers and share a fence. Each of the others waits for the store of the chunk
  /// that has its buffer.
  void emit() {
    epilogue.begin();
    const int64_t chunks = fragment.slabs * chunksOfSlab(), filled = std::min(buffers, chunks);
    emitChunks(0, filled, /*pending=*/0);
    for (int64_t chunk = filled; chunk < chunks; ++chunk)
      emitChunks(chunk, 1, buffers - 1);
  }

private:
  /// The tensor stores that read the buffers last must be done with them: all but `pending` of those before.
  void emitChunks(int64_t first, int64_t count, int64_t pending) {
    auto bufferOf = [&](int64_t chunk) { return b.byteOffset(staging, (chunk % buffers) * bufferBytes); };
    b.ifThen(isLeader, [&] { ptx::bulkWait(b, pending, /*read=*/true); });
    barrier();
    for (int64_t chunk = first; chunk < first + count; ++chunk)
      writeChunk(chunk, bufferOf(chunk));
    ptx::proxyFence(b);
    barrier();
    b.ifThen(isLeader, [&] {
      for (int64_t chunk = first; chunk < first + count; ++chunk) {
        if (Value isThere = condition(chunk))
          b.ifThen(isThere, [&] { storeChunk(chunk, bufferOf(chunk)); });
        else
          storeChunk(chunk, bufferOf(chunk));
        // Also without a store: every chunk has a group, so that the wait for a buffer counts that of its last store.
        ptx::bulkCommit(b);
      }
    });
  }

  int64_t chunksOfSlab() { return 8 * fragment.groups / columns; }

  bool isWarp() { return rows == warpRows; }
  void barrier() {
    if (isWarp())
      ptx::barrierWarp(b);
    else
      ptx::barrierNamed(b, b.add(consumer, 1), warpgroupThreads);
  }

  /// When a chunk is stored; null if always. Rows below the end of the block row belong to the next one, and blocks at
  /// the end may not be there.
  Value condition(int64_t chunk) {
    int64_t blockRows = context.matrix.getBlockRows();
    Value isInRow, isBlock;
    if (context.crossesBlockRows())
      isInRow = b.less(rowInBlock, blockRows);
    if (position.firstBlock)
      isBlock = b.less(blockOf(chunk), position.endBlock);
    return isInRow && isBlock ? b.logicalAnd(isInRow, isBlock) : isInRow ? isInRow : isBlock;
  }

  /// The number of the block that a chunk is a part of.
  Value blockOf(int64_t chunk) { return b.add(position.firstBlock, chunk * columns / position.blockStride); }

  /// Address of 16 bytes: unit `unit` of row `row` of a swizzled buffer.
  Value swizzled(Value buffer, Value row, Value unit) {
    Value place = Swizzle::ofBytes(rowBytes).place(b, row, unit);
    return b.byteOffset(buffer, b.add(b.mul(row, rowBytes), b.shiftLeft(place, 4)));
  }

  /// Four 8x8 matrices at a time: two groups of 8 columns, each with its upper and lower 8 rows. Lanes 8 i .. 8 i + 7
  /// give the addresses of the rows of matrix i (PTX ISA 9.7.14.5.16).
  void writeChunk(int64_t chunk, Value buffer) {
    int64_t slab = chunk / chunksOfSlab(), firstGroup = chunk % chunksOfSlab() * columns / 8;
    for (int64_t pair = 0; pair < columns / 16; ++pair) {
      Values registers;
      for (int64_t column = 0; column < 2; ++column) {
        int64_t group = firstGroup + 2 * pair + column;
        epilogue.apply(slab, group);
        for (int64_t half = 0; half < 2; ++half)
          registers.push_back(
              ptx::pack(b, element, fragment.at(slab, group, 2 * half), fragment.at(slab, group, 2 * half + 1)));
      }
      Value column = b.shiftRight(lane, 4), half = b.bitAnd(b.shiftRight(lane, 3), 1), inMatrix = b.bitAnd(lane, 7);
      Value m = b.add(b.mul(warp, 16), b.add(b.mul(half, 8), inMatrix)); // row of the result
      if (transposed) {
        Value n = b.add(b.add(b.mul(column, 8), inMatrix), 16 * pair);
        ptx::storeMatrix(b, swizzled(buffer, n, b.add(b.mul(warp, 2), half)), registers, /*transposed=*/true);
      } else {
        ptx::storeMatrix(b, swizzled(buffer, m, b.add(column, 2 * pair)), registers, /*transposed=*/false);
      }
    }
  }

  void storeChunk(int64_t chunk, Value buffer) {
    SmallVector<int64_t> box{columns, rows};
    Values coordinates{b.add(firstColumn, chunk % chunksOfSlab() * columns),
                       b.add(firstRow, chunk / chunksOfSlab() * rows)};
    if (position.firstBlock) {
      box.push_back(1);
      coordinates = {b.i32(chunk * columns % position.blockStride), rowInBlock, blockOf(chunk)};
    } else if (transposed) {
      std::swap(box[0], box[1]);
      std::swap(coordinates[0], coordinates[1]);
    }
    auto map = TensorMapAttr::get(b.getContext(), TensorMapKind::dense, context.resultArgument, rowBytes, box);
    ptx::tensorStore(b, context.parameters.tensorMap(map), buffer, coordinates);
  }

  ProductContext &context;
  KernelBuilder &b;
  TilePosition position;
  AccumulatorFragment &fragment;
  std::unique_ptr<ElementCoordinates> at;
  TileEpilogue epilogue;
  Value consumer;
  bool transposed;
  Type element;
  int64_t columns, buffers, rows, bufferBytes, rowBytes;
  Value isLeader, warp, lane, staging, rowInBlock, firstRow, firstColumn;
};

} // namespace

void sparsec::emitStagedStore(ProductContext &context, StoreOp store, const TilePosition &position,
                              AccumulatorFragment &fragment, Value consumer, Value groupRow) {
  StagedStore(context, store, position, fragment, consumer, groupRow).emit();
}
