// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionSchedule.h"

#include <fmt/format.h>

using namespace sparsec;

// More slots than this hide nothing.
static constexpr int64_t mostStages = 8;
static constexpr int64_t leastStages = 3;
static constexpr int64_t rowsPerConsumer = 64;
// mma_sync: keys of a step are copied while the step before works.
static constexpr int64_t leastStagesOfOneRole = 2;
static constexpr int64_t rowsPerWarp = 16;
static constexpr int64_t leastStepKeys = 32, mostStepKeys = 64;
static constexpr int64_t warpsPerSm = 8;

AttentionSharedMemory sparsec::attentionSharedMemory(const Schedule &schedule, int64_t elementBytes) {
  AttentionSharedMemory layout = {};
  layout.keyOffset = schedule.tileM * schedule.tileK * elementBytes;
  int64_t keyBytes = schedule.stages * schedule.tileN * schedule.tileK * elementBytes;
  if (schedule.copy != CopyMethod::Tma) {
    layout.valueOffset = layout.keyOffset + keyBytes;
    layout.total = layout.valueOffset + keyBytes;
    return layout;
  }
  layout.queryBarrierOffset = layout.keyOffset + keyBytes;
  layout.keyBarrierOffset = layout.queryBarrierOffset + slotControlBytes;
  layout.total = layout.keyBarrierOffset + schedule.stages * slotControlBytes;
  return layout;
}

static Fit expectValue(const char *field, int64_t value, int64_t expected) {
  if (value == expected)
    return {};
  return {Limit::Geometry, 0, 0, fmt::format("expects {} to be {} for attention, but got {}", field, expected, value)};
}

static Fit atLeastStages(const Schedule &schedule, int64_t least) {
  if (schedule.stages >= least)
    return {};
  return {Limit::Geometry, 0, 0,
          fmt::format("expects stages to be at least {} for attention with {}, but got {}", least,
                      name(schedule.instruction), schedule.stages)};
}

static Fit checkInstruction(const Schedule &schedule, const Chip &chip) {
  Fit features = checkFeatures(schedule, chip);
  bool isWgmma = schedule.instruction == MatrixInstruction::Wgmma;
  if (!features.ok() || schedule.copy == (isWgmma ? CopyMethod::Tma : CopyMethod::CpAsync))
    return features;
  return {Limit::Instruction, 0, 0,
          fmt::format("expects wgmma with tma, or mma_sync with cp_async, for attention, but got {} with {}",
                      name(schedule.instruction), name(schedule.copy))};
}

static Fit checkWgmma(const Schedule &schedule, const AttentionDescription &problem) {
  return firstBroken({expectValue("tile_n", schedule.tileN, problem.keyBlock),
                      expectValue("consumers_m", schedule.consumersM, problem.queryBlock / rowsPerConsumer),
                      checkRegisterRoles(schedule), atLeastStages(schedule, leastStages)});
}

/// A step is a part of a key block that all warps together copy in whole passes: 32 rows of 8 units are 256 threads.
static Fit checkStepKeys(const Schedule &schedule, const AttentionDescription &problem) {
  if (schedule.tileN > 0 && schedule.tileN % leastStepKeys == 0 && problem.keyBlock % schedule.tileN == 0)
    return {};
  return {Limit::Geometry, 0, 0,
          fmt::format("expects tile_n to be a multiple of {} that divides {} for attention with mma_sync, but got {}",
                      leastStepKeys, problem.keyBlock, schedule.tileN)};
}

static Fit checkMmaSync(const Schedule &schedule, const AttentionDescription &problem) {
  return firstBroken({checkStepKeys(schedule, problem),
                      expectValue("consumers_m", schedule.consumersM, problem.queryBlock / rowsPerWarp),
                      expectValue("producer_registers", schedule.producerRegisters, 0),
                      atLeastStages(schedule, leastStagesOfOneRole)});
}

Fit sparsec::checkAttentionFit(const Schedule &schedule, const AttentionDescription &problem, const Chip &chip) {
  bool isWgmma = schedule.instruction == MatrixInstruction::Wgmma;
  return firstBroken({checkInstruction(schedule, chip), expectValue("tile_m", schedule.tileM, problem.queryBlock),
                      expectValue("tile_k", schedule.tileK, problem.headDimension),
                      expectValue("consumers_n", schedule.consumersN, 1), expectValue("cluster", schedule.cluster, 1),
                      isWgmma ? checkWgmma(schedule, problem) : checkMmaSync(schedule, problem),
                      checkThreads(schedule, chip),
                      isWgmma ? checkRegisterCounts(schedule, chip) : checkRegistersOfOneRole(schedule, chip),
                      checkSharedMemory(schedule, attentionSharedMemory(schedule, problem.elementBytes).total, chip)});
}

/// Two warpgroups on an SM, so that one multiplies while the other exponentiates: the two halves of a block of 128
/// queries on one ring, or two blocks of 64 queries in CTAs of their own.
static Schedule chooseWgmma(const AttentionDescription &problem, const Chip &chip) {
  Schedule schedule;
  schedule.instruction = MatrixInstruction::Wgmma;
  schedule.copy = CopyMethod::Tma;
  schedule.tileM = problem.queryBlock;
  schedule.tileN = problem.keyBlock;
  schedule.tileK = problem.headDimension;
  schedule.consumersM = problem.queryBlock / rowsPerConsumer;
  schedule.ctasPerSm = 2 / schedule.consumersM;
  schedule.raster = 1;
  schedule.producerRegisters = 40;
  int64_t consumerThreads = threads(schedule) - 128;
  schedule.consumerRegisters =
      (registerPool(chip, threads(schedule), schedule.ctasPerSm) - 128 * schedule.producerRegisters) / consumerThreads /
      8 * 8;
  for (schedule.stages = mostStages; schedule.stages > leastStages; --schedule.stages)
    if (checkAttentionFit(schedule, problem, chip).ok())
      break;
  return schedule;
}

/// Eight warps on an SM: 128 queries share keys and values, 64 queries do it in two CTAs. Steps are as long as two of
/// them fit.
static Schedule chooseMmaSync(const AttentionDescription &problem, const Chip &chip) {
  Schedule schedule;
  schedule.instruction = MatrixInstruction::MmaSync;
  schedule.copy = CopyMethod::CpAsync;
  schedule.tileM = problem.queryBlock;
  schedule.tileK = problem.headDimension;
  schedule.stages = leastStagesOfOneRole;
  schedule.consumersM = problem.queryBlock / rowsPerWarp;
  schedule.ctasPerSm = warpsPerSm / schedule.consumersM;
  schedule.raster = 1;
  for (schedule.tileN = mostStepKeys; schedule.tileN > leastStepKeys; schedule.tileN /= 2)
    if (checkAttentionFit(schedule, problem, chip).ok())
      break;
  return schedule;
}

Schedule sparsec::chooseAttentionSchedule(const AttentionDescription &problem, const Chip &chip) {
  return chip.hasWgmma && chip.hasTma ? chooseWgmma(problem, chip) : chooseMmaSync(problem, chip);
}
