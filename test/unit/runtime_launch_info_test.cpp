// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every check of a launch info, each by a good one with one thing broken.

#include "image/checksum.h"
#include "image/launch_info_reader.h"
#include "runtime_expect.h"
#include "runtime_images.h"

#include <cstring>
#include <functional>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

Status parse(const ByteVector &bytes) {
  LaunchInfo info;
  return LaunchInfo::parse(bytes, info);
}

/// Changes the header of a finished launch info and makes its checksum right again.
ByteVector withHeader(const std::function<void(sparsec_launch_info_t &)> &change) {
  ByteVector bytes = cudaLinear().build();
  sparsec_launch_info_t header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  updateChecksum(bytes);
  return bytes;
}

Status parseChanged(const std::function<void(LaunchInfoBuilder &)> &change) {
  LaunchInfoBuilder info = cudaLinear();
  change(info);
  return parse(info.build());
}

TEST(LaunchInfo, Crc32IsThatOfIeee) {
  const uint8_t check[] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  EXPECT_EQ(crc32(check, sizeof(check)), 0xcbf43926u); // the published check value
}

TEST(LaunchInfo, GoodOneIsRead) {
  LaunchInfo info;
  ASSERT_OK(LaunchInfo::parse(cudaLinear().build(), info));
  EXPECT_STREQ(info.kernel(0).name, "linear");
  EXPECT_STREQ(info.argument(4).name, "y");
  EXPECT_STREQ(info.variant(1).symbol, "linear_any");
  EXPECT_EQ(info.parameter(3).kind, uint32_t(SPARSEC_PARAMETER_ROW_PTR));
  EXPECT_EQ(info.tensorMap(2).box[0], 32u);
  EXPECT_EQ(info.step(1).op, uint32_t(SPARSEC_STEP_ADD));
  EXPECT_FALSE(info.isHost());
}

TEST(LaunchInfo, EveryTruncationIsRefused) {
  ByteVector bytes = cudaLinear().build();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_STATUS(parse(ByteVector(bytes.begin(), bytes.begin() + size)), SPARSEC_STATUS_INVALID_IMAGE, "truncated");
}

TEST(LaunchInfo, EveryChangedByteIsNoticed) {
  ByteVector good = cudaLinear().build();
  for (size_t i = 0; i < good.size(); ++i) {
    ByteVector bytes = good;
    bytes[i] ^= 0x40;
    EXPECT_NE(sparsec_status_code(parse(bytes).get()), SPARSEC_STATUS_OK) << "byte " << i;
  }
}

TEST(LaunchInfo, ChangedBytesWithAGoodChecksumAreReadOrRefused) {
  for (const LaunchInfoBuilder &builder : {cudaLinear(), cudaAttention()}) {
    const ByteVector good = builder.build();
    for (size_t i = 0; i < good.size(); ++i)
      for (uint8_t value : {0x00, 0x01, 0x7f, 0xff}) {
        ByteVector bytes = good;
        bytes[i] = value;
        updateChecksum(bytes);
        Status status = parse(bytes);
        EXPECT_THAT(sparsec_status_code(status.get()),
                    ::testing::AnyOf(SPARSEC_STATUS_OK, SPARSEC_STATUS_INVALID_IMAGE, SPARSEC_STATUS_VERSION_MISMATCH));
      }
  }
}

TEST(LaunchInfo, VersionsAreNamed) {
  EXPECT_STATUS(parse(withHeader([](auto &header) { header.major = 7, header.minor = 3; })),
                SPARSEC_STATUS_VERSION_MISMATCH, "launch info has version 7.3, but this runtime reads version 1.x");
}

TEST(LaunchInfo, LargerMinorVersionIsReadAsLongAsItsContentsAreKnown) {
  EXPECT_OK(parseChanged([](auto &info) { info.header.minor = 9; }));
  EXPECT_STATUS(parseChanged([](auto &info) { info.header.minor = 9, info.kernels[0].family = 77; }),
                SPARSEC_STATUS_VERSION_MISMATCH, "version 1.9 and kernel 0 uses kernel family 77");
}

