// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every check of a launch info, each by a good one with one thing broken.

#include "checksum.h"
#include "launch_info_reader.h"
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
      {"unknown argument role 8", [](auto &i) { i.arguments[2].role = 8; }},
      {"1 result, but got 1, 1 and 0", [](auto &i) { i.kernels[0].argument_count = 4; }},
      {"result to be the last", [](auto &i) { std::swap(i.arguments[2], i.arguments[4]); }},
      {"unknown epilogue step 200", [](auto &i) { i.steps[0].op = 200; }},
      {"step 0 uses value 3, but only 3 are defined", [](auto &i) { i.steps[0].a = 3; }},
      {"unknown comparison 16", [](auto &i) { i.steps[1] = {SPARSEC_STEP_COMPARE, 0, 1, 16, 0}; }},
      {"symbol or schedule of variant 0", [](auto &i) { i.variants[0].symbol[0] = 0; }},
      {"symbol or schedule", [](auto &i) { std::memset(i.variants[0].schedule, 'x', SPARSEC_SYMBOL_LENGTH); }},
      {"alignment 3", [](auto &i) { i.variants[1].alignment = 3; }},
      {"clusters of 0", [](auto &i) { i.variants[1].cluster = 0; }},
      {"clusters of 16, at most 8", [](auto &i) { i.variants[0].cluster = 16; }},
      {"tiles of 0 x 256", [](auto &i) { i.variants[0].tile_m = 0; }},
      {"tiles of 64 x 4294967295", [](auto &i) { i.variants[0].tile_n = UINT32_MAX; }},
      {"parameters 0 + 65", [](auto &i) { i.variants[0].parameter_count = 65; }},
      {"parameters 13 + 13", [](auto &i) { i.variants[1].parameter_count = 13; }},
      {"has 0 threads", [](auto &i) { i.variants[0].threads = 0; }},
      {"has 100 threads", [](auto &i) { i.variants[0].threads = 100; }},
      {"has 0 CTAs per SM", [](auto &i) { i.variants[0].ctas_per_sm = 0; }},
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
      {"unknown plan section 2", [](auto &i) { i.parameters[9].index = 2; }},
      {"tensor map 1 is of argument 5 of 5", [](auto &i) { i.tensorMaps[1].argument = 5; }},
      {"does not fit argument 'bias'", [](auto &i) { i.tensorMaps[1].argument = 2; }},
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
  EXPECT_STATUS(parseChanged([](auto &info) {
                  info.header.target_kind = SPARSEC_TARGET_HOST;
                  info.header.compute_capability = 0;
                }),
                SPARSEC_STATUS_INVALID_IMAGE, "parameter 0 is tensor map 0");
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
