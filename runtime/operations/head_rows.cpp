// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "operations/head_rows.h"

#include "arguments/strides.h"

namespace sparsec::runtime {

Status checkStrideRange(const Checked &argument) {
  const sparsec_dense_t &tensor = argument.dense();
  for (uint32_t d = 0; d + 1 < argument.info.rank; ++d)
    if (usesStride(tensor, int32_t(d)) && (tensor.strides[d] < 0 || tensor.strides[d] > maxStride))
      return argument.refuse("expects strides of 0 to ", maxStride, ", but stride ", d, " is ", tensor.strides[d]);
  return {};
}

Status checkRows(const Checked &argument) {
  const sparsec_dense_t &tensor = argument.dense();
  if (usesStride(tensor, 2) && (tensor.strides[2] < tensor.sizes[3] || tensor.strides[2] > INT32_MAX))
    return argument.refuse("expects stride 2 to be at least its width, ", tensor.sizes[3], ", and at most ", INT32_MAX,
                           ", but got ", tensor.strides[2]);
  return {};
}

/// Each dimension must step over all elements of the dimensions with smaller strides.
Status checkApart(const Checked &argument) {
  const sparsec_dense_t &tensor = argument.dense();
  if (isEmpty(tensor))
    return {};
  for (uint32_t d = 0; d < argument.info.rank; ++d) {
    int64_t reach = 1;
    for (uint32_t other = 0; other < argument.info.rank; ++other) {
      bool isSmaller =
          tensor.strides[other] < tensor.strides[d] || (tensor.strides[other] == tensor.strides[d] && other > d);
      int64_t extent = 0;
      if (tensor.sizes[other] > 1 && __builtin_mul_overflow(tensor.sizes[other] - 1, tensor.strides[other], &extent))
        return argument.refuse("size ", other, ", ", tensor.sizes[other], ", times its stride, ", tensor.strides[other],
                               ", is too large");
      if (isSmaller && __builtin_add_overflow(reach, extent, &reach))
        return argument.refuse("its sizes times its strides are too large");
    }
    if (tensor.sizes[d] > 1 && tensor.strides[d] < reach)
      return argument.refuse("expects stride ", d, " to be at least ", reach,
                             ", so that no elements of a result share memory, but got ", tensor.strides[d]);
  }
  return {};
}

Status checkRowCount(const Checked &argument, const Problem &problem) {
  if (!isKnown(problem.batches) || !isKnown(problem.heads) || !isKnown(problem.rows))
    return {};
  int64_t rows = problem.batches * problem.heads; // fits 62 bits
  if (__builtin_mul_overflow(rows, problem.rows, &rows) || rows > maxSize)
    return argument.refuse("expects batches * heads * queries of at most ", maxSize, ", but got ", problem.batches,
                           " * ", problem.heads, " * ", problem.rows);
  return {};
}

} // namespace sparsec::runtime
