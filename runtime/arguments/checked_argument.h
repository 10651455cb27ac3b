// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks of one launch argument against its record: what all kernel families share.

#ifndef SPARSEC_RUNTIME_CHECKED_ARGUMENT_H
#define SPARSEC_RUNTIME_CHECKED_ARGUMENT_H

#include "image/enum_values.h"
#include "image/module.h"

namespace sparsec::runtime {

/// Whether a result's memory is needed or only its shape.
enum class ResultMemory { needed, ignored };

/// One argument with its record and number, for checks and their messages.
struct Checked {
  const sparsec_argument_info_t &info;
  const sparsec_argument_t &value;
  uint32_t number;

  Subject subject() const { return {info.name, number}; }
  template <typename... Pieces> Status refuse(const Pieces &...pieces) const {
    return invalidArgument(subject(), ": ", pieces...);
  }

  Status checkKind() const;
  Status checkType(uint32_t dtype) const;
  /// Type, rank, sizes, a contiguous last dimension. `sizes` are those that the other arguments ask for, or
  /// SPARSEC_DYNAMIC. Other strides are the families' business.
  Status checkTensor(const int64_t *sizes) const;
  /// That a tensor that is not empty has memory, aligned to its elements.
  Status checkTensorMemory() const;
};

inline Checked checkedArgument(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, uint32_t number) {
  return {kernel.argument(number), arguments[number], number};
}

/// The number of arguments, and the kind of each.
Status checkCountAndKinds(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count);

inline bool isMultiple(uint64_t value, uint32_t alignment) { return value % alignment == 0; }

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_CHECKED_ARGUMENT_H
