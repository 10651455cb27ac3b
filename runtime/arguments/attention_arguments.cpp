// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments/attention_arguments.h"
#include "arguments/overlap.h"
#include "arguments/strides.h"
#include "device/device.h"
#include "pattern/pattern.h"

#include <cmath>

namespace sparsec::runtime {

namespace {

constexpr int64_t anySizes[SPARSEC_MAX_RANK] = {SPARSEC_DYNAMIC, SPARSEC_DYNAMIC, SPARSEC_DYNAMIC, SPARSEC_DYNAMIC,
                                                SPARSEC_DYNAMIC};

Status checkStrides(const Checked &argument) {
  const sparsec_dense_t &tensor = argument.value.dense;
  for (uint32_t d = 0; d + 1 < argument.info.rank; ++d)
    if (usesStride(tensor, int32_t(d)) && (tensor.strides[d] < 0 || tensor.strides[d] > maxStride))
      return argument.refuse("expects strides of 0 to ", maxStride, ", but stride ", d, " is ", tensor.strides[d]);
  return {};
}

/// Q, K, V and the result: rows of the head dimension in any order, none of which reaches into the next.
Status checkRows(const Checked &argument, const int64_t *sizes) {
  const sparsec_dense_t &tensor = argument.value.dense;
  SPARSEC_RETURN_IF_ERROR(argument.checkTensor(sizes));
  SPARSEC_RETURN_IF_ERROR(checkStrides(argument));
  if (usesStride(tensor, 2) && (tensor.strides[2] < tensor.sizes[3] || tensor.strides[2] > INT32_MAX))
    return argument.refuse("expects stride 2 to be at least its width, ", tensor.sizes[3], ", and at most ", INT32_MAX,
                           ", but got ", tensor.strides[2]);
  return {};
}

/// That no two elements of a result share memory: each dimension steps over all elements of those with smaller strides.
Status checkApart(const Checked &argument) {
  const sparsec_dense_t &tensor = argument.value.dense;
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
  const sparsec_dense_t &q = query.value.dense, &k = key.value.dense;
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
Status checkResult(const Checked &argument, const AttentionSizes &sizes, ResultMemory memory) {
  const int64_t expected[] = {sizes.batches, sizes.heads, sizes.queries, sizes.dimension};
  if (argument.info.role == SPARSEC_ROLE_RESULT) {
    SPARSEC_RETURN_IF_ERROR(checkRows(argument, expected));
  } else {
    SPARSEC_RETURN_IF_ERROR(argument.checkTensor(expected));
    SPARSEC_RETURN_IF_ERROR(checkStrides(argument));
  }
  SPARSEC_RETURN_IF_ERROR(checkApart(argument));
  return memory == ResultMemory::needed ? argument.checkTensorMemory() : Status();
}

Status checkArgument(const Checked &argument, const AttentionSizes &sizes, ResultMemory memory) {
  switch (argument.info.role) {
  case SPARSEC_ROLE_PATTERN:
    return checkPatternArgumentSizes(argument, sizes);
  case SPARSEC_ROLE_SCALE:
    if (!std::isfinite(argument.value.scalar))
      return argument.refuse("expects a finite scale, but got ", std::to_string(argument.value.scalar));
    return {};
  case SPARSEC_ROLE_REGION:
    return checkRegionOperand(argument);
  case SPARSEC_ROLE_RESULT:
  case SPARSEC_ROLE_LSE:
    return checkResult(argument, sizes, memory);
  }
  return {};
}

} // namespace

Status checkPatternArgumentSizes(const Checked &argument, const AttentionSizes &sizes) {
  const sparsec_pattern_t &pattern = argument.value.pattern;
  if (pattern.query_block != int32_t(argument.info.block_rows) ||
      pattern.key_block != int32_t(argument.info.block_columns))
    return argument.refuse("expects blocks of ", argument.info.block_rows, " queries x ", argument.info.block_columns,
                           " keys, but got ", pattern.query_block, " x ", pattern.key_block);
  SPARSEC_RETURN_IF_ERROR(checkPatternSizes(pattern, argument.subject()));
  if (pattern.batches != 1 && pattern.batches != sizes.batches)
    return argument.refuse("expects batches to be 1 or ", sizes.batches, ", but got ", pattern.batches);
  if (pattern.heads != 1 && pattern.heads != sizes.heads)
    return argument.refuse("expects heads to be 1 or ", sizes.heads, ", but got ", pattern.heads);
  if (int64_t rows = ceilDivide(sizes.queries, pattern.query_block); pattern.rows != rows)
    return argument.refuse("expects rows to be ", rows, ", the blocks of ", pattern.query_block, " in ", sizes.queries,
                           " queries, but got ", pattern.rows);
  if (int64_t columns = ceilDivide(sizes.keys, pattern.key_block); pattern.columns != columns)
    return argument.refuse("expects columns to be ", columns, ", the blocks of ", pattern.key_block, " in ", sizes.keys,
                           " keys, but got ", pattern.columns);
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
                               ResultMemory resultMemory, AttentionSizes &outSizes) {
  SPARSEC_RETURN_IF_ERROR(checkCountAndKinds(kernel, arguments, count));
  AttentionSizes sizes;
  SPARSEC_RETURN_IF_ERROR(checkInputs(kernel, arguments, sizes));
  for (uint32_t i = 0; i < count; ++i)
    SPARSEC_RETURN_IF_ERROR(checkArgument(checkedArgument(kernel, arguments, i), sizes, resultMemory));
  outSizes = sizes;
  return resultMemory == ResultMemory::needed ? checkOverlaps(kernel, arguments) : Status();
}

Status checkPatternArgument(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments) {
  uint32_t number = kernel.of(SPARSEC_ROLE_PATTERN);
  if (number == noArgument)
    return {};
  return checkPatternLists(arguments[number].pattern, checkedArgument(kernel, arguments, number).subject());
}

Status checkDevicePatternArgument(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, void *stream) {
  uint32_t number = kernel.of(SPARSEC_ROLE_PATTERN);
  if (number == noArgument || !(arguments[number].pattern.flags & SPARSEC_PATTERN_CHECK_LISTS))
    return {};
  SPARSEC_RETURN_IF_ERROR(kernel.module->device->synchronize(stream));
  sparsec_pattern_t host = arguments[number].pattern;
  ListCopies copies;
  SPARSEC_RETURN_IF_ERROR(copies.download(*kernel.module->device, host));
  return checkPatternLists(host, checkedArgument(kernel, arguments, number).subject());
}

} // namespace sparsec::runtime
