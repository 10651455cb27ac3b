// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variants that read packed values: checks of their images, plans, packing and launches on the fake driver.

#include "image/launch_info_reader.h"
#include "plan/plan.h"
#include "runtime_packed_image.h"
#include "runtime_saved_plan.h"
#include "runtime_static_plan_fixture.h"

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

Status parsePacked(const std::function<void(LaunchInfoBuilder &)> &change) {
  LaunchInfoBuilder builder = linearWithPackedValues();
  change(builder);
  LaunchInfo info;
  return LaunchInfo::parse(builder.build(), info);
}

TEST(PackedImage, IsChecked) {
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      {"and those of packed values are expected",
       [](auto &i) { i.variants[0].required_sections &= ~(1u << SPARSEC_PLAN_PACKED_SOURCES); }},
      {"variant 1 requires plan sections 524288, and those of packed values are not expected",
       [](auto &i) { i.variants[1].required_sections = 1u << SPARSEC_PLAN_PACKED_STARTS; }},
      {"variant 1 has packed blocks of 0 x 128", [](auto &i) { i.variants[1].packed_block_columns = 128; }},
      {"variant 0 has packed blocks of 128 x 0, multiples of 64 x 64 are expected",
       [](auto &i) { i.variants[0].packed_block_columns = 0; }},
      {"variant 0 has packed blocks of 96 x 128, multiples of 64 x 64 are expected",
       [](auto &i) { i.variants[0].packed_block_rows = 96; }},
      {"variant 0 has packed blocks of 131072 x 128", [](auto &i) { i.variants[0].packed_block_rows = 131072; }},
      {"variants have packed blocks of 128 x 128 and of 64 x 128",
       [](auto &i) {
         i.variants.insert(i.variants.begin(), i.variants[0]);
         i.variants[1].packed_block_rows = 64;
         ++i.kernels[0].variant_count;
       }},
      {"variant 0 has packed values, but no machine kernel packs them",
       [](auto &i) { i.kernels[0].auxiliary_count = 0; }},
      {"the packed fill in percent of variant 0 is there 0 times", [](auto &i) { i.variants[0].plan_cost_count = 2; }},
      {"the packed fill in percent of variant 0 is 102, 0 to 101 is expected",
       [](auto &i) { i.planCosts.back().value = 102; }},
      {"parameter 2 of the packer of blocks is input 1 of 1", [](auto &i) { i.parameters.back().index = 1; }},
      {"unknown auxiliary kernel 99",
       [](auto &i) {
         i.auxiliaries.push_back({99, packerStage});
         i.kernels[0].auxiliary_count = 2;
       }},
  };
  EXPECT_OK(parsePacked([](auto &) {}));
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parsePacked(change), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(PackedImage, OtherKernelsHaveNoPacker) {
  EXPECT_STATUS(parsePacked([](auto &i) {
                  i.variants.erase(i.variants.begin());
                  --i.kernels[0].variant_count;
                }),
                SPARSEC_STATUS_INVALID_IMAGE, "the packer of blocks expects a variant with packed values");
}

TEST(PackedImage, OtherOperationsHaveNoPackedValues) {
  LaunchInfoBuilder builder = cudaAttention();
  builder.variants[0].packed_block_rows = builder.variants[0].packed_block_columns = 128;
  builder.variants[0].required_sections = packedSections;
  builder.addVariant();
  builder.variants[1].packed_block_rows = builder.variants[1].packed_block_columns = 0;
  builder.variants[1].required_sections = 0;
  LaunchInfo info;
  EXPECT_STATUS(LaunchInfo::parse(builder.build(), info), SPARSEC_STATUS_INVALID_IMAGE,
                "variant 0 has packed values, but is no product of a GPU");
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

constexpr uint32_t packFlags = SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_PACK;

class PackedValues : public StaticPlanOnFake {
protected:
  /// Three packed rows of two packed blocks; the last row has one stored block row. 10 of 12 places are blocks.
  void SetUp() override {
    load(linearWithPackedValues());
    setArguments(5 * 64, 4 * 64, 1024);
    setPattern({{1, 0}, {0, 1}, {2, 3}, {3, 2}, {0, 1}});
  }
  void TearDown() override {
    sparsec_packed_destroy(packed);
    StaticPlanOnFake::TearDown();
  }

  Status pack(const sparsec_blocks_t &matrix, sparsec_pack_options_t options = sized<sparsec_pack_options_t>()) {
    sparsec_packed_destroy(std::exchange(packed, nullptr));
    fake.parameterCount = 3;
    return Status(sparsec_plan_pack(plan, &matrix, &options, &packed));
  }
  Status pack() { return pack(arguments[w].blocks); }

  sparsec_launch_options_t withPacked() {
    auto options = sized<sparsec_launch_options_t>();
    options.packed = packed;
    return options;
  }

  /// The machine kernel that a launch with the packed values takes.
  std::string launchedPacked() {
    fake.launches.clear();
    fake.parameterCount = 8;
    EXPECT_OK(launchWith(withPacked()));
    return fake.launches.empty() ? "" : fake.launches.back().function;
  }

  sparsec_packed_t packed = nullptr;
};

TEST_F(PackedValues, PlanHoldsThePackedBlocks) {
  ASSERT_OK(createPlanWith(packFlags));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_PACKED_STARTS, 4), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_PACKED_COLUMNS, 3), (std::vector<int32_t>{0, 1, 0}));
  EXPECT_EQ(section<int32_t>(SPARSEC_PLAN_PACKED_SOURCES, 12),
            (std::vector<int32_t>{1, 0, 2, 3, 4, 5, 7, 6, 8, 9, -1, -1}));
  EXPECT_EQ(planInfo().packed_bytes, 3 * 128 * 128 * 2);
  EXPECT_EQ(planInfo().tiles, 3 * 2);
  EXPECT_STREQ(planInfo().reason, "packed values: fill 0.83 is at least 0.50; lists: the costs of all tiles are known");
  EXPECT_EQ(planInfo(1).packed_bytes, 0);
}

