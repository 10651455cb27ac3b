// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "quantize.h"

#include "convert/quantize.h"
#include "status_error.h"

#include <cstring>
#include <thread>

namespace sparsec::run {

/// The values that share a scale, where the operand is one of scales; else nothing.
static std::optional<sparsec_scale_group_t> groupOf(const sparsec_operand_info_t &scales, bool isMatrix) {
  if (scales.slot == SPARSEC_SPMM_SCALES && isMatrix)
    return SPARSEC_SCALE_BLOCK;
  if (scales.slot == SPARSEC_SPMM_X_SCALE && !isMatrix)
    return SPARSEC_SCALE_TOKEN;
  if (scales.broadcast == (isMatrix ? SPARSEC_BROADCAST_PER_ROW : SPARSEC_BROADCAST_PER_COLUMN))
    return SPARSEC_SCALE_ROW;
  if (scales.broadcast == SPARSEC_BROADCAST_SCALAR)
    return SPARSEC_SCALE_TENSOR;
  return std::nullopt;
}

static std::vector<int64_t> scaleSizes(sparsec_scale_group_t group, const HostArgument &source) {
  if (group == SPARSEC_SCALE_TENSOR)
    return {};
  if (group == SPARSEC_SCALE_BLOCK)
    return {source.matrix.blockCount()};
  if (source.info->kind == SPARSEC_ARGUMENT_BSR)
    return {source.matrix.rows};
  if (group == SPARSEC_SCALE_ROW)
    return {source.sizes[0]};
  return {source.sizes[0], runtime::ceilDivide(source.sizes[1], int64_t(SPARSEC_X_SCALE_DEPTH))};
}

llvm::Error quantize(sparsec_kernel_t kernel, uint32_t number, HostArgument &source, HostArgument &scales) {
  const bool isMatrix = source.info->kind == SPARSEC_ARGUMENT_BSR;
  const auto group = groupOf(*scales.operand, isMatrix);
  if (!group || scales.info->dtype != SPARSEC_DTYPE_F32)
    return failure("is no f32 operand for scales of '{}'", view(nameOf(source.info->name)));
  const std::vector<int64_t> sizes = scaleSizes(*group, source);
  size_t count = 1;
  for (int64_t size : sizes)
    count *= size_t(size);
  std::vector<float> made(count);
  const sparsec_dense_t into = sparsec_dense(made.data(), SPARSEC_DTYPE_F32, int32_t(sizes.size()), sizes.data());

  const Argument from = source.hostView();
  std::vector<std::byte> &elements = isMatrix ? source.matrix.values : source.elements;
  std::vector<std::byte> quantized(elements.size() / sizeof(float));
  Argument to = from;
  if (isMatrix) {
    to.blocks.dtype = sparsec_dtype_t(source.info->dtype);
    to.blocks.values = quantized.data();
  } else {
    to.dense.dtype = sparsec_dtype_t(source.info->dtype);
    to.dense.data = quantized.data();
  }
  const sparsec_argument_t fromView = from.handle(), toView = to.handle();
  runtime::ThreadPool threads(std::max(1u, std::thread::hardware_concurrency()));
  if (llvm::Error error = toError(
          runtime::quantizeOnHost({*kernel, number, fromView, toView, *group, into, nullptr}, threads).release()))
    return error;
  elements = std::move(quantized);
  source.isSource = false;
  if (isMatrix)
    source.matrix.format.dtype = sparsec_dtype_t(source.info->dtype);

  scales.sizes = sizes;
  scales.scalar = made.empty() ? 0 : made[0];
  scales.elements.resize(count * sizeof(float));
  std::memcpy(scales.elements.data(), made.data(), scales.elements.size());
  return llvm::Error::success();
}

} // namespace sparsec::run
