// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The auxiliary kernels that refill plans.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_REFILL_IMAGE_H
#define SPARSEC_TEST_UNIT_RUNTIME_REFILL_IMAGE_H

#include "runtime_images.h"

#include <cstring>

namespace sparsec::test {

/// Block columns that the kernels of these tests take.
constexpr uint32_t mostColumnsOfRefills = 8;

/// Adds an auxiliary kernel whose parameters are row_ptr, col_idx and a section.
inline void addRefillKernel(LaunchInfoBuilder &info, uint32_t kind, const char *symbol, uint32_t section) {
  sparsec_stage_info_t stage = info.stages[0];
  std::strcpy(stage.symbol, symbol);
  stage.cluster = 1;
  stage.row_count = stage.panel_count = 0;
  stage.tile_n = mostColumnsOfRefills;
  stage.parameter_first = uint32_t(info.parameters.size());
  stage.parameter_count = 3;
  info.parameters.insert(info.parameters.end(), {{SPARSEC_SOURCE_ARGUMENT, 0, SPARSEC_FIELD_FULL_STARTS, 0},
                                                 {SPARSEC_SOURCE_ARGUMENT, 0, SPARSEC_FIELD_FULL_INDICES, 0},
                                                 {SPARSEC_SOURCE_PLAN_SECTION, section, 0, 0}});
  info.auxiliaries.push_back({kind, uint32_t(info.stages.size())});
  info.stages.push_back(stage);
  ++info.kernels[0].auxiliary_count;
}

/// Adds the kernel that writes lists of tiles, of so many workers and tile rows at most. Its parameters are the numbers
/// and the two sections of the lists.
inline void addListWriter(LaunchInfoBuilder &info, uint32_t mostWorkers, uint32_t mostTileRows) {
  addRefillKernel(info, SPARSEC_AUXILIARY_WRITE_LISTS, "linear_write_lists", SPARSEC_PLAN_TILES);
  sparsec_stage_info_t &stage = info.stages.back();
  stage.tile_m = mostWorkers;
  stage.tile_n = mostTileRows;
  stage.parameter_first = uint32_t(info.parameters.size());
  for (uint32_t number = 0; number < SPARSEC_LIST_NUMBERS; ++number)
    info.parameters.push_back({SPARSEC_SOURCE_NUMBER, number, 0, 0});
  for (uint32_t section : {SPARSEC_PLAN_TILE_OFFSETS, SPARSEC_PLAN_TILES})
    info.parameters.push_back({SPARSEC_SOURCE_PLAN_SECTION, section, 0, 0});
  stage.parameter_count = uint32_t(info.parameters.size()) - stage.parameter_first;
}

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_REFILL_IMAGE_H
