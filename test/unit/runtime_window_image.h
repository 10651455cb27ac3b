// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel with a variant that takes windows.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_WINDOW_IMAGE_H
#define SPARSEC_TEST_UNIT_RUNTIME_WINDOW_IMAGE_H

#include "operations/kernel_shape.h"
#include "runtime_images.h"

#include <algorithm>
#include <cstring>

namespace sparsec::test {

/// Sections that its first variant takes.
constexpr uint32_t windowPlanSections = SPARSEC_PLAN_STEPS + 1;

/// cudaLinear() with one more variant in front of the others: windows of three block rows, a ring of five slots. Its
/// parameters are the nine sections of the plan, the tile rows, the panels and the period.
inline LaunchInfoBuilder linearWithWindows() {
  LaunchInfoBuilder info = cudaLinear();
  const uint32_t number = info.addVariant();
  info.setTile(number, 192, 256);
  sparsec_stage_info_t &stage = info.stages[number];
  info.extents[stage.row_first].block = 192;
  std::strcpy(stage.symbol, "linear_windows");
  stage.slots = 5;
  stage.parameter_first = uint32_t(info.parameters.size());
  for (uint32_t section = 0; section < windowPlanSections; ++section)
    info.parameters.push_back({SPARSEC_SOURCE_PLAN_SECTION, section, 0, 0});
  for (uint32_t source : {SPARSEC_SOURCE_TILE_ROWS, SPARSEC_SOURCE_PANELS, SPARSEC_SOURCE_PERIOD})
    info.parameters.push_back({source, 0, 0, 0});
  stage.parameter_count = uint32_t(info.parameters.size()) - stage.parameter_first;
  sparsec_variant_info_t &variant = info.variants.back();
  variant.required_sections = runtime::windowSections;
  variant.plan_cost_first = uint32_t(info.planCosts.size());
  variant.plan_cost_count = 4;
  info.planCosts.insert(info.planCosts.end(), {{SPARSEC_PLAN_COST_TILE_OVERHEAD, 2},
                                               {SPARSEC_PLAN_COST_GROUPED_DENSITY, 0},
                                               {SPARSEC_PLAN_COST_COLUMN, 150},
                                               {SPARSEC_PLAN_COST_WINDOW_DENSITY, 101}});
  std::rotate(info.variants.begin(), info.variants.end() - 1, info.variants.end());
  return info;
}

/// The same, whose plans have windows only if a column has at least this percentage of a block.
inline LaunchInfoBuilder withWindowSharing(LaunchInfoBuilder info, uint32_t percentage) {
  info.planCosts.push_back({SPARSEC_PLAN_COST_WINDOW_SHARING, percentage}); // behind the other costs of windows
  ++info.variants.front().plan_cost_count;
  return info;
}

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_WINDOW_IMAGE_H
