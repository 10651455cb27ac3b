// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedule of attention: its shared memory, what is chosen, and every way not to fit.

#include "AttentionCandidates.h"

#include <gtest/gtest.h>

using namespace sparsec;

namespace {

/// The schedules that fit blocks of 128 queries and 128 keys of 128 elements.
Schedule twoConsumers() {
  Schedule schedule;
  schedule.instruction = MatrixInstruction::Wgmma;
  schedule.copy = CopyMethod::Tma;
  schedule.tileM = 128;
  schedule.tileN = 128;
  schedule.tileK = 128;
  schedule.stages = 5;
  schedule.consumersM = 2;
  schedule.producerRegisters = 40;
  schedule.consumerRegisters = 232;
  return schedule;
}

/// The same for blocks of 64 queries and 64 keys of 64 elements.
Schedule oneConsumer() {
  Schedule schedule = twoConsumers();
  schedule.tileM = 64;
  schedule.tileN = 64;
  schedule.tileK = 64;
  schedule.stages = 6;
  schedule.consumersM = 1;
  schedule.consumerRegisters = 216;
  schedule.ctasPerSm = 2;
  return schedule;
}

/// Three tiles side by side, for any blocks and heads of 64 elements: what is chosen.
Schedule threeTiles() {
  Schedule schedule = twoConsumers();
  schedule.tileM = 64;
  schedule.tileK = 64;
  schedule.stages = 4;
  schedule.consumersM = 1;
  schedule.concurrentTiles = 3;
  schedule.producerRegisters = 32;
  schedule.consumerRegisters = 160;
  schedule.groupM = 1;
  return schedule;
}

AttentionDescription attention(int64_t headDimension, int64_t queryBlock, int64_t keyBlock) {
  AttentionDescription problem;
  problem.headDimension = headDimension;
  problem.queryBlock = queryBlock;
  problem.keyBlock = keyBlock;
  return problem;
}

struct AttentionFit : testing::Test {
  const Chip &hopper = *findChip("sm_90a");
  AttentionDescription problem = attention(128, 128, 128);
  Schedule schedule = twoConsumers();

  void expectBroken(Limit limit, const std::string &message) {
    Fit fit = checkFit(schedule, problem, hopper, Origin::HandWritten);
    EXPECT_FALSE(fit.ok());
    EXPECT_EQ(fit.broken, limit);
    EXPECT_EQ(fit.message, message);
  }
  void expectExcess(int64_t allowed, int64_t needed) {
    Fit fit = checkFit(schedule, problem, hopper, Origin::HandWritten);
    EXPECT_EQ(fit.allowed, allowed);
    EXPECT_EQ(fit.needed, needed);
  }
};

/// The head dimension, the blocks, whether regions need registers, and what is chosen for them.
struct Case {
  int64_t headDimension, queryBlock, keyBlock;
  bool regionsNeedRegisters;
  int64_t tileM, tileN, concurrentTiles, stages;
};

AttentionDescription describe(const Case &c) {
  AttentionDescription problem = attention(c.headDimension, c.queryBlock, c.keyBlock);
  problem.regionsNeedRegisters = c.regionsNeedRegisters;
  return problem;
}

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest's name.
void PrintTo(const Case &c, std::ostream *out) {
  *out << "D " << c.headDimension << ", blocks " << c.queryBlock << "x" << c.keyBlock
       << (c.regionsNeedRegisters ? ", regions that need registers" : "");
}

struct AttentionChoice : testing::TestWithParam<Case> {};

SharedMemoryPlaces placesOf(const Schedule &schedule, ElementType elementType = ElementType::Bf16) {
  AttentionDescription problem;
  problem.elementType = elementType;
  return placeSharedMemory(sharedMemoryNeeds(schedule, problem));
}
int64_t queries(const SharedMemoryPlaces &places) { return places.rings[0].buffers[0]; }
int64_t keys(const SharedMemoryPlaces &places) { return places.rings[1].buffers[0]; }

} // namespace

