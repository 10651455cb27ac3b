// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention with a variant for the joint lists of two block rows.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_JOINT_IMAGE_H
#define SPARSEC_TEST_UNIT_RUNTIME_JOINT_IMAGE_H

#include "operations/kernel_shape.h"
#include "runtime_images.h"

#include <algorithm>
#include <cstring>

namespace sparsec::test {

/// The parameters of both variants.
constexpr uint32_t jointParameters = 4;

/// cudaAttention() with blocks of 64 x 64, one CTA on an SM, and one more variant in front of the other: its tiles of
/// 128 queries take 1 step beside those for their keys, and keys take `percentage` of the time of the other variant.
/// Tiles of that one take 2. Their parameters are sections of the plan.
inline LaunchInfoBuilder attentionWithJointLists(uint32_t percentage = 160, uint32_t stepKeys = 64) {
  enum { pattern = 3 };
  LaunchInfoBuilder info = cudaAttention();
  info.arguments[pattern].block_columns = 64;
  info.stages[0].ctas_per_sm = 1;
  info.setTile(0, 64, 64);
  info.parameters.clear();
  for (uint32_t section : {SPARSEC_PLAN_TILE_OFFSETS, SPARSEC_PLAN_TILES, SPARSEC_PLAN_TILE_OFFSETS, SPARSEC_PLAN_TILES,
                           SPARSEC_PLAN_JOINT_RANGES, SPARSEC_PLAN_JOINT_BLOCKS})
    info.parameters.push_back({SPARSEC_SOURCE_PLAN_SECTION, section, 0, 0});
  info.stages[0].parameter_count = jointParameters;
  const uint32_t number = info.addVariant();
  info.setTile(number, 128, stepKeys);
  sparsec_stage_info_t &stage = info.stages[number];
  std::strcpy(stage.symbol, "attention_joint");
  stage.parameter_first = 2;
  sparsec_variant_info_t &variant = info.variants.back();
  variant.required_sections = runtime::jointSections;
  variant.plan_cost_first = uint32_t(info.planCosts.size());
  variant.plan_cost_count = 2;
  info.planCosts.push_back({SPARSEC_PLAN_COST_TILE_OVERHEAD, 1});
  info.planCosts.push_back({SPARSEC_PLAN_COST_JOINT_ROWS, percentage});
  std::rotate(info.variants.begin(), info.variants.end() - 1, info.variants.end());
  return info;
}

/// The same with steps of two blocks, which may be divided. A divided step takes as long as a block of the other
/// variant, and a tile takes no more time if it has some.
inline LaunchInfoBuilder attentionWithDividedSteps(uint32_t percentage = 80) {
  LaunchInfoBuilder info = attentionWithJointLists(percentage, /*stepKeys=*/128);
  info.variants[0].plan_cost_count += 2;
  info.planCosts.push_back({SPARSEC_PLAN_COST_DIVIDED_STEP, 100});
  info.planCosts.push_back({SPARSEC_PLAN_COST_DIVISION, 0});
  return info;
}

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_JOINT_IMAGE_H
