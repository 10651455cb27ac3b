// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans of attention: tiles balanced by the steps that they take, or a counter where nothing is known of the lists.
#include "arguments/blocks.h"
#include "plan/key_range.h"
#include "plan/plan.h"
#include "plan/tile_lists.h"

#include <chrono>
#include <span>

namespace sparsec::runtime {

namespace {

/// Filling the pipeline and writing the result cost about as much as two steps.
constexpr uint32_t tileOverhead = 2;

/// What a tile costs, in steps.
class TileCosts {
public:
  TileCosts(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant,
            const sparsec_attention_sizes_t &sizes, const sparsec_blocks_t *pattern)
      : info(kernel.attention()), variant(variant), sizes(sizes), pattern(pattern) {}

  uint32_t of(int64_t batch, int64_t head, int64_t firstQuery) const {
    KeyRange keys = reachable(firstQuery);
    int64_t blocks = ceilDivide(keys.end, int64_t(keyBlock())) - keys.begin / keyBlock();
    if (keys.begin >= keys.end)
      blocks = 0;
    if (pattern)
      blocks = listed(listNumber(*pattern, batch, head, firstQuery / pattern->block_rows), keys);
    return uint32_t(ceilDivide(blocks * keyBlock(), int64_t(variant.tile_n))) + tileOverhead;
  }

private:
  int32_t keyBlock() const { return pattern ? pattern->block_columns : int32_t(variant.tile_n); }

  /// The keys that some query of the tile may see.
  KeyRange reachable(int64_t firstQuery) const {
    int64_t lastQuery = std::min<int64_t>(firstQuery + variant.tile_m, sizes.queries) - 1;
    return {visibleKeys(info, sizes.queries, sizes.keys, firstQuery).begin,
            visibleKeys(info, sizes.queries, sizes.keys, lastQuery).end};
  }

  int64_t listed(int64_t list, KeyRange keys) const {
    int64_t first = keys.begin / keyBlock(), end = keys.begin < keys.end ? ceilDivide(keys.end, keyBlock()) : 0;
    auto isReachable = [&](int32_t block) { return block >= first && block < end; };
    auto count = [&](std::span<const int32_t> blocks) {
      return std::count_if(blocks.begin(), blocks.end(), isReachable);
    };
    return count(blockList(*pattern, pattern->partial, list)) + count(blockList(*pattern, pattern->full, list));
  }

