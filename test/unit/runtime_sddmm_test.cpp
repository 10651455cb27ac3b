// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dense products at the blocks of a pattern: the reference by hand-computed examples, arguments, and plans.

#include "plan/plan.h"
#include "runtime_kernel_fixture.h"

#include <algorithm>
#include <cmath>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

using Tiles = std::vector<std::pair<uint32_t, uint32_t>>;

class Sampled : public KernelOnFake {
protected:
  enum { p, a, b, old, alpha, s };

  void SetUp() override {
    fake.multiprocessors = 2;
    fake.parameterCount = 6;
    load(cudaSampled());
    setArguments({{0}}, 16, 32, 8);
    fake.calls.clear();
  }

  /// Arguments for a pattern with one list of block columns per block row. Memory of tensors is made up.
  void setArguments(const std::vector<std::vector<int32_t>> &rows, int64_t m, int64_t n, int64_t k) {
    rowPtr.assign(1, 0);
    colIdx.clear();
    for (const auto &row : rows) {
      colIdx.insert(colIdx.end(), row.begin(), row.end());
      rowPtr.push_back(int32_t(colIdx.size()));
    }
    const int64_t blocks = int64_t(colIdx.size()), shape[] = {blocks, 16, 32};
    arguments = {sparsec_blocks_bsr(m, n, 16, 32, blocks, rowPtr.data(), colIdx.data(), SPARSEC_DTYPE_F16, nullptr),
                 sparsec_dense_2d(at(0x200000), SPARSEC_DTYPE_F16, m, k),
                 sparsec_dense_2d(at(0x300000), SPARSEC_DTYPE_F16, n, k),
                 sparsec_dense(at(0x400000), SPARSEC_DTYPE_F32, 3, shape),
                 2.0,
                 sparsec_dense(at(0x600000), SPARSEC_DTYPE_F32, 3, shape)};
  }

  Status createStaticPlan() {
    auto options = sized<sparsec_plan_options_t>();
    options.flags = SPARSEC_PLAN_STATIC_PATTERN;
    return createPlan(arguments, options);
  }

  std::vector<int32_t> rowPtr, colIdx;
};

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

TEST_F(Sampled, ReferenceMultipliesTheRowsOfABlock) {
  // Block 0 is at (1, 0), block 1 at (1, 1), which N = 40 cuts. Row m of A is (m, 1), row n of B is (1, n).
  setArguments({{}, {0, 1}}, 30, 40, 2);
  std::vector<uint16_t> left, right;
  for (int m = 0; m < 30; ++m)
    left.insert(left.end(), {f16(float(m)), f16(1)});
  for (int n = 0; n < 40; ++n)
    right.insert(right.end(), {f16(1), f16(float(n))});
  std::vector<float> before(2 * 16 * 32);
  for (size_t i = 0; i < before.size(); ++i)
    before[i] = float(i) / 8;
  arguments[a].dense.data = left.data();
  arguments[b].dense.data = right.data();
  arguments[old].dense.data = before.data();
  std::vector<double> values(32 * 32), magnitude(32 * 32);
  ASSERT_OK(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 0, 32, values.data(), magnitude.data()));
  for (int row = 0; row < 32; ++row)
    for (int column = 0; column < 32; ++column) {
      int block = row / 16, m = 16 + row % 16, n = block * 32 + column, i = row * 32 + column;
      double product = m < 30 && n < 40 ? m + n : 0;
      EXPECT_EQ(values[i], 2 * product + before[i]) << row << ", " << column;
      EXPECT_GE(magnitude[i], product);
    }

  // Any rows on their own.
  std::vector<double> some(3 * 32);
  ASSERT_OK(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 15, 18, some.data(), nullptr));
  EXPECT_TRUE(std::equal(some.begin(), some.end(), values.begin() + 15 * 32));
  EXPECT_STATUS(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 0, 33, values.data(), nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "expects rows within 0 to 32");
}

TEST_F(Sampled, ReferenceLeavesBlocksOfNoRow) {
  setArguments({{0}}, 16, 64, 1);
  std::vector<uint16_t> ones(64, f16(1));
  std::vector<float> before(2 * 16 * 32, 1);
  const int64_t shape[] = {2, 16, 32};
  arguments[p].blocks.capacity = 2;
  colIdx.push_back(-1);
  arguments[p].blocks.full.indices = colIdx.data();
  arguments[a].dense.data = arguments[b].dense.data = ones.data();
  arguments[old] = sparsec_dense(before.data(), SPARSEC_DTYPE_F32, 3, shape);
  arguments[s] = sparsec_dense(at(0x600000), SPARSEC_DTYPE_F32, 3, shape);
  std::vector<double> values(32 * 32, NAN), magnitude(32 * 32, NAN);
  ASSERT_OK(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 0, 32, values.data(), magnitude.data()));
  EXPECT_EQ(values[0], 3);
  EXPECT_EQ(values[16 * 32], 0);
  EXPECT_EQ(magnitude[16 * 32], 0);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

TEST_F(Sampled, ValuesOfThePatternAreNotRead) { EXPECT_OK(launch()); }

