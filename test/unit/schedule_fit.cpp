// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every limit that a schedule can break, with the excess.

#include "Fit.h"
#include "schedule_examples.h"

#include <gtest/gtest.h>

using namespace sparsec;

namespace {

struct ScheduleFit : testing::Test {
  const Chip &hopper = *findChip("sm_90a");
  const Chip &ada = *findChip("sm_89");
  ProblemDescription problem = problemWithBlock(128, 128);

  Fit check(const Schedule &schedule, const Chip &chip, Origin origin = Origin::HandWritten) {
    return checkFit(schedule, problem, chip, origin);
  }

  void expectBroken(const Schedule &schedule, const Chip &chip, Limit limit, const std::string &message) {
    Fit fit = check(schedule, chip);
    EXPECT_FALSE(fit.ok());
    EXPECT_EQ(fit.broken, limit);
    EXPECT_EQ(fit.message, message);
  }
};

} // namespace

TEST_F(ScheduleFit, GoodSchedulesFit) {
  EXPECT_TRUE(check(wgmma128x256(), hopper, Origin::Chosen).ok());
  EXPECT_TRUE(check(mmaSync128x128(), ada, Origin::Chosen).ok());
  EXPECT_TRUE(check(mmaSync128x128(), hopper, Origin::Chosen).ok());
  problem = problemWithBlock(64, 64);
  EXPECT_TRUE(check(wgmma64x512(), hopper, Origin::Chosen).ok());
}

TEST_F(ScheduleFit, SharedMemoryOfACta) {
  Schedule schedule = wgmma128x256();
  schedule.stages = 5;
  problem.outputBytes = 4;
  // Five stages of 48 KiB and ten barriers.
  expectBroken(
      schedule, hopper, Limit::SharedMemory,
      "expects at most 232448 bytes of shared memory on sm_90a, but the schedule needs 245840 (13392 too many)");
  EXPECT_EQ(check(schedule, hopper).allowed, 232448);
  EXPECT_EQ(check(schedule, hopper).needed, 245840);
  EXPECT_EQ(check(schedule, hopper).excess(), 13392);
}

TEST_F(ScheduleFit, SharedMemoryOfAMultiprocessor) {
  Schedule schedule = mmaSync128x128();
  schedule.consumersM = 1;
  schedule.tileM = 64;
  schedule.ctasPerSm = 2;
  // (64 + 128) x 32 elements are 12 KiB a stage; every CTA reserves 1 KiB more.
  EXPECT_TRUE(check(schedule, ada).ok());
  schedule.stages = 5;
  expectBroken(schedule, ada, Limit::SharedMemory,
               "expects at most 102400 bytes of shared memory for 2 CTAs per multiprocessor on sm_89, but the schedule "
               "needs 124928 (22528 too many)");
}

TEST_F(ScheduleFit, ThreadsOfACta) {
  Schedule schedule = mmaSync128x128();
  schedule.consumersM = 8;
  schedule.consumersN = 8;
  expectBroken(schedule, hopper, Limit::Threads,
               "expects at most 1024 threads per CTA, but the schedule needs 2048 (1024 too many)");
}

TEST_F(ScheduleFit, ThreadsOfAMultiprocessor) {
  Schedule schedule = mmaSync128x128();
  schedule.ctasPerSm = 7;
  expectBroken(schedule, ada, Limit::Threads,
               "expects at most 1536 threads per multiprocessor on sm_89, but the schedule needs 1792 (256 too many)");
}

TEST_F(ScheduleFit, RegistersOfAThread) {
  Schedule schedule = mmaSync128x128();
  schedule.consumersM = 1;
  schedule.consumersN = 2;
  // 128 x 64 results a warp: 256 accumulators, 32 + 16 fragments, at least 24 others.
  expectBroken(schedule, ada, Limit::Registers,
               "expects at most 255 registers per thread on sm_89, but the schedule needs 328 (73 too many)");
}

TEST_F(ScheduleFit, RegistersOfACta) {
  Schedule schedule = mmaSync128x128();
  schedule.tileM = 256;
  schedule.consumersM = 8;
  // 32 warps of 32 x 32: (32 + 8 + 8 + 24) x 1024 registers, with 64 a thread to share out.
  expectBroken(schedule, hopper, Limit::Registers,
               "expects at most 65536 registers per CTA on sm_90a, but the schedule needs 73728 (8192 too many)");
}

TEST_F(ScheduleFit, SwizzledRowsNeedPowersOfTwo) {
  Schedule schedule = mmaSync128x128();
  schedule.tileN = 192;
  schedule.consumersN = 4;
  expectBroken(schedule, ada, Limit::Geometry, "expects tile_n / consumers_n to be a power of two, but got 48");
  schedule.tileN = 96;
  schedule.consumersN = 3;
  expectBroken(schedule, ada, Limit::Geometry, "expects tile_n to be a power of two, but got 96");
  schedule = mmaSync128x128();
  schedule.tileK = 48;
  problem.blockColumns = 48;
  expectBroken(schedule, ada, Limit::Geometry, "expects tile_k to be a power of two, but got 48");
}

