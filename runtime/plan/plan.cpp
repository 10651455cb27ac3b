// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/plan.h"
#include "arguments/blocks.h"
#include "plan/tile_lists.h"

#include <chrono>

using namespace sparsec::runtime;

sparsec_plan_s::~sparsec_plan_s() {
  if (memory)
    module->device->free(memory);
}

namespace sparsec::runtime {

Status SectionList::upload(const Device &device, void *&outMemory) const {
  SPARSEC_RETURN_IF_ERROR(device.allocate(totalBytes, outMemory));
  for (const Place &place : places) {
    void *target = static_cast<char *>(outMemory) + place.offset;
    SPARSEC_RETURN_IF_ERROR(device.upload(target, place.source, place.bytes));
    *place.section = target;
  }
  return {};
}

namespace {

/// The block-sparse operand of a product, or the pattern of attention; noArgument if the kernel has neither.
uint32_t blocksArgument(const sparsec_kernel_s &kernel) {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i)
    if (isBlocks(kernel.argument(i).kind))
      return i;
  return noArgument;
}

/// Makes the plan of one variant. `blocks` is null where the kernel has none, or where nothing is known of them. The
/// lists stay in `lists` until they are uploaded.
Status planVariant(const sparsec_kernel_s &kernel, const Variant &variant, const Problem &problem,
                   const sparsec_blocks_t *blocks, TileLists &lists, SectionList &sections, VariantPlan &part) {
  static const std::vector<uint32_t> counter = {0};
  const Device &device = *kernel.module->device;
  const Operation &operation = operationOf(kernel);
  const Stage &stage = variant.first();
  const TileGrid grid = tileGrid(kernel, *stage.info, problem);
  SPARSEC_RETURN_IF_ERROR(checkTileCount(grid));
  part.tiles = grid.tiles();
  // The host hands tiles to threads as they become free, so that its plan is only the checked pattern.
  part.workers = std::min(device.isHost() ? int64_t(device.threads->size()) : stage.residentWorkers, part.tiles);
  if (device.isHost() || part.tiles == 0)
    return {};
  if (!blocks && blocksArgument(kernel) != noArgument) {
    sections.add(part.counter, counter);
    return {};
  }
  // The last CTA's teams all look for a list.
  int64_t teams = stage.info->tiles_per_cta;
  part.workers = ceilDivide(part.workers, teams) * teams;
  lists = operation.tileLists({kernel, *stage.info, problem, grid, part.workers, blocks});
  part.balance = lists.balance;
  sections.add(part.sections[SPARSEC_PLAN_TILE_OFFSETS], lists.offsets);
  sections.add(part.sections[SPARSEC_PLAN_TILES], lists.tiles);
  return {};
}

/// `blocks` are checked but for their lists; `subject` is what messages about these start with.
Status createPlan(sparsec_kernel_s &kernel, const Problem &problem, const sparsec_blocks_t *blocks,
                  const Subject &subject, std::unique_ptr<sparsec_plan_s> &outPlan) {
  auto begin = std::chrono::steady_clock::now();
  auto plan = std::make_unique<sparsec_plan_s>();
  plan->kernel = &kernel;
  plan->module = kernel.module->shared_from_this();
  plan->problem = problem;
  const Device &device = *plan->module->device;
  ListCopies copies;
  sparsec_blocks_t hostBlocks = {};
  if (blocks) {
    hostBlocks = *blocks;
    SPARSEC_RETURN_IF_ERROR(copies.download(device, subject, hostBlocks, nullptr));
    SPARSEC_RETURN_IF_ERROR(checkBlockLists(hostBlocks, subject));
  }
  SectionList sections;
  std::vector<TileLists> lists(kernel.variants.size());
  plan->variants.resize(kernel.variants.size());
  for (size_t i = 0; i < kernel.variants.size(); ++i)
    SPARSEC_RETURN_IF_ERROR(planVariant(kernel, kernel.variants[i], problem, blocks ? &hostBlocks : nullptr, lists[i],
                                        sections, plan->variants[i]));
  SPARSEC_RETURN_IF_ERROR(sections.upload(device, plan->memory));
  plan->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  outPlan = std::move(plan);
  return {};
}

Status createProductPlan(sparsec_kernel_s &kernel, const sparsec_blocks_t &pattern, int64_t width,
                         std::unique_ptr<sparsec_plan_s> &outPlan) {
  uint32_t number = kernel.of(SPARSEC_SPMM_MATRIX);
  if (operationOf(kernel).kind != SPARSEC_OPERATION_SPMM)
    return invalidArgument("kernel '", kernel.info->name,
                           "' is no block-sparse product: use sparsec_plan_create_attention");
  constexpr Subject subject = {"pattern"};
  SPARSEC_RETURN_IF_ERROR(checkBlocks(pattern, subject));
  SPARSEC_RETURN_IF_ERROR(checkPlace(subject, pattern.device, placeFor(kernel, Use::launch)));
  const sparsec_argument_info_t &info = kernel.argument(number);
  if (pattern.block_rows != int32_t(info.block_rows) || pattern.block_columns != int32_t(info.block_columns))
    return invalidArgument(subject, ": expects blocks of ", info.block_rows, " x ", info.block_columns, ", but got ",
                           pattern.block_rows, " x ", pattern.block_columns);
  int64_t sizes[] = {pattern.rows, pattern.columns};
  for (int d = 0; d < 2; ++d)
    if (info.sizes[d] != SPARSEC_DYNAMIC && info.sizes[d] != sizes[d])
      return invalidArgument(subject, ": expects ", info.sizes[d], d ? " columns" : " rows", ", but got ", sizes[d]);
  if (width < 0 || width > maxSize)
    return invalidArgument("width is ", width, ", expects 0 to ", maxSize);
  Problem problem = operationOf(kernel).fixedSizes(kernel);
  problem.rows = pattern.rows;
  problem.columns = width;
  problem.depth = pattern.columns;
  problem.blocks = pattern.capacity;
  return createPlan(kernel, problem, &pattern, subject, outPlan);
}

Status createAttentionPlan(sparsec_kernel_s &kernel, const sparsec_attention_sizes_t &sizes,
                           const sparsec_blocks_t *pattern, std::unique_ptr<sparsec_plan_s> &outPlan) {
  struct {
    const char *name;
    int64_t value;
  } all[] = {{"batches", sizes.batches}, {"heads", sizes.heads}, {"queries", sizes.queries}, {"keys", sizes.keys}};
  for (auto [name, value] : all)
    if (value < 0 || value > maxSize)
      return invalidArgument("sizes: expects ", name, " of 0 to ", maxSize, ", but got ", value);
  const Operation &operation = operationOf(kernel);
  if (operation.kind != SPARSEC_OPERATION_ATTENTION)
    return invalidArgument("kernel '", kernel.info->name, "' is no attention kernel: use sparsec_plan_create");
  Problem problem = operation.fixedSizes(kernel);
  problem.batches = sizes.batches;
  problem.heads = sizes.heads;
  problem.rows = sizes.queries;
  problem.depth = sizes.keys;
  const sparsec_operand_info_t *operand = kernel.operand(SPARSEC_ATTENTION_PATTERN);
  if (!pattern)
    return createPlan(kernel, problem, nullptr, {""}, outPlan);
  if (!operand)
    return invalidArgument("pattern must be NULL: kernel '", kernel.info->name, "' has none");
  const sparsec_argument_t argument = sparsec_argument_blocks(pattern);
  const CheckedOperand checked = {{kernel.argument(operand->argument), argument, operand->argument}, *operand};
  SPARSEC_RETURN_IF_ERROR(checked.checkView(placeFor(kernel, Use::launch)));
  SPARSEC_RETURN_IF_ERROR(operation.checkOperand(kernel, checked, problem));
  return createPlan(kernel, problem, pattern, checked.subject(), outPlan);
}

/// `create(plan)` makes a plan, where nothing that it needs is `missing` (a name).
template <typename Create>
sparsec_status_t givePlan(sparsec_plan_t *outPlan, const char *missing, const Create &create) {
  return guarded([&]() -> Status {
    if (!outPlan)
      return invalidArgument("out_plan is NULL");
    *outPlan = nullptr;
    if (missing)
      return invalidArgument(missing, " is NULL");
    std::unique_ptr<sparsec_plan_s> plan;
    SPARSEC_RETURN_IF_ERROR(create(plan));
    *outPlan = plan.release();
    return {};
  });
}

} // namespace

} // namespace sparsec::runtime

