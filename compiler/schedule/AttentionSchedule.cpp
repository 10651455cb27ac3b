// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionSchedule.h"

#include <algorithm>
#include <fmt/format.h>

using namespace sparsec;

// One warp each of them fills the rings of a tile.
static constexpr int64_t mostConcurrentTiles = 4;
// Each tile has a barrier, and the CTA has barrier 0.
static_assert(1 + mostConcurrentTiles <= 16, "a CTA has 16 named barriers");
// Queries of wider heads leave no room for those of the next tile.
static constexpr int64_t mostColumnsOfTwoTiles = 128;
// Registers of a warp of mma.sync that hold something from step to step.
static constexpr int64_t mostResident = 128;
// Queries of two instructions, with their addresses.
static constexpr int64_t loadedQueries = 10;
// Addresses, positions and the state of the softmax; with one role the addresses of copies too. Kernels without regions
// have spilled with 24 of them.
static constexpr int64_t otherRegisters = 32, otherRegistersOfOneRole = 36, leastOtherRegistersOfAttention = 24;
// The registers that regions take, where they need any (see AttentionDescription).
static constexpr int64_t registersOfRegions = 40;

bool sparsec::sumsRowsByProducts(const Schedule &schedule, const AttentionDescription &problem) {
  return schedule.instruction == MatrixInstruction::Wgmma && problem.hasFixedShift &&
         problem.valueColumns() == columnsBesideOnes;
}

/// Where two warpgroups share a tile, the faster one begins the next one before the slower one is done.
int64_t sparsec::queryStages(const Schedule &schedule) {
  return hasProducer(schedule) && schedule.consumersM > 1 && schedule.tileK <= mostColumnsOfTwoTiles ? 2 : 1;
}

SharedMemoryNeeds sparsec::sharedMemoryNeeds(const Schedule &schedule, const AttentionDescription &problem) {
  int64_t elementBytes = bytesOf(problem.elementType);
  int64_t queries = schedule.tileM * schedule.tileK * elementBytes;
  bool isShared = hasProducer(schedule);
  int64_t keys = schedule.tileN * schedule.tileK * elementBytes;
  int64_t values = problem.valueDimension == 0 ? keys : schedule.tileN * problem.valueDimension * elementBytes;
  auto ring = [&](int64_t slots, int64_t bytes) {
    return RingNeeds{slots, {bytes}, isShared ? 2 * slots : 0, isShared};
  };
  SharedMemoryNeeds needs;
  needs.rings = {ring(queryStages(schedule), queries), ring(schedule.stages, isShared ? std::max(keys, values) : keys)};
  if (!isShared)
    needs.rings.push_back(ring(schedule.stages, values));
  needs.tiles = schedule.concurrentTiles;
  needs.onesBytes = sumsRowsByProducts(schedule, problem) ? bytesOfOnes : 0;
  return needs;
}

/// With the output and the scores of two steps they must leave room for addresses and for what the instructions in
/// flight need.
bool sparsec::keepsQueries(const Schedule &schedule, const AttentionDescription &problem) {
  const MatrixInstructionInfo &info = infoOf(schedule.instruction);
  auto sums = [&](int64_t columns) { return info.m * columns / info.threads; };
  int64_t queries = sums(problem.headDimension) / 2; // as pairs
  return sums(problem.valueColumns()) + 2 * sums(schedule.tileN) + queries <= mostResident;
}

int64_t sparsec::estimatedRegisters(const Schedule &schedule, const AttentionDescription &problem, Origin origin) {
  const MatrixInstructionInfo &info = infoOf(schedule.instruction);
  // A thread has an equal share of the rows of its consumer.
  auto elements = [&](int64_t columns) { return info.m * columns / info.threads; };
  // Sums and scores, and the probabilities as pairs.
  int64_t needed = elements(problem.valueColumns()) + elements(schedule.tileN) + elements(schedule.tileN) / 2;
  if (origin == Origin::HandWritten)
    return needed + leastOtherRegistersOfAttention;
  needed += hasProducer(schedule) ? otherRegisters : otherRegistersOfOneRole;
  // Queries as pairs, where the instruction cannot read them from shared memory: all, or those of two instructions.
  if (!info.a.contains(Place::SharedMemory))
    needed += keepsQueries(schedule, problem) ? elements(problem.headDimension) / 2 : loadedQueries;
  return needed + (problem.regionsNeedRegisters ? registersOfRegions : 0);
}

static Fit expectThat(bool isGood, const char *field, int64_t value, const std::string &expected) {
  if (isGood)
    return {};
  return {Limit::Geometry, 0, 0, fmt::format("expects {} to be {} for attention, but got {}", field, expected, value)};
}

static Fit expectValue(const char *field, int64_t value, int64_t expected) {
  return expectThat(value == expected, field, value, std::to_string(expected));
}

static Fit atLeastStages(const Schedule &schedule, int64_t least) {
  return expectThat(schedule.stages >= least, "stages", schedule.stages, fmt::format("at least {}", least));
}

