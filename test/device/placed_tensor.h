// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors in device memory whose surroundings show wrong reads and writes.

#ifndef SPARSEC_TEST_DEVICE_PLACED_TENSOR_H
#define SPARSEC_TEST_DEVICE_PLACED_TENSOR_H

#include "harness/handles.h"

namespace sparsec::device_test {

/// The least multiple of the unit that is not below the number.
inline int64_t roundUp(int64_t number, int64_t unit) { return (number + unit - 1) / unit * unit; }

/// How tensors lie in memory.
enum class Placement {
  Tight,      ///< rows follow one another
  Padded,     ///< rows further apart than they are wide, 16-byte aligned
  Misaligned, ///< as Padded, but the first element and the rows are aligned to one element only
};

/// Every byte that is not an element of a tensor. It makes a NaN of every element type, so that a read of it shows in
/// the result and a result that is not written shows too.
constexpr char poison = static_cast<char>(0xff);

/// A dense tensor of rank 0 to 2 in device memory that is poisoned all around, and its copy in host memory.
class PlacedTensor {
public:
  PlacedTensor(sparsec_device_t device, sparsec_dtype_t dtype, const std::vector<int64_t> &sizes, Placement placement,
               size_t guardBytes);

  const sparsec_dense_t &view() const { return dense; }
  /// The copy in host memory; valid as long as this tensor.
  sparsec_dense_t hostView();

  /// Element (i, j) of the copy in host memory; j is 0 below rank 2.
  double get(int64_t i, int64_t j) const;
  void set(int64_t i, int64_t j, double value);
  void poisonAll();
  void upload() { buffer.upload(image.data()); }
  void download() { buffer.download(image.data()); }
  const std::vector<char> &bytes() const { return image; }
  /// Whether all bytes beside the elements are still poison.
  bool surroundingsIntact() const;

private:
  int64_t elementOffset(int64_t i, int64_t j) const { return first + i * rowStride + j; }

  std::vector<char> image;
  harness::DeviceBuffer buffer;
  sparsec_dense_t dense = {};
  int64_t first = 0;     // element of the image that is element 0 of the tensor
  int64_t rowStride = 0; // elements
  int64_t rowCount = 1, rowWidth = 1;
};

/// The indices, and behind them -1: an index that is not there.
std::vector<int32_t> withGuard(std::vector<int32_t> indices, size_t guardBytes);

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_PLACED_TENSOR_H
