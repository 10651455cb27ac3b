// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments/blocks.h"
#include "epilogue.h"
#include "numbers.h"
#include "operations/operation.h"

#include <algorithm>
#include <cmath>

namespace sparsec::runtime {

namespace {

/// Multiplies one row of A by B at a time, from the definition: it knows no pairs.
class BlockProduct {
public:
  BlockProduct(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem)
      : problem(problem), left(blocksOf(arguments[kernel.of(SPARSEC_SPGEMM_LEFT)])),
        right(blocksOf(arguments[kernel.of(SPARSEC_SPGEMM_RIGHT)])), epilogue(kernel, arguments, SPARSEC_SPGEMM_EXTRA),
        sums(right.columns), magnitudes(right.columns) {
    if (uint32_t argument = kernel.of(SPARSEC_SPGEMM_PATTERN); argument != noArgument)
      pattern = &blocksOf(arguments[argument]);
  }

  /// Row `row` of the result, of all columns of the problem.
  Status computeRow(int64_t row, double *values, double *magnitude) {
    return pattern ? computeBlockRow(row, values, magnitude) : computeDenseRow(row, values, magnitude);
  }

private:
  void multiplyRow(int64_t m);
  void addRowOfB(int64_t k, double weight);
  Status computeDenseRow(int64_t m, double *values, double *magnitude);
  Status computeBlockRow(int64_t row, double *values, double *magnitude);

  const Problem &problem;
  const sparsec_blocks_t &left, &right;
  const sparsec_blocks_t *pattern = nullptr;
  Epilogue epilogue;
  std::vector<double> sums, magnitudes; // row `multiplied` of A B
  int64_t multiplied = -1;
};

/// sums += weight * row k of B
void BlockProduct::addRowOfB(int64_t k, double weight) {
  const int64_t s = right.block_rows, t = right.block_columns, blockRow = k / s;
  for (int32_t block = right.full.starts[blockRow]; block < right.full.starts[blockRow + 1]; ++block) {
    const int64_t first = int64_t(right.full.indices[block]) * t, inBlock = (int64_t(block) * s + k % s) * t;
    for (int64_t n = first; n < std::min(first + t, right.columns); ++n) {
      const double product = weight * readElement(right.values, right.dtype, inBlock + n - first);
      sums[n] += product;
      magnitudes[n] += std::fabs(product);
    }
  }
}

void BlockProduct::multiplyRow(int64_t m) {
  if (m == multiplied)
    return;
  multiplied = m;
  std::fill(sums.begin(), sums.end(), 0.0);
  std::fill(magnitudes.begin(), magnitudes.end(), 0.0);
  if (m >= left.rows)
    return;
  const int64_t r = left.block_rows, s = left.block_columns, blockRow = m / r;
  for (int32_t block = left.full.starts[blockRow]; block < left.full.starts[blockRow + 1]; ++block) {
    const int64_t first = int64_t(left.full.indices[block]) * s, inBlock = (int64_t(block) * r + m % r) * s;
    for (int64_t k = first; k < std::min(first + s, left.columns); ++k)
      addRowOfB(k, readElement(left.values, left.dtype, inBlock + k - first));
  }
}

Status BlockProduct::computeDenseRow(int64_t m, double *values, double *magnitude) {
  auto fullIndex = [](const sparsec_operand_info_t &operand, const sparsec_dense_t &tensor, int64_t row,
                      int64_t column) {
    return operand.layout == SPARSEC_LAYOUT_TRANSPOSED ? column * tensor.strides[0] + row
                                                       : row * tensor.strides[0] + column;
  };
  multiplyRow(m);
  for (int64_t n = 0; n < problem.columns; ++n) {
    values[n] = sums[n];
    if (magnitude)
      magnitude[n] = magnitudes[n];
    if (!epilogue.isEmpty())
      SPARSEC_RETURN_IF_ERROR(epilogue.apply({m, n, fullIndex, m, n}, values[n], magnitude ? &magnitude[n] : nullptr));
  }
  return {};
}

/// Vectors have no elements beyond M and N, and the product has zeros there.
Status BlockProduct::computeBlockRow(int64_t row, double *values, double *magnitude) {
  const int64_t r = problem.rows, t = problem.columns, block = row / r;
  const int32_t *starts = pattern->full.starts, *end = starts + blockRowCount(*pattern) + 1;
  const bool isStored = block < *(end - 1); // others are of no block row: kernels leave them
  const int64_t m = isStored ? (std::upper_bound(starts, end, block) - starts - 1) * r + row % r : 0;
  const int64_t first = isStored ? int64_t(pattern->full.indices[block]) * t : 0;
  auto fullIndex = [](const sparsec_operand_info_t &, const sparsec_dense_t &tensor, int64_t fullRow, int64_t column) {
    return fullRow * tensor.sizes[2] + column; // blocks are contiguous
  };
  if (isStored)
    multiplyRow(m);
  for (int64_t column = 0; column < t; ++column) {
    const int64_t n = first + column;
    const bool isInside = isStored && n < problem.patternColumns;
    values[column] = isInside ? sums[n] : 0.0;
    if (magnitude)
      magnitude[column] = isInside ? magnitudes[n] : 0.0;
    if (!isStored || epilogue.isEmpty())
      continue;
    const ExtraPosition at = {std::min(m, problem.patternRows - 1), std::min(n, problem.patternColumns - 1), fullIndex,
                              row, column};
    SPARSEC_RETURN_IF_ERROR(epilogue.apply(at, values[column], magnitude ? &magnitude[column] : nullptr));
  }
  return {};
}

} // namespace

/// Rows are those of the result, or those of all blocks of the pattern, one block after the other.
Status runSpgemmReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                          RowRange rows, const ReferenceRows &out) {
  BlockProduct product(kernel, arguments, problem);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t first = (row - rows.begin) * problem.columns;
    SPARSEC_RETURN_IF_ERROR(product.computeRow(row, out.y + first, out.magnitude ? out.magnitude + first : nullptr));
  }
  return {};
}

} // namespace sparsec::runtime
