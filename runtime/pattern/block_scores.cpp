// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/block_scores.h"
#include "arguments/memory_check.h"
#include "arguments/strides.h"
#include "operations/sequences.h"
#include "plan/key_range.h"

#include <limits>
#include <numeric>
#include <thread>

namespace sparsec::runtime {

namespace {

constexpr Subject scoresSubject = {"scores"};

int64_t blockCount(const sparsec_blocks_t &pattern) { return listCount(pattern) * blockColumnCount(pattern); }

Status checkSizes(const sparsec_dense_t &view, const sparsec_blocks_t &pattern) {
  const int64_t expected[] = {pattern.batches, pattern.heads, blockRowCount(pattern), blockColumnCount(pattern)};
  if (view.rank != 4)
    return invalidArgument(scoresSubject, ": expects rank 4, but got ", view.rank);
  for (int d = 0; d < 4; ++d)
    if (view.sizes[d] != expected[d])
      return invalidArgument(scoresSubject, ": expects size ", d, " to be ", expected[d],
                             ", as the buffer has it, but got ", view.sizes[d]);
  int64_t stride = 1;
  for (int d = 3; d >= 0; stride *= view.sizes[d--])
    if (usesStride(view, d) && view.strides[d] != stride)
      return invalidArgument(scoresSubject, ": expects a contiguous tensor, so that stride ", d, " is ", stride,
                             ", but got ", view.strides[d]);
  return {};
}

Status checkAligned(const char *name, const void *pointer) {
  if (isMultiple(reinterpret_cast<uintptr_t>(pointer), 4))
    return {};
  return invalidArgument(name, " is not aligned to the 4 bytes of its elements");
}

/// The best blocks of one list after the other.
class Chooser {
public:
  Chooser(const BlockScores &scores, const sparsec_blocks_t &pattern, const sparsec_kernel_s *kernel)
      : scores(scores), pattern(pattern), columns(blockColumnCount(pattern)),
        window(kernel && !hasOwnLengths(*kernel) ? keyWindow(*kernel) : KeyWindow()) {}

  void choose(int64_t list, uint8_t *statesOfList);

private:
  void findCandidates(int64_t list);

  const BlockScores &scores;
  const sparsec_blocks_t &pattern;
  const int64_t columns;
  const KeyWindow window; // none where the positions of queries differ from sequence to sequence
  std::vector<int64_t> candidates;
};

/// The blocks that the list may have.
void Chooser::findCandidates(int64_t list) {
  const int64_t first = list % blockRowCount(pattern) * pattern.block_rows;
  const int64_t last = std::min(first + pattern.block_rows, pattern.rows) - 1;
  const int64_t beginKey = visibleKeys(window, pattern.rows, pattern.columns, first).begin;
  const int64_t endKey = visibleKeys(window, pattern.rows, pattern.columns, last).end;
  candidates.clear();
  if (beginKey >= endKey)
    return;
  for (int64_t column = beginKey / pattern.block_columns; column < ceilDivide(endKey, pattern.block_columns);
       ++column) {
    const int64_t block = list * columns + column;
    const bool isAllowed = !scores.mask || scores.mask[block] != SPARSEC_BLOCK_EMPTY;
    if (isAllowed && scores.scores[block] > -std::numeric_limits<float>::infinity()) // false for NaN
      candidates.push_back(block);
  }
}

void Chooser::choose(int64_t list, uint8_t *statesOfList) {
  findCandidates(list);
  int64_t limit = std::min<int64_t>(scores.k, int64_t(candidates.size()));
  if (scores.counts)
    limit = std::clamp<int64_t>(scores.counts[list], 0, limit);
  const auto isBetter = [&](int64_t a, int64_t b) {
    return scores.scores[a] != scores.scores[b] ? scores.scores[a] > scores.scores[b] : a < b;
  };
  const auto end = candidates.begin() + limit;
  if (end != candidates.end())
    std::nth_element(candidates.begin(), end, candidates.end(), isBetter);
  for (auto block = candidates.begin(); block != end; ++block)
    statesOfList[*block - list * columns] = scores.mask ? scores.mask[*block] : uint8_t(SPARSEC_BLOCK_FULL);
}

} // namespace

Status checkScores(const sparsec_dense_t *view, const sparsec_blocks_t &pattern, BlockScores &scores) {
  if (!view)
    return invalidArgument("scores is NULL");
  SPARSEC_RETURN_IF_ERROR(checkStructSize(*view, scoresSubject));
  SPARSEC_RETURN_IF_ERROR(checkPlace(scoresSubject, view->device, pattern.device));
  if (view->dtype != SPARSEC_DTYPE_F32)
    return invalidArgument(scoresSubject, ": expects elements of type f32, but got ",
                           dtypeName(enumValue(view->dtype)));
  SPARSEC_RETURN_IF_ERROR(checkSizes(*view, pattern));
  if (blockCount(pattern) != 0 && !view->data)
    return invalidArgument(scoresSubject, ": data is NULL");
  SPARSEC_RETURN_IF_ERROR(checkAligned("scores: data", view->data));
  SPARSEC_RETURN_IF_ERROR(checkAligned("counts", scores.counts));
  if (scores.k < 0 || scores.k > pattern.capacity)
    return invalidArgument("k: expects 0 to ", pattern.capacity, ", the number of key blocks, but got ", scores.k);
  scores.scores = static_cast<const float *>(view->data);
  return {};
}

Status checkScoreMemory(const Device &device, const BlockScores &scores, const sparsec_blocks_t &pattern) {
  const auto lists = uint64_t(listCount(pattern)), blocks = uint64_t(blockCount(pattern));
  SPARSEC_RETURN_IF_ERROR(checkMemory(device, "scores", footprintOf(scores.scores, blocks * sizeof(float))));
  if (scores.counts)
    SPARSEC_RETURN_IF_ERROR(checkMemory(device, "counts", footprintOf(scores.counts, lists * sizeof(int32_t))));
  return scores.mask ? checkMemory(device, "mask", footprintOf(scores.mask, blocks)) : Status();
}

Status chooseBlocks(const BlockScores &scores, const sparsec_blocks_t &pattern, const sparsec_kernel_s *kernel,
                    BlockStates &outStates) {
  if (scores.mask)
    SPARSEC_RETURN_IF_ERROR(checkBlockStates("mask", scores.mask, blockCount(pattern)));
  outStates.assign(blockCount(pattern), SPARSEC_BLOCK_EMPTY);
  ThreadPool threads(std::max(1u, std::thread::hardware_concurrency()));
  threads.run(listCount(pattern), [&](int64_t begin, int64_t end) {
    Chooser chooser(scores, pattern, kernel);
    for (int64_t list = begin; list < end; ++list)
      chooser.choose(list, outStates.data() + list * blockColumnCount(pattern));
  });
  return {};
}

} // namespace sparsec::runtime
