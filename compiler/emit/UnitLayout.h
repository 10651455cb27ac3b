// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How buffers that cp.async or scalar copies fill and ldmatrix reads lie in shared memory: rows of 16-byte units (8
// elements), swizzled. The emitters with one role share it, and the fragments that they load.

#ifndef SPARSEC_EMIT_UNIT_LAYOUT_H
#define SPARSEC_EMIT_UNIT_LAYOUT_H

#include "Ring.h"

namespace sparsec {

inline constexpr int64_t unitElements = 8;
inline constexpr int64_t unitBytes = 16;

/// Writes a unit of 16-bit elements, given as i16: what cp.async cannot copy because it lies at any address.
void storeUnit(KernelBuilder &b, mlir::Value destination, llvm::function_ref<mlir::Value(int64_t)> element);

class UnitLayout {
public:
  UnitLayout(KernelBuilder &b, Ring ring) : b(b), ring(ring) {}

  /// A unit of a buffer: `unit + constantUnit` of row `row + constantRow`. Both units have no bit in common, nor have
  /// the rows up to bit 2; what is constant costs at most one instruction.
  struct Place {
    mlir::Value row, unit;
    int64_t constantRow = 0, constantUnit = 0;
  };
  /// Its address in shared memory.
  mlir::Value address(int64_t buffer, mlir::Value slot, const Place &place);
  /// Units in a row of a buffer.
  int64_t rowUnits(int64_t buffer) { return ring.bufferColumns(buffer) / unitElements; }

  // Operands of mma.sync m16n8k16, by all lanes of a warp. `k` counts 16 of K.

  /// A (M x K): 16 rows from `row + constantRow` on.
  KernelBuilder::Values loadA(int64_t buffer, mlir::Value slot, mlir::Value lane, mlir::Value row, int64_t constantRow,
                              int64_t k);
  /// B: 16 columns from `column + 16 * pair` on, two registers for each 8 of them. The buffer holds it as K x N, or
  /// (transposed) as N x K.
  KernelBuilder::Values loadB(int64_t buffer, mlir::Value slot, mlir::Value lane, mlir::Value column, int64_t pair,
                              int64_t k, bool transposed);

private:
  mlir::Value swizzleKey(int64_t buffer, mlir::Value row);
  int64_t swizzleKey(int64_t buffer, int64_t row);

  KernelBuilder &b;
  Ring ring;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_UNIT_LAYOUT_H
