// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which block rows share a window.

#ifndef SPARSEC_RUNTIME_WINDOW_ORDER_H
#define SPARSEC_RUNTIME_WINDOW_ORDER_H

#include "plan/window_blocks.h"

#include <functional>

namespace sparsec::runtime {

/// Called after each of at most `orderStages` equal parts of the work. False ends it: the order does not count then.
using OrderProgress = std::function<bool()>;
constexpr int orderStages = 64;

/// Whether the rows of windows may be put in order, so that rows with the same columns share a window.
struct RowOrder {
  bool mayReorder = false;
  OrderProgress progress; // may be empty
};

/// All block rows, window after window; the last window may have fewer than `groups`. The sum over the windows of the
/// columns that their rows need is small: at most that of rows in their own order. The same input gives the same order.
/// Takes about 10 ms, or up to 100 ms for 100 000 blocks if that is more.
std::vector<int32_t> orderRowsForWindows(const BlockPattern &pattern, int64_t groups,
                                         const OrderProgress &progress = {});

/// The block row of every group of every window; -1 where there is none. In their own order, or in that of
/// orderRowsForWindows.
std::vector<int32_t> rowsOfWindows(const BlockPattern &pattern, int64_t groups, const RowOrder &order);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_WINDOW_ORDER_H
