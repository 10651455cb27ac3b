// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionSchedule.h"

#include <fmt/format.h>

using namespace sparsec;

// More slots than this hide nothing.
static constexpr int64_t mostStages = 8;
static constexpr int64_t leastStages = 3;
static constexpr int64_t rowsPerConsumer = 64;

AttentionSharedMemory sparsec::attentionSharedMemory(const Schedule &schedule, int64_t elementBytes) {
  AttentionSharedMemory layout = {};
  layout.keyOffset = schedule.tileM * schedule.tileK * elementBytes;
  layout.queryBarrierOffset = layout.keyOffset + schedule.stages * schedule.tileN * schedule.tileK * elementBytes;
  layout.keyBarrierOffset = layout.queryBarrierOffset + slotControlBytes;
  layout.total = layout.keyBarrierOffset + schedule.stages * slotControlBytes;
  return layout;
}

static Fit expectValue(const char *field, int64_t value, int64_t expected) {
  if (value == expected)
    return {};
  return {Limit::Geometry, 0, 0, fmt::format("expects {} to be {} for attention, but got {}", field, expected, value)};
}

static Fit atLeastStages(int64_t stages) {
  if (stages >= leastStages)
    return {};
  return {Limit::Geometry, 0, 0,
          fmt::format("expects stages to be at least {} for attention, but got {}", leastStages, stages)};
}

Fit sparsec::checkAttentionFit(const Schedule &schedule, const AttentionDescription &problem, const Chip &chip) {
  if (schedule.instruction != MatrixInstruction::Wgmma || schedule.copy != CopyMethod::Tma)
    return {Limit::Instruction, 0, 0,
            fmt::format("expects wgmma with tma for attention, but got {} with {}", name(schedule.instruction),
                        name(schedule.copy))};
  return firstBroken({expectValue("tile_m", schedule.tileM, problem.queryBlock),
                      expectValue("tile_n", schedule.tileN, problem.keyBlock),
                      expectValue("tile_k", schedule.tileK, problem.headDimension),
                      expectValue("consumers_m", schedule.consumersM, problem.queryBlock / rowsPerConsumer),
                      expectValue("consumers_n", schedule.consumersN, 1), expectValue("cluster", schedule.cluster, 1),
                      checkRegisterRoles(schedule), atLeastStages(schedule.stages), checkThreads(schedule, chip),
                      checkRegisterCounts(schedule, chip),
                      checkSharedMemory(schedule, attentionSharedMemory(schedule, problem.elementBytes).total, chip)});
}

/// Two warpgroups on an SM, so that one multiplies while the other exponentiates: the two halves of a block of 128
/// queries on one ring, or two blocks of 64 queries in CTAs of their own.
Schedule sparsec::chooseAttentionSchedule(const AttentionDescription &problem, const Chip &chip) {
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
