// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layout of shared memory, and the small functions of Schedule.h.

#include "SharedMemory.h"
#include "schedule_examples.h"

#include <gtest/gtest.h>

using namespace sparsec;

static ProblemDescription problemWithResult(int64_t outputBytes) {
  ProblemDescription problem = problemWithBlock(128, 64);
  problem.outputBytes = outputBytes;
  return problem;
}

TEST(SharedMemory, StagedWgmma) {
  SharedMemoryNeeds needs = sharedMemoryNeeds(wgmma128x256(), problemWithResult(2));
  SharedMemoryPlaces places = placeSharedMemory(needs);
  ASSERT_EQ(places.rings.size(), 1u);
  EXPECT_EQ(places.rings[0].buffers, (std::vector<int64_t>{0, 4 * 128 * 64 * 2})) << "four slots of A, then those of X";
  EXPECT_EQ(places.staging, 4 * (128 + 256) * 64 * 2);
  // Two buffers of 64 x 64 results for each of two warpgroups.
  EXPECT_EQ(stagingShape(wgmma128x256()).columns, 64);
  EXPECT_EQ(stagingShape(wgmma128x256()).buffers, 2);
  EXPECT_EQ(places.rings[0].barriers, places.staging + 2 * 2 * 64 * 64 * 2);
  EXPECT_EQ(places.total, places.rings[0].barriers + 64) << "full and empty, 8 bytes each, for four stages";
  EXPECT_EQ(places.total, 229440);
  EXPECT_EQ(places.tileBytes, places.total);
}

TEST(SharedMemory, ThreeLargeStagesLeaveASmallStagingArea) {
  EXPECT_EQ(stagingShape(wgmma64x512()).columns, 32);
  EXPECT_EQ(stagingShape(wgmma64x512()).buffers, 1);
  EXPECT_EQ(stagingBytes(wgmma64x512()), 2 * 64 * 32 * 2);
  SharedMemoryPlaces places = placeSharedMemory(sharedMemoryNeeds(wgmma64x512(), problemWithResult(2)));
  EXPECT_EQ(places.total, 3 * (64 + 512) * 64 * 2 + 8192 + 48);
}

TEST(SharedMemory, StoreFromRegistersNeedsNoStaging) {
  SharedMemoryPlaces places = placeSharedMemory(sharedMemoryNeeds(wgmma128x256(), problemWithResult(4)));
  EXPECT_EQ(places.rings[0].barriers, 4 * (128 + 256) * 64 * 2);
  EXPECT_EQ(places.total, 229440 - 32768);
}

TEST(SharedMemory, OneRoleNeedsNoBarriers) {
  SharedMemoryNeeds needs = sharedMemoryNeeds(mmaSync128x128(), problemWithResult(2));
  EXPECT_EQ(needs.rings[0].barriers, 0);
  EXPECT_EQ(placeSharedMemory(needs).total, 4 * (128 + 128) * 32 * 2);
}

/// Two groups with four slots of 4 blocks each, and four stages of X.
TEST(SharedMemory, Streams) {
  Schedule schedule = wgmma128x256();
  schedule.walk = TileWalk::Streams;
  schedule.tileM = 320;
  schedule.tileN = schedule.tileK = 128;
  schedule.stages = schedule.blockStages = 4;
  SharedMemoryPlaces places = placeSharedMemory(sharedMemoryNeeds(schedule, problemWithBlock(32, 32)));
  ASSERT_EQ(places.rings.size(), 2u);
  EXPECT_EQ(places.rings[0].buffers, std::vector<int64_t>{0});
  EXPECT_EQ(places.rings[1].buffers, std::vector<int64_t>{2 * 4 * (4 * 32 * 32 * 2)});
  EXPECT_EQ(places.staging, 4 * 128 * 128 * 2 + 2 * 4 * (4 * 32 * 32 * 2));
  EXPECT_EQ(places.rings[0].barriers, places.staging + 2 * 64 * 32 * 2);
  EXPECT_EQ(places.rings[1].barriers, places.rings[0].barriers + 8 * 16);
  EXPECT_EQ(places.total, places.rings[1].barriers + 4 * 16);
}

TEST(SharedMemory, ConsumersOfWindowsSkipSoFullBarriersAreTwiceAsMany) {
  Schedule schedule = wgmma128x256();
  schedule.walk = TileWalk::Windows;
  schedule.blockStages = 8;
  SharedMemoryNeeds needs = sharedMemoryNeeds(schedule, problemWithBlock(64, 64));
  ASSERT_EQ(needs.rings.size(), 2u);
  EXPECT_EQ(needs.rings[0].barriers, 3 * 8);
  EXPECT_EQ(needs.rings[0].bufferBytes, std::vector<int64_t>{64 * 64 * 2}) << "a block for one of two groups";
  EXPECT_EQ(needs.rings[1].barriers, 3 * 4);
}

