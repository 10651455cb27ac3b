// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CostModel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

using namespace sparsec;

static double ceilDivide(int64_t value, int64_t divisor) { return double((value + divisor - 1) / divisor); }

double sparsec::overlapped(std::initializer_list<double> times, const Chip &chip) {
  double longest = *std::max_element(times.begin(), times.end());
  return longest + chip.times.exposedShare * (std::accumulate(times.begin(), times.end(), 0.0) - longest);
}

/// L2 moves whole pieces: the bytes that it moves for `bytes` in rows of `rowBytes`.
static double l2Bytes(double bytes, double rowBytes, const Chip &chip) {
  double piece = chip.times.l2PieceBytes;
  return bytes * std::ceil(rowBytes / piece) * piece / rowBytes;
}

namespace {
/// Depth and number of the steps of one tile.
struct Steps {
  double count;
  /// K elements that count, on average.
  double depth;
};
} // namespace

static Steps stepsOfTile(const Schedule &schedule, const ProblemDescription &problem) {
  double blocks = problem.density * ceilDivide(problem.k, problem.blockColumns);
  int64_t perStep = blocksPerStep(schedule, problem.blockColumns);
  if (perStep > 1) {
    // A row's last step is half empty on average.
    double padding = 0.5 * double(perStep - 1) / double(perStep);
    return {blocks / double(perStep) + padding, double(schedule.tileK)};
  }
  double chunksPerBlock = double(chunks(schedule, problem.blockColumns));
  return {blocks * chunksPerBlock, double(problem.blockColumns) / chunksPerBlock};
}

/// fp8 has twice the rate of 16-bit elements.
static double tensorClocks(const Schedule &schedule, ElementType type, const Chip &chip, double depth) {
  const InstructionRate &rate = *chip.find(schedule.instruction);
  double flopsPerClock = rate.flopsPerClock * rate.chainShare * 2 / double(bytesOf(type));
  return 2.0 * double(schedule.tileM * schedule.tileN) * depth / flopsPerClock;
}

/// The units of so many bytes in L2 that a step touches for each block (or chunk of one) in a column of an X of N x K.
static double unitsOfBlock(const Schedule &schedule, const ProblemDescription &problem, double unit) {
  double run = double(std::min(schedule.tileK, problem.blockColumns) * bytesOf(problem.elementType));
  if (run >= unit)
    return std::ceil(run / unit);
  double places = unit / run, blocks = double(blocksPerStep(schedule, problem.blockColumns));
  // The steps of a full row begin where units do.
  if (problem.density == 1)
    return 1 / std::min(places, blocks);
  // In any other row a step begins anywhere: its first block has no neighbour in the step that shares its unit.
  double isEmpty = std::pow(1 - problem.density, places);
  double ofAllBlocks = problem.density == 0 ? 1 : (1 - isEmpty) / (places * problem.density);
  return (1 + (blocks - 1) * ofAllBlocks) / blocks;
}

/// The columns of X that a step reads, times the blocks (or chunks) that it has.
static double columnsOfBlocks(const Schedule &schedule, const ProblemDescription &problem, double depth) {
  // Tensor copies bring whole boxes, also where the last chunk of a block is shallower.
  double xDepth = schedule.copy == CopyMethod::Tma ? double(schedule.tileK) : depth;
  return double(std::min(schedule.tileN, problem.n)) * xDepth / double(std::min(schedule.tileK, problem.blockColumns));
}

/// Bytes that one step of one CTA asks of L2.
static double stepL2Bytes(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip, double depth) {
  double rowsOfBlock = double(problem.blockRows) / ceilDivide(problem.blockRows, schedule.tileM);
  double columns = double(std::min(schedule.tileN, problem.n));
  double bytes = double(bytesOf(problem.elementType));
  bool isWholeBlock = schedule.tileK >= problem.blockColumns && schedule.tileM >= problem.blockRows;
  double contiguousDepth = double(std::min(schedule.tileK, problem.blockColumns));
  double a = rowsOfBlock * depth * bytes;
  double aRow = isWholeBlock ? a : contiguousDepth * bytes;
  double blocksOfX = columnsOfBlocks(schedule, problem, depth), piece = chip.times.l2PieceBytes;
  double x = problem.xTransposed ? blocksOfX * unitsOfBlock(schedule, problem, piece) * piece
                                 : l2Bytes(blocksOfX * contiguousDepth * bytes, columns * bytes, chip);
  return l2Bytes(a, aRow, chip) / double(schedule.cluster) + x;
}

/// The cost of the requests for parts of lines of X in one step, in bytes.
static double partialLineBytes(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip,
                               double depth) {
  if (!problem.xTransposed)
    return 0;
  double pieces = unitsOfBlock(schedule, problem, chip.times.l2PieceBytes);
  double lines = unitsOfBlock(schedule, problem, chip.times.l2LineBytes);
  double missing = lines - pieces * chip.times.l2PieceBytes / chip.times.l2LineBytes;
  return columnsOfBlocks(schedule, problem, depth) * missing * chip.times.partialLineBytes;
}

static double sharedMemoryClocks(const Schedule &schedule, const Chip &chip, double elementBytes, double depth) {
  // Every consumer reads its rows of A and its columns of X.
  double rows = double(schedule.tileM / schedule.consumersM), columns = double(schedule.tileN / schedule.consumersN);
  double consumers = double(schedule.consumersM * schedule.consumersN);
  return consumers * (rows + columns) * depth * elementBytes / chip.sharedMemoryBytesPerClock;
}

