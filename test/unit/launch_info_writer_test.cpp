// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes of a launch info, read back through launch_info.h.

#include "LaunchInfoWriter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace sparsec;

namespace {

VariantRecord makeVariant(llvm::StringRef symbol, unsigned tensorMaps) {
  VariantRecord variant;
  setText(variant.info.symbol, symbol);
  variant.parameters.push_back({SPARSEC_PARAMETER_POINTER, 1, 7, 0});
  for (unsigned i = 0; i < tensorMaps; ++i) {
    variant.parameters.push_back({SPARSEC_PARAMETER_TENSOR_MAP, 0, i, 0});
    variant.tensorMaps.push_back({SPARSEC_TENSOR_MAP_DENSE, i, 2, SPARSEC_SWIZZLE_128B, {64, 32}, 0});
  }
  return variant;
}

/// Two kernels; the second has two variants with tensor maps of their own, and an epilogue.
std::string makeLaunchInfo() {
  std::vector<KernelRecord> kernels(2);
  setText(kernels[0].info.name, "first");
  kernels[0].arguments.resize(2);
  kernels[0].variants = {makeVariant("first_0", 1)};
  setText(kernels[1].info.name, "second");
  kernels[1].arguments.resize(3);
  kernels[1].steps = {{SPARSEC_STEP_ADD, 0, 1, 0, 0.0}, {SPARSEC_STEP_CONSTANT, 0, 0, 0, 0.5}};
  kernels[1].variants = {makeVariant("second_0", 2), makeVariant("second_1", 1)};
  sparsec_launch_info_t target = {};
  setText(target.target, "sm_90a");
  return writeLaunchInfo(target, kernels);
}

const sparsec_launch_info_t &headerOf(llvm::StringRef bytes) {
  return *reinterpret_cast<const sparsec_launch_info_t *>(bytes.data());
}

template <typename Record>
llvm::ArrayRef<Record> recordsOf(llvm::StringRef bytes, uint32_t offset, uint32_t count, uint32_t size) {
  EXPECT_EQ(size, sizeof(Record));
  EXPECT_EQ(offset % 16, 0u);
  EXPECT_LE(offset + count * sizeof(Record), bytes.size());
  return getRecords<Record>({bytes.data(), bytes.size()}, offset, count);
}

/// The checksum that launch_info.h asks for.
uint32_t checksumOf(std::string bytes) {
  reinterpret_cast<sparsec_launch_info_t *>(bytes.data())->checksum = 0;
  return llvm::crc32(llvm::arrayRefFromStringRef(bytes));
}

TEST(LaunchInfoWriter, Header) {
  std::string bytes = makeLaunchInfo();
  const sparsec_launch_info_t &header = headerOf(bytes);
  EXPECT_EQ(header.magic, SPARSEC_LAUNCH_INFO_MAGIC);
  EXPECT_EQ(std::memcmp(bytes.data(), "SPRCINFO", 8), 0);
  EXPECT_EQ(header.major, SPARSEC_LAUNCH_INFO_MAJOR);
  EXPECT_EQ(header.minor, SPARSEC_LAUNCH_INFO_MINOR);
  EXPECT_EQ(header.total_size, bytes.size());
  EXPECT_EQ(header.checksum, checksumOf(bytes));
  EXPECT_STREQ(header.target, "sm_90a");
}

TEST(LaunchInfoWriter, ChecksumIsThatOfEthernet) {
  // The check value that catalogues of CRCs give for CRC-32 (IEEE 802.3).
  EXPECT_EQ(llvm::crc32(llvm::arrayRefFromStringRef("123456789")), 0xcbf43926u);
}

TEST(LaunchInfoWriter, Tables) {
  std::string bytes = makeLaunchInfo();
  const sparsec_launch_info_t &header = headerOf(bytes);
  auto kernels = recordsOf<sparsec_kernel_info_t>(bytes, header.kernel_offset, header.kernel_count, header.kernel_size);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_STREQ(kernels[1].name, "second");
  EXPECT_EQ(kernels[0].argument_first, 0u);
  EXPECT_EQ(kernels[0].argument_count, 2u);
  EXPECT_EQ(kernels[1].argument_first, 2u);
  EXPECT_EQ(kernels[1].argument_count, 3u);
  EXPECT_EQ(kernels[1].variant_first, 1u);
  EXPECT_EQ(kernels[1].variant_count, 2u);
  EXPECT_EQ(kernels[0].step_count, 0u);
  EXPECT_EQ(kernels[1].step_count, 2u);
  auto steps = recordsOf<sparsec_step_info_t>(bytes, header.step_offset, header.step_count, header.step_size);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[kernels[1].step_first + 1].immediate, 0.5);
  EXPECT_EQ(header.argument_count, 5u);
}

