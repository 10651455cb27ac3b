// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/attention_tiles.h"
#include "plan/host_lists.h"
#include "plan/key_parts.h"
#include "plan/packed_matrix.h"
#include "plan/plan_progress.h"
#include "plan/plan_reason.h"
#include "plan/refill.h"

#include <chrono>
#include <utility>

namespace sparsec::runtime {

namespace {

Status checkFlags(uint32_t flags) {
  constexpr uint32_t known = SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST | SPARSEC_PLAN_PACK | SPARSEC_PLAN_REFILL;
  if ((flags & ~known) != 0)
    return invalidArgument("options: expects flags of 0 to ", known, " (sparsec_plan_flag_t), but got ", flags);
  if ((flags & SPARSEC_PLAN_PACK) != 0 && (flags & SPARSEC_PLAN_STATIC_PATTERN) == 0)
    return invalidArgument("options: expects SPARSEC_PLAN_STATIC_PATTERN with SPARSEC_PLAN_PACK, but got flags ",
                           flags);
  if ((flags & SPARSEC_PLAN_PACK) != 0 && (flags & SPARSEC_PLAN_REFILL) != 0)
    return invalidArgument("options: expects SPARSEC_PLAN_PACK or SPARSEC_PLAN_REFILL, but got both in flags ", flags);
  return {};
}

/// The arrays of one variant's sections. They stay until the sections are uploaded.
struct VariantArrays {
  Windows windows;
  Streams streams;
  TileLists lists;
  CutLists cuts;
  JointLists joint;
  std::vector<int32_t> windowCounts, windowSizes; // scratch memory of refills
  VariantArrays *ofStreams = nullptr;             // has the streams of this variant too, and their scratch memory

  VariantArrays &shared() { return ofStreams ? *ofStreams : *this; }
  const Streams &sharedStreams() const { return ofStreams ? ofStreams->streams : streams; }
};

/// The inputs of the plans of all variants.
struct PlanInput {
  const sparsec_kernel_s &kernel;
  const Problem &problem;
  const HostLists &lists;
  const PackedMatrix &packed;
  uint32_t flags;                     // of sparsec_plan_flag_t
  const std::vector<int32_t> &counts; // scratch memory of refills; empty where there are none

