// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "epilogue.h"
#include "numbers.h"
#include "operations/operation.h"
#include "steps.h"

#include <algorithm>
#include <cmath>

namespace sparsec::runtime {

namespace {

class Product {
public:
  Product(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem)
      : kernel(kernel), arguments(arguments), problem(problem),
        matrix(blocksOf(arguments[kernel.of(SPARSEC_SPMM_MATRIX)])),
        dense(denseOf(arguments[kernel.of(SPARSEC_SPMM_DENSE)])),
        isTransposed(kernel.operand(SPARSEC_SPMM_MATRIX)->layout == SPARSEC_LAYOUT_TRANSPOSED),
        isDenseTransposed(kernel.operand(SPARSEC_SPMM_DENSE)->layout == SPARSEC_LAYOUT_TRANSPOSED),
        rowsOfBlock(isTransposed ? matrix.block_columns : matrix.block_rows),
        columnsOfBlock(isTransposed ? matrix.block_rows : matrix.block_columns) {}

  /// acc and the sum of magnitudes of rows [begin, end).
  void accumulate(int64_t begin, int64_t end, double *acc, double *magnitude) const;
  /// Widens the magnitudes of rows [begin, end) to what the matrix instructions of a GPU lose of fp8 sums (SPEC.md).
  void addLossOfF8(int64_t begin, int64_t end, double *magnitude) const;
  /// Replaces the accumulators of rows [begin, end) by the epilogue's result, and carries the magnitudes (may be null)
  /// through it.
  Status applyEpilogue(int64_t begin, int64_t end, double *y, double *magnitude) const;

private:
  /// A block by its block row and block column in the M x K matrix, and its number among the values.
  struct Block {
    int64_t row, column, number;
  };
  /// The blocks that have some of rows [begin, end).
  template <typename Body> void forEachBlock(int64_t begin, int64_t end, const Body &body) const;
  double element(int64_t block, int64_t row, int64_t column) const;
  /// The columns in the stored blocks of a row, or at least as many.
  double storedDepth(int64_t m) const;
  /// The factor of a stored block.
  double scaleOf(int64_t block) const;
  /// The factor of an element of X.
  double scaleOfX(int64_t n, int64_t k) const;
  /// Elements of X, times their scales.
  void readPanel(int64_t firstK, int64_t countK, int64_t firstN, int64_t countN, double *panel) const;

  /// Columns of X that are widened to double at a time.
  static constexpr int64_t panelWidth = 512;

