// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel with a variant that reads packed values.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_PACKED_IMAGE_H
#define SPARSEC_TEST_UNIT_RUNTIME_PACKED_IMAGE_H

#include "operations/kernel_shape.h"
#include "runtime_images.h"

#include <algorithm>
#include <cstring>

namespace sparsec::test {

/// Numbers of its stages.
constexpr uint32_t packedStage = 2, packerStage = 3;

/// cudaLinear() with one more variant in front of the others, for packed blocks of 128 x 128, four stored blocks each.
/// Its parameters are the index arrays and the values of the matrix, the two tile lists, the tile rows, the panels and
/// the period. Packed blocks are at least half full. The packer takes the values, the sources, and the packed values.
inline LaunchInfoBuilder linearWithPackedValues() {
  LaunchInfoBuilder info = cudaLinear();
  const uint32_t number = info.addVariant();
  info.setTile(number, 128, 256);
  std::strcpy(info.stages[number].symbol, "linear_packed");
  info.extents[info.stages[number].row_first].block = 128;
  info.stages[number].parameter_first = uint32_t(info.parameters.size());
  for (uint32_t field : {SPARSEC_FIELD_FULL_STARTS, SPARSEC_FIELD_FULL_INDICES, SPARSEC_FIELD_DATA})
    info.parameters.push_back({SPARSEC_SOURCE_ARGUMENT, 0, field, 0});
  for (uint32_t section : {SPARSEC_PLAN_TILE_OFFSETS, SPARSEC_PLAN_TILES})
    info.parameters.push_back({SPARSEC_SOURCE_PLAN_SECTION, section, 0, 0});
  for (uint32_t source : {SPARSEC_SOURCE_TILE_ROWS, SPARSEC_SOURCE_PANELS, SPARSEC_SOURCE_PERIOD})
    info.parameters.push_back({source, 0, 0, 0});
  info.stages[number].parameter_count = 8;
  sparsec_variant_info_t &variant = info.variants.back();
  variant.packed_block_rows = variant.packed_block_columns = 128;
  variant.required_sections = runtime::packedSections;
  variant.plan_cost_first = uint32_t(info.planCosts.size());
  variant.plan_cost_count = 3;
  info.planCosts.insert(info.planCosts.end(), {{SPARSEC_PLAN_COST_TILE_OVERHEAD, 2},
                                               {SPARSEC_PLAN_COST_GROUPED_DENSITY, 101},
                                               {SPARSEC_PLAN_COST_PACKED_FILL, 50}});
  std::rotate(info.variants.begin(), info.variants.end() - 1, info.variants.end());

  sparsec_stage_info_t packer = info.stages[number];
  std::strcpy(packer.symbol, "linear_pack");
  packer.cluster = 1;
  packer.row_count = packer.panel_count = 0;
  packer.parameter_first = uint32_t(info.parameters.size());
  packer.parameter_count = 3;
  info.parameters.insert(info.parameters.end(), {{SPARSEC_SOURCE_ARGUMENT, 0, SPARSEC_FIELD_DATA, 0},
                                                 {SPARSEC_SOURCE_PLAN_SECTION, SPARSEC_PLAN_PACKED_SOURCES, 0, 0},
                                                 {SPARSEC_SOURCE_INPUT, 0, 0, 0}});
  info.stages.push_back(packer);
  info.auxiliaries.push_back({SPARSEC_AUXILIARY_PACK_BLOCKS, packerStage});
  info.kernels[0].auxiliary_count = 1;
  return info;
}

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_PACKED_IMAGE_H
