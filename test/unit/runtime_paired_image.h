// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A product of two block-sparse matrices.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_PAIRED_IMAGE_H
#define SPARSEC_TEST_UNIT_RUNTIME_PAIRED_IMAGE_H

#include "runtime_images.h"

#include <cstring>

namespace sparsec::test {

/// c = a b + old for block-sparse a and b: of all of the result, in blocks of 16 x 32, or of the blocks of a pattern.
/// One variant for compute capability 9.0 exactly, which takes pairs. Arguments: a, b, p where there is a pattern, old,
/// c.
inline LaunchInfoBuilder cudaPaired(bool isSampled) {
  LaunchInfoBuilder info = cudaSampled();
  auto matrix = [like = info.arguments[0]](const char *name, uint32_t blockRows, uint32_t blockColumns) {
    sparsec_argument_info_t argument = like;
    std::strcpy(argument.name, name);
    argument.block_rows = blockRows;
    argument.block_columns = blockColumns;
    return argument;
  };
  sparsec_argument_info_t old = info.arguments[3], c = old;
  if (!isSampled) {
    old = info.arguments[1];
    old.dtype = SPARSEC_DTYPE_F32;
    c = old;
  }
  std::strcpy(old.name, "old");
  std::strcpy(c.name, "c");
  info.arguments = {matrix("a", 16, 8), matrix("b", 8, 32)};
  info.operands = {{SPARSEC_SPGEMM_LEFT, 0, 0, 0}, {SPARSEC_SPGEMM_RIGHT, 1, 0, 0}};
  if (isSampled) {
    info.arguments.push_back(matrix("p", 16, 32));
    info.operands.push_back({SPARSEC_SPGEMM_PATTERN, 2, 0, 0});
  }
  const uint32_t layout = isSampled ? SPARSEC_LAYOUT_NONE : SPARSEC_LAYOUT_ROW_MAJOR;
  const auto first = uint32_t(info.arguments.size());
  info.arguments.insert(info.arguments.end(), {old, c});
  info.operands.push_back({SPARSEC_SPGEMM_EXTRA, first, layout, SPARSEC_BROADCAST_FULL});
  info.operands.push_back({SPARSEC_SPGEMM_RESULT, first + 1, layout, 0});
  info.operations[0].kind = isSampled ? SPARSEC_OPERATION_SAMPLED_SPGEMM : SPARSEC_OPERATION_SPGEMM;
  info.operations[0].operand_count = uint32_t(info.operands.size());
  info.regions[0].input_count = 2;
  info.inputs = {{SPARSEC_INPUT_ACCUMULATOR, 0}, {SPARSEC_INPUT_OPERAND, first}};
  info.steps = {{SPARSEC_STEP_ADD, 0, 1, 0, 0}};
  std::strcpy(info.stages[0].symbol, "paired");
  info.extents = {{0, SPARSEC_FIELD_SIZE, 0, 16, 16, 0}, {1, SPARSEC_FIELD_SIZE, 1, 32, 32, 0}};
  info.parameters.clear();
  for (uint32_t section : {SPARSEC_PLAN_PAIR_STARTS, SPARSEC_PLAN_PAIRS, SPARSEC_PLAN_TILE_OFFSETS, SPARSEC_PLAN_TILES})
    info.parameters.push_back({SPARSEC_SOURCE_PLAN_SECTION, section, 0, 0});
  info.stages[0].parameter_count = uint32_t(info.parameters.size());
  info.requirements = {{0, 16, 1, 0}, {1, 16, 1, 0}};
  info.variants[0].required_sections = 1u << SPARSEC_PLAN_PAIR_STARTS | 1u << SPARSEC_PLAN_PAIRS;
  std::strcpy(info.kernels[0].name, "paired");
  info.kernels[0].argument_count = uint32_t(info.arguments.size());
  return info;
}

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_PAIRED_IMAGE_H
