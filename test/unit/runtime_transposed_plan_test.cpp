// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with the transpose of a stored matrix: its index, the checks of their images, plans and launches on the fake
// driver.

#include "image/launch_info_reader.h"
#include "plan/transpose.h"
#include "runtime_block_pattern.h"
#include "runtime_saved_plan.h"
#include "runtime_static_plan_fixture.h"
#include "runtime_stream_image.h"
#include "runtime_transposed_image.h"

#include <set>
#include <tuple>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

//===----------------------------------------------------------------------===//
// The index
//===----------------------------------------------------------------------===//

TEST(TransposedIndex, OfASmallPattern) {
  const Pattern pattern(4, {{2, 0}, {}, {0, 3}});
  const TransposedIndex index = transpose(pattern.view());
  EXPECT_EQ(index.starts, (std::vector<int32_t>{0, 2, 2, 3, 4}));
  EXPECT_EQ(index.columns, (std::vector<int32_t>{0, 2, 0, 2}));
  EXPECT_EQ(index.blocks, (std::vector<int32_t>{1, 2, 0, 3}));
  EXPECT_EQ(index.blockColumns, 3);
}

TEST(TransposedIndex, HasEveryBlockOnce) {
  using Block = std::tuple<int32_t, int32_t, int32_t>; // block row and block column of the stored matrix, number
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Pattern pattern = Pattern::random(1 + seed * 3, 40 - seed * 2, 0.05 * seed, 0.2, seed);
    std::set<Block> expected, got;
    for (int32_t row = 0; row < pattern.blockRows(); ++row)
      for (int32_t block = pattern.rowPtr[row]; block < pattern.rowPtr[row + 1]; ++block)
        expected.insert({row, pattern.colIdx[block], block});
    const TransposedIndex index = transpose(pattern.view());
    const BlockPattern view = index.pattern();
    ASSERT_EQ(view.blockRows, pattern.blockColumns);
    ASSERT_EQ(view.blockColumns, pattern.blockRows());
    for (int32_t row = 0; row < view.blockRows; ++row)
      for (int32_t position = view.rowPtr[row]; position < view.rowPtr[row + 1]; ++position) {
        got.insert({view.colIdx[position], row, view.numberOf(position)});
        if (position > view.rowPtr[row]) {
          EXPECT_LT(view.colIdx[position - 1], view.colIdx[position]);
        }
      }
    EXPECT_EQ(got, expected);
    EXPECT_EQ(view.count(), int64_t(expected.size()));
  }
}

TEST(TransposedIndex, WithoutRowsOrColumns) {
  EXPECT_EQ(transpose({nullptr, nullptr, 0, 3}).starts, (std::vector<int32_t>{0, 0, 0, 0}));
  const int32_t rowPtr[] = {0, 0, 0};
  EXPECT_EQ(transpose({rowPtr, nullptr, 2, 0}).starts, (std::vector<int32_t>{0}));
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

Status parseTransposed(const std::function<void(LaunchInfoBuilder &)> &change) {
  LaunchInfoBuilder builder = transposed(cudaLinear());
  change(builder);
  LaunchInfo info;
  return LaunchInfo::parse(builder.build(), info);
}

TEST(TransposedImage, SectionsAreChecked) {
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      {"variant 0 requires plan sections 0, and the block-sparse operand is transposed",
       [](auto &i) { i.variants[0].required_sections = 0; }},
      {"variant 0 requires plan sections 114688, and the block-sparse operand is not transposed",
       [](auto &i) { i.operands[0].layout = SPARSEC_LAYOUT_ROW_MAJOR; }},
      {"parameter 2 of variant 1 is plan section 16, which is not required",
       [](auto &i) { i.variants[1].required_sections &= ~(1u << SPARSEC_PLAN_ROW_BLOCKS); }},
      {"variant 1 requires plan sections, but the last variant must run without a plan",
       [](auto &i) { i.variants[1].required_sections |= windowRows; }},
      {"unknown required plan sections", [](auto &i) { i.variants[0].required_sections |= 1u << planSectionCount; }},
      {"argument 0 is no block-sparse operand", [](auto &i) { i.operands[0].layout = SPARSEC_LAYOUT_NONE; }},
  };
  EXPECT_OK(parseTransposed([](auto &) {}));
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseTransposed(change), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(TransposedImage, WindowsHaveTheRowsOfTheTranspose) {
  LaunchInfo info;
  LaunchInfoBuilder builder = transposed(linearWithStreams());
  EXPECT_OK(LaunchInfo::parse(builder.build(), info));
  builder.extents[builder.stages[streamStage].row_first].dimension = 0;
  EXPECT_STATUS(LaunchInfo::parse(builder.build(), info), SPARSEC_STATUS_INVALID_IMAGE,
                "but its tile rows are not those of 256 rows of 'w'");
}

//===----------------------------------------------------------------------===//
// Plans and launches
//===----------------------------------------------------------------------===//

/// The stored matrix has four block rows and five block columns.
class TransposedPlan : public StaticPlanOnFake {
protected:
  void SetUp() override { prepare(cudaLinear(), 14); }

  void prepare(const LaunchInfoBuilder &info, int parameterCount) {
    load(transposed(info));
    fake.parameterCount = parameterCount;
    setArguments(5 * 64, 4 * 64, 1024);
    std::swap(arguments[w].blocks.rows, arguments[w].blocks.columns);
    setPattern({{0, 2, 4}, {4, 2, 0}, {3}, {3, 1}});
  }
};

TEST_F(TransposedPlan, HasTheIndexOnceForAllVariants) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  for (size_t variant : {0, 1}) {
    EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_ROW_STARTS, 6, variant), (std::vector<int32_t>{0, 2, 3, 5, 7, 9}));
    EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_ROW_COLUMNS, 9, variant),
              (std::vector<int32_t>{0, 1, 3, 0, 1, 2, 3, 0, 1}));
    EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_ROW_BLOCKS, 9, variant), (std::vector<int32_t>{0, 5, 8, 1, 4, 6, 7, 2, 3}));
    // Costs of 2, 1, 2, 2, 2 blocks and the overhead of 2, each for two panels.
    EXPECT_EQ(planInfo(variant).tiles, variant == 0 ? 10 : 40);
    EXPECT_EQ(planInfo(variant).order, SPARSEC_TILE_ORDER_LISTS);
  }
  for (uint32_t each : indexSections)
    EXPECT_EQ(plan->variants[0].sections[each], plan->variants[1].sections[each]);
}

