// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention with a variant whose tiles a plan cuts along the keys: plans, saved plans and launches on the fake driver.

#include "plan/cut_lists.h"
#include "runtime_attention_fixture.h"
#include "runtime_cut_image.h"
#include "runtime_saved_plan.h"

using namespace sparsec::runtime;
using namespace sparsec::test;
using ::testing::ElementsAre;
using ::testing::StartsWith;

namespace {

/// cudaAttention() with blocks of 64 x 64 and one more variant in front of the other. Tiles of both have 2 steps beside
/// those for their keys.
LaunchInfoBuilder attentionWithCuts(uint32_t tilesSideBySide = 1) {
  enum { pattern = 3 };
  LaunchInfoBuilder info = cudaAttention();
  info.arguments[pattern].block_columns = 64;
  info.stages[0].ctas_per_sm = 1;
  info.setTile(0, 64, 64);
  addCuts(info, "attention_cut");
  for (sparsec_stage_info_t &stage : info.stages)
    stage.concurrent_tiles = tilesSideBySide;
  return info;
}

/// A head of six rows of 40 blocks for four workers, if nothing else is said.
class AttentionCuts : public AttentionOnFake {
protected:
  enum { cut, whole }; // variants
  static constexpr int64_t keyBlocks = 40;
  static constexpr size_t bytes = keptWorkspaceBytes + size_t(4) * cutSumBytes;

  void SetUp() override { loadCuts(attentionWithCuts()); }

  void loadCuts(const LaunchInfoBuilder &info, int64_t rows = 6) {
    sparsec_plan_destroy(std::exchange(plan, nullptr));
    fake.multiprocessors = 4;
    fake.parameterCount = 4;
    load(info);
    starts = {0}, indices.clear();
    for (int64_t row = 0; row < rows; ++row) {
      for (int32_t block = 0; block < keyBlocks; ++block)
        indices.push_back(block);
      starts.push_back(int32_t(indices.size()));
    }
    sparsec_blocks_t lists = sparsec_blocks_pattern(1, 1, rows * 64, keyBlocks * 64, 64, 64);
    lists.capacity = int64_t(indices.size());
    lists.full = {starts.data(), indices.data()};
    auto tensor = [&](uintptr_t address, int64_t length) {
      return sparsec_dense_bhsd(at(address), SPARSEC_DTYPE_BF16, 1, 1, length, 64);
    };
    arguments = {tensor(0x1000000, rows * 64),
                 tensor(0x2000000, keyBlocks * 64),
                 tensor(0x3000000, keyBlocks * 64),
                 lists,
                 0.125,
                 sparsec_dense_1d(at(0x50000), SPARSEC_DTYPE_F32, 1),
                 sparsec_dense_2d(at(0x60000), SPARSEC_DTYPE_I32, 1, keyBlocks * 64),
                 tensor(0x4000000, rows * 64),
                 sparsec_dense_3d(at(0x5000000), SPARSEC_DTYPE_F32, 1, 1, rows * 64)};
    options.workspace = at(0x700000);
    options.workspace_bytes = bytes;
  }

  Status create(const ArgumentList &of) { return createPlan(of, sized<sparsec_plan_options_t>()); }
  std::string launchedWith(size_t workspaceBytes) {
    options.workspace_bytes = workspaceBytes;
    options.workspace = workspaceBytes == 0 ? nullptr : at(0x700000);
    fake.launches.clear();
    EXPECT_OK(launchWith(options));
    return fake.launches.empty() ? "" : fake.launches.back().function;
  }
  template <typename Element> std::vector<Element> elements(sparsec_plan_section_t number) {
    const auto *begin = static_cast<const Element *>(plan->variants[cut].sections[number]);
    return {begin, begin + plan->variants[cut].sectionBytes[number] / sizeof(Element)};
  }

