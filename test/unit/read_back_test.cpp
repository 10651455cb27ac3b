// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiler refuses to write a file that the runtime would refuse to read.

#include "Bundle.h"
#include "LaunchInfoWriter.h"
#include "ReadBack.h"

#include <gtest/gtest.h>

using namespace sparsec;

namespace {

std::string messageOf(llvm::Error error) { return llvm::toString(std::move(error)); }

/// A bundle with one image of PTX, whose launch info has one kernel without anything.
std::string ptxBundle() {
  sparsec_launch_info_t target = {};
  target.target_kind = SPARSEC_TARGET_CUDA;
  target.compute_capability = 89;
  setText(target.target, "sm_89");
  std::vector<KernelRecord> kernels(1);
  setText(kernels[0].info.name, "empty");
  std::string launchInfo = writeLaunchInfo(target, kernels);
  sealPtx("ptx", {launchInfo.data(), launchInfo.size()});
  return writeBundle({{"sm_89", SPARSEC_IMAGE_PTX, "ptx", launchInfo}});
}

TEST(ReadBack, NamesWhatTheRuntimeRefuses) {
  EXPECT_EQ(messageOf(readBack(ptxBundle())),
            "the runtime would refuse the compiled file: launch info: kernel 0: it has no variant");
  std::string corrupt = ptxBundle();
  corrupt.back() ^= 1;
  EXPECT_NE(messageOf(readBack(corrupt)).find("the runtime would refuse the compiled file: bundle is corrupt"),
            std::string::npos);
  EXPECT_NE(messageOf(readBack("text")).find("not a compiled file"), std::string::npos);
}

} // namespace
