// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/choose_variant.h"
#include "arguments/strides.h"
#include "operations/operation.h"

namespace sparsec::runtime {

namespace {

/// Whether the pointer to one argument's elements, and the strides between its rows, are multiples of the alignment.
/// Where there are no elements or rows to step to, any will do.
bool hasAlignment(const sparsec_argument_t &argument, uint32_t alignment) {
  if (argument.kind == SPARSEC_ARGUMENT_BSR)
    return blocksOf(argument).capacity == 0 || isMultiple(uintptr_t(blocksOf(argument).values), alignment);
  if (argument.kind != SPARSEC_ARGUMENT_DENSE)
    return true;
  const sparsec_dense_t &tensor = denseOf(argument);
  if (!isEmpty(tensor) && !isMultiple(uintptr_t(tensor.data), alignment))
    return false;
  for (int32_t d = 0; d + 1 < tensor.rank; ++d)
    if (usesStride(tensor, d) && !isMultiple(tensor.strides[d] * dtypeBytes(tensor.dtype), alignment))
      return false;
  return true;
}

bool meets(const sparsec_requirement_info_t &requirement, const sparsec_argument_t &argument) {
  if (!hasAlignment(argument, requirement.alignment))
    return false;
  if (argument.kind != SPARSEC_ARGUMENT_DENSE || denseOf(argument).rank == 0)
    return true;
  const sparsec_dense_t &tensor = denseOf(argument);
  return isMultiple(tensor.sizes[tensor.rank - 1] * dtypeBytes(tensor.dtype), requirement.width_alignment);
}

} // namespace

Status chooseVariant(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t &outVariant) {
  uint32_t culprit = 0;
  for (size_t i = 0; i < kernel.variants.size(); ++i) {
    bool meetsAll = true;
    for (const sparsec_requirement_info_t &requirement : kernel.module->info.requirementsOf(*kernel.variants[i].info))
      if (meetsAll && !meets(requirement, arguments[requirement.argument])) {
        meetsAll = false;
        culprit = requirement.argument;
      }
    if (meetsAll) {
      outVariant = i;
      return {};
    }
  }
  return checkedArgument(kernel, arguments, culprit)
      .refuse("expects pointers and row strides that are multiples of ", kernel.variants.back().info->alignment,
              " bytes: the kernel has no variant for less");
}

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_launch_variant(sparsec_kernel_t kernel, const sparsec_argument_t *arguments,
                                        size_t argument_count, size_t *out_variant) {
  return guarded([&]() -> Status {
    if (!out_variant)
      return invalidArgument("out_variant is NULL");
    *out_variant = 0;
    if (!kernel)
      return invalidArgument("kernel is NULL");
    Problem problem;
    SPARSEC_RETURN_IF_ERROR(checkArguments(*kernel, arguments, argument_count, Use::launch, problem));
    return chooseVariant(*kernel, arguments, *out_variant);
  });
}