static double copyInstructionClocks(const Schedule &schedule, const Chip &chip, double elementBytes, double depth) {
  // One thread starts the copies of a producer.
  if (hasProducer(schedule))
    return 0;
  double elements = double(schedule.tileM + schedule.tileN) * depth;
  double elementsPerCopy = double(requiredAlignment(schedule, int64_t(elementBytes))) / elementBytes;
  // Two addresses and the copy itself, per warp of 32 threads.
  constexpr double instructionsPerCopy = 4;
  return elements / elementsPerCopy / 32 * instructionsPerCopy / double(chip.schedulers);
}

static double l2Rate(const Chip &chip, double density, double activeSms) {
  double share = chip.times.sparseL2Share, lockstep = share + (1 - share) * density;
  return std::min(chip.l2BytesPerClockOfOneMultiprocessor, chip.l2BytesPerClock * lockstep / activeSms);
}

static const char *boundOf(const Cost &cost) {
  std::array<std::pair<double, const char *>, 5> resources = {{{cost.tensor, "tensor cores"},
                                                               {cost.l2, "L2"},
                                                               {cost.sharedMemory, "shared memory"},
                                                               {cost.copyInstructions, "copy instructions"},
                                                               {cost.latency, "latency"}}};
  return std::max_element(resources.begin(), resources.end())->second;
}

Cost sparsec::estimateCost(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip) {
  // Tiles, in units of clusters: a cluster's CTAs stand side by side along N.
  double tileRows = ceilDivide(problem.m, problem.blockRows) * ceilDivide(problem.blockRows, schedule.tileM);
  double clusterTiles = tileRows * ceilDivide(problem.n, schedule.tileN * schedule.cluster);
  double clusterSlots = double(chip.multiprocessors / schedule.cluster);
  double activeSms = std::min(clusterSlots, clusterTiles) * double(schedule.cluster);

  Cost cost;
  Steps steps = stepsOfTile(schedule, problem);
  cost.steps = steps.count;
  cost.tilesPerMultiprocessor = std::ceil(clusterTiles / clusterSlots);
  double resident = std::min(double(schedule.ctasPerSm), cost.tilesPerMultiprocessor);
  double rate = l2Rate(chip, problem.density, activeSms);

  cost.tensor = tensorClocks(schedule, problem.elementType, chip, steps.depth);
  cost.l2 =
      (stepL2Bytes(schedule, problem, chip, steps.depth) + partialLineBytes(schedule, problem, chip, steps.depth)) /
      rate;
  cost.sharedMemory = sharedMemoryClocks(schedule, chip, double(bytesOf(problem.elementType)), steps.depth);
  cost.copyInstructions = copyInstructionClocks(schedule, chip, double(bytesOf(problem.elementType)), steps.depth);
  // Consumers hold the slot they read; with two roles also the one before, until its chain is known to be complete.
  bool isOneRole = !hasProducer(schedule);
  int64_t slotsAhead = schedule.stages - (isOneRole ? 1 : 2);
  cost.latency = chip.times.l2Latency / double(std::max<int64_t>(slotsAhead, 1)) / resident;
  cost.bound = boundOf(cost);

  double work = overlapped({cost.tensor, cost.l2, cost.sharedMemory, cost.copyInstructions}, chip);
  double step = slotsAhead > 0 ? std::max(work, cost.latency) : work + cost.latency;
  // A second CTA on the SM works while the warps of one meet between two steps.
  step += isOneRole && resident < 2 ? chip.times.barrier : 0;
  double main = steps.count * step + (isOneRole ? chip.times.fillOfOneRole : chip.times.fillOfTwoRoles) / resident;
  double tileElements = double(schedule.tileM * std::min(schedule.tileN, problem.n));
  cost.epilogue = tileElements * double(problem.outputBytes + problem.epilogueBytes) / rate;
  double tile = resident > 1 ? overlapped({main, cost.epilogue}, chip) : main + cost.epilogue;

  cost.clocks = cost.tilesPerMultiprocessor * tile * (schedule.cluster > 1 ? chip.times.clusterOverhead : 1);
  double usefulFlops = 2.0 * double(problem.m) * double(problem.k) * problem.density * double(problem.n);
  cost.usefulFlopsPerClock = usefulFlops / cost.clocks / double(chip.multiprocessors);
  return cost;
}

Cost sparsec::estimateCost(const Schedule &schedule, const SampledDescription &problem, const Chip &chip) {
  // Its steps go along whole rows of B, and what they do not have of a line comes with the next one. Whether that costs
  // anything was not measured.
  Chip wholeLines = chip;
  wholeLines.times.partialLineBytes = 0;
  return estimateCost(schedule, productOf(problem, schedule.instruction), wholeLines);
}

int64_t sparsec::chooseGroupM(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip) {
  double workers = double(chip.multiprocessors * schedule.ctasPerSm / schedule.cluster);
  double depth = stepsOfTile(schedule, problem).depth;
  double l2 = stepL2Bytes(schedule, problem, chip, depth) / (chip.l2BytesPerClock / double(chip.multiprocessors));
  // Where L2 is the limit even at its best rate, half of the workers share a panel of X.
  if (l2 > tensorClocks(schedule, problem.elementType, chip, depth))
    return int64_t(std::bit_floor(uint64_t(workers / 2)));
  // Otherwise `groupM` rows of A and workers / groupM panels of X are read at a time: the least sum.
  double panel = double(schedule.tileN * schedule.cluster);
  return int64_t(std::bit_floor(uint64_t(std::max(1.0, std::sqrt(workers * panel / double(schedule.tileM))))));
}

int64_t sparsec::chooseGroupM(const Schedule &schedule, const SampledDescription &problem, const Chip &chip) {
  return chooseGroupM(schedule, productOf(problem, schedule.instruction), chip);
}