  std::vector<int32_t> starts, indices;
  sparsec_launch_options_t options = sized<sparsec_launch_options_t>();
};

/// A worker takes 66 steps: a quarter of 6 tiles of 40 + 2, and of three times 2 for a cut tile and 2 for its sums.
TEST_F(AttentionCuts, WorkersHaveTheSameWork) {
  ASSERT_OK(create(arguments));
  const sparsec_plan_info_t info = planInfo(cut);
  EXPECT_STREQ(info.reason, "tiles cut along the keys: the longest list gets 27.27 % shorter");
  EXPECT_EQ(info.order, SPARSEC_TILE_ORDER_LISTS);
  EXPECT_EQ(info.workers, 4);
  EXPECT_EQ(info.workspace_bytes, int64_t(bytes));
  EXPECT_THAT(elements<uint32_t>(SPARSEC_PLAN_CUT_OFFSETS), ElementsAre(0u, 2u, 4u, 6u, 8u));
  std::vector<uint32_t> firsts, counts;
  std::vector<CutKind> kinds;
  for (const CutTile &each : elements<CutTile>(SPARSEC_PLAN_CUT_TILES)) {
    firsts.push_back(each.first);
    counts.push_back(each.count());
    kinds.push_back(each.kind());
  }
  // First parts come first, and whatever is not one goes up to the end of its list.
  EXPECT_THAT(kinds, ElementsAre(CutKind::first, CutKind::whole, CutKind::whole, CutKind::rest, CutKind::first,
                                 CutKind::whole, CutKind::whole, CutKind::rest));
  for (size_t i = 0; i < kinds.size(); ++i)
    EXPECT_EQ(firsts[i] + counts[i] == allBlocks, kinds[i] != CutKind::first) << i;
}

TEST_F(AttentionCuts, LaunchesNeedTheWorkspace) {
  ASSERT_OK(create(arguments));
  EXPECT_EQ(launchedWith(bytes), "attention_cut");
  EXPECT_EQ(fake.launches.back().gridX, 4u);
  EXPECT_EQ(launchedWith(0), "attention_any");
}

TEST_F(AttentionCuts, NoneWhereTheyGainNothing) {
  loadCuts(attentionWithCuts(), /*rows=*/8);
  ASSERT_OK(create(arguments));
  EXPECT_STREQ(planInfo(cut).reason, "no cut tiles: the longest list would get 0.00 % shorter");
  EXPECT_EQ(launchedWith(bytes), "attention_any");
}

TEST_F(AttentionCuts, NoneWhereListsAreOpen) {
  ArgumentList open = arguments;
  open[pattern] = {};
  ASSERT_OK(create(open));
  EXPECT_STREQ(planInfo(cut).reason, "no cut tiles: fixed order: the lists are open");
}

/// A multiprocessor has three tiles for two workers: 42 steps, and as many in two thirds of the time. With cut tiles it
/// takes 66.5. As many workers with a multiprocessor each would take 84 with whole tiles.
TEST_F(AttentionCuts, TilesSideBySideShareAMultiprocessor) {
  loadCuts(attentionWithCuts(/*tilesSideBySide=*/2), /*rows=*/12);
  ASSERT_OK(create(arguments));
  EXPECT_EQ(planInfo(cut).workers, 8);
  EXPECT_EQ(planInfo(cut).workspace_bytes, int64_t(bytes)) << "four CTAs";
  EXPECT_STREQ(planInfo(cut).reason, "tiles cut along the keys: the longest list gets 5.26 % shorter");
}

/// A quarter of 6 tiles of 80 + 2 steps, and of three times 4, is 126 steps: 82 of them for a whole tile, 3 for a first
/// part and its sums, and 40 for 20 of its blocks.
TEST_F(AttentionCuts, BlocksMayTakeTwoSteps) {
  LaunchInfoBuilder info = attentionWithCuts();
  for (uint32_t stage : {0, 1})
    info.setTile(stage, 64, 32);
  loadCuts(info);
  ASSERT_OK(create(arguments));
  EXPECT_STREQ(planInfo(cut).reason, "tiles cut along the keys: the longest list gets 30.16 % shorter");
  const auto tiles = elements<CutTile>(SPARSEC_PLAN_CUT_TILES);
  ASSERT_EQ(tiles[0].kind(), CutKind::first);
  EXPECT_EQ(tiles[0].count(), 20u);
}

TEST_F(AttentionCuts, ComesBackFromBytes) {
  ASSERT_OK(create(arguments));
  const PlanContents contents = contentsOf(*plan);
  ASSERT_OK(loadPlan(savePlan()));
  EXPECT_TRUE(contentsOf(*plan) == contents);
  EXPECT_EQ(launchedWith(bytes), "attention_cut");
}

TEST_F(AttentionCuts, BytesAreChecked) {
  ASSERT_OK(create(arguments));
  const auto tiles = elements<CutTile>(SPARSEC_PLAN_CUT_TILES);
  const ByteVector good = savePlan();
  using enum CutWord;
  auto refuses = [&](const std::string &message, uint32_t tile, CutWord word, uint32_t value) {
    EXPECT_STATUS(loadPlan(withCutWord(good, tile, word, value)), SPARSEC_STATUS_INVALID_PLAN, message);
  };
  ASSERT_EQ(tiles[0].kind(), CutKind::first);
  ASSERT_EQ(tiles[1].kind(), CutKind::whole);
  ASSERT_EQ(tiles[3].kind(), CutKind::rest);
  refuses("tile 1 is in tile row 1 and panel", 1, row, 1);
  refuses("tile 1 is in tile row 0 and panel 6 of 1 x 6", 1, panel, 6);
  refuses("tile 1 has blocks 1 + 1073741823", 1, first, 1);
  refuses("tile 3 is no rest of the first part that the worker before has", 3, first, tiles[3].first - 1);
  refuses("tile 3 has 1073741822 blocks, but another one of its row has 1073741823", 3, count,
          (tiles[3].count() - 1) | uint32_t(CutKind::rest) << CutTile::kindShift);
}

} // namespace
