// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "UnitLayout.h"

#include "Ptx.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

void sparsec::storeUnit(KernelBuilder &b, Value destination, function_ref<Value(int64_t)> element) {
  Value unit = LLVM::PoisonOp::create(b, VectorType::get(unitElements, b.getIntegerType(16)));
  for (int64_t i = 0; i < unitElements; ++i)
    unit = LLVM::InsertElementOp::create(b, unit, element(i), b.i32(i));
  LLVM::StoreOp::create(b, unit, destination, /*alignment=*/unitBytes);
}

/// Units are stored at their number xor a key of the row, chosen so that the same unit of 8 consecutive rows lies in 8
/// different groups of 4 banks: ldmatrix reads those together.
Value UnitLayout::swizzleKey(int64_t buffer, Value row) {
  int64_t units = rowUnits(buffer);
  if (units >= 8)
    return b.bitAnd(row, 7);
  return b.bitAnd(b.shiftRight(row, llvm::Log2_64(8 / units)), units - 1);
}

int64_t UnitLayout::swizzleKey(int64_t buffer, int64_t row) {
  int64_t units = rowUnits(buffer);
  return units >= 8 ? row % 8 : row / (8 / units) % units;
}

Value UnitLayout::address(int64_t buffer, Value slot, const Place &place) {
  Value lane = b.add(b.mul(place.row, rowUnits(buffer) * unitBytes),
                     b.mul(b.bitXor(place.unit, swizzleKey(buffer, place.row)), unitBytes));
  // Rows begin at multiples of 128 bytes, or of their size: the xor stays inside the row and can come last.
  int64_t flipped = swizzleKey(buffer, place.constantRow) ^ (place.constantUnit % 8);
  Value pointer = b.flipAddressBits(b.byteOffset(ring.slotPointer(buffer, slot), lane), flipped * unitBytes);
  int64_t constantUnits = place.constantRow * rowUnits(buffer) + place.constantUnit / 8 * 8;
  return b.byteOffset(pointer, constantUnits * unitBytes);
}

/// Matrices (upper, lower rows) of the first 8 of K, then of the second 8. Lane 8 i + j addresses row j of matrix i.
Values UnitLayout::loadA(int64_t buffer, Value slot, Value lane, Value row, int64_t constantRow, int64_t k) {
  Place place{b.add(row, b.bitAnd(lane, 15)), b.shiftRight(lane, 4), constantRow, 2 * k};
  return ptx::loadMatrix(b, address(buffer, slot, place), 4, /*transposed=*/false);
}

/// For each group of 8 columns the matrices of the first and second 8 of K.
Values UnitLayout::loadB(int64_t buffer, Value slot, Value lane, Value column, int64_t pair, int64_t k,
                         bool transposed) {
  Value upper = b.bitAnd(b.shiftRight(lane, 3), 1), group = b.shiftRight(lane, 4), inMatrix = b.bitAnd(lane, 7);
  if (transposed) {
    Place place{b.add(column, b.add(b.mul(group, 8), inMatrix)), upper, 16 * pair, 2 * k};
    return ptx::loadMatrix(b, address(buffer, slot, place), 4, /*transposed=*/false);
  }
  Place place{b.add(b.mul(upper, 8), inMatrix), b.add(b.shiftRight(column, 3), group), 16 * k, 2 * pair};
  return ptx::loadMatrix(b, address(buffer, slot, place), 4, /*transposed=*/true);
}
