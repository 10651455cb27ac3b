// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/tensor_map.h"
#include "arguments/views.h"
#include "image/enum_values.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

CUtensorMapDataType tensorMapType(sparsec_dtype_t dtype) {
  switch (dtype) {
  case SPARSEC_DTYPE_F32:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case SPARSEC_DTYPE_F16:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case SPARSEC_DTYPE_BF16:
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case SPARSEC_DTYPE_F8E4M3FN:
  case SPARSEC_DTYPE_F8E5M2:
  case SPARSEC_DTYPE_I64:
  case SPARSEC_DTYPE_I32:
  case SPARSEC_DTYPE_I8:
  case SPARSEC_DTYPE_NONE:
    break;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

/// The description of a tensor for the driver, innermost dimension first.
struct Description {
  void *data;
  sparsec_dtype_t dtype;
  uint64_t sizes[SPARSEC_MAX_RANK];
  uint64_t strides[SPARSEC_MAX_RANK]; // bytes, from the second dimension on
};

/// Dimensions that have one element may have any stride: the driver wants one that it could use.
Description describe(const sparsec_dense_t &tensor) {
  Description description = {tensor.data, tensor.dtype, {}, {}};
  uint64_t elementBytes = dtypeBytes(tensor.dtype);
  for (int32_t d = 0; d < tensor.rank; ++d) {
    int32_t outer = tensor.rank - 1 - d;
    description.sizes[d] = uint64_t(tensor.sizes[outer]);
    if (d > 0)
      description.strides[d - 1] = tensor.sizes[outer] > 1 ? uint64_t(tensor.strides[outer]) * elementBytes : 16;
  }
  return description;
}

Description describe(const sparsec_tensor_map_info_t &recipe, const sparsec_argument_t &argument) {
  if (recipe.kind == SPARSEC_TENSOR_MAP_DENSE || recipe.kind == SPARSEC_TENSOR_MAP_DENSE_CLIPPED)
    return describe(denseOf(argument));
  const sparsec_blocks_t &matrix = blocksOf(argument);
  uint64_t columns = matrix.block_columns, rowBytes = columns * dtypeBytes(matrix.dtype);
  if (recipe.kind == SPARSEC_TENSOR_MAP_BSR_LINES)
    return {const_cast<void *>(matrix.values),
            matrix.dtype,
            {lineBytes / dtypeBytes(matrix.dtype), rowBytes * matrix.block_rows / lineBytes, uint64_t(matrix.capacity)},
            {lineBytes, rowBytes * matrix.block_rows}};
  uint64_t rows = matrix.block_rows, innerColumns = columns, innerRows = rows;
  if (recipe.kind == SPARSEC_TENSOR_MAP_BSR_EDGE_VALUES && matrix.columns % columns != 0)
    innerColumns = matrix.columns % columns;
  if (recipe.kind == SPARSEC_TENSOR_MAP_BSR_EDGE_ROWS && matrix.rows % rows != 0)
    innerRows = matrix.rows % rows;
  return {const_cast<void *>(matrix.values),
          matrix.dtype,
          {innerColumns, innerRows, uint64_t(matrix.capacity)},
          {rowBytes, rowBytes * rows}};
}

bool isEmpty(const Description &tensor, uint32_t rank) {
  return std::find(tensor.sizes, tensor.sizes + rank, 0u) != tensor.sizes + rank;
}

} // namespace

Status encodeTensorMap(const Device &device, const sparsec_tensor_map_info_t &recipe,
                       const sparsec_argument_t &argument, CUtensorMap &outMap) {
  Description tensor = describe(recipe, argument);
  // The driver refuses empty tensors, and their strides may be anything. The kernel reads nothing of them, so that one
  // element of any valid memory will do.
  if (isEmpty(tensor, recipe.rank)) {
    tensor.data = device.placeholder;
    std::fill_n(tensor.sizes, recipe.rank, 1);
    std::fill_n(tensor.strides, recipe.rank, 16);
  }
  uint32_t box[SPARSEC_MAX_RANK];
  std::copy_n(recipe.box, SPARSEC_MAX_RANK, box);
  if (recipe.kind == SPARSEC_TENSOR_MAP_DENSE_CLIPPED)
    box[1] = uint32_t(std::min<uint64_t>(box[1], tensor.sizes[1]));
  const uint32_t elementStrides[SPARSEC_MAX_RANK] = {1, 1, 1, 1, 1};
  // A row of a small block has 64 bytes: L2 would bring four times as many for each with a promotion to 256.
  constexpr CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
  return cudaStatus(*device.cuda,
                    device.cuda->cuTensorMapEncodeTiled(
                        &outMap, tensorMapType(tensor.dtype), recipe.rank, tensor.data, tensor.sizes, tensor.strides,
                        box, elementStrides, CU_TENSOR_MAP_INTERLEAVE_NONE, CUtensorMapSwizzle(recipe.swizzle),
                        promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                    "encoding a tensor map");
}

Status moveTensorMap(const Device &device, const sparsec_tensor_map_info_t &recipe, const sparsec_argument_t &argument,
                     CUtensorMap &map) {
  Description tensor = describe(recipe, argument);
  if (isEmpty(tensor, recipe.rank))
    return {};
  return cudaStatus(*device.cuda, device.cuda->cuTensorMapReplaceAddress(&map, tensor.data),
                    "changing the address of a tensor map");
}

} // namespace sparsec::runtime
