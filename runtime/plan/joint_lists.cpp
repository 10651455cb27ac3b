// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/joint_lists.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

class JointListBuilder {
public:
  explicit JointListBuilder(const JointListInput &input)
      : input(input), problem(input.problem), pattern(input.pattern),
        bitsOf(size_t(blockColumnCount(pattern)), noJointBlock) {}

  JointLists build();

private:
  JointRange joinRows(int64_t firstList, int64_t firstRow);
  void addRow(int64_t list, int64_t row, uint32_t number);
  void addBlocks(std::span<const int32_t> blocks, KeyRange reachable, uint32_t number, bool isPartial);
  KeyRange reachableBlocks(int64_t row) const;

  const JointListInput &input;
  const Problem &problem;
  const sparsec_blocks_t &pattern;
  std::vector<uint32_t> bitsOf; // by key block, for the list that is being made
  std::vector<int32_t> columns; // of this list
  bool isAscending = true;
  JointLists lists;
};

/// The key blocks that causal and window let some query of a block row see.
KeyRange JointListBuilder::reachableBlocks(int64_t row) const {
  const int64_t first = row * pattern.block_rows;
  const int64_t last = std::min(first + pattern.block_rows, problem.rows) - 1;
  const int64_t begin = visibleKeys(input.window, problem.rows, problem.depth, first).begin;
  const int64_t end = visibleKeys(input.window, problem.rows, problem.depth, last).end;
  if (begin >= end)
    return {0, 0};
  return {begin / pattern.block_columns, ceilDivide(end, int64_t(pattern.block_columns))};
}

void JointListBuilder::addBlocks(std::span<const int32_t> blocks, KeyRange reachable, uint32_t number, bool isPartial) {
  isAscending = isAscending && std::is_sorted(blocks.begin(), blocks.end());
  for (int32_t block : blocks) {
    if (block < reachable.begin || block >= reachable.end)
      continue;
    uint32_t &bits = bitsOf[block];
    if (bits == noJointBlock)
      columns.push_back(block);
    bits &= ~(SPARSEC_JOINT_ABSENT << number);
    if (isPartial)
      bits |= SPARSEC_JOINT_PARTIAL << number;
    ++lists.blocksOfRows;
  }
}

void JointListBuilder::addRow(int64_t list, int64_t row, uint32_t number) {
  const KeyRange reachable = reachableBlocks(row);
  addBlocks(blockList(pattern, pattern.partial, list), reachable, number, /*isPartial=*/true);
  addBlocks(blockList(pattern, pattern.full, list), reachable, number, /*isPartial=*/false);
}

JointRange JointListBuilder::joinRows(int64_t firstList, int64_t firstRow) {
  const auto begin = uint32_t(lists.entries.size());
  columns.clear();
  isAscending = true;
  addRow(firstList, firstRow, 0);
  if (firstRow + 1 < blockRowCount(pattern))
    addRow(firstList + 1, firstRow + 1, 1);
  if (isAscending)
    std::sort(columns.begin(), columns.end());
  for (int32_t column : columns) {
    lists.entries.push_back(uint32_t(column) | bitsOf[column]);
    bitsOf[column] = noJointBlock;
  }
  lists.blocks += int64_t(columns.size());
  while (lists.entries.size() % size_t(input.blocksOfStep) != 0)
    lists.entries.push_back(noJointBlock);
  return {begin, uint32_t(lists.entries.size())};
}

JointLists JointListBuilder::build() {
  const int64_t rows = blockRowCount(pattern), tilesOfHead = ceilDivide(rows, 2);
  std::vector<JointRange> ofPattern; // its heads may stand for all heads of the problem
  ofPattern.reserve(size_t(pattern.batches * pattern.heads * tilesOfHead));
  for (int64_t head = 0; head < pattern.batches * pattern.heads; ++head)
    for (int64_t row = 0; row < rows; row += 2)
      ofPattern.push_back(joinRows(head * rows + row, row));
  lists.entries.push_back(0);
  for (int64_t batch = 0; batch < problem.batches; ++batch)
    for (int64_t head = 0; head < problem.heads; ++head) {
      const auto first =
          ofPattern.begin() + listNumber(pattern, batch, head, 0) / std::max<int64_t>(rows, 1) * tilesOfHead;
      lists.ranges.insert(lists.ranges.end(), first, first + tilesOfHead);
    }
  return std::move(lists);
}

} // namespace

JointLists makeJointLists(const JointListInput &input) { return JointListBuilder(input).build(); }

} // namespace sparsec::runtime
