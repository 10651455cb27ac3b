// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ampere/BufferLayout.h"

#include "Ptx.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

Value BufferLayout::address(Value slot, const Place &place) {
  const int64_t ofStrip = vectorsOfStrip(), betweenStrips = rows() * ofStrip;
  Value vector = ofStrip < vectorsOfRow() ? b.modulo(place.vector, ofStrip) : place.vector;
  Value lane =
      b.add(b.mul(place.row, ofStrip * vectorBytes), b.mul(swizzle().place(b, place.row, vector), vectorBytes));
  if (ofStrip < vectorsOfRow())
    lane = b.add(lane, b.mul(b.divide(place.vector, ofStrip), betweenStrips * vectorBytes));
  // Swizzled vectors begin at multiples of their size: the xor stays inside of them and can come last.
  int64_t vectors = swizzle().vectors;
  int64_t flipped = swizzle().key(place.constantRow) ^ (place.constantVector % vectors);
  Value pointer = b.flipAddressBits(b.byteOffset(ring.slotPointer(buffer, slot), lane), flipped * vectorBytes);
  int64_t constantVectors = place.constantRow * ofStrip + place.constantVector / ofStrip * betweenStrips +
                            place.constantVector % ofStrip / vectors * vectors;
  return b.byteOffset(pointer, constantVectors * vectorBytes);
}

/// Matrices (upper, lower rows) of the first vector of K, then of the second. Lane 8 i + j addresses row j of matrix i.
Values BufferLayout::loadA(Value slot, Value lane, Value row, Value depth, int64_t constantRow, int64_t k,
                           Major major) {
  if (major == Major::mn) {
    Value lower = b.bitAnd(b.shiftRight(lane, 3), 1), inMatrix = b.bitAnd(lane, 7), secondDepth = b.shiftRight(lane, 4);
    Value depthOfLane = b.add(depth, b.add(b.mul(secondDepth, 8), inMatrix));
    Place place{depthOfLane, b.add(b.shiftRight(row, 3), lower), 16 * k, constantRow / 8};
    return ptx::loadMatrix(b, address(slot, place), 4, /*transposed=*/true);
  }
  Place place{b.add(row, b.bitAnd(lane, 15)), b.shiftRight(lane, 4), constantRow, 2 * k};
  return ptx::loadMatrix(b, address(slot, place), 4, /*transposed=*/false);
}

/// Lanes 0 to 15 address the rows.
Values BufferLayout::loadHalfOfA(Value slot, Value lane, Value row, int64_t constantRow, int64_t k) {
  Place place{b.add(row, b.bitAnd(lane, 15)), b.i32(0), constantRow, k};
  return ptx::loadMatrix(b, address(slot, place), 2, /*transposed=*/false);
}

/// For each group of 8 columns the matrices of the first and second half of K.
Values BufferLayout::loadB(Value slot, Value lane, Value column, int64_t pair, int64_t k, Major major, bool isHalf) {
  Value upper = b.bitAnd(b.shiftRight(lane, 3), 1), inMatrix = b.bitAnd(lane, 7);
  Value group = isHalf ? b.i32(0) : b.shiftRight(lane, 4);
  const int64_t matrices = isHalf ? 2 : 4;
  if (major == Major::k) {
    Place place{b.add(column, b.add(b.mul(group, 8), inMatrix)), upper, 16 * pair, 2 * k};
    return ptx::loadMatrix(b, address(slot, place), matrices, /*transposed=*/false);
  }
  Place place{b.add(b.mul(upper, 8), inMatrix), b.add(b.shiftRight(column, 3), group), 16 * k, 2 * pair};
  return ptx::loadMatrix(b, address(slot, place), matrices, /*transposed=*/true);
}
