// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element types, dense views and arguments as plain values, and the import of DLPack tensors.

#include "arguments/dlpack_abi.h"
#include "arguments/strides.h"
#include "arguments/views.h"
#include "image/enum_values.h"
#include "image/launch_info_reader.h"
#include "status.h"

using namespace sparsec::runtime;

size_t sparsec_dtype_bytes(sparsec_dtype_t dtype) { return dtypeBytes(enumValue(dtype)); }

const char *sparsec_dtype_name(sparsec_dtype_t dtype) { return dtypeName(enumValue(dtype)); }

namespace {

sparsec_dtype_t dtypeFromDlpack(const dlpack::DataType &type) {
  struct {
    uint8_t code, bits;
    sparsec_dtype_t dtype;
  } constexpr types[] = {
      {dlpack::floatCode, 32, SPARSEC_DTYPE_F32},        {dlpack::floatCode, 16, SPARSEC_DTYPE_F16},
      {dlpack::bfloatCode, 16, SPARSEC_DTYPE_BF16},      {dlpack::float8E4m3fnCode, 8, SPARSEC_DTYPE_F8E4M3FN},
      {dlpack::float8E5m2Code, 8, SPARSEC_DTYPE_F8E5M2}, {dlpack::intCode, 32, SPARSEC_DTYPE_I32},
  };
  for (auto [code, bits, dtype] : types)
    if (type.code == code && type.bits == bits && type.lanes == 1)
      return dtype;
  return SPARSEC_DTYPE_NONE;
}

bool isKnownDevice(int32_t device) {
  return device == dlpack::cpu || device == dlpack::cuda || device == dlpack::cudaHost || device == dlpack::cudaManaged;
}

/// Pinned and managed memory may be used on the host and on any device.
int32_t placeOf(const dlpack::Device &device) {
  if (device.type == dlpack::cpu)
    return SPARSEC_PLACE_HOST;
  return device.type == dlpack::cuda ? device.id : int32_t(SPARSEC_PLACE_UNKNOWN);
}

/// Fills sizes and strides. Strides that no address depends on become compact.
Status convertShape(const dlpack::Tensor &tensor, sparsec_dense_t &dense) {
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

} // namespace

sparsec_status_t sparsec_dense_from_dlpack(const void *managed_tensor, sparsec_dense_t *out_dense) {
  return guarded([&]() -> Status {
    SPARSEC_RETURN_IF_ERROR(startOutput(out_dense, "out_dense"));
    if (!managed_tensor)
      return invalidArgument("managed_tensor is NULL");
    const dlpack::Tensor &tensor = static_cast<const dlpack::ManagedTensor *>(managed_tensor)->tensor;
    if (!isKnownDevice(tensor.device.type))
      return invalidArgument("managed_tensor: expects memory of the processor or of CUDA, but got DLPack device type ",
                             tensor.device.type);
    if (tensor.ndim < 0 || tensor.ndim > SPARSEC_MAX_RANK)
      return invalidArgument("managed_tensor: expects rank 0 to ", SPARSEC_MAX_RANK, ", but got ", tensor.ndim);
    if (tensor.ndim != 0 && !tensor.shape)
      return invalidArgument("managed_tensor: shape is NULL");
    sparsec_dense_t dense = {};
    dense.device = placeOf(tensor.device);
    dense.dtype = dtypeFromDlpack(tensor.dtype);
    if (dense.dtype == SPARSEC_DTYPE_NONE)
      return invalidArgument(
          "managed_tensor: expects f32, f16, bf16, f8E4M3FN, f8E5M2 or i32, but got DLPack type code ",
          tensor.dtype.code, " with ", tensor.dtype.bits, " bits and ", tensor.dtype.lanes, " lanes");
    dense.rank = tensor.ndim;
    SPARSEC_RETURN_IF_ERROR(convertShape(tensor, dense));
    dense.data = tensor.data ? static_cast<char *>(tensor.data) + tensor.byte_offset : nullptr;
    fillOutput(*out_dense, dense);
    return {};
  });
}
