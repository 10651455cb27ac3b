// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionCandidates.h"

#include <algorithm>

using namespace sparsec;

// More slots than this hide nothing.
static constexpr int64_t mostStages = 8;
// f32 operations around the exponential of a score.
static constexpr double operationsPerScore = 6;

/// Queries of as many warps as there are schedulers, which multiply or exponentiate together.
static int64_t rowsOfTurn(const MatrixInstructionInfo &info, const Chip &chip) {
  return 32 * info.m / info.threads * chip.schedulers;
}

/// Warpgroups of an SM take turns: while one multiplies, the others exponentiate.
Cost sparsec::estimateCost(const Schedule &schedule, const AttentionDescription &problem, const Chip &chip) {
  double scores = double(schedule.tileM * schedule.tileN);
  int64_t columns = problem.headDimension + problem.valueColumns();
  double flops = 2 * scores * double(columns);
  double keysAndValues = double(schedule.tileN * columns * bytesOf(problem.elementType));
  double l2Rate = chip.l2BytesPerClock / double(chip.multiprocessors);
  double rows = double(schedule.tileM * schedule.concurrentTiles * schedule.ctasPerSm);
  double turns = std::max(1.0, rows / double(rowsOfTurn(infoOf(schedule.instruction), chip)));

  Cost cost;
  cost.tensor = flops / chip.find(schedule.instruction)->flopsPerClock;
  cost.softmax = scores * (1 / double(chip.exponentialLanes) + operationsPerScore / double(chip.floatLanes));
  cost.l2 = keysAndValues / l2Rate;
  double work = std::max(cost.tensor, cost.softmax) + std::min(cost.tensor, cost.softmax) / turns;
  double step = overlapped({work, cost.l2}, chip);
  // With one role all warps meet between two steps. A second CTA on the SM works meanwhile.
  if (!hasProducer(schedule))
    step += chip.times.barrier / double(schedule.ctasPerSm);
  cost.bound = cost.l2 > work ? "L2" : cost.tensor > cost.softmax ? "tensor cores" : "softmax";
  cost.usefulFlopsPerClock = flops / step;
  cost.clocks = 1 / cost.usefulFlopsPerClock;
  return cost;
}

/// The tile rows of a group, each a head. The tiles of packed queries get shorter towards the end of a sequence. With
/// the sequence as the outer loop, those at the end of the launch are the short ones of many heads, in place of all
/// tiles of the last head. More heads than this read keys of more places at a time and gain nothing (measured on an
/// H200).
static int64_t rowsOfGroup(const AttentionDescription &problem) {
  constexpr int64_t headsOfSequence = 16;
  return problem.hasPackedQueries ? headsOfSequence : 1;
}

/// Heads of 128 need the registers of an SM for two warpgroups: the halves of a block of 128 queries on one ring, which
/// halves the copies, or two blocks of 64 queries, whose steps are short so that the rings are long. Heads of 64 have
/// room for three, and their copies are small beside the exponentials, so that each has a tile of its own. Where heads
/// have more than 128, registers and slots say how long steps may be.
static void addWgmmaSchedules(const AttentionDescription &problem, const Chip &chip, CopyMethod copy,
                              std::vector<Schedule> &schedules) {
  const MatrixInstructionInfo &info = infoOf(MatrixInstruction::Wgmma);
  bool isNarrow = problem.mostColumns() <= 64;
  auto add = [&](int64_t rows, int64_t keys, int64_t tiles) {
    Schedule schedule;
    schedule.instruction = info.instruction;
    schedule.copy = copy;
    schedule.tileM = rows;
    schedule.tileN = keys;
    schedule.tileK = problem.headDimension;
    schedule.consumersM = rows / info.m;
    schedule.concurrentTiles = tiles;
    schedule.groupM = rowsOfGroup(problem);
    // With three tiles the producers have to do with less.
    shareRegisters(schedule, tiles == 3 ? 32 : 40, chip);
    chooseStages(schedule, problem, chip, leastStagesOfTwoRoles, mostStages);
    schedules.push_back(schedule);
  };
  if (problem.mostColumns() > 128) {
    for (int64_t keys = problem.keyBlock; keys >= leastStepKeys; keys /= 2) {
      if (problem.queryBlock > info.m)
        add(problem.queryBlock, keys, 1);
      add(info.m, keys, 2);
    }
    return;
  }
  if (!isNarrow && problem.queryBlock > info.m)
    add(problem.queryBlock, mostKeys, 1);
  if (isNarrow)
    add(info.m, mostKeys, 3);
  int64_t first = isNarrow ? mostKeys : problem.keyBlock;
  add(info.m, first, 2);
  if (problem.keyBlock < first)
    add(info.m, problem.keyBlock, 2);
}

