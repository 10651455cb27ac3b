// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which strides of a dense tensor are ever used. The others may be anything: frameworks leave what they like in them.

#ifndef SPARSEC_RUNTIME_STRIDES_H
#define SPARSEC_RUNTIME_STRIDES_H

#include "sparsec/runtime.h"

#include <algorithm>

namespace sparsec::runtime {

/// Whether a tensor (of a good rank) has no elements.
inline bool isEmpty(const sparsec_dense_t &tensor) {
  return std::any_of(tensor.sizes, tensor.sizes + tensor.rank, [](int64_t size) { return size == 0; });
}

/// Whether an address of an element depends on the stride of a dimension: the dimension has more than one element, and
/// the tensor has any.
inline bool usesStride(const sparsec_dense_t &tensor, int32_t dimension) {
  return tensor.sizes[dimension] > 1 && !isEmpty(tensor);
}

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_STRIDES_H