/// A product with an epilogue between two attention kernels: the steps of all regions share one table.
TEST(LaunchInfoWriter, AttentionsAreNumberedInTheImage) {
  std::vector<KernelRecord> kernels(3);
  for (size_t index : {0, 2}) {
    kernels[index].info.family = SPARSEC_FAMILY_ATTENTION;
    kernels[index].attention.emplace();
    kernels[index].attention->info.head_dimension = 64 + index;
    kernels[index].attention->score = {{SPARSEC_STEP_NEGATE, 0, 0, 0, 0.0}, {SPARSEC_STEP_ADD, 0, 5, 0, 0.0}};
  }
  kernels[1].steps = {{SPARSEC_STEP_EXP, 0, 0, 0, 0.0}};
  kernels[2].attention->mask = {{SPARSEC_STEP_I32_COMPARE, 3, 4, 2, 0.0}};
  for (KernelRecord &kernel : kernels)
    kernel.variants.resize(2);
  kernels[0].attention->patternBuilder.emplace();
  setText(kernels[0].attention->patternBuilder->info.symbol, "builder");
  kernels[0].attention->patternBuilder->parameters = {{SPARSEC_PARAMETER_SIZE, 1, 2, 0}};
  std::string bytes = writeLaunchInfo({}, kernels);
  const sparsec_launch_info_t &header = headerOf(bytes);
  auto infos = recordsOf<sparsec_kernel_info_t>(bytes, header.kernel_offset, header.kernel_count, header.kernel_size);
  auto attentions = recordsOf<sparsec_attention_info_t>(bytes, header.attention_offset, header.attention_count,
                                                        header.attention_size);
  auto steps = recordsOf<sparsec_step_info_t>(bytes, header.step_offset, header.step_count, header.step_size);
  ASSERT_EQ(attentions.size(), 2u);
  ASSERT_EQ(steps.size(), 2u + 1u + 3u);
  EXPECT_EQ(infos[0].detail, 0u);
  EXPECT_EQ(infos[1].detail, 0u);
  EXPECT_EQ(infos[2].detail, 1u);
  EXPECT_EQ(infos[2].step_count, 0u);
  EXPECT_EQ(steps[infos[1].step_first].op, SPARSEC_STEP_EXP);
  // The builder stands behind the variants of its kernel and in front of those of the next.
  auto variants =
      recordsOf<sparsec_variant_info_t>(bytes, header.variant_offset, header.variant_count, header.variant_size);
  ASSERT_EQ(variants.size(), 7u);
  EXPECT_EQ(attentions[0].builder_first, 2u);
  EXPECT_EQ(attentions[0].builder_count, 1u);
  EXPECT_STREQ(variants[2].symbol, "builder");
  EXPECT_EQ(variants[2].parameter_count, 1u);
  EXPECT_EQ(infos[0].variant_count, 2u);
  EXPECT_EQ(infos[1].variant_first, 3u);
  EXPECT_EQ(attentions[1].builder_count, 0u);
  EXPECT_EQ(attentions[0].mask_step_count, 0u);
  EXPECT_EQ(attentions[1].head_dimension, 66u);
  EXPECT_EQ(attentions[1].score_step_count, 2u);
  EXPECT_EQ(steps[attentions[1].score_step_first].op, SPARSEC_STEP_NEGATE);
  EXPECT_EQ(attentions[1].mask_step_count, 1u);
  EXPECT_EQ(steps[attentions[1].mask_step_first].op, SPARSEC_STEP_I32_COMPARE);
}

TEST(LaunchInfoWriter, TensorMapsAreNumberedInTheImage) {
  std::string bytes = makeLaunchInfo();
  const sparsec_launch_info_t &header = headerOf(bytes);
  auto variants =
      recordsOf<sparsec_variant_info_t>(bytes, header.variant_offset, header.variant_count, header.variant_size);
  auto parameters = recordsOf<sparsec_parameter_info_t>(bytes, header.parameter_offset, header.parameter_count,
                                                        header.parameter_size);
  ASSERT_EQ(variants.size(), 3u);
  ASSERT_EQ(parameters.size(), 2u + 3u + 2u);
  EXPECT_EQ(header.tensor_map_count, 4u);
  EXPECT_STREQ(variants[2].symbol, "second_1");
  EXPECT_EQ(variants[2].parameter_first, 5u);
  EXPECT_EQ(variants[2].parameter_count, 2u);
  // Other parameters keep their index.
  EXPECT_EQ(parameters[5].index, 7u);
  EXPECT_EQ(parameters[1].index, 0u);
  EXPECT_EQ(parameters[3].index, 1u);
  EXPECT_EQ(parameters[4].index, 2u);
  EXPECT_EQ(parameters[6].index, 3u);
}

TEST(LaunchInfoWriter, SetResourcesOfNamedVariantsOnly) {
  std::string bytes = makeLaunchInfo();
  setResources({bytes.data(), bytes.size()}, {{"second_1", 168, 8, 12, 48}, {"unknown", 1, 1, 1, 1}});
  const sparsec_launch_info_t &header = headerOf(bytes);
  auto variants =
      recordsOf<sparsec_variant_info_t>(bytes, header.variant_offset, header.variant_count, header.variant_size);
  EXPECT_EQ(variants[0].registers, 0u);
  EXPECT_EQ(variants[2].registers, 168u);
  EXPECT_EQ(variants[2].static_shared_memory, 48u);
  EXPECT_EQ(variants[2].spill_bytes, 20u);
  EXPECT_EQ(header.checksum, checksumOf(bytes));
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
