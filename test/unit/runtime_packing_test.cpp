// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packing of blocks: every stored block is in its place of a packed block, and nothing else is there.

#include "plan/packing.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <random>

using namespace sparsec::runtime;

namespace {

/// A random matrix of blocks; columns of a row are in any order.
struct RandomBlocks {
  RandomBlocks(int64_t rows, int64_t columns, double density, unsigned seed) : columns(columns) {
    std::mt19937 random(seed);
    std::vector<int32_t> all(columns);
    std::iota(all.begin(), all.end(), 0);
    for (int64_t row = 0; row < rows; ++row) {
      std::shuffle(all.begin(), all.end(), random);
      for (int32_t column : all)
        if (std::uniform_real_distribution<>(0, 1)(random) < density)
          colIdx.push_back(column);
      rowPtr.push_back(int32_t(colIdx.size()));
    }
  }

  BlockPattern pattern() const { return {rowPtr.data(), colIdx.data(), int64_t(rowPtr.size()) - 1, columns}; }

  int64_t columns;
  std::vector<int32_t> rowPtr = {0}, colIdx;
};

/// The number of the stored block at every place of the matrix that has one.
using Places = std::map<std::pair<int64_t, int64_t>, int32_t>;

Places placesOf(const RandomBlocks &blocks) {
  Places places;
  for (int64_t row = 0; row + 1 < int64_t(blocks.rowPtr.size()); ++row)
    for (int32_t i = blocks.rowPtr[row]; i < blocks.rowPtr[row + 1]; ++i)
      places[{row, blocks.colIdx[i]}] = i;
  return places;
}

Places placesOf(const Packing &packing, const PackedShape &shape) {
  Places places;
  for (int64_t row = 0; row + 1 < int64_t(packing.starts.size()); ++row)
    for (int32_t packed = packing.starts[row]; packed < packing.starts[row + 1]; ++packed)
      for (int64_t i = 0; i < shape.blocks(); ++i)
        if (const int32_t block = packing.sources[packed * shape.blocks() + i]; block != -1)
          places[{row * shape.rows + i / shape.columns, packing.columns[packed] * shape.columns + i % shape.columns}] =
              block;
  return places;
}

TEST(Packing, EveryBlockIsInItsPlace) {
  constexpr PackedShape shapes[] = {{4, 4}, {2, 2}, {1, 4}, {4, 1}, {2, 8}};
  unsigned seed = 0;
  for (const PackedShape &shape : shapes)
    for (int64_t rows : {1, 4, 7, 13})
      for (int64_t columns : {1, 5, 16})
        for (double density : {0.05, 0.4, 1.0}) {
          SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", density " << density
                                          << ", packed blocks of " << shape.rows << " x " << shape.columns);
          const RandomBlocks blocks(rows, columns, density, ++seed);
          const Packing packing = packBlocks(blocks.pattern(), shape);
          EXPECT_EQ(placesOf(packing, shape), placesOf(blocks));
          EXPECT_EQ(packing.count(), countPackedBlocks(blocks.pattern(), shape));
          EXPECT_EQ(packing.pattern().blockRows, (rows + shape.rows - 1) / shape.rows);
          EXPECT_EQ(packing.pattern().blockColumns, (columns + shape.columns - 1) / shape.columns);
          ASSERT_EQ(packing.sources.size(), packing.columns.size() * shape.blocks());
          for (int64_t packed = 0; packed < packing.count(); ++packed)
            EXPECT_TRUE(std::any_of(packing.sources.begin() + packed * shape.blocks(),
                                    packing.sources.begin() + (packed + 1) * shape.blocks(),
                                    [](int32_t block) { return block != -1; }))
                << "packed block " << packed << " is empty";
          for (size_t row = 0; row + 1 < packing.starts.size(); ++row)
            EXPECT_TRUE(std::is_sorted(packing.columns.begin() + packing.starts[row],
                                       packing.columns.begin() + packing.starts[row + 1], std::less_equal<>()));
        }
}

TEST(Packing, OfAMatrixWithoutBlocks) {
  const std::vector<int32_t> rowPtr(6, 0);
  for (const int32_t *starts : {rowPtr.data(), static_cast<const int32_t *>(nullptr)}) {
    const BlockPattern pattern = {starts, nullptr, 5, 3};
    EXPECT_EQ(countPackedBlocks(pattern, {2, 2}), 0);
    const Packing packing = packBlocks(pattern, {2, 2});
    EXPECT_EQ(packing.starts, std::vector<int32_t>(4, 0));
    EXPECT_EQ(packing.count(), 0);
  }
}

TEST(Packing, PlacesAreCountedInThirtyTwoBits) {
  EXPECT_TRUE(canPack(INT32_MAX / 16, {4, 4}));
  EXPECT_FALSE(canPack(INT32_MAX / 16 + 1, {4, 4}));
}

} // namespace
