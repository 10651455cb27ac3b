// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "placed_tensor.h"
#include "harness/numeric.h"

#include <algorithm>

namespace sparsec::device_test {

using namespace harness;

namespace {

int64_t rowStrideOf(int64_t width, int64_t elementBytes, Placement placement) {
  int64_t unit = std::max<int64_t>(8, 16 / elementBytes);
  switch (placement) {
  case Placement::Tight:
    return width;
  case Placement::Padded:
    return (width + unit - 1) / unit * unit + unit; // a multiple of 16 bytes for every type
  case Placement::Misaligned:
    return (width + 1) | 1;
  }
  return width;
}

} // namespace

PlacedTensor::PlacedTensor(sparsec_device_t device, sparsec_dtype_t dtype, const std::vector<int64_t> &sizes,
                           Placement placement, size_t guardBytes) {
  dense.size = sizeof(dense);
  dense.device = SPARSEC_PLACE_UNKNOWN;
  dense.dtype = dtype;
  dense.rank = static_cast<int32_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), dense.sizes);
  if (sizes.size() == 2)
    rowCount = sizes[0];
  if (!sizes.empty())
    rowWidth = sizes.back();
  int64_t elementBytes = static_cast<int64_t>(sparsec_dtype_bytes(dtype));
  rowStride = rowStrideOf(rowWidth, elementBytes, placement);
  if (sizes.size() == 2)
    dense.strides[0] = rowStride;
  if (!sizes.empty())
    dense.strides[sizes.size() - 1] = 1;

  first = static_cast<int64_t>(guardBytes) / elementBytes + (placement == Placement::Misaligned);
  int64_t last = first + (rowCount == 0 || rowWidth == 0 ? 0 : (rowCount - 1) * rowStride + rowWidth);
  image.assign(last * elementBytes + guardBytes, poison);
  buffer = DeviceBuffer(device, image.size());
  dense.data = buffer.data() ? static_cast<char *>(buffer.data()) + first * elementBytes : nullptr;
}

sparsec_dense_t PlacedTensor::hostView() {
  sparsec_dense_t host = dense;
  host.data = image.data() + first * static_cast<int64_t>(sparsec_dtype_bytes(dense.dtype));
  return host;
}

double PlacedTensor::get(int64_t i, int64_t j) const {
  return loadElement(dense.dtype, image.data(), elementOffset(i, j));
}

void PlacedTensor::set(int64_t i, int64_t j, double value) {
  storeElement(dense.dtype, image.data(), elementOffset(i, j), value);
}

void PlacedTensor::poisonAll() {
  std::fill(image.begin(), image.end(), poison);
  upload();
}

bool PlacedTensor::surroundingsIntact() const {
  std::vector<char> surroundings = image;
  size_t elementBytes = sparsec_dtype_bytes(dense.dtype);
  for (int64_t i = 0; i < rowCount; ++i)
    std::fill_n(surroundings.begin() + elementOffset(i, 0) * elementBytes, rowWidth * elementBytes, poison);
  return std::all_of(surroundings.begin(), surroundings.end(), [](char byte) { return byte == poison; });
}

std::vector<int32_t> withGuard(std::vector<int32_t> indices, size_t guardBytes) {
  indices.resize(indices.size() + guardBytes / sizeof(int32_t), -1);
  return indices;
}

} // namespace sparsec::device_test
