// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line of sparsec-bench: sizes and masks.

#include "options.h"

#include <getopt.h>
#include <gtest/gtest.h>

namespace sparsec::bench {
namespace {

Options parse(std::vector<std::string> words) {
  words.insert(words.begin(), {"sparsec-bench", "--kernels=folder"});
  std::vector<char *> arguments;
  arguments.reserve(words.size());
  for (std::string &word : words)
    arguments.push_back(word.data());
  optind = 0; // begin again
  return parseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

std::vector<std::string> sizesOf(const Options &options) {
  std::vector<std::string> sizes;
  sizes.reserve(options.sizes.size());
  for (const ProductSize &size : options.sizes)
    sizes.push_back(std::to_string(size.rows) + "x" + std::to_string(size.depth) + "x" + std::to_string(size.columns));
  return sizes;
}

std::vector<std::string> masksOf(const Options &options) {
  std::vector<std::string> masks;
  masks.reserve(options.masks.size());
  for (const Mask &mask : options.masks)
    masks.push_back(mask.name);
  return masks;
}

TEST(BenchOptions, Defaults) {
  EXPECT_EQ(sizesOf(parse({})), (std::vector<std::string>{"8192x8192x8192"}));
  EXPECT_EQ(masksOf(parse({})), (std::vector<std::string>{"random"}));
}

TEST(BenchOptions, ListsOfSizesAndMasks) {
  Options options = parse({"--size=4096x2048x16,128x256x512", "--mask=power-law,arrow", "--pattern=dynamic"});
  EXPECT_EQ(sizesOf(options), (std::vector<std::string>{"4096x2048x16", "128x256x512"}));
  EXPECT_EQ(masksOf(options), (std::vector<std::string>{"power-law", "arrow"}));
  EXPECT_FALSE(options.isPatternStatic);
}

TEST(BenchOptions, CasesNameMasksAndSizes) {
  Options options = parse({"--case=mask=band,size=1x2x3,density=0.5"});
  EXPECT_EQ(options.cases, (std::vector<std::map<std::string, std::string>>{
                               {{"mask", "band"}, {"size", "1x2x3"}, {"density", "0.5"}}}));
}

TEST(BenchOptions, ABoundIsAskedFor) {
  EXPECT_FALSE(parse({}).withBytesBound);
  EXPECT_TRUE(parse({"--bound=bytes"}).withBytesBound);
}

TEST(BenchOptions, LaunchesHaveAFlushedL2UnlessToldOtherwise) {
  EXPECT_EQ(parse({}).mode, TimingMode::Flushed);
  EXPECT_EQ(parse({"--steady"}).mode, TimingMode::Steady);
  EXPECT_EQ(parse({"--back-to-back", "--plan=with,refilled"}).mode, TimingMode::BackToBack);
}

TEST(BenchOptionsDeathTest, BackToBackHasNoOtherModeAndNoPackedValues) {
  EXPECT_EXIT(parse({"--steady", "--back-to-back"}), testing::ExitedWithCode(2),
              "expects --steady or --back-to-back, but got both");
  EXPECT_EXIT(parse({"--back-to-back", "--plan=packed"}), testing::ExitedWithCode(2),
              "--back-to-back expects --plan without packed: each launch has other values, which are not packed");
}

TEST(BenchOptionsDeathTest, WrongListsAreErrors) {
  EXPECT_EXIT(parse({"--bound=flops"}), testing::ExitedWithCode(2), "--bound expects bytes, but got 'flops'");
  EXPECT_EXIT(parse({"--size=4096x2048x16,128x0x512"}), testing::ExitedWithCode(2),
              "--size expects MxKxN, but got '128x0x512'");
  EXPECT_EXIT(parse({"--mask=band,static"}), testing::ExitedWithCode(2),
              "--mask expects random, uniform, .*block-diagonal or a file .smtx, but got 'static'");
  EXPECT_EXIT(parse({"--case=masks=band"}), testing::ExitedWithCode(2),
              "--case expects KEY=VALUE with a key of block, density, label, layout, mask, size, target, type");
  EXPECT_THROW(parse({"--mask=gone.smtx"}), std::runtime_error);
}

TEST(BenchOptionsDeathTest, UsageNamesTheKindsOfMasks) {
  EXPECT_EXIT(parse({"--launches=1", "--size=1"}), testing::ExitedWithCode(2),
              "band +the blocks nearest to the diagonal");
}

} // namespace
} // namespace sparsec::bench
