// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layout of shared memory, and the small functions of Schedule.h.

#include "SharedMemory.h"
#include "schedule_examples.h"

#include <gtest/gtest.h>

using namespace sparsec;

TEST(SharedMemory, StagedWgmma) {
  SharedMemoryLayout layout = sharedMemoryLayout(wgmma128x256(), /*blockColumns=*/64, 2, /*stagedStore=*/true);
  EXPECT_EQ(layout.aOffset, 0);
  EXPECT_EQ(layout.aSlotBytes, 128 * 64 * 2);
  EXPECT_EQ(layout.xOffset, 4 * 128 * 64 * 2);
  EXPECT_EQ(layout.xSlotBytes, 64 * 256 * 2);
  EXPECT_EQ(layout.stagingOffset, 4 * (128 + 256) * 64 * 2);
  // Two buffers of 64 x 64 results for each of two warpgroups.
  EXPECT_EQ(layout.stagingColumns, 64);
  EXPECT_EQ(layout.stagingBuffers, 2);
  EXPECT_EQ(layout.stagingBytes, 2 * 2 * 64 * 64 * 2);
  EXPECT_EQ(layout.barrierOffset, layout.stagingOffset + layout.stagingBytes);
  // Full and empty, 8 bytes each, for four stages.
  EXPECT_EQ(layout.barrierBytes, 64);
  EXPECT_EQ(layout.total, 229440);
}

TEST(SharedMemory, ThreeLargeStagesLeaveASmallStagingArea) {
  SharedMemoryLayout layout = sharedMemoryLayout(wgmma64x512(), /*blockColumns=*/64, 2, /*stagedStore=*/true);
  EXPECT_EQ(layout.stagingColumns, 32);
  EXPECT_EQ(layout.stagingBuffers, 1);
  EXPECT_EQ(layout.stagingBytes, 2 * 64 * 32 * 2);
  EXPECT_EQ(layout.total, 3 * (64 + 512) * 64 * 2 + 8192 + 48);
}

TEST(SharedMemory, StoreFromRegistersNeedsNoStaging) {
  SharedMemoryLayout layout = sharedMemoryLayout(wgmma128x256(), /*blockColumns=*/64, 2, /*stagedStore=*/false);
  EXPECT_EQ(layout.stagingBytes, 0);
  EXPECT_EQ(layout.barrierOffset, layout.stagingOffset);
  EXPECT_EQ(layout.total, 229440 - 32768);
}

TEST(SharedMemory, OneRoleNeedsNoBarriers) {
  SharedMemoryLayout layout = sharedMemoryLayout(mmaSync128x128(), /*blockColumns=*/64, 2, /*stagedStore=*/false);
  EXPECT_EQ(layout.barrierBytes, 0);
  EXPECT_EQ(layout.total, 4 * (128 + 128) * 32 * 2);
}

/// Two groups with four slots of 4 blocks each, and four stages of X.
TEST(SharedMemory, Streams) {
  Schedule schedule = wgmma128x256();
  schedule.walk = TileWalk::Streams;
  schedule.tileM = 320;
  schedule.tileN = schedule.tileK = 128;
  schedule.stages = schedule.blockStages = 4;
  SharedMemoryLayout layout = sharedMemoryLayout(schedule, /*blockColumns=*/32, 2, /*stagedStore=*/true);
  EXPECT_EQ(layout.aSlotBytes, 4 * 32 * 32 * 2);
  EXPECT_EQ(layout.xOffset, 2 * 4 * layout.aSlotBytes);
  EXPECT_EQ(layout.xSlotBytes, 128 * 128 * 2);
  EXPECT_EQ(layout.stagingOffset, layout.xOffset + 4 * layout.xSlotBytes);
  EXPECT_EQ(layout.stagingBytes, 2 * 64 * 32 * 2);
  EXPECT_EQ(layout.aBarrierOffset, layout.barrierOffset + 4 * 16);
  EXPECT_EQ(layout.barrierBytes, (4 + 8) * 16);
}

TEST(SharedMemory, StoreIsStagedWhereTensorStoresCanBeUsed) {
  EXPECT_TRUE(usesStagedStore(wgmma128x256(), /*blockRows=*/128, /*outputBytes=*/2));
  EXPECT_TRUE(usesStagedStore(wgmma128x256(), 192, 2));
  EXPECT_FALSE(usesStagedStore(wgmma128x256(), 112, 2)) << "64 rows would reach into the next block row";
  EXPECT_FALSE(usesStagedStore(wgmma128x256(), 128, 4)) << "stmatrix moves 16-bit elements";
  EXPECT_FALSE(usesStagedStore(mmaSync128x128(), 128, 2));
  Schedule streams = wgmma128x256();
  streams.walk = TileWalk::Streams;
  EXPECT_TRUE(usesStagedStore(streams, /*blockRows=*/32, 2));
  EXPECT_FALSE(usesStagedStore(streams, /*blockRows=*/16, 2));
  ProblemDescription problem = problemWithBlock(128, 128);
  EXPECT_GT(sharedMemoryLayout(wgmma128x256(), problem).stagingBytes, 0);
  problem.outputBytes = 4;
  EXPECT_EQ(sharedMemoryLayout(wgmma128x256(), problem).stagingBytes, 0);
}

TEST(Schedule, Threads) {
  EXPECT_EQ(threads(wgmma128x256()), 384) << "two consumer warpgroups and the producer's";
  EXPECT_EQ(threads(mmaSync128x128()), 256) << "eight warps";
}

TEST(Schedule, ChunksAndBlocksPerStep) {
  Schedule schedule = wgmma128x256();
  EXPECT_EQ(chunks(schedule, 128), 2);
  EXPECT_EQ(chunks(schedule, 80), 2);
  EXPECT_EQ(chunks(schedule, 64), 1);
  EXPECT_EQ(chunks(schedule, 16), 1);
  EXPECT_EQ(blocksPerStep(schedule, 128), 1);
  EXPECT_EQ(blocksPerStep(schedule, 64), 1);
  EXPECT_EQ(blocksPerStep(schedule, 16), 4);
}

TEST(Schedule, AlignmentIsThatOfOneCopy) {
  EXPECT_EQ(requiredAlignment(wgmma128x256(), 2), 16);
  EXPECT_EQ(requiredAlignment(mmaSync128x128(), 2), 16);
  Schedule scalar = mmaSync128x128();
  scalar.copy = CopyMethod::Scalar;
  EXPECT_EQ(requiredAlignment(scalar, 2), 2);
}

TEST(Schedule, Text) {
  EXPECT_EQ(toString(wgmma64x512()),
            "wgmma tma 64x512x64 stages 3 consumers 1x2 cluster 2 registers 40/232 group_m 128");
  Schedule schedule = mmaSync128x128();
  EXPECT_EQ(toString(schedule), "mma_sync cp_async 128x128x32 stages 4 consumers 2x4");
  schedule.copy = CopyMethod::Scalar;
  schedule.ctasPerSm = 2;
  EXPECT_EQ(toString(schedule), "mma_sync scalar 128x128x32 stages 4 consumers 2x4 ctas_per_sm 2");
  schedule = wgmma128x256();
  schedule.cluster = 1;
  schedule.concurrentTiles = 3;
  EXPECT_EQ(toString(schedule), "wgmma tma 128x256x64 stages 4 consumers 2x1 registers 40/232 concurrent_tiles 3");
}
