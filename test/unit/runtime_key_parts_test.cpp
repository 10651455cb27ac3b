// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention that splits the keys of its tiles into parts: how many there are, which memory they get, and which stages
// run.

#include "operations/kernel_shape.h"
#include "runtime_attention_fixture.h"
#include "runtime_sequence_image.h"

#include <cstring>

using namespace sparsec::runtime;
using namespace sparsec::test;
using ::testing::ElementsAre;

namespace {

/// Extents: 0 to 2 are those of cudaAttention(), 3 the parts, 4 to 7 a row of Q for each part.
enum { partsExtent = 3, rowExtents = 4 };
enum { whole, split }; // variants

/// Variant 0 is that of cudaAttention(), or of another kernel. Variant 1 is for keys in parts of 100 or more: it has a
/// tile counter, 256 bytes for every row and part, and a stage that merges parts. Both stages take the workspaces and
/// the number of parts.
LaunchInfoBuilder attentionInParts(LaunchInfoBuilder info = cudaAttention()) {
  enum { q };
  const sparsec_extent_info_t parts = {0, SPARSEC_FIELD_PARTS, 0, 1, 1, 0};
  info.extents.push_back(parts);
  for (uint32_t dimension : {0, 1, 2})
    info.extents.push_back({q, SPARSEC_FIELD_SIZE, dimension, 1, 1, 0});
  info.extents.push_back(parts);
  info.workspaces = {{rowExtents, 4, 256, SPARSEC_LIFETIME_LAUNCH, 0, SPARSEC_WORKSPACE_SCRATCH},
                     {0, 0, 4, SPARSEC_LIFETIME_LAUNCHES, 1, SPARSEC_WORKSPACE_TILE_COUNTER}};
  info.parameters = {{SPARSEC_SOURCE_WORKSPACE, 0, 0, 0},
                     {SPARSEC_SOURCE_WORKSPACE, 1, 0, 0},
                     {SPARSEC_SOURCE_PARTS, 0, 0, 0},
                     {SPARSEC_SOURCE_PANELS, 0, 0, 0}};
  info.stages[0].parameter_count = 0;
  sparsec_stage_info_t stage = info.stages[0];
  std::strcpy(stage.symbol, "attention_parts");
  stage.parameter_count = 4;
  stage.panel_count = 2; // extents 2 and 3
  info.stages.push_back(stage);
  std::strcpy(stage.symbol, "attention_merge");
  stage.ctas_per_sm = 0;
  stage.row_first = rowExtents, stage.row_count = 2;
  stage.panel_first = rowExtents + 2, stage.panel_count = 1;
  info.stages.push_back(stage);
  sparsec_variant_info_t variant = info.variants[0];
  variant.stage_first = 1, variant.stage_count = 2;
  variant.workspace_count = 2;
  variant.part_keys = 100;
  info.variants.push_back(variant);
  info.kernels[0].variant_count = 2;
  return info;
}

/// 2 batches of 8 heads with 2 tiles of 64 queries each, on a GPU that runs 264 CTAs at once, and 300 keys: 32 tiles.
class KeyParts : public AttentionOnFake {
protected:
  void SetUp() override { loadParts(attentionInParts()); }

  void loadParts(const LaunchInfoBuilder &info) {
    load(info);
    setArguments(sparsec_blocks_pattern(1, 1, 100, 300, 64, 128));
    fake.launches.clear();
    options.workspace = at(base);
    options.workspace_bytes = enough;
  }

  /// Arguments of a plan: everything is open but Q and K.
  static ArgumentList sizes(int64_t batches, int64_t keys) {
    return {sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_BF16, batches, 8, 100, 64),
            sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_BF16, batches, 2, keys, 64),
            {},
            {},
            {},
            {},
            {},
            {},
            {}};
  }

  static constexpr uintptr_t base = 0x700000;
  static constexpr size_t enough = size_t(1) << 24, counter = 16, kept = keptWorkspaceBytes;
  static constexpr size_t ofPart = size_t(2) * 8 * 100 * 256; // all rows
  sparsec_launch_options_t options = sized<sparsec_launch_options_t>();
};

/// Each of 32 tiles gets 3 parts: 16 would be two for each CTA that runs at once, but a part has 100 of the 300 keys.
TEST_F(KeyParts, AreTilesOfTheGridAndAreMerged) {
  ASSERT_OK(createPlan(sizes(2, 300)));
  EXPECT_EQ(planInfo(split).order, SPARSEC_TILE_ORDER_COUNTER);
  EXPECT_EQ(planInfo(split).tiles, 32 * 3);
  EXPECT_EQ(workspaceBytes(), kept + 3 * ofPart);
  size_t variant = 7;
  ASSERT_OK(chooseVariant(&variant));
  EXPECT_EQ(variant, size_t(split));
  fake.parameterCount = 4;
  ASSERT_OK(launchWith(options));
  ASSERT_EQ(fake.launches.size(), 2u);
  EXPECT_EQ(fake.launches[0].function, "attention_parts");
  EXPECT_EQ(fake.launches[0].gridX, 96u);
  EXPECT_THAT(fake.launches[0].words, ElementsAre(base + kept, base, 3u, 2u * 3u));
  EXPECT_EQ(fake.launches[1].function, "attention_merge");
  EXPECT_EQ(fake.launches[1].gridX, 2u * 8 * 100) << "a CTA for every row";
  EXPECT_THAT(fake.launches[1].words, ElementsAre(base + kept, base, 3u, 100u));
}

