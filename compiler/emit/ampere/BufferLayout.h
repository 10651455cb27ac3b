// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the elements of a buffer are that threads fill and ldmatrix reads: rows of 16-byte vectors, swizzled, or strips
// of such rows.

#ifndef SPARSEC_EMIT_AMPERE_BUFFER_LAYOUT_H
#define SPARSEC_EMIT_AMPERE_BUFFER_LAYOUT_H

#include "Ring.h"

namespace sparsec {

class BufferLayout {
public:
  BufferLayout(KernelBuilder &b, Ring &ring, int64_t buffer) : b(b), ring(ring), buffer(buffer) {}

  /// A vector of the buffer: `vector + constantVector` of row `row + constantRow`. The two vectors have no bit in
  /// common, nor have the rows up to bit 2, so that a constant costs at most one instruction.
  struct Place {
    mlir::Value row, vector;
    int64_t constantRow = 0, constantVector = 0;
  };
  /// Its address in shared memory.
  mlir::Value address(mlir::Value slot, const Place &place);
  int64_t rows() { return ring.bufferRows(buffer); }
  int64_t vectorElements() { return vectorBytes / ring.elementBytes(buffer); }
  int64_t vectorsOfRow() { return ring.bufferColumns(buffer) / vectorElements(); }

  // Operands of mma.sync, by all lanes of a warp. `k` counts instructions along K: 32 bytes, two vectors.

  /// A: 16 rows from `row + constantRow` on. The buffer holds it as M x K (`k`), or as K x M (`mn`) from K element
  /// `depth` on, a multiple of 16.
  KernelBuilder::Values loadA(mlir::Value slot, mlir::Value lane, mlir::Value row, mlir::Value depth,
                              int64_t constantRow, int64_t k, Major major);
  /// The two registers of A that have one vector of K, number k; the buffer holds A as M x K.
  KernelBuilder::Values loadHalfOfA(mlir::Value slot, mlir::Value lane, mlir::Value row, int64_t constantRow,
                                    int64_t k);
  /// B: 16 columns from `column + 16 * pair` on, or 8 of them with `isHalf`, two registers for each 8. The buffer holds
  /// it as K x N (`mn`) or as N x K (`k`, the only one for elements of 8 bits).
  KernelBuilder::Values loadB(mlir::Value slot, mlir::Value lane, mlir::Value column, int64_t pair, int64_t k,
                              Major major, bool isHalf);

private:
  int64_t vectorsOfStrip() { return ring.stripBytes(buffer) / vectorBytes; }
  Swizzle swizzle() { return ring.swizzle(buffer); }

  KernelBuilder &b;
  Ring &ring;
  int64_t buffer;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_AMPERE_BUFFER_LAYOUT_H
