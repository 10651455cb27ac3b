// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost model: each term where it can be worked out by hand, and how the whole reacts.

#include "CostModel.h"
#include "schedule_examples.h"

#include <gtest/gtest.h>

using namespace sparsec;

namespace {

struct ScheduleCost : testing::Test {
  const Chip &hopper = *findChip("sm_90a");
  const Chip &ada = *findChip("sm_89");
  ProblemDescription problem = problemWithBlock(128, 128);
  double l2BytesPerClock = hopper.l2BytesPerClock / double(hopper.multiprocessors);

  ScheduleCost() { problem.density = 1; }
};

} // namespace

TEST_F(ScheduleCost, StepOfADenseProduct) {
  Cost cost = estimateCost(wgmma128x256(), problem, hopper);
  EXPECT_NEAR(cost.tensor, 2 * 128 * 256 * 64 / (4096 * 0.95), 0.01);
  // A is read once for the two CTAs of a cluster.
  EXPECT_NEAR(cost.l2, (128 * 64 * 2 / 2 + 64 * 256 * 2) / l2BytesPerClock, 0.01);
  // Both warpgroups read 64 rows of A and all of X, at 128 bytes per clock.
  EXPECT_NEAR(cost.sharedMemory, 2 * (64 + 256) * 64 * 2 / 128.0, 0.01);
  EXPECT_EQ(cost.copyInstructions, 0) << "one thread starts a tensor copy";
  EXPECT_STREQ(cost.bound, "tensor cores");
}

TEST_F(ScheduleCost, TileOfADenseProduct) {
  Cost cost = estimateCost(wgmma128x256(), problem, hopper);
  // 64 blocks in a row, two steps each.
  EXPECT_EQ(cost.steps, 128);
  EXPECT_NEAR(cost.epilogue, 128 * 256 * 2 / l2BytesPerClock, 0.01);
  // 64 x 16 tiles in pairs, 66 pairs of SMs.
  EXPECT_EQ(cost.tilesPerMultiprocessor, 64 * 16 / 66 + 1);
}

TEST_F(ScheduleCost, StaysBelowTheTensorCores) {
  for (double density : {1.0, 0.5, 0.25, 0.1, 0.01}) {
    problem.density = density;
    double rate = estimateCost(wgmma128x256(), problem, hopper).usefulFlopsPerClock;
    EXPECT_GT(rate, 0);
    EXPECT_LT(rate, hopper.find(MatrixInstruction::Wgmma)->flopsPerClock);
  }
}

TEST_F(ScheduleCost, SparseProductsGetLessOutOfL2) {
  double dense = estimateCost(wgmma128x256(), problem, hopper).l2;
  problem.density = 0.25;
  Cost sparse = estimateCost(wgmma128x256(), problem, hopper);
  EXPECT_GT(sparse.l2, dense);
  EXPECT_EQ(sparse.steps, 32);
}

TEST_F(ScheduleCost, SeveralBlocksInAStepPadTheLastOne) {
  problem = problemWithBlock(16, 16);
  problem.density = 1.0 / 8;
  Schedule schedule = mmaSync128x128();
  schedule.tileM = 16;
  schedule.consumersM = 1;
  schedule.tileK = 64;
  // 64 of 512 blocks, four in a step, and on average 3 / 8 of a step too much.
  EXPECT_DOUBLE_EQ(estimateCost(schedule, problem, ada).steps, 64 / 4 + 3.0 / 8);
  schedule.tileK = 16;
  EXPECT_DOUBLE_EQ(estimateCost(schedule, problem, ada).steps, 64);
}

TEST_F(ScheduleCost, ShallowChunksMultiplyOnlyWhatCounts) {
  problem.blockColumns = 96;
  Cost cost = estimateCost(wgmma128x256(), problem, hopper);
  // Chunks of 64 and 32; tensor copies of X bring 64 rows each time, which are 32768 bytes.
  EXPECT_NEAR(cost.tensor, 2 * 128 * 256 * 48 / (4096 * 0.95), 0.01);
  EXPECT_NEAR(cost.l2, (128 * 48 * 2 / 2 + 64 * 256 * 2) / l2BytesPerClock, 0.01);
}

TEST_F(ScheduleCost, RowsOfATileThatNoBlockFillsAreNotRead) {
  problem.blockRows = 80;
  EXPECT_NEAR(estimateCost(wgmma128x256(), problem, hopper).l2, (80 * 64 * 2 / 2 + 64 * 256 * 2) / l2BytesPerClock,
              0.01);
}

TEST_F(ScheduleCost, ShortRowsOfXWasteL2) {
  problem = problemWithBlock(128, 16);
  Schedule schedule = mmaSync128x128();
  schedule.tileK = 16;
  double rows = estimateCost(schedule, problem, ada).l2;
  problem.xTransposed = true;
  // 16 elements are 32 bytes of the 64 that L2 moves: X costs twice its 4 KiB, A has whole blocks. Each of 128 columns
  // also lacks half of a line, which costs 12 bytes.
  EXPECT_NEAR(estimateCost(schedule, problem, ada).l2 / rows, (4096 + 2 * 4096 + 128 * 6) / (4096 + 4096.0), 1e-9);
}