  const sparsec_kernel_s &kernel;
  const sparsec_argument_t *arguments;
  const Problem &problem;
  const sparsec_blocks_t &matrix;
  const sparsec_dense_t &dense;
  const bool isTransposed, isDenseTransposed;
  const int64_t rowsOfBlock, columnsOfBlock; // of the M x K matrix
};

/// x[firstK + k, firstN + n] to panel[k][n].
void Product::readPanel(int64_t firstK, int64_t countK, int64_t firstN, int64_t countN, double *panel) const {
  for (int64_t k = 0; k < countK; ++k)
    for (int64_t n = 0; n < countN; ++n) {
      int64_t row = isDenseTransposed ? firstN + n : firstK + k, column = isDenseTransposed ? firstK + k : firstN + n;
      panel[k * panelWidth + n] =
          scaleOfX(firstN + n, firstK + k) * readElement(dense.data, dense.dtype, row * dense.strides[0] + column);
    }
}

double Product::scaleOfX(int64_t n, int64_t k) const {
  if (!kernel.operand(SPARSEC_SPMM_X_SCALE))
    return 1.0;
  const sparsec_dense_t &scales = denseOf(arguments[kernel.of(SPARSEC_SPMM_X_SCALE)]);
  return readElement(scales.data, scales.dtype, n * scales.strides[0] + k / SPARSEC_X_SCALE_DEPTH);
}

double Product::scaleOf(int64_t block) const {
  if (!kernel.operand(SPARSEC_SPMM_SCALES))
    return 1.0;
  const sparsec_dense_t &scales = denseOf(arguments[kernel.of(SPARSEC_SPMM_SCALES)]);
  return readElement(scales.data, scales.dtype, block * scales.strides[0]);
}

void Product::accumulate(int64_t begin, int64_t end, double *acc, double *magnitude) const {
  std::vector<double> panel(columnsOfBlock * panelWidth);
  for (int64_t firstN = 0; firstN < problem.columns; firstN += panelWidth)
    forEachBlock(begin, end, [&](const Block &block) {
      const int64_t countN = std::min(panelWidth, problem.columns - firstN), firstK = block.column * columnsOfBlock;
      const int64_t countK = std::min(columnsOfBlock, problem.depth - firstK);
      const double scale = scaleOf(block.number);
      readPanel(firstK, countK, firstN, countN, panel.data());
      const int64_t firstM = std::max(begin, block.row * rowsOfBlock),
                    endM = std::min(end, (block.row + 1) * rowsOfBlock);
      for (int64_t m = firstM; m < endM; ++m)
        for (int64_t k = 0; k < countK; ++k) {
          const double w = scale * element(block.number, m - block.row * rowsOfBlock, k);
          const int64_t target = (m - begin) * problem.columns + firstN;
          for (int64_t n = 0; n < countN; ++n)
            acc[target + n] += w * panel[k * panelWidth + n];
          if (magnitude)
            for (int64_t n = 0; n < countN; ++n)
              magnitude[target + n] += std::fabs(w * panel[k * panelWidth + n]);
        }
    });
}

/// The stored matrix is K x M if it is transposed: its block rows are walked in their order then, too.
template <typename Body> void Product::forEachBlock(int64_t begin, int64_t end, const Body &body) const {
  const int64_t storedRows = (matrix.rows + matrix.block_rows - 1) / matrix.block_rows;
  const int64_t firstRow = isTransposed ? 0 : begin / rowsOfBlock;
  const int64_t endRow = isTransposed ? storedRows : std::min(storedRows, (end + rowsOfBlock - 1) / rowsOfBlock);
  for (int64_t storedRow = firstRow; storedRow < endRow; ++storedRow)
    for (int64_t number = matrix.full.starts[storedRow]; number < matrix.full.starts[storedRow + 1]; ++number) {
      const int64_t storedColumn = matrix.full.indices[number];
      if (!isTransposed)
        body(Block{storedRow, storedColumn, number});
      else if (storedColumn * rowsOfBlock < end && (storedColumn + 1) * rowsOfBlock > begin)
        body(Block{storedColumn, storedRow, number});
    }
}

double Product::element(int64_t block, int64_t row, int64_t column) const {
  const int64_t inBlock = isTransposed ? column * rowsOfBlock + row : row * columnsOfBlock + column;
  return readElement(matrix.values, matrix.dtype, block * rowsOfBlock * columnsOfBlock + inBlock);
}

double Product::storedDepth(int64_t m) const {
  if (isTransposed)
    return double(problem.depth);
  const int32_t *starts = matrix.full.starts + m / rowsOfBlock;
  return double(starts[1] - starts[0]) * double(columnsOfBlock);
}

void Product::addLossOfF8(int64_t begin, int64_t end, double *magnitude) const {
  constexpr double lossOfTwoLevels = 0x1p-9, lossOfInstruction = 0x1p-10, depthOfInstruction = 32;
  const bool isFast = kernel.attribute(SPARSEC_ATTRIBUTE_ACCUMULATION) == SPARSEC_ACCUMULATION_FAST;
  for (int64_t m = begin; m < end; ++m) {
    const double fastLoss = std::ceil(storedDepth(m) / depthOfInstruction) * lossOfInstruction;
    const double loss = isFast ? std::max(fastLoss, lossOfTwoLevels) : lossOfTwoLevels;
    for (int64_t n = 0; n < problem.columns; ++n)
      magnitude[(m - begin) * problem.columns + n] *= loss / referenceTolerance;
  }
}

Status Product::applyEpilogue(int64_t begin, int64_t end, double *y, double *magnitude) const {
  Epilogue epilogue(kernel, arguments, SPARSEC_SPMM_EXTRA);
  if (epilogue.isEmpty())
    return {};
  auto fullIndex = [](const sparsec_operand_info_t &operand, const sparsec_dense_t &tensor, int64_t m, int64_t n) {
    return operand.layout == SPARSEC_LAYOUT_TRANSPOSED ? n * tensor.strides[0] + m : m * tensor.strides[0] + n;
  };
  for (int64_t m = begin; m < end; ++m)
    for (int64_t n = 0; n < problem.columns; ++n) {
      const int64_t element = (m - begin) * problem.columns + n;
      SPARSEC_RETURN_IF_ERROR(
          epilogue.apply({m, n, fullIndex, m, n}, y[element], magnitude ? &magnitude[element] : nullptr));
    }
  return {};
}

} // namespace

Status runSpmmReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                        RowRange rows, const ReferenceRows &out) {
  int64_t elements = (rows.end - rows.begin) * problem.columns;
  std::fill_n(out.y, elements, 0.0);
  if (out.magnitude)
    std::fill_n(out.magnitude, elements, 0.0);
  Product product(kernel, arguments, problem);
  product.accumulate(rows.begin, rows.end, out.y, out.magnitude);
  const bool hasF8 = kernel.attribute(SPARSEC_ATTRIBUTE_ACCUMULATION) != 0;
  if (out.magnitude && hasF8 && !kernel.module->device->isHost())
    product.addLossOfF8(rows.begin, rows.end, out.magnitude);
  return product.applyEpilogue(rows.begin, rows.end, out.y, out.magnitude);
}

} // namespace sparsec::runtime