TEST(LaunchInfo, HeaderFieldsAreChecked) {
  struct {
    const char *message;
    std::function<void(sparsec_launch_info_t &)> change;
  } cases[] = {
      {"magic", [](auto &h) { h.magic ^= 1; }},
      {"truncated", [](auto &h) { h.total_size = 8; }},
      {"kernel records have 152 bytes, but at least 160", [](auto &h) { h.kernel_size = 152; }},
      {"argument records have 140 bytes", [](auto &h) { h.argument_size = 140; }},
      {"do not lie within", [](auto &h) { h.variant_count = 0x7fffffff; }},
      {"do not lie within", [](auto &h) { h.parameter_offset = 0; }},
      {"do not lie within", [](auto &h) { h.tensor_map_offset += 4; }},
      {"do not lie within", [](auto &h) { h.step_offset = 0xfffffff8; }},
      {"target or compiler name", [](auto &h) { h.target[0] = 0; }},
      {"target or compiler name", [](auto &h) { std::memset(h.compiler, 'x', sizeof(h.compiler)); }},
      {"unknown target kind 3", [](auto &h) { h.target_kind = 3; }},
      {"compute capability 0", [](auto &h) { h.compute_capability = 0; }},
      {"arch_specific 2", [](auto &h) { h.arch_specific = 2; }},
      {"no kernel", [](auto &h) { h.kernel_count = 0; }},
  };
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parse(withHeader(change)), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(LaunchInfo, RecordsAreChecked) {
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      {"its name is empty", [](auto &i) { i.kernels[0].name[0] = 0; }},
      {"its name is empty or has no end", [](auto &i) { std::memset(i.kernels[0].name, 'x', SPARSEC_SYMBOL_LENGTH); }},
      {"is also that of kernel 0", [](auto &i) { i.kernels.push_back(i.kernels[0]); }},
      {"unknown kernel family 9", [](auto &i) { i.kernels[0].family = 9; }},
      {"arguments 1 + 5 of 5", [](auto &i) { i.kernels[0].argument_first = 1; }},
      {"arguments 4294967295 + 5", [](auto &i) { i.kernels[0].argument_first = UINT32_MAX; }},
      {"variants 0 + 0", [](auto &i) { i.kernels[0].variant_count = 0; }},
      {"variants 0 + 3 of 2", [](auto &i) { i.kernels[0].variant_count = 3; }},
      {"steps 0 + 3 of 2", [](auto &i) { i.kernels[0].step_count = 3; }},
      {"name of argument 1", [](auto &i) { i.arguments[1].name[0] = 0; }},
      {"arguments 0 and 1 have the same name 'w'", [](auto &i) { std::strcpy(i.arguments[1].name, "w"); }},
      {"unknown element type 42", [](auto &i) { i.arguments[1].dtype = 42; }},
      {"rank 3", [](auto &i) { i.arguments[1].rank = 3; }},
      {"size -2", [](auto &i) { i.arguments[1].sizes[0] = -2; }},
      {"argument 0 of role 1", [](auto &i) { i.arguments[0].kind = SPARSEC_ARGUMENT_DENSE; }},
      {"blocks of 0 x 64", [](auto &i) { i.arguments[0].block_rows = 0; }},
      {"argument 1 of role 2", [](auto &i) { i.arguments[1].layout = 0; }},
      {"argument 2 of role 3", [](auto &i) { i.arguments[2].rank = 2; }},
      {"argument 3 of role 3", [](auto &i) { i.arguments[3].dtype = SPARSEC_DTYPE_F16; }},
      {"unknown broadcast 7", [](auto &i) { i.arguments[2].broadcast = 7; }},
      {"unknown argument role 12", [](auto &i) { i.arguments[2].role = 12; }},
      {"argument 2 has role 9, which a kernel of family 1 does not have", [](auto &i) { i.arguments[2].role = 9; }},
      {"argument 1 of role 2 has elements of type i32", [](auto &i) { i.arguments[1].dtype = SPARSEC_DTYPE_I32; }},
      {"unknown layout 3", [](auto &i) { i.arguments[0].layout = 3; }},
      {"argument 2 of role 3", [](auto &i) { i.arguments[2].broadcast = SPARSEC_BROADCAST_NONE; }},
      {"1 result, but got 1, 1 and 0", [](auto &i) { i.kernels[0].argument_count = 4; }},
      {"result to be the last", [](auto &i) { std::swap(i.arguments[2], i.arguments[4]); }},
      {"unknown epilogue step 200", [](auto &i) { i.steps[0].op = 200; }},
      {"unknown epilogue step 96", [](auto &i) { i.steps[0].op = SPARSEC_STEP_I32_ADD; }},
      {"unknown epilogue step 128", [](auto &i) { i.steps[0].op = SPARSEC_STEP_LOAD; }},
      {"step 0 uses value 3, but only 3 are defined", [](auto &i) { i.steps[0].a = 3; }},
      {"unknown comparison 16", [](auto &i) { i.steps[1] = {SPARSEC_STEP_COMPARE, 0, 1, 16, 0}; }},
      {"symbol or schedule of variant 0", [](auto &i) { i.variants[0].symbol[0] = 0; }},
      {"symbol or schedule", [](auto &i) { std::memset(i.variants[0].schedule, 'x', SPARSEC_SYMBOL_LENGTH); }},
      {"alignment 3", [](auto &i) { i.variants[1].alignment = 3; }},
      {"clusters of 0", [](auto &i) { i.variants[1].cluster = 0; }},
      {"clusters of 16, at most 8", [](auto &i) { i.variants[0].cluster = 16; }},
      {"tiles of 0 x 256", [](auto &i) { i.variants[0].tile_m = 0; }},
      {"tiles of 64 x 4294967295", [](auto &i) { i.variants[0].tile_n = UINT32_MAX; }},
      {"parameters 0 + 129", [](auto &i) { i.variants[0].parameter_count = 129; }},
      {"parameters 13 + 13", [](auto &i) { i.variants[1].parameter_count = 13; }},
      {"has 0 threads", [](auto &i) { i.variants[0].threads = 0; }},
      {"has 100 threads", [](auto &i) { i.variants[0].threads = 100; }},
      {"has 0 CTAs per SM", [](auto &i) { i.variants[0].ctas_per_sm = 0; }},
      {"variant 0 has 0 tiles per CTA", [](auto &i) { i.variants[0].tiles_per_cta = 0; }},
      {"variant 1 has 5 tiles per CTA", [](auto &i) { i.variants[1].tiles_per_cta = 5; }},
      {"tile depth of 0", [](auto &i) { i.variants[0].tile_k = 0; }},
      {"unknown parameter kind 50", [](auto &i) { i.parameters[0].kind = 50; }},
      {"tensor map 3 of 3", [](auto &i) { i.parameters[0].index = 3; }},
      {"from argument 5 of 5", [](auto &i) { i.parameters[3].argument = 5; }},
      {"from argument 9 of 5", [](auto &i) { i.parameters[9].argument = 9; }},
      {"does not fit argument 'x'", [](auto &i) { i.parameters[3].argument = 1; }},
      {"kind 5 and index 2 does not fit argument 'w'", [](auto &i) { i.parameters[7].index = 2; }},
      {"kind 7 and index 0 does not fit argument 'bias'", [](auto &i) { i.parameters[6].argument = 2; }},
      {"kind 2 and index 0 does not fit argument 'alpha'", [](auto &i) { i.parameters[5].argument = 3; }},
      {"kind 6 and index 2 does not fit argument 'x'", [](auto &i) { i.parameters[17].index = 2; }},
      {"unknown plan section 3", [](auto &i) { i.parameters[9].index = 3; }},
      {"tensor map 1 is of argument 5 of 5", [](auto &i) { i.tensorMaps[1].argument = 5; }},
      {"does not fit argument 'bias'", [](auto &i) { i.tensorMaps[1].argument = 2; }},
      {"tensor map 1 of kind 3 does not fit argument 'x'",
       [](auto &i) { i.tensorMaps[1].kind = SPARSEC_TENSOR_MAP_BSR_EDGE_VALUES; }},
      {"tensor map 0 of kind 4 does not fit argument 'w'", [](auto &i) { i.tensorMaps[0].kind = 4; }},
      {"has rank 2", [](auto &i) { i.tensorMaps[0].rank = 2; }},
      {"box size 257", [](auto &i) { i.tensorMaps[0].box[1] = 257; }},
      {"unknown swizzle 4", [](auto &i) { i.tensorMaps[0].swizzle = 4; }},
      {"boxes of 256 bytes with swizzle 3", [](auto &i) { i.tensorMaps[0].box[0] = 128; }},
      {"boxes of 8 bytes with swizzle 0", [](auto &i) { i.tensorMaps[2].box[0] = 4; }},
      {"needs alignment 16, but its variant has 8", [](auto &i) { i.variants[0].alignment = 8; }},
      {"has 9 tensor maps",
       [](auto &i) {
         i.variants[0].parameter_first = uint32_t(i.parameters.size());
         i.variants[0].parameter_count = 9;
         i.parameters.insert(i.parameters.end(), 9, {SPARSEC_PARAMETER_TENSOR_MAP, 0, 0, 0});
       }},
  };
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseChanged(change), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(LaunchInfo, HostKernelsHaveNoTensorMaps) {
  EXPECT_STATUS(parseChanged([](auto &info) { makeHostInfo(info); }), SPARSEC_STATUS_INVALID_IMAGE,
                "parameter 0 is tensor map 0");
}

TEST(LaunchInfo, FilesOfVersion1_0AreRead) {
  // Their header ends before the attention table, and nothing in them is of later versions: where variants have
  // tiles_per_cta today, a zero was reserved.
  LaunchInfoBuilder old = cudaLinear();
  for (sparsec_variant_info_t &variant : old.variants)
    variant.tiles_per_cta = 0;
  ByteVector bytes = old.build();
  sparsec_launch_info_t header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  constexpr uint32_t oldSize = 240, growth = sizeof(header) - oldSize;
  header.minor = 0;
  header.total_size -= growth;
  for (uint32_t *offset : {&header.kernel_offset, &header.argument_offset, &header.variant_offset,
                           &header.parameter_offset, &header.tensor_map_offset, &header.step_offset})
    *offset -= growth;
  bytes.erase(bytes.begin() + oldSize, bytes.begin() + sizeof(header));
  header.attention_offset = 0xeeeeeeee; // what lies in the old header's padding means nothing
  std::memcpy(bytes.data(), &header, oldSize);
  updateChecksum(bytes);
  LaunchInfo info;
  ASSERT_OK(LaunchInfo::parse(bytes, info));
  EXPECT_EQ(info.header().minor, 0);
  EXPECT_EQ(info.header().attention_offset, 0u);
  EXPECT_EQ(info.header().attention_count, 0u);
  EXPECT_EQ(info.header().argument_offset % 8, 0u);
  EXPECT_STREQ(info.kernel(0).name, "linear");
  EXPECT_STREQ(info.argument(4).name, "y");
  EXPECT_EQ(info.step(1).op, uint32_t(SPARSEC_STEP_ADD));
  EXPECT_EQ(info.variant(0).tiles_per_cta, 1u);
  EXPECT_EQ(info.variant(1).tiles_per_cta, 1u);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_STATUS(parse(ByteVector(bytes.begin(), bytes.begin() + size)), SPARSEC_STATUS_INVALID_IMAGE, "truncated");
}

Status parseChangedAttention(const std::function<void(LaunchInfoBuilder &)> &change) {
  LaunchInfoBuilder info = cudaAttention();
  change(info);
  return parse(info.build());
}

TEST(LaunchInfo, AttentionIsRead) {
  LaunchInfo info;
  ASSERT_OK(LaunchInfo::parse(cudaAttention().build(), info));
  EXPECT_EQ(info.attention(0).head_dimension, 64u);
  EXPECT_EQ(info.attention(0).mask_step_count, 7u);
  EXPECT_EQ(info.argument(3).block_columns, 128u);
  for (uint32_t number : {8, 4, 3}) // LSE, scale and pattern are optional
    EXPECT_OK(parseChangedAttention([&](auto &i) { removeArgument(i, number); }));
}

TEST(LaunchInfo, EveryTruncationOfAttentionIsRefused) {
  ByteVector bytes = cudaAttention().build();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_STATUS(parse(ByteVector(bytes.begin(), bytes.begin() + size)), SPARSEC_STATUS_INVALID_IMAGE, "truncated");
}

TEST(LaunchInfo, AttentionOfALaterVersionIsNamed) {
  EXPECT_STATUS(parseChangedAttention([](auto &i) { i.header.minor = 9, i.steps[3].op = 300; }),
                SPARSEC_STATUS_VERSION_MISMATCH, "version 1.9 and kernel 0 uses score step 300");
}

TEST(LaunchInfo, AttentionRecordsAreChecked) {
  constexpr uint32_t q = 0, k = 1, v = 2, pattern = 3, scale = 4, slopes = 5, o = 7, lse = 8, patternField = 24;
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      {"attention record 1 of 1", [](auto &i) { i.kernels[0].detail = 1; }},
      {"attention record 0 of 0", [](auto &i) { i.attentions.clear(); }},
      {"head dimension 0", [](auto &i) { i.attentions[0].head_dimension = 0; }},
      {"causal is 2, 0 or 1 is expected", [](auto &i) { i.attentions[0].causal = 2; }},
      {"window of -2 to the left", [](auto &i) { i.attentions[0].window_left = -2; }},
      {"and -3 to the right", [](auto &i) { i.attentions[0].window_right = -3; }},
      {"an attention kernel has 1 epilogue steps", [](auto &i) { i.kernels[0].step_count = 1, i.steps[0].op = 2; }},
      {"score steps 8 + 4 of 11", [](auto &i) { i.attentions[0].score_step_first = 8; }},
      {"mask steps 4 + 8 of 11", [](auto &i) { i.attentions[0].mask_step_count = 8; }},
      {"unknown score step 130", [](auto &i) { i.steps[0].op = 130; }},
      {"unknown mask step 131", [](auto &i) { i.steps[10].op = 131; }},
      {"unknown integer comparison 10", [](auto &i) { i.steps[10].c = 10; }},
      {"score step 1 uses value 6, but only 6 are defined", [](auto &i) { i.steps[1].a = 6; }},
      {"score step 0 loads from argument 9", [](auto &i) { i.steps[0].a = 9; }},
      {"score step 0 loads from argument 0, which is no operand of a region", [](auto &i) { i.steps[0].a = q; }},
      {"mask step 2 uses values 6 + 2, but only 7 are defined", [](auto &i) { i.steps[6].b = 6; }},
      {"argument 0 of role 5", [](auto &i) { i.arguments[q].rank = 3; }},
      {"argument 1 of role 6", [](auto &i) { i.arguments[k].kind = SPARSEC_ARGUMENT_SCALAR; }},
      {"argument 7 of role 4", [](auto &i) { i.arguments[o].rank = 2; }},
      {"argument 8 of role 11", [](auto &i) { i.arguments[lse].dtype = SPARSEC_DTYPE_BF16; }},
      {"argument 4 of role 10", [](auto &i) { i.arguments[scale].dtype = SPARSEC_DTYPE_BF16; }},
      {"argument 5 of role 9", [](auto &i) { i.arguments[slopes].kind = SPARSEC_ARGUMENT_BSR; }},
      {"argument 3 of role 8", [](auto &i) { i.arguments[pattern].rank = 1; }},
      {"has blocks of 64 x 0", [](auto &i) { i.arguments[pattern].block_columns = 0; }},
      {"unknown element type 7", [](auto &i) { i.arguments[pattern].dtype = 7; }},
      {"argument 5 has rank 6, at most 5", [](auto &i) { i.arguments[slopes].rank = 6; }},
      {"argument 2 has role 3, which a kernel of family 2 does not have",
       [](auto &i) {
         i.arguments[v] = cudaLinear().arguments[2];
         std::strcpy(i.arguments[v].name, "v");
       }},
      {"1 value and 1 result, but got 1, 2, 0 and 1", [](auto &i) { i.arguments[v].role = SPARSEC_ROLE_KEY; }},
      {"at most 1 pattern, 1 scale and 1 LSE, but got 1, 2 and 1",
       [](auto &i) {
         i.arguments[slopes] = i.arguments[scale];
         std::strcpy(i.arguments[slopes].name, "slopes");
       }},
      {"query, key and value have different types: bf16, f16 and bf16",
       [](auto &i) { i.arguments[k].dtype = SPARSEC_DTYPE_F16; }},
      {"the result, then the LSE, to be the last", [](auto &i) { std::swap(i.arguments[o], i.arguments[lse]); }},
      {"unknown pattern field 0", [](auto &i) { i.parameters[patternField].index = 0; }},
      {"unknown pattern field 9", [](auto &i) { i.parameters[patternField].index = 9; }},
      {"kind 11 and index 1 does not fit argument 'q'", [](auto &i) { i.parameters[patternField].argument = q; }},
      {"kind 2 and index 0 does not fit argument 'pattern'", [](auto &i) { i.parameters[0].argument = pattern; }},
  };
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseChangedAttention(change), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(LaunchInfo, PatternBuildersAreChecked) {
  auto withBuilder = [](LaunchInfoBuilder &info) {
    info.variants.push_back(info.variants[0]);
    info.attentions[0].builder_first = 1;
    info.attentions[0].builder_count = 1;
  };
  EXPECT_OK(parseChangedAttention(withBuilder));
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      {"2 pattern builders, 7 mask steps and a pattern", [](auto &i) { i.attentions[0].builder_count = 2; }},
      {"1 pattern builders, 0 mask steps and a pattern", [](auto &i) { i.attentions[0].mask_step_count = 0; }},
      {"1 pattern builders, 7 mask steps and no pattern", [](auto &i) { removeArgument(i, 3); }},
      {"1 pattern builders, 7 mask steps and a pattern", [](auto &i) { makeHostInfo(i); }},
      {"pattern builder 2 of 2 variants", [](auto &i) { i.attentions[0].builder_first = 2; }},
      {"the pattern builder has 33 threads", [](auto &i) { i.variants[1].threads = 33; }},
      {"the symbol or schedule of the pattern builder is empty", [](auto &i) { i.variants[1].symbol[0] = 0; }},
  };
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseChangedAttention([&](auto &info) {
                    withBuilder(info);
                    change(info);
                  }),
                  SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(LaunchInfo, AttentionTableIsChecked) {
  ByteVector bytes = cudaAttention().build();
  for (uint32_t size : {24u, 36u}) {
    std::memcpy(bytes.data() + offsetof(sparsec_launch_info_t, attention_size), &size, sizeof(size));
    updateChecksum(bytes);
    EXPECT_STATUS(parse(bytes), SPARSEC_STATUS_INVALID_IMAGE, "attention records have");
  }
  bytes = cudaAttention().build();
  const uint32_t offset = 8;
  std::memcpy(bytes.data() + offsetof(sparsec_launch_info_t, attention_offset), &offset, sizeof(offset));
  updateChecksum(bytes);
  EXPECT_STATUS(parse(bytes), SPARSEC_STATUS_INVALID_IMAGE, "1 attention records of 40 bytes at offset 8");
}

TEST(LaunchInfo, LongerRecordsAreRead) {
  // What a newer minor version writes: every argument record has 8 more bytes.
  LaunchInfoBuilder builder = cudaLinear();
  ByteVector bytes = builder.build();
  sparsec_launch_info_t header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.argument_offset = uint32_t(bytes.size());
  header.argument_size += 8;
  for (const sparsec_argument_info_t &argument : builder.arguments) {
    const auto *begin = reinterpret_cast<const uint8_t *>(&argument);
    bytes.insert(bytes.end(), begin, begin + sizeof(argument));
    bytes.insert(bytes.end(), 8, 0xee);
  }
  header.total_size = uint32_t(bytes.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  updateChecksum(bytes);
  LaunchInfo info;
  ASSERT_OK(LaunchInfo::parse(bytes, info));
  EXPECT_STREQ(info.argument(4).name, "y");
}

} // namespace
