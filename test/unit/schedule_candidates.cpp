// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The choice: measured good points, hints, a new chip, and that every block gets a schedule that fits.

#include "AttentionCandidates.h"
#include "Candidates.h"
#include "ProblemName.h"
#include "SharedMemory.h"
#include "schedule_examples.h"

#include <functional>
#include <gtest/gtest.h>

using namespace sparsec;

namespace {

const Chip &hopper() { return *findChip("sm_90a"); }
const Chip &ada() { return *findChip("sm_89"); }

Schedule best(const ProblemDescription &problem, const Chip &chip, int64_t alignment = 16) {
  return rankCandidates(problem, chip, alignment).front().schedule;
}

} // namespace

// Measured on an H200: two warpgroups of 64 x 256, four stages, A shared by two CTAs.
TEST(ScheduleChoice, Blocks128OnHopper) {
  for (auto [rows, columns] : {std::pair{128, 128}, {128, 64}, {112, 64}, {80, 64}, {256, 256}})
    EXPECT_EQ(best(problemWithBlock(rows, columns), hopper()), wgmma128x256()) << rows << "x" << columns;
}

// Measured on an H200: the width makes up for the height, half of the CTAs share a panel and none shares A.
TEST(ScheduleChoice, Blocks64OnHopper) {
  Schedule expected = wgmma64x512();
  expected.cluster = 1;
  expected.groupM = 64;
  EXPECT_EQ(best(problemWithBlock(64, 64), hopper()), expected);
}

// A thread never needs more than the chip prefers, and no more than two CTAs on an SM leave it.
TEST(ScheduleChoice, RegistersOnAda) {
  Schedule large = best(problemWithBlock(128, 128), ada());
  EXPECT_EQ(large.ctasPerSm * threads(large), 512);
  EXPECT_EQ(large.consumerRegisters, 128);
  Schedule small = best(problemWithBlock(16, 16), ada());
  EXPECT_EQ(threads(small), 128);
  EXPECT_EQ(small.consumerRegisters, 168);
}

TEST(ScheduleChoice, SmallBlocksOnHopperUseMmaSync) {
  for (auto [rows, columns] : {std::pair{16, 16}, {32, 32}, {48, 64}, {64, 16}, {128, 16}}) {
    Schedule schedule = best(problemWithBlock(rows, columns), hopper());
    EXPECT_EQ(schedule.instruction, MatrixInstruction::MmaSync) << rows << "x" << columns;
    EXPECT_EQ(schedule.copy, CopyMethod::CpAsync) << rows << "x" << columns;
    EXPECT_EQ(schedule.tileM, rows) << "as high as the block";
  }
}

// A square tile reads least; eight warps of 64 x 32 stay below 168 registers.
TEST(ScheduleChoice, Blocks128OnAda) {
  Schedule schedule = best(problemWithBlock(128, 128), ada());
  EXPECT_EQ(schedule.tileM, 128);
  EXPECT_EQ(schedule.tileN, 128);
  EXPECT_EQ(schedule.consumersM, 2);
  EXPECT_EQ(schedule.consumersN, 4);
  EXPECT_GE(schedule.stages, 3);
}

TEST(ScheduleChoice, CheapestFitComesFirstAndBrokenOnesLast) {
  std::vector<Candidate> candidates = rankCandidates(problemWithBlock(128, 128), ada(), 16);
  ASSERT_TRUE(candidates.front().fit.ok());
  EXPECT_FALSE(candidates.back().fit.ok());
  for (size_t i = 1; i < candidates.size(); ++i) {
    EXPECT_GE(candidates[i - 1].fit.ok(), candidates[i].fit.ok());
    if (candidates[i].fit.ok()) {
      EXPECT_LE(candidates[i - 1].cost.clocks, candidates[i].cost.clocks);
      EXPECT_EQ(candidates[i].cost.clocks,
                estimateCost(candidates[i].schedule, problemWithBlock(128, 128), ada()).clocks);
    }
  }
}

