// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Theoretical occupancy, worked out by hand from the limits of each chip.

#include "Report.h"

#include <gtest/gtest.h>
#include <thread>

using namespace sparsec;

namespace {

TEST(Occupancy, RegistersLimit) {
  // 12 warps of 168 * 32 = 5376 registers are 64512 of 65536: one CTA, a second does not fit.
  EXPECT_EQ(residentCtas(*findChip("sm_90a"), 384, 168, 0), 1);
  // 8 warps of 128 * 32 registers are 32768: two CTAs.
  EXPECT_EQ(residentCtas(*findChip("sm_89"), 256, 128, 0), 2);
  // A warp gets whole units of 256: 129 registers count as 136, 8 warps take 34816.
  EXPECT_EQ(residentCtas(*findChip("sm_89"), 256, 129, 0), 1);
}

TEST(Occupancy, ThreadsLimit) {
  EXPECT_EQ(residentCtas(*findChip("sm_89"), 128, 32, 0), 1536 / 128);
  EXPECT_EQ(residentCtas(*findChip("sm_90a"), 128, 32, 0), 2048 / 128);
}

TEST(Occupancy, SharedMemoryLimit) {
  // 100 KB per SM, and each CTA takes 1 KB for the system: 49 + 1 fits twice, 50 + 1 once.
  EXPECT_EQ(residentCtas(*findChip("sm_89"), 128, 32, 49 * 1024), 2);
  EXPECT_EQ(residentCtas(*findChip("sm_89"), 128, 32, 50 * 1024), 1);
}

TEST(PhaseTimes, KeepsPtxasApart) {
  PhaseTimes times;
  auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  times.measure("parse", pause);
  times.measure("ptxas", pause);
  EXPECT_EQ(times.measure("parse", [] { return 7; }), 7);
  std::string text = times.toString();
  double own = 0, parse = 0, ptxas = 0;
  ASSERT_EQ(std::sscanf(text.c_str(), "time: sparsec %lf s (parse %lf s), ptxas %lf s", &own, &parse, &ptxas), 3)
      << text;
  EXPECT_EQ(own, parse);
  EXPECT_GE(own, 0.020);
  EXPECT_GE(ptxas, 0.020);
}

} // namespace