/// As many warps on an SM as can have all registers of a thread, which are eight: 128 queries share keys and values, 64
/// queries do it in two CTAs. Wide heads may have room for fewer. Steps are short where single elements are copied: few
/// kernels ever run that variant, and it has half the code.
static void addMmaSyncSchedules(const AttentionDescription &problem, const Chip &chip, CopyMethod copy,
                                std::vector<Schedule> &schedules) {
  const MatrixInstructionInfo &info = infoOf(MatrixInstruction::MmaSync);
  int64_t warps = chip.registersPerMultiprocessor / (info.threads * (chip.maxRegistersPerThread + 1));
  auto add = [&](int64_t rows, int64_t keys, int64_t ctasPerSm) {
    Schedule schedule;
    schedule.instruction = info.instruction;
    schedule.copy = copy;
    schedule.tileM = rows;
    schedule.tileN = keys;
    schedule.tileK = problem.headDimension;
    schedule.stages = leastStagesOfOneRole;
    schedule.consumersM = rows / info.m;
    schedule.ctasPerSm = ctasPerSm;
    schedule.groupM = rowsOfGroup(problem);
    schedules.push_back(schedule);
  };
  for (int64_t keys : {64, 32}) {
    if (copy == CopyMethod::Scalar && keys > 32)
      continue;
    int64_t ctasPerSm = warps / (problem.queryBlock / info.m);
    add(problem.queryBlock, keys, ctasPerSm);
    if (problem.mostColumns() <= 128)
      continue;
    if (problem.queryBlock > leastTileRows)
      add(leastTileRows, keys, warps / (leastTileRows / info.m));
    add(leastTileRows, keys, 1);
  }
}

/// Exponentials often take longer than products, so that a slower instruction is worth a look too.
std::vector<Schedule> sparsec::candidateSchedules(const AttentionDescription &problem, const Chip &chip,
                                                  int64_t alignment) {
  std::vector<Schedule> schedules;
  for (const InstructionRate &rate : chip.instructions) {
    std::optional<CopyMethod> copy = copyFor(rate.instruction, chip, alignment);
    if (copy && rate.instruction == MatrixInstruction::Wgmma)
      addWgmmaSchedules(problem, chip, *copy, schedules);
    else if (copy)
      addMmaSyncSchedules(problem, chip, *copy, schedules);
  }
  return schedules;
}

/// Two tiles of 64 queries copy their keys twice. Three of them, as heads of 64 have, would gain 2 % at most, and wider
/// heads were not measured (bench/notes/attention-joint-lists.md).
std::vector<Schedule> sparsec::jointSchedules(const AttentionDescription &problem, const Chip &chip) {
  const int64_t rows = infoOf(MatrixInstruction::Wgmma).m;
  if (problem.queryBlock != rows || problem.mostColumns() <= 64 || problem.mostColumns() > 128)
    return {};
  std::vector<Schedule> schedules;
  for (const Candidate &candidate : rankCandidates(withJointRows(problem), chip, /*alignment=*/16)) {
    Schedule schedule = candidate.schedule;
    schedule.walk = TileWalk::Joint;
    if (candidate.fit.ok() && checkFit(schedule, problem, chip, Origin::Chosen).ok())
      schedules.push_back(schedule);
  }
  return schedules;
}
