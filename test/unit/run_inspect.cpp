// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-run --inspect on attention kernels.

#include "inspect.h"
#include "runtime_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sparsec;
using namespace sparsec::test;
using ::testing::HasSubstr;

namespace {

llvm::StringRef bytesOf(const ByteVector &file) { return {reinterpret_cast<const char *>(file.data()), file.size()}; }

std::string inspect(const LaunchInfoBuilder &info) {
  auto images = run::readImages(bytesOf(makeCubin(info.build())));
  EXPECT_TRUE(bool(images));
  std::string text;
  llvm::raw_string_ostream stream(text);
  run::printImages(stream, *images);
  return text;
}

TEST(Inspect, AttentionAsText) {
  LaunchInfoBuilder info = cudaAttention();
  std::string text = inspect(info);
  EXPECT_THAT(text, HasSubstr("image 0: sm_90a, launch info 1.1, compiled by sparsec test\n"
                              "  kernel attention (attention)\n"
                              "    q            query                  tensor<?x?x?x64xbf16>\n"
                              "    k            key                    tensor<?x?x?x64xbf16>\n"
                              "    v            value                  tensor<?x?x?x64xbf16>\n"
                              "    pattern      block pattern          !sparsec.pattern<64x128>\n"
                              "    scale        scale                  f32\n"
                              "    slopes       region operand         tensor<?xf32>\n"
                              "    ids          region operand         tensor<?x?xi32>\n"
                              "    o            result                 tensor<?x?x?x64xbf16>\n"
                              "    lse          log-sum-exp            tensor<?x?x?xf32>\n"
                              "    head dimension: 64\n"
                              "    score steps: 4, mask steps: 7\n"
                              "    variant 0: "));
  EXPECT_THAT(text, HasSubstr("full indices of pattern\n"));
  info.attentions[0].causal = 1;
  info.attentions[0].window_left = 128;
  EXPECT_THAT(inspect(info), HasSubstr("    head dimension: 64, causal\n    window: [128, -1]\n"));
}

TEST(Inspect, AttentionAsJson) {
  LaunchInfoBuilder info = cudaAttention();
  info.attentions[0].causal = 1;
  info.attentions[0].window_right = 7;
  auto images = run::readImages(bytesOf(makeCubin(info.build())));
  ASSERT_TRUE(bool(images));
  llvm::json::Value value = run::describeImages(*images);
  const llvm::json::Object &image = *(*value.getAsObject()->getArray("images"))[0].getAsObject();
  const llvm::json::Object &kernel = *(*image.getArray("kernels"))[0].getAsObject();
  EXPECT_EQ(kernel.getString("family"), "attention");
  EXPECT_EQ(kernel.getInteger("head_dimension"), 64);
  EXPECT_EQ(kernel.getBoolean("causal"), true);
  EXPECT_EQ(*kernel.getArray("window"), (llvm::json::Array{-1, 7}));
  EXPECT_EQ(kernel.getInteger("score_steps"), 4);
  EXPECT_EQ(kernel.getInteger("mask_steps"), 7);
  EXPECT_EQ(kernel.get("epilogue_steps"), nullptr);
}

TEST(Inspect, WhateverIsReadCanBePrinted) {
  for (const LaunchInfoBuilder &builder : {cudaLinear(), cudaAttention()}) {
    const ByteVector good = builder.build();
    for (size_t i = 0; i < good.size(); ++i) {
      ByteVector bytes = good;
      bytes[i] ^= 0x05;
      updateChecksum(bytes);
      auto images = run::readImages(bytesOf(makeCubin(bytes)));
      if (!images) {
        llvm::consumeError(images.takeError());
        continue;
      }
      std::string text;
      llvm::raw_string_ostream stream(text);
      run::printImages(stream, *images);
      stream << run::describeImages(*images);
      EXPECT_THAT(text, HasSubstr("image 0"));
    }
  }
}

} // namespace
