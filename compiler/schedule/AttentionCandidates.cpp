// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionCandidates.h"

#include <algorithm>
#include <fmt/format.h>

using namespace sparsec;

// More slots than this hide nothing.
static constexpr int64_t mostStages = 8;
static constexpr int64_t leastStages = 3;
static constexpr int64_t leastStagesOfOneRole = 2;
static constexpr int64_t rowsPerWarpgroup = 64, rowsPerWarp = 16;
// The widest product of scores that leaves registers for the rest.
static constexpr int64_t mostKeys = 128;
static constexpr int64_t warpsPerSm = 8;

// An exponential takes one of 16 lanes of its unit for a clock, what is around it about six of 128.
static constexpr double softmaxClocksPerScore = 1.0 / 16 + 6.0 / 128;
// One role: all warps meet between two steps. A second CTA on the SM works meanwhile.
static constexpr double barrierClocks = 50;
// Resources overlap, but not perfectly: this share of what the slower one should hide still shows.
static constexpr double exposedShare = 0.1;

static bool isWgmma(const Schedule &schedule) { return schedule.instruction == MatrixInstruction::Wgmma; }

/// Warpgroups of an SM take turns: while one multiplies, the others exponentiate.
Cost sparsec::estimateCost(const Schedule &schedule, const AttentionDescription &problem, const Chip &chip) {
  double scores = double(schedule.tileM * schedule.tileN);
  double flops = 4 * scores * double(problem.headDimension);
  double keysAndValues = double(2 * schedule.tileN * problem.headDimension * problem.elementBytes);
  double l2Rate = chip.l2BytesPerClock / double(chip.multiprocessors);
  double rows = double(schedule.tileM * schedule.tilesPerCta * schedule.ctasPerSm);
  double turns = std::max(1.0, rows / double(rowsPerWarpgroup));

  Cost cost;
  cost.tensor = flops / (isWgmma(schedule) ? chip.wgmmaFlopsPerClock : chip.mmaSyncFlopsPerClock);
  cost.softmax = scores * softmaxClocksPerScore;
  cost.l2 = keysAndValues / l2Rate;
  double work = std::max(cost.tensor, cost.softmax) + std::min(cost.tensor, cost.softmax) / turns;
  double step = std::max(work, cost.l2) + exposedShare * std::min(work, cost.l2);
  if (!isWgmma(schedule))
    step += barrierClocks / double(schedule.ctasPerSm);
  cost.bound = cost.l2 > work ? "L2" : cost.tensor > cost.softmax ? "tensor cores" : "softmax";
  cost.usefulFlopsPerClock = flops / step;
  cost.clocks = 1 / cost.usefulFlopsPerClock;
  return cost;
}

/// The consumers get what the producers leave, in eights. With three tiles the producers have to do with less.
static void shareRegisters(Schedule &schedule, const Chip &chip) {
  schedule.producerRegisters = schedule.tilesPerCta == 3 ? 32 : 40;
  int64_t consumerThreads = threads(schedule) - 128;
  int64_t share =
      (registerPool(chip, threads(schedule), schedule.ctasPerSm) - 128 * schedule.producerRegisters) / consumerThreads;
  schedule.consumerRegisters = std::min(share, chip.maxRegistersPerThread) / 8 * 8;
}

/// Heads of 128 need the registers of an SM for two warpgroups: the halves of a block of 128 queries on one ring, which
/// halves the copies, or two blocks of 64 queries, whose steps are short so that the rings are long. Heads of 64 have
/// room for three, and their copies are small beside the exponentials, so that each has a tile of its own.
static std::vector<Schedule> wgmmaSchedules(const AttentionDescription &problem, const Chip &chip) {
  std::vector<Schedule> schedules;
  bool isNarrow = problem.headDimension <= 64;
  auto add = [&](int64_t rows, int64_t keys, int64_t tiles) {
    Schedule schedule;
    schedule.instruction = MatrixInstruction::Wgmma;
    schedule.copy = CopyMethod::Tma;
    schedule.tileM = rows;
    schedule.tileN = keys;
    schedule.tileK = problem.headDimension;
    schedule.consumersM = rows / rowsPerWarpgroup;
    schedule.tilesPerCta = tiles;
    schedule.raster = 1;
    shareRegisters(schedule, chip);
    for (schedule.stages = mostStages; schedule.stages > leastStages; --schedule.stages)
      if (checkAttentionFit(schedule, problem, chip).ok())
        break;
    schedules.push_back(schedule);
  };
  if (!isNarrow && problem.queryBlock > rowsPerWarpgroup)
    add(problem.queryBlock, mostKeys, 1);
  if (isNarrow)
    add(rowsPerWarpgroup, mostKeys, 3);
  int64_t first = isNarrow ? mostKeys : problem.keyBlock;
  add(rowsPerWarpgroup, first, 2);
  if (problem.keyBlock < first)
    add(rowsPerWarpgroup, problem.keyBlock, 2);
  return schedules;
}

/// Eight warps on an SM: 128 queries share keys and values, 64 queries do it in two CTAs. Steps are short where single
/// elements are copied: few kernels ever run that variant, and it has half the code.
static std::vector<Schedule> mmaSyncSchedules(const AttentionDescription &problem, CopyMethod copy) {
  std::vector<Schedule> schedules;
  for (int64_t keys : {64, 32}) {
    if (copy == CopyMethod::Gather && keys > 32)
      continue;
    Schedule schedule;
    schedule.instruction = MatrixInstruction::MmaSync;
    schedule.copy = copy;
    schedule.tileM = problem.queryBlock;
    schedule.tileN = keys;
    schedule.tileK = problem.headDimension;
    schedule.stages = leastStagesOfOneRole;
    schedule.consumersM = problem.queryBlock / rowsPerWarp;
    schedule.ctasPerSm = warpsPerSm / schedule.consumersM;
    schedule.raster = 1;
    schedules.push_back(schedule);
  }
  return schedules;
}

static std::vector<Schedule> schedulesFor(const AttentionDescription &problem, const Chip &chip, int64_t alignment) {
  if (alignment < 16)
    return mmaSyncSchedules(problem, CopyMethod::Gather);
  std::vector<Schedule> schedules;
  if (chip.hasWgmma && chip.hasTma)
    schedules = wgmmaSchedules(problem, chip);
  std::vector<Schedule> others = mmaSyncSchedules(problem, CopyMethod::CpAsync);
  schedules.insert(schedules.end(), others.begin(), others.end());
  return schedules;
}

std::vector<Candidate> sparsec::rankCandidates(const AttentionDescription &problem, const Chip &chip,
                                               int64_t alignment) {
  std::vector<Candidate> candidates;
  for (const Schedule &schedule : schedulesFor(problem, chip, alignment)) {
    int64_t needed = estimatedRegisters(schedule, problem, Origin::Chosen), allowed = consumerBudget(schedule, chip);
    Candidate candidate = {schedule,
                           firstBroken({checkAttentionFit(schedule, problem, chip),
                                        atMost(Limit::Registers, allowed, needed, "registers per consumer thread")}),
                           {},
                           allowed - needed};
    if (candidate.fit.ok())
      candidate.cost = estimateCost(schedule, problem, chip);
    candidates.push_back(candidate);
  }
  sortByCost(candidates);
  return candidates;
}
