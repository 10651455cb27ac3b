// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments/attention_arguments.h"
#include "arguments/blocks.h"
#include "arguments/overlap.h"
#include "arguments/strides.h"

#include <cmath>

namespace sparsec::runtime {

namespace {

constexpr int64_t anySizes[SPARSEC_MAX_RANK] = {SPARSEC_DYNAMIC, SPARSEC_DYNAMIC, SPARSEC_DYNAMIC, SPARSEC_DYNAMIC,
                                                SPARSEC_DYNAMIC};

Status checkStrides(const Checked &argument) {
  const sparsec_dense_t &tensor = argument.dense();
  for (uint32_t d = 0; d + 1 < argument.info.rank; ++d)
    if (usesStride(tensor, int32_t(d)) && (tensor.strides[d] < 0 || tensor.strides[d] > maxStride))
      return argument.refuse("expects strides of 0 to ", maxStride, ", but stride ", d, " is ", tensor.strides[d]);
  return {};
}

/// Q, K, V and the result: rows of the head dimension in any order, none of which reaches into the next.
Status checkRows(const Checked &argument, const int64_t *sizes) {
  const sparsec_dense_t &tensor = argument.dense();
  SPARSEC_RETURN_IF_ERROR(argument.checkTensor(sizes));
  SPARSEC_RETURN_IF_ERROR(checkStrides(argument));
  if (usesStride(tensor, 2) && (tensor.strides[2] < tensor.sizes[3] || tensor.strides[2] > INT32_MAX))
    return argument.refuse("expects stride 2 to be at least its width, ", tensor.sizes[3], ", and at most ", INT32_MAX,
                           ", but got ", tensor.strides[2]);
  return {};
}

/// That no two elements of a result share memory: each dimension steps over all elements of those with smaller strides.
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

/// The query's sizes, and that the keys' heads divide its heads.
Status checkInputs(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, AttentionSizes &sizes) {
  Checked query = checkedArgument(kernel, arguments, kernel.of(SPARSEC_ROLE_QUERY));
  Checked key = checkedArgument(kernel, arguments, kernel.of(SPARSEC_ROLE_KEY));
  Checked value = checkedArgument(kernel, arguments, kernel.of(SPARSEC_ROLE_VALUE));
  int64_t dimension = kernel.attention().head_dimension;
  const int64_t querySizes[] = {SPARSEC_DYNAMIC, SPARSEC_DYNAMIC, SPARSEC_DYNAMIC, dimension};
  SPARSEC_RETURN_IF_ERROR(checkRows(query, querySizes));
  const sparsec_dense_t &q = query.dense(), &k = key.dense();
  const int64_t keySizes[] = {q.sizes[0], SPARSEC_DYNAMIC, SPARSEC_DYNAMIC, dimension};
  SPARSEC_RETURN_IF_ERROR(checkRows(key, keySizes));
  const int64_t valueSizes[] = {q.sizes[0], k.sizes[1], k.sizes[2], dimension};
  SPARSEC_RETURN_IF_ERROR(checkRows(value, valueSizes));
  sizes = {q.sizes[0], q.sizes[1], k.sizes[1], q.sizes[2], k.sizes[2], dimension};
  if (sizes.keyHeads == 0 ? sizes.heads != 0 : sizes.heads % sizes.keyHeads != 0)
    return key.refuse("expects size 1 (heads) to divide the ", sizes.heads, " heads of '", query.info.name,
                      "', but got ", sizes.keyHeads);
  int64_t rows = sizes.batches * sizes.heads; // fits 62 bits
  if (__builtin_mul_overflow(rows, sizes.queries, &rows) || rows > maxSize)
    return query.refuse("expects batches * heads * queries of at most ", maxSize, ", but got ", sizes.batches, " * ",
                        sizes.heads, " * ", sizes.queries);
  for (const Checked &input : {query, key, value})
    SPARSEC_RETURN_IF_ERROR(input.checkTensorMemory());
  return {};
}

/// The result or the LSE.
Status checkResult(const Checked &argument, const AttentionSizes &sizes, Use use) {
  const int64_t expected[] = {sizes.batches, sizes.heads, sizes.queries, sizes.dimension};
  if (argument.info.role == SPARSEC_ROLE_RESULT) {
    SPARSEC_RETURN_IF_ERROR(checkRows(argument, expected));
  } else {
    SPARSEC_RETURN_IF_ERROR(argument.checkTensor(expected));
    SPARSEC_RETURN_IF_ERROR(checkStrides(argument));
  }
  SPARSEC_RETURN_IF_ERROR(checkApart(argument));
  return use == Use::reference ? Status() : argument.checkTensorMemory();
}

Status checkArgument(const Checked &argument, const AttentionSizes &sizes, Use use) {
  switch (argument.info.role) {
  case SPARSEC_ROLE_PATTERN:
    return checkPatternArgumentSizes(argument, sizes);
  case SPARSEC_ROLE_SCALE:
    if (!std::isfinite(scalarOf(argument.value)))
      return argument.refuse("expects a finite scale, but got ", std::to_string(scalarOf(argument.value)));
    return {};
  case SPARSEC_ROLE_REGION:
    return checkRegionOperand(argument);
  case SPARSEC_ROLE_RESULT:
  case SPARSEC_ROLE_LSE:
    return checkResult(argument, sizes, use);
  }
  return {};
}

} // namespace

Status checkPatternArgumentSizes(const Checked &argument, const AttentionSizes &sizes) {
  const sparsec_blocks_t &pattern = argument.blocks();
  SPARSEC_RETURN_IF_ERROR(checkBlocks(pattern, argument.subject()));
  if (pattern.block_rows != int32_t(argument.info.block_rows) ||
      pattern.block_columns != int32_t(argument.info.block_columns))
    return argument.refuse("expects blocks of ", argument.info.block_rows, " queries x ", argument.info.block_columns,
                           " keys, but got ", pattern.block_rows, " x ", pattern.block_columns);
  if (pattern.batches != 1 && pattern.batches != sizes.batches)
    return argument.refuse("expects batches to be 1 or ", sizes.batches, ", but got ", pattern.batches);
  if (pattern.heads != 1 && pattern.heads != sizes.heads)
    return argument.refuse("expects heads to be 1 or ", sizes.heads, ", but got ", pattern.heads);
  if (int64_t rows = ceilDivide(sizes.queries, pattern.block_rows); blockRowCount(pattern) != rows)
    return argument.refuse("expects ", rows, " block rows, the blocks of ", pattern.block_rows, " in ", sizes.queries,
                           " queries, but its ", pattern.rows, " rows have ", blockRowCount(pattern));
  if (int64_t columns = ceilDivide(sizes.keys, pattern.block_columns); blockColumnCount(pattern) != columns)
    return argument.refuse("expects ", columns, " block columns, the blocks of ", pattern.block_columns, " in ",
                           sizes.keys, " keys, but its ", pattern.columns, " columns have ", blockColumnCount(pattern));
  return {};
}

Status checkRegionOperand(const Checked &argument) {
  if (argument.info.kind == SPARSEC_ARGUMENT_SCALAR)
    return {};
  SPARSEC_RETURN_IF_ERROR(argument.checkTensor(anySizes));
  SPARSEC_RETURN_IF_ERROR(checkStrides(argument));
  return argument.checkTensorMemory();
}

Status checkAttentionArguments(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count,
                               Use use, AttentionSizes &outSizes) {
  SPARSEC_RETURN_IF_ERROR(checkViews(kernel, arguments, count, use));
  AttentionSizes sizes;
  SPARSEC_RETURN_IF_ERROR(checkInputs(kernel, arguments, sizes));
  for (uint32_t i = 0; i < count; ++i)
    SPARSEC_RETURN_IF_ERROR(checkArgument(checkedArgument(kernel, arguments, i), sizes, use));
  outSizes = sizes;
  return use == Use::launch ? checkOverlaps(kernel, arguments) : Status();
}

} // namespace sparsec::runtime
