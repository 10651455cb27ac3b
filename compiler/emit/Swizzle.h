// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The swizzle of buffers in shared memory: that of tensor copies and of descriptors (PTX ISA, "Swizzling modes"), which
// buffers that threads fill have too.

#ifndef SPARSEC_EMIT_SWIZZLE_H
#define SPARSEC_EMIT_SWIZZLE_H

#include "KernelBuilder.h"

#include "llvm/Support/MathExtras.h"

namespace sparsec {

/// Vectors of 16 bytes in rows of `vectors` of them, a power of two up to 8: a row of 128, 64, 32 or 16 bytes, or a
/// part of a longer one. Vector v of row r is stored at v xor key(r). The same vector of 8 consecutive rows is thus in
/// 8 different groups of 4 banks: ldmatrix reads those together.
struct Swizzle {
  int64_t vectors;

  /// That of so many bytes, or of none.
  static Swizzle ofBytes(int64_t bytes) { return {std::max<int64_t>(bytes / vectorBytes, 1)}; }

  int64_t bytes() const { return vectors > 1 ? vectors * vectorBytes : 0; }

  mlir::Value key(KernelBuilder &b, mlir::Value row) const {
    return vectors == 8 ? b.bitAnd(row, 7) : b.bitAnd(b.shiftRight(row, llvm::Log2_64(8 / vectors)), vectors - 1);
  }
  int64_t key(int64_t row) const { return row / (8 / vectors) % vectors; }
  /// The place of a vector in its row.
  mlir::Value place(KernelBuilder &b, mlir::Value row, mlir::Value vector) const {
    return b.bitXor(vector, key(b, row));
  }
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SWIZZLE_H
