// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inside of a launch info: kernels and their arguments.

#include "image/enum_values.h"
#include "image/record_check.h"

namespace sparsec::runtime {

namespace {

Status checkRanges(const KernelRecords &records) {
  const sparsec_kernel_info_t &kernel = records.kernel;
  if (!isName(kernel.name))
    return records.broken("its name is empty or has no end");
  for (uint32_t i = 0; i < records.index; ++i)
    if (std::strcmp(records.info.all<sparsec_kernel_info_t>()[i].name, kernel.name) == 0)
      return records.broken("its name '", kernel.name, "' is also that of kernel ", i);
  SPARSEC_RETURN_IF_ERROR(
      records.checkRange<sparsec_argument_info_t>("arguments", kernel.argument_first, kernel.argument_count));
  if (kernel.result_count > kernel.argument_count)
    return records.broken(kernel.result_count, " results of ", kernel.argument_count, " arguments");
  SPARSEC_RETURN_IF_ERROR(records.checkRange<sparsec_operation_info_t>("operation", kernel.operation, 1));
  if (kernel.variant_count == 0)
    return records.broken("it has no variant");
  SPARSEC_RETURN_IF_ERROR(
      records.checkRange<sparsec_variant_info_t>("variants", kernel.variant_first, kernel.variant_count));
  return records.checkRange<sparsec_auxiliary_info_t>("auxiliary kernels", kernel.auxiliary_first,
                                                      kernel.auxiliary_count);
}

Status checkBlocks(const KernelRecords &records, uint32_t number, const sparsec_argument_info_t &argument) {
  if (argument.block_rows == 0 || argument.block_columns == 0 || argument.block_rows > maxTile ||
      argument.block_columns > maxTile)
    return records.broken("argument ", number, " has blocks of ", argument.block_rows, " x ", argument.block_columns);
  return {};
}

Status checkArgument(const KernelRecords &records, uint32_t number) {
  const sparsec_argument_info_t &argument = records.arguments()[number];
  if (!isName(argument.name))
    return records.broken("the name of argument ", number, " is empty or has no end");
  for (uint32_t other = 0; other < number; ++other)
    if (std::strcmp(records.arguments()[other].name, argument.name) == 0)
      return records.broken("arguments ", other, " and ", number, " have the same name '", argument.name, "'");
  bool isPattern = argument.kind == SPARSEC_ARGUMENT_PATTERN, isBsr = argument.kind == SPARSEC_ARGUMENT_BSR;
  if (!isPattern && !isBsr && argument.kind != SPARSEC_ARGUMENT_DENSE && argument.kind != SPARSEC_ARGUMENT_SCALAR)
    return records.unknown("argument kind", argument.kind);
  if (dtypeBytes(argument.dtype) == 0 && !(isPattern && argument.dtype == SPARSEC_DTYPE_NONE))
    return records.unknown("element type", argument.dtype);
  if (argument.rank > SPARSEC_MAX_RANK)
    return records.broken("argument ", number, " has rank ", argument.rank, ", at most ", SPARSEC_MAX_RANK,
                          " is expected");
  for (uint32_t d = 0; d < argument.rank; ++d)
    if (argument.sizes[d] != SPARSEC_DYNAMIC && (argument.sizes[d] < 0 || argument.sizes[d] > maxSize))
      return records.broken("argument ", number, " has size ", argument.sizes[d], " in dimension ", d);
  return isPattern || isBsr ? checkBlocks(records, number, argument) : Status();
}

Status checkKernel(const KernelRecords &records) {
  SPARSEC_RETURN_IF_ERROR(checkRanges(records));
  for (uint32_t i = 0; i < records.kernel.argument_count; ++i)
    SPARSEC_RETURN_IF_ERROR(checkArgument(records, i));
  SPARSEC_RETURN_IF_ERROR(checkOperation(records));
  return checkVariants(records);
}

} // namespace

Status checkRecords(const LaunchInfo &info) {
  const sparsec_launch_info_t &header = info.header();
  if (!isName(header.target) || !std::memchr(header.compiler, 0, sizeof(header.compiler)))
    return invalidImage("launch info: its target or compiler name is empty or has no end");
  if (header.target_kind != SPARSEC_TARGET_CUDA && header.target_kind != SPARSEC_TARGET_HOST)
    return invalidImage("launch info: unknown target kind ", header.target_kind);
  if ((header.target_kind == SPARSEC_TARGET_CUDA) != (header.compute_capability != 0) || header.arch_specific > 1)
    return invalidImage("launch info: target kind ", header.target_kind, " has compute capability ",
                        header.compute_capability, " and arch_specific ", header.arch_specific);
  auto kernels = info.all<sparsec_kernel_info_t>();
  if (kernels.empty())
    return invalidImage("launch info has no kernel");
  for (uint32_t i = 0; i < kernels.size(); ++i)
    SPARSEC_RETURN_IF_ERROR(checkKernel({info, kernels[i], i}));
  return {};
}

} // namespace sparsec::runtime