TEST_F(ScheduleFit, RegistersGivenToConsumers) {
  Schedule schedule = wgmma128x256();
  schedule.consumerRegisters = 144;
  // 128 accumulators and at least 24 others.
  expectBroken(schedule, hopper, Limit::Registers,
               "expects at most 144 registers per consumer thread, but the schedule needs 152 (8 too many)");
}

TEST_F(ScheduleFit, RegistersGivenToAllRoles) {
  Schedule schedule = wgmma128x256();
  schedule.consumerRegisters = 248;
  // 384 threads start with 168 registers each, which is what setmaxnreg can share out.
  expectBroken(schedule, hopper, Limit::Registers,
               "expects at most 64512 registers per CTA on sm_90a, but the schedule needs 68608 (4096 too many)");
  schedule.consumerRegisters = 0;
  expectBroken(schedule, hopper, Limit::Geometry, "expects register counts for both roles or none, but got 40/0");
  schedule.producerRegisters = 0;
  EXPECT_TRUE(check(schedule, hopper).ok());
}

// 384 threads start with 168 registers each: producers can only give up some of them, and consumers only take more.
TEST_F(ScheduleFit, RegistersAtLaunch) {
  Schedule schedule = wgmma128x256();
  schedule.producerRegisters = schedule.consumerRegisters = 168;
  EXPECT_TRUE(check(schedule, hopper).ok());
  schedule.producerRegisters = 176;
  schedule.consumerRegisters = 160;
  expectBroken(schedule, hopper, Limit::Registers,
               "expects producer_registers to be at most 168, the registers of a thread at launch on sm_90a, but got "
               "176");
  schedule.producerRegisters = 40;
  expectBroken(schedule, hopper, Limit::Registers,
               "expects consumer_registers to be at least 168, the registers of a thread at launch on sm_90a, but got "
               "160");
}

TEST_F(ScheduleFit, RegisterPool) {
  EXPECT_EQ(registerPool(hopper, 384, 1), 168 * 384);
  EXPECT_EQ(registerPool(hopper, 384, 2), 80 * 384);
  EXPECT_EQ(registerPool(hopper, 128, 1), 248 * 128) << "a thread has at most 255, in eights";
}

TEST_F(ScheduleFit, ChoiceKeepsADistanceFromTheLimits) {
  Schedule schedule = mmaSync128x128();
  schedule.consumersN = 2;
  // 64 x 64 results a warp: 128 accumulators, 32 fragments, usually 36 others; sm_89 prefers 168.
  EXPECT_EQ(estimatedRegisters(schedule, problem, Origin::HandWritten), 184);
  EXPECT_EQ(estimatedRegisters(schedule, problem, Origin::Chosen), 196);
  EXPECT_TRUE(check(schedule, ada, Origin::HandWritten).ok());
  EXPECT_EQ(check(schedule, ada, Origin::Chosen).message,
            "expects at most 168 registers per thread on sm_89, but the schedule needs 196 (28 too many)");
}

TEST_F(ScheduleFit, InstructionsOfTheChip) {
  expectBroken(wgmma128x256(), ada, Limit::Instruction, "expects what sm_89 has, but got instruction = wgmma");
  Schedule schedule = mmaSync128x128();
  schedule.copy = CopyMethod::Tma;
  expectBroken(schedule, ada, Limit::Instruction, "expects what sm_89 has, but got copy = tma");
  expectBroken(schedule, hopper, Limit::Instruction,
               "expects wgmma with tma, or mma_sync with cp_async or scalar, but got mma_sync with tma");
  schedule = mmaSync128x128();
  schedule.cluster = 2;
  expectBroken(schedule, ada, Limit::Instruction, "expects what sm_89 has, but got a cluster");
  Chip old = ada;
  old.name = "sm_75";
  old.copies = {CopyMethod::Scalar};
  expectBroken(mmaSync128x128(), old, Limit::Instruction, "expects what sm_75 has, but got copy = cp_async");
  schedule = wgmma128x256();
  schedule.copy = CopyMethod::CpAsync;
  expectBroken(schedule, hopper, Limit::Instruction,
               "expects wgmma with tma, or mma_sync with cp_async or scalar, but got wgmma with cp_async");
}

