// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel with a variant that takes streams.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_STREAM_IMAGE_H
#define SPARSEC_TEST_UNIT_RUNTIME_STREAM_IMAGE_H

#include "runtime_images.h"

#include <algorithm>
#include <cstring>

namespace sparsec::test {

/// The sections that the first variant of linearWithStreams() takes.
constexpr uint32_t streamPlanSections[] = {
    SPARSEC_PLAN_TILE_OFFSETS,  SPARSEC_PLAN_TILES,          SPARSEC_PLAN_WINDOW_ROWS,   SPARSEC_PLAN_STAGE_OFFSETS,
    SPARSEC_PLAN_STAGE_COLUMNS, SPARSEC_PLAN_STAGE_PRODUCTS, SPARSEC_PLAN_CHUNK_OFFSETS, SPARSEC_PLAN_CHUNK_BLOCKS};

/// Number of its stage.
constexpr uint32_t streamStage = 2;

/// cudaLinear() with one more variant in front of the others: windows of four block rows, two for each consumer, stages
/// of two block columns, chunks of four products. Its parameters are the eight sections of the plan, the tile rows, the
/// panels and the period.
inline LaunchInfoBuilder linearWithStreams() {
  LaunchInfoBuilder info = cudaLinear();
  const uint32_t number = info.addVariant();
  info.setTile(number, 256, 256);
  sparsec_stage_info_t &stage = info.stages[number];
  info.extents[stage.row_first].block = 256;
  std::strcpy(stage.symbol, "linear_streams");
  stage.tile_k = 128;
  stage.consumer_rows = 128;
  stage.product_rows = 64;
  stage.chunk_products = 4;
  stage.parameter_first = uint32_t(info.parameters.size());
  for (uint32_t section : streamPlanSections)
    info.parameters.push_back({SPARSEC_SOURCE_PLAN_SECTION, section, 0, 0});
  for (uint32_t source : {SPARSEC_SOURCE_TILE_ROWS, SPARSEC_SOURCE_PANELS, SPARSEC_SOURCE_PERIOD})
    info.parameters.push_back({source, 0, 0, 0});
  stage.parameter_count = uint32_t(info.parameters.size()) - stage.parameter_first;
  sparsec_variant_info_t &variant = info.variants.back();
  for (uint32_t section : streamPlanSections)
    if (section != SPARSEC_PLAN_TILE_OFFSETS && section != SPARSEC_PLAN_TILES)
      variant.required_sections |= 1u << section;
  variant.plan_cost_first = uint32_t(info.planCosts.size());
  variant.plan_cost_count = 4;
  info.planCosts.insert(info.planCosts.end(), {{SPARSEC_PLAN_COST_TILE_OVERHEAD, 2},
                                               {SPARSEC_PLAN_COST_GROUPED_DENSITY, 0},
                                               {SPARSEC_PLAN_COST_COLUMN, 50},
                                               {SPARSEC_PLAN_COST_WINDOW_DENSITY, 101}});
  std::rotate(info.variants.begin(), info.variants.end() - 1, info.variants.end());
  return info;
}

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_STREAM_IMAGE_H
