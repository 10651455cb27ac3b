// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arguments of one kernel for one problem, in device memory that is poisoned all around, and the check of its
// result.

#ifndef SPARSEC_TEST_DEVICE_ARGUMENTS_H
#define SPARSEC_TEST_DEVICE_ARGUMENTS_H

#include "epilogues.h"
#include "harness/handles.h"
#include "problem.h"

namespace sparsec::device_test {

/// Every byte that is not an element of a tensor. It makes a NaN of every element type, so that a read of it shows in
/// the result and a result that is not written shows too.
constexpr char poison = static_cast<char>(0xff);

/// A dense tensor of rank 0 to 2 in device memory.
class PlacedTensor {
public:
  PlacedTensor(sparsec_device_t device, sparsec_dtype_t dtype, const std::vector<int64_t> &sizes, Placement placement,
               size_t guardBytes);

  const sparsec_dense_t &view() const { return dense; }

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

class KernelArguments {
public:
  /// `problem` must outlive the arguments.
  KernelArguments(sparsec_device_t device, sparsec_kernel_t kernel, const Problem &problem, Placement placement,
                  size_t guardBytes);

  const std::vector<sparsec_argument_t> &list() const { return arguments; }
  const sparsec_bsr_t &matrix() const { return bsr; }
  /// The variant that a launch must take by the rule of sparsec_variant_info_t.
  size_t expectedVariant() const;

  void poisonResult();
  void launch(sparsec_plan_t plan, void *stream) const;
  /// poisonResult, launch, wait and download.
  void run(sparsec_plan_t plan);
  /// Fetches the result after launches.
  void downloadResult() { result->download(); }
  const std::vector<char> &resultBytes() const { return result->bytes(); }
  /// Empty when the downloaded result is right, else what is wrong with the first bad element.
  std::string findError() const;

private:
  void placeMatrix(size_t argument, Placement placement, size_t guardBytes);
  void placeDense(size_t argument, Placement placement, size_t guardBytes);
  double extraElement(int extra, int64_t m, int64_t n) const;
  std::string checkRow(int64_t m) const;

  sparsec_device_t device;
  sparsec_kernel_t kernel;
  const Problem &problem;
  const Epilogue &epilogue;
  sparsec_bsr_t bsr = {};
  std::vector<sparsec_argument_t> arguments;
  std::vector<const sparsec_argument_info_t *> extras;
  std::vector<harness::DeviceBuffer> indexBuffers;
  std::vector<std::unique_ptr<PlacedTensor>> tensors;
  PlacedTensor *result = nullptr;
  const sparsec_argument_info_t *resultInfo = nullptr;
};

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_ARGUMENTS_H
