// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every check of the records that give sequences of attention sizes of their own, each by good ones with one thing
// broken.

#include "image/launch_info_reader.h"
#include "runtime_expect.h"
#include "runtime_sequence_image.h"

#include <functional>

using namespace sparsec::test;
using sparsec::runtime::LaunchInfo;

namespace {

/// Q, K, V, the result and the LSE are operands 0, 1, 2 and the last two; those of sequences are from 7 on.
sparsec::runtime::Status parse(const SequenceOperands &operands,
                               const std::function<void(LaunchInfoBuilder &)> &change = nullptr) {
  LaunchInfoBuilder builder = cudaAttention();
  addSequences(builder, operands);
  if (change)
    change(builder);
  LaunchInfo info;
  return LaunchInfo::parse(builder.build(), info);
}

void refuses(const SequenceOperands &operands, const std::string &message,
             const std::function<void(LaunchInfoBuilder &)> &change) {
  EXPECT_STATUS(parse(operands, change), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(SequenceRecords, GoodOnesAreRead) {
  EXPECT_OK(parse(packed));
  EXPECT_OK(parse(paged));
  for (bool hasQueryStarts : {false, true}) {
    EXPECT_OK(parse({.queryStarts = hasQueryStarts, .keyLengths = true}));
    EXPECT_OK(parse({.queryStarts = hasQueryStarts, .keyStarts = true, .keyLengths = true}));
    EXPECT_OK(parse({.queryStarts = hasQueryStarts, .keyLengths = true, .pageTable = true}));
  }
  for (int64_t rows : {16, 256})
    EXPECT_OK(parse(paged, [=](auto &info) { info.arguments[1].sizes[2] = info.arguments[2].sizes[2] = rows; }));
  EXPECT_OK(parse({}, [](auto &info) { info.header.minor = 3; }));
}

TEST(SequenceRecords, TypesAndRanks) {
  refuses(packed, "argument 7 is no query starts", [](auto &i) { i.arguments[7].dtype = SPARSEC_DTYPE_I64; });
  refuses(packed, "argument 8 is no key starts", [](auto &i) { i.arguments[8].rank = 2; });
  refuses(paged, "argument 7 is no key lengths", [](auto &i) { i.arguments[7].rank = 0; });
  refuses(paged, "argument 8 is no page table", [](auto &i) { i.arguments[8].rank = 1; });
  refuses(packed, "argument 7 is no query starts", [](auto &i) { i.operands[7].layout = SPARSEC_LAYOUT_PACKED; });
  refuses(packed, "expects 0 to 1 operands in slot 'key starts' of attention, but got 2",
          [](auto &i) { i.operands[7].slot = SPARSEC_ATTENTION_KEY_STARTS; });
}

TEST(SequenceRecords, LayoutsGoWithOperands) {
  refuses(packed, "unknown layout 5", [](auto &i) { i.operands[0].layout = 5; });
  refuses(packed, "argument 0 is no query", [](auto &i) { i.operands[0].layout = SPARSEC_LAYOUT_PAGED; });
  refuses(packed, "argument 1 is no key", [](auto &i) { i.operands[1].layout = SPARSEC_LAYOUT_ROW_MAJOR; });
  const std::string withPacked = ", 3 is expected with query starts, key starts and no page table";
  refuses(packed, "the query has layout 0" + withPacked, [](auto &i) { i.operands[0].layout = 0; });
  refuses(packed, "the key has layout 0" + withPacked, [](auto &i) { i.operands[1].layout = 0; });
  refuses(packed, "the value has layout 4" + withPacked, [](auto &i) { i.operands[2].layout = 4; });
  refuses(packed, "the result has layout 0" + withPacked, [](auto &i) { i.operands[9].layout = 0; });
  refuses(packed, "the log-sum-exp has layout 0" + withPacked, [](auto &i) { i.operands[10].layout = 0; });
  refuses(paged, "the value has layout 0, 4 is expected with no query starts, no key starts and a page table",
          [](auto &i) { i.operands[2].layout = 0; });
  refuses({}, "the query has layout 3, 0 is expected with no query starts, no key starts and no page table",
          [](auto &i) { i.operands[0].layout = 3; });
  LaunchInfoBuilder linear = cudaLinear();
  linear.operandOf(1).layout = SPARSEC_LAYOUT_PACKED;
  LaunchInfo info;
  EXPECT_STATUS(LaunchInfo::parse(linear.build(), info), SPARSEC_STATUS_INVALID_IMAGE,
                "argument 1 is no dense operand");
  linear = cudaSampled();
  linear.operandOf(3).layout = SPARSEC_LAYOUT_PACKED;
  EXPECT_STATUS(LaunchInfo::parse(linear.build(), info), SPARSEC_STATUS_INVALID_IMAGE, "and layout 3");
}

TEST(SequenceRecords, Pages) {
  const std::string message = "a page table expects key lengths and no key starts";
  refuses({.pageTable = true}, message, nullptr);
  refuses({.keyStarts = true, .keyLengths = true, .pageTable = true}, message, nullptr);
  for (int64_t rows : {int64_t(SPARSEC_DYNAMIC), int64_t(0), int64_t(8), int64_t(48), int64_t(512)})
    refuses(paged, "the key has pages of " + std::to_string(rows) + " rows, a power of two from 16 to 256 is expected",
            [=](auto &i) { i.arguments[1].sizes[2] = rows; });
  refuses(paged, "key and value have pages of different sizes: 16 and 32 rows",
          [](auto &i) { i.arguments[2].sizes[2] = 32; });
}

TEST(SequenceRecords, AddedExtents) {
  refuses(packed, "extent 1 of variant 0 has combination 3, which none in its place has",
          [](auto &i) { i.extents[3].combination = 3; });
  refuses(packed, "extent 0 of variant 0 has combination 1, which none in its place has",
          [](auto &i) { i.extents[2].combination = 1; });
  refuses(packed, "extent 1 of variant 0 has combination 1, which none in its place has",
          [](auto &i) { i.extents[1].combination = 1; });
  refuses(packed, "extent 1 of a workspace of variant 0 has combination 1, which none in its place has", [](auto &i) {
    i.workspaces = {{2, 2, 4, SPARSEC_LIFETIME_LAUNCH, 0, SPARSEC_WORKSPACE_SCRATCH}};
    i.variants[0].workspace_count = 1;
  });
  LaunchInfoBuilder builder = cudaAttentionWithBuilder();
  builder.extents.back().combination = SPARSEC_EXTENT_SUMMAND;
  LaunchInfo info;
  EXPECT_STATUS(LaunchInfo::parse(builder.build(), info), SPARSEC_STATUS_INVALID_IMAGE,
                "has combination 1, which none in its place has");
}

} // namespace