TEST_F(ScheduleCost, CopiesCostInstructions) {
  Schedule schedule = mmaSync128x128();
  double asynchronous = estimateCost(schedule, problem, ada).copyInstructions;
  // 1024 copies of 16 bytes, 32 at a time, 4 instructions each, 4 a clock.
  EXPECT_DOUBLE_EQ(asynchronous, 32);
  schedule.copy = CopyMethod::Scalar;
  EXPECT_DOUBLE_EQ(estimateCost(schedule, problem, ada).copyInstructions, 8 * asynchronous)
      << "one element instead of 16 bytes at a time";
}

TEST_F(ScheduleCost, NeighboursShareWhatL2Moves) {
  problem = problemWithBlock(128, 16);
  problem.xTransposed = true;
  Schedule schedule = mmaSync128x128();
  schedule.tileK = 32; // two blocks
  problem.density = 0;
  double strangers = estimateCost(schedule, problem, ada).l2;
  problem.density = 1;
  // In each of 128 columns two pieces of different lines become one piece: half a line lacks, where two halves did. L2
  // serves CTAs in lockstep at its full rate.
  double together = 8192 + 128 * (64 + 6), apart = 8192 + 128 * (2 * 64 + 2 * 6);
  EXPECT_NEAR(estimateCost(schedule, problem, ada).l2 / strangers, 0.73 * together / apart, 1e-9);
}

TEST_F(ScheduleCost, NeighboursInARandomPatternShareWhatAStepHasTogether) {
  problem = problemWithBlock(128, 16);
  problem.xTransposed = true;
  problem.density = 0.5;
  Chip wholeLines = ada;
  wholeLines.times.partialLineBytes = 0;
  Schedule schedule = mmaSync128x128();
  schedule.tileK = 32;
  double two = estimateCost(schedule, problem, wholeLines).l2;
  schedule.tileK = 64;
  double four = estimateCost(schedule, problem, wholeLines).l2;
  // A block shares its piece with the next one of the row with the probability 1/2 * 1/2. Of two blocks in a step, one
  // has a next one there, of four blocks three.
  double pieces = 128 * 64;
  EXPECT_NEAR(four / two, (2 * 8192 + (4 - 3 * 0.25) * pieces) / (8192 + (2 - 0.25) * pieces), 1e-9);
}

TEST_F(ScheduleCost, PartsOfLinesCostNothingInSampledProducts) {
  SampledDescription sampled;
  static_cast<ProblemDescription &>(sampled) = problemWithBlock(128, 32);
  sampled.patternColumns = 128;
  sampled.xTransposed = true;
  Schedule schedule = mmaSync128x128();
  schedule.tileK = 32;
  Chip expensive = ada;
  expensive.times.partialLineBytes = 1000;
  EXPECT_EQ(estimateCost(schedule, sampled, expensive).clocks, estimateCost(schedule, sampled, ada).clocks);
  ProblemDescription product = productOf(sampled, schedule.instruction);
  EXPECT_GT(estimateCost(schedule, product, expensive).clocks, estimateCost(schedule, product, ada).clocks);
}

TEST_F(ScheduleCost, ASecondCtaHidesTheBarrier) {
  Schedule schedule = mmaSync128x128();
  schedule.stages = 16; // no latency shows
  Cost alone = estimateCost(schedule, problem, ada);
  schedule.ctasPerSm = 2;
  Cost together = estimateCost(schedule, problem, ada);
  EXPECT_GT(alone.clocks - together.clocks, alone.tilesPerMultiprocessor * alone.steps * 49);
}

TEST_F(ScheduleCost, ShallowRingsAreBoundByLatency) {
  Schedule schedule = mmaSync128x128();
  schedule.tileK = 16;
  schedule.stages = 2;
  Cost shallow = estimateCost(schedule, problem, hopper);
  EXPECT_STREQ(shallow.bound, "latency");
  schedule.stages = 4;
  EXPECT_LT(estimateCost(schedule, problem, hopper).clocks, shallow.clocks);
}

TEST_F(ScheduleCost, DeeperStepsMeetLessOften) {
  Schedule schedule = mmaSync128x128();
  double shallow = estimateCost(schedule, problem, ada).clocks;
  schedule.tileK = 64;
  EXPECT_LT(estimateCost(schedule, problem, ada).clocks, shallow);
}

TEST_F(ScheduleCost, TilesWithoutBlocksAreNotFree) {
  problem.density = 1e-9;
  Schedule schedule = wgmma128x256();
  schedule.cluster = 1;
  Cost twoRoles = estimateCost(schedule, problem, hopper);
  EXPECT_NEAR(twoRoles.clocks / twoRoles.tilesPerMultiprocessor, 300 + twoRoles.epilogue, 0.1);
  // A single role starts every tile with an empty ring.
  Cost oneRole = estimateCost(mmaSync128x128(), problem, ada);
  EXPECT_NEAR(oneRole.clocks / oneRole.tilesPerMultiprocessor, 1500 + oneRole.epilogue, 0.1);
}

