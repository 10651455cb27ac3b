// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedule of attention whose tiles have two block rows: what is chosen, and every way not to fit.

#include "AttentionCandidates.h"

#include <gtest/gtest.h>

using namespace sparsec;

namespace {

/// Two blocks of 64 queries.
Schedule jointSchedule() {
  Schedule schedule;
  schedule.instruction = MatrixInstruction::Wgmma;
  schedule.copy = CopyMethod::Tma;
  schedule.tileM = schedule.tileN = schedule.tileK = 128;
  schedule.stages = 5;
  schedule.consumersM = 2;
  schedule.producerRegisters = 40;
  schedule.consumerRegisters = 232;
  schedule.groupM = 1;
  schedule.walk = TileWalk::Joint;
  return schedule;
}

AttentionDescription blocksOf(int64_t headDimension, int64_t queryBlock, int64_t keyBlock) {
  AttentionDescription problem;
  problem.headDimension = headDimension;
  problem.queryBlock = queryBlock;
  problem.keyBlock = keyBlock;
  return problem;
}

/// Two block rows of 64 queries for two consumers, as blocks of 128 queries have them.
TEST(JointRows, AreTheTileOfBlocksOf128) {
  const Chip &hopper = *findChip("sm_90a");
  for (int64_t keyBlock : {64, 128}) {
    std::vector<Schedule> schedules = jointSchedules(blocksOf(128, 64, keyBlock), hopper);
    ASSERT_EQ(schedules.size(), 1u);
    EXPECT_EQ(schedules[0], jointSchedule()) << toString(schedules[0]);
    EXPECT_EQ(toString(schedules[0]), "wgmma tma 128x128x128 stages 5 consumers 2x1 registers 40/232 group_m 1 joint");
  }
}

TEST(JointRows, AreForSomeBlocksAndHeadsAlone) {
  const Chip &hopper = *findChip("sm_90a");
  EXPECT_EQ(jointSchedules(blocksOf(96, 64, 64), hopper).size(), 1u);
  EXPECT_TRUE(jointSchedules(blocksOf(64, 64, 64), hopper).empty());
  EXPECT_TRUE(jointSchedules(blocksOf(192, 64, 64), hopper).empty());
  EXPECT_TRUE(jointSchedules(blocksOf(128, 128, 64), hopper).empty());
  EXPECT_TRUE(jointSchedules(blocksOf(128, 64, 64), *findChip("sm_89")).empty());
}

struct JointFit : testing::Test {
  const Chip &hopper = *findChip("sm_90a");
  AttentionDescription problem = blocksOf(128, 64, 64);
  Schedule schedule = jointSchedule();

  void expectBroken(const std::string &message) {
    Fit fit = checkFit(schedule, problem, hopper, Origin::HandWritten);
    EXPECT_EQ(fit.broken, Limit::Geometry);
    EXPECT_EQ(fit.message, message);
  }
};

TEST_F(JointFit, FitsTwoBlocks) { EXPECT_TRUE(checkFit(schedule, problem, hopper, Origin::HandWritten).ok()); }

TEST_F(JointFit, NeedsWgmma) {
  schedule.instruction = MatrixInstruction::MmaSync;
  schedule.copy = CopyMethod::CpAsync;
  schedule.tileN = 64;
  schedule.stages = 2;
  schedule.consumersM = 8;
  schedule.producerRegisters = schedule.consumerRegisters = 0;
  expectBroken("expects wgmma and blocks of 64 queries for walk = joint, but got mma_sync and 64");
}

TEST_F(JointFit, NeedsBlocksOf64) {
  problem.queryBlock = 128;
  expectBroken("expects wgmma and blocks of 64 queries for walk = joint, but got wgmma and 128");
}

TEST_F(JointFit, HasTwoBlocksInATile) {
  schedule.tileM = 64;
  schedule.consumersM = 1;
  expectBroken("expects tile_m to be 128 for attention, but got 64");
}

TEST_F(JointFit, HasOneTile) {
  schedule.concurrentTiles = 2;
  expectBroken("expects concurrent_tiles to be 1 for attention, but got 2");
}

} // namespace
