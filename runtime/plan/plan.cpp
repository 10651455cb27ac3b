// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/plan.h"
#include "arguments/blocks.h"

#include <algorithm>
#include <chrono>

namespace sparsec::runtime {

void SectionList::add(VariantPlan &variant, sparsec_plan_section_t section, const void *source, size_t bytes) {
  constexpr size_t alignment = SPARSEC_ALLOCATION_ALIGNMENT;
  // A section without elements has a place, too: a null pointer says that there is none.
  const size_t padded = std::max<size_t>((bytes + alignment - 1) / alignment, 1) * alignment;
  variant.bytes += padded;
  const auto same = std::find_if(places.begin(), places.end(),
                                 [&](const Place &place) { return bytes != 0 && place.source == source; });
  if (same != places.end())
    return places.push_back({&variant.sections[section], same->offset, source, 0});
  places.push_back({&variant.sections[section], totalBytes, source, bytes});
  totalBytes += padded;
}

Status SectionList::upload(const Device &device, void *memory, void *stream) const {
  for (const Place &place : places) {
    void *target = static_cast<char *>(memory) + place.offset;
    SPARSEC_RETURN_IF_ERROR(device.uploadAsync(target, place.source, place.bytes, stream));
    *place.section = target;
  }
  return {};
}

Status checkPlanSizes(const sparsec_plan_s &plan, const Problem &problem, const char *what) {
  const Operation &operation = operationOf(*plan.kernel);
  for (const NamedSize &each : operation.planSizes) {
    int64_t known = plan.problem.*each.size, asked = problem.*each.size;
    if (isKnown(known) && isKnown(asked) && known != asked)
      return invalidArgument("plan is for ", describeSizes(operation, plan.problem), ", but ", what,
                             describeSizes(operation, problem));
  }
  return {};
}

Status checkPlan(const sparsec_kernel_s &kernel, const sparsec_plan_s &plan, const Problem &problem) {
  if (plan.module.get() != kernel.module)
    return invalidArgument("plan is for a kernel of another module, '", plan.kernel->info->name,
                           "': a plan serves the kernel that it was made with");
  if (plan.kernel != &kernel)
    return invalidArgument("plan is for kernel '", plan.kernel->info->name, "', but the launch is of kernel '",
                           kernel.info->name, "'");
  return checkPlanSizes(plan, problem, "the launch has ");
}

int64_t workspaceBytes(const sparsec_plan_s &plan, const Problem &problem, size_t variant) {
  const VariantPlan &part = plan.variants[variant];
  const sparsec_variant_info_t &info = *plan.kernel->variants[variant].info;
  const uint32_t count = part.hasWorkspaces ? info.workspace_count : 0;
  return workspaceBytes(*plan.kernel, info, part.order, problem, count);
}

int64_t workspaceBytes(const sparsec_plan_s &plan, const Problem &problem) {
  int64_t largest = 0;
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    int64_t bytes = workspaceBytes(plan, problem, i);
    if (!isKnown(bytes))
      return SPARSEC_DYNAMIC;
    largest = std::max(largest, bytes);
  }
  return largest;
}

namespace {

Status checkOptions(const sparsec_plan_options_t &options) {
  constexpr Subject subject = {"options"};
  SPARSEC_RETURN_IF_ERROR(checkStructSize(options, subject));
  constexpr uint32_t known = SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST;
  if ((options.flags & ~known) != 0)
    return invalidArgument(subject, ": expects flags of 0 to ", known, " (sparsec_plan_flag_t), but got ",
                           options.flags);
  return checkAllocator(options.allocator, {"allocator"});
}

/// Whether a product takes the transpose of an argument.
bool isTransposed(const sparsec_kernel_s &kernel, uint32_t argument) {
  for (const sparsec_operand_info_t &operand : kernel.operands())
    if (operand.argument == argument)
      return operand.layout == SPARSEC_LAYOUT_TRANSPOSED;
  return false;
}

/// The lists of the kernel's blocks, checked and in host memory.
class HostLists {
public:
  Status read(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, void *stream) {
    for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
      isMissing |= isBlocks(kernel.argument(i).kind) && arguments[i].kind == 0;
      if (!isBlocks(arguments[i].kind))
        continue;
      Lists lists = {i, blocksOf(arguments[i]), {}};
      const Subject subject = checkedArgument(kernel, arguments, i).subject();
      SPARSEC_RETURN_IF_ERROR(copies.download(*kernel.module->device, subject, lists.view, stream));
      SPARSEC_RETURN_IF_ERROR(checkBlockLists(lists.view, subject));
      if (arguments[i].kind == SPARSEC_ARGUMENT_BSR)
        lists.rows = rowsOf(lists.view, isTransposed(kernel, i));
      all.push_back(lists);
    }
    return {};
  }

