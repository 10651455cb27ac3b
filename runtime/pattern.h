// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Block patterns of attention: sizes, the rules for their lists, and where a list lies.

#ifndef SPARSEC_RUNTIME_PATTERN_H
#define SPARSEC_RUNTIME_PATTERN_H

#include "status.h"

#include <span>

namespace sparsec::runtime {

/// The number of the list of a query block; patterns with one batch or head have the same lists for all.
inline int64_t listNumber(const sparsec_pattern_t &pattern, int64_t batch, int64_t head, int64_t row) {
  int64_t ownBatch = pattern.batches == 1 ? 0 : batch, ownHead = pattern.heads == 1 ? 0 : head;
  return (ownBatch * pattern.heads + ownHead) * pattern.rows + row;
}

/// One list of `lists`, which are the partial or the full ones of the (checked) pattern. In host memory.
std::span<const int32_t> blockList(const sparsec_pattern_t &pattern, const sparsec_block_lists_t &lists,
                                   int64_t number);

/// Encoding, sizes, capacity and pointers: what can be known without reading the lists. Messages start with the
/// subject.
Status checkPatternSizes(const sparsec_pattern_t &pattern, const Subject &subject);

/// What the lists of a pattern with good sizes say: starts in order or counts within the capacity, key blocks in range
/// and none of them twice in a row. All arrays are in host memory.
Status checkPatternLists(const sparsec_pattern_t &pattern, const Subject &subject);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_PATTERN_H
