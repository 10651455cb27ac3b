// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sections of windows from a file: what makeWindows() gives, with blocks wherever they may be.
#include "plan/section_check.h"
#include "plan/windows.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

constexpr uint32_t noColumn = UINT32_MAX;

class WindowSectionCheck {
public:
  WindowSectionCheck(const SectionCheck &check, const MatrixShape &matrix)
      : check(check), matrix(matrix), groups(check.stage().tile_m / matrix.rowsOfBlock), slots(check.stage().slots),
        all(matrix.blocks) {}

  Status run();
  WindowCounts counts() const { return {windows, columnOffsets.back()}; }

private:
  Status readSections();
  template <typename Element>
  Status readWithOneMore(sparsec_plan_section_t section, uint64_t count, std::span<const Element> &out);
  Status checkWindow(int64_t window);
  Status checkColumns(int64_t window) const;
  Status checkGroup(int64_t window, int64_t group);
  Status checkSteps(std::span<const uint32_t> list, int64_t columnCount) const;
  Status checkOrder(int64_t window) const;
  Status checkUsers(int64_t window) const;

  const SectionCheck &check;
  const MatrixShape &matrix;
  const int64_t groups, slots;
  int64_t windows = 0;
  std::span<const int32_t> rows, columnOffsets, blockOffsets, stepOffsets;
  std::span<const uint32_t> columns, steps;
  std::span<const WindowBlock> blocks;
  OnceEach all;
  // These are of the window that is being checked.
  std::vector<uint32_t> users;                       // groups with a step, by column
  std::vector<std::pair<uint32_t, uint32_t>> places; // the column and the group of each block
};

/// Readers may load one entry behind the end, which is zero.
template <typename Element>
Status WindowSectionCheck::readWithOneMore(sparsec_plan_section_t section, uint64_t count,
                                           std::span<const Element> &out) {
  SPARSEC_RETURN_IF_ERROR(check.read(section, count + 1, out));
  const Bytes last(reinterpret_cast<const uint8_t *>(&out.back()), sizeof(Element));
  if (std::any_of(last.begin(), last.end(), [](uint8_t byte) { return byte != 0; }))
    return check.broken(section, "expects zeros behind the end");
  return {};
}

Status WindowSectionCheck::readSections() {
  SPARSEC_RETURN_IF_ERROR(checkWindowRows(check, matrix, groups, rows));
  windows = int64_t(rows.size()) / groups;
  SPARSEC_RETURN_IF_ERROR(check.readOffsets(SPARSEC_PLAN_COLUMN_OFFSETS, windows, columnOffsets));
  SPARSEC_RETURN_IF_ERROR(readWithOneMore(SPARSEC_PLAN_COLUMNS, columnOffsets.back(), columns));
  SPARSEC_RETURN_IF_ERROR(check.readOffsets(SPARSEC_PLAN_BLOCK_OFFSETS, windows, blockOffsets));
  SPARSEC_RETURN_IF_ERROR(readWithOneMore(SPARSEC_PLAN_BLOCKS, blockOffsets.back(), blocks));
  SPARSEC_RETURN_IF_ERROR(check.readOffsets(SPARSEC_PLAN_STEP_OFFSETS, windows * groups, stepOffsets));
  return readWithOneMore(SPARSEC_PLAN_STEPS, stepOffsets.back(), steps);
}

Status WindowSectionCheck::checkColumns(int64_t window) const {
  uint32_t least = 0;
  for (int32_t i = columnOffsets[window]; i < columnOffsets[window + 1]; ++i) {
    const uint32_t column = windowColumn(columns[i]);
    if (column < least || column >= matrix.blockColumns)
      return check.broken(SPARSEC_PLAN_COLUMNS, "expects block column ", least, " to ", matrix.blockColumns - 1, " at ",
                          i, ", but got ", column);
    least = column + 1;
  }
  return {};
}

