// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/refill.h"

#include <algorithm>
#include <tuple>

namespace sparsec::runtime {

namespace {

/// Why two auxiliary kernels cannot refill a plan of so many block columns; empty where they can.
std::string whyNoKernels(const sparsec_kernel_s &kernel, sparsec_auxiliary_kind_t count, sparsec_auxiliary_kind_t write,
                         int64_t columns) {
  const Stage *counter = kernel.auxiliary(count), *writer = kernel.auxiliary(write);
  if (!counter || !writer)
    return "the file has no kernels that refill them";
  const int64_t most = std::min(counter->info->tile_n, writer->info->tile_n);
  return columns <= most ? "" : "refills take at most " + std::to_string(most) + " block columns";
}

Status checkKernels(const sparsec_kernel_s &kernel, const char *what, sparsec_auxiliary_kind_t count,
                    sparsec_auxiliary_kind_t write, const sparsec_blocks_t &matrix) {
  const std::string reason = whyNoKernels(kernel, count, write, blockColumnCount(matrix));
  return reason.empty() ? Status()
                        : invalidArgument("kernel '", kernel.info->name, "': the plan needs ", what, ", but ", reason);
}

} // namespace

Status checkRefill(const sparsec_kernel_s &kernel, const HostLists &lists) {
  const char *name = kernel.info->name;
  bool hasMatrix = false;
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i)
    hasMatrix |= kernel.argument(i).kind == SPARSEC_ARGUMENT_BSR;
  if (!hasMatrix)
    return invalidArgument("kernel '", name,
                           "' takes no block-sparse matrix, as plans with SPARSEC_PLAN_REFILL expect");
  if (lists.areMissing())
    return invalidArgument("kernel '", name,
                           "': a plan with SPARSEC_PLAN_REFILL needs its block-sparse matrices, with their capacities");
  if (kernel.module->device->isHost())
    return {};
  if (!lists.transposedIndex().isEmpty())
    return checkKernels(kernel, "an index", SPARSEC_AUXILIARY_COUNT_COLUMNS, SPARSEC_AUXILIARY_WRITE_INDEX,
                        *lists.blocks());
  const uint32_t right = operationOf(kernel).pairSlots.right;
  return right == 0 ? Status()
                    : checkKernels(kernel, "pairs", SPARSEC_AUXILIARY_COUNT_PAIRS, SPARSEC_AUXILIARY_WRITE_PAIRS,
                                   lists.view(kernel.of(right)));
}

bool haveSameStreams(const Variant &left, const Variant &right) {
  auto shapeOf = [](const Variant &variant) {
    const sparsec_stage_info_t &stage = *variant.first().info;
    return std::tuple(takesStreams(*variant.info), isPacked(*variant.info), stage.tile_m, stage.consumer_rows,
                      stage.product_rows, stage.tile_k, stage.chunk_products,
                      stage.flags & SPARSEC_STAGE_ADJACENT_COLUMNS);
  };
  return takesStreams(*left.info) && shapeOf(left) == shapeOf(right);
}

bool isVariantOfRefills(const sparsec_kernel_s &kernel, const Variant &variant) {
  auto first = [&](auto &&isWanted) { return std::find_if(kernel.variants.begin(), kernel.variants.end(), isWanted); };
  auto found = first([](const Variant &each) { return hasWindowsOfBlocks(*each.info); });
  if (found == kernel.variants.end())
    found = first([](const Variant &each) {
      return each.info->most_panels == 0 && !isPacked(*each.info) && !takesCuts(*each.info);
    });
  return found != kernel.variants.end() && (&*found == &variant || haveSameStreams(*found, variant));
}

std::string whyNoRefill(const sparsec_kernel_s &kernel, const Variant &variant, const MatrixRows &matrix) {
  if (!isVariantOfRefills(kernel, variant))
    return "refills write those of another variant";
  return whyNoKernels(kernel, SPARSEC_AUXILIARY_COUNT_WINDOWS, SPARSEC_AUXILIARY_WRITE_WINDOWS,
                      matrix.pattern.blockColumns);
}

bool makeRoom(Windows &windows, const WindowInput &input, int64_t blocks) {
  const int64_t ofAll = windows.count() * input.pattern.blockColumns, columns = std::min(blocks, ofAll);
  // A group has a waypoint for every `slots` columns of its window at most, and one at either end.
  const int64_t groups = windows.count() * input.groups, waypoints = columns / input.slots * input.groups + 2 * groups;
  if (blocks + waypoints >= INT32_MAX)
    return false;
  // Readers may load one entry more than there are.
  windows.columns.resize(columns + 1);
  windows.blocks.resize(blocks + 1);
  windows.steps.resize(blocks + waypoints + 1);
  return true;
}

bool makeRoom(Streams &streams, const StreamInput &input, int64_t blocks) {
  const int64_t count = streams.count(), inFull = ceilDivide(input.pattern.blockColumns, input.stageColumns);
  const int64_t stages = std::min(input.adjacentColumns ? blocks : blocks / input.stageColumns + count, count * inFull);
  const int64_t chunks = blocks / input.chunkProducts + count * input.consumers;
  const int64_t chunkBlocks = input.chunkProducts * input.bundle;
  if ((stages + 1) * std::max(input.stageColumns, input.consumers) > INT32_MAX ||
      (chunks + 1) * chunkBlocks > INT32_MAX)
    return false;
  // Readers may load one stage and one chunk more than there are.
  streams.stageColumns.resize((stages + 1) * input.stageColumns, -1);
  streams.stageProducts.resize((stages + 1) * input.consumers);
  streams.chunkBlocks.resize((chunks + 1) * chunkBlocks, -1);
  return true;
}

Status makeRoom(PairIndex &pairs, const MatrixRoom &left, const MatrixRoom &right, const MatrixRoom *result) {
  // A block of A has at most a pair for every block column of B, a block of B one for every block row of A, and a block
  // of the result one for every block column of A.
  int64_t most = std::min(left.blocks * right.blockColumns, right.blocks * left.blockRows);
  if (result)
    most = std::min(most, result->blocks * left.blockColumns);
  if (most >= INT32_MAX)
    return invalidArgument("the product may have ", most, " pairs of blocks, at most ", INT32_MAX - 1,
                           " are expected in a plan with SPARSEC_PLAN_REFILL");
  if (result)
    pairs.starts.resize(result->blocks + 1);
  pairs.pairs.resize(most + 1); // readers may load one pair more than there are
  return {};
}

bool refillsLists(const sparsec_kernel_s &kernel, const Variant &variant, const Problem &problem,
                  const VariantPlan &part) {
  const Stage *writer = kernel.auxiliary(SPARSEC_AUXILIARY_WRITE_LISTS);
  // Lists that serve every width keep to the order of the panels, for launches with few of them.
  if (!writer || !isVariantOfRefills(kernel, variant) || part.order != SPARSEC_TILE_ORDER_LISTS || isKnown(part.period))
    return false;
  const int64_t tileRows = tileGridOf(kernel, *variant.first().info, problem, part.windows).tileRows;
  return part.workers <= int64_t(writer->info->tile_m) && tileRows <= int64_t(writer->info->tile_n);
}

int64_t columnCountEntries(int64_t blockRows, int64_t blockColumns) {
  return ceilDivide(blockRows, SPARSEC_SLICE_ROWS) * blockColumns;
}

} // namespace sparsec::runtime
