// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/pairs.h"

#include <algorithm>
#include <utility>

namespace sparsec::runtime {

namespace {

/// Fills the index one block row of the result after the other, so that the counters of a row and its pairs stay in the
/// cache. A block of the row has a slot. Pairs whose block the result lacks have a slot behind the others, because a
/// branch for each of them is mispredicted half of the time.
class PairWriter {
public:
  PairWriter(const BlockPattern &left, const BlockPattern &right, const BlockPattern *result, int64_t blocks,
             PairIndex &index)
      : left(left), right(right), result(result), index(index), slots(result ? right.blockColumns : 0) {
    index.starts.assign(blocks + 1, 0);
  }

  void writeRow(int64_t row) {
    if (!result) {
      const int64_t first = row * right.blockColumns;
      return writePairs(row, first, first + right.blockColumns, [](int32_t column) { return column; });
    }
    const int32_t begin = result->rowPtr[row], end = result->rowPtr[row + 1];
    std::fill(slots.begin(), slots.end(), end - begin);
    for (int32_t block = begin; block < end; ++block)
      slots[result->colIdx[block]] = block - begin;
    writePairs(row, begin, end, [&](int32_t column) { return slots[column]; });
  }

private:
  template <typename SlotAt> void writePairs(int64_t row, int64_t begin, int64_t end, const SlotAt &slotAt) {
    const int32_t absent = int32_t(end - begin);
    counts.assign(absent + 1, 0);
    forEachPair(row, slotAt, [&](int32_t slot, const BlockPair &) { ++counts[slot]; });
    int32_t start = index.starts[begin];
    for (int32_t slot = 0; slot < absent; ++slot) {
      start += std::exchange(counts[slot], start); // from now on where its next pair goes
      index.starts[begin + slot + 1] = start;
    }
    counts[absent] = start; // overwritten by the next row
    index.pairs.resize(start + 1);
    forEachPair(row, slotAt, [&](int32_t slot, const BlockPair &pair) {
      index.pairs[counts[slot]] = pair;
      counts[slot] += slot != absent;
    });
  }

  /// Calls `function(slot, pair)` for the pairs of a block row of A, by ascending k.
  template <typename SlotAt, typename Function>
  void forEachPair(int64_t row, const SlotAt &slotAt, const Function &function) const {
    for (int32_t a = left.rowPtr[row]; a < left.rowPtr[row + 1]; ++a) {
      const int32_t k = left.colIdx[a];
      for (int32_t b = right.rowPtr[k]; b < right.rowPtr[k + 1]; ++b)
        function(slotAt(right.colIdx[b]), BlockPair{a, b, k});
    }
  }

  const BlockPattern &left, &right, *result;
  PairIndex &index;
  std::vector<int32_t> slots;  // of the row's blocks, by block column
  std::vector<int32_t> counts; // of the pairs of each slot
};

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
  const bool isEmpty = left.count() == 0 || right.count() == 0 || blocks == 0;
  int64_t most = 0; // pairs, if the result has all of their blocks
  for (int64_t a = 0; !isEmpty && a < left.count(); ++a)
    most += right.rowPtr[left.colIdx[a] + 1] - right.rowPtr[left.colIdx[a]];
  SPARSEC_RETURN_IF_ERROR(checkCount(most, "pairs of blocks"));
  PairIndex index;
  PairWriter writer(left, right, result, blocks, index);
  index.pairs.reserve((result ? 0 : most) + 1);
  for (int64_t row = 0; !isEmpty && row < left.blockRows; ++row)
    writer.writeRow(row);
  index.pairs.resize(index.starts.back() + 1);
  index.pairs.back() = {};
  outIndex = std::move(index);
  return {};
}

} // namespace sparsec::runtime
