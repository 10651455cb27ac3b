// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of a tile of a product: the epilogue on the accumulators in registers, for all its stores, and the store from
// registers. RowStore.h is that of attention.

#ifndef SPARSEC_EMIT_STORE_TILE_H
#define SPARSEC_EMIT_STORE_TILE_H

#include "ProgramContext.h"

#include "llvm/ADT/DenseMap.h"

namespace sparsec {

/// Coordinates in the result of the elements that this thread holds, one group of 8 columns at a time. The values of
/// blocks are a matrix too: that of all their rows, one block after the other. Of swapped accumulators (see StoreOp)
/// they are coordinates in the transpose of the result.
class ElementCoordinates {
public:
  ElementCoordinates(ProductContext &context, const TilePosition &position, AccumulatorFragment &fragment);
  virtual ~ElementCoordinates() = default;

  /// The functions below are about this group. Its addresses are computed here and not kept from group to group: with
  /// those of all groups at once in registers, accumulators would spill. `zero` is an i32 that they shall wait for, or
  /// null.
  virtual void beginGroup(int64_t group, mlir::Value zero = mlir::Value());

  mlir::Value m(int64_t slab, int64_t half) { return b.add(groupRow, slabRows * slab + 8 * half); }
  mlir::Value n(int64_t element) { return b.add(groupColumn, element); }
  /// Inside the matrix, for loads whose value is not used otherwise.
  mlir::Value clampedM(int64_t slab, int64_t half) { return b.minimum(m(slab, half), b.sub(rowCount, 1)); }
  mlir::Value clampedN(int64_t element) { return b.minimum(n(element), b.sub(columnCount, 1)); }
  /// The elements of a vector with one for each row or column of the product, for such loads.
  virtual mlir::Value ofRow(int64_t slab, int64_t half) { return clampedM(slab, half); }
  virtual mlir::Value ofColumn(int64_t element) { return clampedN(element); }
  /// The functions below are about one element, slab 0, half 0 and element 0 of its group: the only one of a group of
  /// one.
  virtual void beginElement(mlir::Value element);
  virtual mlir::Value rowIsValid(int64_t slab, int64_t half);
  mlir::Value columnIsValid(int64_t element) { return b.less(n(element), columnCount); }
  /// Whether the element is one of the product: an element of a stored block may be beyond M or N.
  virtual mlir::Value isInProduct(int64_t slab, int64_t half, int64_t element) {
    return b.logicalAnd(rowIsValid(slab, half), columnIsValid(element));
  }

protected:
  KernelBuilder &b;
  mlir::Value rowCount, columnCount, rowInBlock, row, column, groupRow, groupColumn;
  int64_t blockRows, groups, slabRows;
  bool masksBlockRow;
};

/// The coordinates of the elements of a store, or those of elements in blocks where the position has a block.
std::unique_ptr<ElementCoordinates> makeCoordinates(ProductContext &context, const TilePosition &position,
                                                    AccumulatorFragment &fragment);

/// One extra operand of the epilogue. What depends only on the row or on nothing is loaded once; neighbours in memory
/// are loaded in pairs where the variant's alignment allows it.
class ExtraOperand {
public:
  ExtraOperand(ProductContext &context, StoreOp store, mlir::Value operand, Broadcast ofResult);
  mlir::Value element(ElementCoordinates &at, int64_t slab, int64_t half, int64_t index);
  /// That of the one element that `at` is about, loaded on its own.
  mlir::Value element(ElementCoordinates &at);
  /// Registers that hold the elements of one group.
  int64_t registersPerGroup();
  void beginGroup() {
    inGroup.clear();
    pairs[0].clear();
    pairs[1].clear();
  }

private:
  using Cache = llvm::DenseMap<std::pair<int64_t, int64_t>, mlir::Value>;
  mlir::Value cached(Cache &cache, std::pair<int64_t, int64_t> key, llvm::function_ref<mlir::Value()> make);
  mlir::Value scalar();
  mlir::Value full(ElementCoordinates &at, int64_t slab, int64_t half, int64_t index);
  llvm::ArrayRef<mlir::Value> pair(ElementCoordinates &at, int64_t slab, int64_t half);
  mlir::Value offset(mlir::Value outer, mlir::Value inner);
  mlir::Type elementType();
  mlir::Value pointer(mlir::Value index);
  mlir::Value load(mlir::Value index);

  ProductContext &context;
  Broadcast broadcast;
  bool transposed, inPairs, maybeOddWidth;
  int64_t argument;
  mlir::Type type;
  Cache inTile, inGroup;
  KernelBuilder::Values pairs[2]; // of the group, by half
};

/// Replaces accumulators by the results of the epilogue: of a short one when the store gets there, one group of 8
/// columns at a time, of a long one before the store. Shares the coordinates of the store; an epilogue that is not the
/// identity begins the group.
class TileEpilogue {
public:
  TileEpilogue(ProductContext &context, StoreOp store, ElementCoordinates &at, AccumulatorFragment &fragment);
  /// Before the first group.
  void begin();
  void apply(int64_t slab, int64_t group);

private:
  bool isIdentity();
  mlir::Value masked(mlir::Value accumulator, int64_t slab, int64_t half, int64_t element);
  mlir::Value startAfter(mlir::Value value, mlir::Value zero);
  mlir::Value zeroAfter(mlir::ValueRange results);

  ProductContext &context;
  StoreOp store;
  ElementCoordinates &at;
  AccumulatorFragment &fragment;
  llvm::SmallVector<ExtraOperand> extras;
  int64_t groupsAhead;         // that loads may be ahead of the arithmetic
  bool hasMask;                // accumulators of elements beyond the product may be anything, but count as zero
  KernelBuilder::Values zeros; // of all groups so far: known when the group's results are
};

/// Applies the epilogue and writes a fragment from registers, element pairs where the result is aligned, with a bounds
/// check per element.
void emitDirectStore(ProductContext &context, StoreOp store, const TilePosition &position,
                     AccumulatorFragment &fragment);

} // namespace sparsec

#endif // SPARSEC_EMIT_STORE_TILE_H
