// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments/footprint.h"
#include "arguments/blocks.h"
#include "arguments/strides.h"
#include "image/enum_values.h"

namespace sparsec::runtime {

namespace {

/// count * bytes + more, or UINT64_MAX.
uint64_t multiplyAdd(uint64_t count, uint64_t bytes, uint64_t more) {
  uint64_t result;
  if (__builtin_mul_overflow(count, bytes, &result) || __builtin_add_overflow(result, more, &result))
    return UINT64_MAX;
  return result;
}

} // namespace

uint64_t Footprint::extent() const {
  uint64_t bytes = run;
  for (uint32_t i = 0; i < stepCount; ++i)
    bytes = multiplyAdd(uint64_t(steps[i].count - 1), uint64_t(steps[i].bytes), bytes);
  return bytes;
}

Footprint footprintOf(const sparsec_dense_t &tensor) {
  if (isEmpty(tensor))
    return {};
  const int64_t elementBytes = int64_t(dtypeBytes(enumValue(tensor.dtype)));
  Footprint footprint = footprintOf(tensor.data, uint64_t(elementBytes));
  Footprint::Step *const steps = footprint.steps, *end = steps;
  for (int32_t d = 0; d < tensor.rank; ++d) {
    if (tensor.sizes[d] == 1 || tensor.strides[d] == 0)
      continue;
    const Footprint::Step step = {tensor.sizes[d], tensor.strides[d] * elementBytes};
    Footprint::Step *place = std::find_if(steps, end, [&](const auto &other) { return other.bytes > step.bytes; });
    std::move_backward(place, end, end + 1);
    *place = step;
    ++end;
  }
  // Steps that leave no gaps make the run longer.
  Footprint::Step *first = steps;
  for (; first != end && uint64_t(first->bytes) <= footprint.run; ++first)
    footprint.run = multiplyAdd(uint64_t(first->count - 1), uint64_t(first->bytes), footprint.run);
  footprint.stepCount = uint32_t(end - first);
  std::move(first, end, steps);
  return footprint;
}

Footprint footprintOf(const void *data, uint64_t bytes) {
  Footprint footprint;
  footprint.begin = reinterpret_cast<uintptr_t>(data);
  footprint.run = bytes;
  return footprint;
}

ArgumentMemory::ArgumentMemory(const sparsec_argument_t &argument) {
  switch (argument.kind) {
  case SPARSEC_ARGUMENT_BSR: {
    const sparsec_blocks_t &matrix = blocksOf(argument);
    uint64_t blockBytes = uint64_t(matrix.block_rows) * matrix.block_columns * dtypeBytes(enumValue(matrix.dtype));
    // A pattern may be without.
    if (matrix.values)
      add("values", footprintOf(matrix.values, uint64_t(matrix.capacity) * blockBytes));
    addLists(matrix);
    return;
  }
  case SPARSEC_ARGUMENT_DENSE:
    add("data", footprintOf(denseOf(argument)));
    return;
  case SPARSEC_ARGUMENT_PATTERN:
    addLists(blocksOf(argument));
    return;
  case SPARSEC_ARGUMENT_SCALAR:
    return;
  }
}

void ArgumentMemory::addLists(const sparsec_blocks_t &pattern) {
  if (listCount(pattern) == 0)
    return;
  auto addArray = [&](const char *member, const int32_t *array, size_t count) {
    add(member, footprintOf(array, count * sizeof(int32_t)));
  };
  if (pattern.partial.starts) {
    addArray("partial.starts", pattern.partial.starts, startCount(pattern));
    addArray("partial.indices", pattern.partial.indices, indexCount(pattern));
  }
  if (pattern.full.starts) {
    addArray("full.starts", pattern.full.starts, startCount(pattern));
    addArray("full.indices", pattern.full.indices, indexCount(pattern));
  }
}

} // namespace sparsec::runtime
