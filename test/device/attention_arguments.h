// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arguments of one attention kernel for one problem, in device and in host memory, and the check of its results.

#ifndef SPARSEC_TEST_DEVICE_ATTENTION_ARGUMENTS_H
#define SPARSEC_TEST_DEVICE_ATTENTION_ARGUMENTS_H

#include "attention_problem.h"

#include <memory>

namespace sparsec::device_test {

/// The knowledge of the lists when a plan is made.
enum class PlanKind {
  None,  ///< no plan
  Lists, ///< for these lists
  Sizes, ///< for the sizes alone
  Static ///< for these lists, which stay as they are
};

class AttentionArguments {
public:
  /// `blocks` may be null for kernels without a pattern.
  AttentionArguments(sparsec_device_t device, sparsec_kernel_t kernel, const AttentionShape &shape, size_t guardBytes,
                     const BlockStates *blocks = nullptr,
                     sparsec_pattern_encoding_t encoding = SPARSEC_PATTERN_INDEX_ARRAYS, bool isUnsorted = false);

  /// Other lists of the same encoding and sizes, in the same device memory.
  void replaceLists(const BlockStates &blocks, bool isUnsorted);

  /// The variant that a launch without a plan takes, and the one that it must take: the first one, or without alignment
  /// the last one.
  /// That of a launch with this plan.
  size_t chosenVariant(sparsec_plan_t plan = nullptr) const;
  /// That of a launch without a plan.
  size_t expectedVariant() const;

  /// Null without a plan.
  harness::Plan createPlan(PlanKind kind) const;
  /// The variant for few tiles.
  size_t partsVariant() const;
  /// Brings as much workspace as the plan asks for that variant from now on. Its bytes are zero where a tile counter
  /// needs that, else NaN.
  void bringWorkspace(const harness::Plan &plan);

  void poisonResults();
  /// With the workspace of these arguments, or with one that several share.
  void launch(void *stream, sparsec_plan_t plan = nullptr,
              const harness::DeviceBuffer *sharedWorkspace = nullptr) const;
  /// poisonResults, launch, wait and download.
  void run(sparsec_plan_t plan = nullptr, const harness::DeviceBuffer *sharedWorkspace = nullptr);
  /// Fetches the results after launches.
  void downloadResults();
  std::vector<char> resultBytes() const;

  const std::vector<Argument> &deviceViews() const { return arguments; }
  const std::vector<Argument> &hostViews() const { return hostArguments; }

  /// The exact results: a row for every query of every head of every batch.
  struct Expected {
    std::vector<double> y, magnitude;      // rows x Dv
    std::vector<double> lse, lseMagnitude; // rows
  };
  Expected computeExpected() const;
  /// Empty when the downloaded results are right, else what is wrong with the first bad element.
  std::string findError(const Expected &expected) const;

private:
  void placeArgument(size_t number);
  void placeRows(size_t number, int64_t heads, int64_t length, uint64_t seed, double size);
  void placeCourse(PlacedTensor &tensor, int64_t heads, int64_t length, bool ofKeys) const;
  void placeLse(size_t number);
  void placeSinks(size_t number);
  void placeOperand(size_t number);
  void placePattern(size_t number, const BlockStates &blocks, sparsec_pattern_encoding_t encoding, bool isUnsorted);
  PlacedTensor &place(size_t number, const std::vector<int64_t> &sizes, Placement placement);
  void setDense(size_t number, PlacedTensor &tensor, const sparsec_dense_t &shape);
  sparsec_dense_t rowsView(const PlacedTensor &tensor, int64_t heads, int64_t length) const;
  int64_t memoryRow(int64_t batch, int64_t head, int64_t heads, int64_t position, int64_t length) const;
  double scoreError() const;
  double smallWeightError() const;
  std::string checkRow(const Expected &expected, int64_t row) const;
  double dimension() const;
  int64_t widthOf(size_t number) const;

  sparsec_device_t device;
  sparsec_kernel_t kernel;
  AttentionShape shape;
  size_t guardBytes;
  std::vector<Argument> arguments, hostArguments;
  std::vector<std::unique_ptr<PlacedTensor>> tensors;
  std::unique_ptr<PatternLists> lists;
  struct ListBuffers {
    harness::DeviceBuffer starts, indices;
  };
  ListBuffers partialBuffers, fullBuffers;
  harness::DeviceBuffer workspace;
  PlacedTensor *result = nullptr, *lse = nullptr;
  uint32_t valueDtype = SPARSEC_DTYPE_NONE;
};

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_ATTENTION_ARGUMENTS_H
