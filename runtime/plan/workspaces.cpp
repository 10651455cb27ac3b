// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/workspaces.h"

#include <algorithm>

namespace sparsec::runtime {

bool isUsed(const sparsec_kernel_s &kernel, const sparsec_workspace_info_t &workspace, sparsec_tile_order_t order,
            const Problem &problem) {
  if (workspace.kind == SPARSEC_WORKSPACE_TILE_COUNTER)
    return order == SPARSEC_TILE_ORDER_COUNTER;
  if (workspace.kind != SPARSEC_WORKSPACE_SCRATCH)
    return true;
  bool isOfParts = false;
  for (const sparsec_extent_info_t &extent :
       kernel.module->info.extents(workspace.extent_first, workspace.extent_count))
    isOfParts |= extent.field == SPARSEC_FIELD_PARTS;
  return !isOfParts || problem.parts > 1;
}

bool hasTileCounter(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant) {
  for (const sparsec_workspace_info_t &workspace : kernel.module->info.workspacesOf(variant))
    if (workspace.kind == SPARSEC_WORKSPACE_TILE_COUNTER)
      return true;
  return false;
}

namespace {

/// Bytes of elements, rounded up to the alignment and added to a total. More than memory can hold is INT64_MAX.
int64_t addBytes(int64_t total, int64_t elements, uint32_t elementBytes) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, int64_t(elementBytes), &bytes) ||
      __builtin_add_overflow(bytes, workspaceAlignment - 1, &bytes) ||
      __builtin_add_overflow(total, bytes / workspaceAlignment * workspaceAlignment, &total))
    return INT64_MAX;
  return total;
}

} // namespace

/// Whether launches leave a workspace as it was, so that it has a place of its own in all of them.
static bool isKept(const sparsec_workspace_info_t &workspace) {
  return workspace.kind == SPARSEC_WORKSPACE_TILE_COUNTER || workspace.kind == SPARSEC_WORKSPACE_SUM_FLAGS;
}

bool hasRoomForFlags(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant, int64_t ctas) {
  for (const sparsec_workspace_info_t &workspace : kernel.module->info.workspacesOf(variant))
    if (workspace.kind == SPARSEC_WORKSPACE_SUM_FLAGS &&
        ctas > (keptWorkspaceBytes - workspaceAlignment) / int64_t(workspace.element_bytes))
      return false;
  return true;
}

int64_t workspaceBytes(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant, const WorkspaceUse &use,
                       const Problem &problem, uint32_t count) {
  const LaunchInfo &info = kernel.module->info;
  const Records<sparsec_workspace_info_t> workspaces = info.workspacesOf(variant);
  bool isCounterUsed = false;
  int64_t total = keptWorkspaceBytes;
  for (uint32_t i = 0; i < count; ++i) {
    const sparsec_workspace_info_t &workspace = workspaces[i];
    if (!isUsed(kernel, workspace, use.order, problem))
      continue;
    isCounterUsed |= workspace.kind == SPARSEC_WORKSPACE_TILE_COUNTER;
    if (isKept(workspace))
      continue;
    const int64_t elements =
        workspace.kind == SPARSEC_WORKSPACE_TILE_SUMS
            ? use.ctas
            : extentProduct(kernel, info.extents(workspace.extent_first, workspace.extent_count), problem);
    if (!isKnown(elements))
      return SPARSEC_DYNAMIC;
    total = addBytes(total, elements, workspace.element_bytes);
  }
  if (total != keptWorkspaceBytes)
    return total;
  return isCounterUsed ? workspaceAlignment : 0;
}

int64_t workspaceOffset(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant, const WorkspaceUse &use,
                        const Problem &problem, uint32_t number) {
  switch (kernel.module->info.workspacesOf(variant)[number].kind) {
  case SPARSEC_WORKSPACE_TILE_COUNTER:
    return 0;
  case SPARSEC_WORKSPACE_SUM_FLAGS:
    return workspaceAlignment;
  }
  return std::max(keptWorkspaceBytes, workspaceBytes(kernel, variant, use, problem, number));
}

} // namespace sparsec::runtime