TEST_F(PackedValues, PlanHasNoneWithoutTheFlag) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  EXPECT_EQ(planInfo().packed_bytes, 0);
  EXPECT_STREQ(planInfo().reason, "no packed values: not asked for");
  ASSERT_OK(pack());
  EXPECT_EQ(packed, nullptr);
  EXPECT_EQ(launched(), "linear_aligned");
}

TEST_F(PackedValues, PlanHasNoneOfScatteredBlocks) {
  for (bool isHalfFull : {true, false}) {
    setPattern({{1, 0}, {}, {2, 3}, {}, isHalfFull ? std::vector<int32_t>{0, 1} : std::vector<int32_t>{0}});
    ASSERT_OK(createPlanWith(packFlags));
    EXPECT_EQ(planInfo().packed_bytes != 0, isHalfFull);
    EXPECT_EQ(std::string(planInfo().reason).rfind("no packed values: fill 0.42 is less than 0.50", 0) == 0,
              !isHalfFull);
    ASSERT_OK(pack());
    EXPECT_EQ(packed != nullptr, isHalfFull);
  }
}

TEST_F(PackedValues, PlanHasNoneOfAnOpenMatrixOrOfNoBlocks) {
  setPattern({{}, {}, {}, {}, {}});
  ASSERT_OK(createPlanWith(packFlags));
  EXPECT_STREQ(planInfo().reason, "no packed values: there are no blocks");
  arguments[w] = {};
  ASSERT_OK(createPlanWith(packFlags));
  EXPECT_STREQ(planInfo().reason, "no packed values: the matrix is open");
}

TEST_F(PackedValues, FlagNeedsAStaticPattern) {
  auto options = sized<sparsec_plan_options_t>();
  options.flags = SPARSEC_PLAN_PACK;
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT,
              "options: expects SPARSEC_PLAN_STATIC_PATTERN with SPARSEC_PLAN_PACK, but got flags 4", arguments,
              options);
  options.flags = 16;
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, "options: expects flags of 0 to 15 (sparsec_plan_flag_t), but got 16",
              arguments, options);
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

TEST_F(PackedValues, PackerRunsOnTheStream) {
  ASSERT_OK(createPlanWith(packFlags));
  auto options = sized<sparsec_pack_options_t>();
  options.stream = at(0x77);
  ASSERT_OK(pack(arguments[w].blocks, options));
  ASSERT_NE(packed, nullptr);
  ASSERT_FALSE(fake.launches.empty());
  const FakeLaunch &first = fake.launches.back();
  EXPECT_EQ(first.function, "linear_pack");
  EXPECT_EQ(first.stream, at(0x77));
  EXPECT_EQ(first.gridX, 3u) << "a CTA for every packed block";
  EXPECT_EQ(first.words[0], 0x100000u) << "the values";
  EXPECT_EQ(first.words[1], reinterpret_cast<uintptr_t>(plan->variants[0].sections[SPARSEC_PLAN_PACKED_SOURCES]));
  const uint64_t memory = first.words[2];
  ASSERT_TRUE(fake.allocations.contains(at(memory)));
  EXPECT_EQ(fake.allocations.at(at(memory)).bytes, size_t(planInfo().packed_bytes));
  sparsec_blocks_t moved = arguments[w].blocks;
  moved.values = at(0x900000);
  const size_t allocations = fake.allocations.size();
  ASSERT_OK(sparsec_packed_refill(packed, &moved, at(0x78)));
  EXPECT_EQ(fake.launches.back().words[0], 0x900000u);
  EXPECT_EQ(fake.launches.back().words[2], memory);
  EXPECT_EQ(fake.launches.back().stream, at(0x78));
  EXPECT_EQ(fake.allocations.size(), allocations);
}

