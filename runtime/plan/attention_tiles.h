// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tile lists of attention, balanced by the steps that tiles take.

#ifndef SPARSEC_RUNTIME_ATTENTION_TILES_H
#define SPARSEC_RUNTIME_ATTENTION_TILES_H

#include "operations/operation.h"
#include "plan/joint_lists.h"

namespace sparsec::runtime {

/// Head after head, so that the tiles that run together share keys and values in the L2 cache; in each head the tiles
/// with most steps first. Panel 0 has the last queries, which see most with causal.
TileLists attentionTileLists(const TileListRequest &request);

/// Tiles that are cut along the keys, where that makes the longest list of a worker shorter.
CutLists attentionCutLists(const TileListRequest &request);

/// The same for the tiles of joint lists. A cost of 100 is the time of a key block in a tile of single rows.
TileLists jointTileLists(const TileListRequest &request, const JointLists &joint);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_ATTENTION_TILES_H
