// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments/arguments.h"
#include "arguments/attention_arguments.h"
#include "arguments/blocks.h"
#include "arguments/overlap.h"
#include "arguments/strides.h"

namespace sparsec::runtime {

namespace {

Status checkBsr(const Checked &argument) {
  const sparsec_argument_info_t &info = argument.info;
  const sparsec_blocks_t &matrix = argument.blocks();
  SPARSEC_RETURN_IF_ERROR(checkBlocks(matrix, argument.subject()));
  SPARSEC_RETURN_IF_ERROR(argument.checkType(enumValue(matrix.dtype)));
  if (matrix.encoding != SPARSEC_PATTERN_INDEX_ARRAYS)
    return argument.refuse("expects encoding ", int(SPARSEC_PATTERN_INDEX_ARRAYS), " (index arrays), but got ",
                           int(matrix.encoding));
  if (matrix.batches != 1 || matrix.heads != 1)
    return argument.refuse("expects 1 batch and 1 head, but got ", matrix.batches, " and ", matrix.heads);
  if (matrix.partial.starts)
    return argument.refuse("expects partial.starts to be NULL: blocks with values are full");
  if (matrix.rows != 0 && !matrix.full.starts)
    return argument.refuse("full.starts is NULL");
  if (matrix.block_rows != int32_t(info.block_rows) || matrix.block_columns != int32_t(info.block_columns))
    return argument.refuse("expects blocks of ", info.block_rows, " x ", info.block_columns, ", but got ",
                           matrix.block_rows, " x ", matrix.block_columns);
  int64_t sizes[] = {matrix.rows, matrix.columns};
  for (int d = 0; d < 2; ++d)
    if (info.sizes[d] != SPARSEC_DYNAMIC && info.sizes[d] != sizes[d])
      return argument.refuse("expects ", info.sizes[d], d ? " columns" : " rows", ", but got ", sizes[d]);
  if (matrix.capacity == 0)
    return {};
  if (!matrix.values)
    return argument.refuse("values is NULL");
  if (size_t bytes = dtypeBytes(info.dtype); !isMultiple(uintptr_t(matrix.values), bytes))
    return argument.refuse("values is not aligned to the ", bytes, " bytes of its elements");
  return {};
}

/// `sizes` are those that the other arguments ask for, or SPARSEC_DYNAMIC.
Status checkDense(const Checked &argument, const int64_t *sizes, bool needsMemory) {
  const sparsec_dense_t &tensor = argument.dense();
  SPARSEC_RETURN_IF_ERROR(argument.checkTensor(sizes));
  if (tensor.rank == 2 && usesStride(tensor, 0) &&
      (tensor.strides[0] < tensor.sizes[1] || tensor.strides[0] > INT32_MAX))
    return argument.refuse("expects stride 0 to be at least its width, ", tensor.sizes[1], ", and at most ", INT32_MAX,
                           ", but got ", tensor.strides[0]);
  return needsMemory ? argument.checkTensorMemory() : Status();
}

/// The sizes an epilogue operand or the result must have.
void expectedSizes(const sparsec_argument_info_t &info, const ProblemSizes &problem, int64_t (&sizes)[2]) {
  bool isTransposed = info.layout == SPARSEC_LAYOUT_TRANSPOSED;
  sizes[0] = isTransposed ? problem.n : problem.m;
  sizes[1] = isTransposed ? problem.m : problem.n;
  if (info.broadcast == SPARSEC_BROADCAST_PER_ROW)
    sizes[0] = problem.m;
  if (info.broadcast == SPARSEC_BROADCAST_PER_COLUMN)
    sizes[0] = problem.n;
}

} // namespace

Status checkSpmmArguments(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count, Use use,
                          ProblemSizes &outSizes) {
  SPARSEC_RETURN_IF_ERROR(checkViews(kernel, arguments, count, use));
  auto checked = [&](uint32_t i) { return checkedArgument(kernel, arguments, i); };
  uint32_t matrixNumber = kernel.of(SPARSEC_ROLE_MATRIX), denseNumber = kernel.of(SPARSEC_ROLE_DENSE);

  SPARSEC_RETURN_IF_ERROR(checkBsr(checked(matrixNumber)));
  const sparsec_blocks_t &matrix = blocksOf(arguments[matrixNumber]);
  bool isTransposed = kernel.argument(denseNumber).layout == SPARSEC_LAYOUT_TRANSPOSED;
  int64_t denseSizes[] = {matrix.columns, matrix.columns};
  denseSizes[isTransposed ? 0 : 1] = SPARSEC_DYNAMIC; // N comes from here
  SPARSEC_RETURN_IF_ERROR(checkDense(checked(denseNumber), denseSizes, true));
  ProblemSizes problem = {matrix.rows, denseOf(arguments[denseNumber]).sizes[isTransposed ? 0 : 1], matrix.columns};

  for (uint32_t i = 0; i < count; ++i) {
    if (i == matrixNumber || i == denseNumber || arguments[i].kind == SPARSEC_ARGUMENT_SCALAR)
      continue;
    int64_t sizes[2];
    expectedSizes(kernel.argument(i), problem, sizes);
    bool isResult = kernel.argument(i).role == SPARSEC_ROLE_RESULT;
    bool needsMemory = !isResult || use != Use::reference;
    SPARSEC_RETURN_IF_ERROR(checkDense(checked(i), sizes, needsMemory));
  }
  outSizes = problem;
  return use == Use::launch ? checkOverlaps(kernel, arguments) : Status();
}

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

namespace {

Status checkArguments(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count) {
  if (kernel.info->family == SPARSEC_FAMILY_ATTENTION) {
    AttentionSizes sizes;
    return checkAttentionArguments(kernel, arguments, count, Use::launch, sizes);
  }
  ProblemSizes sizes;
  return checkSpmmArguments(kernel, arguments, count, Use::launch, sizes);
}

} // namespace

sparsec_status_t sparsec_launch_variant(sparsec_kernel_t kernel, const sparsec_argument_t *arguments,
                                        size_t argument_count, size_t *out_variant) {
  return guarded([&]() -> Status {
    if (!out_variant)
      return invalidArgument("out_variant is NULL");
    *out_variant = 0;
    if (!kernel)
      return invalidArgument("kernel is NULL");
    SPARSEC_RETURN_IF_ERROR(checkArguments(*kernel, arguments, argument_count));
    return chooseVariant(*kernel, arguments, *out_variant);
  });
}
