// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "workload.h"
#include "harness/numeric.h"
#include "harness/parallel.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>

namespace sparsec::bench {

using namespace harness;

namespace {

enum : uint64_t { weightSeed = 1, denseSeed = 2, sampleSeed = 4 };
constexpr int64_t sampledRowCount = 8;

std::vector<float> randomValues(int64_t count, uint64_t seed, sparsec_dtype_t dtype) {
  std::vector<float> values(count);
  parallelFor(count, 1 << 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      values[i] = static_cast<float>(roundToDtype(dtype, randomNormal(seed, i)));
  });
  return values;
}

/// The elements, and the first of them again in `moreBytes` behind them.
DeviceBuffer upload(sparsec_device_t device, const std::vector<float> &values, sparsec_dtype_t dtype,
                    size_t moreBytes = 0) {
  const size_t bytes = values.size() * sparsec_dtype_bytes(dtype);
  std::vector<char> elements(bytes + moreBytes);
  parallelFor(static_cast<int64_t>(values.size()), 1 << 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      storeElement(dtype, elements.data(), i, values[i]);
  });
  for (size_t i = bytes; i < elements.size(); i += bytes)
    std::copy_n(elements.begin(), std::min(bytes, elements.size() - i), elements.begin() + static_cast<ptrdiff_t>(i));
  return uploadArray(device, elements);
}

} // namespace

Operands::Operands(sparsec_device_t device, const ProductSize &size, sparsec_dtype_t dtype, size_t moreBytes)
    : device(device), size(size), dtype(dtype), hostW(randomValues(size.rows * size.depth, weightSeed, dtype)),
      hostX(randomValues(size.depth * size.columns, denseSeed, dtype)), w(upload(device, hostW, dtype, moreBytes)),
      x(upload(device, hostX, dtype)), scales(uploadArray(device, std::vector<float>(size.rows * size.depth / 256, 1))),
      xScale(uploadArray(device, std::vector<float>(size.columns * partsOfK(size), 1))),
      y(device, size.rows * size.columns * sizeof(float)) {}

Matrix::Matrix(const Operands &operands, int64_t blockRows, int64_t blockColumns, const MaskCase &mask,
               bool isTransposed)
    : blockRows(blockRows), blockColumns(blockColumns), isTransposed(isTransposed) {
  int64_t rows = operands.size.rows, columns = operands.size.depth;
  if (isTransposed) {
    std::swap(rows, columns);
    std::swap(blockRows, blockColumns);
  }
  pattern = mask.mask->make(rows / blockRows, columns / blockColumns, mask.density);
  rowPtr = uploadArray(operands.device, pattern.rowPtr);
  colIdx = uploadArray(operands.device, pattern.colIdx);
  view = sparsec_blocks_bsr(rows, columns, static_cast<int32_t>(blockRows), static_cast<int32_t>(blockColumns),
                            pattern.blockCount(), static_cast<const int32_t *>(rowPtr.data()),
                            static_cast<const int32_t *>(colIdx.data()), operands.dtype, operands.w.data());
}

std::vector<Matrix::Block> Matrix::blocksOfRow(int64_t blockRow) const {
  std::vector<Block> blocks;
  for (int64_t i = 0; i < pattern.blockRows; ++i)
    for (int32_t p = pattern.rowPtr[i]; p < pattern.rowPtr[i + 1]; ++p)
      if ((isTransposed ? pattern.colIdx[p] : i) == blockRow)
        blocks.push_back({p, isTransposed ? i : pattern.colIdx[p]});
  return blocks;
}

SampledRows::SampledRows(const Operands &operands, const Matrix &matrix, bool denseTransposed) {
  const ProductSize &size = operands.size;
  for (int64_t s = 0; s < sampledRowCount; ++s) // one in every eighth of the rows
    rows.push_back((s * size.rows + static_cast<int64_t>(randomBits(sampleSeed, s) % size.rows)) / sampledRowCount);
  product.assign(rows.size() * size.columns, 0);
  magnitude.assign(rows.size() * size.columns, 0);

  std::vector<std::vector<Matrix::Block>> blocks;
  blocks.reserve(rows.size());
  for (int64_t row : rows)
    blocks.push_back(matrix.blocksOfRow(row / matrix.blockRows));
  // All blocks of one sampled row over one piece of the columns.
  auto multiply = [&](int64_t sample, int64_t begin, int64_t end) {
    int64_t row = rows[sample] % matrix.blockRows;
    double *sum = product.data() + sample * size.columns, *bound = magnitude.data() + sample * size.columns;
    for (const Matrix::Block &block : blocks[sample]) {
      const float *w = operands.hostW.data() + block.number * matrix.blockRows * matrix.blockColumns;
      int64_t firstDepth = block.column * matrix.blockColumns;
      auto add = [&](int64_t n, int64_t c, float x) {
        int64_t element = matrix.isTransposed ? c * matrix.blockRows + row : row * matrix.blockColumns + c;
        double term = static_cast<double>(w[element]) * x;
        sum[n] += term;
        bound[n] += std::abs(term);
      };
      // Along the contiguous dimension of X.
      if (denseTransposed)
        for (int64_t n = begin; n < end; ++n)
          for (int64_t c = 0; c < matrix.blockColumns; ++c)
            add(n, c, operands.hostX[n * size.depth + firstDepth + c]);
      else
        for (int64_t c = 0; c < matrix.blockColumns; ++c)
          for (int64_t n = begin; n < end; ++n)
            add(n, c, operands.hostX[(firstDepth + c) * size.columns + n]);
    }
  };
  constexpr int64_t piece = 64;
  int64_t pieces = (size.columns + piece - 1) / piece;
  parallelFor(sampledRowCount * pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      multiply(i / pieces, i % pieces * piece, std::min(size.columns, (i % pieces + 1) * piece));
  });
}

std::string findError(const Operands &operands, const SampledRows &expected, sparsec_dtype_t dtype,
                      bool resultTransposed, std::vector<char> &resultBytes) {
  const ProductSize &size = operands.size;
  int64_t count = size.rows * size.columns;
  resultBytes.resize(count * sparsec_dtype_bytes(dtype));
  check(sparsec_memory_download(operands.device, resultBytes.data(), operands.y.data(), resultBytes.size()));

  std::atomic<int64_t> notWritten{0};
  parallelFor(count, 1 << 16, [&](int64_t begin, int64_t end) {
    int64_t found = 0;
    for (int64_t i = begin; i < end; ++i)
      found += std::isnan(loadElement(dtype, resultBytes.data(), i));
    notWritten += found;
  });
  if (notWritten > 0)
    return fmt::format("{} of {} elements are NaN or not written", notWritten.load(), count);

  // The matrix instructions keep few bits of fp8 sums (dialect/SPEC.md); random ones lose less than the bound.
  double lost = sparsec_dtype_bytes(operands.dtype) == 1 ? 0x1p-10 : 1e-6;
  for (size_t sample = 0; sample < expected.rows.size(); ++sample)
    for (int64_t n = 0; n < size.columns; ++n) {
      int64_t m = expected.rows[sample], position = sample * size.columns + n;
      double got = loadElement(dtype, resultBytes.data(), resultTransposed ? n * size.rows + m : m * size.columns + n);
      double exact = expected.product[position];
      double allowed = 2 * unitInLastPlace(dtype, exact) + lost * expected.magnitude[position];
      if (!(std::abs(got - exact) <= allowed))
        return fmt::format("y[{}, {}] is {}, but should be {} within {}", m, n, got, exact, allowed);
    }
  return {};
}

} // namespace sparsec::bench