TEST(AttentionSharedMemory, OnesBehindAllTilesWhereTheSecondProductSumsRows) {
  Schedule schedule = twoConsumers();
  AttentionDescription problem = attention(64, 128, 128);
  EXPECT_FALSE(sumsRowsByProducts(schedule, problem));
  problem.hasFixedShift = true;
  EXPECT_TRUE(sumsRowsByProducts(schedule, problem));
  SharedMemoryPlaces places = placeSharedMemory(sharedMemoryNeeds(schedule, problem));
  EXPECT_EQ(places.ones % 1024, 0);
  EXPECT_GE(places.ones, places.tileBytes);
  EXPECT_EQ(places.total, places.ones + 2048);
  problem.valueDimension = 128;
  EXPECT_FALSE(sumsRowsByProducts(schedule, problem)) << "wider values fill two strips";
  problem.valueDimension = 0;
  schedule.instruction = MatrixInstruction::MmaSync;
  EXPECT_FALSE(sumsRowsByProducts(schedule, problem));
}

TEST(AttentionSharedMemory, QueriesThenSlotsThenControlWords) {
  SharedMemoryPlaces places = placesOf(twoConsumers());
  EXPECT_EQ(queries(places), 0);
  EXPECT_EQ(keys(places), 65536) << "2 slots of 128 x 128 elements of 2 bytes";
  EXPECT_EQ(places.rings[0].barriers, 229376) << "and 5 slots of the same size";
  EXPECT_EQ(places.rings[1].barriers, 229424) << "two barriers of 8 bytes and two words of 4, for 2 slots";
  EXPECT_EQ(places.tileBytes, 229544) << "the same for 5 slots";
  EXPECT_EQ(places.issuer, 229544);
  EXPECT_EQ(places.total, 229544) << "one tile has nobody to yield to";
}

TEST(AttentionSharedMemory, ConsumersThatShareATileHaveTwoSlotsOfQueries) {
  EXPECT_EQ(queryStages(twoConsumers()), 2);
  EXPECT_EQ(queryStages(oneConsumer()), 1) << "the two CTAs of an SM share nothing";
  EXPECT_EQ(queryStages(threeTiles()), 1) << "nor do tiles side by side";
}

TEST(AttentionSharedMemory, WideQueriesHaveOneSlot) {
  Schedule schedule = twoConsumers();
  schedule.tileK = 192;
  EXPECT_EQ(queryStages(schedule), 1) << "there is no room for those of the next tile";
}

TEST(AttentionSharedMemory, KeysAndValuesShareSlotsOfTheWiderOne) {
  Schedule schedule = twoConsumers();
  for (auto [headDimension, valueDimension] : {std::pair(192, 128), std::pair(128, 192)}) {
    schedule.tileK = headDimension;
    AttentionDescription problem = attention(headDimension, 128, 128);
    problem.valueDimension = valueDimension;
    EXPECT_EQ(sharedMemoryNeeds(schedule, problem).rings[1].bufferBytes[0], 128 * 192 * 2);
  }
}

TEST(AttentionSharedMemory, TilesLieSideBySide) {
  SharedMemoryPlaces places = placesOf(threeTiles());
  EXPECT_EQ(keys(places), 8192) << "of the first tile: 64 x 64 elements";
  EXPECT_EQ(places.rings[0].barriers, 73728) << "4 slots of 128 x 64 elements";
  EXPECT_EQ(places.tileBytes, 74752) << "73848 rounded up to 1024: swizzled buffers begin at multiples of it";
  EXPECT_EQ(places.issuer, 3 * 74752);
  EXPECT_EQ(places.total, 3 * 74752 + 8) << "and the word of the issuer";
}

TEST(AttentionSharedMemory, QueriesAndKeysDiffer) {
  Schedule schedule = oneConsumer();
  schedule.tileN = 128;
  schedule.stages = 3;
  SharedMemoryPlaces places = placesOf(schedule);
  EXPECT_EQ(keys(places), 8192) << "64 x 64 elements";
  EXPECT_EQ(places.rings[0].barriers, 57344) << "3 slots of 128 x 64 elements";
  EXPECT_EQ(places.rings[1].barriers, 57368);
  EXPECT_EQ(places.total, 57440);
}

TEST(AttentionSharedMemory, CountsBytesOfElements) {
  SharedMemoryPlaces places = placesOf(oneConsumer(), ElementType::F8E4M3);
  EXPECT_EQ(keys(places), 4096);
  EXPECT_EQ(places.total, 4096 + 6 * 4096 + 24 + 6 * 24);
}