TEST_F(TransposedPlan, StreamsAreThoseOfTheTranspose) {
  prepare(linearWithStreams(), 11);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  EXPECT_EQ(planInfo().windows, 2);
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_WINDOW_ROWS, 8), (std::vector<int32_t>{0, 1, 2, 3, 4, -1, -1, -1}));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_STAGE_COLUMNS, 4), (std::vector<int32_t>{0, 1, 2, 3}));
  // Consumer 0 has rows 0 (columns 0, 1) and 1 (column 3): blocks 0, 5 and 8. Consumer 1 has rows 2 and 3.
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_CHUNK_BLOCKS, 8), (std::vector<int32_t>{0, 5, 8, -1, 1, 4, 6, 7}));
  EXPECT_EQ(launched(), "linear_streams");
  // Where K, the rows of the stored matrix, cuts blocks, there are none.
  arguments[w].blocks.rows = arguments[x].dense.sizes[0] = 4 * 64 - 8;
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(planInfo().windows, 0);
  EXPECT_EQ(launched(), "linear_aligned");
}

TEST_F(TransposedPlan, LaunchesGetTheIndex) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(launched(), "linear_aligned");
  for (size_t i = 0; i < std::size(indexSections); ++i)
    EXPECT_EQ(fake.launches.back().words[i], reinterpret_cast<uintptr_t>(plan->variants[0].sections[indexSections[i]]));
  EXPECT_EQ(fake.launches.back().gridX, 20u) << "5 tile rows and 2 panels, clusters of 2";
}

TEST_F(TransposedPlan, AMatrixWithoutBlocksHasAnIndexToo) {
  setPattern({{}, {}, {}, {}});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_ROW_STARTS, 6), std::vector<int32_t>(6, 0));
  EXPECT_EQ(launched(), "linear_aligned");
}

TEST_F(TransposedPlan, ComesBackFromItsBytes) {
  for (bool hasStreams : {false, true}) {
    prepare(hasStreams ? linearWithStreams() : cudaLinear(), hasStreams ? 11 : 14);
    ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
    const PlanContents before = contentsOf(*plan);
    const ByteVector saved = savePlan();
    ASSERT_OK(loadPlan(saved));
    EXPECT_EQ(contentsOf(*plan), before);
    EXPECT_EQ(savePlan(), saved);
    EXPECT_EQ(plan->variants[1].sections[SPARSEC_PLAN_ROW_BLOCKS] ==
                  plan->variants[0].sections[SPARSEC_PLAN_ROW_BLOCKS],
              !hasStreams)
        << "variants still share the index";
    EXPECT_EQ(launched(), hasStreams ? "linear_streams" : "linear_aligned");
  }
}

