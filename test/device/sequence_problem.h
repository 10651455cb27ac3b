// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arguments of one attention kernel whose sequences have sizes of their own, and its results in double.

#ifndef SPARSEC_TEST_DEVICE_SEQUENCE_PROBLEM_H
#define SPARSEC_TEST_DEVICE_SEQUENCE_PROBLEM_H

#include "attention_problem.h"
#include "kernel_files.h"

#include <memory>

namespace sparsec::device_test {

struct SequenceSize {
  int64_t queries, keys;
};

struct SequenceShape {
  const char *name;
  int64_t heads, keyHeads;
  SequenceOrder order;
  Placement placement;
  std::vector<SequenceSize> sequences; // kernels without packed queries take the largest number for all
};

std::vector<SequenceShape> sequenceShapes(bool quick);

class SequenceProblem {
public:
  SequenceProblem(sparsec_device_t device, sparsec_kernel_t kernel, const KernelRecord &record,
                  const SequenceShape &shape, size_t guardBytes);

  const std::vector<Argument> &arguments() const { return views; }
  /// Other sizes in the same memory, which is large enough for them: those of the shape, by turns.
  void changeSizes(int round);
  /// Without a workspace, or with one.
  void launch(void *stream, sparsec_plan_t plan = nullptr, const harness::DeviceBuffer *workspace = nullptr) const;
  /// Waits for the device, and downloads the results.
  void wait();
  void downloadResults();
  void poisonResults();
  std::vector<char> resultBytes() const;
  /// Empty where all results are right, and rows of no sequence are as they were.
  std::string findError() const;

private:
  struct Place {
    int64_t outer, row; // batch or page, and the row in it
  };

  void placeArgument(size_t number);
  void placeRows(size_t number, int64_t outer, int64_t heads, int64_t rows, std::unique_ptr<PlacedTensor> &tensor);
  void placeNumbers(size_t number, const std::vector<int64_t> &sizes, std::unique_ptr<PlacedTensor> &tensor);
  void placeSinks(size_t number);
  void placePattern(size_t number);
  void fillQueries();
  void fillKeys(PlacedTensor &tensor, uint64_t seed, int64_t width);
  void fillSizes();

  int64_t sequenceCount() const { return int64_t(sizes.size()); }
  int64_t mostQueries() const;
  int64_t totalOf(int64_t SequenceSize::*size) const;
  int64_t startOf(int64_t sequence, int64_t SequenceSize::*size) const;
  Place queryPlace(int64_t sequence, int64_t query) const;
  Place keyPlace(int64_t sequence, int64_t key) const;
  int64_t memoryRow(Place place, int64_t head, int64_t heads, int64_t rows) const;
  int64_t pageOf(int64_t sequence, int64_t number) const;

  // The attention in double.
  sparsec_block_state_t stateOf(int64_t sequence, int64_t head, int64_t query, int64_t key) const;
  bool isVisible(int64_t sequence, int64_t head, int64_t query, int64_t key) const;
  double scoreOf(int64_t sequence, int64_t head, int64_t query, int64_t key) const;
  std::string checkRow(int64_t sequence, int64_t head, int64_t query) const;
  std::string checkUntouched() const;
  bool hasRegion(std::string_view name) const {
    return std::string_view(record.name).ends_with("_" + std::string(name));
  }

  sparsec_device_t device;
  sparsec_kernel_t kernel;
  const KernelRecord &record;
  SequenceShape shape;
  size_t guardBytes;
  std::vector<SequenceSize> sizes; // of the sequences now
  int64_t queryRows, keyRows;      // of Q, and of K or a page, for each head
  int64_t queryOuter, keyOuter;    // batches, or pages
  int64_t pagesOfSequence = 0;
  std::vector<Argument> views;
  std::unique_ptr<PlacedTensor> query, key, value, result, lse, sinks, queryStarts, keyStarts, keyLengths, pageTable;
  BlockStates blocks;
  std::unique_ptr<PatternLists> lists;
  harness::DeviceBuffer partialStarts, partialIndices, fullStarts, fullIndices;
};

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_SEQUENCE_PROBLEM_H
