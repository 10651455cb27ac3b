// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/section_check.h"
#include "plan/host_lists.h"
#include "plan/tile_lists.h"

#include <algorithm>
#include <utility>

namespace sparsec::runtime {

namespace {

constexpr uint32_t tileLists = 1u << SPARSEC_PLAN_TILE_OFFSETS | 1u << SPARSEC_PLAN_TILES;
/// Without them no variant can run that reads stored values. They are made on the host too.
constexpr uint32_t indexSections = rowSections | pairSections;

uint32_t presentSections(const SectionSet &sections) {
  uint32_t present = 0;
  for (uint32_t i = 0; i < planSectionCount; ++i)
    present |= uint32_t(sections[i].has_value()) << i;
  return present;
}

/// The sections of windows or streams that the variant takes.
uint32_t windowSectionsOf(const SectionCheck &check) {
  return check.variant().info->required_sections & ~indexSections & ~packedSections & ~cutSections & ~jointSections;
}

/// Whether the variant reads packed values and the plan has none.
bool lacksPackedBlocks(const SectionCheck &check) {
  return isPacked(*check.variant().info) && (presentSections(check.sections) & packedSections) == 0;
}

/// Whether the variant cuts tiles whose lists may be any (see CutListInput): the plan knows no pattern for them.
bool cutsOpenLists(const SectionCheck &check) {
  return takesCuts(*check.variant().info) && operationOf(check.kernel).kind == SPARSEC_OPERATION_ATTENTION;
}

/// The lists of such tiles, as a matrix whose block rows have all blocks that an entry can count.
MatrixShape shapeOfOpenLists(const SectionCheck &check) {
  const TileGrid grid = tileGridOf(check.kernel, check.stage(), check.problem, /*windows=*/0);
  MatrixShape shape = {};
  shape.blockColumns = allBlocks;
  shape.blocks = isKnown(grid.tileRows) ? grid.tileRows * int64_t(allBlocks) : 0;
  return shape;
}

/// Checks which sections are there: all of a kind or none, and only those that the variant takes.
Status checkPresence(const SectionCheck &check) {
  const uint32_t required = check.variant().info->required_sections, present = presentSections(check.sections);
  const bool isHost = check.kernel.module->device->isHost();
  for (uint32_t kind :
       {tileLists, rowSections, pairSections, packedSections, cutSections, jointSections, windowSectionsOf(check)})
    if ((present & kind) != 0 && (present & kind) != kind)
      return invalidPlan("variant ", check.number, " has some sections of a kind, but not all: ", present, " of ",
                         kind);
  const uint32_t lists = takesCuts(*check.variant().info) ? 0 : tileLists;
  const uint32_t possible = isHost ? required & indexSections : required | lists;
  if ((present & ~possible) != 0)
    return invalidPlan("variant ", check.number, " has sections ", present, ", but takes ", possible);
  if (lacksPackedBlocks(check))
    return present == 0 ? Status()
                        : invalidPlan("variant ", check.number, " has sections ", present, ", but no packed blocks");
  if ((required & rowSections & ~present) != 0)
    return invalidPlan("variant ", check.number, " lacks the index of the transposed matrix");
  if ((required & pairSections & ~present) != 0)
    return invalidPlan("variant ", check.number, " lacks the pairs of blocks");
  const uint32_t holder = (present & jointSections) != 0 ? SPARSEC_ARGUMENT_PATTERN : SPARSEC_ARGUMENT_BSR;
  const bool hasList = !check.lists.empty() && check.kernel.argument(check.lists.front().argument).kind == holder;
  const uint32_t unlisted = cutsOpenLists(check) ? tileLists | cutSections : tileLists;
  if ((present & ~unlisted) != 0 && !hasList)
    return invalidPlan("variant ", check.number, " holds a pattern, but the plan does not know its lists");
  return {};
}

/// The shape of the matrix whose lists the plan of the kernel knows.
Status matrixShape(const SectionCheck &check, uint32_t argument, MatrixShape &outShape) {
  const sparsec_argument_info_t &info = check.kernel.argument(argument);
  const Problem &problem = check.problem;
  if (!isKnown(problem.rows) || !isKnown(problem.depth) || !isKnown(problem.blocks))
    return invalidPlan("variant ", check.number, " holds a pattern, but sizes of the matrix are open");
  int64_t rows = info.block_rows, columns = info.block_columns;
  if (isTransposed(check.kernel, argument))
    std::swap(rows, columns);
  outShape = {rows,           columns,      ceilDivide(problem.rows, rows), ceilDivide(problem.depth, columns),
              problem.blocks, problem.depth};
  return {};
}

/// The index of a transposed operand.
Status checkIndex(const SectionCheck &check, const MatrixShape &matrix) {
  std::span<const int32_t> starts, columns, blocks;
  SPARSEC_RETURN_IF_ERROR(check.readOffsets(SPARSEC_PLAN_ROW_STARTS, matrix.blockRows, starts));
  if (starts.back() != matrix.blocks)
    return check.broken(SPARSEC_PLAN_ROW_STARTS, "expects ", matrix.blocks, " at the end, but got ", starts.back());
  SPARSEC_RETURN_IF_ERROR(check.read(SPARSEC_PLAN_ROW_COLUMNS, matrix.blocks, columns));
  SPARSEC_RETURN_IF_ERROR(check.read(SPARSEC_PLAN_ROW_BLOCKS, matrix.blocks, blocks));
  for (int64_t row = 0; row < matrix.blockRows; ++row)
    for (int32_t i = starts[row], least = 0; i < starts[row + 1]; least = columns[i++] + 1)
      if (columns[i] < least || columns[i] >= matrix.blockColumns)
        return check.broken(SPARSEC_PLAN_ROW_COLUMNS, "expects ", least, " to ", matrix.blockColumns - 1, " at ", i,
                            ", but got ", columns[i]);
  OnceEach all(matrix.blocks);
  for (const int32_t &block : blocks)
    if (!all.insert(block))
      return check.broken(SPARSEC_PLAN_ROW_BLOCKS, "block ", block, " at ", &block - blocks.data(),
                          " is out of range or there twice");
  return {};
}

/// The lists of tiles, of all panels or of a period.
class TileListCheck {
public:
  TileListCheck(const SectionCheck &check, int64_t period, bool isStatic)
      : check(check), period(period), isStatic(isStatic) {}

