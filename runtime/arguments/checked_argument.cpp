// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments/checked_argument.h"
#include "arguments/strides.h"

namespace sparsec::runtime {

namespace {

const char *kindName(uint32_t kind) {
  switch (kind) {
  case SPARSEC_ARGUMENT_BSR:
    return "a block-sparse matrix";
  case SPARSEC_ARGUMENT_DENSE:
    return "a dense tensor";
  case SPARSEC_ARGUMENT_SCALAR:
    return "a scalar";
  case SPARSEC_ARGUMENT_PATTERN:
    return "a block pattern";
  }
  return "an unknown kind";
}

} // namespace

Status Checked::checkKind() const {
  uint32_t kind = enumValue(value.kind);
  if (kind == info.kind)
    return {};
  return refuse("expects ", kindName(info.kind), ", but got ", kindName(kind));
}

Status Checked::checkType(uint32_t dtype) const {
  if (dtype == info.dtype)
    return {};
  return refuse("expects elements of type ", dtypeName(info.dtype), ", but got ", dtypeName(dtype));
}

Status Checked::checkTensor(const int64_t *sizes) const {
  const sparsec_dense_t &tensor = value.dense;
  SPARSEC_RETURN_IF_ERROR(checkType(enumValue(tensor.dtype)));
  if (tensor.rank != int32_t(info.rank))
    return refuse("expects rank ", info.rank, ", but got ", tensor.rank);
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
  if (usesStride(tensor, int32_t(last)) && tensor.strides[last] != 1)
    return refuse("expects stride ", last, " to be 1 (contiguous), but got ", tensor.strides[last]);
  return {};
}

Status Checked::checkTensorMemory() const {
  const sparsec_dense_t &tensor = value.dense;
  if (isEmpty(tensor))
    return {};
  if (!tensor.data)
    return refuse("data is NULL");
  if (size_t bytes = dtypeBytes(info.dtype); !isMultiple(uintptr_t(tensor.data), bytes))
    return refuse("data is not aligned to the ", bytes, " bytes of its elements");
  return {};
}

Status checkCountAndKinds(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count) {
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
  for (uint32_t i = 0; i < expected; ++i)
    SPARSEC_RETURN_IF_ERROR(checkedArgument(kernel, arguments, i).checkKind());
  return {};
}

} // namespace sparsec::runtime