  /// Whether the kernel takes lists that nothing is known of.
  bool areMissing() const { return isMissing; }
  bool isEmpty() const { return all.empty(); }
  /// Those of the first argument that has some; null where there are none.
  const sparsec_blocks_t *blocks() const { return all.empty() ? nullptr : &all.front().view; }
  /// The same of a block-sparse operand.
  const MatrixRows *matrix() const { return all.empty() || !all.front().rows ? nullptr : &*all.front().rows; }
  /// Pairs the blocks of the block-sparse operands of a product, which are all there.
  Status pairBlocks(const sparsec_kernel_s &kernel) {
    const PairSlots &slots = operationOf(kernel).pairSlots;
    const MatrixRows *result = resultPattern(kernel);
    return makePairs(matrixOf(kernel.of(slots.left)).pattern, matrixOf(kernel.of(slots.right)).pattern,
                     result ? &result->pattern : nullptr, pairIndex);
  }
  /// Empty unless blocks were paired.
  const PairIndex &pairs() const { return pairIndex; }
  /// The pattern of a sampled product of block-sparse matrices; null for others.
  const MatrixRows *resultPattern(const sparsec_kernel_s &kernel) const {
    const uint32_t slot = operationOf(kernel).pairSlots.result;
    return slot == 0 ? nullptr : &matrixOf(kernel.of(slot));
  }
  /// Empty unless the operand is transposed.
  const TransposedIndex &transposedIndex() const { return index; }
  /// For the checks of launches.
  KnownLists known() const {
    KnownLists known;
    for (const Lists &lists : all)
      known.push_back({lists.argument, listChecksum(lists.view)});
    return known;
  }

private:
  struct Lists {
    uint32_t argument;
    sparsec_blocks_t view;
    std::optional<MatrixRows> rows; // of a block-sparse operand
  };

  const MatrixRows &matrixOf(uint32_t argument) const {
    return *std::find_if(all.begin(), all.end(), [&](auto &lists) { return lists.argument == argument; })->rows;
  }

  MatrixRows rowsOf(const sparsec_blocks_t &view, bool isTransposed) {
    const BlockPattern stored = {view.full.starts, view.full.indices, blockRowCount(view), blockColumnCount(view)};
    if (!isTransposed)
      return {stored, view.block_rows, view.block_columns, view.columns};
    index = transpose(stored);
    return {index.pattern(), view.block_columns, view.block_rows, view.rows};
  }

  ListCopies copies;
  std::vector<Lists> all;
  TransposedIndex index;
  PairIndex pairIndex;
  bool isMissing = false;
};

/// The arrays of one variant's sections. They stay until the sections are uploaded.
struct VariantArrays {
  Windows windows;
  Streams streams;
  TileLists lists;
};

/// Whether all variants can count the tiles. Before lists are read: their memory is as large as the sizes say.
Status checkTileCounts(const sparsec_kernel_s &kernel, const Problem &problem) {
  if (!isComplete(operationOf(kernel), problem))
    return {};
  for (const Variant &variant : kernel.variants)
    SPARSEC_RETURN_IF_ERROR(checkTileCount(tileGrid(kernel, *variant.first().info, problem)));
  return {};
}

/// Whether a kernel runs lists again and again.
bool takesPeriod(const LaunchInfo &info, const Stage &stage) {
  bool takesIt = false;
  for (const sparsec_parameter_info_t &parameter : info.parametersOf(*stage.info))
    takesIt |= parameter.source == SPARSEC_SOURCE_PERIOD;
  return takesIt;
}