/// A consumer has the rows of one instruction.
static Fit checkConsumers(const Schedule &schedule) {
  return expectValue("consumers_m", schedule.consumersM, schedule.tileM / infoOf(schedule.instruction).m);
}

/// 64 or 128 queries of one block of the pattern.
static Fit checkTileRows(const Schedule &schedule, const AttentionDescription &problem) {
  bool isGood = schedule.tileM == leastTileRows || schedule.tileM == problem.queryBlock;
  return expectThat(isGood, "tile_m", schedule.tileM,
                    problem.queryBlock == 64 ? "64" : fmt::format("64 or {}", problem.queryBlock));
}

/// One block of keys, two, or a part of one.
static Fit checkTileKeys(const Schedule &schedule) {
  bool isGood = schedule.tileN == leastStepKeys || schedule.tileN == 64 || schedule.tileN == mostKeys;
  return expectThat(isGood, "tile_n", schedule.tileN, "32, 64 or 128");
}

static Fit checkTwoRoles(const Schedule &schedule) {
  return firstBroken(
      {checkTileKeys(schedule), checkConsumers(schedule),
       atMost(Limit::Geometry, mostConcurrentTiles, schedule.concurrentTiles, "concurrent_tiles for attention"),
       checkRegisterRoles(schedule), atLeastStages(schedule, leastStagesOfTwoRoles)});
}

/// A step is a part of a key block that all warps together copy in whole passes: 32 rows of 8 units are 256 threads.
static Fit checkStepKeys(const Schedule &schedule, const AttentionDescription &problem) {
  bool isGood = schedule.tileN > 0 && schedule.tileN % leastStepKeys == 0 && problem.keyBlock % schedule.tileN == 0;
  return expectThat(isGood, "tile_n", schedule.tileN,
                    fmt::format("a multiple of {} that divides {}", leastStepKeys, problem.keyBlock));
}

static Fit checkOneRole(const Schedule &schedule, const AttentionDescription &problem) {
  return firstBroken({checkStepKeys(schedule, problem), checkConsumers(schedule),
                      expectValue("concurrent_tiles", schedule.concurrentTiles, 1),
                      expectValue("producer_registers", schedule.producerRegisters, 0),
                      atLeastStages(schedule, leastStagesOfOneRole)});
}

/// Each warpgroup has the rows of one of the two blocks.
static Fit checkJointRows(const Schedule &schedule, const AttentionDescription &problem) {
  if (schedule.walk != TileWalk::Joint)
    return {};
  const MatrixInstructionInfo &wgmma = infoOf(MatrixInstruction::Wgmma);
  const int64_t queryBlock = problem.queryBlock / 2;
  if (schedule.instruction != MatrixInstruction::Wgmma || queryBlock != wgmma.m)
    return {Limit::Geometry, 0, 0,
            fmt::format("expects {} and blocks of {} queries for walk = joint, but got {} and {}", wgmma.name, wgmma.m,
                        infoOf(schedule.instruction).name, queryBlock)};
  return firstBroken({expectValue("tile_m", schedule.tileM, problem.queryBlock),
                      expectValue("concurrent_tiles", schedule.concurrentTiles, 1)});
}

/// A schedule that is written by hand is refused only where it cannot work.
static Fit checkHandWritten(const Schedule &schedule, const AttentionDescription &problem, const Chip &chip) {
  bool isSplit = hasProducer(schedule);
  return firstBroken(
      {checkFeatures(schedule, problem.elementType, chip), checkSlotLayout(schedule, ", for attention"),
       checkJointRows(schedule, problem), checkTileRows(schedule, problem),
       expectValue("tile_k", schedule.tileK, problem.headDimension), expectValue("slices", schedule.slices, 1),
       expectValue("consumers_n", schedule.consumersN, 1), expectValue("cluster", schedule.cluster, 1),
       isSplit ? checkTwoRoles(schedule) : checkOneRole(schedule, problem), checkThreads(schedule, chip),
       isSplit ? checkRegisterCounts(schedule, chip) : checkRegistersOfOneRole(schedule, chip),
       atMost(Limit::Registers, consumerBudget(schedule, chip),
              estimatedRegisters(schedule, problem, Origin::HandWritten), "registers per consumer thread"),
       checkSharedMemory(schedule, placeSharedMemory(sharedMemoryNeeds(schedule, problem)).total, chip)});
}

AttentionDescription sparsec::withJointRows(AttentionDescription problem) {
  problem.queryBlock *= 2;
  return problem;
}

Fit sparsec::checkFit(const Schedule &schedule, const AttentionDescription &given, const Chip &chip, Origin origin) {
  const AttentionDescription problem = schedule.walk == TileWalk::Joint ? withJointRows(given) : given;
  Fit fit = checkHandWritten(schedule, problem, chip);
  if (!fit.ok() || origin == Origin::HandWritten)
    return fit;
  return atMost(Limit::Registers, consumerBudget(schedule, chip), estimatedRegisters(schedule, problem, origin),
                "registers per consumer thread");
}
