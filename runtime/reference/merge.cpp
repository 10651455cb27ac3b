// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "numbers.h"
#include "operations/operation.h"

#include <cmath>
#include <limits>

namespace sparsec::runtime {

namespace {

/// Where a row is.
struct Place {
  int64_t batch, head, row;

  double elementOf(const sparsec_dense_t &tensor, int64_t column) const {
    const int64_t *strides = tensor.strides;
    return readElement(tensor.data, tensor.dtype, batch * strides[0] + head * strides[1] + row * strides[2] + column);
  }
};

/// The share of each part in a row, and the row's LSE. An empty part has no share, whatever its elements are.
struct Weights {
  double first, second, lse;
  bool hasFirst, hasSecond;
  double slope = 0.0; // what a relative error of the difference of the LSE changes a share by
};

Weights weigh(double first, double second) {
  const bool hasFirst = first != -HUGE_VAL, hasSecond = second != -HUGE_VAL;
  if (!hasFirst || !hasSecond)
    return {double(hasFirst), double(hasSecond), hasFirst ? first : second, hasFirst, hasSecond};
  const double largest = std::isnan(first) ? first : std::fmax(first, second);
  const double ofFirst = std::exp(first - largest), ofSecond = std::exp(second - largest), sum = ofFirst + ofSecond;
  const double slope = ofFirst / sum * (ofSecond / sum) * std::fabs(first - second);
  return {ofFirst / sum, ofSecond / sum, largest + std::log(sum), true, true, slope};
}

class MergedRows {
public:
  MergedRows(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem)
      : problem(problem), first(view(kernel, arguments, SPARSEC_MERGE_FIRST)),
        firstLse(view(kernel, arguments, SPARSEC_MERGE_FIRST_LSE)),
        second(view(kernel, arguments, SPARSEC_MERGE_SECOND)),
        secondLse(view(kernel, arguments, SPARSEC_MERGE_SECOND_LSE)) {}

  void computeRow(int64_t row, int64_t index, const ReferenceRows &out) const;

private:
  static const sparsec_dense_t &view(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments,
                                     uint32_t slot) {
    return denseOf(arguments[kernel.of(slot)]);
  }

  const Problem &problem;
  const sparsec_dense_t &first, &firstLse, &second, &secondLse;
};

/// Writes row `index` of the output.
void MergedRows::computeRow(int64_t row, int64_t index, const ReferenceRows &out) const {
  const int64_t rowsOfBatch = problem.heads * problem.rows;
  const Place place = {row / rowsOfBatch, row / problem.rows % problem.heads, row % problem.rows};
  const Weights weights = weigh(place.elementOf(firstLse, 0), place.elementOf(secondLse, 0));
  const bool isMerged = weights.hasFirst && weights.hasSecond;
  for (int64_t column = 0; column < problem.columns && out.y; ++column) {
    const double a = weights.hasFirst ? place.elementOf(first, column) : 0.0;
    const double b = weights.hasSecond ? place.elementOf(second, column) : 0.0;
    const double ofFirst = weights.first * a, ofSecond = weights.second * b;
    out.y[index * problem.columns + column] = isMerged ? ofFirst + ofSecond : weights.hasFirst ? a : b;
    if (out.magnitude)
      out.magnitude[index * problem.columns + column] =
          isMerged ? std::fabs(ofFirst) + std::fabs(ofSecond) + weights.slope * (std::fabs(a) + std::fabs(b)) : 0.0;
  }
  if (out.lse)
    out.lse[index] = weights.lse;
  if (out.lseMagnitude)
    out.lseMagnitude[index] = isMerged ? std::fabs(weights.lse) + 1.0 : 0.0;
}

} // namespace

Status runMergeReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                         RowRange rows, const ReferenceRows &out) {
  const MergedRows merged(kernel, arguments, problem);
  for (int64_t row = rows.begin; row < rows.end; ++row)
    merged.computeRow(row, row - rows.begin, out);
  return {};
}

} // namespace sparsec::runtime
