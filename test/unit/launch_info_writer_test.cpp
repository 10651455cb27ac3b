// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes of a launch info, read back through launch_info.h.

#include "LaunchInfoWriter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace sparsec;

namespace {

StageRecord makeStage(llvm::StringRef symbol, unsigned tensorMaps) {
  StageRecord stage;
  setText(stage.info.symbol, symbol);
  stage.parameters.push_back({SPARSEC_SOURCE_ARGUMENT, 7, SPARSEC_FIELD_DATA, 0});
  for (unsigned i = 0; i < tensorMaps; ++i) {
    stage.parameters.push_back({SPARSEC_SOURCE_TENSOR_MAP, i, 0, 0});
    stage.tensorMaps.push_back({SPARSEC_TENSOR_MAP_DENSE, i, 2, SPARSEC_SWIZZLE_128B, {64, 32}, 0});
  }
  stage.rows = {{0, SPARSEC_FIELD_SIZE, 0, 64, 64, 0}, {0, SPARSEC_FIELD_SIZE, 1, 8, 8, 0}};
  stage.panels = {{1, SPARSEC_FIELD_SIZE, tensorMaps, 1, 1, 0}};
  return stage;
}

VariantRecord makeVariant(llvm::StringRef symbol, unsigned tensorMaps) {
  VariantRecord variant;
  variant.stages = {makeStage(symbol, tensorMaps)};
  return variant;
}

/// Two kernels; the second has two variants with tensor maps of their own, an epilogue and a pattern builder.
std::string makeLaunchInfo() {
  std::vector<KernelRecord> kernels(2);
  setText(kernels[0].info.name, "first");
  kernels[0].arguments.resize(2);
  kernels[0].operation.operands.resize(2);
  kernels[0].variants = {makeVariant("first_0", 1)};
  setText(kernels[1].info.name, "second");
  kernels[1].arguments.resize(3);
  kernels[1].operation.kind = SPARSEC_OPERATION_ATTENTION;
  kernels[1].operation.operands.resize(4);
  kernels[1].operation.attributes = {{SPARSEC_ATTRIBUTE_CAUSAL, 0, 1}};
  kernels[1].operation.regions = {
      {SPARSEC_REGION_SCORE,
       {{SPARSEC_INPUT_SCORE, 0}},
       {{SPARSEC_STEP_ADD, 0, 0, 0, 0.0}, {SPARSEC_STEP_CONSTANT, 0, 0, 0, 0.5}}},
      {SPARSEC_REGION_MASK, {{SPARSEC_INPUT_QUERY, 0}, {SPARSEC_INPUT_KEY, 0}}, {{SPARSEC_STEP_COPY, 1, 0, 0, 0.0}}}};
  kernels[1].variants = {makeVariant("second_0", 2), makeVariant("second_1", 1)};
  kernels[1].variants[1].requirements = {{2, 8, 16, 0}};
  kernels[1].variants[1].workspaces = {
      {{0, 0, 4, SPARSEC_LIFETIME_LAUNCHES, 1, SPARSEC_WORKSPACE_TILE_COUNTER}, {}},
      {{0, 0, 2, SPARSEC_LIFETIME_LAUNCH, 0, SPARSEC_WORKSPACE_SCRATCH}, {{3, SPARSEC_FIELD_SIZE, 0, 1, 1, 0}}}};
  kernels[1].variants[1].stages.push_back(makeStage("second_1_combine", 0));
  kernels[1].variants[0].planCosts = {{SPARSEC_PLAN_COST_TILE_OVERHEAD, 1}};
  kernels[1].variants[1].planCosts = {{SPARSEC_PLAN_COST_TILE_OVERHEAD, 3}, {SPARSEC_PLAN_COST_GROUPED_DENSITY, 70}};
  kernels[1].auxiliaries = {{SPARSEC_AUXILIARY_PATTERN_BUILDER, makeStage("second_pattern", 1)}};
  sparsec_launch_info_t target = {};
  setText(target.target, "sm_90a");
  return writeLaunchInfo(target, kernels);
}

const sparsec_launch_info_t &headerOf(llvm::StringRef bytes) {
  return *reinterpret_cast<const sparsec_launch_info_t *>(bytes.data());
}

template <typename Record> Records<Record> tableOfBytes(const std::string &bytes) {
  return recordsOf<Record>(headerOf(bytes));
}

TEST(LaunchInfoWriter, Header) {
  std::string bytes = makeLaunchInfo();
  const sparsec_launch_info_t &header = headerOf(bytes);
  EXPECT_EQ(header.magic, SPARSEC_LAUNCH_INFO_MAGIC);
  EXPECT_EQ(std::memcmp(bytes.data(), "SPRCINFO", 8), 0);
  EXPECT_EQ(header.major, SPARSEC_LAUNCH_INFO_MAJOR);
  EXPECT_EQ(header.minor, SPARSEC_LAUNCH_INFO_MINOR);
  EXPECT_EQ(header.total_size, bytes.size());
  EXPECT_STREQ(header.target, "sm_90a");
}

TEST(LaunchInfoWriter, TablesFollowEachOther) {
  std::string bytes = makeLaunchInfo();
  const sparsec_launch_info_t &header = headerOf(bytes);
  Records<sparsec_table_info_t> directory(bytes.data() + header.directory_offset, header.directory_count,
                                          header.directory_size);
  uint32_t end = header.directory_offset + header.directory_count * header.directory_size, id = 0;
  for (const sparsec_table_info_t &table : directory) {
    EXPECT_EQ(table.id, ++id);
    EXPECT_EQ(table.offset, end);
    EXPECT_EQ(table.offset % 8, 0u);
    end = table.offset + table.count * table.record_size;
  }
  EXPECT_EQ(id, uint32_t(SPARSEC_TABLE_PLAN_COSTS));
  EXPECT_EQ(end, bytes.size());
}

TEST(LaunchInfoWriter, KernelsNameTheirRecords) {
  std::string bytes = makeLaunchInfo();
  auto kernels = tableOfBytes<sparsec_kernel_info_t>(bytes);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_STREQ(kernels[1].name, "second");
  EXPECT_EQ(kernels[0].argument_first, 0u);
  EXPECT_EQ(kernels[0].argument_count, 2u);
  EXPECT_EQ(kernels[1].argument_first, 2u);
  EXPECT_EQ(kernels[1].argument_count, 3u);
  EXPECT_EQ(kernels[0].variant_count, 1u);
  EXPECT_EQ(kernels[1].variant_first, 1u);
  EXPECT_EQ(kernels[1].variant_count, 2u);
  EXPECT_EQ(kernels[0].auxiliary_count, 0u);
  EXPECT_EQ(kernels[1].auxiliary_count, 1u);
  EXPECT_EQ(kernels[1].operation, 1u);
  EXPECT_EQ(tableOfBytes<sparsec_argument_info_t>(bytes).size(), 5u);
}

TEST(LaunchInfoWriter, OperationsNameTheirRecords) {
  std::string bytes = makeLaunchInfo();
  auto operations = tableOfBytes<sparsec_operation_info_t>(bytes);
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_EQ(operations[1].kind, uint32_t(SPARSEC_OPERATION_ATTENTION));
  EXPECT_EQ(operations[1].operand_first, 2u);
  EXPECT_EQ(operations[1].operand_count, 4u);
  EXPECT_EQ(operations[0].attribute_count, 0u);
  EXPECT_EQ(operations[1].attribute_count, 1u);
  EXPECT_EQ(operations[0].region_count, 0u);
  ASSERT_EQ(operations[1].region_count, 2u);
  auto regions = tableOfBytes<sparsec_region_info_t>(bytes);
  EXPECT_EQ(regions[1].slot, uint32_t(SPARSEC_REGION_MASK));
  EXPECT_EQ(regions[1].input_first, 1u);
  EXPECT_EQ(regions[1].input_count, 2u);
  EXPECT_EQ(regions[1].step_first, 2u);
  EXPECT_EQ(regions[1].step_count, 1u);
  EXPECT_EQ(tableOfBytes<sparsec_step_info_t>(bytes)[1].immediate, 0.5);
}

TEST(LaunchInfoWriter, VariantsNameTheirRecords) {
  std::string bytes = makeLaunchInfo();
  auto variants = tableOfBytes<sparsec_variant_info_t>(bytes);
  ASSERT_EQ(variants.size(), 3u);
  EXPECT_EQ(variants[2].alignment, 16u) << "the largest that a requirement asks for";
  EXPECT_EQ(variants[2].requirement_count, 1u);
  EXPECT_EQ(variants[2].stage_first, 2u);
  EXPECT_EQ(variants[2].stage_count, 2u);
  EXPECT_EQ(variants[2].workspace_count, 2u);
  EXPECT_EQ(variants[0].plan_cost_count, 0u);
  EXPECT_EQ(variants[2].plan_cost_first, 1u);
  ASSERT_EQ(variants[2].plan_cost_count, 2u);
  EXPECT_EQ(tableOfBytes<sparsec_plan_cost_info_t>(bytes)[2].key, uint32_t(SPARSEC_PLAN_COST_GROUPED_DENSITY));
  EXPECT_EQ(tableOfBytes<sparsec_plan_cost_info_t>(bytes)[2].value, 70u);
  auto workspaces = tableOfBytes<sparsec_workspace_info_t>(bytes);
  EXPECT_EQ(workspaces[0].extent_count, 0u);
  ASSERT_EQ(workspaces[1].extent_count, 1u);
  auto extents = tableOfBytes<sparsec_extent_info_t>(bytes);
  EXPECT_EQ(extents[workspaces[1].extent_first].argument, 3u);
  auto stages = tableOfBytes<sparsec_stage_info_t>(bytes);
  EXPECT_EQ(stages[2].row_count, 2u);
  EXPECT_EQ(extents[stages[2].row_first].block, 64u);
  ASSERT_EQ(stages[2].panel_count, 1u);
  EXPECT_EQ(extents[stages[2].panel_first].dimension, 1u);
  auto auxiliary = tableOfBytes<sparsec_auxiliary_info_t>(bytes)[0];
  EXPECT_EQ(auxiliary.kind, uint32_t(SPARSEC_AUXILIARY_PATTERN_BUILDER));
  EXPECT_STREQ(stages[auxiliary.stage].symbol, "second_pattern");
}

TEST(LaunchInfoWriter, TensorMapsAreNumberedInTheImage) {
  std::string bytes = makeLaunchInfo();
  auto stages = tableOfBytes<sparsec_stage_info_t>(bytes);
  auto parameters = tableOfBytes<sparsec_parameter_info_t>(bytes);
  ASSERT_EQ(stages.size(), 5u);
  EXPECT_EQ(tableOfBytes<sparsec_tensor_map_info_t>(bytes).size(), 5u);
  EXPECT_STREQ(stages[2].symbol, "second_1");
  EXPECT_EQ(stages[2].parameter_first, 5u);
  EXPECT_EQ(stages[2].parameter_count, 2u);
  EXPECT_EQ(parameters[5].index, 7u) << "other parameters keep their index";
  EXPECT_EQ(parameters[1].index, 0u);
  EXPECT_EQ(parameters[3].index, 1u);
  EXPECT_EQ(parameters[4].index, 2u);
  EXPECT_EQ(parameters[6].index, 3u);
}

TEST(LaunchInfoWriter, SetResourcesOfNamedStagesOnly) {
  std::string bytes = makeLaunchInfo();
  setResources({bytes.data(), bytes.size()}, {{"second_1", 168, 8, 12, 48}, {"unknown", 1, 1, 1, 1}});
  auto stages = tableOfBytes<sparsec_stage_info_t>(bytes);
  EXPECT_EQ(stages[0].registers, 0u);
  EXPECT_EQ(stages[2].registers, 168u);
  EXPECT_EQ(stages[2].static_shared_memory, 48u);
  EXPECT_EQ(stages[2].spill_bytes, 20u);
}

TEST(LaunchInfoWriter, ChecksumIsThatOfEthernet) {
  // The check value that catalogues of CRCs give for CRC-32 (IEEE 802.3).
  EXPECT_EQ(llvm::crc32(llvm::arrayRefFromStringRef("123456789")), 0xcbf43926u);
}

TEST(LaunchInfoWriter, PtxIsSealedWithItsTerminator) {
  std::string bytes = makeLaunchInfo();
  const std::string ptx = "1234567";
  sealPtx(ptx, {bytes.data(), bytes.size()});
  sparsec_launch_info_t &header = *reinterpret_cast<sparsec_launch_info_t *>(bytes.data());
  EXPECT_EQ(header.image_checksum, llvm::crc32(llvm::arrayRefFromStringRef(ptx + '\0')));
  uint32_t checksum = header.checksum;
  header.checksum = 0;
  EXPECT_EQ(checksum, llvm::crc32(llvm::arrayRefFromStringRef(bytes)));
}

TEST(LaunchInfoWriter, FindRefusesWhatIsNoElf) {
  std::string bytes = "not an ELF file, but long enough to hold the header of one: 64 bytes or more";
  auto found = findLaunchInfo({bytes.data(), bytes.size()});
  ASSERT_FALSE(bool(found));
  EXPECT_NE(llvm::toString(found.takeError()), "");
}

TEST(LaunchInfoWriter, FindNamesTheMissingSymbol) {
  // This program is an ELF file with a symbol table but without launch info.
  auto self = llvm::MemoryBuffer::getFile("/proc/self/exe", /*IsText=*/false, /*RequiresNullTerminator=*/false);
  ASSERT_TRUE(bool(self));
  std::string bytes = (*self)->getBuffer().str();
  auto found = findLaunchInfo({bytes.data(), bytes.size()});
  ASSERT_FALSE(bool(found));
  EXPECT_EQ(llvm::toString(found.takeError()), "the image has no symbol sparsec_launch_info");
}

} // namespace