// 232448 bytes: a tile has its queries, twice where two warpgroups share them, `stages` buffers of keys and the control
// words, rounded up to 1024 where there are several tiles. Heads of 64: 3 x 74752 or 2 x 107520 bytes. Heads of 128:
// 2 x 115712, or 1 x 229544. Wide heads take as many keys a step as registers and slots allow. Heads of 192: 4 x 49152,
// and where regions need registers 49152 + 7 x 24576; heads of 256: 65536 + 5 x 32768, or 2 x 115712. One slot of
// queries has room for no second one. Registers of heads of 256: 128 sums, 32 scores, 16 pairs of probabilities and 32
// others.
INSTANTIATE_TEST_SUITE_P(
    AllBlocks, AttentionChoice,
    testing::Values(Case{64, 64, 64, false, 64, 128, 3, 4}, Case{64, 64, 128, false, 64, 128, 3, 4},
                    Case{64, 128, 64, false, 64, 128, 3, 4}, Case{64, 128, 128, false, 64, 128, 3, 4},
                    Case{64, 64, 64, true, 64, 128, 2, 6}, Case{64, 128, 128, true, 64, 128, 2, 6},
                    Case{128, 64, 64, false, 64, 64, 2, 6}, Case{128, 64, 128, false, 64, 128, 2, 3},
                    Case{128, 128, 64, false, 128, 128, 1, 5}, Case{128, 128, 128, false, 128, 128, 1, 5},
                    Case{128, 64, 64, true, 64, 64, 2, 6}, Case{128, 128, 128, true, 128, 128, 1, 5},
                    Case{96, 64, 64, false, 64, 64, 2, 8}, Case{96, 128, 128, false, 128, 128, 1, 7},
                    Case{192, 128, 128, false, 128, 128, 1, 3}, Case{192, 128, 128, true, 128, 64, 1, 7},
                    Case{192, 64, 128, false, 64, 64, 2, 3}, Case{256, 128, 128, false, 128, 64, 1, 5},
                    Case{256, 64, 64, false, 64, 32, 2, 5}, Case{256, 128, 128, true, 128, 32, 1, 8}));

TEST_P(AttentionChoice, TakesTurnsOnAnSm) {
  const Case &c = GetParam();
  const Chip &hopper = *findChip("sm_90a");
  Schedule schedule = rankCandidates(describe(c), hopper, /*alignment=*/16).front().schedule;
  EXPECT_EQ(checkFit(schedule, describe(c), hopper, Origin::HandWritten).message, "");
  EXPECT_EQ(schedule.tileM, c.tileM);
  EXPECT_EQ(schedule.tileN, c.tileN);
  EXPECT_EQ(schedule.tileK, c.headDimension);
  EXPECT_EQ(schedule.consumersM, c.tileM / 64);
  EXPECT_EQ(schedule.concurrentTiles, c.concurrentTiles);
  EXPECT_EQ(schedule.ctasPerSm, 1);
  EXPECT_EQ(schedule.stages, c.stages);
  // 512 threads have 128 registers each, 384 have 168; the producer's 128 keep 32 or 40.
  bool hasThree = c.concurrentTiles == 3;
  EXPECT_EQ(schedule.producerRegisters, hasThree ? 32 : 40);
  EXPECT_EQ(schedule.consumerRegisters, hasThree ? 160 : 232);
}

TEST_P(AttentionChoice, HasAsManyStagesAsFit) {
  const Case &c = GetParam();
  const Chip &hopper = *findChip("sm_90a");
  Schedule schedule = rankCandidates(describe(c), hopper, /*alignment=*/16).front().schedule;
  ++schedule.stages;
  EXPECT_TRUE(schedule.stages > 8 || !checkFit(schedule, describe(c), hopper, Origin::HandWritten).ok());
}

// While registers do not suffice: fewer tiles or narrower steps, in the end one role, which cannot be serialised.
TEST_P(AttentionChoice, LastAttemptHasOneRole) {
  const Case &c = GetParam();
  std::vector<Candidate> candidates = rankCandidates(describe(c), *findChip("sm_90a"), /*alignment=*/16);
  std::vector<size_t> attempts = orderOfAttempts(candidates);
  ASSERT_GE(attempts.size(), 2u);
  const Schedule &last = candidates[attempts.back()].schedule;
  EXPECT_EQ(last.instruction, MatrixInstruction::MmaSync) << toString(last);
  EXPECT_EQ(last.tileN, 32);
}

