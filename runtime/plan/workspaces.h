// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the workspaces of a variant lie in the memory that a launch brings, and how large they are.

#ifndef SPARSEC_RUNTIME_WORKSPACES_H
#define SPARSEC_RUNTIME_WORKSPACES_H

#include "operations/operation.h"

namespace sparsec::runtime {

/// How launches of a variant share out its tiles.
struct WorkspaceUse {
  sparsec_tile_order_t order;
  int64_t ctas; // with lists, how many CTAs a launch has
};

/// Whether launches of the problem use the workspace: those that take tiles by a counter use the tile counter, and
/// those that split keys the memory of the parts.
bool isUsed(const sparsec_kernel_s &kernel, const sparsec_workspace_info_t &workspace, sparsec_tile_order_t order,
            const Problem &problem);

/// Whether the flags of so many CTAs fit in the bytes that workspaces keep for them.
bool hasRoomForFlags(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant, int64_t ctas);

/// Whether the variant can take its tiles by a counter.
bool hasTileCounter(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant);

/// Bytes of the first `count` workspaces that such launches use, each rounded up to the alignment;
/// SPARSEC_DYNAMIC where the problem leaves a size open that they need. More than memory can hold is INT64_MAX.
int64_t workspaceBytes(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant, const WorkspaceUse &use,
                       const Problem &problem, uint32_t count);

/// Where a workspace begins in the memory of a launch. The tile counter is always first, behind it are the flags of
/// sums, and no other workspace is at their places: so launches of all variants and problems may use the same memory
/// one after the other.
int64_t workspaceOffset(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant, const WorkspaceUse &use,
                        const Problem &problem, uint32_t number);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_WORKSPACES_H