TEST(ScheduleChoice, AsManyStagesAsFit) {
  for (const Candidate &candidate : rankCandidates(problemWithBlock(128, 128), hopper(), 16)) {
    Schedule oneMore = candidate.schedule;
    ++oneMore.stages;
    if (!candidate.fit.ok() || candidate.schedule.stages == 8)
      continue;
    EXPECT_EQ(checkFit(oneMore, problemWithBlock(128, 128), hopper(), Origin::Chosen).broken, Limit::SharedMemory)
        << toString(candidate.schedule);
  }
}

TEST(ScheduleChoice, AsynchronousCopiesHaveThreeStagesAtLeast) {
  for (const Chip *chip : {&hopper(), &ada()})
    for (int64_t block : {16, 32, 64, 128})
      for (int64_t alignment : {2, 16})
        for (const Schedule &schedule : candidateSchedules(problemWithBlock(block, block), *chip, alignment))
          if (schedule.copy == CopyMethod::Scalar)
            EXPECT_EQ(schedule.stages, 2) << toString(schedule);
          else
            EXPECT_GE(schedule.stages, 3) << toString(schedule);
}

// A dense product runs in lockstep and does not need the multicast, which costs a little.
TEST(ScheduleChoice, DensityChangesTheChoice) {
  ProblemDescription problem = problemWithBlock(128, 128);
  problem.density = 1;
  EXPECT_EQ(best(problem, hopper()).cluster, 1);
  problem.density = 0.5;
  EXPECT_EQ(best(problem, hopper()).cluster, 2);
  // One block or two a row: the epilogue needs company.
  problem.density = 0.01;
  EXPECT_EQ(best(problem, hopper()).ctasPerSm, 2);
}

// Few columns: narrow tiles, so that there are enough of them for all SMs.
TEST(ScheduleChoice, FewColumnsChangeTheChoice) {
  ProblemDescription problem = problemWithBlock(128, 128);
  problem.n = 64;
  EXPECT_EQ(best(problem, hopper()).tileN, 64);
  EXPECT_EQ(best(problem, hopper()).cluster, 1);
  problem.n = 256;
  EXPECT_EQ(best(problem, hopper()).tileN, 128);
  problem = problemWithBlock(64, 64);
  problem.n = 128;
  EXPECT_EQ(best(problem, hopper()).tileN, 128);
  EXPECT_EQ(best(problem, hopper()).cluster, 1);
  EXPECT_LT(best(problem, ada()).tileN, best(problemWithBlock(64, 64), ada()).tileN);
}

// Where a stage has half as many bytes, as many bytes are in flight.
TEST(ScheduleChoice, NarrowTilesHaveMoreOfSmallStages) {
  auto stagesOf = [](const ProblemDescription &problem) {
    std::vector<int64_t> stages;
    for (const Schedule &schedule : narrowSchedules(problem, hopper()))
      if (schedule.instruction == MatrixInstruction::Wgmma && schedule.tileN >= 64)
        stages.push_back(schedule.stages);
    return stages;
  };
  ProblemDescription problem = problemWithBlock(64, 64);
  problem.xTransposed = true;
  const std::vector<int64_t> ofBf16 = stagesOf(problem);
  ASSERT_EQ(ofBf16.size(), 3u) << "64, 128 and 256 columns";
  problem.elementType = ElementType::F8E4M3;
  const std::vector<int64_t> ofF8 = stagesOf(problem);
  ASSERT_EQ(ofF8.size(), 3u);
  for (size_t i = 0; i < ofF8.size(); ++i)
    EXPECT_EQ(ofF8[i], 2 * ofBf16[i]);
}

// Rows of a transposed X are as short as a chunk of the block, and L2 moves 64 bytes at least.
TEST(ScheduleChoice, LayoutOfXChangesTheCost) {
  ProblemDescription problem = problemWithBlock(16, 16);
  double rows = rankCandidates(problem, ada(), 16).front().cost.clocks;
  problem.xTransposed = true;
  EXPECT_GT(rankCandidates(problem, ada(), 16).front().cost.clocks, rows);
  problem.blockColumns = 64;
  EXPECT_GE(best(problem, ada()).tileK, 32);
}

