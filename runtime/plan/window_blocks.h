// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blocks of the block rows that share a window, in the order in which a CTA multiplies them.

#ifndef SPARSEC_RUNTIME_WINDOW_BLOCKS_H
#define SPARSEC_RUNTIME_WINDOW_BLOCKS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sparsec::runtime {

/// The blocks of a matrix. Checked, in host memory; the columns of a row are in any order.
struct BlockPattern {
  const int32_t *rowPtr, *colIdx;
  int64_t blockRows, blockColumns;
  const int32_t *numbers = nullptr; // of the blocks among the values; null where they are in the order of col_idx

  int64_t count() const { return rowPtr && blockRows != 0 ? rowPtr[blockRows] : 0; }
  int32_t numberOf(int32_t position) const { return numbers ? numbers[position] : position; }
};

/// A block by its numbers in the matrix.
struct WindowBlock {
  int32_t block, column;
};
static_assert(sizeof(WindowBlock) == 8, "layout of SPARSEC_PLAN_BLOCKS");

/// A block with the place of its row in the window.
struct PlacedBlock {
  uint32_t column, place;
  int32_t block;
};

/// Gathers the blocks of one window after the other. The time is linear in the number of blocks.
class BlockGatherer {
public:
  explicit BlockGatherer(const BlockPattern &pattern);

  /// The blocks of these block rows (-1: none), by column, then by place. They stay until the next call.
  const std::vector<PlacedBlock> &gather(const int32_t *rows, int64_t count);

private:
  /// A pass of the radix sort reads so many bits of a column's number.
  struct Digits {
    int bits;
    uint32_t mask;
  };
  /// Returns the digits for a sort of `size` blocks.
  Digits digitsFor(size_t size) const;
  /// Calls `function(column, place, block)`.
  template <typename Function> void forEachBlock(const int32_t *rows, int64_t count, const Function &function) const;
  void sortByDigit(int shift, uint32_t mask);

  const BlockPattern &pattern;
  const int columnBits;
  std::vector<PlacedBlock> blocks, sorted;
  std::vector<uint32_t> begins; // where the blocks with each digit begin
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_WINDOW_BLOCKS_H