/// Where keys are many there is a part for each CTA that runs at once.
TEST_F(KeyParts, FollowFromTilesWhereKeysAreMany) {
  for (int tensor : {k, v})
    arguments[tensor] =
        sparsec_dense_bhsd(at(tensor == k ? 0x10000000 : 0x20000000), SPARSEC_DTYPE_BF16, 2, 2, 100000, 64);
  arguments[pattern] = sparsec_blocks_pattern(1, 1, 100, 100000, 64, 128);
  arguments[ids] = sparsec_dense_2d(at(0x60000), SPARSEC_DTYPE_I32, 2, 100000);
  ASSERT_OK(createPlan(ArgumentList(9)));
  fake.parameterCount = 4;
  ASSERT_OK(launchWith(options));
  EXPECT_EQ(fake.launches[0].words[2], uint64_t(264 / 32));
  EXPECT_EQ(fake.launches[0].gridX, 256u);
}

/// A part for each CTA that runs at once takes less time than two of half its size, unless many CTAs would have none.
class KeyPartsOfTiles : public KeyParts {
protected:
  void SetUp() override {
    LaunchInfoBuilder info = cudaAttention();
    removeArgument(info, pattern);
    loadParts(attentionInParts(info));
  }

  int64_t tilesOf(int64_t batches, int64_t keys) {
    ArgumentList open = sizes(batches, keys);
    open.erase(open.begin() + pattern);
    EXPECT_EQ(createPlan(open), nullptr);
    return planInfo(split).tiles;
  }
};

TEST_F(KeyPartsOfTiles, TakeTheLeastTime) {
  EXPECT_EQ(tilesOf(2, 100000), 32 * 8) << "one for each of 264 CTAs";
  EXPECT_EQ(tilesOf(10, 100000), 160 * 3) << "two rounds of a third take less than one round of all keys";
  EXPECT_EQ(tilesOf(10, 700), 160) << "here they take more than one round of all keys";
  EXPECT_EQ(tilesOf(1, 100000), 16 * 16);
}

/// The launch of a kernel with lengths, for this number of batches and many keys.
class KeyPartsOfLengths : public KeyParts {
protected:
  void SetUp() override {
    LaunchInfoBuilder info = cudaAttention();
    removeArgument(info, pattern);
    addInput(info, "key_lengths", SPARSEC_ATTENTION_KEY_LENGTHS, 1);
    loadParts(attentionInParts(info));
  }

  uint64_t partsOf(int64_t batches) {
    auto tensor = [&](uintptr_t address, int64_t heads, int64_t length) {
      return sparsec_dense_bhsd(at(address), SPARSEC_DTYPE_BF16, batches, heads, length, 64);
    };
    arguments = {tensor(0x100000, 8, 100),
                 tensor(0x10000000, 2, 100000),
                 tensor(0x20000000, 2, 100000),
                 0.125,
                 sparsec_dense_1d(at(0x50000), SPARSEC_DTYPE_F32, 8),
                 sparsec_dense_2d(at(0x60000), SPARSEC_DTYPE_I32, batches, 100000),
                 sparsec_dense_1d(at(0x70000), SPARSEC_DTYPE_I32, batches),
                 tensor(0x400000, 8, 100),
                 sparsec_dense_3d(at(0x500000), SPARSEC_DTYPE_F32, batches, 8, 100)};
    EXPECT_EQ(createPlan(ArgumentList(9)), nullptr);
    fake.parameterCount = 4;
    fake.launches.clear();
    EXPECT_EQ(launchWith(options), nullptr);
    return fake.launches[0].words[2];
  }
};

TEST_F(KeyPartsOfLengths, AreAsManyAsForSequencesOfTheSizeOfK) {
  EXPECT_EQ(partsOf(1), 16u) << "one for each of 264 CTAs, from 16 tiles";
  EXPECT_EQ(partsOf(2), 8u) << "one for each of 264 CTAs, from 32 tiles";
}

/// The caller of a launcher binds other arguments; the stages stay.
TEST_F(KeyParts, LaunchersMergeThemToo) {
  ASSERT_OK(createPlan(sizes(2, 300)));
  const ArgumentArray array(arguments);
  sparsec_launcher_t launcher = nullptr;
  fake.parameterCount = 4;
  ASSERT_OK(sparsec_launcher_create(kernel, plan, array.data(), array.size(), &options, &launcher));
  ASSERT_OK(sparsec_launcher_run(launcher, nullptr));
  ASSERT_OK(sparsec_launcher_rebind(launcher, array.data(), array.size()));
  ASSERT_OK(sparsec_launcher_run(launcher, nullptr));
  ASSERT_EQ(fake.launches.size(), 4u);
  EXPECT_EQ(fake.launches[3].function, "attention_merge");
  EXPECT_EQ(fake.launches[3].words[2], 3u);
  sparsec_launcher_destroy(launcher);
}