TEST_F(ScheduleFit, ElementsOfTheInstruction) {
  problem.elementType = ElementType::F16;
  EXPECT_TRUE(check(wgmma128x256(), hopper).ok());
  EXPECT_TRUE(check(mmaSync128x128(), ada).ok());
  problem.elementType = ElementType::F8E5M2;
  expectBroken(mmaSync128x128(), *findChip("sm_80"), Limit::Instruction,
               "expects elements that mma_sync multiplies on sm_80, but got f8E5M2");
}

TEST_F(ScheduleFit, MmaSyncOfF8) {
  problem = problemWithBlock(16, 16);
  problem.elementType = ElementType::F8E5M2;
  problem.xTransposed = true;
  Schedule schedule = mmaSync128x128();
  schedule.tileM = 16;
  schedule.consumersM = 1;
  schedule.tileK = 32; // two blocks
  EXPECT_TRUE(check(schedule, ada).ok());
  schedule.tileK = 16;
  expectBroken(schedule, ada, Limit::Geometry, "expects tile_k to be a multiple of 32, but got 16");
  problem.hasScales = true;
  schedule.tileK = 32;
  expectBroken(schedule, ada, Limit::Geometry,
               "expects tile_k to be at most 16, the columns of a block with a scale, but got 32");
  problem.blockColumns = 256;
  problem.hasTwoLevels = true;
  problem.hasXScale = true;
  schedule.tileK = 96;
  expectBroken(schedule, ada, Limit::Geometry, "expects tile_k to divide 128, the depth of a scale of X, but got 96");
}

TEST_F(ScheduleFit, WgmmaOfF8) {
  problem = problemWithBlock(128, 128);
  problem.elementType = ElementType::F8E4M3;
  problem.xTransposed = true;
  Schedule schedule = wgmma128x256();
  expectBroken(schedule, hopper, Limit::Geometry, "expects tile_k to be 128 for wgmma, but got 64");
  schedule.tileK = 128;
  EXPECT_TRUE(check(schedule, hopper).ok());
  // Blocks of fewer columns than a stage have half of its depth.
  problem.blockColumns = 64;
  expectBroken(schedule, hopper, Limit::Geometry, "expects tile_k to be 64 for wgmma, but got 128");
  problem.blockColumns = 80;
  expectBroken(schedule, hopper, Limit::Instruction,
               "expects blocks with a multiple of 32 columns for f8E4M3FN, but got 80");
  problem.blockColumns = 128;
  problem.hasTwoLevels = problem.hasScales = true;
  schedule.walk = TileWalk::Streams;
  expectBroken(schedule, hopper, Limit::Instruction, "expects walk = blocks for scales of f8E4M3FN, but got streams");
  schedule.walk = TileWalk::Windows;
  expectBroken(schedule, hopper, Limit::Instruction, "expects walk = blocks for scales of f8E4M3FN, but got windows");
  problem.xTransposed = false;
  expectBroken(schedule, hopper, Limit::Instruction, "expects x_layout(nk) for f8E4M3FN, but got kn");
  problem.wTransposed = true;
  expectBroken(schedule, hopper, Limit::Instruction, "expects W as M x K for f8E4M3FN, but got transposed");
}

TEST_F(ScheduleFit, ScalesOfXSwapTheOperands) {
  problem = problemWithBlock(128, 128);
  problem.elementType = ElementType::F8E4M3;
  problem.xTransposed = problem.hasTwoLevels = problem.hasScales = problem.hasXScale = true;
  Schedule schedule = wgmma128x256();
  schedule.tileK = 128;
  schedule.stages = 4;
  expectBroken(schedule, hopper, Limit::Geometry, "expects consumers_m to be between 1 and 1, but got 2");
  schedule.consumersM = 1;
  schedule.consumersN = 2;
  EXPECT_TRUE(check(schedule, hopper).ok());
  EXPECT_EQ(promotedColumns(schedule, true), 64) << "64 x 128 temporaries of 128 threads";
  schedule.tileM = 64;
  EXPECT_EQ(promotedColumns(schedule, true), 128);
  schedule.tileM = 96;
  expectBroken(schedule, hopper, Limit::Geometry, "expects tile_m to be a multiple of 64, but got 96");
  schedule.tileM = 128;
  schedule.tileN = 192;
  expectBroken(schedule, hopper, Limit::Geometry, "expects tile_n / consumers_n to be a multiple of 64, but got 96");
  problem.hasXScale = false;
  schedule = wgmma128x256();
  schedule.tileK = 128;
  schedule.stages = 4;
  EXPECT_TRUE(check(schedule, hopper).ok());
}