TEST(AttentionCandidates, AreInTheOrderOfTheirCost) {
  for (const Chip &chip : chips())
    for (int64_t headDimension : {64, 128}) {
      AttentionDescription problem = attention(headDimension, 128, 64);
      std::vector<Candidate> candidates = rankCandidates(problem, chip, /*alignment=*/16);
      EXPECT_FALSE(candidates.front().cost.usefulFlopsPerClock <= 0);
      for (size_t i = 1; i < candidates.size() && candidates[i].fit.ok(); ++i)
        EXPECT_GE(candidates[i - 1].cost.usefulFlopsPerClock, candidates[i].cost.usefulFlopsPerClock);
    }
}

TEST(AttentionCandidates, PackedQueriesGoHeadByHeadInASequence) {
  for (const Chip &chip : chips())
    for (bool arePacked : {false, true}) {
      AttentionDescription problem = attention(128, 128, 128);
      problem.hasPackedQueries = arePacked;
      for (const Candidate &candidate : rankCandidates(problem, chip, /*alignment=*/16))
        EXPECT_EQ(candidate.schedule.groupM, arePacked ? 16 : 1);
    }
}

// 64 queries and 128 keys of 128 elements on Hopper: 4 * 64 * 128 * 128 / 4096 = 1024 clocks of the tensor cores, 8192
// scores of 14 / 128 clocks = 896, 65536 bytes from L2 at 46.6 a clock = 1406.
TEST(AttentionCost, OfOneStep) {
  Schedule schedule = oneConsumer();
  schedule.tileN = schedule.tileK = 128;
  schedule.ctasPerSm = 1;
  schedule.concurrentTiles = 2;
  AttentionDescription problem = attention(128, 64, 128);
  Cost cost = estimateCost(schedule, problem, *findChip("sm_90a"));
  EXPECT_DOUBLE_EQ(cost.tensor, 1024);
  EXPECT_DOUBLE_EQ(cost.softmax, 896);
  EXPECT_NEAR(cost.l2, 1406, 1);
  EXPECT_STREQ(cost.bound, "tensor cores") << "half of the softmax shows, too: 1472 clocks";
  double two = cost.usefulFlopsPerClock;
  EXPECT_NEAR(two, 4 * 64 * 128 * 128 / (1472 + 140.6), 1);
  schedule.concurrentTiles = 1;
  EXPECT_LT(estimateCost(schedule, problem, *findChip("sm_90a")).usefulFlopsPerClock, two) << "nobody takes turns";
}

// The operations around an exponential run on the f32 lanes. An A100 has half as many of them.
TEST(AttentionCost, LanesAreThoseOfTheRow) {
  Schedule schedule = oneConsumer();
  AttentionDescription problem = attention(64, 64, 64);
  Chip other = *findChip("sm_90a");
  other.floatLanes = 64;
  EXPECT_DOUBLE_EQ(estimateCost(schedule, problem, other).softmax, 64 * 64 * (1.0 / 16 + 6.0 / 64));
  other.exponentialLanes = 32;
  EXPECT_DOUBLE_EQ(estimateCost(schedule, problem, other).softmax, 64 * 64 * (1.0 / 32 + 6.0 / 64));
}

TEST(AttentionCost, Bound) {
  Schedule schedule = oneConsumer();
  AttentionDescription problem = attention(64, 64, 64);
  EXPECT_STREQ(estimateCost(schedule, problem, *findChip("sm_90a")).bound, "softmax");
  Chip slow = *findChip("sm_90a");
  slow.l2BytesPerClock /= 10;
  EXPECT_STREQ(estimateCost(schedule, problem, slow).bound, "L2");
}

TEST_F(AttentionFit, GoodSchedulesFit) {
  EXPECT_TRUE(checkFit(schedule, problem, hopper, Origin::HandWritten).ok());
  EXPECT_TRUE(checkFit(oneConsumer(), attention(64, 64, 64), hopper, Origin::HandWritten).ok());
  EXPECT_TRUE(checkFit(threeTiles(), attention(64, 128, 64), hopper, Origin::HandWritten).ok());
}

