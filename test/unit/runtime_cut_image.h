// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel with a variant whose tiles a plan cuts along K.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_CUT_IMAGE_H
#define SPARSEC_TEST_UNIT_RUNTIME_CUT_IMAGE_H

#include "operations/kernel_shape.h"
#include "runtime_images.h"
#include "runtime_saved_plan.h"

#include <algorithm>
#include <cstring>

namespace sparsec::test {

/// The bytes that a CTA has in each of the two workspaces.
constexpr uint32_t cutSumBytes = 1024, cutFlagBytes = 8;

/// Adds one more variant in front of the others. Its parameters are the two sections and the two workspaces.
inline void addCuts(LaunchInfoBuilder &info, const char *symbol) {
  const uint32_t number = info.addVariant(), workspaces = uint32_t(info.workspaces.size());
  sparsec_stage_info_t &stage = info.stages[number];
  std::strcpy(stage.symbol, symbol);
  stage.parameter_first = uint32_t(info.parameters.size());
  for (uint32_t section : {SPARSEC_PLAN_CUT_OFFSETS, SPARSEC_PLAN_CUT_TILES})
    info.parameters.push_back({SPARSEC_SOURCE_PLAN_SECTION, section, 0, 0});
  for (uint32_t workspace : {0, 1})
    info.parameters.push_back({SPARSEC_SOURCE_WORKSPACE, workspace, 0, 0});
  stage.parameter_count = 4;
  info.workspaces.push_back({0, 0, cutSumBytes, SPARSEC_LIFETIME_LAUNCH, 0, SPARSEC_WORKSPACE_TILE_SUMS});
  info.workspaces.push_back({0, 0, cutFlagBytes, SPARSEC_LIFETIME_LAUNCHES, 1, SPARSEC_WORKSPACE_SUM_FLAGS});
  sparsec_variant_info_t &variant = info.variants.back();
  variant.required_sections = runtime::cutSections;
  variant.workspace_first = workspaces;
  variant.workspace_count = 2;
  std::rotate(info.variants.begin(), info.variants.end() - 1, info.variants.end());
}

/// cudaLinear() with it.
inline LaunchInfoBuilder linearWithCuts() {
  LaunchInfoBuilder info = cudaLinear();
  addCuts(info, "linear_cut");
  return info;
}

/// The words of a tile in a saved plan of such a variant, which is number 0.
enum class CutWord { row, panel, first, count };

/// The saved plan with another word in a tile, and the checksum of that.
inline ByteVector withCutWord(ByteVector saved, uint32_t tile, CutWord word, uint32_t value) {
  constexpr int64_t wordsOfTile = sizeof(sparsec_cut_tile_t) / sizeof(uint32_t);
  setWord(saved, 0, SPARSEC_PLAN_CUT_TILES, wordsOfTile * tile + int64_t(word), value);
  return mended(std::move(saved));
}

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_CUT_IMAGE_H
