// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-run --inspect on attention kernels.

#include "inspect.h"
#include "runtime_images.h"
#include "runtime_sequence_image.h"
#include "runtime_stream_image.h"

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
  EXPECT_THAT(text, HasSubstr("image 0: sm_90a, launch info 4.20, compiled by sparsec test\n"
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
                              "    causal: 0\n"
                              "    window to the left: -1\n"
                              "    window to the right: -1\n"
                              "    score steps: 4\n"
                              "    mask steps: 7\n"
                              "    variant 0: "));
  EXPECT_THAT(text, HasSubstr("full indices of pattern\n"));
  info.operandOf(1).argument = 0; // Q = K
  info.operands.push_back({SPARSEC_ATTENTION_EXTRA, 1, 0, 0});
  info.operations[0].operand_count = 10;
  EXPECT_THAT(inspect(info), HasSubstr("    q            query and key          tensor<?x?x?x64xbf16>\n"
                                       "    k            region operand         tensor<?x?x?x64xbf16>\n"));
}

/// cudaAttentionWithBuilder() with scratch memory of 8 bytes for every head and block of 64 queries, behind a counter.
LaunchInfoBuilder withWorkspaces() {
  LaunchInfoBuilder info = cudaAttentionWithBuilder();
  addTileCounter(info);
  info.workspaces.push_back({1, 2, 8, SPARSEC_LIFETIME_LAUNCH, 0, SPARSEC_WORKSPACE_SCRATCH});
  info.variants[0].workspace_count = 2;
  return info;
}

TEST(Inspect, Workspaces) {
  EXPECT_THAT(inspect(withWorkspaces()),
              HasSubstr("      workspace      tile counter, 4 bytes, zero before the first launch\n"
                        "      workspace      scratch, 8 bytes x size 1 of q x size 2 of q in tiles of 64\n"));
  auto images = run::readImages(bytesOf(makeCubin(withWorkspaces().build())));
  ASSERT_TRUE(bool(images));
  std::string text;
  llvm::raw_string_ostream(text) << run::describeImages(*images);
  EXPECT_THAT(text, HasSubstr(R"({"element_bytes":8,"extents":["size 1 of q","size 2 of q in tiles of 64"],)"
                              R"("kind":"scratch","zeroed":false})"));
}

TEST(Inspect, AttentionAsJson) {
  LaunchInfoBuilder info = cudaAttention();
  info.attribute(SPARSEC_ATTRIBUTE_CAUSAL).value = 1;
  info.attribute(SPARSEC_ATTRIBUTE_WINDOW_RIGHT).value = 7;
  auto images = run::readImages(bytesOf(makeCubin(info.build())));
  ASSERT_TRUE(bool(images));
  llvm::json::Value value = run::describeImages(*images);
  const llvm::json::Object &image = *(*value.getAsObject()->getArray("images"))[0].getAsObject();
  const llvm::json::Object &kernel = *(*image.getArray("kernels"))[0].getAsObject();
  EXPECT_EQ(kernel.getString("operation"), "attention");
  EXPECT_EQ(*kernel.getObject("attributes"),
            (llvm::json::Object{
                {"head dimension", 64}, {"causal", 1}, {"window to the left", -1}, {"window to the right", 7}}));
  EXPECT_EQ(*kernel.getObject("region_steps"), (llvm::json::Object{{"score", 4}, {"mask", 7}}));
  const llvm::json::Object &variant = *(*kernel.getArray("variants"))[0].getAsObject();
  EXPECT_EQ(variant.getInteger("alignment"), 2);
  EXPECT_EQ(*variant.getObject("plan_costs"), (llvm::json::Object{{"tile overhead in steps", 2}}));
  EXPECT_EQ((*variant.getArray("machine_kernels"))[0].getAsObject()->getString("symbol"), "attention_any");
}

TEST(Inspect, PlanCosts) {
  EXPECT_THAT(inspect(cudaLinear()),
              HasSubstr("      plan costs     tile overhead in steps: 2, grouped density in percent: 70\n"));
}