TEST_F(AttentionFit, Instruction) {
  schedule.copy = CopyMethod::Scalar;
  expectBroken(Limit::Instruction,
               "expects wgmma with tma, or mma_sync with cp_async or scalar, for attention, but got wgmma with scalar");
  schedule.instruction = MatrixInstruction::MmaSync;
  schedule.copy = CopyMethod::Tma;
  expectBroken(Limit::Instruction,
               "expects wgmma with tma, or mma_sync with cp_async or scalar, for attention, but got mma_sync with tma");
  EXPECT_EQ(checkFit(twoConsumers(), problem, *findChip("sm_89"), Origin::HandWritten).message,
            "expects what sm_89 has, but got instruction = wgmma");
}

TEST_F(AttentionFit, ATileIsABlockOfQueriesOrHalfOfOne) {
  schedule.tileM = 64;
  schedule.consumersM = 1;
  schedule.consumerRegisters = 248;
  EXPECT_TRUE(checkFit(schedule, problem, hopper, Origin::HandWritten).ok());
  schedule.tileM = 192;
  expectBroken(Limit::Geometry, "expects tile_m to be 64 or 128 for attention, but got 192");
  problem = attention(128, 64, 128);
  schedule.tileM = 128;
  expectBroken(Limit::Geometry, "expects tile_m to be 64 for attention, but got 128");
}

TEST_F(AttentionFit, AStepIsOneBlockOfKeysTwoOrAPartOfOne) {
  for (int64_t keyBlock : {64, 128}) {
    problem = attention(128, 128, keyBlock);
    for (int64_t keys : {32, 64, 128}) {
      schedule.tileN = keys;
      EXPECT_TRUE(checkFit(schedule, problem, hopper, Origin::HandWritten).ok());
    }
    for (int64_t keys : {16, 96, 256}) {
      schedule.tileN = keys;
      expectBroken(Limit::Geometry,
                   "expects tile_n to be 32, 64 or 128 for attention, but got " + std::to_string(keys));
    }
  }
}

TEST_F(AttentionFit, TheHeadDimensionIsTheDepth) {
  schedule.tileK = 64;
  expectBroken(Limit::Geometry, "expects tile_k to be 128 for attention, but got 64");
}

TEST_F(AttentionFit, AWarpFillsTheRingsOfATile) {
  problem = attention(64, 64, 64);
  schedule = threeTiles();
  schedule.concurrentTiles = 4;
  schedule.tileN = 64;
  schedule.stages = 3;
  schedule.producerRegisters = 24;
  schedule.consumerRegisters = 112;
  EXPECT_EQ(checkFit(schedule, problem, hopper, Origin::HandWritten).message, "");
  schedule.concurrentTiles = 5;
  expectBroken(Limit::Geometry,
               "expects at most 4 concurrent_tiles for attention, but the schedule needs 5 (1 too many)");
  expectExcess(4, 5);
}

TEST_F(AttentionFit, AConsumerHas64Queries) {
  schedule.consumersM = 1;
  expectBroken(Limit::Geometry, "expects consumers_m to be 2 for attention, but got 1");
  schedule = twoConsumers();
  schedule.consumersN = 2;
  expectBroken(Limit::Geometry, "expects consumers_n to be 1 for attention, but got 2");
}

TEST_F(AttentionFit, NoClusters) {
  schedule.cluster = 2;
  expectBroken(Limit::Geometry, "expects cluster to be 1 for attention, but got 2");
}

TEST_F(AttentionFit, Stages) {
  // Keys of a block, and of the next one before its values.
  schedule.stages = 3;
  EXPECT_TRUE(checkFit(schedule, problem, hopper, Origin::HandWritten).ok());
  schedule.stages = 2;
  expectBroken(Limit::Geometry, "expects stages to be at least 3 for attention, but got 2");
}

TEST_F(AttentionFit, ThreadsOfAMultiprocessor) {
  schedule.ctasPerSm = 6;
  expectBroken(Limit::Threads, "expects at most 2048 threads per multiprocessor on sm_90a, but the schedule needs 2304 "
                               "(256 too many)");
  expectExcess(2048, 2304);
}

TEST_F(AttentionFit, RegistersOfACta) {
  // 384 threads start with 168 registers each: 64512.
  schedule.consumerRegisters = 240;
  expectBroken(Limit::Registers,
               "expects at most 64512 registers per CTA on sm_90a, but the schedule needs 66560 (2048 too many)");
  expectExcess(64512, 66560);
  schedule.producerRegisters = 24;
  EXPECT_TRUE(checkFit(schedule, problem, hopper, Origin::HandWritten).ok()) << "3072 + 61440";
}

