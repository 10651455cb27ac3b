// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/host_lists.h"

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
    view = blocksOf(arguments[i]);
    const Subject subject = checkedArgument(kernel, arguments, i).subject();
    SPARSEC_RETURN_IF_ERROR(copies.download(*kernel.module->device, subject, *view, stream));
    SPARSEC_RETURN_IF_ERROR(checkBlockLists(*view, subject));
    argument = i;
    if (arguments[i].kind == SPARSEC_ARGUMENT_BSR)
      addRows(isTransposed(kernel, i));
  }
  return {};
}

void HostLists::addRows(bool isTransposed) {
  const BlockPattern stored = {view->full.starts, view->full.indices, blockRowCount(*view), blockColumnCount(*view)};
  if (!isTransposed) {
    rows = {stored, view->block_rows, view->block_columns, view->columns};
    return;
  }
  index = transpose(stored);
  rows = {index.pattern(), view->block_columns, view->block_rows, view->rows};
}

} // namespace sparsec::runtime
