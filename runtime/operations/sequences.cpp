// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "operations/sequences.h"

namespace sparsec::runtime {

bool hasOwnLengths(const sparsec_kernel_s &kernel) {
  for (const sparsec_operand_info_t &operand : kernel.operands())
    if (operand.slot == SPARSEC_ATTENTION_QUERY_STARTS || operand.slot == SPARSEC_ATTENTION_KEY_STARTS ||
        operand.slot == SPARSEC_ATTENTION_KEY_LENGTHS)
      return true;
  return false;
}

SequenceArrays::SequenceArrays(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments) {
  for (const sparsec_operand_info_t &operand : kernel.operands()) {
    auto elements = [&] { return static_cast<const int32_t *>(denseOf(arguments[operand.argument]).data); };
    switch (operand.slot) {
    case SPARSEC_ATTENTION_QUERY_STARTS:
      queryStarts = elements();
      break;
    case SPARSEC_ATTENTION_KEY_STARTS:
      keyStarts = elements();
      break;
    case SPARSEC_ATTENTION_KEY_LENGTHS:
      keyLengths = elements();
      break;
    case SPARSEC_ATTENTION_PAGE_TABLE:
      pageTable = elements();
      tableStride = denseOf(arguments[operand.argument]).strides[0];
      break;
    }
  }
}

namespace {

Status checkStarts(const Checked &argument, const int32_t *starts, int64_t sequences, int64_t rows) {
  if (starts[0] != 0)
    return argument.refuse("expects starts that ascend from 0, but element 0 is ", starts[0]);
  for (int64_t i = 1; i <= sequences; ++i)
    if (starts[i] < starts[i - 1] || starts[i] > rows)
      return argument.refuse("expects starts of ", starts[i - 1], " to ", rows, " from element ", i, " on, but it is ",
                             starts[i]);
  return {};
}

Status checkLengths(const Checked &argument, const SequenceArrays &arrays, const Problem &problem) {
  for (int64_t i = 0; i < problem.sequences; ++i) {
    const int64_t length = arrays.keyLengths[i], most = arrays.capacityOf(i, problem).count;
    if (length < 0 || length > most)
      return argument.refuse("expects lengths of 0 to ", most, ", but element ", i, " is ", length);
  }
  return {};
}

/// The pages behind the last key of a sequence may have any number.
Status checkPages(const Checked &argument, const SequenceArrays &arrays, const Problem &problem) {
  for (int64_t i = 0; i < problem.sequences; ++i)
    for (int64_t page = 0; page < ceilDivide(arrays.keysOf(i, problem).count, problem.pageRows); ++page)
      if (const int64_t number = arrays.pageTable[i * arrays.tableStride + page]; number < 0 || number >= problem.pages)
        return argument.refuse("expects page numbers of 0 to ", problem.pages - 1, ", but element (", i, ", ", page,
                               ") is ", number);
  return {};
}

} // namespace

Status checkSequences(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem) {
  const SequenceArrays arrays(kernel, arguments);
  auto argument = [&](uint32_t slot) { return checkedArgument(kernel, arguments, kernel.of(slot)); };
  if (arrays.queryStarts)
    SPARSEC_RETURN_IF_ERROR(
        checkStarts(argument(SPARSEC_ATTENTION_QUERY_STARTS), arrays.queryStarts, problem.sequences, problem.rows));
  if (arrays.keyStarts)
    SPARSEC_RETURN_IF_ERROR(
        checkStarts(argument(SPARSEC_ATTENTION_KEY_STARTS), arrays.keyStarts, problem.sequences, problem.depth));
  if (arrays.keyLengths)
    SPARSEC_RETURN_IF_ERROR(checkLengths(argument(SPARSEC_ATTENTION_KEY_LENGTHS), arrays, problem));
  return arrays.pageTable ? checkPages(argument(SPARSEC_ATTENTION_PAGE_TABLE), arrays, problem) : Status();
}

} // namespace sparsec::runtime
