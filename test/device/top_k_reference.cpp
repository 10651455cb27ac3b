// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "top_k_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace sparsec::device_test {

namespace {

constexpr float largestScore = std::numeric_limits<float>::infinity(),
                noScore = std::numeric_limits<float>::quiet_NaN();

float chooseScore(ScoreKind kind, std::mt19937 &random) {
  const auto uniform = [&] { return float(random() >> 8) / float(1 << 24); }; // [0, 1)
  constexpr float few[] = {-2, -1, -0.f, 0, 1, 2},
                  special[] = {noScore, -noScore, largestScore, -largestScore, 1e-44f, -1e-44f, 0, -0.f};
  switch (kind) {
  case ScoreKind::Distinct:
    return uniform() + uniform() + uniform() + uniform() - 2;
  case ScoreKind::Positive:
    return std::exp2(-40 * uniform());
  case ScoreKind::Few:
    return few[random() % std::size(few)];
  case ScoreKind::Special:
    return random() % 2 ? special[random() % std::size(special)] : 2 * uniform() - 1;
  case ScoreKind::Equal:
    return -.75f;
  case ScoreKind::None:
    return random() % 2 ? noScore : -largestScore;
  }
  return 0;
}

/// Whether the causal limit and the window of the kernel leave some element of a block.
bool isInReach(const ScoreProblem &problem, const KernelRecord &kernel, int64_t row, int64_t column) {
  if (kernel.hasSequences())
    return true;
  const sparsec_blocks_t &shape = problem.blocks.shape;
  const int64_t firstQuery = row * shape.block_rows, firstKey = column * shape.block_columns;
  for (int64_t query = firstQuery; query < std::min(firstQuery + shape.block_rows, shape.rows); ++query)
    for (int64_t key = firstKey; key < std::min(firstKey + shape.block_columns, shape.columns); ++key) {
      const int64_t distance = query + shape.columns - shape.rows - key; // from the key to the position of the query
      if ((kernel.isCausal && distance < 0) || (kernel.windowLeft >= 0 && distance > kernel.windowLeft) ||
          (kernel.windowRight >= 0 && -distance > kernel.windowRight))
        continue;
      return true;
    }
  return false;
}

} // namespace

ScoreProblem chooseScores(BlockStates blocks, const ScoreCase &scores, uint64_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  ScoreProblem problem = {std::move(blocks), {}, {}, 0, scores.hasMask};
  for (size_t i = 0; i < problem.blocks.states.size(); ++i)
    problem.scores.push_back(chooseScore(scores.kind, random));
  for (int64_t list = 0; scores.hasCounts && list < problem.blocks.listCount(); ++list)
    problem.counts.push_back(int32_t(random() % uint32_t(problem.blocks.columns + 3)) - 1);
  problem.k = int64_t(std::ceil(scores.share * double(problem.blocks.columns)));
  return problem;
}

BlockStates chosenBlocks(const ScoreProblem &problem, const KernelRecord &kernel) {
  BlockStates chosen = problem.blocks;
  const int64_t columns = problem.blocks.columns;
  for (int64_t list = 0; list < problem.blocks.listCount(); ++list) {
    uint8_t *states = chosen.states.data() + list * columns;
    std::vector<int64_t> candidates;
    for (int64_t column = 0; column < columns; ++column) {
      const float score = problem.scores[list * columns + column];
      const bool isAllowed = !problem.hasMask || states[column] != SPARSEC_BLOCK_EMPTY;
      if (isAllowed && !std::isnan(score) && score != -largestScore &&
          isInReach(problem, kernel, list % problem.blocks.rows, column))
        candidates.push_back(column);
    }
    std::stable_sort(candidates.begin(), candidates.end(), [&](int64_t a, int64_t b) {
      return problem.scores[list * columns + a] > problem.scores[list * columns + b];
    });
    int64_t count = std::min<int64_t>(problem.k, std::ssize(candidates));
    if (!problem.counts.empty())
      count = std::min<int64_t>(count, std::max(problem.counts[list], 0));
    std::vector<uint8_t> after(columns, SPARSEC_BLOCK_EMPTY);
    for (int64_t i = 0; i < count; ++i)
      after[candidates[i]] = problem.hasMask ? states[candidates[i]] : uint8_t(SPARSEC_BLOCK_FULL);
    std::copy(after.begin(), after.end(), states);
  }
  return chosen;
}

} // namespace sparsec::device_test