TEST_F(Sampled, SizesGoTogether) {
  refuses("argument 1 'a': expects size 0 to be 16 to agree", [](auto &all) { all[a].dense.sizes[0] = 17; });
  refuses("argument 2 'b': expects size 0 to be 32 to agree", [](auto &all) { all[b].dense.sizes[0] = 31; });
  refuses("argument 2 'b': expects size 1 to be 8 to agree", [](auto &all) { all[b].dense.sizes[1] = 7; });
  refuses("argument 5 's': expects size 0 to be 1 to agree", [](auto &all) { all[s].dense.sizes[0] = 2; });
  refuses("argument 3 'old': expects size 0 to be 1 to agree", [](auto &all) { all[old].dense.sizes[0] = 0; });
  refuses("argument 5 's': expects size 1 to be 16, but got 32", [](auto &all) { all[s].dense.sizes[1] = 32; });
  refuses("argument 0 'p': expects blocks of 16 x 32", [](auto &all) { all[p].blocks.block_rows = 32; });
  refuses("argument 0 'p': expects elements of type f16", [](auto &all) { all[p].blocks.dtype = SPARSEC_DTYPE_BF16; });
}

TEST_F(Sampled, BlocksOfValuesAreContiguous) {
  setArguments({{0, 1}}, 16, 64, 8);
  refuses("argument 5 's': expects stride 0 to be 512 (contiguous blocks), but got 1024",
          [](auto &all) { all[s].dense.strides[0] = 1024; });
  refuses("argument 3 'old': expects stride 1 to be 32 (contiguous blocks), but got 40",
          [](auto &all) { all[old].dense.strides[1] = 40; });
  refuses("argument 1 'a': expects stride 0 to be at least its width, 8",
          [](auto &all) { all[a].dense.strides[0] = 7; });
}

TEST_F(Sampled, RowsOfAllBlocksAreCountedIn32Bits) {
  refuses("argument 0 'p': expects at most 134213631 blocks of 16 rows, but got 134213632",
          [](auto &all) { all[p].blocks.capacity = 134213632; });
}

TEST_F(Sampled, OldValuesMayBeTheResult) {
  arguments[old] = arguments[s];
  EXPECT_OK(launch());
  fake.calls.clear();
  refuses("argument 5 's': its memory overlaps data of argument 3 'old', but not element for element",
          [](auto &all) { all[old].dense.data = at(0x600010); });
  refuses("argument 5 's': its memory overlaps data of argument 1 'a'",
          [](auto &all) { all[a].dense.data = at(0x600010); });
}

TEST_F(Sampled, NoVariantTakesUnalignedFactors) {
  refuses("argument 1 'a': expects pointers and row strides that are multiples of 16 bytes: the kernel has no variant "
          "for less",
          [](auto &all) { all[a].dense.data = at(0x200002); });
}

TEST_F(Sampled, NothingIsLaunchedWithoutBlocks) {
  setArguments({{}, {}}, 32, 64, 8);
  EXPECT_OK(launch());
  EXPECT_OK(createStaticPlan());
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_FIXED);
  EXPECT_OK(launch());
  EXPECT_FALSE(fake.called("cuLaunchKernel"));
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// The tiles of a worker, by the plan's sections in the memory of the fake device.
Tiles tilesOf(sparsec_plan_t plan, uint32_t worker) {
  auto section = [&](sparsec_plan_section_t section) {
    return static_cast<const uint32_t *>(plan->variants[0].sections[section]);
  };
  const uint32_t *offsets = section(SPARSEC_PLAN_TILE_OFFSETS), *tiles = section(SPARSEC_PLAN_TILES);
  Tiles result;
  for (uint32_t tile = offsets[worker]; tile < offsets[worker + 1]; ++tile)
    result.push_back({tiles[2 * tile], tiles[2 * tile + 1]});
  return result;
}

TEST_F(Sampled, PlansOfStaticPatternsHaveTheTilesWithBlocks) {
  // Tiles of two blocks: 2, 0, 1 and 1 of them, of which the second of row 0 and that of row 3 are half empty.
  setArguments({{0, 2, 1}, {}, {1, 0}, {3}}, 64, 128, 8);
  ASSERT_OK(createStaticPlan());
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(planInfo().workers, 2);
  // Full tiles first, each to the worker with the least work.
  EXPECT_EQ(tilesOf(plan, 0), (Tiles{{0, 0}, {3, 0}}));
  EXPECT_EQ(tilesOf(plan, 1), (Tiles{{2, 0}, {0, 1}}));
  EXPECT_DOUBLE_EQ(planInfo().balance, 1);
  EXPECT_OK(launch());
}

/// A launch may have other lists, with blocks where the plan's had none.
TEST_F(Sampled, OtherPlansHaveAllTiles) {
  setArguments({{0, 2, 1}, {}, {1, 0}, {3}}, 64, 128, 8);
  ASSERT_OK(createPlan(arguments));
  Tiles tiles = tilesOf(plan, 0);
  for (const auto &tile : tilesOf(plan, 1))
    tiles.push_back(tile);
  std::sort(tiles.begin(), tiles.end());
  EXPECT_EQ(tiles, (Tiles{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {3, 0}, {3, 1}}));
}

TEST_F(Sampled, WorkersOfAPlanHaveTiles) {
  setArguments({{}, {1}}, 32, 64, 8);
  ASSERT_OK(createStaticPlan());
  EXPECT_EQ(planInfo().workers, 1);
}

TEST_F(Sampled, PlansAreForTheirSizes) {
  ASSERT_OK(createPlan(arguments));
  setArguments({{0}}, 16, 32, 9);
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT,
                "plan is for M 16, N 32, K 8, blocks 1, but the launch has M 16, N 32, K 9, blocks 1");
}

} // namespace
