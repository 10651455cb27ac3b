// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element types in the C interface, and DLPack tensors as dense views.

#include "arguments/dlpack_abi.h"
#include "arguments/strides.h"
#include "arguments/views.h"
#include "image/enum_values.h"
#include "image/launch_info_reader.h"

namespace sparsec::runtime {

namespace {

sparsec_dtype_t dtypeOf(const dlpack::DataType &type) {
  struct {
    uint8_t code, bits;
    sparsec_dtype_t dtype;
  } constexpr types[] = {
      {dlpack::floatCode, 32, SPARSEC_DTYPE_F32},        {dlpack::floatCode, 16, SPARSEC_DTYPE_F16},
      {dlpack::bfloatCode, 16, SPARSEC_DTYPE_BF16},      {dlpack::float8E4m3fnCode, 8, SPARSEC_DTYPE_F8E4M3FN},
      {dlpack::float8E5m2Code, 8, SPARSEC_DTYPE_F8E5M2}, {dlpack::intCode, 32, SPARSEC_DTYPE_I32},
      {dlpack::intCode, 64, SPARSEC_DTYPE_I64},          {dlpack::intCode, 8, SPARSEC_DTYPE_I8},
      {dlpack::boolCode, 8, SPARSEC_DTYPE_I8},
  };
  for (auto [code, bits, dtype] : types)
    if (type.code == code && type.bits == bits && type.lanes == 1)
      return dtype;
  return SPARSEC_DTYPE_NONE;
}

/// As frameworks write it: "int64", "bool", "float8_e4m3fnuz", "float32x4".
std::string nameOf(const dlpack::DataType &type) {
  std::string name = "type code " + std::to_string(type.code) + " of " + std::to_string(type.bits) + " bits";
  if (type.code < std::size(dlpack::typeNames) && dlpack::typeNames[type.code]) {
    name = dlpack::typeNames[type.code];
    if (dlpack::hasWidths(type.code))
      name += std::to_string(type.bits);
  }
  return type.lanes == 1 ? name : name + "x" + std::to_string(type.lanes);
}

/// Pinned and managed memory may be used on the host and on any device.
Status placeOf(const dlpack::Device &device, int32_t &outPlace) {
  switch (device.type) {
  case dlpack::cpu:
    outPlace = SPARSEC_PLACE_HOST;
    return {};
  case dlpack::cudaHost:
  case dlpack::cudaManaged:
    outPlace = SPARSEC_PLACE_UNKNOWN;
    return {};
  case dlpack::cuda:
    outPlace = device.id;
    if (device.id < 0)
      return invalidArgument("managed_tensor: expects a CUDA device of 0 or more, but got ", device.id);
    return {};
  }
  const bool hasName =
      device.type > 0 && size_t(device.type) < std::size(dlpack::deviceNames) && dlpack::deviceNames[device.type];
  return invalidArgument("managed_tensor: expects memory of the processor or of CUDA, but got ",
                         hasName ? dlpack::deviceNames[device.type] : "an unknown device", " (DLPack device type ",
                         device.type, ")");
}

/// Fills sizes and strides. Strides that no address depends on become compact.
Status convertShape(const dlpack::Tensor &tensor, sparsec_dense_t &dense) {
  if (tensor.ndim < 0 || tensor.ndim > SPARSEC_MAX_RANK)
    return invalidArgument("managed_tensor: expects rank 0 to ", SPARSEC_MAX_RANK, ", but got ", tensor.ndim);
  if (tensor.ndim != 0 && !tensor.shape)
    return invalidArgument("managed_tensor: shape is NULL");
  dense.rank = tensor.ndim;
  for (int32_t d = 0; d < tensor.ndim; ++d) {
    dense.sizes[d] = tensor.shape[d];
    if (dense.sizes[d] < 0 || dense.sizes[d] > maxSize)
      return invalidArgument("managed_tensor: expects sizes of 0 to ", maxSize, ", but size ", d, " is ",
                             dense.sizes[d]);
  }
  int64_t compact = 1;
  for (int32_t d = tensor.ndim - 1; d >= 0; --d) {
    int64_t size = dense.sizes[d];
    int64_t stride = tensor.strides && usesStride(dense, d) ? tensor.strides[d] : compact;
    if (stride < 0 || (d == tensor.ndim - 1 && stride != 1))
      return invalidArgument("managed_tensor: expects a contiguous last dimension and no negative strides, but stride ",
                             d, " is ", stride);
    dense.strides[d] = stride;
    if (__builtin_mul_overflow(stride, std::max<int64_t>(size, 1), &compact))
      return invalidArgument("managed_tensor: stride ", d, " is too large: ", stride);
  }
  return {};
}

Status convert(const dlpack::Tensor &tensor, uint32_t flags, sparsec_dense_t &outDense) {
  sparsec_dense_t dense = {};
  SPARSEC_RETURN_IF_ERROR(placeOf(tensor.device, dense.device));
  dense.dtype = dtypeOf(tensor.dtype);
  if (dense.dtype == SPARSEC_DTYPE_NONE)
    return invalidArgument("managed_tensor: expects elements of type float32, float16, bfloat16, float8_e4m3fn, "
                           "float8_e5m2, int64, int32, int8 or bool, but got ",
                           nameOf(tensor.dtype));
  SPARSEC_RETURN_IF_ERROR(convertShape(tensor, dense));
  dense.flags = flags;
  dense.data = tensor.data ? static_cast<char *>(tensor.data) + tensor.byte_offset : nullptr;
  fillOutput(outDense, dense);
  return {};
}

} // namespace

} // namespace sparsec::runtime

using namespace sparsec::runtime;

size_t sparsec_dtype_bytes(sparsec_dtype_t dtype) { return sparsec::dtypeBytes(enumValue(dtype)); }

const char *sparsec_dtype_name(sparsec_dtype_t dtype) { return dtypeName(enumValue(dtype)); }

sparsec_status_t sparsec_dense_from_dlpack(const void *managed_tensor, sparsec_dense_t *out_dense) {
  return guarded([&]() -> Status {
    SPARSEC_RETURN_IF_ERROR(startOutput(out_dense, "out_dense"));
    if (!managed_tensor)
      return invalidArgument("managed_tensor is NULL");
    return convert(static_cast<const dlpack::ManagedTensor *>(managed_tensor)->tensor, 0, *out_dense);
  });
}

sparsec_status_t sparsec_dense_from_dlpack_versioned(const void *managed_tensor, sparsec_dense_t *out_dense) {
  return guarded([&]() -> Status {
    SPARSEC_RETURN_IF_ERROR(startOutput(out_dense, "out_dense"));
    if (!managed_tensor)
      return invalidArgument("managed_tensor is NULL");
    const auto &managed = *static_cast<const dlpack::ManagedTensorVersioned *>(managed_tensor);
    // Each major version lays out the fields behind the version in its own way.
    if (managed.version.major != dlpack::majorVersion)
      return invalidArgument("managed_tensor: expects DLPack version ", dlpack::majorVersion, ", but got ",
                             managed.version.major, ".", managed.version.minor);
    const bool isReadOnly = managed.flags & dlpack::readOnlyFlag;
    return convert(managed.tensor, isReadOnly ? SPARSEC_DENSE_READ_ONLY : 0, *out_dense);
  });
}
