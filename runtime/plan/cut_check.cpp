// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/cut_lists.h"
#include "plan/section_check.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

/// The tiles of a variant that cuts them. Every part of a tile is in the list of a worker that waits for no later one,
/// so that launches come to an end.
class CutTileCheck {
public:
  CutTileCheck(const SectionCheck &check, const MatrixShape &matrix)
      : check(check), matrix(matrix), grid(tileGridOf(check.kernel, check.stage(), check.problem, /*windows=*/0)),
        all(grid.tiles()), rowBlocks(grid.tileRows, unknown) {}

  Status run(VariantPlan &part);

private:
  static constexpr int64_t unknown = -1;

  Status readSections();
  Status checkList(int64_t worker);
  Status checkPlace(uint32_t number) const;
  Status checkFirst(uint32_t number);
  Status checkRest(uint32_t number);
  Status addBlocks(const CutTile &tile, uint32_t number, uint32_t blocks);
  Status checkBlocks() const;

  template <typename... Pieces> Status broken(uint32_t number, const Pieces &...pieces) const {
    return check.broken(SPARSEC_PLAN_CUT_TILES, "tile ", number, " ", pieces...);
  }

  const SectionCheck &check;
  const MatrixShape &matrix;
  const TileGrid grid;
  OnceEach all;
  std::vector<int64_t> rowBlocks; // by tile row
  std::span<const uint32_t> offsets;
  std::span<const CutTile> tiles;
  const CutTile *ofWorkerBefore = nullptr, *ofWorker = nullptr; // first parts
};

Status CutTileCheck::readSections() {
  const uint64_t count = check.sections[SPARSEC_PLAN_CUT_OFFSETS]->size() / sizeof(uint32_t);
  if (count == 0)
    return check.broken(SPARSEC_PLAN_CUT_OFFSETS, "there are none");
  SPARSEC_RETURN_IF_ERROR(check.readOffsets(SPARSEC_PLAN_CUT_OFFSETS, count - 1, offsets));
  const int64_t workers = int64_t(count) - 1;
  const int64_t most = std::min(check.variant().first().residentWorkers, grid.tiles());
  const int64_t ctas = ctasOf(check.stage(), workers);
  if (workers < 1 || workers > most || !hasRoomForFlags(check.kernel, *check.variant().info, ctas))
    return check.broken(SPARSEC_PLAN_CUT_OFFSETS, "expects lists of 1 to ", most,
                        " workers with room for flags, but got ", workers);
  return check.read(SPARSEC_PLAN_CUT_TILES, offsets.back(), tiles);
}

Status CutTileCheck::checkPlace(uint32_t number) const {
  const CutTile &each = tiles[number];
  if (each.tile.row >= grid.tileRows || each.tile.panel >= grid.panels)
    return broken(number, "is in tile row ", each.tile.row, " and panel ", each.tile.panel, " of ", grid.tileRows,
                  " x ", grid.panels);
  if (each.first > matrix.blockColumns || each.count() > matrix.blockColumns - each.first)
    return broken(number, "has blocks ", each.first, " + ", each.count(), " of a row of ", matrix.blockColumns);
  return {};
}

/// A whole tile, or the first part of one.
Status CutTileCheck::checkFirst(uint32_t number) {
  const CutTile &each = tiles[number];
  if (each.first != 0)
    return broken(number, "is no rest, but begins with block ", each.first);
  if (!all.insert(int64_t(each.tile.row) * grid.panels + each.tile.panel))
    return broken(number, "is there twice: tile row ", each.tile.row, ", panel ", each.tile.panel);
  if (each.kind() == CutKind::whole)
    return addBlocks(each, number, each.count());
  if (ofWorker)
    return broken(number, "is the second first part of its worker");
  ofWorker = &each;
  return {};
}

Status CutTileCheck::checkRest(uint32_t number) {
  const CutTile &each = tiles[number];
  if (!ofWorkerBefore)
    return broken(number, "is the rest of a tile, but the worker before has no first part for it");
  const CutTile &first = *ofWorkerBefore;
  ofWorkerBefore = nullptr;
  if (each.tile.row != first.tile.row || each.tile.panel != first.tile.panel || each.first != first.count())
    return broken(number, "is no rest of the first part that the worker before has");
  return addBlocks(each, number, each.first + each.count());
}

/// All tiles of a row have the same blocks.
Status CutTileCheck::addBlocks(const CutTile &tile, uint32_t number, uint32_t blocks) {
  int64_t &known = rowBlocks[tile.tile.row];
  if (known != unknown && known != int64_t(blocks))
    return broken(number, "has ", blocks, " blocks, but another one of its row has ", known);
  known = blocks;
  return {};
}

Status CutTileCheck::checkList(int64_t worker) {
  for (uint32_t number = offsets[worker]; number < offsets[worker + 1]; ++number) {
    SPARSEC_RETURN_IF_ERROR(checkPlace(number));
    switch (tiles[number].kind()) {
    case CutKind::whole:
    case CutKind::first:
      SPARSEC_RETURN_IF_ERROR(checkFirst(number));
      break;
    case CutKind::rest:
      SPARSEC_RETURN_IF_ERROR(checkRest(number));
      break;
    default:
      return broken(number, "is of kind ", uint32_t(tiles[number].kind()));
    }
  }
  if (ofWorkerBefore)
    return broken(uint32_t(ofWorkerBefore - tiles.data()), "is a first part, but worker ", worker,
                  " has no rest for it");
  ofWorkerBefore = ofWorker;
  ofWorker = nullptr;
  return {};
}

Status CutTileCheck::checkBlocks() const {
  int64_t blocks = 0;
  for (int64_t row = 0; row < grid.tileRows; row += grid.tilesPerBlockRow)
    blocks += rowBlocks[row];
  if (blocks == matrix.blocks)
    return {};
  return check.broken(SPARSEC_PLAN_CUT_TILES, "expects the ", matrix.blocks, " blocks of the matrix, but got ", blocks);
}

Status CutTileCheck::run(VariantPlan &part) {
  SPARSEC_RETURN_IF_ERROR(readSections());
  part.order = SPARSEC_TILE_ORDER_LISTS;
  part.workers = int64_t(offsets.size()) - 1;
  part.hasWorkspaces = true;
  for (int64_t worker = 0; worker < part.workers; ++worker)
    SPARSEC_RETURN_IF_ERROR(checkList(worker));
  if (ofWorkerBefore)
    return broken(uint32_t(ofWorkerBefore - tiles.data()), "is a first part of the last worker");
  if (!all.isComplete())
    return check.broken(SPARSEC_PLAN_CUT_TILES, "a tile is missing");
  return checkBlocks();
}

} // namespace

Status checkCutTiles(const SectionCheck &check, const MatrixShape &matrix, VariantPlan &part) {
  const TileGrid grid = tileGridOf(check.kernel, check.stage(), check.problem, /*windows=*/0);
  if (!isKnown(grid.tileRows) || !isKnown(grid.panels) || part.tiles == 0)
    return invalidPlan("variant ", check.number,
                       " has tiles that are cut, but sizes are open or nothing is to compute");
  if (const Status status = checkTileCount(grid))
    return invalidPlan("variant ", check.number, ": ", status->message);
  return CutTileCheck(check, matrix).run(part);
}

} // namespace sparsec::runtime
