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

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_REFILL_IMAGE_H
