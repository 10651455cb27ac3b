// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments.h"
#include "bsr.h"
#include "enum_values.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

bool isMultiple(uint64_t value, uint32_t alignment) { return value % alignment == 0; }

const char *kindName(uint32_t kind) {
  switch (kind) {
  case SPARSEC_ARGUMENT_BSR:
    return "a block-sparse matrix";
  case SPARSEC_ARGUMENT_DENSE:
    return "a dense tensor";
  case SPARSEC_ARGUMENT_SCALAR:
    return "a scalar";
  }
  return "an unknown kind";
}

/// One argument with its record and number, for checks and their messages.
struct Checked {
  const sparsec_argument_info_t &info;
  const sparsec_argument_t &value;
  uint32_t number;

  Subject subject() const { return {info.name, number}; }
  template <typename... Pieces> Status refuse(const Pieces &...pieces) const {
    return invalidArgument(subject(), ": ", pieces...);
  }
  Status checkType(uint32_t dtype) const;
  Status checkBsr() const;
  Status checkDense(const int64_t *sizes, bool needsMemory) const;
  Status checkDenseShape(const int64_t *sizes) const;
};

Status Checked::checkType(uint32_t dtype) const {
  if (dtype == info.dtype)
    return {};
  return refuse("expects elements of type ", dtypeName(info.dtype), ", but got ", dtypeName(dtype));
}

Status Checked::checkBsr() const {
  const sparsec_bsr_t &matrix = value.bsr;
  SPARSEC_RETURN_IF_ERROR(checkType(enumValue(matrix.dtype)));
  if (matrix.block_rows != int32_t(info.block_rows) || matrix.block_columns != int32_t(info.block_columns))
    return refuse("expects blocks of ", info.block_rows, " x ", info.block_columns, ", but got ", matrix.block_rows,
                  " x ", matrix.block_columns);
  SPARSEC_RETURN_IF_ERROR(checkBsrSizes(matrix, subject()));
  int64_t sizes[] = {matrix.rows, matrix.columns};
  for (int d = 0; d < 2; ++d)
    if (info.sizes[d] != SPARSEC_DYNAMIC && info.sizes[d] != sizes[d])
      return refuse("expects ", info.sizes[d], d ? " columns" : " rows", ", but got ", sizes[d]);
  if (matrix.block_count != 0 && !matrix.values)
    return refuse("values is NULL");
  if (size_t bytes = dtypeBytes(info.dtype); !isMultiple(uintptr_t(matrix.values), bytes))
    return refuse("values is not aligned to the ", bytes, " bytes of its elements");
  return {};
}

Status Checked::checkDenseShape(const int64_t *sizes) const {
  const sparsec_dense_t &tensor = value.dense;
  for (uint32_t d = 0; d < info.rank; ++d) {
    if (tensor.sizes[d] < 0 || tensor.sizes[d] > maxSize)
      return refuse("expects sizes of 0 to ", maxSize, ", but size ", d, " is ", tensor.sizes[d]);
    if (info.sizes[d] != SPARSEC_DYNAMIC && info.sizes[d] != tensor.sizes[d])
      return refuse("expects size ", d, " to be ", info.sizes[d], ", but got ", tensor.sizes[d]);
    if (sizes[d] != SPARSEC_DYNAMIC && sizes[d] != tensor.sizes[d])
      return refuse("expects size ", d, " to be ", sizes[d], " to agree with the other arguments, but got ",
                    tensor.sizes[d]);
  }
  if (info.rank == 0)
    return {};
  uint32_t last = info.rank - 1;
  if (tensor.sizes[last] > 1 && tensor.strides[last] != 1)
    return refuse("expects stride ", last, " to be 1 (contiguous), but got ", tensor.strides[last]);
  if (info.rank == 2 && (tensor.strides[0] < tensor.sizes[1] || tensor.strides[0] > INT32_MAX))
    return refuse("expects stride 0 to be at least its width, ", tensor.sizes[1], ", and at most ", INT32_MAX,
                  ", but got ", tensor.strides[0]);
  return {};
}

