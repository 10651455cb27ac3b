// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What causal and window leave of the keys (see sparsec_attention_info_t).

#ifndef SPARSEC_RUNTIME_KEY_RANGE_H
#define SPARSEC_RUNTIME_KEY_RANGE_H

#include "sparsec/launch_info.h"

#include <algorithm>

namespace sparsec::runtime {

struct KeyRange {
  int64_t begin, end;
};

/// The keys that a query may see. Both ends ascend from query to query.
inline KeyRange visibleKeys(const sparsec_attention_info_t &info, int64_t queries, int64_t keys, int64_t query) {
  int64_t position = query + keys - queries, begin = 0, end = keys;
  if (info.window_left >= 0)
    begin = std::max(begin, position - info.window_left);
  if (info.window_right >= 0)
    end = std::min(end, position + info.window_right + 1);
  if (info.causal)
    end = std::min(end, position + 1);
  return {begin, std::max(begin, end)};
}

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_KEY_RANGE_H
