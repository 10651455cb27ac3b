// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks of one launch argument against its record: what all kernel families share.

#ifndef SPARSEC_RUNTIME_CHECKED_ARGUMENT_H
#define SPARSEC_RUNTIME_CHECKED_ARGUMENT_H

#include "arguments/views.h"
#include "image/enum_values.h"
#include "image/module.h"

#include <span>
#include <vector>

namespace sparsec::runtime {

/// The use that arguments are checked for.
enum class Use {
  launch,
  plan,      ///< arguments and sizes may be open; memory is that of lists alone
  reference, ///< all memory is the host's; that of results is not used
};

/// Where the memory of arguments must be: an ordinal or SPARSEC_PLACE_HOST.
inline int32_t placeFor(const sparsec_kernel_s &kernel, Use use) {
  return use == Use::reference ? int32_t(SPARSEC_PLACE_HOST) : kernel.module->device->info.ordinal;
}

/// "the host" or "device 1".
std::string placeName(int32_t place);

/// Refuses a view's memory in another place than `expected`, where it says so.
Status checkPlace(const Subject &subject, int32_t place, int32_t expected);

/// One argument with its record and number, for checks and their messages.
struct Checked {
  const sparsec_argument_info_t &info;
  const sparsec_argument_t &value;
  uint32_t number;

  Subject subject() const { return {info.name, number}; }
  template <typename... Pieces> Status refuse(const Pieces &...pieces) const {
    return invalidArgument(subject(), ": ", pieces...);
  }

  /// The kind, the size of the view, and where its memory is.
  Status checkView(int32_t place) const;
  Status checkType(uint32_t dtype) const;
  const sparsec_dense_t &dense() const { return denseOf(value); }
  const sparsec_blocks_t &blocks() const { return blocksOf(value); }

  /// Whether a plan leaves the argument open.
  bool isOpen() const { return value.kind == 0; }
  /// Type, rank and sizes. `sizes` are those that the other arguments ask for, or SPARSEC_DYNAMIC.
  Status checkTensor(const int64_t *sizes, Use use) const;
  /// A contiguous last dimension. Other strides are the operations' business.
  Status checkLastStride() const;
  /// Refuses a tensor that is not empty, or blocks with values, without memory that is aligned to the elements.
  Status checkPointer() const;
};

inline Checked checkedArgument(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, uint32_t number) {
  return {kernel.argument(number), arguments[number], number};
}

/// An argument as an operand of the kernel's operation.
struct CheckedOperand : Checked {
  const sparsec_operand_info_t &operand;
};

inline CheckedOperand checkedOperand(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments,
                                     const sparsec_operand_info_t &operand) {
  return {checkedArgument(kernel, arguments, operand.argument), operand};
}

/// The number of arguments, and of each that is not open its view.
Status checkViews(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count, Use use);

/// The lists that an argument of every launch must have.
struct KnownList {
  uint32_t argument;
  uint32_t checksum;            // see listChecksum
  int64_t blocks;               // stored ones of a block-sparse matrix; else 0
  sparsec_block_lists_t memory; // where the plan read the full ones; null where it came from elsewhere

  /// Whether the lists of a launch are those that the plan read, which no kernel writes any more.
  bool isIn(const sparsec_block_lists_t &lists) const {
    return memory.starts && lists.starts == memory.starts && lists.indices == memory.indices;
  }
};
/// An argument that is not there may have any lists.
using KnownLists = std::vector<KnownList>;
/// The list of an argument, or null.
const KnownList *findList(std::span<const KnownList> lists, uint32_t argument);

/// The lists of the (checked) arguments, in the order of the stream where they are in memory of a GPU. There only where
/// their flags ask for it: it waits for the stream. On the host those of block-sparse matrices only where their flags
/// ask for it, or where a plan knows them.
Status checkListsForLaunch(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments,
                           std::span<const KnownList> known, void *stream);

/// The lists of all arguments, in host memory.
Status checkHostLists(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments);

inline bool isMultiple(uint64_t value, uint32_t alignment) { return value % alignment == 0; }

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_CHECKED_ARGUMENT_H
