// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operands of the benchmark: random values, made once for an element type and shared by all cases, and the check of
// results.

#ifndef SPARSEC_BENCH_WORKLOAD_H
#define SPARSEC_BENCH_WORKLOAD_H

#include "dense_library.h"
#include "harness/handles.h"
#include "masks.h"

#include <string>
#include <vector>

namespace sparsec::bench {

/// The parts of K for which X has a scale each.
inline int64_t partsOfK(const ProductSize &size) {
  return (size.depth + SPARSEC_X_SCALE_DEPTH - 1) / SPARSEC_X_SCALE_DEPTH;
}

/// W and X are N(0, 1). The same numbers serve as the blocks of every pattern and as the dense W, and as X in both
/// layouts.
struct Operands {
  /// `moreBytes` of device memory beyond W repeat its values.
  Operands(sparsec_device_t device, const ProductSize &size, sparsec_dtype_t dtype, size_t moreBytes = 0);

  sparsec_device_t device;
  ProductSize size;
  sparsec_dtype_t dtype;
  std::vector<float> hostW, hostX; // elements of `dtype`
  harness::DeviceBuffer w, x;
  harness::DeviceBuffer scales; // ones, as many as a matrix has blocks of 16 x 16
  harness::DeviceBuffer xScale; // ones, N x partsOfK
  harness::DeviceBuffer y;      // large enough for f32
};

/// One pattern, on the host and on the device. A transposed matrix is stored as K x M; its blocks are stored
/// transposed, too.
struct Matrix {
  Matrix(const Operands &operands, int64_t blockRows, int64_t blockColumns, const MaskCase &mask, bool isTransposed);

  harness::BlockPattern pattern;   // of the stored matrix
  int64_t blockRows, blockColumns; // of the M x K matrix
  bool isTransposed;
  harness::DeviceBuffer rowPtr, colIdx;
  sparsec_blocks_t view;

  size_t valueBytes() const {
    return pattern.blockCount() * blockRows * blockColumns * sparsec_dtype_bytes(view.dtype);
  }

  struct Block {
    int64_t number, column; // among the values, and of the M x K matrix
  };
  std::vector<Block> blocksOfRow(int64_t blockRow) const;
};

/// Some rows of W X in double.
struct SampledRows {
  SampledRows(const Operands &operands, const Matrix &matrix, bool denseTransposed);

  std::vector<int64_t> rows;
  std::vector<double> product, magnitude; // rows x N: sums of w x and of |w x|
};

/// Fetches Y and compares it with the sampled rows; every other element must at least not be NaN. Empty when right.
std::string findError(const Operands &operands, const SampledRows &expected, sparsec_dtype_t dtype,
                      bool resultTransposed, std::vector<char> &resultBytes);

} // namespace sparsec::bench

#endif // SPARSEC_BENCH_WORKLOAD_H
