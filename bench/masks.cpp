// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "masks.h"
#include "harness/numeric.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace sparsec::bench {

using namespace harness;

namespace {

constexpr double denseRowShare = 0.05, emptyRowShare = 0.5;

/// Added to the seed of a mask for its other choices, so that they do not depend on each other.
enum : uint64_t { rowChoice = 1000, columnChoice = 2000 };

/// 0 to count - 1 in random order.
std::vector<int64_t> shuffled(int64_t count, uint64_t seed) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::pair(randomBits(seed, a), a) < std::pair(randomBits(seed, b), b);
  });
  return order;
}

/// Every block of row i is there with probability share(i).
template <typename Share>
BlockPattern patternOfShares(int64_t blockRows, int64_t blockColumns, uint64_t seed, const Share &share) {
  return makePattern(blockRows, blockColumns,
                     [&](int64_t i, int64_t j) { return randomUnit(seed, i * blockColumns + j) < share(i); });
}

/// The same number of blocks in every row, in random columns.
BlockPattern uniformPattern(int64_t blockRows, int64_t blockColumns, double density, uint64_t seed) {
  auto count = std::clamp<int64_t>(std::llround(density * static_cast<double>(blockColumns)), 1, blockColumns);
  BlockPattern pattern{blockRows, blockColumns, {0}, {}};
  for (int64_t i = 0; i < blockRows; ++i) {
    std::vector<int64_t> columns = shuffled(blockColumns, seed + columnChoice + static_cast<uint64_t>(i));
    std::sort(columns.begin(), columns.begin() + count);
    pattern.colIdx.insert(pattern.colIdx.end(), columns.begin(), columns.begin() + count);
    pattern.rowPtr.push_back(static_cast<int32_t>(pattern.colIdx.size()));
  }
  return pattern;
}

/// The row with the k-th most blocks has 1 / k of those of the first one, up to all. Rows are in random order.
BlockPattern powerLawPattern(int64_t blockRows, int64_t blockColumns, double density, uint64_t seed) {
  auto shareOfRank = [](double first, int64_t rank) { return std::min(1.0, first / static_cast<double>(rank + 1)); };
  double low = 0, high = static_cast<double>(blockRows); // of the first row, were rows longer
  for (int step = 0; step < 60; ++step) {
    double first = (low + high) / 2, sum = 0;
    for (int64_t rank = 0; rank < blockRows; ++rank)
      sum += shareOfRank(first, rank);
    (sum < density * static_cast<double>(blockRows) ? low : high) = first;
  }
  std::vector<int64_t> ranks = shuffled(blockRows, seed + rowChoice);
  return patternOfShares(blockRows, blockColumns, seed, [&](int64_t i) { return shareOfRank(high, ranks[i]); });
}

/// Some rows, in random places, with one density and the others with another.
BlockPattern twoKindsOfRows(int64_t blockRows, int64_t blockColumns, int64_t chosen, double densityOfChosen,
                            double densityOfOthers, uint64_t seed) {
  std::vector<int64_t> places = shuffled(blockRows, seed + rowChoice);
  return patternOfShares(blockRows, blockColumns, seed,
                         [&](int64_t i) { return places[i] < chosen ? densityOfChosen : densityOfOthers; });
}

BlockPattern denseRowsPattern(int64_t blockRows, int64_t blockColumns, double density, uint64_t seed) {
  auto rows = static_cast<double>(blockRows);
  int64_t chosen = std::max<int64_t>(1, std::llround(std::min(denseRowShare, density / 2) * rows));
  double share = static_cast<double>(chosen) / rows;
  double others = share < 1 ? std::max(0.0, (density - share) / (1 - share)) : 0;
  return twoKindsOfRows(blockRows, blockColumns, chosen, 1, others, seed);
}

BlockPattern emptyRowsPattern(int64_t blockRows, int64_t blockColumns, double density, uint64_t seed) {
  auto rows = static_cast<double>(blockRows);
  int64_t chosen = std::llround(std::min(emptyRowShare, 1 - density) * rows);
  double share = static_cast<double>(chosen) / rows;
  return twoKindsOfRows(blockRows, blockColumns, chosen, 0, density / (1 - share), seed);
}

/// The pattern of the sizes 0 to `most` whose number of blocks is nearest to that of the density. The number grows with
/// the size; make(size) has a pattern.
template <typename Make>
BlockPattern nearestPattern(int64_t blockRows, int64_t blockColumns, double density, int64_t most, const Make &make) {
  double wanted = density * static_cast<double>(blockRows * blockColumns);
  int64_t low = 0, high = most; // the first size that has enough blocks is above `low`, or it is 0
  while (high - low > 1) {
    int64_t middle = (low + high) / 2;
    (static_cast<double>(make(middle).blockCount()) < wanted ? low : high) = middle;
  }
  BlockPattern below = make(low), above = make(high);
  bool isBelowNearer = std::abs(static_cast<double>(below.blockCount()) - wanted) <=
                       std::abs(static_cast<double>(above.blockCount()) - wanted);
  return isBelowNearer && below.blockCount() > 0 ? below : above;
}