  Status run(VariantPlan &part);

private:
  Status checkGrid(const VariantPlan &part);
  Status checkWorkers() const;
  Status checkTiles() const;
  Status checkPeriodicList(int64_t worker) const;

  const SectionCheck &check;
  const int64_t period;
  const bool isStatic; // the pattern of the plan
  TileGrid grid = {};  // that the lists hold
  std::span<const uint32_t> offsets;
  std::span<const Tile> tiles;
};

Status TileListCheck::checkGrid(const VariantPlan &part) {
  grid = tileGridOf(check.kernel, check.stage(), check.problem, part.windows);
  const bool isPeriodic = isKnown(period);
  const bool mayBePeriodic =
      operationOf(check.kernel).periodicLists && takesPeriod(check.kernel, check.variant().first()) && period > 0;
  if (isPeriodic && !mayBePeriodic)
    return invalidPlan("variant ", check.number, " has a period of ", period, " panels");
  if (isPeriodic)
    grid.panels = period;
  if (!isKnown(grid.tileRows) || !isKnown(grid.panels))
    return invalidPlan("variant ", check.number, " has tile lists, but sizes are open");
  if (const Status status = checkTileCount(grid))
    return invalidPlan("variant ", check.number, ": ", status->message);
  return {};
}

/// No more than a launch has, in whole CTAs.
Status TileListCheck::checkWorkers() const {
  const int64_t workers = int64_t(offsets.size()) - 1, teams = check.stage().concurrent_tiles;
  const int64_t ofLaunch = std::min(check.variant().first().residentWorkers, grid.tiles());
  const int64_t most = ceilDivide(ofLaunch, teams) * teams;
  if (workers >= 1 && workers <= most && workers % teams == 0)
    return {};
  return check.broken(SPARSEC_PLAN_TILE_OFFSETS, "expects lists of 1 to ", most, " workers, in multiples of ", teams,
                      ", but got ", workers);
}

Status TileListCheck::checkTiles() const {
  const bool isComplete = !isStatic || !operationOf(check.kernel).skipsEmptyTiles;
  if (int64_t(tiles.size()) > grid.tiles() || (isComplete && int64_t(tiles.size()) != grid.tiles()))
    return check.broken(SPARSEC_PLAN_TILES, "expects the ", grid.tileRows, " x ", grid.panels,
                        " tiles of the result, but got ", tiles.size());
  OnceEach all(grid.tiles());
  for (const Tile &tile : tiles)
    if (tile.row >= grid.tileRows || tile.panel >= grid.panels ||
        !all.insert(int64_t(tile.row) * grid.panels + tile.panel))
      return check.broken(SPARSEC_PLAN_TILES, "tile row ", tile.row, " and panel ", tile.panel, " at ",
                          &tile - tiles.data(), " are beyond ", grid.tileRows, " x ", grid.panels,
                          " tiles, or there twice");
  return {};
}

/// Panels ascend, so that the first tile beyond the result ends a round. A result of p panels is computed by as many
/// workers as it has tiles: they have the tiles of these panels.
Status TileListCheck::checkPeriodicList(int64_t worker) const {
  uint32_t least = uint32_t(worker / std::max<int64_t>(grid.tileRows, 1));
  for (uint32_t i = offsets[worker]; i < offsets[worker + 1]; ++i) {
    if (tiles[i].panel < least)
      return check.broken(SPARSEC_PLAN_TILES, "expects panel ", least, " or more at ", i, ", in the list of worker ",
                          worker, ", but got ", tiles[i].panel);
    least = tiles[i].panel;
  }
  return {};
}

Status TileListCheck::run(VariantPlan &part) {
  SPARSEC_RETURN_IF_ERROR(checkGrid(part));
  const uint64_t offsetCount = check.sections[SPARSEC_PLAN_TILE_OFFSETS]->size() / sizeof(uint32_t);
  if (offsetCount == 0)
    return check.broken(SPARSEC_PLAN_TILE_OFFSETS, "there are none");
  SPARSEC_RETURN_IF_ERROR(check.readOffsets(SPARSEC_PLAN_TILE_OFFSETS, offsetCount - 1, offsets));
  SPARSEC_RETURN_IF_ERROR(checkWorkers());
  SPARSEC_RETURN_IF_ERROR(check.read(SPARSEC_PLAN_TILES, offsets.back(), tiles));
  SPARSEC_RETURN_IF_ERROR(checkTiles());
  part.order = SPARSEC_TILE_ORDER_LISTS;
  part.workers = int64_t(offsets.size()) - 1;
  part.period = period;
  for (int64_t worker = 0; isKnown(period) && worker < part.workers; ++worker)
    SPARSEC_RETURN_IF_ERROR(checkPeriodicList(worker));
  return {};
}

/// Windows or streams, where the variant takes them and the plan has them.
Status checkPattern(const SectionCheck &check, const MatrixShape &matrix, VariantPlan &part) {
  if (!check.sections[SPARSEC_PLAN_WINDOW_ROWS])
    return {};
  WindowCounts counts;
  SPARSEC_RETURN_IF_ERROR(takesStreams(*check.variant().info) ? checkStreams(check, matrix, counts)
                                                              : checkWindows(check, matrix, counts));
  setWindows(check.kernel, check.variant(), check.problem, counts.windows, counts.columns, part);
  return {};
}

} // namespace

Status checkWindowRows(const SectionCheck &check, const MatrixShape &matrix, int64_t groups,
                       std::span<const int32_t> &outRows) {
  SPARSEC_RETURN_IF_ERROR(check.readAll(SPARSEC_PLAN_WINDOW_ROWS, outRows));
  if (outRows.empty() || int64_t(outRows.size()) % groups != 0)
    return check.broken(SPARSEC_PLAN_WINDOW_ROWS, "expects ", groups, " elements for each window, but got ",
                        outRows.size());
  OnceEach all(matrix.blockRows);
  for (size_t i = 0; i < outRows.size(); ++i) {
    const bool mayBeNone = int64_t(i) % groups != 0;
    if ((!mayBeNone || outRows[i] != -1) && !all.insert(outRows[i]))
      return check.broken(SPARSEC_PLAN_WINDOW_ROWS, "block row ", outRows[i], " at ", i,
                          " is out of range or there twice");
    if (mayBeNone && outRows[i] != -1 && outRows[i - 1] == -1)
      return check.broken(SPARSEC_PLAN_WINDOW_ROWS, "expects none behind none, but got block row ", outRows[i], " at ",
                          i);
  }
  return all.isComplete() ? Status() : check.broken(SPARSEC_PLAN_WINDOW_ROWS, "a block row is missing");
}

Status checkSections(const SectionCheck &check, int64_t period, VariantPlan &part) {
  SPARSEC_RETURN_IF_ERROR(checkPresence(check));
  const uint32_t present = presentSections(check.sections);
  if ((present & pairSections) != 0)
    SPARSEC_RETURN_IF_ERROR(checkPairs(check));
  if ((present & jointSections) != 0)
    SPARSEC_RETURN_IF_ERROR(checkJointLists(check, check.kernel.argument(check.lists.front().argument).block_columns));
  if ((present & cutSections) != 0 && cutsOpenLists(check)) {
    SPARSEC_RETURN_IF_ERROR(checkCutTiles(check, shapeOfOpenLists(check), part));
  } else if ((present & ~tileLists & ~pairSections & ~jointSections) != 0) {
    MatrixShape matrix;
    const uint32_t argument = check.lists.front().argument;
    SPARSEC_RETURN_IF_ERROR(matrixShape(check, argument, matrix));
    if (isPacked(*check.variant().info))
      SPARSEC_RETURN_IF_ERROR(checkPacking(check, argument, MatrixShape(matrix), matrix));
    if ((present & rowSections) != 0)
      SPARSEC_RETURN_IF_ERROR(checkIndex(check, matrix));
    if ((present & cutSections) != 0)
      SPARSEC_RETURN_IF_ERROR(checkCutTiles(check, matrix, part));
    SPARSEC_RETURN_IF_ERROR(checkPattern(check, matrix, part));
  }
  if (takesCuts(*check.variant().info))
    return isKnown(period) ? invalidPlan("variant ", check.number, " has a period, but no tile lists") : Status();
  // As in a plan that is made: what a variant lacks, launches pass over.
  const bool lacksJointLists = takesJointLists(*check.variant().info) && (present & jointSections) == 0;
  const bool lacksPattern =
      (windowSectionsOf(check) != 0 && part.windows == 0) || lacksPackedBlocks(check) || lacksJointLists;
  const bool isPlanned = !check.kernel.module->device->isHost() && part.tiles != 0 && !lacksPattern;
  part.hasWorkspaces = isPlanned;
  if ((present & tileLists) == 0) {
    part.order = isPlanned ? orderWithoutLists(check.kernel, check.variant()) : SPARSEC_TILE_ORDER_FIXED;
    return isKnown(period) ? invalidPlan("variant ", check.number, " has a period, but no tile lists") : Status();
  }
  if (!isPlanned)
    return invalidPlan("variant ", check.number, " has tile lists, but nothing to compute or no pattern");
  return TileListCheck(check, period, /*isStatic=*/!check.lists.empty()).run(part);
}

} // namespace sparsec::runtime
