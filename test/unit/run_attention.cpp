// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-run on attention kernels: what --check looks at. The kernel itself does nothing.

#include "check.h"
#include "operation_view.h"
#include "runtime_sequence_image.h"

#include <elf.h>
#include <gtest/gtest.h>

using namespace sparsec;
using namespace sparsec::test;

#if defined(__x86_64__)

namespace {

/// A host object whose only function returns at once.
ByteVector hostObject(LaunchInfoBuilder info) {
  makeHostInfo(info);
  ByteVector launchInfo = info.build();
  ElfSectionSpec code = {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, {0xc3}};
  ElfSectionSpec data = {".rodata", SHT_PROGBITS, SHF_ALLOC, launchInfo};
  ByteVector object = makeElf({ET_REL,
                               EM_X86_64,
                               {code, data},
                               {{info.stages[0].symbol, 1, 0, 1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)},
                                {SPARSEC_LAUNCH_INFO_SYMBOL, 2, 0, launchInfo.size()}}});
  EXPECT_TRUE(updateElfChecksums(object));
  return object;
}

class AttentionOnHost : public ::testing::Test {
protected:
  void SetUp() override {
    sparsec_device_t opened = nullptr;
    ASSERT_EQ(sparsec_device_open_host(1, &opened), nullptr);
    device.reset(opened);
    load(cudaAttention());
  }

  void load(const LaunchInfoBuilder &info) {
    sparsec_module_t loaded = nullptr;
    ByteVector object = hostObject(info);
    sparsec_status_t status = sparsec_module_load(device.get(), object.data(), object.size(), &loaded);
    module.reset(loaded);
    if (sparsec_status_code(status) == SPARSEC_STATUS_DEVICE_LIMIT) {
      sparsec_status_free(status);
      GTEST_SKIP() << "needs a processor that host kernels run on";
    }
    ASSERT_EQ(status, nullptr) << sparsec_status_message(status);
    ASSERT_EQ(sparsec_module_kernel(loaded, nullptr, &kernel), nullptr);
  }

  llvm::Expected<run::HostArguments> read(const std::string &pattern) const {
    return run::HostArguments::read(kernel,
                                    {"q=random:1x2x3x64", "k=random:1x1x70x64", "v=random:1x1x70x64",
                                     "pattern=" + pattern, "scale=0.5", "slopes=random:2", "ids=random:1x70:below=2"},
                                    readers::Limits());
  }

  run::OwnedDevice device;
  run::OwnedModule module;
  sparsec_kernel_t kernel = nullptr;
};

