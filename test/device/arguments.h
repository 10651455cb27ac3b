// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arguments of one SpMM kernel for one problem, and the check of its result.

#ifndef SPARSEC_TEST_DEVICE_ARGUMENTS_H
#define SPARSEC_TEST_DEVICE_ARGUMENTS_H

#include "epilogues.h"
#include "placed_tensor.h"
#include "problem.h"

namespace sparsec::device_test {

/// The scales that a kernel takes.
ScaleKinds scaleKindsOf(sparsec_kernel_t kernel);

class KernelArguments {
public:
  /// `problem` must outlive the arguments.
  KernelArguments(sparsec_device_t device, sparsec_kernel_t kernel, const Problem &problem, Placement placement,
                  size_t guardBytes);

  const std::vector<Argument> &list() const { return arguments; }
  /// All but the matrix are open: for a plan that serves every width.
  std::vector<Argument> matrixOnly() const;
  const sparsec_blocks_t &matrix() const { return bsr; }
  /// The variant that a launch must take by the rule of sparsec_requirement_info_t: without a plan, or with one that
  /// has windows, without packed values, and with whole tiles.
  size_t expectedVariant(bool hasWindows = false) const;

  /// Memory that later launches bring; null: none.
  void bringWorkspace(const harness::DeviceBuffer *memory) { workspace = memory; }

  void poisonResult();
  /// The plan and the packed values may be null.
  void launch(sparsec_plan_t plan, void *stream, sparsec_packed_t packed = nullptr) const;
  /// poisonResult, launch, wait and download.
  void run(sparsec_plan_t plan, sparsec_packed_t packed = nullptr);
  /// Fetches the result after launches.
  void downloadResult() { result->download(); }
  const std::vector<char> &resultBytes() const { return result->bytes(); }
  sparsec_dense_t resultView() const { return result->view(); }
  /// Empty when the downloaded result is right, else what is wrong with the first bad element.
  std::string findError() const;

private:
  void placeMatrix(size_t argument, Placement placement, size_t guardBytes);
  void placeDense(size_t argument, Placement placement, size_t guardBytes);
  PlacedTensor &placeTensor(size_t argument, const std::vector<int64_t> &sizes, Placement placement, size_t guardBytes);
  void placeScales(size_t argument, Placement placement, size_t guardBytes);
  double extraElement(int extra, int64_t m, int64_t n) const;
  double lossOfRow(int64_t m) const;
  std::string checkRow(int64_t m) const;
  bool hasFewTiles(size_t variant) const;
  bool runsAtOnce(size_t variant) const;

  sparsec_device_t device;
  sparsec_kernel_t kernel;
  const Problem &problem;
  const Epilogue &epilogue;
  sparsec_blocks_t bsr = {};
  std::vector<Argument> arguments;
  std::vector<size_t> extras; // their arguments
  std::vector<harness::DeviceBuffer> indexBuffers;
  std::vector<std::unique_ptr<PlacedTensor>> tensors;
  PlacedTensor *result = nullptr;
  const harness::DeviceBuffer *workspace = nullptr;
  size_t resultArgument = 0;
};

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_ARGUMENTS_H