TEST_F(AttentionFit, RegistersOfBothRoles) {
  schedule.producerRegisters = 0;
  expectBroken(Limit::Geometry, "expects register counts for both roles or none, but got 0/232");
  schedule.producerRegisters = 40;
  schedule.consumerRegisters = 0;
  expectBroken(Limit::Geometry, "expects register counts for both roles or none, but got 40/0");
  problem = attention(64, 128, 64);
  schedule.tileN = schedule.tileK = 64;
  schedule.producerRegisters = 0;
  EXPECT_TRUE(checkFit(schedule, problem, hopper, Origin::HandWritten).ok());
}

TEST_F(AttentionFit, RegistersOfAConsumer) {
  // 64 sums, 64 scores and 32 pairs of probabilities, and at least 24 others.
  schedule.consumerRegisters = 176;
  expectBroken(Limit::Registers,
               "expects at most 176 registers per consumer thread, but the schedule needs 184 (8 too many)");
  schedule.consumerRegisters = 184;
  EXPECT_TRUE(checkFit(schedule, problem, hopper, Origin::HandWritten).ok());
  // Without counts a thread keeps the 168 of the launch.
  schedule.producerRegisters = schedule.consumerRegisters = 0;
  expectBroken(Limit::Registers,
               "expects at most 168 registers per consumer thread, but the schedule needs 184 (16 too many)");
}

TEST_F(AttentionFit, RegistersAtLaunch) {
  schedule.producerRegisters = 176;
  schedule.consumerRegisters = 160;
  expectBroken(Limit::Registers, "expects producer_registers to be at most 168, the registers of a thread at launch on "
                                 "sm_90a, but got 176");
}

TEST_F(AttentionFit, RegistersOfTwoCtas) {
  problem = attention(64, 64, 64);
  schedule = oneConsumer();
  // 256 threads of two CTAs start with 128 registers each: 32768.
  schedule.consumerRegisters = 224;
  expectBroken(Limit::Registers,
               "expects at most 32768 registers per CTA on sm_90a, but the schedule needs 33792 (1024 too many)");
}

TEST_F(AttentionFit, SharedMemoryOfACta) {
  schedule.stages = 6;
  expectBroken(
      Limit::SharedMemory,
      "expects at most 232448 bytes of shared memory on sm_90a, but the schedule needs 262336 (29888 too many)");
  expectExcess(232448, 262336);
}

TEST_F(AttentionFit, RegistersOfThreeTiles) {
  problem = attention(64, 64, 64);
  schedule = threeTiles();
  // 512 threads start with 128 registers each: 65536.
  schedule.consumerRegisters = 168;
  expectBroken(Limit::Registers,
               "expects at most 65536 registers per CTA on sm_90a, but the schedule needs 68608 (3072 too many)");
}

TEST_F(AttentionFit, SharedMemoryOfThreeTiles) {
  problem = attention(64, 64, 64);
  schedule = threeTiles();
  // 8192 + 5 * 16384 + 6 * 24 bytes are 90256, rounded up 91136, three times; and 8.
  schedule.stages = 5;
  expectBroken(
      Limit::SharedMemory,
      "expects at most 232448 bytes of shared memory on sm_90a, but the schedule needs 273416 (40968 too many)");
}

TEST_F(AttentionFit, SharedMemoryOfAMultiprocessor) {
  problem = attention(64, 64, 128);
  schedule = oneConsumer();
  schedule.tileN = 128;
  EXPECT_TRUE(checkFit(schedule, problem, hopper, Origin::HandWritten).ok());
  // 8192 + 7 * 16384 + 8 * 24 = 123072 bytes, and 1024 more that every CTA reserves.
  schedule.stages = 7;
  expectBroken(
      Limit::SharedMemory,
      "expects at most 233472 bytes of shared memory for 2 CTAs per multiprocessor on sm_90a, but the schedule "
      "needs 248192 (14720 too many)");
  expectExcess(233472, 248192);
}

namespace {

/// One role on Ada: 8 warps for blocks of 128 queries, steps of half a block of 128 keys of 128 elements.
Schedule eightWarps() {
  Schedule schedule;
  schedule.instruction = MatrixInstruction::MmaSync;
  schedule.copy = CopyMethod::CpAsync;
  schedule.tileM = 128;
  schedule.tileN = 64;
  schedule.tileK = 128;
  schedule.stages = 2;
  schedule.consumersM = 8;
  return schedule;
}

struct OneRoleFit : testing::Test {
  const Chip &ada = *findChip("sm_89");
  AttentionDescription problem = attention(128, 128, 128);
  Schedule schedule = eightWarps();

