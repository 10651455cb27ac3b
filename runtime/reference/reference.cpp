// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec_reference_run: what a kernel computes, in double.

#include "arguments/arguments.h"
#include "arguments/overlap.h"
#include "attention.h"
#include "numbers.h"
#include "operations/kernel_shape.h"
#include "steps.h"

#include <algorithm>
#include <cmath>

namespace sparsec::runtime {

namespace {

class Reference {
public:
  Reference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const ProblemSizes &sizes)
      : kernel(kernel), arguments(arguments), sizes(sizes), matrix(blocksOf(arguments[kernel.of(SPARSEC_ROLE_MATRIX)])),
        dense(denseOf(arguments[kernel.of(SPARSEC_ROLE_DENSE)])),
        isDenseTransposed(kernel.argument(kernel.of(SPARSEC_ROLE_DENSE)).layout == SPARSEC_LAYOUT_TRANSPOSED) {}

  /// acc and the sum of magnitudes of rows [begin, end).
  void accumulate(int64_t begin, int64_t end, double *acc, double *magnitude) const;
  /// Replaces the accumulators of rows [begin, end) by the epilogue's result, and carries the magnitudes (may be null)
  /// through it.
  void applyEpilogue(int64_t begin, int64_t end, double *y, double *magnitude) const;

private:
  void readPanel(int64_t firstK, int64_t countK, int64_t firstN, int64_t countN, double *panel) const;
  double readExtra(uint32_t number, int64_t m, int64_t n) const;

  /// Columns of X that are widened to double at a time.
  static constexpr int64_t panelWidth = 512;

