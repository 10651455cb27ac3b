// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/host_lists.h"
#include "plan/refill.h"

#include <algorithm>

namespace sparsec::runtime {

bool isTransposed(const sparsec_kernel_s &kernel, uint32_t argument) {
  for (const sparsec_operand_info_t &operand : kernel.operands())
    if (operand.argument == argument)
      return operand.layout == SPARSEC_LAYOUT_TRANSPOSED;
  return false;
}

Status HostLists::read(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, void *stream) {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    isMissing |= isBlocks(kernel.argument(i).kind) && arguments[i].kind == 0;
    if (!isBlocks(arguments[i].kind))
      continue;
    Lists lists = {i, blocksOf(arguments[i]), blocksOf(arguments[i]).full, {}};
    const Subject subject = checkedArgument(kernel, arguments, i).subject();
    SPARSEC_RETURN_IF_ERROR(copies.download(*kernel.module->device, subject, lists.view, stream));
    SPARSEC_RETURN_IF_ERROR(checkBlockLists(lists.view, subject));
    if (arguments[i].kind == SPARSEC_ARGUMENT_BSR)
      lists.rows = rowsOf(lists.view, isTransposed(kernel, i));
    all.push_back(lists);
  }
  return {};
}

void HostLists::readEmpty(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments) {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    isMissing |= isBlocks(kernel.argument(i).kind) && arguments[i].kind == 0;
    if (!isBlocks(arguments[i].kind))
      continue;
    Lists lists = {i, blocksOf(arguments[i]), blocksOf(arguments[i]).full, {}};
    lists.view.full.starts = emptyStarts.emplace_back(startCount(lists.view)).data();
    if (arguments[i].kind == SPARSEC_ARGUMENT_BSR)
      lists.rows = rowsOf(lists.view, isTransposed(kernel, i));
    all.push_back(lists);
  }
  if (index.isEmpty())
    return;
  index.columns.resize(all.front().view.capacity);
  index.blocks.resize(all.front().view.capacity);
  all.front().rows->pattern = index.pattern();
}

MatrixRows HostLists::rowsOf(const sparsec_blocks_t &view, bool isTransposed) {
  const BlockPattern stored = {view.full.starts, view.full.indices, blockRowCount(view), blockColumnCount(view)};
  if (!isTransposed)
    return {stored, view.block_rows, view.block_columns, view.columns};
  index = transpose(stored);
  return {index.pattern(), view.block_columns, view.block_rows, view.rows};
}

const HostLists::Lists &HostLists::listsOf(uint32_t argument) const {
  return *std::find_if(all.begin(), all.end(), [&](auto &lists) { return lists.argument == argument; });
}

const MatrixRows *HostLists::resultPattern(const sparsec_kernel_s &kernel) const {
  const uint32_t slot = operationOf(kernel).pairSlots.result;
  return slot == 0 ? nullptr : &matrixOf(kernel.of(slot));
}

Status HostLists::pairBlocks(const sparsec_kernel_s &kernel) {
  const PairSlots &slots = operationOf(kernel).pairSlots;
  const MatrixRows *result = resultPattern(kernel);
  return makePairs(matrixOf(kernel.of(slots.left)).pattern, matrixOf(kernel.of(slots.right)).pattern,
                   result ? &result->pattern : nullptr, pairIndex);
}

Status HostLists::makeRoomForPairs(const sparsec_kernel_s &kernel) {
  const PairSlots &slots = operationOf(kernel).pairSlots;
  auto roomOf = [&](uint32_t slot) {
    const sparsec_blocks_t &matrix = view(kernel.of(slot));
    return MatrixRoom{matrix.capacity, blockRowCount(matrix), blockColumnCount(matrix)};
  };
  const MatrixRoom result = slots.result != 0 ? roomOf(slots.result) : MatrixRoom();
  return makeRoom(pairIndex, roomOf(slots.left), roomOf(slots.right), slots.result != 0 ? &result : nullptr);
}

KnownLists HostLists::known() const {
  KnownLists known;
  for (const Lists &lists : all)
    known.push_back(
        {lists.argument, listChecksum(lists.view), lists.rows ? lists.rows->pattern.count() : 0, lists.memory});
  return known;
}

} // namespace sparsec::runtime
