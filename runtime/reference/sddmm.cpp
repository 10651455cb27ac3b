// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments/blocks.h"
#include "epilogue.h"
#include "numbers.h"
#include "operations/operation.h"

#include <algorithm>
#include <cmath>

namespace sparsec::runtime {

namespace {

/// A dense operand whose dimensions are `outer` (M or N) and K, in either order.
struct Operand {
  const sparsec_dense_t &tensor;
  bool isOuterFirst;

  int64_t outerSize() const { return tensor.sizes[isOuterFirst ? 0 : 1]; }
  /// Row `outer` over all of K, zeros where the operand has no such row.
  void readRow(int64_t outer, int64_t depth, double *row) const {
    if (outer >= outerSize())
      return void(std::fill_n(row, depth, 0.0));
    for (int64_t k = 0; k < depth; ++k) {
      int64_t index = isOuterFirst ? outer * tensor.strides[0] + k : k * tensor.strides[0] + outer;
      row[k] = readElement(tensor.data, tensor.dtype, index);
    }
  }
};

class SampledProduct {
public:
  SampledProduct(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem)
      : problem(problem), pattern(blocksOf(arguments[kernel.of(SPARSEC_SDDMM_PATTERN)])),
        left{denseOf(arguments[kernel.of(SPARSEC_SDDMM_LEFT)]),
             kernel.operand(SPARSEC_SDDMM_LEFT)->layout != SPARSEC_LAYOUT_TRANSPOSED},
        right{denseOf(arguments[kernel.of(SPARSEC_SDDMM_RIGHT)]),
              kernel.operand(SPARSEC_SDDMM_RIGHT)->layout == SPARSEC_LAYOUT_TRANSPOSED},
        epilogue(kernel, arguments, SPARSEC_SDDMM_EXTRA), leftRow(problem.depth),
        rightRows(problem.columns * problem.depth) {}

  /// Rows [begin, end) of one block.
  Status computeRows(int64_t block, int64_t begin, int64_t end, double *values, double *magnitude);

private:
  int64_t blockRowOf(int64_t block) const {
    const int32_t *starts = pattern.full.starts;
    return std::upper_bound(starts, starts + blockRowCount(pattern) + 1, block) - starts - 1;
  }

  const Problem &problem;
  const sparsec_blocks_t &pattern;
  const Operand left, right;
  Epilogue epilogue;
  std::vector<double> leftRow, rightRows;
};

Status SampledProduct::computeRows(int64_t block, int64_t begin, int64_t end, double *values, double *magnitude) {
  const int64_t r = problem.rows, c = problem.columns, depth = problem.depth;
  if (block >= pattern.full.starts[blockRowCount(pattern)]) { // of no block row: kernels leave it
    std::fill_n(values, (end - begin) * c, 0.0);
    if (magnitude)
      std::fill_n(magnitude, (end - begin) * c, 0.0);
    return {};
  }
  const int64_t firstM = blockRowOf(block) * r, firstN = int64_t(pattern.full.indices[block]) * c;
  for (int64_t q = 0; q < c; ++q)
    right.readRow(firstN + q, depth, &rightRows[q * depth]);
  auto fullIndex = [](const sparsec_operand_info_t &, const sparsec_dense_t &tensor, int64_t row, int64_t column) {
    return row * tensor.sizes[2] + column; // blocks are contiguous
  };
  for (int64_t p = begin; p < end; ++p) {
    left.readRow(firstM + p, depth, leftRow.data());
    for (int64_t q = 0; q < c; ++q) {
      const double *row = &rightRows[q * depth];
      double sum = 0.0, magnitudes = 0.0;
      for (int64_t k = 0; k < depth; ++k) {
        sum += leftRow[k] * row[k];
        magnitudes += std::fabs(leftRow[k] * row[k]);
      }
      double &value = values[(p - begin) * c + q];
      double *magnitudeOfValue = magnitude ? &magnitude[(p - begin) * c + q] : nullptr;
      value = sum;
      if (magnitudeOfValue)
        *magnitudeOfValue = magnitudes;
      if (epilogue.isEmpty())
        continue;
      // Vectors have no elements beyond M and N.
      ExtraPosition at = {std::min(firstM + p, problem.patternRows - 1),
                          std::min(firstN + q, problem.patternColumns - 1), fullIndex, block * r + p, q};
      SPARSEC_RETURN_IF_ERROR(epilogue.apply(at, value, magnitudeOfValue));
    }
  }
  return {};
}

} // namespace

/// Rows are those of all blocks, one block after the other.
Status runSddmmReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                         RowRange rows, const ReferenceRows &out) {
  SampledProduct product(kernel, arguments, problem);
  for (int64_t row = rows.begin; row < rows.end;) {
    int64_t block = row / problem.rows, end = std::min(rows.end, (block + 1) * problem.rows);
    int64_t first = (row - rows.begin) * problem.columns;
    SPARSEC_RETURN_IF_ERROR(product.computeRows(block, row - block * problem.rows, end - block * problem.rows,
                                                out.y + first, out.magnitude ? out.magnitude + first : nullptr));
    row = end;
  }
  return {};
}

} // namespace sparsec::runtime
