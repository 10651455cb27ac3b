// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lists of a plan's arguments.

#ifndef SPARSEC_RUNTIME_HOST_LISTS_H
#define SPARSEC_RUNTIME_HOST_LISTS_H

#include "arguments/blocks.h"
#include "operations/operation.h"

#include <list>
#include <optional>

namespace sparsec::runtime {

/// Whether a product takes the transpose of an argument.
bool isTransposed(const sparsec_kernel_s &kernel, uint32_t argument);

/// The lists of the kernel's blocks, checked and in host memory.
class HostLists {
public:
  /// Reads the lists of checked arguments, in the order of the stream.
  Status read(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, void *stream);

  /// Takes lists without blocks in place of those of the arguments, which it does not read. The index of a transposed
  /// operand has room for all blocks of its argument.
  void readEmpty(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments);

  /// Whether the kernel takes lists that nothing is known of.
  bool areMissing() const { return isMissing; }
  bool isEmpty() const { return all.empty(); }
  /// Those of an argument that has some.
  const sparsec_blocks_t &view(uint32_t argument) const { return listsOf(argument).view; }
  /// Those of the first argument that has some; null where there are none.
  const sparsec_blocks_t *blocks() const { return all.empty() ? nullptr : &all.front().view; }
  /// The same of a block-sparse operand.
  const MatrixRows *matrix() const { return all.empty() || !all.front().rows ? nullptr : &*all.front().rows; }
  /// Empty unless the operand is transposed.
  const TransposedIndex &transposedIndex() const { return index; }
  /// Pairs the blocks of the block-sparse operands of a product, which are all there.
  Status pairBlocks(const sparsec_kernel_s &kernel);
  /// Gives the pairs of lists without blocks room for those of any blocks.
  Status makeRoomForPairs(const sparsec_kernel_s &kernel);
  /// Empty unless blocks were paired.
  const PairIndex &pairs() const { return pairIndex; }
  /// The pattern of a sampled product of block-sparse matrices; null for others.
  const MatrixRows *resultPattern(const sparsec_kernel_s &kernel) const;
  /// For the checks of launches.
  KnownLists known() const;

private:
  struct Lists {
    uint32_t argument;
    sparsec_blocks_t view;
    sparsec_block_lists_t memory;   // of the argument's full lists
    std::optional<MatrixRows> rows; // of a block-sparse operand
  };

  MatrixRows rowsOf(const sparsec_blocks_t &view, bool isTransposed);
  const Lists &listsOf(uint32_t argument) const;
  const MatrixRows &matrixOf(uint32_t argument) const { return *listsOf(argument).rows; }

  ListCopies copies;
  std::list<std::vector<int32_t>> emptyStarts;
  std::vector<Lists> all;
  TransposedIndex index;
  PairIndex pairIndex;
  bool isMissing = false;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_HOST_LISTS_H
