// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention kernels whose sequences have sizes of their own.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_SEQUENCE_IMAGE_H
#define SPARSEC_TEST_UNIT_RUNTIME_SEQUENCE_IMAGE_H

#include "runtime_images.h"

#include <cstring>

namespace sparsec::test {

struct SequenceOperands {
  bool queryStarts = false, keyStarts = false, keyLengths = false, pageTable = false;
};
inline constexpr SequenceOperands packed = {.queryStarts = true, .keyStarts = true};
inline constexpr SequenceOperands paged = {.keyLengths = true, .pageTable = true};

constexpr int64_t rowsOfPage = 16;

/// Adds an input behind the others, whose operand has the number of its argument. Returns this number.
inline uint32_t addInput(LaunchInfoBuilder &info, const char *name, uint32_t slot, uint32_t rank) {
  sparsec_kernel_info_t &kernel = info.kernels[0];
  const uint32_t number = kernel.argument_count - kernel.result_count;
  sparsec_argument_info_t argument = {};
  std::strcpy(argument.name, name);
  argument.kind = SPARSEC_ARGUMENT_DENSE;
  argument.dtype = SPARSEC_DTYPE_I32;
  argument.rank = rank;
  for (int64_t &size : argument.sizes)
    size = SPARSEC_DYNAMIC;
  for (sparsec_operand_info_t &operand : info.operands)
    operand.argument += operand.argument >= number;
  for (sparsec_parameter_info_t &parameter : info.parameters)
    parameter.index += parameter.source == SPARSEC_SOURCE_ARGUMENT && parameter.index >= number;
  info.arguments.insert(info.arguments.begin() + number, argument);
  info.operands.insert(info.operands.begin() + number, {slot, number, SPARSEC_LAYOUT_NONE, SPARSEC_BROADCAST_NONE});
  ++kernel.argument_count;
  ++info.operations[0].operand_count;
  return number;
}

/// Gives a kernel of cudaAttention() the operands "query_starts", "key_starts", "key_lengths" and "page_table", its
/// tensors the layouts that go with them, and its panels one more for each sequence of packed queries.
inline void addSequences(LaunchInfoBuilder &info, const SequenceOperands &operands) {
  if (operands.queryStarts) {
    const uint32_t starts = addInput(info, "query_starts", SPARSEC_ATTENTION_QUERY_STARTS, 1);
    info.extents.push_back({starts, SPARSEC_FIELD_SIZE, 0, 1, 1, SPARSEC_EXTENT_SUMMAND});
    ++info.stages[0].panel_count;
  }
  if (operands.keyStarts)
    addInput(info, "key_starts", SPARSEC_ATTENTION_KEY_STARTS, 1);
  if (operands.keyLengths)
    addInput(info, "key_lengths", SPARSEC_ATTENTION_KEY_LENGTHS, 1);
  if (operands.pageTable)
    addInput(info, "page_table", SPARSEC_ATTENTION_PAGE_TABLE, 2);
  for (sparsec_operand_info_t &operand : info.operands) {
    const uint32_t slot = operand.slot;
    if (operands.queryStarts &&
        (slot == SPARSEC_ATTENTION_QUERY || slot == SPARSEC_ATTENTION_RESULT || slot == SPARSEC_ATTENTION_LSE))
      operand.layout = SPARSEC_LAYOUT_PACKED;
    if (slot != SPARSEC_ATTENTION_KEY && slot != SPARSEC_ATTENTION_VALUE)
      continue;
    operand.layout = operands.keyStarts   ? SPARSEC_LAYOUT_PACKED
                     : operands.pageTable ? SPARSEC_LAYOUT_PAGED
                                          : SPARSEC_LAYOUT_NONE;
    if (operands.pageTable)
      info.arguments[operand.argument].sizes[2] = rowsOfPage;
  }
}

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_SEQUENCE_IMAGE_H
