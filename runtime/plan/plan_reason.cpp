// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/plan_reason.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace sparsec::runtime {

namespace {

/// A number with two digits behind the point.
std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", value);
  return text;
}

} // namespace

std::string orderName(sparsec_tile_order_t order) {
  return order == SPARSEC_TILE_ORDER_COUNTER ? "counter" : "fixed order";
}

std::string densityReason(const BlockPattern &pattern, uint32_t percentage) {
  const double all = double(pattern.blockRows) * double(pattern.blockColumns);
  return "density " + decimal(all == 0 ? 0 : double(pattern.count()) / all) + " is at least " +
         decimal(percentage / 100.0);
}

std::string fillReason(double fill, uint32_t leastPercentage) {
  const double least = leastPercentage / 100.0;
  return "fill " + decimal(fill) + " is " + (fill < least ? "less than " : "at least ") + decimal(least);
}

static std::string blocksPerColumn(int64_t blocks, int64_t columns) {
  return decimal(columns == 0 ? 0 : double(blocks) / double(columns)) + " blocks per column";
}

std::string windowReason(const std::string &what, int64_t blocks, int64_t columns) {
  return what + ": " + blocksPerColumn(blocks, columns);
}

std::string sharingReason(int64_t blocks, int64_t columns, uint32_t leastPercentage) {
  return blocksPerColumn(blocks, columns) + " are fewer than " + decimal(leastPercentage / 100.0);
}

std::string cutReason(const CutLists &lists, const std::string &along) {
  const bool areCut = !lists.tiles.empty();
  return (areCut ? "tiles cut along " + along + ": the longest list gets "
                 : "no cut tiles: the longest list would get ") +
         decimal(100 * std::max(lists.gain, 0.0)) + " % shorter";
}

std::string jointReason(const JointLists &lists, double gain, bool areFaster) {
  auto ofBlocks = [&](int64_t count) { return lists.blocks == 0 ? 0 : double(count) / double(lists.blocks); };
  std::string reason = areFaster ? "joint lists: " : "no joint lists: ";
  reason += decimal(ofBlocks(lists.blocksOfRows)) + " block rows see a block, ";
  if (lists.dividedBlocks != 0)
    reason += decimal(100 * ofBlocks(lists.dividedBlocks)) + " % of the blocks are in divided steps, ";
  return reason + decimal(gain) + " times as fast";
}

std::string openReason(const sparsec_kernel_s &kernel, const Problem &problem, sparsec_tile_order_t order,
                       bool areListsMissing) {
  std::string open;
  for (const NamedSize &each : operationOf(kernel).planSizes)
    if (!isKnown(problem.*each.size))
      open += (open.empty() ? "" : ", ") + std::string(each.name);
  if (open.empty())
    return orderName(order) + (areListsMissing ? ": the lists are open" : ": no tile has blocks");
  return orderName(order) + ": open sizes " + open;
}

void addReason(VariantPlan &part, const std::string &text) {
  const size_t length = std::strlen(part.reason);
  std::snprintf(part.reason + length, sizeof(part.reason) - length, "%s%s", length == 0 ? "" : "; ", text.c_str());
}

} // namespace sparsec::runtime
