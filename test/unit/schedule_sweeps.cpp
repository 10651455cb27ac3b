// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The model's choice against the best schedule that sparsec-tune measured on an H200
// (bench/notes/schedule-sweeps.md).

#include "Candidates.h"
#include "schedule_records.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

using namespace sparsec;

namespace {

/// The measurements of one problem at one density.
struct Sweep {
  std::string name;
  ProblemDescription problem;
  /// The time of each schedule, by its text.
  std::map<std::string, double> milliseconds;

  double best() const {
    double least = std::numeric_limits<double>::infinity();
    for (const auto &[schedule, time] : milliseconds)
      least = std::min(least, time);
    return least;
  }

  /// The time of the model's choice, as a ratio to the best. Infinite if it was not measured.
  double ratioOfChoice(const ProblemDescription &expected, const Chip &chip) const {
    auto choice = milliseconds.find(toString(rankCandidates(expected, chip, 16).front().schedule));
    return choice == milliseconds.end() ? std::numeric_limits<double>::infinity() : choice->second / best();
  }
};

/// The density is that which the pattern was made for, as in --expect-density.
ProblemDescription problemOf(const std::string &row) {
  ProblemDescription problem;
  char x[3], y[3];
  int fields = std::sscanf(fieldOf(row, "problem").c_str(), "spmm bf16 %ldx%ld, w mk, x %2s, y %2s, 2 bytes",
                           &problem.blockRows, &problem.blockColumns, x, y);
  if (fields != 4)
    throw std::runtime_error("another problem: " + row);
  problem.xTransposed = std::string(x) == "nk";
  problem.yTransposed = std::string(y) == "nm";
  problem.m = std::stol(fieldOf(row, "rows"));
  problem.k = std::stol(fieldOf(row, "depth"));
  problem.n = std::stol(fieldOf(row, "columns"));
  const std::string pattern = fieldOf(row, "pattern"), key = "density=";
  problem.density = std::stod(pattern.substr(pattern.find(key) + key.size()));
  return problem;
}

/// A time limit cut some of them short. Those of few schedules say too little about the best one.
std::vector<Sweep> readSweeps() {
  constexpr size_t leastSchedules = 16;
  std::map<std::string, Sweep> byName;
  std::ifstream in(SPARSEC_RESULTS_DIR "/h200/2026-11-26-sweeps.jsonl");
  for (std::string row; std::getline(in, row);) {
    std::string name = fieldOf(row, "problem") + ", " + fieldOf(row, "pattern");
    Sweep &sweep = byName[name];
    sweep.name = name;
    sweep.problem = problemOf(row);
    sweep.milliseconds[fieldOf(row, "name")] = std::stod(fieldOf(row, "milliseconds"));
  }
  std::vector<Sweep> sweeps;
  for (const auto &[name, sweep] : byName)
    if (sweep.milliseconds.size() >= leastSchedules)
      sweeps.push_back(sweep);
  return sweeps;
}

/// The sweeps whose choice takes at most 1.05 of the time of the best.
int64_t countGoodChoices(const Chip &chip) {
  int64_t count = 0;
  for (const Sweep &sweep : readSweeps())
    count += sweep.ratioOfChoice(sweep.problem, chip) <= 1.05 ? 1 : 0;
  return count;
}

bool hasEnoughGoodChoices(const Chip &chip) { return countGoodChoices(chip) >= 0.9 * double(readSweeps().size()); }

} // namespace

TEST(RecordedSweeps, AreRead) {
  std::vector<Sweep> sweeps = readSweeps();
  // Four blocks, two layouts, two densities; one of these was cut after its first schedule.
  ASSERT_EQ(sweeps.size(), 4u * 2 * 2 - 1);
  for (const Sweep &sweep : sweeps) {
    EXPECT_LE(sweep.milliseconds.size(), 64u);
    for (const auto &[schedule, time] : sweep.milliseconds) {
      EXPECT_EQ(toString(parseSchedule(schedule)), schedule) << sweep.name;
      EXPECT_GT(time, 0.3 * sweep.problem.density) << "faster than the tensor cores";
    }
  }
}

TEST(RecordedSweeps, TheChoiceIsNearTheBest) {
  EXPECT_TRUE(hasEnoughGoodChoices(h200())) << countGoodChoices(h200()) << " of " << readSweeps().size();
  for (const Sweep &sweep : readSweeps())
    EXPECT_LE(sweep.ratioOfChoice(sweep.problem, h200()), 1.15) << sweep.name;
}

// Kernels are compiled for the default density and run with any.
TEST(RecordedSweeps, TheChoiceForTheDefaultDensityIsNotFarFromTheBest) {
  for (const Sweep &sweep : readSweeps()) {
    ProblemDescription expected = sweep.problem;
    expected.density = ProblemDescription().density;
    EXPECT_LE(sweep.ratioOfChoice(expected, h200()), 1.15) << sweep.name;
  }
}

// The kernel in the records of 2026-11-21.
TEST(RecordedSweeps, TheReplacedKernelOf16BlocksIsSlower) {
  const std::string replaced = "mma_sync cp_async 16x512x32 stages 3 consumers 1x4 group_m 128 ctas_per_sm 2";
  int count = 0;
  for (const Sweep &sweep : readSweeps())
    if (sweep.problem.blockRows == 16 && sweep.problem.xTransposed) {
      ++count;
      double ratio = sweep.milliseconds.at(replaced) / sweep.best();
      EXPECT_GT(ratio, 1.05 * sweep.ratioOfChoice(sweep.problem, h200()));
    }
  EXPECT_EQ(count, 1) << "at the default density";
}

// The tests above do notice a wrong model.
TEST(RecordedSweeps, WrongModelsChooseWorse) {
  Chip freePartsOfLines = h200();
  freePartsOfLines.times.partialLineBytes = 0;
  EXPECT_FALSE(hasEnoughGoodChoices(freePartsOfLines));
  Chip freeClusters = h200();
  freeClusters.times.clusterOverhead = 1;
  EXPECT_FALSE(hasEnoughGoodChoices(freeClusters));
  Chip fastL2 = h200();
  fastL2.l2BytesPerClock *= 4;
  fastL2.l2BytesPerClockOfOneMultiprocessor *= 4;
  EXPECT_FALSE(hasEnoughGoodChoices(fastL2));
}
