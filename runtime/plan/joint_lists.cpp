// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/joint_lists.h"
#include "image/module.h"

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
  void joinRows(int64_t firstList, int64_t firstRow);
  void divide();
  uint64_t costOf(size_t sharedBlocks, size_t dividedSteps) const;
  void addEntries();
  void addRow(int64_t list, int64_t row, uint32_t number);
  void addBlocks(std::span<const int32_t> blocks, KeyRange reachable, uint32_t number, bool isPartial);
  KeyRange reachableBlocks(int64_t row) const;

  const JointListInput &input;
  const Problem &problem;
  const sparsec_blocks_t &pattern;
  std::vector<uint32_t> bitsOf; // by key block, for the list that is being made
  std::vector<int32_t> columns; // of this list
  bool isAscending = true;
  std::vector<uint32_t> shared, own[2]; // the entries of this list; those of divided steps for each row
  // The lists of the pattern, whose heads may stand for all heads of the problem.
  std::vector<JointRange> ranges;
  std::vector<uint32_t> dividedSteps;
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

/// The entry of a block that both rows see, in a divided step of one of them.
constexpr uint32_t entryOfRow(uint32_t entry, uint32_t row) {
  const uint32_t other = 1 - row;
  return (entry & ~(SPARSEC_JOINT_PARTIAL << other)) | SPARSEC_JOINT_ABSENT << other;
}

/// Moves entries from the shared steps to divided ones, where that costs less. A block of both rows is in a divided
/// step only where it would leave a shared step half empty.
void JointListBuilder::divide() {
  std::vector<uint32_t> kept;
  for (uint32_t entry : shared) {
    if (absentRows(entry) == 0)
      kept.push_back(entry);
    else
      own[absentRows(entry) == 1].push_back(entry);
  }
  const size_t steps = std::min(own[0].size(), own[1].size());
  for (std::vector<uint32_t> &row : own) { // the longer row shares its last blocks
    kept.insert(kept.end(), row.begin() + int64_t(steps), row.end());
    row.resize(steps);
  }
  const bool hasHalfStep = kept.size() > 2 && kept.size() % 2 != 0;
  const auto last = std::find_if(kept.rbegin(), kept.rend(), [](uint32_t entry) { return absentRows(entry) == 0; });
  if (hasHalfStep && last != kept.rend()) {
    for (uint32_t row : {0, 1})
      own[row].push_back(entryOfRow(*last, row));
    kept.erase(std::next(last).base());
  }
  if (costOf(kept.size(), own[0].size()) < costOf(shared.size(), 0) && !kept.empty()) {
    if (isAscending)
      std::sort(kept.begin(), kept.end(), [](uint32_t a, uint32_t b) { return jointBlockOf(a) < jointBlockOf(b); });
    shared = std::move(kept);
  } else {
    own[0].clear();
    own[1].clear();
  }
}

/// The cost of a list. A shared step has two blocks.
uint64_t JointListBuilder::costOf(size_t sharedBlocks, size_t dividedSteps) const {
  const uint64_t ofShared = ceilDivide(int64_t(sharedBlocks), 2) * 2 * uint64_t(input.costs.shared);
  return ofShared + (dividedSteps == 0 ? 0 : dividedSteps * input.costs.divided + input.costs.division);
}

void JointListBuilder::addEntries() {
  const auto begin = uint32_t(lists.entries.size());
  lists.entries.insert(lists.entries.end(), shared.begin(), shared.end());
  while (lists.entries.size() % size_t(input.blocksOfStep) != 0)
    lists.entries.push_back(noJointBlock);
  for (size_t step = 0; step < own[0].size(); ++step)
    for (const std::vector<uint32_t> &row : own)
      lists.entries.push_back(row[step] | SPARSEC_JOINT_DIVIDED);
  ranges.push_back({begin, uint32_t(lists.entries.size())});
  dividedSteps.push_back(uint32_t(own[0].size()));
  lists.blocks += int64_t(shared.size() + 2 * own[0].size());
  lists.dividedBlocks += int64_t(2 * own[0].size());
}

void JointListBuilder::joinRows(int64_t firstList, int64_t firstRow) {
  columns.clear();
  shared.clear();
  own[0].clear();
  own[1].clear();
  isAscending = true;
  addRow(firstList, firstRow, 0);
  if (firstRow + 1 < blockRowCount(pattern))
    addRow(firstList + 1, firstRow + 1, 1);
  if (isAscending)
    std::sort(columns.begin(), columns.end());
  for (int32_t column : columns) {
    shared.push_back(uint32_t(column) | bitsOf[column]);
    bitsOf[column] = noJointBlock;
  }
  if (input.costs.mayDivide())
    divide();
  addEntries();
}

JointLists JointListBuilder::build() {
  const int64_t rows = blockRowCount(pattern), tilesOfHead = ceilDivide(rows, 2);
  for (int64_t head = 0; head < pattern.batches * pattern.heads; ++head)
    for (int64_t row = 0; row < rows; row += 2)
      joinRows(head * rows + row, row);
  lists.entries.push_back(0);
  for (int64_t batch = 0; batch < problem.batches; ++batch)
    for (int64_t head = 0; head < problem.heads; ++head) {
      const int64_t first = listNumber(pattern, batch, head, 0) / std::max<int64_t>(rows, 1) * tilesOfHead;
      auto repeat = [&](const auto &of, auto &all) {
        all.insert(all.end(), of.begin() + first, of.begin() + first + tilesOfHead);
      };
      repeat(ranges, lists.ranges);
      repeat(dividedSteps, lists.dividedSteps);
    }
  return std::move(lists);
}

} // namespace

JointCosts jointCosts(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant) {
  return {kernel.planCost(variant, SPARSEC_PLAN_COST_JOINT_ROWS),
          kernel.planCost(variant, SPARSEC_PLAN_COST_DIVIDED_STEP),
          kernel.planCost(variant, SPARSEC_PLAN_COST_DIVISION)};
}

JointLists makeJointLists(const JointListInput &input) { return JointListBuilder(input).build(); }

} // namespace sparsec::runtime
