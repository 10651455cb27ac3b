// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost model against what was measured: bench/results/h200/. Kernels of sm_90a and of sm_89, whose PTX the driver
// compiled, ran on the same H200.

#include "AttentionCandidates.h"
#include "schedule_records.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace sparsec;

namespace {

/// One measured product of 8192 x 8192 x 8192.
struct Record {
  std::string label, target, text;
  Schedule schedule;
  ProblemDescription problem;
  double milliseconds, teraflops;
};

void readRecords(const std::string &file, std::vector<Record> &records) {
  std::ifstream in(SPARSEC_RESULTS_DIR "/h200/" + file);
  for (std::string row; std::getline(in, row);) {
    if (row.find("\"label\"") == std::string::npos)
      continue;
    Record record;
    record.label = fieldOf(row, "label");
    record.target = fieldOf(row, "target");
    record.text = fieldOf(row, "schedule");
    record.schedule = parseSchedule(record.text);
    std::sscanf(fieldOf(row, "block").c_str(), "%ld, %ld", &record.problem.blockRows, &record.problem.blockColumns);
    record.problem.xTransposed = fieldOf(row, "layouts") == "nk_nm";
    record.problem.density = std::stod(fieldOf(row, "density"));
    record.milliseconds = std::stod(fieldOf(row, "median_ms"));
    record.teraflops = std::stod(fieldOf(row, "tflops"));
    records.push_back(record);
  }
}

const std::vector<Record> &records() {
  static const std::vector<Record> all = [] {
    std::vector<Record> rows;
    readRecords("2026-11-21.json", rows);
    readRecords("2026-11-21-sm_89.json", rows);
    return rows;
  }();
  return all;
}

/// Two times differ if they are further apart than this: cells of runs on one day differed by up to 6 % (README.md).
bool differ(double one, double other) { return std::max(one, other) > 1.06 * std::min(one, other); }

/// Kendall's tau between predicted and measured speed, over all pairs whose speeds differ: 1 where the model has every
/// pair in the right order, 0 for a random order, -1 for the reverse.
double rankCorrelation(const Chip &chip) {
  std::vector<double> predicted;
  for (const Record &record : records())
    predicted.push_back(estimateCost(record.schedule, record.problem, chip).usefulFlopsPerClock);
  double right = 0, wrong = 0;
  for (size_t i = 0; i < predicted.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (differ(records()[i].teraflops, records()[j].teraflops))
        ((predicted[i] > predicted[j]) == (records()[i].teraflops > records()[j].teraflops) ? right : wrong) += 1;
  return (right - wrong) / (right + wrong);
}

struct Order {
  int64_t right = 0, wrong = 0;
};

/// The pairs of kernels that computed the same product at different speed: how many of them the model has in order.
Order orderOfKernels(const Chip &chip) {
  Order order;
  for (const Record &one : records())
    for (const Record &other : records()) {
      bool isPair = one.label == other.label && one.problem.density == other.problem.density &&
                    one.target < other.target && differ(one.milliseconds, other.milliseconds);
      if (!isPair)
        continue;
      bool isFaster = estimateCost(one.schedule, one.problem, chip).clocks <
                      estimateCost(other.schedule, other.problem, chip).clocks;
      (isFaster == (one.milliseconds < other.milliseconds) ? order.right : order.wrong) += 1;
    }
  return order;
}

/// A tensor core that is never waited for.
Chip withoutMemory() {
  Chip chip = h200();
  chip.l2BytesPerClock = chip.l2BytesPerClockOfOneMultiprocessor = chip.sharedMemoryBytesPerClock = 1e9;
  chip.times.l2Latency = 0;
  return chip;
}

Chip withSpeed(MatrixInstruction instruction, double factor) {
  Chip chip = h200();
  auto rateOf = [&](MatrixInstruction which) {
    InstructionRate rate = *h200().find(which);
    rate.flopsPerClock *= which == instruction ? factor : 1;
    return rate;
  };
  chip.instructions = {rateOf(MatrixInstruction::Wgmma), rateOf(MatrixInstruction::MmaSync)};
  return chip;
}

} // namespace

TEST(RecordedProducts, AreRead) {
  // Four blocks, two layouts, five densities and four.
  ASSERT_EQ(records().size(), 4 * 2 * (5 + 4));
  std::set<std::string> labels;
  for (const Record &record : records()) {
    EXPECT_EQ(toString(record.schedule), record.text);
    // Useful operations in a time are a speed; densities of patterns differ a little from those that were asked for.
    double teraflop = 2 * 8192.0 * 8192 * 8192 * record.problem.density / 1e12;
    EXPECT_NEAR(record.teraflops * record.milliseconds / 1e3 / teraflop, 1, 0.03) << record.label;
    labels.insert(record.label);
  }
  EXPECT_EQ(labels.size(), 8u);
}

// A choice that nobody has measured is no better than a guess: a change of the model that chooses another kernel brings
// its measurements. The kernels were compiled for the default density, whatever they then ran with.
TEST(RecordedProducts, AreThoseOfTheKernelsThatAreChosen) {
  for (const Record &record : records()) {
    // A sweep has the kernel that replaced this one (schedule_sweeps.cpp).
    if (record.label == "spmm_bf16_16x16_nk_nm" && record.target == "sm_90a")
      continue;
    ProblemDescription problem = record.problem;
    problem.density = ProblemDescription().density;
    EXPECT_EQ(toString(rankCandidates(problem, *findChip(record.target), 16).front().schedule), record.text)
        << record.label << " on " << record.target;
  }
}

TEST(RecordedProducts, TheFasterOfTwoKernelsIsKnown) {
  Order order = orderOfKernels(h200());
  EXPECT_EQ(order.wrong, 0);
  EXPECT_GE(order.right, 24) << "of 32 products that both chips' kernels computed";
}

// A model that knows nothing but the operations of the tensor cores has .84 of tau because wgmma is faster than
// mma_sync and few blocks leave it idle. All other terms are worth more than nothing.
TEST(RecordedProducts, FasterProductsAreKnown) {
  double tau = rankCorrelation(h200());
  EXPECT_GT(tau, 0.85);
  EXPECT_GT(tau, rankCorrelation(withoutMemory()));
}

// The tests above do notice a wrong model.
TEST(RecordedProducts, WrongModelsRankWorse) {
  double tau = rankCorrelation(h200());
  EXPECT_LT(rankCorrelation(withoutMemory()), 0.85);
  Chip slowWgmma = withSpeed(MatrixInstruction::Wgmma, 0.5);
  EXPECT_LT(rankCorrelation(slowWgmma), 0.85);
  EXPECT_GT(orderOfKernels(slowWgmma).wrong, 0);
  Chip slowClusters = h200();
  slowClusters.times.clusterOverhead = 2;
  EXPECT_LT(rankCorrelation(slowClusters), 0.85);
  EXPECT_GT(orderOfKernels(slowClusters).wrong, 0);
  Chip slowL2 = h200();
  slowL2.times.l2Latency *= 4;
  EXPECT_LT(rankCorrelation(slowL2), tau);
}

namespace {

/// One case of bench/attention/measure.py.
struct AttentionRecord {
  std::string name, target;
  AttentionDescription problem;
  double teraflops;
};

/// A line for each field; `tflops` is behind the others.
std::vector<AttentionRecord> attentionRecords() {
  std::vector<AttentionRecord> all;
  AttentionRecord record;
  std::ifstream in(SPARSEC_RESULTS_DIR "/h200/2026-11-22-attention.json");
  for (std::string line; std::getline(in, line);) {
    auto has = [&](const char *key) { return line.find("  \"" + std::string(key) + "\": ") != std::string::npos; };
    if (has("case")) {
      record.name = fieldOf(line, "case");
    } else if (has("arch")) {
      record.target = fieldOf(line, "arch");
    } else if (has("kernel")) {
      std::istringstream kernel(fieldOf(line, "kernel")); // attention_bf16_128_64x64
      std::string word, blocks;
      std::getline(std::getline(kernel, word, '_'), word, '_');
      char separator;
      kernel >> record.problem.headDimension >> separator >> blocks;
      record.problem.queryBlock = record.problem.keyBlock = blocks.starts_with("64x64") ? 64 : 128;
    } else if (has("tflops")) {
      record.teraflops = std::stod(fieldOf(line, "tflops"));
      all.push_back(record);
    }
  }
  return all;
}

double predictedSpeed(const AttentionRecord &record) {
  Schedule schedule = rankCandidates(record.problem, *findChip(record.target), 16).front().schedule;
  return estimateCost(schedule, record.problem, h200()).usefulFlopsPerClock;
}

} // namespace

// wgmma against mma_sync in the cases that both chips' kernels computed.
TEST(RecordedAttention, TheFasterOfTwoKernelsIsKnown) {
  int pairs = 0;
  std::vector<AttentionRecord> all = attentionRecords();
  for (const AttentionRecord &one : all)
    for (const AttentionRecord &other : all)
      if (one.name == other.name && one.target == "sm_90a" && other.target == "sm_89") {
        ++pairs;
        ASSERT_TRUE(differ(one.teraflops, other.teraflops));
        EXPECT_EQ(predictedSpeed(one) > predictedSpeed(other), one.teraflops > other.teraflops) << one.name;
      }
  EXPECT_EQ(pairs, 2) << "causal and lists of half of the blocks";
}

// Blocks of 128 against blocks of 64, of which so many are there.
TEST(RecordedAttention, FasterBlocksAreKnown) {
  int pairs = 0;
  std::vector<AttentionRecord> all = attentionRecords();
  for (const AttentionRecord &one : all)
    for (const AttentionRecord &other : all) {
      size_t where = one.name.find("128-blocks d=");
      if (where == std::string::npos || one.target != "sm_90a" || !differ(one.teraflops, other.teraflops))
        continue;
      if (other.name != one.name.substr(0, where) + "64" + one.name.substr(where + 3))
        continue;
      ++pairs;
      EXPECT_EQ(predictedSpeed(one) > predictedSpeed(other), one.teraflops > other.teraflops) << one.name;
    }
  EXPECT_EQ(pairs, 4) << "heads of 128 at four densities; heads of 64 differ by less";
}
