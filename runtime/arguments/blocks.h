// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Block patterns: sizes, the rules for their lists, and where a list lies.

#ifndef SPARSEC_RUNTIME_BLOCKS_H
#define SPARSEC_RUNTIME_BLOCKS_H

#include "arguments/views.h"
#include "device/device.h"

#include <list>
#include <span>
#include <vector>

namespace sparsec::runtime {

/// The number of the list of a block row; patterns with one batch or head have the same lists for all.
inline int64_t listNumber(const sparsec_blocks_t &blocks, int64_t batch, int64_t head, int64_t blockRow) {
  int64_t ownBatch = blocks.batches == 1 ? 0 : batch, ownHead = blocks.heads == 1 ? 0 : head;
  return (ownBatch * blocks.heads + ownHead) * blockRowCount(blocks) + blockRow;
}

/// Elements of `starts` and of `indices` of the full or the partial lists, where they are there.
inline size_t startCount(const sparsec_blocks_t &blocks) {
  return size_t(listCount(blocks)) + (blocks.encoding == SPARSEC_PATTERN_INDEX_ARRAYS);
}
inline size_t indexCount(const sparsec_blocks_t &blocks) {
  return size_t(blocks.encoding == SPARSEC_PATTERN_PADDED_LISTS ? listCount(blocks) * blocks.capacity
                                                                : blocks.capacity);
}

/// One list of `lists`, which are the full or the partial ones of the (checked) pattern. In host memory.
std::span<const int32_t> blockList(const sparsec_blocks_t &blocks, const sparsec_block_lists_t &lists, int64_t number);

/// The size of the struct, encoding, sizes, capacity and list pointers: what can be known without reading the lists.
/// Messages start with the subject.
Status checkBlocks(const sparsec_blocks_t &blocks, const Subject &subject);

/// The lists of checked blocks are right: starts in order or counts within the capacity, block columns in range and
/// none of them twice in a block row. All arrays are in host memory.
Status checkBlockLists(const sparsec_blocks_t &blocks, const Subject &subject);

/// A checksum of what the lists of (checked) blocks say, entries in their order, whatever their encoding. All arrays
/// are in host memory.
uint32_t listChecksum(const sparsec_blocks_t &blocks);

/// The lists of a pattern, copied from the memory of a device.
class ListCopies {
public:
  /// Makes the (checked) blocks point to the copies. On a GPU, when what is on the stream is done. The memory is
  /// checked first where the device is in the checking mode; `subject` is what its message starts with.
  Status download(const Device &device, const Subject &subject, sparsec_blocks_t &blocks, void *stream);

private:
  std::list<std::vector<int32_t>> copies;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_BLOCKS_H
