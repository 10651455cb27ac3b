// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/workspaces.h"

namespace sparsec::runtime {

bool isUsed(const sparsec_workspace_info_t &workspace, sparsec_tile_order_t order) {
  return workspace.kind != SPARSEC_WORKSPACE_TILE_COUNTER || order == SPARSEC_TILE_ORDER_COUNTER;
}

bool hasTileCounter(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant) {
  for (const sparsec_workspace_info_t &workspace : kernel.module->info.workspacesOf(variant))
    if (workspace.kind == SPARSEC_WORKSPACE_TILE_COUNTER)
      return true;
  return false;
}

int64_t workspaceBytes(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant,
                       sparsec_tile_order_t order, const Problem &problem, uint32_t count) {
  const LaunchInfo &info = kernel.module->info;
  const Records<sparsec_workspace_info_t> workspaces = info.workspacesOf(variant);
  int64_t total = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const sparsec_workspace_info_t &workspace = workspaces[i];
    if (!isUsed(workspace, order))
      continue;
    int64_t elements = extentProduct(kernel, info.extents(workspace.extent_first, workspace.extent_count), problem);
    if (!isKnown(elements))
      return SPARSEC_DYNAMIC;
    int64_t bytes = 0;
    if (__builtin_mul_overflow(elements, int64_t(workspace.element_bytes), &bytes) ||
        __builtin_add_overflow(bytes, workspaceAlignment - 1, &bytes) ||
        __builtin_add_overflow(total, bytes / workspaceAlignment * workspaceAlignment, &total))
      return INT64_MAX;
  }
  return total;
}

} // namespace sparsec::runtime
