// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-run on attention kernels: --inspect shows them, and nothing else is tried.

#include "arguments.h"
#include "inspect.h"
#include "runtime_images.h"

#include <cstring>
#include <elf.h>
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

#if defined(__x86_64__)

/// A host object whose only function returns at once.
ByteVector hostObject(LaunchInfoBuilder info) {
  makeHostInfo(info);
  ByteVector launchInfo = info.build();
  ElfSectionSpec code = {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, {0xc3}};
  ElfSectionSpec data = {".rodata", SHT_PROGBITS, SHF_ALLOC, launchInfo};
  return makeElf({ET_REL,
                  EM_X86_64,
                  {code, data},
                  {{info.variants[0].symbol, 1, 0, 1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)},
                   {SPARSEC_LAUNCH_INFO_SYMBOL, 2, 0, launchInfo.size()}}});
}

TEST(HostArgumentsTest, AttentionIsNotRun) {
  sparsec_device_t device = nullptr;
  ASSERT_EQ(sparsec_device_open_host(1, &device), nullptr);
  sparsec_module_t module = nullptr;
  ByteVector object = hostObject(cudaAttention());
  sparsec_status_t status = sparsec_module_load(device, object.data(), object.size(), &module);
  if (sparsec_status_code(status) == SPARSEC_STATUS_DEVICE_LIMIT) {
    sparsec_status_free(status);
    sparsec_device_destroy(device);
    GTEST_SKIP() << "needs a processor that host kernels run on";
  }
  ASSERT_EQ(status, nullptr) << sparsec_status_message(status);
  sparsec_kernel_t kernel = nullptr;
  ASSERT_EQ(sparsec_module_kernel(module, nullptr, &kernel), nullptr);
  auto host = run::HostArguments::read(kernel, {}, readers::Limits());
  ASSERT_FALSE(bool(host));
  EXPECT_EQ(llvm::toString(host.takeError()),
            "kernel 'attention' is no block-sparse product: sparsec-run only inspects it");
  sparsec_module_destroy(module);
  sparsec_device_destroy(device);
}

#endif

} // namespace