sparsec_status_t sparsec_plan_create(sparsec_kernel_t kernel, const sparsec_blocks_t *pattern, int64_t width,
                                     sparsec_plan_t *out_plan) {
  const char *missing = !kernel ? "kernel" : !pattern ? "pattern" : nullptr;
  return givePlan(out_plan, missing, [&](std::unique_ptr<sparsec_plan_s> &plan) {
    return createProductPlan(*kernel, *pattern, width, plan);
  });
}

sparsec_status_t sparsec_plan_create_attention(sparsec_kernel_t kernel, const sparsec_attention_sizes_t *sizes,
                                               const sparsec_blocks_t *pattern, sparsec_plan_t *out_plan) {
  const char *missing = !kernel ? "kernel" : !sizes ? "sizes" : nullptr;
  return givePlan(out_plan, missing, [&](std::unique_ptr<sparsec_plan_s> &plan) {
    return createAttentionPlan(*kernel, *sizes, pattern, plan);
  });
}

void sparsec_plan_destroy(sparsec_plan_t plan) { delete plan; }

sparsec_status_t sparsec_plan_info(sparsec_plan_t plan, sparsec_plan_info_t *out_info) {
  return guarded([&]() -> Status {
    if (!plan || !out_info)
      return invalidArgument(plan ? "out_info" : "plan", " is NULL");
    const VariantPlan &preferred = plan->variants.front();
    *out_info = {preferred.workers, preferred.tiles, preferred.balance, plan->milliseconds};
    return {};
  });
}