TEST(ScheduleChoice, AnyAlignmentTakesScalarCopies) {
  for (const Chip *chip : {&hopper(), &ada()}) {
    Schedule schedule = best(problemWithBlock(128, 128), *chip, /*alignment=*/2);
    EXPECT_EQ(schedule.instruction, MatrixInstruction::MmaSync);
    EXPECT_EQ(schedule.copy, CopyMethod::Scalar);
    EXPECT_EQ(requiredAlignment(schedule, 2), 2);
  }
}

Candidate candidateWith(int64_t spareRegisters) {
  Candidate candidate;
  candidate.spareRegisters = spareRegisters;
  return candidate;
}

// While registers do not suffice, each attempt has more of them to spare than all before.
TEST(ScheduleChoice, AttemptsHaveMoreAndMoreRegisters) {
  std::vector<Candidate> candidates = {candidateWith(8),  candidateWith(4),  candidateWith(16),
                                       candidateWith(16), candidateWith(40), candidateWith(80)};
  candidates.back().fit.broken = Limit::Registers;
  EXPECT_EQ(orderOfAttempts(candidates), (std::vector<size_t>{0, 2, 4}));
  EXPECT_TRUE(orderOfAttempts({}).empty());
}

// The last resort of a product holds few sums in as many registers as a thread can have.
TEST(ScheduleChoice, LastAttemptHasFewSums) {
  for (const Chip *chip : {&hopper(), &ada()})
    for (int64_t block : {16, 32, 64, 128})
      for (int64_t alignment : {2, 16}) {
        std::vector<Candidate> candidates = rankCandidates(problemWithBlock(block, block), *chip, alignment);
        const Schedule &last = candidates[orderOfAttempts(candidates).back()].schedule;
        EXPECT_LE(last.tileM * last.tileN / (32 * last.consumersM * last.consumersN), 128) << toString(last);
        EXPECT_GE(consumerBudget(last, *chip), 224) << toString(last);
      }
}

// The fastest copy of the chip whose slots the instruction can read.
TEST(ScheduleChoice, CopiesThatFeedAnInstruction) {
  EXPECT_EQ(copyFor(MatrixInstruction::Wgmma, hopper(), 16), CopyMethod::Tma);
  EXPECT_EQ(copyFor(MatrixInstruction::Wgmma, hopper(), 8), std::nullopt);
  EXPECT_EQ(copyFor(MatrixInstruction::MmaSync, hopper(), 16), CopyMethod::CpAsync);
  EXPECT_EQ(copyFor(MatrixInstruction::MmaSync, ada(), 8), CopyMethod::Scalar);
  EXPECT_EQ(copyFor(MatrixInstruction::Wgmma, ada(), 16), std::nullopt);
}

// A chip that nobody knows: one more row is all it takes.
TEST(ScheduleChoice, NewChipIsOneRow) {
  Chip future = hopper();
  future.name = "sm_190a";
  future.computeCapability = 190;
  future.multiprocessors = 200;
  future.sharedMemoryPerCta = 2 * hopper().sharedMemoryPerCta;
  future.sharedMemoryPerMultiprocessor = future.sharedMemoryPerCta + 1024;
  future.l2BytesPerClock = 20000;
  ProblemDescription problem = problemWithBlock(128, 128);
  std::vector<Candidate> candidates = rankCandidates(problem, future, 16);
  EXPECT_TRUE(candidates.front().fit.ok());
  EXPECT_EQ(candidates.front().schedule.stages, 8) << "the larger memory is used";

  Chip small = ada();
  small.name = "sm_75";
  small.copies = {CopyMethod::Scalar};
  small.sharedMemoryPerCta = 65536;
  small.sharedMemoryPerMultiprocessor = 65536;
  candidates = rankCandidates(problem, small, 16);
  EXPECT_TRUE(candidates.front().fit.ok());
  EXPECT_EQ(candidates.front().schedule.copy, CopyMethod::Scalar) << "no asynchronous copies there";
}

