// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scipy.h"

#include "numpy.h"
#include "reference/numbers.h"
#include "zip_archive.h"

#include <algorithm>

#include <string>

namespace sparsec::readers {

namespace {
/// One array of the archive, with the bytes that it views.
class Member {
public:
  llvm::Error read(llvm::StringRef archive, llvm::StringRef member, llvm::StringRef name, const Limits &limits) {
    auto contents = readZipMember(archive, member, name, limits);
    if (!contents)
      return contents.takeError();
    bytes = std::move(*contents);
    label = fmt::format("{}: {}", view(name), view(member));
    auto parsed = readNumpy(bytes, label);
    if (!parsed)
      return parsed.takeError();
    array = std::move(*parsed);
    return llvm::Error::success();
  }

  std::string bytes, label;
  NumpyArray array;
};
} // namespace

/// `format.npy` holds the name of SciPy's sparse format as one byte string.
static llvm::Error checkFormat(llvm::StringRef archive, llvm::StringRef name, const BlockFormat &format,
                               const Limits &limits) {
  Member member;
  if (llvm::Error error = member.read(archive, "format.npy", name, limits))
    return error;
  if (member.array.kind != 'S' || member.array.data != "bsr")
    return failure("{}: expects a BSR matrix, but got format {} (matrix.tobsr(({}, {})) converts)", view(name),
                   quote(member.array.data), format.blockRows, format.blockColumns);
  return llvm::Error::success();
}

static llvm::Expected<std::vector<int32_t>> readIndices(llvm::StringRef archive, llvm::StringRef member,
                                                        llvm::StringRef name, const Limits &limits) {
  Member indices;
  if (llvm::Error error = indices.read(archive, member, name, limits))
    return error;
  if (indices.array.shape.size() != 1)
    return failure("{}: expects 1 dimension, but got {}", indices.label, indices.array.shape.size());
  return convertIndices(indices.array, indices.label);
}

/// The sizes. SciPy demands multiples of the block; a file from elsewhere may have blocks that reach beyond the matrix.
static llvm::Error readShape(llvm::StringRef archive, llvm::StringRef name, const Limits &limits, BlockMatrix &matrix) {
  auto shape = readIndices(archive, "shape.npy", name, limits);
  if (!shape)
    return shape.takeError();
  if (shape->size() != 2)
    return failure("{}: shape.npy: expects 2 sizes, but got {}", view(name), shape->size());
  matrix.rows = (*shape)[0];
  matrix.columns = (*shape)[1];
  return llvm::Error::success();
}

static llvm::Error checkPattern(const BlockMatrix &matrix, llvm::StringRef name) {
  int64_t blockRows = (matrix.rows + matrix.format.blockRows - 1) / matrix.format.blockRows;
  if (matrix.blockRowCount() != blockRows)
    return failure("{}: indptr.npy: expects {} row offsets, but got {}", view(name), blockRows + 1,
                   matrix.rowPtr.size());
  if (matrix.rowPtr.front() != 0 || matrix.rowPtr.back() != matrix.blockCount())
    return failure("{}: indptr.npy: expects row offsets from 0 to {}, but got {} to {}", view(name),
                   matrix.blockCount(), matrix.rowPtr.front(), matrix.rowPtr.back());
  for (int64_t row = 0; row < blockRows; ++row)
    if (matrix.rowPtr[row] > matrix.rowPtr[row + 1])
      return failure("{}: indptr.npy: expects ascending row offsets, but got {} and {} for block rows {} and {}",
                     view(name), matrix.rowPtr[row], matrix.rowPtr[row + 1], row, row + 1);
  for (int64_t block = 0; block < matrix.blockCount(); ++block)
    if (matrix.colIdx[block] >= matrix.blockColumnCount())
      return failure("{}: indices.npy: expects block columns below {}, but block {} is in {}", view(name),
                     matrix.blockColumnCount(), block, matrix.colIdx[block]);
  return llvm::Error::success();
}

/// Elements beyond the matrix do not count.
static void countNonzeros(BlockMatrix &matrix) {
  const auto [blockRows, blockColumns, dtype] = matrix.format;
  for (int64_t blockRow = 0; blockRow < matrix.blockRowCount(); ++blockRow)
    for (int64_t block = matrix.rowPtr[blockRow]; block < matrix.rowPtr[blockRow + 1]; ++block) {
      int64_t rows = std::min(blockRows, matrix.rows - blockRow * blockRows);
      int64_t columns = std::min(blockColumns, matrix.columns - matrix.colIdx[block] * blockColumns);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
          matrix.nonzeros += runtime::readElement(matrix.values.data(), dtype,
                                                  (block * blockRows + row) * blockColumns + column) != 0.0;
    }
}

static llvm::Error readValues(llvm::StringRef archive, llvm::StringRef name, const Limits &limits,
                              BlockMatrix &matrix) {
  Member data;
  if (llvm::Error error = data.read(archive, "data.npy", name, limits))
    return error;
  const auto [blockRows, blockColumns, dtype] = matrix.format;
  if (data.array.shape != std::vector<int64_t>{matrix.blockCount(), blockRows, blockColumns})
    return failure("{}: expects {} blocks of {}x{}, but got shape ({})", data.label, matrix.blockCount(), blockRows,
                   blockColumns, fmt::join(data.array.shape, ", "));
  auto values = convertElements(data.array, dtype, data.label);
  if (!values)
    return values.takeError();
  matrix.values = std::move(*values);
  countNonzeros(matrix);
  return llvm::Error::success();
}

llvm::Expected<BlockMatrix> readSciPyBsr(llvm::StringRef bytes, llvm::StringRef name, BlockFormat format,
                                         const Limits &limits) {
  if (llvm::Error error = checkFormat(bytes, name, format, limits))
    return error;
  BlockMatrix matrix;
  matrix.format = format;
  if (llvm::Error error = readShape(bytes, name, limits, matrix))
    return error;
  auto rowPtr = readIndices(bytes, "indptr.npy", name, limits);
  if (!rowPtr)
    return rowPtr.takeError();
  auto colIdx = readIndices(bytes, "indices.npy", name, limits);
  if (!colIdx)
    return colIdx.takeError();
  matrix.rowPtr = std::move(*rowPtr);
  matrix.colIdx = std::move(*colIdx);
  if (llvm::Error error = checkPattern(matrix, name))
    return error;
  if (llvm::Error error = readValues(bytes, name, limits, matrix))
    return error;
  return matrix;
}

} // namespace sparsec::readers