/// The lists of one variant; none where what the tiles cost is open. `workers` are those of a launch, if that is known.
TileLists makeLists(const sparsec_kernel_s &kernel, const Variant &variant, const Problem &problem,
                    const TileGrid &grid, int64_t workers, const HostLists &hostLists, const VariantArrays &arrays) {
  const Operation &operation = operationOf(kernel);
  const Stage &stage = variant.first();
  TileListRequest request = {kernel,
                             *variant.info,
                             *stage.info,
                             problem,
                             grid,
                             workers,
                             hostLists.blocks(),
                             hostLists.matrix(),
                             hostLists.pairs().isEmpty() ? nullptr : hostLists.resultPattern(kernel),
                             hostLists.pairs().isEmpty() ? nullptr : &hostLists.pairs(),
                             arrays.windows.isEmpty() ? nullptr : &arrays.windows,
                             arrays.streams.isEmpty() ? nullptr : &arrays.streams};
  if (isComplete(operation, problem) && !hostLists.areMissing()) {
    // The last CTA's teams all look for a list.
    int64_t teams = stage.info->concurrent_tiles;
    request.workers = ceilDivide(workers, teams) * teams;
    return operation.tileLists(request);
  }
  request.workers = stage.residentWorkers;
  bool isPeriodic = operation.periodicLists && request.blocks && takesPeriod(kernel.module->info, stage);
  return isPeriodic ? operation.periodicLists(request) : TileLists();
}

/// Whether at least this percentage of the blocks is stored.
bool hasDensity(const BlockPattern &pattern, uint32_t percentage) {
  return 100 * double(pattern.count()) >= double(percentage) * double(pattern.blockRows) * double(pattern.blockColumns);
}

/// The matrix of a variant with windows or streams: null where the pattern is unknown or may change, or where other
/// variants are faster.
const MatrixRows *matrixOfWindows(const sparsec_kernel_s &kernel, const Variant &variant, const HostLists &hostLists,
                                  uint32_t flags) {
  const MatrixRows *matrix = hostLists.matrix();
  if (!matrix || (flags & SPARSEC_PLAN_STATIC_PATTERN) == 0 ||
      hasDensity(matrix->pattern, kernel.planCost(*variant.info, SPARSEC_PLAN_COST_WINDOW_DENSITY)))
    return nullptr;
  return matrix;
}

Windows windowsOf(const sparsec_stage_info_t &stage, const MatrixRows &matrix, bool mayReorderRows) {
  return makeWindows({matrix.pattern, stage.tile_m / matrix.rowsOfBlock, stage.slots, mayReorderRows});
}

Streams streamsOf(const sparsec_stage_info_t &stage, const MatrixRows &matrix, bool mayReorderRows) {
  return makeStreams({.pattern = matrix.pattern,
                      .windowRows = stage.tile_m / matrix.rowsOfBlock,
                      .consumers = stage.tile_m / stage.consumer_rows,
                      .bundle = stage.product_rows / matrix.rowsOfBlock,
                      .stageColumns = stage.tile_k / matrix.columnsOfBlock,
                      .chunkProducts = stage.chunk_products,
                      .mayReorderRows = mayReorderRows});
}

void addWindows(const Windows &windows, SectionList &sections, VariantPlan &part) {
  if (windows.isEmpty())
    return;
  part.windows = windows.count();
  part.columns = windows.columnCount();
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
  part.windows = streams.count();
  part.columns = streams.columnCount();
  sections.add(part, SPARSEC_PLAN_WINDOW_ROWS, streams.rows);
  sections.add(part, SPARSEC_PLAN_STAGE_OFFSETS, streams.stageOffsets);
  sections.add(part, SPARSEC_PLAN_STAGE_COLUMNS, streams.stageColumns);
  sections.add(part, SPARSEC_PLAN_STAGE_PRODUCTS, streams.stageProducts);
  sections.add(part, SPARSEC_PLAN_CHUNK_OFFSETS, streams.chunkOffsets);
  sections.add(part, SPARSEC_PLAN_CHUNK_BLOCKS, streams.chunkBlocks);
}

/// The index of the transposed operand, for a variant that takes it.
void addIndex(const Variant &variant, const TransposedIndex &index, SectionList &sections, VariantPlan &part) {
  if ((variant.info->required_sections & rowSections) == 0)
    return;
  sections.add(part, SPARSEC_PLAN_ROW_STARTS, index.starts);
  sections.add(part, SPARSEC_PLAN_ROW_COLUMNS, index.columns);
  sections.add(part, SPARSEC_PLAN_ROW_BLOCKS, index.blocks);
}

/// The pairs of blocks of a product of two block-sparse matrices.
void addPairs(const PairIndex &pairs, SectionList &sections, VariantPlan &part) {
  if (pairs.isEmpty())
    return;
  sections.add(part, SPARSEC_PLAN_PAIR_STARTS, pairs.starts);
  sections.add(part, SPARSEC_PLAN_PAIRS, pairs.pairs);
}

