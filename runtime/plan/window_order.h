// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which block rows share a window.

#ifndef SPARSEC_RUNTIME_WINDOW_ORDER_H
#define SPARSEC_RUNTIME_WINDOW_ORDER_H

#include "plan/window_blocks.h"

#include <algorithm>
#include <functional>

namespace sparsec::runtime {

/// Called after each of at most `orderStages` equal parts of the work. False ends it: the order does not count then.
using OrderProgress = std::function<bool()>;
constexpr int orderStages = 64;

/// How many rows the windows have: all `groups`, but for the last `shortWindows`, which have one less, and the last
/// one, which has what is left.
struct WindowShape {
  int64_t rows, groups, shortWindows = 0;

  int64_t fullRows() const { return std::max<int64_t>(rows - shortWindows * (groups - 1), 0) / groups * groups; }
  int64_t count() const { return windowOf(rows + rowsOfShort() - 1); }
  int64_t windowOf(int64_t position) const {
    return position < fullRows() ? position / groups : fullRows() / groups + (position - fullRows()) / rowsOfShort();
  }
  int64_t begin(int64_t window) const {
    const int64_t full = fullRows() / groups;
    return std::min(window < full ? window * groups : fullRows() + (window - full) * rowsOfShort(), rows);
  }

private:
  int64_t rowsOfShort() const { return shortWindows == 0 ? groups : groups - 1; }
};

/// Whether the rows of windows may be put in order, so that rows with the same columns share a window.
struct RowOrder {
  bool mayReorder = false;
  OrderProgress progress; // may be empty
  int64_t shortWindows = 0;
  /// The sum over the windows of the columns that their rows need, each to this power, becomes small. With 1 windows
  /// need few columns together; with more the longest window does not need many more than the others.
  double power = 1;
};

/// All block rows, window after window. The sum of powers (see RowOrder) is at most that of rows in their own order.
/// The same input gives the same order. Takes about 10 ms, or up to 100 ms for 100 000 blocks if that is more.
std::vector<int32_t> orderRowsForWindows(const BlockPattern &pattern, const WindowShape &shape, double power,
                                         const OrderProgress &progress = {});

/// The block row of every group of every window; -1 where there is none. In their own order, or in that of
/// orderRowsForWindows.
std::vector<int32_t> rowsOfWindows(const BlockPattern &pattern, int64_t groups, const RowOrder &order);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_WINDOW_ORDER_H
