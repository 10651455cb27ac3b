// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/key_parts.h"

#include <algorithm>

namespace sparsec::runtime {

/// Parts of a worker, where tiles are few: with several, workers that get short sequences take more of them.
constexpr int64_t partsOfWorker = 2;

Problem withParts(const sparsec_kernel_s &kernel, const Variant &variant, const Problem &problem) {
  Problem split = problem;
  split.parts = 1;
  const int64_t partKeys = variant.info->part_keys;
  const TileGrid grid = tileGrid(kernel, *variant.first().info, split);
  if (partKeys == 0 || !isKnown(grid.tileRows) || !isKnown(grid.panels) || grid.tiles() == 0)
    return split;
  split.parts = std::max<int64_t>(1, partsOfWorker * variant.first().residentWorkers / grid.tiles());
  if (isKnown(problem.depth))
    split.parts = std::min(split.parts, std::max<int64_t>(1, problem.depth / partKeys));
  return split;
}

} // namespace sparsec::runtime
