// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/joint_lists.h"
#include "plan/section_check.h"

namespace sparsec::runtime {

namespace {

/// Joint lists from a file: what makeJointLists() gives, whatever the pattern.
class JointListCheck {
  static constexpr uint32_t noTile = UINT32_MAX;

public:
  JointListCheck(const SectionCheck &check, int64_t keyBlock)
      : check(check), columns(ceilDivide(check.problem.depth, keyBlock)),
        blocksOfStep(blocksOfJointStep(check.stage(), keyBlock)), lastTile(size_t(columns), noTile) {}

  Status run(int64_t tiles);

private:
  Status checkRange(uint32_t tile);
  Status checkEntry(uint32_t number, uint32_t tile);

  template <typename... Pieces> Status broken(uint32_t number, const Pieces &...pieces) const {
    return check.broken(SPARSEC_PLAN_JOINT_BLOCKS, "entry ", number, " ", pieces...);
  }

  const SectionCheck &check;
  const int64_t columns, blocksOfStep;
  std::span<const JointRange> ranges;
  std::span<const uint32_t> entries;
  std::vector<uint32_t> lastTile; // that had a key block
};

/// An entry is of a block that a row sees, or fills up the last step.
Status JointListCheck::checkEntry(uint32_t number, uint32_t tile) {
  constexpr uint32_t known = SPARSEC_JOINT_BLOCK_MASK | SPARSEC_JOINT_PARTIAL * 3 | SPARSEC_JOINT_ABSENT * 3;
  const uint32_t entry = entries[number], block = entry & SPARSEC_JOINT_BLOCK_MASK;
  const uint32_t partial = entry / SPARSEC_JOINT_PARTIAL & 3, absent = entry / SPARSEC_JOINT_ABSENT & 3;
  if ((entry & ~known) != 0 || (partial & absent) != 0)
    return broken(number, "has bits ", entry & ~SPARSEC_JOINT_BLOCK_MASK);
  if (entry == noJointBlock && number % blocksOfStep != 0 && number + blocksOfStep > ranges[tile].end)
    return {};
  if (int64_t(block) >= columns)
    return broken(number, "is of block ", block, " of ", columns);
  if (absent == 3)
    return broken(number, "is in neither row");
  if (lastTile[block] == tile)
    return broken(number, "is of block ", block, ", as another one of tile ", tile);
  lastTile[block] = tile;
  return {};
}

Status JointListCheck::checkRange(uint32_t tile) {
  const JointRange &range = ranges[tile];
  if (range.begin > range.end || range.end >= entries.size() || range.begin % blocksOfStep != 0 ||
      range.end % blocksOfStep != 0)
    return check.broken(SPARSEC_PLAN_JOINT_RANGES, "tile ", tile, " has entries ", range.begin, " to ", range.end,
                        " of ", entries.size() - 1, ", in steps of ", blocksOfStep);
  for (uint32_t number = range.begin; number < range.end; ++number)
    SPARSEC_RETURN_IF_ERROR(checkEntry(number, tile));
  return {};
}

Status JointListCheck::run(int64_t tiles) {
  SPARSEC_RETURN_IF_ERROR(check.read(SPARSEC_PLAN_JOINT_RANGES, uint64_t(tiles), ranges));
  SPARSEC_RETURN_IF_ERROR(check.readAll(SPARSEC_PLAN_JOINT_BLOCKS, entries));
  if (entries.empty() || entries.back() != 0)
    return check.broken(SPARSEC_PLAN_JOINT_BLOCKS, "expects a zero behind the end");
  for (uint32_t tile = 0; tile < tiles; ++tile)
    SPARSEC_RETURN_IF_ERROR(checkRange(tile));
  return {};
}

} // namespace

Status checkJointLists(const SectionCheck &check, int64_t keyBlock) {
  const TileGrid grid = tileGridOf(check.kernel, check.stage(), check.problem, /*windows=*/0);
  if (!isKnown(grid.tileRows) || !isKnown(grid.panels) || !isKnown(check.problem.depth))
    return invalidPlan("variant ", check.number, " has joint lists, but sizes are open");
  if (const Status status = checkTileCount(grid))
    return invalidPlan("variant ", check.number, ": ", status->message);
  return JointListCheck(check, keyBlock).run(grid.tiles());
}

} // namespace sparsec::runtime
