// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The masks of sparsec-bench: density and shape of every kind.

#include "mask_file.h"
#include "masks.h"
#include "pattern.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

namespace sparsec::bench {
namespace {

using harness::BlockPattern;

BlockPattern make(const std::string &name, int64_t rows, int64_t columns, double density, uint64_t seed = maskSeed) {
  return findMaskKind(name)->make(rows, columns, density, seed);
}

std::vector<int64_t> rowCounts(const BlockPattern &pattern) {
  std::vector<int64_t> counts(pattern.blockRows);
  for (int64_t i = 0; i < pattern.blockRows; ++i)
    counts[i] = pattern.rowPtr[i + 1] - pattern.rowPtr[i];
  return counts;
}

double densityOf(const BlockPattern &pattern) {
  return static_cast<double>(pattern.colIdx.size()) / static_cast<double>(pattern.blockRows * pattern.blockColumns);
}

bool holds(const BlockPattern &pattern, int64_t i, int64_t j) {
  auto begin = pattern.colIdx.begin();
  return std::binary_search(begin + pattern.rowPtr[i], begin + pattern.rowPtr[i + 1], static_cast<int32_t>(j));
}

bool isSame(const BlockPattern &a, const BlockPattern &b) { return a.rowPtr == b.rowPtr && a.colIdx == b.colIdx; }

TEST(Masks, KindsHaveNames) {
  std::set<std::string> names;
  for (const MaskKind &kind : maskKinds()) {
    EXPECT_EQ(findMaskKind(kind.name), &kind);
    names.insert(kind.name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"arrow", "band", "block-diagonal", "dense-rows", "empty-rows", "power-law",
                                          "random", "uniform"}));
  EXPECT_EQ(findMaskKind("static"), nullptr);
}

TEST(Masks, AreBlockSparseMatricesOfTheDensity) {
  for (const MaskKind &kind : maskKinds())
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{128, 128}, {96, 240}, {240, 96}})
      for (double density : {1.0, 0.5, 0.25, 0.1, 0.05}) {
        SCOPED_TRACE(std::string(kind.name) + " " + std::to_string(rows) + " " + std::to_string(density));
        BlockPattern pattern = kind.make(rows, columns, density, maskSeed);
        ASSERT_EQ(pattern.blockRows, rows);
        ASSERT_EQ(pattern.blockColumns, columns);
        ASSERT_EQ(pattern.rowPtr.size(), static_cast<size_t>(rows + 1));
        EXPECT_EQ(pattern.rowPtr.front(), 0);
        EXPECT_EQ(pattern.rowPtr.back(), pattern.blockCount());
        for (int64_t i = 0; i < rows; ++i) {
          ASSERT_LE(pattern.rowPtr[i], pattern.rowPtr[i + 1]);
          for (int32_t p = pattern.rowPtr[i]; p < pattern.rowPtr[i + 1]; ++p) {
            ASSERT_TRUE(pattern.colIdx[p] >= 0 && pattern.colIdx[p] < columns);
            ASSERT_TRUE(p == pattern.rowPtr[i] || pattern.colIdx[p - 1] < pattern.colIdx[p]);
          }
        }
        EXPECT_NEAR(densityOf(pattern), density, 0.013);
      }
}

TEST(Masks, DependOnTheSeedAlone) {
  const std::set<std::string> fixed = {"arrow", "band", "block-diagonal"};
  for (const MaskKind &kind : maskKinds()) {
    BlockPattern pattern = kind.make(64, 64, 0.25, 7);
    EXPECT_TRUE(isSame(pattern, kind.make(64, 64, 0.25, 7))) << kind.name;
    EXPECT_EQ(isSame(pattern, kind.make(64, 64, 0.25, 8)), fixed.contains(kind.name)) << kind.name;
  }
}

TEST(Masks, RandomOnesAreThoseOfRecordedResults) {
  EXPECT_TRUE(isSame(make("random", 128, 64, 0.1), harness::bernoulliPattern(128, 64, 0.1, 3)));
}

TEST(Masks, UniformRowsHaveEquallyManyBlocks) {
  BlockPattern pattern = make("uniform", 64, 200, 0.1);
  EXPECT_EQ(rowCounts(pattern), std::vector<int64_t>(64, 20));
  std::vector<int64_t> ofColumn(200);
  for (int32_t column : pattern.colIdx)
    ++ofColumn[column];
  EXPECT_LT(*std::max_element(ofColumn.begin(), ofColumn.end()), 25); // 6.4 on average
  EXPECT_EQ(rowCounts(make("uniform", 4, 100, 0.001)), std::vector<int64_t>(4, 1));
}

TEST(Masks, PowerLawRowsFallWithTheirRank) {
  BlockPattern pattern = make("power-law", 1000, 4000, 0.006);
  std::vector<int64_t> counts = rowCounts(pattern);
  EXPECT_FALSE(std::is_sorted(counts.rbegin(), counts.rend()));
  std::sort(counts.rbegin(), counts.rend());
  // The sum of 1 / k up to 1000 is 7.4855.
  double longest = 0.006 * 1000 * 4000 / 7.4855;
  for (int64_t rank : {1, 2, 3, 4, 5, 10, 20}) {
    double expected = longest / static_cast<double>(rank);
    EXPECT_NEAR(static_cast<double>(counts[rank - 1]), expected, 5 * std::sqrt(expected)) << rank;
  }
}

