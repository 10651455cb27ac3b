// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/refill.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

/// The block columns that a kernel takes at most; 0: there is no such kernel.
int64_t mostColumns(const sparsec_kernel_s &kernel, sparsec_auxiliary_kind_t kind) {
  const Stage *stage = kernel.auxiliary(kind);
  return stage ? stage->info->tile_n : 0;
}

} // namespace

Status checkRefill(const sparsec_kernel_s &kernel, const HostLists &lists) {
  const char *name = kernel.info->name;
  int64_t matrices = 0;
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i)
    matrices += kernel.argument(i).kind == SPARSEC_ARGUMENT_BSR;
  if (matrices != 1)
    return invalidArgument("kernel '", name, "' takes ", matrices,
                           " block-sparse matrices: plans with SPARSEC_PLAN_REFILL are for kernels with one");
  if (!lists.matrix())
    return invalidArgument("kernel '", name, "': a plan with SPARSEC_PLAN_REFILL needs the matrix, with its capacity");
  if (lists.transposedIndex().isEmpty() || kernel.module->device->isHost())
    return {};
  const int64_t columns = blockColumnCount(*lists.blocks()), most = mostColumns(kernel, SPARSEC_AUXILIARY_WRITE_INDEX);
  if (columns > most)
    return invalidArgument("kernel '", name, "': the matrix has ", columns,
                           " block columns, but the kernel can refill ", "the index of at most ", most);
  return {};
}

std::string whyNoRefill(const sparsec_kernel_s &kernel, const MatrixRows &matrix) {
  const int64_t most = mostColumns(kernel, SPARSEC_AUXILIARY_WRITE_WINDOWS);
  if (matrix.pattern.blockColumns <= most)
    return "";
  return "refills take at most " + std::to_string(most) + " block columns";
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

int64_t columnCountEntries(int64_t blockRows, int64_t blockColumns) {
  return ceilDivide(blockRows, SPARSEC_SLICE_ROWS) * blockColumns;
}

} // namespace sparsec::runtime