/// Something fits, buffers are aligned, steps are whole.
static void expectGoodChoice(const ProblemDescription &problem, const Chip &chip, int64_t alignment) {
  SCOPED_TRACE(testing::Message() << chip.name << " " << problem.blockRows << "x" << problem.blockColumns << " "
                                  << nameOf(problem.elementType) << " " << problem.outputBytes << " "
                                  << problem.xTransposed << " " << problem.hasTwoLevels << " " << alignment);
  Candidate winner = rankCandidates(problem, chip, alignment).front();
  ASSERT_TRUE(winner.fit.ok()) << winner.fit.message;
  ASSERT_GT(winner.cost.clocks, 0);
  ASSERT_LE(requiredAlignment(winner.schedule, bytesOf(problem.elementType)), alignment);
  ASSERT_EQ(winner.schedule.tileK % depthOf(infoOf(winner.schedule.instruction), problem.elementType), 0);
  SharedMemoryNeeds needs = sharedMemoryNeeds(winner.schedule, problem);
  SharedMemoryPlaces places = placeSharedMemory(needs);
  ASSERT_LE(places.total, chip.sharedMemoryPerCta);
  int64_t slotAlignment = winner.schedule.copy == CopyMethod::Tma ? 1024 : 128;
  for (size_t ring = 0; ring < needs.rings.size(); ++ring)
    for (size_t buffer = 0; buffer < needs.rings[ring].bufferBytes.size(); ++buffer) {
      ASSERT_EQ(needs.rings[ring].bufferBytes[buffer] % slotAlignment, 0);
      ASSERT_EQ(places.rings[ring].buffers[buffer] % slotAlignment, 0);
      ASSERT_EQ(places.rings[ring].barriers % 8, 0);
    }
  ASSERT_EQ(places.staging % slotAlignment, 0);
  ASSERT_TRUE(chunks(winner.schedule, problem.blockColumns) == 1 ||
              blocksPerStep(winner.schedule, problem.blockColumns) == 1);
}

/// The problems of every block that the dialect accepts, on every chip.
static void forEachBlock(const std::function<void(const Chip &chip, ProblemDescription problem)> &test) {
  for (const Chip &chip : chips())
    for (int64_t rows = 16; rows <= 256; rows += 16)
      for (int64_t columns = 16; columns <= 256; columns += 16)
        test(chip, problemWithBlock(rows, columns));
}

TEST(ScheduleChoice, EveryProblemGetsAScheduleThatFits) {
  forEachBlock([](const Chip &chip, ProblemDescription problem) {
    for (int64_t outputBytes : {2, 4})
      for (bool xTransposed : {false, true})
        for (int64_t alignment : {2, 16}) {
          problem.outputBytes = outputBytes;
          problem.xTransposed = xTransposed;
          expectGoodChoice(problem, chip, alignment);
        }
  });
}

TEST(ScheduleChoice, EveryProblemOfF8GetsAScheduleThatFits) {
  forEachBlock([](const Chip &chip, ProblemDescription problem) {
    problem.elementType = ElementType::F8E5M2;
    problem.xTransposed = true;
    for (bool hasTwoLevels : {false, true})
      for (int64_t alignment : {1, 16}) {
        problem.hasTwoLevels = hasTwoLevels;
        if (chip.computeCapability >= 89)
          expectGoodChoice(problem, chip, alignment);
        else
          ASSERT_TRUE(rankCandidates(problem, chip, alignment).empty()) << chip.name;
      }
  });
}