  const sparsec_attention_info_t &info;
  const sparsec_variant_info_t &variant;
  const sparsec_attention_sizes_t &sizes;
  const sparsec_blocks_t *pattern;
};

/// Head after head, so that the tiles that run together share keys and values in the L2 cache. Panel 0 has the last
/// queries, which see most with causal.
TileLists balancedLists(const TileCosts &costs, const TileGrid &grid, const sparsec_variant_info_t &variant,
                        int64_t heads, int64_t workers) {
  std::vector<Tile> order;
  std::vector<uint32_t> steps;
  order.reserve(grid.tiles());
  steps.reserve(grid.tiles());
  for (int64_t row = 0; row < grid.tileRows; ++row)
    for (int64_t panel = 0; panel < grid.panels; ++panel) {
      order.push_back({uint32_t(row), uint32_t(panel)});
      steps.push_back(costs.of(row / heads, row % heads, (grid.panels - 1 - panel) * variant.tile_m));
    }
  return makeTileLists(std::move(order), std::move(steps), workers);
}

Status checkSizes(const sparsec_kernel_s &kernel, const sparsec_attention_sizes_t &sizes) {
  struct {
    const char *name;
    int64_t value;
  } all[] = {{"batches", sizes.batches}, {"heads", sizes.heads}, {"queries", sizes.queries}, {"keys", sizes.keys}};
  for (auto [name, value] : all)
    if (value < 0 || value > maxSize)
      return invalidArgument("sizes: expects ", name, " of 0 to ", maxSize, ", but got ", value);
  if (kernel.info->family != SPARSEC_FAMILY_ATTENTION)
    return invalidArgument("kernel '", kernel.info->name, "' is no attention kernel: use sparsec_plan_create");
  return {};
}

Status readPattern(const sparsec_kernel_s &kernel, const AttentionSizes &sizes, const sparsec_blocks_t &pattern,
                   ListCopies &copies, sparsec_blocks_t &hostPattern) {
  uint32_t number = kernel.of(SPARSEC_ROLE_PATTERN);
  if (number == noArgument)
    return invalidArgument("pattern must be NULL: kernel '", kernel.info->name, "' has none");
  const sparsec_argument_t argument = sparsec_argument_blocks(&pattern);
  Checked checked = {kernel.argument(number), argument, number};
  SPARSEC_RETURN_IF_ERROR(checked.checkView(placeFor(kernel, Use::launch)));
  SPARSEC_RETURN_IF_ERROR(checkPatternArgumentSizes(checked, sizes));
  hostPattern = pattern;
  SPARSEC_RETURN_IF_ERROR(copies.download(*kernel.module->device, checked.subject(), hostPattern, nullptr));
  return checkBlockLists(hostPattern, checked.subject());
}

Status createAttentionPlan(sparsec_kernel_s &kernel, const sparsec_attention_sizes_t &sizes,
                           const sparsec_blocks_t *pattern, std::unique_ptr<sparsec_plan_s> &outPlan) {
  auto begin = std::chrono::steady_clock::now();
  SPARSEC_RETURN_IF_ERROR(checkSizes(kernel, sizes));
  AttentionSizes all = {sizes.batches, sizes.heads, sizes.heads,
                        sizes.queries, sizes.keys,  kernel.attention().head_dimension};
  ListCopies copies;
  sparsec_blocks_t hostPattern;
  if (pattern)
    SPARSEC_RETURN_IF_ERROR(readPattern(kernel, all, *pattern, copies, hostPattern));

  auto plan = std::make_unique<sparsec_plan_s>();
  plan->kernel = &kernel;
  plan->module = kernel.module->shared_from_this();
  plan->attentionSizes = sizes;
  bool isUnknown = !pattern && kernel.of(SPARSEC_ROLE_PATTERN) != noArgument;
  const Device &device = *plan->module->device;
  const std::vector<uint32_t> counter = {0};
  std::vector<TileLists> tileLists(kernel.variants.size());
  SectionList sections;
  plan->variants.resize(kernel.variants.size());
  for (size_t i = 0; i < kernel.variants.size(); ++i) {
    const Variant &variant = kernel.variants[i];
    VariantPlan &part = plan->variants[i];
    TileGrid grid = makeTileGrid(*variant.info, all);
    SPARSEC_RETURN_IF_ERROR(checkTileCount(grid));
    part.tiles = grid.tiles();
    part.workers = std::min(device.isHost() ? int64_t(device.threads->size()) : variant.residentWorkers, part.tiles);
    if (device.isHost() || part.tiles == 0)
      continue;
    if (isUnknown) {
      sections.add(part, SPARSEC_PLAN_COUNTER, counter);
      continue;
    }
    // The last CTA's teams all look for a list.
    int64_t teams = variant.info->tiles_per_cta;
    part.workers = ceilDivide(part.workers, teams) * teams;
    TileCosts costs(kernel, *variant.info, sizes, pattern ? &hostPattern : nullptr);
    tileLists[i] = balancedLists(costs, grid, *variant.info, sizes.heads, part.workers);
    part.balance = tileLists[i].balance;
    sections.add(part, SPARSEC_PLAN_TILE_OFFSETS, tileLists[i].offsets);
    sections.add(part, SPARSEC_PLAN_TILES, tileLists[i].tiles);
  }
  SPARSEC_RETURN_IF_ERROR(sections.upload(device, plan->memory));
  plan->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  outPlan = std::move(plan);
  return {};
}

} // namespace

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_plan_create_attention(sparsec_kernel_t kernel, const sparsec_attention_sizes_t *sizes,
                                               const sparsec_blocks_t *pattern, sparsec_plan_t *out_plan) {
  const char *missing = !kernel ? "kernel" : !sizes ? "sizes" : nullptr;
  return givePlan(out_plan, missing, [&](std::unique_ptr<sparsec_plan_s> &plan) {
    return createAttentionPlan(*kernel, *sizes, pattern, plan);
  });
}