TEST(Masks, DenseRowsAreOneInTwenty) {
  BlockPattern pattern = make("dense-rows", 200, 100, 0.25);
  std::vector<int64_t> counts = rowCounts(pattern);
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 100), 10);
  EXPECT_LT(*std::max_element(counts.begin(), counts.end(), [](int64_t a, int64_t b) { return a % 100 < b % 100; }),
            45); // 21 on average
  EXPECT_FALSE(std::is_sorted(counts.rbegin(), counts.rend()));

  counts = rowCounts(make("dense-rows", 200, 100, 0.05));
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 100), 5); // half of the blocks
}

TEST(Masks, EmptyRowsAreEveryOther) {
  for (auto [density, empty] : {std::pair{0.25, 100}, {0.5, 100}, {0.75, 50}, {1.0, 0}}) {
    std::vector<int64_t> counts = rowCounts(make("empty-rows", 200, 100, density));
    EXPECT_EQ(std::count(counts.begin(), counts.end(), 0), empty) << density;
    EXPECT_FALSE(std::is_sorted(counts.begin(), counts.end()) && density < 0.5) << density;
  }
}

TEST(Masks, BandIsNearTheDiagonal) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{64, 64}, {32, 128}, {128, 32}}) {
    BlockPattern pattern = make("band", rows, columns, 0.2);
    double widest = 0, nearestOutside = 1;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double y = (static_cast<double>(i) + 0.5) / static_cast<double>(rows);
        double x = (static_cast<double>(j) + 0.5) / static_cast<double>(columns);
        double &limit = holds(pattern, i, j) ? widest : nearestOutside;
        limit = holds(pattern, i, j) ? std::max(limit, std::abs(x - y)) : std::min(limit, std::abs(x - y));
      }
    EXPECT_LT(widest, nearestOutside);
  }
}

TEST(Masks, ArrowHasRowsColumnsAndTheDiagonal) {
  BlockPattern pattern = make("arrow", 80, 80, 0.2);
  int64_t width = std::ranges::count(rowCounts(pattern), 80);
  EXPECT_NEAR(static_cast<double>(width), 80 * (1 - std::sqrt(0.8)), 1); // 1 - (1 - width / 80)^2 = 0.2
  for (int64_t i = 0; i < 80; ++i)
    for (int64_t j = 0; j < 80; ++j)
      ASSERT_EQ(holds(pattern, i, j), i < width || j < width || i == j) << i << " " << j;
}

TEST(Masks, BlockDiagonalIsFullSquares) {
  BlockPattern pattern = make("block-diagonal", 60, 120, 0.1);
  for (int64_t i = 0; i < 60; ++i)
    for (int64_t j = 0; j < 120; ++j)
      ASSERT_EQ(holds(pattern, i, j), i / 6 == j / 12) << i << " " << j;
}

class MaskFile : public testing::Test {
protected:
  void SetUp() override { std::ofstream(path) << "2, 3, 3\n0 1 3\n1 0 2\n"; }
  void TearDown() override { std::remove(path.c_str()); }
  std::string path = testing::TempDir() + "a-mask-0.5.smtx";
};

TEST_F(MaskFile, HasABlockForEveryNonzero) {
  Mask mask = readMask(path);
  EXPECT_EQ(mask.name, "a-mask-0.5");
  EXPECT_TRUE(mask.fits(2, 3));
  EXPECT_FALSE(mask.fits(3, 2));
  BlockPattern pattern = mask.make(2, 3, 0.9);
  EXPECT_EQ(pattern.rowPtr, (std::vector<int32_t>{0, 1, 3}));
  EXPECT_EQ(pattern.colIdx, (std::vector<int32_t>{1, 0, 2}));
}

TEST_F(MaskFile, ThatIsWrongIsAnError) {
  std::ofstream(path) << "2, 3, 3\n0 1 3\n1 0 7\n";
  EXPECT_THROW(readMask(path), std::runtime_error);
  EXPECT_THROW(readMask(path + ".gone"), std::runtime_error);
}

TEST_F(MaskFile, IsTimedAtItsDensityBesideRandomMasks) {
  std::vector<Mask> masks = {
      {"random", findMaskKind("random"), {}}, {"band", findMaskKind("band"), {}}, readMask(path)};
  auto casesOf = [](const std::vector<Mask> &masks, const std::vector<double> &densities) {
    std::vector<std::pair<std::string, double>> cases;
    for (const MaskCase &each : maskCases(masks, densities))
      cases.emplace_back(each.mask->name, each.density);
    return cases;
  };
  using Cases = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(
      casesOf(masks, {1, 0.25}),
      (Cases{{"random", 1}, {"random", 0.25}, {"band", 1}, {"band", 0.25}, {"random", 0.5}, {"a-mask-0.5", 0.5}}));
  EXPECT_EQ(casesOf(masks, {0.5}), (Cases{{"random", 0.5}, {"band", 0.5}, {"a-mask-0.5", 0.5}}));
  EXPECT_EQ(casesOf({readMask(path)}, {1}), (Cases{{"a-mask-0.5", 0.5}}));
}

TEST(Masks, AreWrittenAsTheReadersReadThem) {
  BlockPattern pattern = make("power-law", 12, 20, 0.2);
  auto read = readers::readPattern(smtxText(pattern), "written.smtx");
  ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->rows, 12);
  EXPECT_EQ(read->columns, 20);
  EXPECT_EQ(read->rowPtr, pattern.rowPtr);
  EXPECT_EQ(read->colIdx, pattern.colIdx);
}

} // namespace
} // namespace sparsec::bench
