// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores of the blocks of a pattern: the checks of what a caller passes, and the choice of the best blocks on the host.

#ifndef SPARSEC_RUNTIME_BLOCK_SCORES_H
#define SPARSEC_RUNTIME_BLOCK_SCORES_H

#include "image/module.h"
#include "pattern/pattern_buffer.h"

namespace sparsec::runtime {

/// The arguments of sparsec_pattern_update_from_scores.
struct BlockScores {
  const float *scores = nullptr;
  int64_t k = 0;
  const int32_t *counts = nullptr; // or null
  const uint8_t *mask = nullptr;   // or null
};

/// Checks the view of the scores and the other arguments for the lists of a buffer. The scores become those of the
/// view.
Status checkScores(const sparsec_dense_t *view, const sparsec_blocks_t &pattern, BlockScores &scores);

/// Whether the kernels of a device can read all of it; see memory_check.h.
Status checkScoreMemory(const Device &device, const BlockScores &scores, const sparsec_blocks_t &pattern);

/// The state of every block after the choice. All memory is the host's; the kernel, whose causal and window limit the
/// choice, may be null. Refuses a mask with other numbers than states.
Status chooseBlocks(const BlockScores &scores, const sparsec_blocks_t &pattern, const sparsec_kernel_s *kernel,
                    BlockStates &outStates);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_BLOCK_SCORES_H
