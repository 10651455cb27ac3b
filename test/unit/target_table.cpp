// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The chip table.

#include "TargetInfo.h"

#include <gtest/gtest.h>

using namespace sparsec;

TEST(TargetTable, FindsChipsByName) {
  ASSERT_NE(findChip("sm_90a"), nullptr);
  EXPECT_EQ(findChip("sm_90a")->name, "sm_90a");
  EXPECT_EQ(findChip("sm_90a")->computeCapability, 90);
  EXPECT_EQ(findChip("sm_89")->computeCapability, 89);
  EXPECT_EQ(findChip("sm_90"), nullptr);
  EXPECT_EQ(findChip(""), nullptr);
}

TEST(TargetTable, HostIsATargetButNoChip) {
  EXPECT_EQ(findChip(hostTarget), nullptr);
  EXPECT_TRUE(isKnownTarget("host"));
  EXPECT_TRUE(isKnownTarget("sm_89"));
  EXPECT_FALSE(isKnownTarget("sm_100a"));
}

TEST(TargetTable, ListsAllTargets) { EXPECT_EQ(knownTargets(), "sm_89, sm_90a, host"); }

// The documented limits of dynamic shared memory: 227 KiB on compute capability 9.0, 99 KiB on 8.9.
TEST(TargetTable, SharedMemoryLimits) {
  EXPECT_EQ(findChip("sm_90a")->sharedMemoryPerCta, 227 * 1024);
  EXPECT_EQ(findChip("sm_89")->sharedMemoryPerCta, 99 * 1024);
}

TEST(TargetTable, RowsAreConsistent) {
  for (const Chip &chip : chips()) {
    SCOPED_TRACE(chip.name);
    EXPECT_EQ(chip.archSpecific, chip.name.ends_with('a'));
    EXPECT_EQ(chip.hasWgmma, chip.wgmmaFlopsPerClock > 0);
    EXPECT_GT(chip.mmaSyncFlopsPerClock, 0);
    EXPECT_TRUE(chip.ptxFeature.starts_with("ptx"));
    // 1 KiB of every CTA's share is reserved.
    EXPECT_EQ(chip.sharedMemoryPerCta + 1024, chip.sharedMemoryPerMultiprocessor);
    EXPECT_LE(chip.preferredRegistersPerThread, chip.maxRegistersPerThread);
    // wgmma is emitted with tensor copies only.
    EXPECT_TRUE(!chip.hasWgmma || chip.hasTma);
  }
}
