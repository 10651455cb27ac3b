// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A block-sparse (BSR) matrix in host memory, and how the files that describe one become it.

#ifndef SPARSEC_TOOLS_READERS_BLOCK_MATRIX_H
#define SPARSEC_TOOLS_READERS_BLOCK_MATRIX_H

#include "reader.h"
#include "sparsec/launch_info.h"

#include <cstddef>
#include <random>
#include <vector>

namespace sparsec::readers {

/// The matrix that the kernel takes.
struct BlockFormat {
  int64_t blockRows, blockColumns;
  sparsec_dtype_t dtype;
};

struct BlockMatrix {
  int64_t rows = 0, columns = 0;
  BlockFormat format = {1, 1, SPARSEC_DTYPE_F32};
  std::vector<int32_t> rowPtr; // one more than there are block rows
  std::vector<int32_t> colIdx;
  std::vector<std::byte> values; // blocks x block rows x block columns, of type format.dtype
  /// Elements that the source holds; stored elements divided by it is the fill-in.
  int64_t nonzeros = 0;

  int64_t blockCount() const { return int64_t(colIdx.size()); }
  int64_t blockRowCount() const { return int64_t(rowPtr.size()) - 1; }
  int64_t blockColumnCount() const { return (columns + format.blockColumns - 1) / format.blockColumns; }
};

/// The positions of nonzeros, row by row.
struct Pattern {
  int64_t rows = 0, columns = 0;
  std::vector<int32_t> rowPtr, colIdx;
};

/// One element of a sparse matrix, counted from 0.
struct Entry {
  int32_t row, column;
  double value;
};

/// A sparse matrix as a list of elements in any order; elements at the same place are added up.
struct CoordinateMatrix {
  int64_t rows = 0, columns = 0;
  std::vector<Entry> entries;
};

/// Every nonzero of the pattern stands for one block; the values are random, uniform in [-1, 1).
llvm::Expected<BlockMatrix> expandPattern(Pattern pattern, BlockFormat format, uint64_t seed, const Limits &limits);

/// Cuts a matrix into blocks and keeps those that hold an element. Edge blocks are filled up with zeros.
llvm::Expected<BlockMatrix> blockCoordinates(CoordinateMatrix matrix, BlockFormat format, const Limits &limits);

/// A random block-sparse matrix: every block is there with probability `density`. Elements beyond the matrix, which do
/// not count, are NaN.
llvm::Expected<BlockMatrix> randomBlockMatrix(int64_t rows, int64_t columns, double density, BlockFormat format,
                                              uint64_t seed, const Limits &limits);

/// Random elements of a type, uniform in [-1, 1): the same ones for the same seed, on every machine.
llvm::Expected<std::vector<std::byte>> randomElements(uint64_t count, sparsec_dtype_t dtype, uint64_t seed,
                                                      const Limits &limits);

/// Random integers of [0, limit), in the same way.
llvm::Expected<std::vector<int32_t>> randomIntegers(uint64_t count, int64_t limit, uint64_t seed, const Limits &limits);

/// A number uniform in [0, 1) with 53 random bits. The standard distributions differ between libraries.
double nextUniform(std::mt19937_64 &generator);

} // namespace sparsec::readers

#endif // SPARSEC_TOOLS_READERS_BLOCK_MATRIX_H