TEST(Inspect, RequiredSections) {
  LaunchInfoBuilder info = cudaLinear();
  info.variants[0].required_sections = 1 << SPARSEC_PLAN_TILE_OFFSETS | 1 << SPARSEC_PLAN_TILES;
  EXPECT_THAT(inspect(info), HasSubstr("      needs a plan   with tile offsets, tiles\n"));
  EXPECT_THAT(inspect(cudaLinear()), ::testing::Not(HasSubstr("needs a plan")));
  auto images = run::readImages(bytesOf(makeCubin(info.build())));
  ASSERT_TRUE(bool(images));
  std::string text;
  llvm::raw_string_ostream(text) << run::describeImages(*images);
  EXPECT_THAT(text, HasSubstr(R"("required_plan_sections":["tile offsets","tiles"])"));
  EXPECT_THAT(text, HasSubstr(R"("required_plan_sections":[])"));
}

TEST(Inspect, Streams) {
  const LaunchInfoBuilder info = linearWithStreams();
  const std::string text = inspect(info);
  EXPECT_THAT(text, HasSubstr("      needs a plan   with window rows, stage offsets, stage columns, stage products, "
                              "chunk offsets, chunk blocks\n"));
  EXPECT_THAT(text, HasSubstr("      streams        consumers of 128 rows, products of 64, chunks of 4 products\n"));
  EXPECT_THAT(text, HasSubstr("plan section stage columns\n"));
  EXPECT_THAT(inspect(cudaLinear()), ::testing::Not(HasSubstr("streams")));
  LaunchInfoBuilder adjacent = linearWithStreams();
  adjacent.stages[streamStage].flags = SPARSEC_STAGE_ADJACENT_COLUMNS;
  EXPECT_THAT(inspect(adjacent), HasSubstr("chunks of 4 products, adjacent columns\n"));
  auto images = run::readImages(bytesOf(makeCubin(info.build())));
  ASSERT_TRUE(bool(images));
  std::string json;
  llvm::raw_string_ostream(json) << run::describeImages(*images);
  EXPECT_THAT(
      json,
      HasSubstr(R"("streams":{"adjacent_columns":false,"chunk_products":4,"consumer_rows":128,"product_rows":64})"));
}

TEST(Inspect, Sequences) {
  LaunchInfoBuilder info = cudaAttention();
  addSequences(info, {.queryStarts = true, .keyLengths = true, .pageTable = true});
  const std::string text = inspect(info);
  EXPECT_THAT(text, HasSubstr("    q            query                  tensor<?x?x?x64xbf16>, packed\n"
                              "    k            key                    tensor<?x?x16x64xbf16>, paged\n"));
  EXPECT_THAT(text, HasSubstr("    query_starts query starts           tensor<?xi32>\n"
                              "    key_lengths  key lengths            tensor<?xi32>\n"
                              "    page_table   page table             tensor<?x?xi32>\n"));
  EXPECT_THAT(text, HasSubstr("      tile panels    size 2 of q in tiles of 64 + size 0 of query_starts\n"));
  EXPECT_THAT(inspect(cudaAttention()), ::testing::Not(HasSubstr("tile panels  ")));
  auto images = run::readImages(bytesOf(makeCubin(info.build())));
  ASSERT_TRUE(bool(images));
  std::string json;
  llvm::raw_string_ostream(json) << run::describeImages(*images);
  EXPECT_THAT(json, HasSubstr(R"("panels":"size 2 of q in tiles of 64 + size 0 of query_starts")"));
  EXPECT_THAT(json, HasSubstr(R"("layout":"paged")"));
}

TEST(Inspect, WhateverIsReadCanBePrinted) {
  LaunchInfoBuilder sequences = cudaAttention();
  addSequences(sequences, {.queryStarts = true, .keyLengths = true, .pageTable = true});
  for (const LaunchInfoBuilder &builder :
       {cudaLinear(), cudaAttention(), withWorkspaces(), linearWithStreams(), sequences}) {
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
