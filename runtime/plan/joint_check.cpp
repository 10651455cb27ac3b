// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/joint_lists.h"
#include "plan/section_check.h"

namespace sparsec::runtime {

namespace {

/// Joint lists from a file: what makeJointLists() gives, whatever the pattern.
class JointListCheck {
  static constexpr uint32_t noTile = UINT32_MAX;
  /// The last tile that had a key block, and the rows that see it there.
  struct Seen {
    uint32_t tile = noTile, rows = 0;
  };

public:
  JointListCheck(const SectionCheck &check, int64_t keyBlock)
      : check(check), columns(ceilDivide(check.problem.depth, keyBlock)),
        blocksOfStep(blocksOfJointStep(check.stage(), keyBlock)),
        mayDivide(jointCosts(check.kernel, *check.variant().info).mayDivide()), seen(size_t(columns)) {}

  Status run(int64_t tiles);

private:
  Status checkRange(uint32_t tile);
  Status checkBits(uint32_t number) const;
  Status checkBlock(uint32_t number, uint32_t tile);
  Status checkStep(uint32_t first, uint32_t tile);
  bool isDivided(uint32_t number) const { return (entries[number] & SPARSEC_JOINT_DIVIDED) != 0; }

  template <typename... Pieces> Status broken(uint32_t number, const Pieces &...pieces) const {
    return check.broken(SPARSEC_PLAN_JOINT_BLOCKS, "entry ", number, " ", pieces...);
  }

  const SectionCheck &check;
  const int64_t columns, blocksOfStep;
  const bool mayDivide;
  std::span<const JointRange> ranges;
  std::span<const uint32_t> entries;
  std::vector<Seen> seen; // by key block
};

/// The bits of an entry are those that kernels of this version know.
Status JointListCheck::checkBits(uint32_t number) const {
  const uint32_t known = SPARSEC_JOINT_BLOCK_MASK | SPARSEC_JOINT_PARTIAL * 3 | SPARSEC_JOINT_ABSENT * 3 |
                         (mayDivide ? SPARSEC_JOINT_DIVIDED : 0);
  const uint32_t entry = entries[number], partial = entry / SPARSEC_JOINT_PARTIAL & 3;
  if ((entry & ~known) != 0 || (partial & absentRows(entry)) != 0)
    return broken(number, "has bits ", entry & ~SPARSEC_JOINT_BLOCK_MASK);
  return {};
}

/// A block that a row sees. No row sees a block twice.
Status JointListCheck::checkBlock(uint32_t number, uint32_t tile) {
  const uint32_t block = jointBlockOf(entries[number]), rows = ~absentRows(entries[number]) & 3;
  if (int64_t(block) >= columns)
    return broken(number, "is of block ", block, " of ", columns);
  if (rows == 0)
    return broken(number, "is in neither row");
  if (seen[block].tile != tile)
    seen[block] = {tile, 0};
  if ((seen[block].rows & rows) != 0)
    return broken(number, "is of block ", block, ", as another one of tile ", tile);
  seen[block].rows |= rows;
  return {};
}

/// Divided steps are at the end, behind one that is not. Their entries are of one row each.
Status JointListCheck::checkStep(uint32_t first, uint32_t tile) {
  for (uint32_t number = first; number < first + blocksOfStep; ++number) {
    SPARSEC_RETURN_IF_ERROR(checkBits(number));
    if (isDivided(number) != isDivided(first))
      return broken(number, "is in a step that is divided in part");
    if (isDivided(number) && absentRows(entries[number]) != 2 - (number - first))
      return broken(number, "is not of row ", number - first, " alone");
  }
  if (isDivided(first) && first == ranges[tile].begin)
    return broken(first, "is of a divided step, but tile ", tile, " has none in front");
  if (!isDivided(first) && first != ranges[tile].begin && isDivided(first - 1))
    return broken(first, "is of a shared step behind a divided one");
  const uint32_t next = first + uint32_t(blocksOfStep);
  const bool isLastShared = next == ranges[tile].end || isDivided(next);
  for (uint32_t number = first; number < next; ++number)
    if (entries[number] != noJointBlock || number == first || !isLastShared)
      SPARSEC_RETURN_IF_ERROR(checkBlock(number, tile));
  return {};
}

Status JointListCheck::checkRange(uint32_t tile) {
  const JointRange &range = ranges[tile];
  if (range.begin > range.end || range.end >= entries.size() || range.begin % blocksOfStep != 0 ||
      range.end % blocksOfStep != 0)
    return check.broken(SPARSEC_PLAN_JOINT_RANGES, "tile ", tile, " has entries ", range.begin, " to ", range.end,
                        " of ", entries.size() - 1, ", in steps of ", blocksOfStep);
  for (uint32_t first = range.begin; first < range.end; first += uint32_t(blocksOfStep))
    SPARSEC_RETURN_IF_ERROR(checkStep(first, tile));
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