/// The windows or streams of a variant that takes them. False where it cannot have them: launches pass over it then.
bool addPattern(const sparsec_kernel_s &kernel, const Variant &variant, const HostLists &hostLists, uint32_t flags,
                VariantArrays &arrays, SectionList &sections, VariantPlan &part) {
  const bool hasStreams = takesStreams(*variant.info);
  if (!hasStreams && !takesWindows(*variant.info))
    return true;
  const MatrixRows *matrix = matrixOfWindows(kernel, variant, hostLists, flags);
  if (!matrix)
    return false;
  const sparsec_stage_info_t &stage = *variant.first().info;
  const bool mayReorderRows = (flags & SPARSEC_PLAN_FAST) == 0;
  // Lines of a block have no end at K (SPARSEC_TENSOR_MAP_BSR_LINES).
  if (hasStreams && matrix->depth % matrix->columnsOfBlock != 0)
    return false;
  if (hasStreams)
    arrays.streams = streamsOf(stage, *matrix, mayReorderRows);
  else
    arrays.windows = windowsOf(stage, *matrix, mayReorderRows);
  addStreams(arrays.streams, sections, part);
  addWindows(arrays.windows, sections, part);
  return part.windows != 0;
}

/// Makes the plan of one variant.
void planVariant(const sparsec_kernel_s &kernel, const Variant &variant, const Problem &problem,
                 const HostLists &hostLists, uint32_t flags, VariantArrays &arrays, SectionList &sections,
                 VariantPlan &part) {
  const Device &device = *kernel.module->device;
  const Stage &stage = variant.first();
  const TileGrid grid = tileGrid(kernel, *stage.info, problem);
  if (isComplete(operationOf(kernel), problem)) {
    part.tiles = grid.tiles();
    part.workers = std::min(device.isHost() ? int64_t(device.threads->size()) : stage.residentWorkers, part.tiles);
  }
  addIndex(variant, hostLists.transposedIndex(), sections, part);
  addPairs(hostLists.pairs(), sections, part);
  // The host hands tiles to threads as they become free: its plan is the checked lists, the index of a transpose, and
  // pairs.
  if (device.isHost() || part.tiles == 0)
    return;
  if (!addPattern(kernel, variant, hostLists, flags, arrays, sections, part))
    return;
  part.hasWorkspaces = true;
  arrays.lists = makeLists(kernel, variant, problem, grid, part.workers, hostLists, arrays);
  const TileLists &lists = arrays.lists;
  if (lists.tiles.empty()) {
    if (hasTileCounter(kernel, *variant.info))
      part.order = SPARSEC_TILE_ORDER_COUNTER;
    return;
  }
  part.order = SPARSEC_TILE_ORDER_LISTS;
  part.workers = int64_t(lists.offsets.size()) - 1;
  part.period = lists.period;
  part.balance = lists.balance;
  sections.add(part, SPARSEC_PLAN_TILE_OFFSETS, lists.offsets);
  sections.add(part, SPARSEC_PLAN_TILES, lists.tiles);
}

/// The index of a transpose is made once, so that its pattern has to be there and must not change.
Status checkTransposedOperand(const sparsec_kernel_s &kernel, const HostLists &hostLists, uint32_t flags) {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    if (kernel.argument(i).kind != SPARSEC_ARGUMENT_BSR || !isTransposed(kernel, i))
      continue;
    if (hostLists.areMissing() || (flags & SPARSEC_PLAN_STATIC_PATTERN) == 0)
      return invalidArgument("kernel '", kernel.info->name, "' takes the transpose of '", kernel.argument(i).name,
                             "': its plan needs the matrix and SPARSEC_PLAN_STATIC_PATTERN");
  }
  return {};
}

/// Pairs are made once, too.
Status pairBlocks(const sparsec_kernel_s &kernel, HostLists &hostLists, uint32_t flags) {
  if (operationOf(kernel).pairSlots.left == 0)
    return {};
  if (hostLists.areMissing() || (flags & SPARSEC_PLAN_STATIC_PATTERN) == 0)
    return invalidArgument("kernel '", kernel.info->name,
                           "' multiplies block-sparse matrices: its plan needs all of "
                           "them and SPARSEC_PLAN_STATIC_PATTERN");
  return hostLists.pairBlocks(kernel);
}