/// `sizes` are those that the other arguments ask for, or SPARSEC_DYNAMIC.
Status Checked::checkDense(const int64_t *sizes, bool needsMemory) const {
  const sparsec_dense_t &tensor = value.dense;
  SPARSEC_RETURN_IF_ERROR(checkType(enumValue(tensor.dtype)));
  if (tensor.rank != int32_t(info.rank))
    return refuse("expects rank ", info.rank, ", but got ", tensor.rank);
  SPARSEC_RETURN_IF_ERROR(checkDenseShape(sizes));
  if (!needsMemory)
    return {};
  bool isEmpty = std::any_of(tensor.sizes, tensor.sizes + info.rank, [](int64_t size) { return size == 0; });
  if (!isEmpty && !tensor.data)
    return refuse("data is NULL");
  if (size_t bytes = dtypeBytes(info.dtype); !isMultiple(uintptr_t(tensor.data), bytes))
    return refuse("data is not aligned to the ", bytes, " bytes of its elements");
  return {};
}

Status checkCount(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count) {
  uint32_t expected = kernel.info->argument_count;
  if (count != expected) {
    std::string names;
    for (uint32_t i = 0; i < expected; ++i)
      names += std::string(i ? ", " : "") + kernel.argument(i).name;
    return invalidArgument("kernel '", kernel.info->name, "' expects ", expected, " arguments (", names, "), but got ",
                           count);
  }
  if (!arguments)
    return invalidArgument("arguments is NULL");
  for (uint32_t i = 0; i < expected; ++i) {
    Checked argument = {kernel.argument(i), arguments[i], i};
    if (uint32_t kind = enumValue(arguments[i].kind); kind != argument.info.kind)
      return argument.refuse("expects ", kindName(argument.info.kind), ", but got ", kindName(kind));
  }
  return {};
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

Status checkArguments(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count,
                      ResultMemory resultMemory, ProblemSizes &outSizes) {
  SPARSEC_RETURN_IF_ERROR(checkCount(kernel, arguments, count));
  auto checked = [&](uint32_t i) { return Checked{kernel.argument(i), arguments[i], i}; };

  SPARSEC_RETURN_IF_ERROR(checked(kernel.matrix).checkBsr());
  const sparsec_bsr_t &matrix = arguments[kernel.matrix].bsr;
  bool isTransposed = kernel.argument(kernel.dense).layout == SPARSEC_LAYOUT_TRANSPOSED;
  int64_t denseSizes[] = {matrix.columns, matrix.columns};
  denseSizes[isTransposed ? 0 : 1] = SPARSEC_DYNAMIC; // N comes from here
  SPARSEC_RETURN_IF_ERROR(checked(kernel.dense).checkDense(denseSizes, true));
  ProblemSizes problem = {matrix.rows, arguments[kernel.dense].dense.sizes[isTransposed ? 0 : 1], matrix.columns};

  for (uint32_t i = 0; i < count; ++i) {
    if (i == kernel.matrix || i == kernel.dense || arguments[i].kind == SPARSEC_ARGUMENT_SCALAR)
      continue;
    int64_t sizes[2];
    expectedSizes(kernel.argument(i), problem, sizes);
    bool needsMemory = i != kernel.result || resultMemory == ResultMemory::needed;
    SPARSEC_RETURN_IF_ERROR(checked(i).checkDense(sizes, needsMemory));
  }
  outSizes = problem;
  return {};
}

namespace {

/// Whether one argument's pointers and row stride are multiples of the alignment.
bool hasAlignment(const sparsec_argument_t &argument, uint32_t alignment) {
  if (argument.kind == SPARSEC_ARGUMENT_BSR)
    return isMultiple(uintptr_t(argument.bsr.values), alignment);
  if (argument.kind != SPARSEC_ARGUMENT_DENSE)
    return true;
  const sparsec_dense_t &tensor = argument.dense;
  return isMultiple(uintptr_t(tensor.data), alignment) &&
         (tensor.rank < 2 || isMultiple(tensor.strides[0] * dtypeBytes(tensor.dtype), alignment));
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
  const sparsec_argument_t &argument = arguments[number];
  if (!hasAlignment(argument, variant.alignment))
    return false;
  return !movesWholeUnits(kernel, variant, number) ||
         isMultiple(argument.dense.sizes[argument.dense.rank - 1] * dtypeBytes(argument.dense.dtype),
                    variant.alignment);
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
  return Checked{kernel.argument(culprit), arguments[culprit], culprit}.refuse(
      "expects pointers and row strides that are multiples of ", kernel.variants.back().info->alignment,
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
    ProblemSizes sizes;
    SPARSEC_RETURN_IF_ERROR(checkArguments(*kernel, arguments, argument_count, ResultMemory::needed, sizes));
    return chooseVariant(*kernel, arguments, *out_variant);
  });
}
