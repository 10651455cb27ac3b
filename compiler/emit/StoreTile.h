// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of a tile, for every emitter: the epilogue on the accumulators in registers, and the store from registers.

#ifndef SPARSEC_EMIT_STORE_TILE_H
#define SPARSEC_EMIT_STORE_TILE_H

#include "ProgramContext.h"

#include "llvm/ADT/DenseMap.h"

namespace sparsec {

/// Coordinates in the result of the elements that this thread holds, one group of 8 columns at a time.
class ElementCoordinates {
public:
  ElementCoordinates(ProgramContext &context, const TilePosition &position, AccumulatorFragment &fragment);

  /// What follows is about this group. Its addresses are computed here and not kept from group to group: with those of
  /// all groups at once in registers, accumulators would spill.
  void beginGroup(int64_t group);

  mlir::Value m(int64_t slab, int64_t half) { return b.add(groupRow, 16 * slab + 8 * half); }
  mlir::Value n(int64_t element) { return b.add(groupColumn, element); }
  /// Inside the matrix, for loads whose value is not used otherwise.
  mlir::Value clampedM(int64_t slab, int64_t half) { return b.minimum(m(slab, half), b.sub(rowCount, 1)); }
  mlir::Value clampedN(int64_t element) { return b.minimum(n(element), b.sub(columnCount, 1)); }
  mlir::Value rowIsValid(int64_t slab, int64_t half);
  mlir::Value columnIsValid(int64_t element) { return b.less(n(element), columnCount); }

private:
  KernelBuilder &b;
  mlir::Value rowCount, columnCount, rowInBlock, row, column, groupRow, groupColumn;
  int64_t blockRows;
  bool masksBlockRow;
};

/// One extra operand of the epilogue. What depends only on the row or on nothing is loaded once.
class ExtraOperand {
public:
  ExtraOperand(ProgramContext &context, mlir::Value operand, Broadcast broadcast, bool transposed);
  mlir::Value element(ElementCoordinates &at, int64_t slab, int64_t half, int64_t index);
  void beginGroup() { inGroup.clear(); }

private:
  using Cache = llvm::DenseMap<std::pair<int64_t, int64_t>, mlir::Value>;
  mlir::Value cached(Cache &cache, std::pair<int64_t, int64_t> key, llvm::function_ref<mlir::Value()> make);
  mlir::Value scalar();
  mlir::Value load(mlir::Value index);

  ProgramContext &context;
  Broadcast broadcast;
  bool transposed;
  int64_t argument;
  mlir::Type type;
  Cache inTile, inGroup;
};

/// Replaces accumulators by the results of the epilogue, one group of 8 columns at a time, when the store gets there.
/// Shares the coordinates of the store; an epilogue that is not the identity begins the group.
class TileEpilogue {
public:
  TileEpilogue(ProgramContext &context, StoreOp store, ElementCoordinates &at, AccumulatorFragment &fragment);
  void apply(int64_t slab, int64_t group);

private:
  ProgramContext &context;
  StoreOp store;
  ElementCoordinates &at;
  AccumulatorFragment &fragment;
  llvm::SmallVector<ExtraOperand> extras;
};

/// Applies the epilogue and writes a fragment from registers, element pairs where the result is aligned, with a bounds
/// check per element.
void emitDirectStore(ProgramContext &context, StoreOp store, const TilePosition &position,
                     AccumulatorFragment &fragment);

} // namespace sparsec

#endif // SPARSEC_EMIT_STORE_TILE_H