TEST_F(AttentionOnHost, ResultsFollowTheQueries) {
  auto host = read("dense");
  ASSERT_TRUE(bool(host));
  EXPECT_EQ(host->problem().resultRows(), 6);
  EXPECT_EQ(host->problem().columns, 64);
  EXPECT_EQ(host->find("o")->sizes, (std::vector<int64_t>{1, 2, 3, 64}));
  EXPECT_EQ(host->find("lse")->sizes, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(host->find("lse")->elements.size(), 6 * sizeof(float));
}

TEST_F(AttentionOnHost, BothResultsAreChecked) {
  auto host = read("random:density=0");
  ASSERT_TRUE(bool(host));
  // No query sees a key: the result is 0, the LSE is -inf.
  std::vector<std::byte> &output = host->find("o")->elements, &lse = host->find("lse")->elements;
  std::fill(output.begin(), output.end(), std::byte(0));
  auto wrong = run::checkResult(kernel, *host, {});
  ASSERT_TRUE(bool(wrong));
  EXPECT_EQ(wrong->rowsChecked, 6);
  EXPECT_EQ(wrong->wrongElements, 6) << "every LSE is still NaN";
  ASSERT_TRUE(wrong->firstWrong);
  EXPECT_EQ(wrong->firstWrong->result, "lse");
  EXPECT_EQ(wrong->firstWrong->row, 0);

  const float infinity = std::numeric_limits<float>::infinity();
  for (int row = 0; row < 6; ++row)
    runtime::storeElement(lse.data(), row, -infinity, *runtime::getFloatFormat(SPARSEC_DTYPE_F32));
  auto right = run::checkResult(kernel, *host, {});
  ASSERT_TRUE(bool(right));
  EXPECT_EQ(right->wrongElements, 0);

  std::fill(output.end() - 2, output.end(), std::byte(0xff));
  auto last = run::checkResult(kernel, *host, {run::CheckRequest::Rows::count, 1});
  ASSERT_TRUE(bool(last));
  EXPECT_EQ(last->wrongElements, 1) << "a row with a NaN is always checked";
  EXPECT_EQ(last->firstWrong->result, "o");
  EXPECT_EQ(last->firstWrong->row, 5);
  EXPECT_EQ(last->firstWrong->column, 63);
}

TEST_F(AttentionOnHost, PairsThatMeet) {
  // 130 queries, 200 keys: query q stands at position q + 70.
  const runtime::Problem problem = {.batches = 2, .heads = 4, .rows = 130, .depth = 200, .sequences = 2};
  runtime::KeyWindow window;
  EXPECT_EQ(run::countPairs(window, problem, {}, nullptr).visited, 2.0 * 4 * 130 * 200);
  EXPECT_EQ(run::countPairs(window, problem, {}, nullptr).all, 2.0 * 4 * 130 * 200);
  window.isCausal = true;
  EXPECT_EQ(run::countPairs(window, problem, {}, nullptr).visited, 8.0 * (71 + 200) * 130 / 2);

  // Blocks (0, 0), (1, 2) and the edge block (2, 3), of 2 queries and 8 keys; the lists are those of all heads.
  const std::vector<int32_t> starts = {0, 1, 2, 3}, indices = {0, 2, 3};
  sparsec_blocks_t pattern = sparsec_blocks_pattern(1, 1, 130, 200, 64, 64);
  pattern.capacity = 3;
  pattern.full = {starts.data(), indices.data()};
  window.isCausal = false;
  EXPECT_EQ(run::countPairs(window, problem, {}, &pattern).visited, 8.0 * (64 * 64 + 64 * 64 + 2 * 8));
  window.isCausal = true; // queries 64 to 127 see keys up to 134 to 197
  EXPECT_EQ(run::countPairs(window, problem, {}, &pattern).visited,
            8.0 * (64 * 64 + (7 + 64) * 58 / 2 + 6 * 64 + 7 + 8));
}

TEST_F(AttentionOnHost, PairsOfSequences) {
  // The sequences have 3 and 5 queries, and 10 and 4 keys. The pattern of the second one excludes its last two keys.
  const runtime::Problem problem = {.batches = 1, .heads = 2, .rows = 8, .depth = 10, .sequences = 2};
  const std::vector<int32_t> queryStarts = {0, 3, 8}, lengths = {10, 4};
  runtime::SequenceArrays arrays;
  arrays.queryStarts = queryStarts.data();
  arrays.keyLengths = lengths.data();
  runtime::KeyWindow window;
  EXPECT_EQ(run::countPairs(window, problem, arrays, nullptr).all, 2.0 * (30 + 20));
  window.isCausal = true; // the first query of the second sequence sees no key
  const run::Pairs pairs = run::countPairs(window, problem, arrays, nullptr);
  EXPECT_EQ(pairs.visited, 2.0 * (8 + 9 + 10 + 0 + 1 + 2 + 3 + 4));
  EXPECT_EQ(pairs.all, 2.0 * (30 + 20));
  const std::vector<int32_t> starts = {0, 0, 1}, indices = {1};
  sparsec_blocks_t pattern = sparsec_blocks_pattern(2, 1, 8, 10, 8, 2);
  pattern.capacity = 1;
  pattern.full = {starts.data(), indices.data()};
  EXPECT_EQ(run::countPairs(window, problem, arrays, &pattern).visited, 2.0 * (1 + 2));
}

TEST_F(AttentionOnHost, SequencesAreReported) {
  LaunchInfoBuilder info = cudaAttention();
  addSequences(info, {.keyLengths = true});
  load(info);
  auto host = run::HostArguments::read(kernel,
                                       {"q=random:2x2x3x64", "k=random:2x1x70x64", "v=random:2x1x70x64",
                                        "pattern=random:density=1", "scale=0.5", "slopes=random:2",
                                        "ids=random:2x70:below=2", "key_lengths=random:2:below=71"},
                                       readers::Limits());
  ASSERT_TRUE(bool(host));
  run::Report report;
  run::operationView(kernel).describe(kernel, *host, report);
  EXPECT_EQ(report.members.getInteger("sequences"), 2);
  EXPECT_EQ(report.members.getNumber("density"), 1.0);
  EXPECT_STREQ(report.columns.back().title, "sequences");
}

} // namespace

#endif
