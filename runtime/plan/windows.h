// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The windows of block rows that share the columns of X which they load (see SPARSEC_PLAN_WINDOW_ROWS). Pure functions
// of the pattern.

#ifndef SPARSEC_RUNTIME_WINDOWS_H
#define SPARSEC_RUNTIME_WINDOWS_H

#include "plan/window_order.h"

namespace sparsec::runtime {

/// The block of a step that multiplies nothing. Numbers of blocks and columns in a window are less.
constexpr uint32_t noWindowBlock = 65535;
constexpr uint32_t stepColumn(uint32_t step) { return step & 0xffff; }
constexpr uint32_t stepBlock(uint32_t step) { return step >> 16; }

/// A column is stored behind these bits, which count the groups that have no step for it.
constexpr unsigned windowGroupBits = 3;
constexpr uint32_t windowColumn(uint32_t entry) { return entry >> windowGroupBits; }
constexpr uint32_t windowColumnAbsent(uint32_t entry) { return entry & ((1u << windowGroupBits) - 1); }

struct WindowInput {
  BlockPattern pattern;
  int64_t groups; // of a window: at most 7
  int64_t slots;  // of the ring of X, at least 2
  RowOrder rowOrder = {};
};

/// The arrays have the layout of the plan's sections of the same names.
struct Windows {
  std::vector<int32_t> rows, columnOffsets;
  std::vector<uint32_t> columns;
  std::vector<int32_t> blockOffsets;
  std::vector<WindowBlock> blocks;
  std::vector<int32_t> stepOffsets;
  std::vector<uint32_t> steps;

  bool isEmpty() const { return rows.empty(); }
  /// These two are of windows that are not empty.
  int64_t count() const { return int64_t(columnOffsets.size()) - 1; }
  int64_t columnCount() const { return columnOffsets.back(); }
};

/// Empty where there are no rows, and where a number does not fit its bits in a section.
Windows makeWindows(const WindowInput &input);

/// The tiles of a launch and the workers that run them, as far as the choice of windows depends on them.
struct WindowLoad {
  int64_t panels, workers;
  uint32_t columnCost, tileOverhead; // see windowCosts()
  bool areStreams = false;           // the windows are those of streams: see streamCosts()
};

/// How many windows have one row less than `groups` (WindowShape), so that the last tiles of all workers end together:
/// as many as let the last tile end soonest, if columns have blocks at random. 0 where there are many tiles for each
/// worker, and where loads of columns bound the time: a row that shares them with fewer others makes it longer. That
/// pays only if each worker has so few tiles that one less counts. Windows of streams are all short or none.
int64_t chooseShortWindows(const BlockPattern &pattern, int64_t groups, const WindowLoad &load);

/// The power of RowOrder for these windows. Where each worker has at most one tile, the longest window bounds the time.
/// With more tiles their differences let the lists of tiles become level.
double powerOfColumns(const WindowShape &shape, const WindowLoad &load);

/// The time that each window takes, in hundredths of the product of a block: it loads columns and multiplies blocks at
/// the same time. See sparsec_plan_cost_key_t for the other two.
std::vector<uint32_t> windowCosts(const Windows &windows, uint32_t columnCost, uint32_t tileOverhead);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_WINDOWS_H
