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
    place.variant->sections[place.section] = target;
  }
  return {};
}

namespace {

Status checkAgainstKernel(const sparsec_kernel_s &kernel, const sparsec_blocks_t &pattern, int64_t width) {
  SPARSEC_RETURN_IF_ERROR(checkBlocks(pattern, {"pattern"}));
  SPARSEC_RETURN_IF_ERROR(checkPlace({"pattern"}, pattern.device, placeFor(kernel, Use::launch)));
  const sparsec_argument_info_t &info = kernel.argument(kernel.of(SPARSEC_ROLE_MATRIX));
  if (pattern.block_rows != int32_t(info.block_rows) || pattern.block_columns != int32_t(info.block_columns))
    return invalidArgument("pattern: expects blocks of ", info.block_rows, " x ", info.block_columns, ", but got ",
                           pattern.block_rows, " x ", pattern.block_columns);
  int64_t sizes[] = {pattern.rows, pattern.columns};
  for (int d = 0; d < 2; ++d)
    if (info.sizes[d] != SPARSEC_DYNAMIC && info.sizes[d] != sizes[d])
      return invalidArgument("pattern: expects ", info.sizes[d], d ? " columns" : " rows", ", but got ", sizes[d]);
  if (width < 0 || width > maxSize)
    return invalidArgument("width is ", width, ", expects 0 to ", maxSize);
  return {};
}

/// The host hands tiles to threads as they become free, so that its plan is only the checked pattern.
void planHostVariant(const TileGrid &grid, const Device &device, VariantPlan &plan) {
  plan.tiles = grid.tiles();
  plan.workers = std::min<int64_t>(device.threads->size(), plan.tiles);
}

/// A fallback has smaller tiles, so that its list takes longer to make than the preferred variant's. It may stay
/// coarser: neighbouring tiles that lie in one panel of the preferred variant go together, as long as every worker gets
/// enough units to even out the load.
int64_t panelsPerUnit(const sparsec_kernel_s &kernel, const Variant &variant, const VariantPlan &plan) {
  constexpr int64_t unitsPerWorker = 16;
  auto panelColumns = [](const Variant &v) { return int64_t(v.info->tile_n) * v.info->cluster; };
  int64_t wanted = panelColumns(kernel.variants.front()) / panelColumns(variant);
  return std::max<int64_t>(std::min(wanted, plan.tiles / (unitsPerWorker * plan.workers)), 1);
}

TileLists planCudaVariant(const sparsec_kernel_s &kernel, const Variant &variant, const TileGrid &grid,
                          const sparsec_blocks_t &pattern, const int32_t *rowPtr, VariantPlan &plan) {
  plan.tiles = grid.tiles();
  plan.workers = std::min(variant.residentWorkers, plan.tiles);
  if (plan.tiles == 0)
    return {};
  TileLists lists = makeTileLists({rowPtr, blockRowCount(pattern), blockColumnCount(pattern), grid,
                                   ceilDivide(pattern.block_columns, variant.info->tile_k), plan.workers,
                                   std::max<int64_t>(variant.info->raster, 1), panelsPerUnit(kernel, variant, plan)});
  plan.balance = lists.balance;
  return lists;
}

Status createPlan(sparsec_kernel_s &kernel, const sparsec_blocks_t &pattern, int64_t width,
                  std::unique_ptr<sparsec_plan_s> &outPlan) {
  auto begin = std::chrono::steady_clock::now();
  if (kernel.info->family != SPARSEC_FAMILY_SPMM)
    return invalidArgument("kernel '", kernel.info->name,
                           "' is no block-sparse product: use sparsec_plan_create_attention");
  SPARSEC_RETURN_IF_ERROR(checkAgainstKernel(kernel, pattern, width));
  auto plan = std::make_unique<sparsec_plan_s>();
  plan->kernel = &kernel;
  plan->module = kernel.module->shared_from_this();
  plan->sizes = {pattern.rows, width, pattern.columns};
  plan->blockCount = pattern.capacity;

  const Device &device = *plan->module->device;
  ListCopies copies;
  sparsec_blocks_t host = pattern;
  SPARSEC_RETURN_IF_ERROR(copies.download(device, {"pattern"}, host, nullptr));
  SPARSEC_RETURN_IF_ERROR(checkBlockLists(host, {"pattern"}));

  SectionList sections;
  std::vector<TileLists> lists(kernel.variants.size());
  plan->variants.resize(kernel.variants.size());
  for (size_t i = 0; i < kernel.variants.size(); ++i) {
    TileGrid grid = makeTileGrid(*kernel.variants[i].info, pattern.block_rows, plan->sizes);
    SPARSEC_RETURN_IF_ERROR(checkTileCount(grid));
    if (device.isHost()) {
      planHostVariant(grid, device, plan->variants[i]);
      continue;
    }
    lists[i] = planCudaVariant(kernel, kernel.variants[i], grid, pattern, host.full.starts, plan->variants[i]);
    sections.add(plan->variants[i], SPARSEC_PLAN_TILE_OFFSETS, lists[i].offsets);
    sections.add(plan->variants[i], SPARSEC_PLAN_TILES, lists[i].tiles);
  }
  SPARSEC_RETURN_IF_ERROR(sections.upload(device, plan->memory));
  plan->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  outPlan = std::move(plan);
  return {};
}

} // namespace

} // namespace sparsec::runtime

sparsec_status_t sparsec_plan_create(sparsec_kernel_t kernel, const sparsec_blocks_t *pattern, int64_t width,
                                     sparsec_plan_t *out_plan) {
  const char *missing = !kernel ? "kernel" : !pattern ? "pattern" : nullptr;
  return givePlan(out_plan, missing,
                  [&](std::unique_ptr<sparsec_plan_s> &plan) { return createPlan(*kernel, *pattern, width, plan); });
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
