// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/pairs.h"

#include <numeric>

namespace sparsec::runtime {

namespace {

/// The numbers of the result's blocks in one block row, by block column; -1: no such block.
class ResultRow {
public:
  ResultRow(const BlockPattern *pattern, int64_t blockColumns)
      : pattern(pattern), blockColumns(blockColumns), numbers(pattern ? blockColumns : 0, -1) {}

  void begin(int64_t row) {
    first = row * blockColumns;
    if (!pattern || !pattern->colIdx)
      return;
    clear();
    for (int32_t block = pattern->rowPtr[row]; block < pattern->rowPtr[row + 1]; ++block)
      numbers[pattern->colIdx[block]] = block;
    current = row;
  }
  int64_t numberAt(int32_t column) const { return pattern ? numbers[column] : first + column; }

private:
  void clear() {
    if (current < 0)
      return;
    for (int32_t block = pattern->rowPtr[current]; block < pattern->rowPtr[current + 1]; ++block)
      numbers[pattern->colIdx[block]] = -1;
  }

  const BlockPattern *pattern;
  int64_t blockColumns, first = 0, current = -1;
  std::vector<int32_t> numbers;
};

/// Calls `function(number of the result's block, pair)` in the order of A's block rows.
template <typename Function>
void forEachPair(const BlockPattern &left, const BlockPattern &right, const BlockPattern *result,
                 const Function &function) {
  if (left.count() == 0 || right.count() == 0)
    return;
  ResultRow row(result, right.blockColumns);
  for (int64_t i = 0; i < left.blockRows; ++i) {
    row.begin(i);
    for (int32_t a = left.rowPtr[i]; a < left.rowPtr[i + 1]; ++a) {
      const int32_t k = left.colIdx[a];
      for (int32_t b = right.rowPtr[k]; b < right.rowPtr[k + 1]; ++b)
        if (int64_t number = row.numberAt(right.colIdx[b]); number >= 0)
          function(number, BlockPair{a, b, k});
    }
  }
}

/// Whether 32 bits count them.
Status checkCount(int64_t count, const char *what) {
  if (count <= INT32_MAX)
    return {};
  return invalidArgument("the product has ", count, " ", what, ", at most ", INT32_MAX, " are expected");
}

} // namespace

Status makePairs(const BlockPattern &left, const BlockPattern &right, const BlockPattern *result, PairIndex &outIndex) {
  const int64_t blocks = result ? result->count() : left.blockRows * right.blockColumns;
  SPARSEC_RETURN_IF_ERROR(checkCount(blocks, "blocks"));
  int64_t count = 0;
  forEachPair(left, right, result, [&](int64_t, const BlockPair &) { ++count; });
  SPARSEC_RETURN_IF_ERROR(checkCount(count, "pairs of blocks"));
  PairIndex index;
  index.starts.assign(blocks + 1, 0);
  index.pairs.resize(count + 1);
  forEachPair(left, right, result, [&](int64_t number, const BlockPair &) { ++index.starts[number + 1]; });
  std::inclusive_scan(index.starts.begin(), index.starts.end(), index.starts.begin());
  std::vector<int32_t> next(index.starts.begin(), index.starts.end() - 1);
  forEachPair(left, right, result, [&](int64_t number, const BlockPair &pair) { index.pairs[next[number]++] = pair; });
  outIndex = std::move(index);
  return {};
}

} // namespace sparsec::runtime