/// The arguments are checked, and those of the plan's problem.
Status fillPlan(sparsec_plan_s &plan, const sparsec_argument_t *arguments, const sparsec_plan_options_t &options) {
  const sparsec_kernel_s &kernel = *plan.kernel;
  const Device &device = *plan.module->device;
  SPARSEC_RETURN_IF_ERROR(checkTileCounts(kernel, plan.problem));
  HostLists hostLists;
  SPARSEC_RETURN_IF_ERROR(hostLists.read(kernel, arguments, options.stream));
  SPARSEC_RETURN_IF_ERROR(checkTransposedOperand(kernel, hostLists, options.flags));
  SPARSEC_RETURN_IF_ERROR(pairBlocks(kernel, hostLists, options.flags));
  if ((options.flags & SPARSEC_PLAN_STATIC_PATTERN) != 0 && hostLists.blocks())
    plan.lists = hostLists.known();
  SectionList sections;
  std::vector<VariantArrays> arrays(kernel.variants.size());
  plan.variants.resize(kernel.variants.size());
  for (size_t i = 0; i < kernel.variants.size(); ++i)
    planVariant(kernel, kernel.variants[i], plan.problem, hostLists, options.flags, arrays[i], sections,
                plan.variants[i]);
  if (sections.bytes() == 0)
    return {};
  SPARSEC_RETURN_IF_ERROR(plan.memory.allocate(device, options.allocator, sections.bytes(), options.stream));
  SPARSEC_RETURN_IF_ERROR(sections.upload(device, plan.memory.data(), options.stream));
  // Launches may go to other streams.
  return device.synchronize(options.stream);
}

Status createPlan(sparsec_kernel_s &kernel, const sparsec_plan_options_t &options,
                  std::unique_ptr<sparsec_plan_s> &outPlan) {
  auto begin = std::chrono::steady_clock::now();
  SPARSEC_RETURN_IF_ERROR(checkOptions(options));
  const std::vector<sparsec_argument_t> allOpen(kernel.info->argument_count);
  const bool isGiven = options.arguments || options.argument_count != 0;
  const sparsec_argument_t *arguments = isGiven ? options.arguments : allOpen.data();
  auto plan = std::make_unique<sparsec_plan_s>();
  plan->kernel = &kernel;
  plan->module = kernel.module->shared_from_this();
  SPARSEC_RETURN_IF_ERROR(
      checkArguments(kernel, arguments, isGiven ? options.argument_count : allOpen.size(), Use::plan, plan->problem));
  SPARSEC_RETURN_IF_ERROR(fillPlan(*plan, arguments, options));
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

void sparsec_plan_destroy(sparsec_plan_t plan) { delete plan; }

sparsec_status_t sparsec_plan_info(sparsec_plan_t plan, size_t variant, sparsec_plan_info_t *out_info) {
  return guarded([&]() -> Status {
    SPARSEC_RETURN_IF_ERROR(startOutput(out_info, "out_info"));
    if (!plan)
      return invalidArgument("plan is NULL");
    if (variant >= plan->variants.size())
      return invalidArgument("variant is ", variant, ", but the kernel has ", plan->variants.size());
    const VariantPlan &part = plan->variants[variant];
    sparsec_plan_info_t info = {};
    info.order = part.order;
    info.workers = part.workers;
    info.tiles = part.tiles;
    info.bytes = int64_t(part.bytes);
    info.workspace_bytes = workspaceBytes(*plan, plan->problem, variant);
    info.balance = part.balance;
    info.milliseconds = plan->milliseconds;
    info.windows = part.windows;
    info.columns = part.columns;
    fillOutput(*out_info, info);
    return {};
  });
}

sparsec_status_t sparsec_plan_workspace_bytes(sparsec_plan_t plan, const sparsec_argument_t *arguments,
                                              size_t argument_count, size_t *out_bytes) {
  return guarded([&]() -> Status {
    if (!out_bytes)
      return invalidArgument("out_bytes is NULL");
    *out_bytes = 0;
    if (!plan)
      return invalidArgument("plan is NULL");
    Problem problem = plan->problem;
    if (argument_count != 0) {
      SPARSEC_RETURN_IF_ERROR(checkArguments(*plan->kernel, arguments, argument_count, Use::plan, problem));
      SPARSEC_RETURN_IF_ERROR(checkPlanSizes(*plan, problem, "the arguments have "));
      for (const NamedSize &each : operationOf(*plan->kernel).planSizes)
        if (!isKnown(problem.*each.size))
          problem.*each.size = plan->problem.*each.size;
    }
    int64_t bytes = workspaceBytes(*plan, problem);
    if (!isKnown(bytes))
      return invalidArgument("the workspace's size is open: plan",
                             argument_count != 0 ? " and arguments have " : " has ",
                             describeSizes(operationOf(*plan->kernel), problem));
    *out_bytes = size_t(bytes);
    return {};
  });
}
