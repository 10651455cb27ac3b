// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lists of a plan's arguments.

#ifndef SPARSEC_RUNTIME_HOST_LISTS_H
#define SPARSEC_RUNTIME_HOST_LISTS_H

#include "arguments/blocks.h"
#include "operations/operation.h"

#include <optional>

namespace sparsec::runtime {

/// Whether a product takes the transpose of an argument.
bool isTransposed(const sparsec_kernel_s &kernel, uint32_t argument);

/// The lists of the kernel's blocks, checked and in host memory.
class HostLists {
public:
  /// Of checked arguments, in the order of the stream.
  Status read(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, void *stream);

  /// Whether the kernel takes lists that nothing is known of.
  bool areMissing() const { return isMissing; }
  /// Null where there are none.
  const sparsec_blocks_t *blocks() const { return view ? &*view : nullptr; }
  /// The same of a block-sparse operand.
  const MatrixRows *matrix() const { return rows ? &*rows : nullptr; }
  /// Empty unless the operand is transposed.
  const TransposedIndex &transposedIndex() const { return index; }
  /// For the checks of launches. Of lists that are there.
  KnownLists known() const { return {argument, listChecksum(*view)}; }

private:
  void addRows(bool isTransposed);

  ListCopies copies;
  std::optional<sparsec_blocks_t> view;
  TransposedIndex index;
  std::optional<MatrixRows> rows;
  uint32_t argument = noArgument;
  bool isMissing = false;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_HOST_LISTS_H