TEST(ScheduleChoice, BlocksOfATileBeginAtMultiplesOfTheirStride) {
  constexpr MatrixInstruction wgmma = MatrixInstruction::Wgmma, mmaSync = MatrixInstruction::MmaSync;
  EXPECT_EQ(blockStride(wgmma, 16, /*isTransposed=*/true), 16);
  EXPECT_EQ(blockStride(wgmma, 16, /*isTransposed=*/false), 64);
  EXPECT_EQ(blockStride(wgmma, 48, /*isTransposed=*/true), 64) << "48 does not divide 64";
  EXPECT_EQ(blockStride(wgmma, 112, /*isTransposed=*/true), 128);
  for (int64_t whole : {64, 128, 192, 256})
    EXPECT_EQ(blockStride(wgmma, whole, /*isTransposed=*/false), whole);
  for (bool isTransposed : {false, true}) {
    EXPECT_EQ(blockStride(mmaSync, 16, isTransposed), 16);
    EXPECT_EQ(blockStride(mmaSync, 48, isTransposed), 64);
    EXPECT_EQ(blockStride(mmaSync, 192, isTransposed), 256);
  }
}

TEST(ScheduleChoice, ProductsOfSampledBlocksHaveTheRowsOfAnInstruction) {
  SampledDescription problem;
  problem.blockRows = 16;
  problem.blockColumns = 64;
  problem.patternColumns = 48;
  problem.m = 100;
  problem.n = 10;
  ProblemDescription wgmma = productOf(problem, MatrixInstruction::Wgmma);
  EXPECT_EQ(wgmma.blockRows, 64);
  EXPECT_EQ(wgmma.m, 7 * 64) << "each block row takes the rows of an instruction";
  EXPECT_EQ(wgmma.n, 64) << "a whole block";
  ProblemDescription mmaSync = productOf(problem, MatrixInstruction::MmaSync);
  EXPECT_EQ(mmaSync.blockRows, 16);
  EXPECT_EQ(mmaSync.m, 7 * 16);
}

TEST(ScheduleChoice, EverySampledProductGetsAScheduleThatFits) {
  for (int64_t rows = 16; rows <= 256; rows += 16)
    for (int64_t columns = 16; columns <= 256; columns += 16)
      for (int64_t layouts = 0; layouts < 4; ++layouts) {
        SampledDescription problem;
        problem.blockRows = rows;
        problem.blockColumns = 64;
        problem.patternColumns = columns;
        problem.density = 1;
        problem.wTransposed = layouts % 2 == 1;
        problem.xTransposed = layouts / 2 == 1;
        problem.hasEpilogue = rows % 32 == 0;
        problem.storesInBoxes = columns % 64 == 0;
        SCOPED_TRACE(testing::Message() << rows << "x" << columns << (problem.wTransposed ? " km" : " mk")
                                        << (problem.xTransposed ? " nk" : " kn"));
        for (const Chip &chip : chips())
          for (int64_t alignment : {2, 16}) {
            std::vector<Candidate> candidates = rankCandidates(problem, chip, alignment);
            ASSERT_FALSE(candidates.empty());
            const Schedule &schedule = candidates.front().schedule;
            EXPECT_TRUE(candidates.front().fit.ok()) << candidates.front().fit.message;
            EXPECT_LE(requiredAlignment(schedule, 2), alignment);
            int64_t stride = blockStride(schedule.instruction, problem);
            int64_t sharers = infoOf(schedule.instruction).isRepeated ? 1 : schedule.consumersN;
            EXPECT_EQ(schedule.tileN / sharers % stride, 0);
          }
      }
}

TEST(ScheduleChoice, EveryPairedProductGetsAScheduleThatFits) {
  constexpr int64_t sizes[] = {16, 48, 64, 112, 128, 240, 256};
  for (int64_t rows : {16, 48, 64, 192, 256, 512})
    for (int64_t depth : sizes)
      for (int64_t columns : sizes)
        for (bool hasEpilogue : {false, true}) {
          ProblemDescription problem;
          problem.blockRows = rows;
          problem.blockColumns = depth;
          problem.tileColumns = columns;
          problem.hasEpilogue = hasEpilogue;
          SCOPED_TRACE(testing::Message() << rows << "x" << depth << "x" << columns);
          for (const Chip &chip : chips())
            for (int64_t alignment : {2, 16}) {
              std::vector<Candidate> candidates = rankCandidates(problem, chip, alignment);
              ASSERT_FALSE(candidates.empty()) << chip.name;
              const Schedule &schedule = candidates.front().schedule;
              EXPECT_TRUE(candidates.front().fit.ok()) << chip.name << ": " << candidates.front().fit.message;
              EXPECT_LE(requiredAlignment(schedule, 2), alignment);
              bool takesWgmma = chip.find(MatrixInstruction::Wgmma) && alignment == 16 && rows % 64 == 0 && depth >= 32;
              EXPECT_EQ(schedule.instruction == MatrixInstruction::Wgmma, takesWgmma) << chip.name;
            }
        }
}

