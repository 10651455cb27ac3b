// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Block patterns of attention: sizes, the rules for their lists, and where a list lies.

#ifndef SPARSEC_RUNTIME_PATTERN_H
#define SPARSEC_RUNTIME_PATTERN_H

#include "device/device.h"

#include <list>
#include <span>
#include <vector>

namespace sparsec::runtime {

inline int64_t listCount(const sparsec_pattern_t &pattern) { return pattern.batches * pattern.heads * pattern.rows; }

/// Elements of `starts` and of `indices` of the partial or the full lists, where they are there.
inline size_t startCount(const sparsec_pattern_t &pattern) {
  return size_t(listCount(pattern)) + (pattern.encoding == SPARSEC_PATTERN_INDEX_ARRAYS);
}
inline size_t indexCount(const sparsec_pattern_t &pattern) {
  return size_t(pattern.encoding == SPARSEC_PATTERN_PADDED_LISTS ? listCount(pattern) * pattern.capacity
                                                                 : pattern.capacity);
}

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

/// The lists of a pattern, copied from the memory of a device.
class ListCopies {
public:
  /// Makes the (checked) pattern point to the copies.
  Status download(const Device &device, sparsec_pattern_t &pattern) {
    if (listCount(pattern) == 0)
      return {};
    for (sparsec_block_lists_t *each : {&pattern.partial, &pattern.full}) {
      if (!each->starts)
        continue;
      SPARSEC_RETURN_IF_ERROR(download(device, startCount(pattern), each->starts));
      SPARSEC_RETURN_IF_ERROR(download(device, indexCount(pattern), each->indices));
    }
    return {};
  }

private:
  Status download(const Device &device, size_t count, const int32_t *&array) {
    std::vector<int32_t> &copy = copies.emplace_back(count);
    SPARSEC_RETURN_IF_ERROR(device.download(copy.data(), array, count * sizeof(int32_t)));
    array = copy.data();
    return {};
  }

  std::list<std::vector<int32_t>> copies;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_PATTERN_H