/// Blocks near the diagonal, which goes from the first to the last block.
BlockPattern bandPattern(int64_t blockRows, int64_t blockColumns, double density, uint64_t /*seed*/) {
  // Distances to the diagonal in units of 1 / (2 R) of a column.
  auto distance = [&](int64_t i, int64_t j) { return std::abs((2 * j + 1) * blockRows - (2 * i + 1) * blockColumns); };
  return nearestPattern(blockRows, blockColumns, density, 2 * blockRows * blockColumns, [&](int64_t size) {
    return makePattern(blockRows, blockColumns, [&](int64_t i, int64_t j) { return distance(i, j) < size; });
  });
}

/// The first rows, as many of the first columns, and the diagonal.
BlockPattern arrowPattern(int64_t blockRows, int64_t blockColumns, double density, uint64_t /*seed*/) {
  return nearestPattern(blockRows, blockColumns, density, std::max(blockRows, blockColumns), [&](int64_t size) {
    return makePattern(blockRows, blockColumns, [&](int64_t i, int64_t j) {
      return i < size || j < size || j * blockRows / blockColumns == i || i * blockColumns / blockRows == j;
    });
  });
}

/// Full squares along the diagonal, as many as 1 / density.
BlockPattern blockDiagonalPattern(int64_t blockRows, int64_t blockColumns, double density, uint64_t /*seed*/) {
  int64_t squares = std::clamp<int64_t>(std::llround(1 / density), 1, std::min(blockRows, blockColumns));
  return makePattern(blockRows, blockColumns,
                     [&](int64_t i, int64_t j) { return i * squares / blockRows == j * squares / blockColumns; });
}

constexpr MaskKind kinds[] = {
    {"random", "every block is there with the same probability", bernoulliPattern},
    {"uniform", "as many blocks in every row, in random columns", uniformPattern},
    {"power-law", "the k-th longest row has 1/k of the blocks of the longest", powerLawPattern},
    {"dense-rows", "5 % of the rows are full, but they have at most half of the blocks", denseRowsPattern},
    {"empty-rows", "half of the rows are empty, as far as the density allows", emptyRowsPattern},
    {"band", "the blocks nearest to the diagonal", bandPattern},
    {"arrow", "the first rows, as many of the first columns, and the diagonal", arrowPattern},
    {"block-diagonal", "full squares along the diagonal", blockDiagonalPattern},
};

double densityOf(const BlockPattern &pattern) {
  return static_cast<double>(pattern.blockCount()) / static_cast<double>(pattern.blockRows * pattern.blockColumns);
}

} // namespace

std::span<const MaskKind> maskKinds() { return kinds; }

const MaskKind *findMaskKind(const std::string &name) {
  const MaskKind *found = std::ranges::find_if(kinds, [&](const MaskKind &kind) { return kind.name == name; });
  return found == std::end(kinds) ? nullptr : found;
}

std::string maskKindNames() {
  std::vector<std::string> names;
  for (const MaskKind &kind : kinds)
    names.emplace_back(kind.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool Mask::fits(int64_t blockRows, int64_t blockColumns) const {
  return kind || (given.blockRows == blockRows && given.blockColumns == blockColumns);
}

BlockPattern Mask::make(int64_t blockRows, int64_t blockColumns, double density) const {
  return kind ? kind->make(blockRows, blockColumns, density, maskSeed) : given;
}

std::vector<MaskCase> maskCases(const std::vector<Mask> &masks, const std::vector<double> &densities) {
  std::vector<MaskCase> cases;
  for (const Mask &mask : masks)
    for (double density : densities)
      if (mask.kind)
        cases.push_back({&mask, density});
  auto random = std::ranges::find_if(masks, [](const Mask &mask) { return mask.kind && mask.name == "random"; });
  for (const Mask &mask : masks) {
    if (mask.kind)
      continue;
    double density = densityOf(mask.given);
    bool isTimed = std::ranges::any_of(
        cases, [&](const MaskCase &other) { return &*random == other.mask && other.density == density; });
    if (random != masks.end() && !isTimed)
      cases.push_back({&*random, density});
    cases.push_back({&mask, density});
  }
  return cases;
}

std::string smtxText(const BlockPattern &pattern) {
  return fmt::format("{}, {}, {}\n{}\n{}\n", pattern.blockRows, pattern.blockColumns, pattern.blockCount(),
                     fmt::join(pattern.rowPtr, " "), fmt::join(pattern.colIdx, " "));
}

} // namespace sparsec::bench
