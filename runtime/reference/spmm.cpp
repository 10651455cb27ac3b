// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spmm.h"
#include "epilogue.h"
#include "numbers.h"
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
        isDenseTransposed(kernel.operand(SPARSEC_SPMM_DENSE)->layout == SPARSEC_LAYOUT_TRANSPOSED) {}

  /// acc and the sum of magnitudes of rows [begin, end).
  void accumulate(int64_t begin, int64_t end, double *acc, double *magnitude) const;
  /// Widens the magnitudes of rows [begin, end) to what the matrix instructions of a GPU lose of fp8 sums (SPEC.md).
  void addLossOfF8(int64_t begin, int64_t end, double *magnitude) const;
  /// Replaces the accumulators of rows [begin, end) by the epilogue's result, and carries the magnitudes (may be null)
  /// through it.
  Status applyEpilogue(int64_t begin, int64_t end, double *y, double *magnitude) const;

private:
  void readPanel(int64_t firstK, int64_t countK, int64_t firstN, int64_t countN, double *panel) const;

  /// Columns of X that are widened to double at a time.
  static constexpr int64_t panelWidth = 512;

  const sparsec_kernel_s &kernel;
  const sparsec_argument_t *arguments;
  const Problem &problem;
  const sparsec_blocks_t &matrix;
  const sparsec_dense_t &dense;
  const bool isDenseTransposed;
};

/// x[firstK + k, firstN + n] to panel[k][n].
void Product::readPanel(int64_t firstK, int64_t countK, int64_t firstN, int64_t countN, double *panel) const {
  for (int64_t k = 0; k < countK; ++k)
    for (int64_t n = 0; n < countN; ++n) {
      int64_t row = isDenseTransposed ? firstN + n : firstK + k, column = isDenseTransposed ? firstK + k : firstN + n;
      panel[k * panelWidth + n] = readElement(dense.data, dense.dtype, row * dense.strides[0] + column);
    }
}

void Product::accumulate(int64_t begin, int64_t end, double *acc, double *magnitude) const {
  int64_t r = matrix.block_rows, c = matrix.block_columns;
  std::vector<double> panel(c * panelWidth);
  for (int64_t firstN = 0; firstN < problem.columns; firstN += panelWidth) {
    int64_t countN = std::min(panelWidth, problem.columns - firstN);
    for (int64_t blockRow = begin / r; blockRow * r < end; ++blockRow) {
      int64_t firstM = std::max(begin, blockRow * r), endM = std::min(end, (blockRow + 1) * r);
      for (int64_t block = matrix.full.starts[blockRow]; block < matrix.full.starts[blockRow + 1]; ++block) {
        int64_t firstK = matrix.full.indices[block] * c, countK = std::min(c, problem.depth - firstK);
        readPanel(firstK, countK, firstN, countN, panel.data());
        for (int64_t m = firstM; m < endM; ++m)
          for (int64_t k = 0; k < countK; ++k) {
            double w = readElement(matrix.values, matrix.dtype, (block * r + m - blockRow * r) * c + k);
            int64_t target = (m - begin) * problem.columns + firstN;
            for (int64_t n = 0; n < countN; ++n)
              acc[target + n] += w * panel[k * panelWidth + n];
            if (magnitude)
              for (int64_t n = 0; n < countN; ++n)
                magnitude[target + n] += std::fabs(w * panel[k * panelWidth + n]);
          }
      }
    }
  }
}

void Product::addLossOfF8(int64_t begin, int64_t end, double *magnitude) const {
  constexpr double lossOfTwoLevels = 0x1p-9, lossOfInstruction = 0x1p-10, depthOfInstruction = 32;
  const bool isFast = kernel.attribute(SPARSEC_ATTRIBUTE_ACCUMULATION) == SPARSEC_ACCUMULATION_FAST;
  for (int64_t m = begin; m < end; ++m) {
    const int32_t *starts = matrix.full.starts + m / matrix.block_rows;
    const double depth = double(starts[1] - starts[0]) * double(matrix.block_columns);
    const double fastLoss = std::ceil(depth / depthOfInstruction) * lossOfInstruction;
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