TEST_F(ScheduleCost, OneMultiprocessorDoesNotGetAllOfL2) {
  problem.m = 128;
  problem.n = 256;
  Schedule schedule = wgmma128x256();
  schedule.cluster = 1;
  EXPECT_DOUBLE_EQ(estimateCost(schedule, problem, hopper).l2, (128 + 256) * 64 * 2 / 64.0) << "64 bytes per clock";
  // Columns that X does not have are not read.
  problem.n = 64;
  EXPECT_DOUBLE_EQ(estimateCost(schedule, problem, hopper).l2, (128 + 64) * 64 * 2 / 64.0);
}

TEST_F(ScheduleCost, TwoStagesOfTwoRolesHideNothing) {
  Schedule schedule = wgmma128x256();
  schedule.stages = 3;
  double three = estimateCost(schedule, problem, hopper).clocks;
  schedule.stages = 2;
  EXPECT_GT(estimateCost(schedule, problem, hopper).clocks, 1.5 * three);
}

TEST_F(ScheduleCost, AnotherCtaHidesTheEpilogue) {
  problem.density = 0.01;
  Schedule schedule = wgmma128x256();
  schedule.tileN = 64;
  double alone = estimateCost(schedule, problem, hopper).clocks;
  schedule.ctasPerSm = 2;
  EXPECT_LT(estimateCost(schedule, problem, hopper).clocks, alone);
}

TEST_F(ScheduleCost, ExtraOperandsMakeTheEpilogueLonger) {
  double without = estimateCost(wgmma128x256(), problem, hopper).epilogue;
  problem.epilogueBytes = 4;
  EXPECT_DOUBLE_EQ(estimateCost(wgmma128x256(), problem, hopper).epilogue, 3 * without) << "4 + 2 bytes instead of 2";
}

TEST_F(ScheduleCost, FewColumnsLeaveMultiprocessorsIdle) {
  problem.n = 64;
  // 64 tiles, whatever their width: a wide one only multiplies zeros.
  Schedule narrow = wgmma128x256();
  narrow.cluster = 1;
  narrow.tileN = 64;
  Schedule wide = wgmma128x256();
  wide.cluster = 1;
  EXPECT_LT(estimateCost(narrow, problem, hopper).clocks, estimateCost(wide, problem, hopper).clocks);
}

// The row of the chip says what a clock brings; nothing of it stands in the model.
TEST_F(ScheduleCost, RatesAndTimesAreThoseOfTheRow) {
  Schedule schedule = mmaSync128x128();
  schedule.stages = 2;
  problem.density = 0;
  Chip other = ada;
  other.sharedMemoryBytesPerClock *= 2;
  other.schedulers *= 2;
  other.times.l2Latency *= 2;
  other.times.sparseL2Share /= 2;
  Cost one = estimateCost(schedule, problem, ada), two = estimateCost(schedule, problem, other);
  EXPECT_DOUBLE_EQ(two.sharedMemory, one.sharedMemory / 2);
  EXPECT_DOUBLE_EQ(two.copyInstructions, one.copyInstructions / 2);
  EXPECT_DOUBLE_EQ(two.latency, 2 * one.latency);
  EXPECT_DOUBLE_EQ(two.l2, 2 * one.l2);
  other = ada;
  other.times.l2PieceBytes = 128;
  // Rows of A have 32 elements, 64 bytes; those of X 128, and both are 8 KiB.
  EXPECT_DOUBLE_EQ(estimateCost(schedule, problem, other).l2, one.l2 * (2 + 1) / 2);
}

TEST_F(ScheduleCost, TimesOfATileAreThoseOfTheRow) {
  problem.density = 1e-9; // no step
  Schedule schedule = wgmma128x256();
  Chip other = hopper;
  other.times.clusterOverhead = 2;
  double alike = estimateCost(schedule, problem, hopper).clocks / hopper.times.clusterOverhead;
  EXPECT_DOUBLE_EQ(estimateCost(schedule, problem, other).clocks, 2 * alike);
  schedule.cluster = 1;
  other.times.fillOfTwoRoles = 1300;
  Cost tile = estimateCost(schedule, problem, other);
  EXPECT_NEAR(tile.clocks / tile.tilesPerMultiprocessor, 1300 + tile.epilogue, 0.1);
  other.times.fillOfOneRole = 700;
  tile = estimateCost(mmaSync128x128(), problem, other);
  EXPECT_NEAR(tile.clocks / tile.tilesPerMultiprocessor, 700 + tile.epilogue, 0.1);
}

TEST_F(ScheduleCost, GroupM) {
  // Bound by the tensor cores: sqrt(66 clusters * 512 columns / 128 rows) = 16.2.
  EXPECT_EQ(chooseGroupM(wgmma128x256(), problem, hopper), 16);
  // Bound by L2: half of the 66 clusters on one panel.
  problem = problemWithBlock(64, 64);
  EXPECT_EQ(chooseGroupM(wgmma64x512(), problem, hopper), 32);
}