/// All of these launches have whole tiles.
TEST_F(KeyParts, NeedAPlanAndMemory) {
  auto expectWholeTiles = [&] {
    ASSERT_EQ(fake.launches.size(), 1u);
    EXPECT_EQ(fake.launches[0].function, "attention_any");
    EXPECT_EQ(fake.launches[0].gridX, 32u);
    fake.launches.clear();
  };
  size_t variant = 7;
  ASSERT_OK(chooseVariant(&variant));
  EXPECT_EQ(variant, size_t(whole)) << "without a plan";
  ASSERT_OK(launchWith(options));
  expectWholeTiles();
  ASSERT_OK(createPlan(sizes(2, 300)));
  ASSERT_OK(launch());
  expectWholeTiles();
  options.workspace_bytes = kept + 3 * ofPart - 1;
  ASSERT_OK(launchWith(options));
  expectWholeTiles();
  options.workspace_bytes += 1;
  fake.parameterCount = 4;
  ASSERT_OK(launchWith(options));
  EXPECT_EQ(fake.launches.size(), 2u);
}

TEST_F(KeyParts, AreNoneWhereKeysAreFewOrTilesAreMany) {
  ASSERT_OK(createPlan(sizes(2, 199)));
  EXPECT_EQ(planInfo(split).tiles, 32) << "two parts would have less than 100 keys";
  EXPECT_STREQ(planInfo(split).reason, "counter: the variant is for few tiles with many keys");
  EXPECT_EQ(workspaceBytes(), counter);
  ASSERT_OK(createPlan(sizes(17, 300)));
  EXPECT_EQ(planInfo(split).tiles, 17 * 16) << "more than CTAs that run at once";
  EXPECT_EQ(workspaceBytes(), counter);
}

/// The lists are for launches with whole tiles.
TEST_F(KeyParts, TakeTheirTilesWithoutLists) {
  const std::vector<int32_t> starts = {0, 1, 1}, indices = {2};
  sparsec_blocks_t lists = sparsec_blocks_pattern(1, 1, 100, 300, 64, 128);
  lists.capacity = 1;
  lists.full = {starts.data(), indices.data()};
  arguments[pattern] = lists;
  ASSERT_OK(createPlan(arguments));
  EXPECT_EQ(planInfo(split).order, SPARSEC_TILE_ORDER_COUNTER);
  EXPECT_STREQ(planInfo(split).reason, "counter: the keys of each tile are split into 3 parts");
  EXPECT_EQ(planInfo(whole).order, SPARSEC_TILE_ORDER_LISTS);
}

TEST_F(KeyParts, RecordsThatMakeNoSense) {
  auto refuses = [&](const std::string &message, const std::function<void(LaunchInfoBuilder &)> &change) {
    LaunchInfoBuilder info = attentionInParts();
    change(info);
    ByteVector cubin = makeCubin(info.build());
    sparsec_module_t other = nullptr;
    EXPECT_STATUS(sparsec_module_load(device, cubin.data(), cubin.size(), &other), SPARSEC_STATUS_INVALID_IMAGE,
                  message);
  };
  refuses("variant 1 has parts of keys and 1 stages, 2 are expected",
          [](auto &i) { i.variants[split].stage_count = 1; });
  refuses("all variants have parts of keys, but one must have whole tiles",
          [](auto &i) { i.variants[whole] = i.variants[split]; });
  refuses("an extent of variant 1 is field 13 and dimension 1", [](auto &i) { i.extents[partsExtent].dimension = 1; });
  refuses("an extent of a workspace of variant 1 is field 13 and dimension 0",
          [](auto &i) { i.variants[split].part_keys = 0; });
  auto removeWorkspaces = [](LaunchInfoBuilder &info) {
    info.variants[split].part_keys = info.variants[split].workspace_count = 0;
    info.parameters[0] = info.parameters[1] = info.parameters[3];
  };
  refuses("an extent of variant 1 is field 13 and dimension 0", removeWorkspaces);
  refuses("parameter 2 of variant 1 is the number of parts, but it has none",
          [&](auto &i) { removeWorkspaces(i), i.stages[1].panel_count = 1; });
}

TEST(KeyPartsOfProducts, AreRefused) {
  FakeCuda fake;
  LaunchInfoBuilder info = cudaLinear();
  info.variants[0].part_keys = 100;
  ByteVector cubin = makeCubin(info.build());
  sparsec_device_t device = nullptr;
  ASSERT_OK(sparsec_device_open_cuda(0, &device));
  sparsec_module_t module = nullptr;
  EXPECT_STATUS(sparsec_module_load(device, cubin.data(), cubin.size(), &module), SPARSEC_STATUS_INVALID_IMAGE,
                "variant 0 has parts of 100 keys, but is no attention of a GPU");
  sparsec_device_destroy(device);
}

} // namespace
