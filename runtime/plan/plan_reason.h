// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words in which a plan says why a variant has its windows and its order (sparsec_plan_info_t).

#ifndef SPARSEC_RUNTIME_PLAN_REASON_H
#define SPARSEC_RUNTIME_PLAN_REASON_H

#include "plan/joint_lists.h"
#include "plan/plan.h"

namespace sparsec::runtime {

/// "fixed order", or "counter", of launches without lists.
std::string orderName(sparsec_tile_order_t order);

/// "density 0.97 is at least 0.90", of a matrix with at least this percentage of its blocks.
std::string densityReason(const BlockPattern &pattern, uint32_t percentage);

/// "fill 0.52 is at least 0.45", of packed blocks whose stored blocks have this share of their elements.
std::string fillReason(double fill, uint32_t leastPercentage);

/// "windows: 2.13 blocks per column".
std::string windowReason(const std::string &what, int64_t blocks, int64_t columns);
/// "1.05 blocks per column are fewer than 1.21".
std::string sharingReason(int64_t blocks, int64_t columns, uint32_t leastPercentage);

/// "tiles cut along K: the longest list gets 2.70 % shorter", or why tiles are whole. `along` is "K" or "the keys".
std::string cutReason(const CutLists &lists, const std::string &along);

/// "joint lists: 1.85 block rows see a block, 4.00 % of the blocks are in divided steps, 1.08 times as fast", or why a
/// variant has none. Lists without divided steps say nothing of them.
std::string jointReason(const JointLists &lists, double gain, bool areFaster);

/// Why there are no lists: "fixed order: N is open".
std::string openReason(const sparsec_kernel_s &kernel, const Problem &problem, sparsec_tile_order_t order,
                       bool areListsMissing);

/// Adds one more reason behind those that are there.
void addReason(VariantPlan &part, const std::string &text);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_PLAN_REASON_H