/// 64 x 128 temporaries of 128 threads.
TEST_F(ScheduleFit, SumsOfTwoLevelsTakeRegisters) {
  Schedule schedule = wgmma128x256();
  int64_t oneLevel = estimatedRegisters(schedule, problem, Origin::Chosen);
  problem.hasTwoLevels = true;
  EXPECT_EQ(estimatedRegisters(schedule, problem, Origin::Chosen), oneLevel + 64);
  schedule.tileN = 64;
  EXPECT_EQ(promotedColumns(schedule, false), 64);
  schedule.tileN = 192;
  EXPECT_EQ(promotedColumns(schedule, false), 96);
  // Warps have few registers, and add their products more often.
  schedule = mmaSync128x128();
  schedule.tileN = 256;
  schedule.consumersN = 2;
  EXPECT_EQ(promotedColumns(schedule, false), 32);
  schedule.consumersN = 16;
  EXPECT_EQ(promotedColumns(schedule, false), 16);
}

TEST_F(ScheduleFit, WgmmaNeedsLargeBlocks) {
  problem = problemWithBlock(64, 16);
  expectBroken(wgmma64x512(), hopper, Limit::Instruction, "expects blocks of at least 64x32 for wgmma, but got 64x16");
  problem = problemWithBlock(48, 64);
  expectBroken(wgmma64x512(), hopper, Limit::Instruction, "expects blocks of at least 64x32 for wgmma, but got 48x64");
}

TEST_F(ScheduleFit, GeometryOfWgmma) {
  Schedule schedule = wgmma128x256();
  schedule.tileM = 192;
  expectBroken(schedule, hopper, Limit::Geometry, "expects tile_m to be 64 * consumers_m = 128, but got 192");
  schedule = wgmma128x256();
  schedule.tileK = 32;
  expectBroken(schedule, hopper, Limit::Geometry, "expects tile_k to be 64 for wgmma, but got 32");
  schedule = wgmma128x256();
  schedule.tileN = 160;
  expectBroken(schedule, hopper, Limit::Geometry, "expects tile_n / consumers_n to be a multiple of 64, but got 160");
  schedule.tileN = 320;
  expectBroken(schedule, hopper, Limit::Geometry, "expects tile_n / consumers_n to be between 64 and 256, but got 320");
  schedule = wgmma128x256();
  schedule.cluster = 4;
  expectBroken(schedule, hopper, Limit::Geometry, "expects cluster to be between 1 and 2, but got 4");
}

TEST_F(ScheduleFit, GeometryOfMmaSync) {
  Schedule schedule = mmaSync128x128();
  schedule.tileN = 96;
  expectBroken(schedule, ada, Limit::Geometry, "expects tile_n / consumers_n to be a multiple of 16, but got 24");
  schedule = mmaSync128x128();
  schedule.cluster = 2;
  expectBroken(schedule, hopper, Limit::Geometry, "expects cluster to be between 1 and 1, but got 2");
  schedule = mmaSync128x128();
  schedule.producerRegisters = 40;
  expectBroken(schedule, hopper, Limit::Geometry, "expects no producer_registers for cp_async, but got 40");
}

TEST_F(ScheduleFit, MostRegistersOfMmaSync) {
  Schedule schedule = mmaSync128x128();
  // 64 accumulators, 24 fragments and at least 24 others.
  schedule.consumerRegisters = 112;
  EXPECT_TRUE(check(schedule, ada).ok());
  schedule.consumerRegisters = 104;
  expectBroken(schedule, ada, Limit::Registers,
               "expects at most 104 registers per thread, but the schedule needs 112 (8 too many)");
  // The limit is what a CTA may come to hold.
  schedule.consumerRegisters = 168;
  schedule.ctasPerSm = 2;
  schedule.stages = 2;
  schedule.tileK = 32;
  expectBroken(schedule, ada, Limit::Registers,
               "expects at most 32768 registers per CTA on sm_89, but the schedule needs 43008 (10240 too many)");
}

TEST_F(ScheduleFit, StagesHoldWholeBlocksOrPartsOfOne) {
  Schedule schedule = mmaSync128x128();
  problem = problemWithBlock(128, 48);
  EXPECT_TRUE(check(schedule, ada).ok()) << "chunks of 32 and 16";
  schedule.tileK = 64;
  expectBroken(schedule, ada, Limit::Geometry,
               "expects tile_k to be at most the block's 48 columns or a multiple of them, but got 64");
  problem = problemWithBlock(128, 32);
  schedule.stages = 2;
  EXPECT_TRUE(check(schedule, ada).ok()) << "two blocks";
}

TEST_F(ScheduleFit, Stages) {
  Schedule schedule = mmaSync128x128();
  schedule.stages = 1;
  expectBroken(schedule, ada, Limit::Geometry, "expects stages to be at least 2, but got 1");
}

TEST_F(ScheduleFit, OnlyAttentionHasTilesSideBySide) {
  Schedule schedule = wgmma128x256();
  schedule.concurrentTiles = 2;
  expectBroken(schedule, hopper, Limit::Geometry, "expects concurrent_tiles to be 1 for spmm, but got 2");
}