TEST_F(PackedValues, PackRefusesWhatItCannotPack) {
  ASSERT_OK(createPlanWith(packFlags));
  auto refuses = [&](const sparsec_blocks_t &matrix, const char *message) {
    EXPECT_STATUS(pack(matrix), SPARSEC_STATUS_INVALID_ARGUMENT, message);
    EXPECT_EQ(packed, nullptr);
  };
  sparsec_blocks_t matrix = arguments[w].blocks;
  matrix.values = at(0x100008);
  refuses(matrix, "argument 0 'w': expects values at a multiple of 16 bytes");
  matrix.values = nullptr;
  refuses(matrix, "argument 0 'w'");
  matrix = arguments[w].blocks;
  matrix.capacity = 9;
  refuses(matrix, "plan is for M 320, N 1024, K 256, blocks 10, but the matrix has");
  matrix = arguments[w].blocks;
  matrix.flags = SPARSEC_BLOCKS_CHECK_LISTS;
  std::swap(colIdx[0], colIdx[1]);
  refuses(matrix, "plan is for other index arrays");
  std::swap(colIdx[0], colIdx[1]);
  auto options = sized<sparsec_pack_options_t>();
  options.flags = 1;
  EXPECT_STATUS(pack(arguments[w].blocks, options), SPARSEC_STATUS_INVALID_ARGUMENT,
                "options: expects flags of 0, but got 1");
  sparsec_packed_t none = nullptr;
  options = sized<sparsec_pack_options_t>();
  EXPECT_STATUS(sparsec_plan_pack(nullptr, &matrix, &options, &none), SPARSEC_STATUS_INVALID_ARGUMENT, "plan is NULL");
  EXPECT_STATUS(sparsec_plan_pack(plan, nullptr, &options, &none), SPARSEC_STATUS_INVALID_ARGUMENT, "matrix is NULL");
  EXPECT_STATUS(sparsec_plan_pack(plan, &matrix, nullptr, &none), SPARSEC_STATUS_INVALID_ARGUMENT, "options is NULL");
  EXPECT_STATUS(sparsec_plan_pack(plan, &matrix, &options, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "out_packed is NULL");
  EXPECT_STATUS(sparsec_packed_refill(nullptr, &matrix, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "packed is NULL");
  ASSERT_OK(pack());
  EXPECT_STATUS(sparsec_packed_refill(packed, nullptr, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "matrix is NULL");
}

TEST_F(PackedValues, AFailedLaunchOfThePackerLeavesNothing) {
  ASSERT_OK(createPlanWith(packFlags));
  const size_t allocations = fake.allocations.size();
  fake.failures["cuLaunchKernel"] = CUresult(700);
  EXPECT_STATUS(pack(), SPARSEC_STATUS_DRIVER_ERROR, "launching a kernel");
  EXPECT_EQ(packed, nullptr);
  EXPECT_EQ(fake.allocations.size(), allocations);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

TEST_F(PackedValues, LaunchesReadThemWhereTheyAreGiven) {
  ASSERT_OK(createPlanWith(packFlags));
  ASSERT_OK(pack());
  const uint64_t memory = fake.launches.back().words[2];
  EXPECT_EQ(launchedPacked(), "linear_packed");
  const std::vector<uint64_t> &words = fake.launches.back().words;
  EXPECT_EQ(words[0], reinterpret_cast<uintptr_t>(plan->variants[0].sections[SPARSEC_PLAN_PACKED_STARTS]));
  EXPECT_EQ(words[1], reinterpret_cast<uintptr_t>(plan->variants[0].sections[SPARSEC_PLAN_PACKED_COLUMNS]));
  EXPECT_EQ(words[2], memory);
  EXPECT_EQ(uint32_t(words[5]), 3u) << "tile rows";
  size_t variant = 7;
  EXPECT_OK(chooseVariant(&variant));
  EXPECT_EQ(variant, 0u);
  fake.parameterCount = 14;
  EXPECT_EQ(launched(), "linear_aligned") << "without them";
  // An older caller has no such field.
  auto options = withPacked();
  options.size = offsetof(sparsec_launch_options_t, packed);
  EXPECT_OK(launchWith(options));
  EXPECT_EQ(fake.launches.back().function, "linear_aligned");
}

TEST_F(PackedValues, LaunchersReadThemToo) {
  ASSERT_OK(createPlanWith(packFlags));
  ASSERT_OK(pack());
  const uint64_t memory = fake.launches.back().words[2];
  const auto options = withPacked();
  sparsec_launcher_t launcher = nullptr;
  fake.parameterCount = 8;
  const ArgumentArray array(arguments);
  ASSERT_OK(sparsec_launcher_create(kernel, plan, array.data(), array.size(), &options, &launcher));
  ASSERT_OK(sparsec_launcher_run(launcher, nullptr));
  EXPECT_EQ(fake.launches.back().function, "linear_packed");
  arguments[w].blocks.values = at(0x500000);
  const ArgumentArray moved(arguments);
  ASSERT_OK(sparsec_launcher_rebind(launcher, moved.data(), moved.size()));
  ASSERT_OK(sparsec_launcher_run(launcher, nullptr));
  EXPECT_EQ(fake.launches.back().words[2], memory) << "the packed values stay";
  sparsec_launcher_destroy(launcher);
}

TEST_F(PackedValues, AnotherPlanOfThePatternMayUseThem) {
  ASSERT_OK(createPlanWith(packFlags));
  ASSERT_OK(pack());
  sparsec_plan_t first = std::exchange(plan, nullptr);
  ASSERT_OK(createPlanWith(packFlags, /*isWidthOpen=*/true));
  EXPECT_EQ(launchedPacked(), "linear_packed");
  std::swap(colIdx[0], colIdx[1]);
  ASSERT_OK(createPlanWith(packFlags));
  EXPECT_STATUS(launchWith(withPacked()), SPARSEC_STATUS_INVALID_ARGUMENT,
                "options: packed values have another pattern than the plan");
  ASSERT_OK(createPlanWith(0));
  EXPECT_STATUS(launchWith(withPacked()), SPARSEC_STATUS_INVALID_ARGUMENT,
                "options: packed values have another pattern than the plan");
  sparsec_plan_destroy(std::exchange(plan, nullptr));
  EXPECT_STATUS(launchWith(withPacked()), SPARSEC_STATUS_INVALID_ARGUMENT,
                "options: packed values need a plan of their pattern, but plan is NULL");
  sparsec_packed_destroy(std::exchange(packed, nullptr));
  sparsec_plan_destroy(first);
}

//===----------------------------------------------------------------------===//
// Saved plans
//===----------------------------------------------------------------------===//

TEST_F(PackedValues, ASavedPlanKeepsThePackedBlocks) {
  ASSERT_OK(createPlanWith(packFlags));
  const PlanContents contents = contentsOf(*plan);
  const ByteVector saved = savePlan();
  ASSERT_OK(loadPlan(saved));
  EXPECT_EQ(contentsOf(*plan), contents);
  EXPECT_EQ(planInfo().packed_bytes, 3 * 128 * 128 * 2);
  ASSERT_OK(pack());
  EXPECT_EQ(launchedPacked(), "linear_packed");
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  ASSERT_OK(loadPlan(savePlan()));
  EXPECT_EQ(planInfo().packed_bytes, 0);
}

TEST_F(PackedValues, DamagedPackedBlocksAreRefused) {
  ASSERT_OK(createPlanWith(packFlags));
  const ByteVector good = savePlan();
  auto refusesWord = [&](const char *message, sparsec_plan_section_t section, int64_t index, uint32_t value) {
    ByteVector bytes = good;
    setWord(bytes, 0, section, index, value);
    EXPECT_STATUS(loadPlan(mended(bytes)), SPARSEC_STATUS_INVALID_PLAN, message);
  };
  refusesWord("packed starts of variant 0: expects 0 at 0, but got 1", SPARSEC_PLAN_PACKED_STARTS, 0, 1);
  refusesWord("packed columns of variant 0: expects 4 elements, but got 3", SPARSEC_PLAN_PACKED_STARTS, -1, 4);
  refusesWord("packed columns of variant 0: expects 0 to 1 at 1, but got 2", SPARSEC_PLAN_PACKED_COLUMNS, 1, 2);
  refusesWord("packed columns of variant 0: expects 0 to 1 at 0, but got -1", SPARSEC_PLAN_PACKED_COLUMNS, 0,
              UINT32_MAX);
  refusesWord("packed sources of variant 0: block 10 at 0 is out of range or there twice", SPARSEC_PLAN_PACKED_SOURCES,
              0, 10);
  refusesWord("packed sources of variant 0: block 1 at 1 is out of range or there twice", SPARSEC_PLAN_PACKED_SOURCES,
              1, 1);
  refusesWord("packed sources of variant 0: a block of the matrix is missing", SPARSEC_PLAN_PACKED_SOURCES, 0,
              UINT32_MAX);
  // A section is renamed: the variant has some of the packed sections, but not all.
  ByteVector changed = good;
  const uint32_t other = SPARSEC_PLAN_PAIRS;
  std::memcpy(changed.data() + recordOf(good, 0, SPARSEC_PLAN_PACKED_SOURCES) + offsetof(SavedSection, section), &other,
              4);
  EXPECT_STATUS(loadPlan(mended(changed)), SPARSEC_STATUS_INVALID_PLAN, "variant 0 has some sections of a kind");
}

} // namespace