// A tuner measures each candidate that fits, with every number of stages from its own down to two.
TEST(ScheduleSweep, HasAllStagesOfEveryCandidate) {
  const ProblemDescription problem = problemWithBlock(64, 64);
  std::vector<Candidate> candidates = rankCandidates(problem, hopper(), 16);
  std::vector<Candidate> sweep = sweepCandidates(problem, hopper(), 16);
  EXPECT_EQ(sweep.front().schedule, candidates.front().schedule) << "the choice of the model";
  size_t expected = 0;
  for (const Candidate &candidate : candidates)
    for (int64_t stages = candidate.fit.ok() ? candidate.schedule.stages : 1; stages >= 2; --stages) {
      ++expected;
      Schedule schedule = candidate.schedule;
      schedule.stages = stages;
      auto isIt = [&](const Candidate &each) { return each.schedule == schedule; };
      EXPECT_EQ(std::count_if(sweep.begin(), sweep.end(), isIt), 1) << toString(schedule);
    }
  EXPECT_EQ(sweep.size(), expected);
  for (const Candidate &candidate : sweep)
    EXPECT_TRUE(candidate.fit.ok()) << candidate.fit.message;
}

TEST(ProblemName, TellsProductsApart) {
  ProblemDescription problem = problemWithBlock(128, 64);
  EXPECT_EQ(problemName(problem), "spmm bf16 128x64, w mk, x kn, y mn, 2 bytes");
  problem.wTransposed = problem.xTransposed = problem.yTransposed = true;
  problem.outputBytes = 4;
  EXPECT_EQ(problemName(problem), "spmm bf16 128x64, w km, x nk, y nm, 4 bytes");
  problem = problemWithBlock(64, 64);
  problem.elementType = ElementType::F8E4M3;
  problem.hasEpilogue = problem.hasTwoLevels = problem.hasScales = true;
  problem.epilogueBytes = 2;
  EXPECT_EQ(problemName(problem),
            "spmm f8E4M3FN 64x64, w mk, x kn, y mn, 2 bytes, epilogue of 2 bytes, two levels, scales");
  problem.hasXScale = true;
  EXPECT_TRUE(problemName(problem).ends_with(", two levels, scales of x")) << problemName(problem);
}

TEST(ProblemName, LeavesSizesAndDensityOut) {
  ProblemDescription problem = problemWithBlock(64, 64), other = problem;
  other.m = other.k = other.n = 512;
  other.density = 0.01;
  EXPECT_EQ(problemName(problem), problemName(other));
}

TEST(ProblemName, TellsOperationsApart) {
  ProblemDescription paired = problemWithBlock(64, 32);
  paired.tileColumns = 16;
  EXPECT_EQ(problemName(paired), "spgemm bf16 64x32x16, 2 bytes");
  SampledDescription sampled;
  sampled.blockRows = 64;
  sampled.patternColumns = 32;
  sampled.xTransposed = true;
  EXPECT_EQ(problemName(sampled), "sddmm bf16 64x32, a mk, b nk, 2 bytes");
  AttentionDescription attention;
  attention.headDimension = 192;
  attention.valueDimension = 128;
  attention.keyBlock = 64;
  EXPECT_EQ(problemName(attention), "attention bf16 192/128, blocks 128x64");
  attention.regionsNeedRegisters = true;
  EXPECT_EQ(problemName(attention), "attention bf16 192/128, blocks 128x64, regions");
  attention.hasPackedQueries = true;
  EXPECT_EQ(problemName(attention), "attention bf16 192/128, blocks 128x64, regions, packed");
}