TEST_F(TransposedPlan, DamagedIndicesAreRefused) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  const ByteVector good = savePlan();
  auto refusesWord = [&](const std::string &message, uint32_t section, int64_t index, uint32_t value) {
    ByteVector bytes = good;
    setWord(bytes, 0, section, index, value);
    EXPECT_STATUS(loadPlan(mended(bytes)), SPARSEC_STATUS_INVALID_PLAN, message);
  };
  refusesWord("row starts of variant 0: expects 0 at 0, but got 1", SPARSEC_PLAN_ROW_STARTS, 0, 1);
  refusesWord("row starts of variant 0: expects at least 4 at 2, but got 3", SPARSEC_PLAN_ROW_STARTS, 1, 4);
  refusesWord("row starts of variant 0: expects 9 at the end, but got 10", SPARSEC_PLAN_ROW_STARTS, -1, 10);
  refusesWord("row columns of variant 0: expects 0 to 3 at 0, but got 4", SPARSEC_PLAN_ROW_COLUMNS, 0, 4);
  refusesWord("row columns of variant 0: expects 1 to 3 at 1, but got 0", SPARSEC_PLAN_ROW_COLUMNS, 1, 0);
  refusesWord("row columns of variant 0: expects 0 to 3 at 0, but got -1", SPARSEC_PLAN_ROW_COLUMNS, 0, UINT32_MAX);
  refusesWord("row blocks of variant 0: block 9 at 0 is out of range", SPARSEC_PLAN_ROW_BLOCKS, 0, 9);
  refusesWord("row blocks of variant 0: block 5 at 1 is out of range or there twice", SPARSEC_PLAN_ROW_BLOCKS, 0, 5);
  // Without its three records a kernel would have nothing to read: those behind them move to their place.
  SavedPlanHeader header;
  std::memcpy(&header, good.data(), sizeof(header));
  ByteVector bytes = good;
  const size_t first = recordOf(bytes, 0, SPARSEC_PLAN_ROW_STARTS);
  std::memmove(bytes.data() + first, bytes.data() + first + 3 * sizeof(SavedSection),
               (header.sectionCount - 5) * sizeof(SavedSection));
  header.sectionCount -= 3;
  std::memcpy(bytes.data(), &header, sizeof(header));
  EXPECT_STATUS(loadPlan(mended(bytes)), SPARSEC_STATUS_INVALID_PLAN,
                "variant 0 lacks the index of the transposed matrix");
}

TEST_F(TransposedPlan, PatternsMustBeKnownAndStatic) {
  const char *message = "kernel 'linear' takes the transpose of 'w': its plan needs the matrix and "
                        "SPARSEC_PLAN_STATIC_PATTERN";
  EXPECT_STATUS(createPlanWith(0), SPARSEC_STATUS_INVALID_ARGUMENT, message);
  arguments[w] = {};
  EXPECT_STATUS(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN), SPARSEC_STATUS_INVALID_ARGUMENT, message);
}

TEST_F(TransposedPlan, LaunchesWithoutAPlanAreRefused) {
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT,
                "kernel 'linear' takes the transpose of a block-sparse matrix: expects a plan that was made with the "
                "matrix and SPARSEC_PLAN_STATIC_PATTERN");
}

TEST_F(TransposedPlan, SizesOfOthersFollowTheTranspose) {
  arguments[x].dense.sizes[0] = 5 * 64; // K is 4 * 64
  EXPECT_STATUS(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN), SPARSEC_STATUS_INVALID_ARGUMENT,
                "'x': expects size 0 to be 256");
}

/// K cuts the last block row of the stored matrix.
TEST_F(TransposedPlan, TensorMapsEndAtTheLastRow) {
  LaunchInfoBuilder info = transposed(cudaLinear());
  info.tensorMaps[0].kind = SPARSEC_TENSOR_MAP_BSR_EDGE_ROWS;
  // A parameter that the test of the index does not use.
  info.parameters[3] = {SPARSEC_SOURCE_TENSOR_MAP, 0, 0, 0};
  load(info);
  for (auto [depth, rows] : {std::pair(4 * 64, 64u), std::pair(4 * 64 - 24, 40u)}) {
    arguments[w].blocks.rows = arguments[x].dense.sizes[0] = depth;
    ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
    fake.tensorMaps.clear();
    ASSERT_OK(launch());
    ASSERT_EQ(fake.tensorMaps.size(), 1u);
    EXPECT_THAT(fake.tensorMaps[0].sizes, ::testing::ElementsAre(64u, rows, 9u));
    EXPECT_THAT(fake.tensorMaps[0].strides, ::testing::ElementsAre(128u, 8192u));
  }
}

} // namespace
