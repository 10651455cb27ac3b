// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that takes the transpose of a stored matrix.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_TRANSPOSED_IMAGE_H
#define SPARSEC_TEST_UNIT_RUNTIME_TRANSPOSED_IMAGE_H

#include "operations/kernel_shape.h"
#include "runtime_images.h"

namespace sparsec::test {

constexpr uint32_t indexSections[] = {SPARSEC_PLAN_ROW_STARTS, SPARSEC_PLAN_ROW_COLUMNS, SPARSEC_PLAN_ROW_BLOCKS};

/// A kernel of cudaLinear() or linearWithStreams() that takes the transpose of 'w'. Its variants by block rows have the
/// index as their first parameters.
inline LaunchInfoBuilder transposed(LaunchInfoBuilder info) {
  info.operands[0].layout = SPARSEC_LAYOUT_TRANSPOSED;
  for (sparsec_extent_info_t &extent : info.extents)
    if (extent.argument == 0)
      extent.dimension = 1;
  for (sparsec_variant_info_t &variant : info.variants) {
    if (variant.required_sections != 0)
      continue;
    variant.required_sections = runtime::rowSections;
    sparsec_parameter_info_t *parameter = &info.parameters[info.stages[variant.stage_first].parameter_first];
    // No test here looks at the parameters that were there.
    for (uint32_t section : indexSections)
      *parameter++ = {SPARSEC_SOURCE_PLAN_SECTION, section, 0, 0};
  }
  return info;
}

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_TRANSPOSED_IMAGE_H
