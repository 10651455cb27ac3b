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

bool usesTensorMap(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant, uint32_t argument) {
  const LaunchInfo &info = kernel.module->info;
  for (uint32_t i = 0; i < variant.parameter_count; ++i) {
    const sparsec_parameter_info_t &parameter = info.parameter(variant.parameter_first + i);
    if (parameter.kind == SPARSEC_PARAMETER_TENSOR_MAP && info.tensorMap(parameter.index).argument == argument)
      return true;
  }
  return false;
}

/// Whether a variant moves the argument in whole units of its alignment, beyond the width where that is no multiple:
/// tensor stores write whole units (tensor loads do not read them), and so do the units of cp.async.
bool movesWholeUnits(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant, uint32_t argument) {
  switch (kernel.argument(argument).role) {
  case SPARSEC_ROLE_RESULT:
    return usesTensorMap(kernel, variant, argument);
  case SPARSEC_ROLE_DENSE:
    return !usesTensorMap(kernel, variant, argument);
  default:
    return false;
  }
}

bool suits(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant, const sparsec_argument_t *arguments,
           uint32_t number) {
  // What regions read, and the LSE, goes element by element.
  uint32_t role = kernel.argument(number).role;
  if (role == SPARSEC_ROLE_REGION || role == SPARSEC_ROLE_LSE)
    return true;
  const sparsec_argument_t &argument = arguments[number];
  if (!hasAlignment(argument, variant.alignment))
    return false;
  if (!movesWholeUnits(kernel, variant, number))
    return true;
  const sparsec_dense_t &tensor = denseOf(argument);
  return isMultiple(tensor.sizes[tensor.rank - 1] * dtypeBytes(tensor.dtype), variant.alignment);
}

} // namespace

Status chooseVariant(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t &outVariant) {
  uint32_t count = kernel.info->argument_count, culprit = 0;
  for (size_t i = 0; i < kernel.variants.size(); ++i) {
    culprit = 0;
    while (culprit < count && suits(kernel, *kernel.variants[i].info, arguments, culprit))
      ++culprit;
    if (culprit == count) {
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
