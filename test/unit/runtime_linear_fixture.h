// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of cudaLinear() loaded on the fake device, with arguments for it in the fake's memory.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_LINEAR_FIXTURE_H
#define SPARSEC_TEST_UNIT_RUNTIME_LINEAR_FIXTURE_H

#include "runtime_kernel_fixture.h"

namespace sparsec::test {

class LinearOnFake : public KernelOnFake {
protected:
  enum { w, x, bias, alpha, y };

  void SetUp() override { load(cudaLinear()); }

  /// Arguments of an m x k matrix without blocks and width n, contiguous and aligned. Memory that only a GPU would read
  /// is made up.
  void setArguments(int64_t m, int64_t k, int64_t n) {
    rowPtr.assign(1, 0);
    arguments = {sparsec_blocks_bsr(m, k, 64, 64, 0, rowPtr.data(), nullptr, SPARSEC_DTYPE_BF16, at(0x100000)),
                 sparsec_dense_2d(at(0x200000), SPARSEC_DTYPE_BF16, k, n),
                 sparsec_dense_1d(at(0x300000), SPARSEC_DTYPE_F32, m), 0.5,
                 sparsec_dense_2d(at(0x400000), SPARSEC_DTYPE_BF16, m, n)};
  }

  /// Gives the matrix one list of block columns per block row.
  void setPattern(const std::vector<std::vector<int32_t>> &rows) {
    rowPtr.assign(1, 0);
    colIdx.clear();
    for (const auto &row : rows) {
      colIdx.insert(colIdx.end(), row.begin(), row.end());
      rowPtr.push_back(int32_t(colIdx.size()));
    }
    sparsec_blocks_t &matrix = arguments[w].blocks;
    matrix.full = {rowPtr.data(), colIdx.data()};
    matrix.capacity = int64_t(colIdx.size());
  }

  std::vector<int32_t> rowPtr, colIdx;
};

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_LINEAR_FIXTURE_H
