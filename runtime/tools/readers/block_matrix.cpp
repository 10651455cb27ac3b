// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "block_matrix.h"

#include "reference/float_format.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

namespace sparsec::readers {

double nextUniform(std::mt19937_64 &generator) { return std::ldexp(double(generator() >> 11), -53); }

/// The format of the elements, and an error for types that have none and for arrays beyond the limit.
static llvm::Expected<runtime::FloatFormat> checkElements(uint64_t count, sparsec_dtype_t dtype, const Limits &limits) {
  std::optional<runtime::FloatFormat> format = runtime::getFloatFormat(dtype);
  if (!format)
    return failure("expects a floating-point element type");
  std::optional<uint64_t> bytes = multiply(count, format->bytes);
  if (!bytes || *bytes > limits.bytes)
    return failure("expects at most {} bytes of elements, but got {} elements of {} bytes", limits.bytes, count,
                   format->bytes);
  return *format;
}

/// The number of elements in `blocks` blocks. More blocks than an index can count give a number that no limit allows.
static uint64_t elementCount(size_t blocks, const BlockFormat &format) {
  return blocks > size_t(maxSize) ? UINT64_MAX : blocks * uint64_t(format.blockRows * format.blockColumns);
}

static llvm::Error checkRowOffsets(int64_t blockRows, const Limits &limits) {
  if ((uint64_t(blockRows) + 1) * sizeof(int32_t) > limits.bytes)
    return failure("expects at most {} bytes of row offsets, but got {} block rows", limits.bytes, blockRows);
  return llvm::Error::success();
}

llvm::Expected<std::vector<int32_t>> randomIntegers(uint64_t count, int64_t limit, uint64_t seed,
                                                    const Limits &limits) {
  if (count > limits.bytes / sizeof(int32_t))
    return failure("expects at most {} bytes of elements, but got {} elements of {} bytes", limits.bytes, count,
                   sizeof(int32_t));
  std::vector<int32_t> integers(count);
  std::mt19937_64 generator(seed);
  for (int32_t &integer : integers)
    integer = int32_t(nextUniform(generator) * double(limit));
  return integers;
}

llvm::Expected<std::vector<std::byte>> randomElements(uint64_t count, sparsec_dtype_t dtype, uint64_t seed,
                                                      const Limits &limits) {
  llvm::Expected<runtime::FloatFormat> format = checkElements(count, dtype, limits);
  if (!format)
    return format.takeError();
  std::vector<std::byte> elements(count * format->bytes);
  std::mt19937_64 generator(seed);
  for (uint64_t index = 0; index < count; ++index)
    runtime::storeElement(elements.data(), index, 2.0 * nextUniform(generator) - 1.0, *format);
  return elements;
}

/// Makes NaN of the elements of edge blocks that lie outside of the matrix: a kernel that lets them count shows it.
static void fillPadding(BlockMatrix &matrix, const runtime::FloatFormat &elements) {
  const auto [blockRows, blockColumns, dtype] = matrix.format;
  for (int64_t blockRow = 0; blockRow < matrix.blockRowCount(); ++blockRow) {
    int64_t rowsInside = std::min(blockRows, matrix.rows - blockRow * blockRows);
    for (int64_t block = matrix.rowPtr[blockRow]; block < matrix.rowPtr[blockRow + 1]; ++block) {
      int64_t columnsInside = std::min(blockColumns, matrix.columns - matrix.colIdx[block] * blockColumns);
      if (rowsInside == blockRows && columnsInside == blockColumns)
        continue;
      for (int64_t row = 0; row < blockRows; ++row)
        for (int64_t column = row < rowsInside ? columnsInside : 0; column < blockColumns; ++column)
          runtime::storeElement(matrix.values.data(), (block * blockRows + row) * blockColumns + column, NAN, elements);
    }
  }
}

/// Gives a matrix whose pattern is set its random values.
static llvm::Expected<BlockMatrix> fillRandomly(BlockMatrix matrix, uint64_t seed, const Limits &limits) {
  uint64_t count = elementCount(matrix.colIdx.size(), matrix.format);
  auto values = randomElements(count, matrix.format.dtype, seed, limits);
  if (!values)
    return values.takeError();
  matrix.values = std::move(*values);
  fillPadding(matrix, *runtime::getFloatFormat(matrix.format.dtype));
  matrix.nonzeros = int64_t(count);
  return matrix;
}

llvm::Expected<BlockMatrix> expandPattern(Pattern pattern, BlockFormat format, uint64_t seed, const Limits &limits) {
  if (pattern.rows > maxSize / format.blockRows || pattern.columns > maxSize / format.blockColumns)
    return failure("expects at most {} rows and columns, but got {} x {} blocks of {} x {}", maxSize, pattern.rows,
                   pattern.columns, format.blockRows, format.blockColumns);
  BlockMatrix matrix;
  matrix.rows = pattern.rows * format.blockRows;
  matrix.columns = pattern.columns * format.blockColumns;
  matrix.format = format;
  matrix.rowPtr = std::move(pattern.rowPtr);
  matrix.colIdx = std::move(pattern.colIdx);
  return fillRandomly(std::move(matrix), seed, limits);
}

llvm::Expected<BlockMatrix> randomBlockMatrix(int64_t rows, int64_t columns, double density, BlockFormat format,
                                              uint64_t seed, const Limits &limits) {
  int64_t blockRows = (rows + format.blockRows - 1) / format.blockRows;
  if (llvm::Error error = checkRowOffsets(blockRows, limits))
    return error;
  BlockMatrix matrix;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.format = format;
  matrix.rowPtr.reserve(blockRows + 1);
  matrix.rowPtr.push_back(0);
  // Its own stream of random numbers: the pattern does not depend on how many values were drawn before.
  std::mt19937_64 generator(seed);
  for (int64_t blockRow = 0; blockRow < blockRows; ++blockRow) {
    for (int64_t blockColumn = 0; blockColumn < matrix.blockColumnCount(); ++blockColumn)
      if (nextUniform(generator) < density)
        matrix.colIdx.push_back(int32_t(blockColumn));
    if (llvm::Error error = checkElements(elementCount(matrix.colIdx.size(), format), format.dtype, limits).takeError())
      return error;
    matrix.rowPtr.push_back(int32_t(matrix.colIdx.size()));
  }
  return fillRandomly(std::move(matrix), seed + 1, limits);
}

llvm::Expected<BlockMatrix> blockCoordinates(CoordinateMatrix source, BlockFormat format, const Limits &limits) {
  int64_t blockRows = (source.rows + format.blockRows - 1) / format.blockRows;
  if (llvm::Error error = checkRowOffsets(blockRows, limits))
    return error;
  auto blockOf = [&](const Entry &entry) {
    return std::pair(entry.row / format.blockRows, entry.column / format.blockColumns);
  };
  // By value too, so that elements at the same place always add up in the same order.
  auto keyOf = [&](const Entry &entry) { return std::tuple(blockOf(entry), entry.row, entry.column, entry.value); };
  std::vector<Entry> &entries = source.entries;
  std::sort(entries.begin(), entries.end(),
            [&](const Entry &left, const Entry &right) { return keyOf(left) < keyOf(right); });
  size_t blocks = entries.empty() ? 0 : 1;
  for (size_t index = 1; index < entries.size(); ++index)
    blocks += blockOf(entries[index - 1]) != blockOf(entries[index]);
  uint64_t blockElements = uint64_t(format.blockRows * format.blockColumns);
  llvm::Expected<runtime::FloatFormat> elements = checkElements(elementCount(blocks, format), format.dtype, limits);
  if (!elements)
    return elements.takeError();

  BlockMatrix matrix;
  matrix.rows = source.rows;
  matrix.columns = source.columns;
  matrix.format = format;
  matrix.nonzeros = int64_t(entries.size());
  matrix.rowPtr.assign(blockRows + 1, 0);
  matrix.colIdx.reserve(blocks);
  matrix.values.resize(blocks * blockElements * elements->bytes);
  // Elements at the same place add up in double; every block is rounded once.
  std::vector<double> sums(blocks == 0 ? 0 : blockElements);
  for (size_t first = 0, last; first < entries.size(); first = last) {
    auto [blockRow, blockColumn] = blockOf(entries[first]);
    std::fill(sums.begin(), sums.end(), 0.0);
    for (last = first; last < entries.size() && blockOf(entries[last]) == blockOf(entries[first]); ++last)
      sums[(entries[last].row % format.blockRows) * format.blockColumns + entries[last].column % format.blockColumns] +=
          entries[last].value;
    for (uint64_t index = 0; index < blockElements; ++index)
      runtime::storeElement(matrix.values.data(), matrix.colIdx.size() * blockElements + index, sums[index], *elements);
    matrix.colIdx.push_back(int32_t(blockColumn));
    matrix.rowPtr[blockRow + 1] = int32_t(matrix.colIdx.size());
  }
  // Block rows without blocks end where the row before them ends.
  for (int64_t blockRow = 0; blockRow < blockRows; ++blockRow)
    matrix.rowPtr[blockRow + 1] = std::max(matrix.rowPtr[blockRow + 1], matrix.rowPtr[blockRow]);
  return matrix;
}

} // namespace sparsec::readers