TEST(SharedMemory, GroupsOfWindowsHaveTwoSmallStagingBuffersOrALargeOne) {
  Schedule schedule = wgmma128x256();
  schedule.walk = TileWalk::Windows;
  schedule.consumersM = 2;
  EXPECT_EQ(stagingShape(schedule).columns, 32);
  EXPECT_EQ(stagingShape(schedule).buffers, 2);
  EXPECT_EQ(stagingBytes(schedule), 2 * 2 * 64 * 32 * 2);
  schedule.consumersM = 3;
  EXPECT_EQ(stagingShape(schedule).columns, 64);
  EXPECT_EQ(stagingShape(schedule).buffers, 1);
  EXPECT_EQ(stagingBytes(schedule), 3 * 64 * 64 * 2);
}

TEST(SharedMemory, MessagesFollowTheBarriersOfARing) {
  SharedMemoryNeeds needs;
  needs.rings = {{.slots = 3, .bufferBytes = {1024}, .barriers = 6, .hasMessages = true},
                 {.slots = 2, .bufferBytes = {2048}, .barriers = 4, .hasMessages = false}};
  SharedMemoryPlaces places = placeSharedMemory(needs);
  EXPECT_EQ(places.rings[0].barriers, 3 * 1024 + 2 * 2048);
  EXPECT_EQ(places.rings[1].barriers, places.rings[0].barriers + 6 * 8 + 3 * 8);
  EXPECT_EQ(places.total, places.rings[1].barriers + 4 * 8);
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
  streams.instruction = MatrixInstruction::MmaSync;
  EXPECT_TRUE(usesStagedStore(streams, /*blockRows=*/16, 2));
  ProblemDescription problem = problemWithBlock(128, 128);
  EXPECT_GT(sharedMemoryNeeds(wgmma128x256(), problem).stagingBytes, 0);
  problem.outputBytes = 4;
  EXPECT_EQ(sharedMemoryNeeds(wgmma128x256(), problem).stagingBytes, 0);
}

TEST(SharedMemory, WarpsThatCopyForThemselvesHaveOneSlotEachWithoutBarriers) {
  Schedule streams = wgmma128x256();
  streams.walk = TileWalk::Streams;
  streams.blockStages = 3;
  EXPECT_GT(sharedMemoryNeeds(streams, problemWithBlock(32, 32)).rings.front().barriers, 0);
  streams.instruction = MatrixInstruction::MmaSync;
  const RingNeeds blocks = sharedMemoryNeeds(streams, problemWithBlock(16, 16)).rings.front();
  EXPECT_EQ(blocks.barriers, 0);
  EXPECT_EQ(blocks.slots, streams.consumersM);
  EXPECT_EQ(blocks.bufferBytes, std::vector<int64_t>{3 * 2 * 16 * 16 * 2}) << "three chunks of two blocks";
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

TEST(SharedMemory, EverySliceHasARing) {
  Schedule schedule = mmaSync128x128();
  schedule.consumersM = schedule.consumersN = 1;
  schedule.slices = 3;
  SharedMemoryPlaces places = placeSharedMemory(sharedMemoryNeeds(schedule, problemWithResult(2)));
  EXPECT_EQ(places.tileBytes, 4 * (128 + 128) * 32 * 2);
  EXPECT_EQ(places.total, 3 * places.tileBytes) << "nothing else";
  EXPECT_EQ(threads(schedule), 3 * 32);
}

TEST(SharedMemory, SlicesWithRolesHandOverTheirSums) {
  Schedule schedule = wgmma128x256();
  schedule.cluster = 1;
  schedule.stages = 2;
  EXPECT_EQ(bytesOfSums(schedule), 0) << "there are no slices";
  schedule.slices = 2;
  EXPECT_EQ(bytesOfSums(schedule), 128 * 256 * 4);
  SharedMemoryNeeds needs = sharedMemoryNeeds(schedule, problemWithResult(4));
  EXPECT_EQ(needs.stagingBytes, 0) << "results of 4 bytes are not staged";
  EXPECT_EQ(needs.sumsBytes, 128 * 256 * 4);
  SharedMemoryPlaces places = placeSharedMemory(needs);
  EXPECT_EQ(places.sums, 2 * places.tileBytes);
  EXPECT_EQ(places.total, places.sums + needs.sumsBytes) << "the first slice has none";
  EXPECT_EQ(threads(schedule), 2 * 2 * 128 + 128);
}