  void expectBroken(Limit limit, const std::string &message) {
    Fit fit = checkFit(schedule, problem, ada, Origin::HandWritten);
    EXPECT_EQ(fit.broken, limit);
    EXPECT_EQ(fit.message, message);
  }
};

/// The head dimension, the blocks, and the keys of a step that is chosen for them.
struct OneRoleCase {
  int64_t headDimension, queryBlock, keyBlock, stepKeys;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest's name.
void PrintTo(const OneRoleCase &c, std::ostream *out) {
  *out << "D " << c.headDimension << ", blocks " << c.queryBlock << "x" << c.keyBlock;
}

struct OneRoleChoice : testing::TestWithParam<OneRoleCase> {};

} // namespace

TEST(AttentionSharedMemory, OneRoleHasSlotsForValuesAndNoBarriers) {
  SharedMemoryPlaces places = placesOf(eightWarps());
  EXPECT_EQ(queryStages(eightWarps()), 1) << "all warps wait for each other";
  EXPECT_EQ(keys(places), 32768) << "128 x 128 elements of 2 bytes";
  EXPECT_EQ(places.rings[2].buffers[0], 65536) << "and 2 slots of 64 x 128";
  EXPECT_EQ(places.total, 98304) << "and as many";
}

// There are 101376 bytes, or where two CTAs share an SM half of 102400 less 1024: only 64 queries of 128 elements are
// short of room for steps of 64 keys.
INSTANTIATE_TEST_SUITE_P(AllBlocks, OneRoleChoice,
                         testing::Values(OneRoleCase{64, 64, 64, 64}, OneRoleCase{64, 64, 128, 64},
                                         OneRoleCase{64, 128, 64, 64}, OneRoleCase{64, 128, 128, 64},
                                         OneRoleCase{128, 64, 64, 32}, OneRoleCase{128, 64, 128, 32},
                                         OneRoleCase{128, 128, 64, 64}, OneRoleCase{128, 128, 128, 64}));

TEST_P(OneRoleChoice, FitsWithEightWarpsOnAnSm) {
  const OneRoleCase &c = GetParam();
  const Chip &ada = *findChip("sm_89");
  AttentionDescription problem = attention(c.headDimension, c.queryBlock, c.keyBlock);
  Schedule schedule = rankCandidates(problem, ada, /*alignment=*/16).front().schedule;
  EXPECT_EQ(checkFit(schedule, problem, ada, Origin::HandWritten).message, "");
  EXPECT_EQ(schedule.tileN, c.stepKeys);
  EXPECT_EQ(schedule.consumersM * 16, c.queryBlock);
  EXPECT_EQ(schedule.consumersM * schedule.ctasPerSm, 8);
}

// Keys and values of 32 rows in two slots each, and queries: 98304 bytes with 128 queries of 192, or 64 queries of 256.
TEST(OneRoleSchedule, WideHeadsHaveFewerWarps) {
  const Chip &ada = *findChip("sm_89");
  for (auto [headDimension, queryBlock, rows] :
       {std::tuple(192, 128, 128), std::tuple(192, 64, 64), std::tuple(256, 128, 64), std::tuple(256, 64, 64)}) {
    AttentionDescription problem = attention(headDimension, queryBlock, 128);
    Schedule schedule = rankCandidates(problem, ada, /*alignment=*/16).front().schedule;
    EXPECT_EQ(checkFit(schedule, problem, ada, Origin::HandWritten).message, "");
    EXPECT_EQ(schedule.tileM, rows);
    EXPECT_EQ(schedule.tileN, 32);
    EXPECT_EQ(schedule.ctasPerSm, 1);
  }
}

TEST(OneRoleSchedule, QueriesStayInRegistersWhereThereIsRoom) {
  Schedule schedule = eightWarps();
  // 64 sums, twice 32 scores and 32 pairs of queries; half as many scores.
  EXPECT_FALSE(keepsQueries(schedule, attention(128, 128, 128)));
  schedule.tileN = 32;
  EXPECT_TRUE(keepsQueries(schedule, attention(128, 128, 128)));
  // 32 sums of values of 64, and 48 pairs.
  AttentionDescription narrowValues = attention(192, 128, 128);
  EXPECT_FALSE(keepsQueries(schedule, narrowValues));
  narrowValues.valueDimension = 64;
  EXPECT_TRUE(keepsQueries(schedule, narrowValues));
}

/// Elements of any alignment are copied one by one. The chips do not differ, and a short step is half the code.
TEST_P(OneRoleChoice, ElementsOfAnyAlignmentHaveShortSteps) {
  const OneRoleCase &c = GetParam();
  AttentionDescription problem = attention(c.headDimension, c.queryBlock, c.keyBlock);
  for (const char *name : {"sm_89", "sm_90a"}) {
    const Chip &chip = *findChip(name);
    Schedule schedule = rankCandidates(problem, chip, bytesOf(problem.elementType)).front().schedule;
    EXPECT_EQ(checkFit(schedule, problem, chip, Origin::HandWritten).message, "");
    EXPECT_EQ(requiredAlignment(schedule, bytesOf(problem.elementType)), bytesOf(problem.elementType));
    EXPECT_EQ(schedule.tileN, 32);
    EXPECT_EQ(schedule.consumersM * 16, c.queryBlock);
    EXPECT_EQ(schedule.consumersM * schedule.ctasPerSm, 8);
  }
}

TEST_F(OneRoleFit, GoodSchedulesFit) {
  EXPECT_TRUE(checkFit(schedule, problem, ada, Origin::HandWritten).ok());
  EXPECT_TRUE(checkFit(schedule, problem, *findChip("sm_90a"), Origin::HandWritten).ok())
      << "which has these instructions, too";
}

TEST_F(OneRoleFit, ElementsMayBeCopiedOneByOne) {
  schedule.copy = CopyMethod::Scalar;
  EXPECT_TRUE(checkFit(schedule, problem, ada, Origin::HandWritten).ok());
  EXPECT_TRUE(checkFit(schedule, problem, *findChip("sm_90a"), Origin::HandWritten).ok());
}

TEST_F(OneRoleFit, AStepIsAPartOfABlock) {
  schedule.tileN = 48;
  expectBroken(Limit::Geometry, "expects tile_n to be a multiple of 32 that divides 128 for attention, but got 48");
  schedule.tileN = 96;
  expectBroken(Limit::Geometry, "expects tile_n to be a multiple of 32 that divides 128 for attention, but got 96");
  problem.keyBlock = 64;
  schedule.tileN = 128;
  expectBroken(Limit::Geometry, "expects tile_n to be a multiple of 32 that divides 64 for attention, but got 128");
}

TEST_F(OneRoleFit, AWarpHas16Queries) {
  schedule.consumersM = 4;
  expectBroken(Limit::Geometry, "expects consumers_m to be 8 for attention, but got 4");
}

TEST_F(OneRoleFit, OneRoleHasNoProducer) {
  schedule.producerRegisters = 40;
  expectBroken(Limit::Geometry, "expects producer_registers to be 0 for attention, but got 40");
}

TEST_F(OneRoleFit, Stages) {
  schedule.stages = 1;
  expectBroken(Limit::Geometry, "expects stages to be at least 2 for attention, but got 1");
}

TEST_F(OneRoleFit, Registers) {
  schedule.consumerRegisters = 256;
  expectBroken(Limit::Registers,
               "expects at most 255 registers per thread on sm_89, but the schedule needs 256 (1 too many)");
  schedule.tileN = 32;
  schedule.tileM = problem.queryBlock = 64;
  schedule.consumersM = 4;
  schedule.ctasPerSm = 4;
  schedule.consumerRegisters = 168;
  expectBroken(Limit::Registers,
               "expects at most 16384 registers per CTA on sm_89, but the schedule needs 21504 (5120 too many)");
}

TEST_F(OneRoleFit, RegistersOfAWarp) {
  // 64 sums, 32 scores and 16 pairs of probabilities, and at least 24 others.
  schedule.consumerRegisters = 128;
  expectBroken(Limit::Registers,
               "expects at most 128 registers per consumer thread, but the schedule needs 136 (8 too many)");
}

TEST_F(OneRoleFit, SharedMemory) {
  schedule.stages = 3;
  expectBroken(Limit::SharedMemory, "expects at most 101376 bytes of shared memory on sm_89, but the schedule needs "
                                    "131072 (29696 too many)");
}
