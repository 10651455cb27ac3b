// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The keys that causal and window let a query see (see sparsec_attention_slot_t).

#ifndef SPARSEC_RUNTIME_KEY_RANGE_H
#define SPARSEC_RUNTIME_KEY_RANGE_H

#include "image/module.h"

#include <algorithm>

namespace sparsec::runtime {

struct KeyRange {
  int64_t begin, end;
};

/// A limit of -1 is none.
struct KeyWindow {
  bool isCausal = false;
  int64_t left = -1, right = -1;
};

/// The window of an attention kernel.
inline KeyWindow keyWindow(const sparsec_kernel_s &kernel) {
  return {kernel.attribute(SPARSEC_ATTRIBUTE_CAUSAL) != 0, kernel.attribute(SPARSEC_ATTRIBUTE_WINDOW_LEFT),
          kernel.attribute(SPARSEC_ATTRIBUTE_WINDOW_RIGHT)};
}

/// The keys that a query may see. Both ends ascend from query to query.
inline KeyRange visibleKeys(const KeyWindow &window, int64_t queries, int64_t keys, int64_t query) {
  int64_t position = query + keys - queries, begin = 0, end = keys;
  if (window.left >= 0)
    begin = std::max(begin, position - window.left);
  if (window.right >= 0)
    end = std::min(end, position + window.right + 1);
  if (window.isCausal)
    end = std::min(end, position + 1);
  return {begin, std::max(begin, end)};
}

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_KEY_RANGE_H