/// A group never skips so many columns that it could not tell the phases of a slot apart.
Status WindowSectionCheck::checkSteps(std::span<const uint32_t> list, int64_t columnCount) const {
  int64_t least = 0, limit = slots - slots / 2 - 1;
  auto place = [&](const uint32_t &step) { return &step - steps.data(); };
  for (const uint32_t &step : list) {
    const int64_t column = stepColumn(step);
    if (column < least || column > std::min(limit, columnCount - 1))
      return check.broken(SPARSEC_PLAN_STEPS, "expects column ", least, " to ", std::min(limit, columnCount - 1),
                          " at ", place(step), ", but got ", column);
    least = column + 1;
    limit = column + slots;
  }
  if (columnCount != 0 && (list.empty() || columnCount - least > slots / 2))
    return check.broken(SPARSEC_PLAN_STEPS, "a list ends ", columnCount - least,
                        " columns before the end of its window, at ", list.data() + list.size() - steps.data());
  return {};
}

Status WindowSectionCheck::checkGroup(int64_t window, int64_t group) {
  const int64_t number = window * groups + group, first = blockOffsets[window];
  const int64_t columnCount = columnOffsets[window + 1] - columnOffsets[window];
  const auto list = steps.subspan(stepOffsets[number], stepOffsets[number + 1] - stepOffsets[number]);
  SPARSEC_RETURN_IF_ERROR(checkSteps(list, columnCount));
  for (const uint32_t &step : list) {
    ++users[stepColumn(step)];
    const uint32_t block = stepBlock(step);
    if (block == noWindowBlock)
      continue;
    if (block >= places.size() || places[block].first != noColumn || rows[number] < 0)
      return check.broken(SPARSEC_PLAN_STEPS, "block ", block, " of the window at ", &step - steps.data(),
                          " is out of range, there twice, or of no block row");
    places[block] = {stepColumn(step), uint32_t(group)};
    if (uint32_t(blocks[first + block].column) != windowColumn(columns[columnOffsets[window] + stepColumn(step)]))
      return check.broken(SPARSEC_PLAN_BLOCKS, "expects the column of its step at ", first + block, ", but got ",
                          blocks[first + block].column);
  }
  return {};
}

/// The producer loads blocks in the order in which the groups multiply them.
Status WindowSectionCheck::checkOrder(int64_t window) const {
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i].first == noColumn || (i != 0 && places[i] <= places[i - 1]))
      return check.broken(SPARSEC_PLAN_BLOCKS, "the block at ", blockOffsets[window] + i,
                          " has no step, or is not in the order of columns and groups");
  return {};
}

Status WindowSectionCheck::checkUsers(int64_t window) const {
  for (size_t i = 0; i < users.size(); ++i)
    if (const uint32_t stored = windowColumnAbsent(columns[columnOffsets[window] + i]); stored != groups - users[i])
      return check.broken(SPARSEC_PLAN_COLUMNS, "expects ", groups - users[i], " groups without a step at ",
                          columnOffsets[window] + i, ", but got ", stored);
  return {};
}

Status WindowSectionCheck::checkWindow(int64_t window) {
  SPARSEC_RETURN_IF_ERROR(checkColumns(window));
  users.assign(columnOffsets[window + 1] - columnOffsets[window], 0);
  places.assign(blockOffsets[window + 1] - blockOffsets[window], {noColumn, 0});
  for (int32_t i = blockOffsets[window]; i < blockOffsets[window + 1]; ++i)
    if (!all.insert(blocks[i].block))
      return check.broken(SPARSEC_PLAN_BLOCKS, "block ", blocks[i].block, " at ", i, " is out of range or there twice");
  for (int64_t group = 0; group < groups; ++group)
    SPARSEC_RETURN_IF_ERROR(checkGroup(window, group));
  SPARSEC_RETURN_IF_ERROR(checkOrder(window));
  return checkUsers(window);
}

Status WindowSectionCheck::run() {
  SPARSEC_RETURN_IF_ERROR(readSections());
  for (int64_t window = 0; window < windows; ++window)
    SPARSEC_RETURN_IF_ERROR(checkWindow(window));
  return all.isComplete() ? Status() : check.broken(SPARSEC_PLAN_BLOCKS, "expects all ", matrix.blocks, " blocks");
}

} // namespace

Status checkWindows(const SectionCheck &check, const MatrixShape &matrix, WindowCounts &outCounts) {
  WindowSectionCheck sections(check, matrix);
  SPARSEC_RETURN_IF_ERROR(sections.run());
  outCounts = sections.counts();
  return {};
}

} // namespace sparsec::runtime