  const sparsec_kernel_s &kernel;
  const sparsec_argument_t *arguments;
  const ProblemSizes sizes;
  const sparsec_blocks_t &matrix;
  const sparsec_dense_t &dense;
  const bool isDenseTransposed;
};

/// x[firstK + k, firstN + n] to panel[k][n].
void Reference::readPanel(int64_t firstK, int64_t countK, int64_t firstN, int64_t countN, double *panel) const {
  for (int64_t k = 0; k < countK; ++k)
    for (int64_t n = 0; n < countN; ++n) {
      int64_t row = isDenseTransposed ? firstN + n : firstK + k, column = isDenseTransposed ? firstK + k : firstN + n;
      panel[k * panelWidth + n] = readElement(dense.data, dense.dtype, row * dense.strides[0] + column);
    }
}

void Reference::accumulate(int64_t begin, int64_t end, double *acc, double *magnitude) const {
  int64_t r = matrix.block_rows, c = matrix.block_columns;
  std::vector<double> panel(c * panelWidth);
  for (int64_t firstN = 0; firstN < sizes.n; firstN += panelWidth) {
    int64_t countN = std::min(panelWidth, sizes.n - firstN);
    for (int64_t blockRow = begin / r; blockRow * r < end; ++blockRow) {
      int64_t firstM = std::max(begin, blockRow * r), endM = std::min(end, (blockRow + 1) * r);
      for (int64_t block = matrix.full.starts[blockRow]; block < matrix.full.starts[blockRow + 1]; ++block) {
        int64_t firstK = matrix.full.indices[block] * c, countK = std::min(c, sizes.k - firstK);
        readPanel(firstK, countK, firstN, countN, panel.data());
        for (int64_t m = firstM; m < endM; ++m)
          for (int64_t k = 0; k < countK; ++k) {
            double w = readElement(matrix.values, matrix.dtype, (block * r + m - blockRow * r) * c + k);
            int64_t target = (m - begin) * sizes.n + firstN;
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

/// The element of an epilogue operand that belongs to result element (m, n).
double Reference::readExtra(uint32_t number, int64_t m, int64_t n) const {
  const sparsec_argument_info_t &info = kernel.argument(number);
  if (info.kind == SPARSEC_ARGUMENT_SCALAR)
    return scalarOf(arguments[number]);
  const sparsec_dense_t &tensor = denseOf(arguments[number]);
  int64_t index = 0;
  switch (info.broadcast) {
  case SPARSEC_BROADCAST_PER_ROW:
    index = m;
    break;
  case SPARSEC_BROADCAST_PER_COLUMN:
    index = n;
    break;
  case SPARSEC_BROADCAST_FULL:
    index = info.layout == SPARSEC_LAYOUT_TRANSPOSED ? n * tensor.strides[0] + m : m * tensor.strides[0] + n;
    break;
  }
  return readElement(tensor.data, tensor.dtype, index);
}

void Reference::applyEpilogue(int64_t begin, int64_t end, double *y, double *magnitude) const {
  const sparsec_kernel_info_t &info = *kernel.info;
  if (info.step_count == 0)
    return;
  std::vector<double> values, errors;
  for (int64_t m = begin; m < end; ++m)
    for (int64_t n = 0; n < sizes.n; ++n) {
      const int64_t element = (m - begin) * sizes.n + n;
      values.assign(1, y[element]);
      for (uint32_t i = 0; i < info.argument_count; ++i)
        if (kernel.argument(i).role == SPARSEC_ROLE_EPILOGUE)
          values.push_back(readExtra(i, m, n));
      errors.assign(values.size(), 0.0);
      errors.front() = magnitude ? referenceTolerance * magnitude[element] : 0.0;
      for (uint32_t i = 0; i < info.step_count; ++i) {
        const sparsec_step_info_t &step = kernel.module->info.step(info.step_first + i);
        double result = evaluateStep(step, values.data());
        if (magnitude)
          errors.push_back(stepError(step, values.data(), errors.data(), result));
        values.push_back(result);
      }
      y[element] = values.back();
      if (magnitude)
        magnitude[element] = errors.back() / referenceTolerance;
    }
}

Status checkRows(int64_t rowBegin, int64_t rowEnd, int64_t rows) {
  if (rowBegin < 0 || rowEnd < rowBegin || rowEnd > rows)
    return invalidArgument("expects rows within 0 to ", rows, ", but got row_begin ", rowBegin, " and row_end ",
                           rowEnd);
  return {};
}

/// One of the arrays of doubles that a reference writes; no array where data is null.
struct Output {
  const char *name;
  const double *data;
};

/// That the outputs, of so many elements each, share no memory with the inputs or with each other.
Status checkOutputs(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, int64_t elements,
                    const Output &first, const Output &second) {
  auto footprint = [&](const Output &output) {
    return footprintOf(output.data, output.data ? uint64_t(elements) * sizeof(double) : 0);
  };
  for (const Output &output : {first, second})
    SPARSEC_RETURN_IF_ERROR(checkApartFromInputs(kernel, arguments, output.name, footprint(output)));
  if (overlap(footprint(first), footprint(second)))
    return invalidArgument(second.name, ": its memory overlaps ", first.name);
  return {};
}

Status runSpmm(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count, int64_t rowBegin,
               int64_t rowEnd, double *y, double *magnitude) {
  ProblemSizes sizes;
  SPARSEC_RETURN_IF_ERROR(checkSpmmArguments(kernel, arguments, count, Use::reference, sizes));
  SPARSEC_RETURN_IF_ERROR(checkHostLists(kernel, arguments));
  SPARSEC_RETURN_IF_ERROR(checkRows(rowBegin, rowEnd, sizes.m));
  int64_t elements = (rowEnd - rowBegin) * sizes.n;
  if (elements == 0)
    return {};
  if (!y)
    return invalidArgument("y is NULL");
  SPARSEC_RETURN_IF_ERROR(checkOutputs(kernel, arguments, elements, {"y", y}, {"magnitude", magnitude}));
  std::fill_n(y, elements, 0.0);
  if (magnitude)
    std::fill_n(magnitude, elements, 0.0);
  Reference reference(kernel, arguments, sizes);
  reference.accumulate(rowBegin, rowEnd, y, magnitude);
  reference.applyEpilogue(rowBegin, rowEnd, y, magnitude);
  return {};
}

/// `required` and `magnitude` are the arrays of `out` that this call writes, `width` elements a row.
Status runAttention(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count, int64_t rowBegin,
                    int64_t rowEnd, const Output &required, const double *magnitude, int64_t width,
                    const AttentionRows &out) {
  AttentionSizes sizes;
  SPARSEC_RETURN_IF_ERROR(checkAttentionArguments(kernel, arguments, count, Use::reference, sizes));
  SPARSEC_RETURN_IF_ERROR(checkHostLists(kernel, arguments));
  SPARSEC_RETURN_IF_ERROR(checkRows(rowBegin, rowEnd, sizes.rows()));
  if (rowBegin == rowEnd)
    return {};
  if (!required.data)
    return invalidArgument(required.name, " is NULL");
  SPARSEC_RETURN_IF_ERROR(
      checkOutputs(kernel, arguments, (rowEnd - rowBegin) * width, required, {"magnitude", magnitude}));
  return runAttentionReference(kernel, arguments, sizes, rowBegin, rowEnd, out);
}

} // namespace

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_reference_run(sparsec_kernel_t kernel, const sparsec_argument_t *host_arguments,
                                       size_t argument_count, int64_t row_begin, int64_t row_end, double *y,
                                       double *magnitude) {
  return guarded([&]() -> Status {
    if (!kernel)
      return invalidArgument("kernel is NULL");
    if (kernel->info->family == SPARSEC_FAMILY_ATTENTION)
      return runAttention(*kernel, host_arguments, argument_count, row_begin, row_end, {"y", y}, magnitude,
                          kernel->attention().head_dimension, {y, magnitude, nullptr, nullptr});
    return runSpmm(*kernel, host_arguments, argument_count, row_begin, row_end, y, magnitude);
  });
}

sparsec_status_t sparsec_reference_lse(sparsec_kernel_t kernel, const sparsec_argument_t *host_arguments,
                                       size_t argument_count, int64_t row_begin, int64_t row_end, double *lse,
                                       double *magnitude) {
  return guarded([&]() -> Status {
    if (!kernel)
      return invalidArgument("kernel is NULL");
    if (kernel->info->family != SPARSEC_FAMILY_ATTENTION)
      return invalidArgument("kernel '", kernel->info->name, "' is no attention kernel: it has no LSE");
    return runAttention(*kernel, host_arguments, argument_count, row_begin, row_end, {"lse", lse}, magnitude, 1,
                        {nullptr, nullptr, lse, magnitude});
  });
}