  bool isRefilled() const { return (flags & SPARSEC_PLAN_REFILL) != 0; }
  bool isStatic() const { return isRefilled() || (flags & SPARSEC_PLAN_STATIC_PATTERN) != 0; }
  bool mayReorderRows() const { return !isRefilled() && (flags & SPARSEC_PLAN_FAST) == 0; }
  /// The blocks for which a plan that is refilled has room.
  int64_t room() const { return lists.blocks()->capacity; }
  /// The blocks that the variant multiplies, by the block rows of the product; null where they are not known.
  const MatrixRows *matrixOf(const Variant &variant) const {
    return isPacked(*variant.info) ? packed.rows() : lists.matrix();
  }
};

/// The input from which an operation makes lists. `workers` are those of a launch, if that is known, `windows` those of
/// the plan.
TileListRequest listRequest(const PlanInput &input, const Variant &variant, int64_t workers, int64_t windows,
                            const VariantArrays &arrays) {
  const Stage &stage = variant.first();
  return {input.kernel,
          *variant.info,
          *stage.info,
          input.problem,
          input.isStatic() && !input.isRefilled(),
          !input.mayReorderRows() && isVariantOfRefills(input.kernel, variant),
          tileGridOf(input.kernel, *stage.info, input.problem, windows),
          workers,
          input.lists.blocks(),
          input.matrixOf(variant),
          input.lists.pairs().isEmpty() ? nullptr : input.lists.resultPattern(input.kernel),
          input.lists.pairs().isEmpty() ? nullptr : &input.lists.pairs(),
          arrays.windows.isEmpty() ? nullptr : &arrays.windows,
          arrays.sharedStreams().isEmpty() ? nullptr : &arrays.sharedStreams()};
}

/// The lists of one variant; none where what the tiles cost is open.
TileLists makeLists(const PlanInput &input, const Variant &variant, int64_t workers, int64_t windows,
                    const VariantArrays &arrays) {
  const Operation &operation = operationOf(input.kernel);
  const Stage &stage = variant.first();
  TileListRequest request = listRequest(input, variant, workers, windows, arrays);
  if (isComplete(operation, input.problem) && !input.lists.areMissing()) {
    // The last CTA's teams all look for a list.
    int64_t teams = stage.info->concurrent_tiles;
    request.workers = ceilDivide(workers, teams) * teams;
    return operation.tileLists(request);
  }
  request.workers = stage.residentWorkers;
  bool isPeriodic = operation.periodicLists && request.blocks && takesPeriod(input.kernel, stage);
  return isPeriodic ? operation.periodicLists(request) : TileLists();
}

/// Whether at least this percentage of the blocks is stored.
bool hasDensity(const BlockPattern &pattern, uint32_t percentage) {
  return 100 * double(pattern.count()) >= double(percentage) * double(pattern.blockRows) * double(pattern.blockColumns);
}

/// Why a variant with windows or streams gets none: the pattern is unknown or may change, or other variants are faster.
/// Empty where it may get them.
std::string whyNoWindows(const PlanInput &input, const Variant &variant) {
  const MatrixRows *matrix = input.matrixOf(variant);
  if (!matrix)
    return "the matrix is open";
  if (!input.isStatic())
    return "the pattern may change";
  if (matrix->pattern.blockRows == 0 || matrix->pattern.blockColumns == 0)
    return "the matrix is empty";
  const uint32_t percentage = input.kernel.planCost(*variant.info, SPARSEC_PLAN_COST_WINDOW_DENSITY);
  if (hasDensity(matrix->pattern, percentage))
    return densityReason(matrix->pattern, percentage);
  // Lines of a block have no end at K (SPARSEC_TENSOR_MAP_BSR_LINES).
  if (takesStreams(*variant.info) && matrix->depth % matrix->columnsOfBlock != 0)
    return "K is not a multiple of the block columns, " + std::to_string(matrix->columnsOfBlock);
  return input.isRefilled() ? whyNoRefill(input.kernel, variant, *matrix) : "";
}

void makeWindows(const PlanInput &input, const sparsec_stage_info_t &stage, const MatrixRows &matrix, RowOrder order,
                 VariantArrays &arrays) {
  const WindowInput windowInput = {matrix.pattern, stage.tile_m / matrix.rowsOfBlock, stage.slots, std::move(order)};
  arrays.windows = makeWindows(windowInput);
  if (!input.isRefilled() || arrays.windows.isEmpty())
    return;
  if (makeRoom(arrays.windows, windowInput, input.room()))
    arrays.windowCounts.resize(arrays.windows.count() * (1 + windowInput.groups));
  else
    arrays.windows = {};
}

/// Whether a column of the windows has at least this percentage of a block.
bool shareColumns(const Windows &windows, const BlockPattern &pattern, uint32_t percentage) {
  return 100 * double(pattern.count()) >= double(percentage) * double(windows.columnCount());
}

void makeStreams(const PlanInput &input, const sparsec_stage_info_t &stage, const MatrixRows &matrix, RowOrder order,
                 VariantArrays &arrays) {
  const StreamInput streamInput = {.pattern = matrix.pattern,
                                   .windowRows = stage.tile_m / matrix.rowsOfBlock,
                                   .consumers = stage.tile_m / stage.consumer_rows,
                                   .bundle = stage.product_rows / matrix.rowsOfBlock,
                                   .stageColumns = stage.tile_k / matrix.columnsOfBlock,
                                   .chunkProducts = stage.chunk_products,
                                   .adjacentColumns = (stage.flags & SPARSEC_STAGE_ADJACENT_COLUMNS) != 0,
                                   .rowOrder = std::move(order)};
  arrays.streams = makeStreams(streamInput);
  if (!input.isRefilled() || arrays.streams.isEmpty())
    return;
  if (makeRoom(arrays.streams, streamInput, input.room()))
    arrays.windowCounts.resize(arrays.streams.count() * (1 + streamInput.consumers));
  else
    arrays.streams = {};
}

/// Whether a window ends sooner with a row less. In streams it does so only where each consumer has several rows, each
/// product has one row, and each CTA has a window of its own. A consumer that lacks its only row waits for the others,
/// a product of several rows takes as long without one, and a CTA waits for the other one of its cluster.
bool mayBeShort(const sparsec_variant_info_t &variant, const sparsec_stage_info_t &stage, int64_t rowsOfBlock) {
  return !takesStreams(variant) ||
         (stage.cluster == 1 && stage.product_rows == rowsOfBlock && stage.consumer_rows > stage.product_rows);
}

/// The windows are short only for a product whose number of tiles is known.
RowOrder rowOrderOf(const PlanInput &input, const Variant &variant, const MatrixRows &matrix, const VariantPlan &part,
                    PlanProgress &progress) {
  const sparsec_stage_info_t &stage = *variant.first().info;
  RowOrder order = {input.mayReorderRows(), [&] { return progress.step(); }};
  if (!input.mayReorderRows() || !isKnown(part.tiles) || !mayBeShort(*variant.info, stage, matrix.rowsOfBlock))
    return order;
  const bool areStreams = takesStreams(*variant.info);
  const WindowLoad load = {tileGrid(input.kernel, stage, input.problem).panels, variant.first().residentWorkers,
                           input.kernel.planCost(*variant.info, SPARSEC_PLAN_COST_COLUMN),
                           input.kernel.planCost(*variant.info, SPARSEC_PLAN_COST_TILE_OVERHEAD), areStreams};
  const int64_t groups = stage.tile_m / matrix.rowsOfBlock;
  order.shortWindows = chooseShortWindows(matrix.pattern, groups, load);
  if (!areStreams)
    order.power = powerOfColumns({matrix.pattern.blockRows, groups, order.shortWindows}, load);
  return order;
}

void addWindows(const Windows &windows, SectionList &sections, VariantPlan &part) {
  if (windows.isEmpty())
    return;
  sections.add(part, SPARSEC_PLAN_WINDOW_ROWS, windows.rows);
  sections.add(part, SPARSEC_PLAN_COLUMN_OFFSETS, windows.columnOffsets);
  sections.add(part, SPARSEC_PLAN_COLUMNS, windows.columns);
  sections.add(part, SPARSEC_PLAN_BLOCK_OFFSETS, windows.blockOffsets);
  sections.add(part, SPARSEC_PLAN_BLOCKS, windows.blocks);
  sections.add(part, SPARSEC_PLAN_STEP_OFFSETS, windows.stepOffsets);
  sections.add(part, SPARSEC_PLAN_STEPS, windows.steps);
}

void addStreams(const Streams &streams, SectionList &sections, VariantPlan &part) {
  if (streams.isEmpty())
    return;
  sections.add(part, SPARSEC_PLAN_WINDOW_ROWS, streams.rows);
  sections.add(part, SPARSEC_PLAN_STAGE_OFFSETS, streams.stageOffsets);
  sections.add(part, SPARSEC_PLAN_STAGE_COLUMNS, streams.stageColumns);
  sections.add(part, SPARSEC_PLAN_STAGE_PRODUCTS, streams.stageProducts);
  sections.add(part, SPARSEC_PLAN_CHUNK_OFFSETS, streams.chunkOffsets);
  sections.add(part, SPARSEC_PLAN_CHUNK_BLOCKS, streams.chunkBlocks);
}

/// The index of the transposed operand, for a variant that takes it. Kernels that refill a plan write it, with scratch
/// memory, and read it to write windows: every variant has it then.
void addIndex(const Variant &variant, const TransposedIndex &index, const std::vector<int32_t> &scratch,
              SectionList &sections, VariantPlan &part) {
  if (index.isEmpty() || ((variant.info->required_sections & rowSections) == 0 && scratch.empty()))
    return;
  sections.add(part, SPARSEC_PLAN_ROW_STARTS, index.starts);
  sections.add(part, SPARSEC_PLAN_ROW_COLUMNS, index.columns);
  sections.add(part, SPARSEC_PLAN_ROW_BLOCKS, index.blocks);
  if (!scratch.empty())
    sections.add(part, SPARSEC_PLAN_COLUMN_COUNTS, scratch);
}

/// The packed blocks, for a variant that reads their values. False where there are none: launches pass over it then.
bool addPackedBlocks(const PlanInput &input, const Variant &variant, SectionList &sections, VariantPlan &part) {
  if (!isPacked(*variant.info))
    return true;
  addReason(part, input.packed.reason());
  const Packing &packing = input.packed.packing();
  if (packing.isEmpty())
    return false;
  sections.add(part, SPARSEC_PLAN_PACKED_STARTS, packing.starts);
  sections.add(part, SPARSEC_PLAN_PACKED_COLUMNS, packing.columns);
  sections.add(part, SPARSEC_PLAN_PACKED_SOURCES, packing.sources);
  return true;
}

/// The pairs of blocks of a product of two block-sparse matrices, and what kernels need that write them.
void addPairs(const PairIndex &pairs, const std::vector<int32_t> &scratch, SectionList &sections, VariantPlan &part) {
  if (pairs.isEmpty())
    return;
  sections.add(part, SPARSEC_PLAN_PAIR_STARTS, pairs.starts);
  sections.add(part, SPARSEC_PLAN_PAIRS, pairs.pairs);
  if (!scratch.empty())
    sections.add(part, SPARSEC_PLAN_PAIR_COUNTS, scratch);
}

/// The windows or streams of a variant that takes them. False where it cannot have them: launches pass over it then.
bool addPattern(const PlanInput &input, const Variant &variant, PlanProgress &progress, VariantArrays &arrays,
                SectionList &sections, VariantPlan &part) {
  const bool hasStreams = takesStreams(*variant.info);
  if (!hasStreams && !takesWindows(*variant.info))
    return true;
  const std::string what = hasStreams ? "streams" : "windows";
  if (const std::string reason = whyNoWindows(input, variant); !reason.empty()) {
    addReason(part, "no " + what + ": " + reason);
    return false;
  }
  const MatrixRows &matrix = *input.matrixOf(variant);
  const sparsec_stage_info_t &stage = *variant.first().info;
  RowOrder order = rowOrderOf(input, variant, matrix, part, progress);
  if (hasStreams && !arrays.ofStreams)
    makeStreams(input, stage, matrix, std::move(order), arrays);
  else if (!hasStreams)
    makeWindows(input, stage, matrix, std::move(order), arrays);
  const uint32_t sharing = input.kernel.planCost(*variant.info, SPARSEC_PLAN_COST_WINDOW_SHARING);
  // Windows for refills have no columns yet.
  if (!arrays.windows.isEmpty() && !shareColumns(arrays.windows, matrix.pattern, sharing)) {
    addReason(part, "no windows: " + sharingReason(matrix.pattern.count(), arrays.windows.columnCount(), sharing));
    arrays.windows = {};
    return false;
  }
  if (const Streams &streams = arrays.sharedStreams(); !streams.isEmpty())
    setWindows(input.kernel, variant, input.problem, streams.count(), streams.columnCount(), part);
  if (!arrays.windows.isEmpty())
    setWindows(input.kernel, variant, input.problem, arrays.windows.count(), arrays.windows.columnCount(), part);
  addStreams(arrays.sharedStreams(), sections, part);
  addWindows(arrays.windows, sections, part);
  if (part.windows == 0) {
    addReason(part, "no " + what + ": a number does not fit its section");
    return false;
  }
  if (input.isRefilled()) {
    VariantArrays &shared = arrays.shared();
    shared.windowSizes.resize(2 * part.windows);
    sections.add(part, SPARSEC_PLAN_WINDOW_COUNTS, shared.windowCounts);
    sections.add(part, SPARSEC_PLAN_WINDOW_SIZES, shared.windowSizes);
  }
  addReason(part,
            input.isRefilled() ? what + " for refills" : windowReason(what, matrix.pattern.count(), part.columns));
  return true;
}

/// Why the tiles have lists, or none.
std::string listReason(const PlanInput &input, const Variant &variant, const TileLists &lists,
                       const VariantPlan &part) {
  const bool hasLists = !lists.tiles.empty();
  if (hasLists && input.isRefilled())
    return refillsLists(input.kernel, variant, input.problem, part)
               ? "lists for refills"
               : "lists of tiles of equal cost: refills change what they cost";
  if (lists.groupRows != 0) {
    const std::string order =
        hasLists ? "lists in groups of " + std::to_string(lists.groupRows) + " tile rows: " : "fixed order: ";
    if (takesStreams(*variant.info))
      return order + "as many bytes of blocks as of X";
    const uint32_t percentage = input.kernel.planCost(*variant.info, SPARSEC_PLAN_COST_GROUPED_DENSITY);
    return order + densityReason(input.matrixOf(variant)->pattern, percentage);
  }
  if (!hasLists)
    return openReason(input.kernel, input.problem, orderWithoutLists(input.kernel, variant), input.lists.areMissing());
  if (isKnown(lists.period))
    return "lists for every width: the costs of the tile rows are known";
  const std::string atOnce =
      lists.panelsAtOnce == 1 ? "" : " of " + std::to_string(lists.panelsAtOnce) + " panels at once";
  return "lists" + atOnce + ": the costs of all tiles are known";
}

/// Adds a reason if a dense product was measured to be faster at the density of the matrix.
void addDenseReason(const PlanInput &input, const Variant &variant, VariantPlan &part) {
  const uint32_t percentage = input.kernel.planCost(*variant.info, SPARSEC_PLAN_COST_DENSE_DENSITY);
  const MatrixRows *matrix = input.matrixOf(variant);
  if (percentage != 0 && matrix && matrix->pattern.count() != 0 && hasDensity(matrix->pattern, percentage))
    addReason(part, "a dense product is faster: " + densityReason(matrix->pattern, percentage));
}

/// How launches share out the tiles.
void addLists(const PlanInput &input, const Variant &variant, const TileLists &lists, SectionList &sections,
              VariantPlan &part) {
  if (lists.tiles.empty()) {
    part.order = orderWithoutLists(input.kernel, variant);
  } else {
    part.order = SPARSEC_TILE_ORDER_LISTS;
    part.workers = int64_t(lists.offsets.size()) - 1;
    part.period = lists.period;
    part.balance = lists.balance;
    sections.add(part, SPARSEC_PLAN_TILE_OFFSETS, lists.offsets);
    sections.add(part, SPARSEC_PLAN_TILES, lists.tiles);
  }
  addReason(part, listReason(input, variant, lists, part));
  addDenseReason(input, variant, part);
}

bool isProduct(const sparsec_kernel_s &kernel) { return operationOf(kernel).kind == SPARSEC_OPERATION_SPMM; }

/// Why a product gets no lists of cut tiles; empty where it may get some.
std::string whyNoCutsOfProduct(const PlanInput &input, const Variant &variant) {
  if (!input.mayReorderRows())
    return "the plan is not thorough";
  if (!input.isStatic())
    return "the pattern may change";
  if (!input.matrixOf(variant))
    return ""; // sizes or lists are open
  const BlockPattern &pattern = input.matrixOf(variant)->pattern;
  return isNearlyDense(pattern.count(), pattern.blockRows, pattern.blockColumns,
                       input.kernel.planCost(*variant.info, SPARSEC_PLAN_COST_GROUPED_DENSITY))
             ? ""
             : "the pattern is not nearly dense";
}

/// Why a variant that cuts tiles gets no lists; empty where it may get some. Tiles of attention may be cut whatever the
/// lists become.
std::string whyNoCuts(const PlanInput &input, const Variant &variant, int64_t workers) {
  if (isProduct(input.kernel))
    if (std::string reason = whyNoCutsOfProduct(input, variant); !reason.empty())
      return reason;
  if (!isComplete(operationOf(input.kernel), input.problem) || input.lists.areMissing())
    return openReason(input.kernel, input.problem, SPARSEC_TILE_ORDER_FIXED, input.lists.areMissing());
  return hasRoomForFlags(input.kernel, *variant.info, ctasOf(*variant.first().info, workers))
             ? ""
             : "a launch has too many CTAs";
}

/// The tiles of a variant that cuts them, where that gains time. Launches pass over the variant elsewhere.
void addCuts(const PlanInput &input, const Variant &variant, VariantArrays &arrays, SectionList &sections,
             VariantPlan &part) {
  if (const std::string reason = whyNoCuts(input, variant, part.workers); !reason.empty())
    return addReason(part, "no cut tiles: " + reason);
  const int64_t teams = variant.first().info->concurrent_tiles, workers = ceilDivide(part.workers, teams) * teams;
  CutLists &cuts = arrays.cuts;
  cuts = operationOf(input.kernel).cutLists(listRequest(input, variant, workers, part.windows, arrays));
  addReason(part, cutReason(cuts, isProduct(input.kernel) ? "K" : "the keys"));
  if (cuts.tiles.empty())
    return;
  part.order = SPARSEC_TILE_ORDER_LISTS;
  part.workers = int64_t(cuts.offsets.size()) - 1;
  part.balance = cuts.balance;
  part.hasWorkspaces = true;
  sections.add(part, SPARSEC_PLAN_CUT_OFFSETS, cuts.offsets);
  sections.add(part, SPARSEC_PLAN_CUT_TILES, cuts.tiles);
}

/// The variant whose tiles have one block row each, which joint lists compete with.
const Variant &variantOfSingleRows(const sparsec_kernel_s &kernel) {
  auto hasSingleRows = [](const sparsec_variant_info_t &info) { return !takesJointLists(info) && info.part_keys == 0; };
  return *std::find_if(kernel.variants.begin(), kernel.variants.end(),
                       [&](const Variant &variant) { return hasSingleRows(*variant.info); });
}

/// Why a variant with joint lists gets none; empty where it may get some.
std::string whyNoJointLists(const PlanInput &input, int64_t tiles, int64_t workers) {
  if (!input.isStatic())
    return "the pattern may change";
  if (!isComplete(operationOf(input.kernel), input.problem) || input.lists.areMissing())
    return openReason(input.kernel, input.problem, SPARSEC_TILE_ORDER_FIXED, input.lists.areMissing());
  const int64_t keys = input.problem.depth;
  if (keys > mostKeysOfJointLists || ceilDivide(keys, int64_t(input.lists.blocks()->block_columns)) > mostJointBlocks)
    return "an entry has no room for the numbers of the key blocks";
  return tiles < workers ? "there are fewer tiles than workers" : "";
}

/// The tiles of a variant with joint lists, where these make the longest list of a worker shorter. Launches pass over
/// the variant elsewhere.
void addJointLists(const PlanInput &input, const Variant &variant, VariantArrays &arrays, SectionList &sections,
                   VariantPlan &part) {
  if (const std::string reason = whyNoJointLists(input, part.tiles, variant.first().residentWorkers); !reason.empty())
    return addReason(part, "no joint lists: " + reason);
  const sparsec_blocks_t &pattern = *input.lists.blocks();
  const sparsec_stage_info_t &stage = *variant.first().info;
  const JointListInput jointInput = {pattern, keyWindow(input.kernel), input.problem,
                                     blocksOfJointStep(stage, pattern.block_columns),
                                     jointCosts(input.kernel, *variant.info)};
  arrays.joint = makeJointLists(jointInput);
  const Variant &other = variantOfSingleRows(input.kernel);
  const TileLists own = makeLists(input, other, planWithoutSections(input.kernel, other, input.problem).workers,
                                  /*windows=*/0, arrays);
  TileListRequest request = listRequest(input, variant, part.workers, /*windows=*/0, arrays);
  arrays.lists = jointTileLists(request, arrays.joint);
  const double time = double(arrays.lists.largestLoad) * pattern.block_columns / 100;
  const double gain = double(own.largestLoad) * other.first().info->tile_n / std::max(time, 1.0);
  const bool areFaster = gain >= leastGainOfJointLists(jointInput.costs.mayDivide());
  addReason(part, jointReason(arrays.joint, gain, areFaster));
  if (!areFaster)
    return;
  sections.add(part, SPARSEC_PLAN_JOINT_RANGES, arrays.joint.ranges);
  sections.add(part, SPARSEC_PLAN_JOINT_BLOCKS, arrays.joint.entries);
  part.hasWorkspaces = true;
  addLists(input, variant, arrays.lists, sections, part);
}

/// Why no plan of the kernel has tile lists; empty where plans may have them.
std::string whyNoLists(const sparsec_kernel_s &kernel) {
  const Operation &operation = operationOf(kernel);
  const char *reason = operation.whyNoLists ? operation.whyNoLists(kernel) : nullptr;
  return reason ? reason : "";
}

/// Says when the variant that splits K or keys is used.
std::string partReason(const Problem &problem, const Variant &variant) {
  const bool isOfK = takesStreams(*variant.info);
  if (problem.parts > 1)
    return (isOfK ? "K of each tile is split into " : "the keys of each tile are split into ") +
           std::to_string(problem.parts) + " parts";
  return isOfK ? "the variant is for few tiles" : "the variant is for few tiles with many keys";
}

/// Makes the plan of one variant.
void planVariant(const PlanInput &input, const Variant &variant, PlanProgress &progress, VariantArrays &arrays,
                 SectionList &sections, VariantPlan &part) {
  part = planWithoutSections(input.kernel, variant, input.problem);
  if (!addPackedBlocks(input, variant, sections, part))
    return;
  addIndex(variant, isPacked(*variant.info) ? input.packed.transposedIndex() : input.lists.transposedIndex(),
           input.counts, sections, part);
  addPairs(input.lists.pairs(), input.counts, sections, part);
  // The host hands tiles to threads as they become free: its plan is the checked lists, the index of a transpose, and
  // pairs.
  if (input.kernel.module->device->isHost())
    return addReason(part, "fixed order: threads take tiles as they become free");
  if (part.tiles == 0)
    return addReason(part, "fixed order: there are no tiles");
  if (takesCuts(*variant.info))
    return addCuts(input, variant, arrays, sections, part);
  if (takesJointLists(*variant.info))
    return addJointLists(input, variant, arrays, sections, part);
  if (!addPattern(input, variant, progress, arrays, sections, part))
    return;
  part.hasWorkspaces = true;
  if (variant.info->most_panels != 0) {
    part.order = orderWithoutLists(input.kernel, variant);
    return addReason(part, "fixed order: the variant is for few tiles, and has a CTA for every tile");
  }
  if (variant.info->part_keys != 0) {
    part.order = orderWithoutLists(input.kernel, variant);
    return addReason(part, orderName(part.order) +
                               (": " + partReason(withParts(input.kernel, variant, input.problem), variant)));
  }
  if (const std::string reason = whyNoLists(input.kernel); !reason.empty()) {
    part.order = orderWithoutLists(input.kernel, variant);
    return addReason(part, orderName(part.order) + (": " + reason));
  }
  // Without the pattern of the result nothing says which tiles there are.
  if (input.isRefilled() && input.lists.resultPattern(input.kernel)) {
    part.order = orderWithoutLists(input.kernel, variant);
    return addReason(part, "fixed order: refills change which tiles there are");
  }
  arrays.lists = makeLists(input, variant, part.workers, part.windows, arrays);
  addLists(input, variant, arrays.lists, sections, part);
}

/// The index of a transpose is made once, so that its pattern has to be there and must not change.
Status checkTransposedOperand(const sparsec_kernel_s &kernel, const HostLists &hostLists, uint32_t flags) {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    if (kernel.argument(i).kind != SPARSEC_ARGUMENT_BSR || !isTransposed(kernel, i))
      continue;
    if (hostLists.areMissing() || (flags & (SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_REFILL)) == 0)
      return invalidArgument("kernel '", kernel.info->name, "' takes the transpose of '", kernel.argument(i).name,
                             "': its plan needs the matrix and SPARSEC_PLAN_STATIC_PATTERN");
  }
  return {};
}

/// Pairs are made once, too.
Status pairBlocks(const sparsec_kernel_s &kernel, HostLists &hostLists, uint32_t flags) {
  if (operationOf(kernel).pairSlots.left == 0)
    return {};
  if (hostLists.areMissing() || (flags & (SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_REFILL)) == 0)
    return invalidArgument("kernel '", kernel.info->name,
                           "' multiplies block-sparse matrices: its plan needs all of them and "
                           "SPARSEC_PLAN_STATIC_PATTERN");
  SPARSEC_RETURN_IF_ERROR(hostLists.pairBlocks(kernel));
  return (flags & SPARSEC_PLAN_REFILL) != 0 ? hostLists.makeRoomForPairs(kernel) : Status();
}

/// The steps of a variant's part in the progress of a plan.
int64_t stepsOf(const PlanInput &input, const Variant &variant) {
  const bool hasWindows = takesStreams(*variant.info) || takesWindows(*variant.info);
  return hasWindows && input.mayReorderRows() && whyNoWindows(input, variant).empty() ? orderStages + 1 : 1;
}

Status planVariants(const PlanInput &input, const sparsec_plan_options_t &options, sparsec_plan_s &plan) {
  const std::vector<Variant> &variants = input.kernel.variants;
  int64_t steps = 0;
  for (const Variant &variant : variants)
    steps += stepsOf(input, variant);
  PlanProgress progress(options, steps);
  SPARSEC_RETURN_IF_ERROR(progress.report());
  SectionList sections;
  std::vector<VariantArrays> arrays(variants.size());
  plan.variants.resize(variants.size());
  for (size_t i = 0; i < variants.size(); ++i) {
    progress.beginPart(stepsOf(input, variants[i]));
    for (size_t before = 0; before < i && !arrays[i].ofStreams; ++before)
      if (haveSameStreams(variants[before], variants[i]) && !arrays[before].streams.isEmpty())
        arrays[i].ofStreams = &arrays[before];
    planVariant(input, variants[i], progress, arrays[i], sections, plan.variants[i]);
    SPARSEC_RETURN_IF_ERROR(progress.finishPart());
  }
  return sections.upload(plan, options);
}

/// Scratch memory for refills of the index of a transposed operand, or of pairs; empty where a plan needs none.
std::vector<int32_t> makeCounts(const sparsec_plan_s &plan, const HostLists &lists) {
  if (!plan.isRefilled || plan.module->device->isHost())
    return {};
  if (!lists.pairs().isEmpty())
    return std::vector<int32_t>(blockRowCount(lists.view(plan.kernel->of(operationOf(*plan.kernel).pairSlots.left))));
  if (lists.transposedIndex().isEmpty())
    return {};
  return std::vector<int32_t>(columnCountEntries(blockRowCount(*lists.blocks()), blockColumnCount(*lists.blocks())));
}

/// The arguments are checked, and those of the plan's problem.
Status fillPlan(sparsec_plan_s &plan, const sparsec_argument_t *arguments, const sparsec_plan_options_t &options) {
  const sparsec_kernel_s &kernel = *plan.kernel;
  // Before lists are read: their memory is as large as the sizes say.
  SPARSEC_RETURN_IF_ERROR(checkTileCounts(kernel, plan.problem));
  HostLists lists;
  plan.isRefilled = (options.flags & SPARSEC_PLAN_REFILL) != 0;
  if (plan.isRefilled) {
    lists.readEmpty(kernel, arguments);
    SPARSEC_RETURN_IF_ERROR(checkRefill(kernel, lists));
  } else {
    SPARSEC_RETURN_IF_ERROR(lists.read(kernel, arguments, options.stream));
  }
  SPARSEC_RETURN_IF_ERROR(checkTransposedOperand(kernel, lists, options.flags));
  SPARSEC_RETURN_IF_ERROR(pairBlocks(kernel, lists, options.flags));
  if ((options.flags & SPARSEC_PLAN_STATIC_PATTERN) != 0 && !plan.isRefilled)
    plan.lists = lists.known();
  PackedMatrix packed;
  packed.make(kernel, plan.problem, lists, options.flags);
  const std::vector<int32_t> counts = makeCounts(plan, lists);
  return planVariants({kernel, plan.problem, lists, packed, options.flags, counts}, options, plan);
}

Status createPlan(sparsec_kernel_s &kernel, const sparsec_plan_options_t &given,
                  std::unique_ptr<sparsec_plan_s> &outPlan) {
  auto begin = std::chrono::steady_clock::now();
  sparsec_plan_options_t options;
  SPARSEC_RETURN_IF_ERROR(readStruct(given, {"options"}, options));
  SPARSEC_RETURN_IF_ERROR(checkFlags(options.flags));
  SPARSEC_RETURN_IF_ERROR(checkAllocator(options.allocator, {"allocator"}));
  const PlanArguments arguments(kernel, options);
  auto plan = newPlan(kernel);
  SPARSEC_RETURN_IF_ERROR(checkArguments(kernel, arguments.data(), arguments.size(), Use::plan, plan->problem));
  plan->problem = problemOfPlan(kernel, plan->problem);
  SPARSEC_RETURN_IF_ERROR(fillPlan(*plan, arguments.data(), options));
  plan->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  outPlan = std::move(plan);
  return {};
}

} // namespace

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_plan_create(sparsec_kernel_t kernel, const sparsec_plan_options_t *options,
                                     sparsec_plan_t *out_plan) {
  return guarded([&]() -> Status {
    if (!out_plan)
      return invalidArgument("out_plan is NULL");
    *out_plan = nullptr;
    if (!kernel || !options)
      return invalidArgument(kernel ? "options" : "kernel", " is NULL");
    std::unique_ptr<sparsec_plan_s> plan;
    SPARSEC_RETURN_IF_ERROR(createPlan(*kernel, *options, plan));
    *out_plan = plan.release();
    return {};
  });
}
