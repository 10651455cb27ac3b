// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CostModel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

using namespace sparsec;

// Rates and latencies that are alike on all chips so far, in bytes per clock and SM and in clocks.
static constexpr double sharedMemoryBytesPerClock = 128;
static constexpr double l2BytesPerClockOfOneSm = 64;
static constexpr double l2Latency = 800;
static constexpr double instructionsPerClock = 4;

// CTAs that work on different blocks do not run in lockstep, so their equal requests are not merged: the L2 rate of a
// sparse product falls to this share.
static constexpr double sparseL2Efficiency = 0.73;
// Resources overlap, but not perfectly: this share of what the slower one should hide still shows.
static constexpr double exposedShare = 0.1;
// Both CTAs of a cluster wait for the slower one, and clusters drift apart where CTAs would stay in step.
static constexpr double clusterOverhead = 1.06;
// One role: all warps meet between two steps. A second CTA on the SM works meanwhile.
static constexpr double barrierClocks = 50;
// Until the first chain of a tile runs. A producer of its own works on the next tile meanwhile.
static constexpr double fillClocksOneRole = 1500;
static constexpr double fillClocksTwoRoles = 300;

static double ceilDivide(int64_t value, int64_t divisor) { return double((value + divisor - 1) / divisor); }

/// The time of overlapping activities.
template <size_t count> static double overlapped(const std::array<double, count> &times) {
  double longest = *std::max_element(times.begin(), times.end());
  return longest + exposedShare * (std::accumulate(times.begin(), times.end(), 0.0) - longest);
}

/// L2 moves pieces of 64 bytes; rows shorter than that cost a whole one.
static double l2Bytes(double bytes, double rowBytes) { return bytes * std::ceil(rowBytes / 64) * 64 / rowBytes; }

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

static double tensorClocks(const Schedule &schedule, const Chip &chip, double depth) {
  const InstructionRate &rate = *chip.find(schedule.instruction);
  return 2.0 * double(schedule.tileM * schedule.tileN) * depth / (rate.flopsPerClock * rate.chainShare);
}

/// Bytes that one step of one CTA asks of L2.
static double stepL2Bytes(const Schedule &schedule, const ProblemDescription &problem, double depth) {
  double rowsOfBlock = double(problem.blockRows) / ceilDivide(problem.blockRows, schedule.tileM);
  double columns = double(std::min(schedule.tileN, problem.n));
  // Tensor copies bring whole boxes, also where the last chunk of a block is shallower.
  double xDepth = schedule.copy == CopyMethod::Tma ? double(schedule.tileK) : depth;
  double bytes = double(bytesOf(problem.elementType));
  bool isWholeBlock = schedule.tileK >= problem.blockColumns && schedule.tileM >= problem.blockRows;
  // The step's next block is the neighbour of the one before with the probability of the density.
  double contiguousDepth = double(std::min(schedule.tileK, problem.blockColumns));
  double neighbourhood = blocksPerStep(schedule, problem.blockColumns) > 1 ? 1 + problem.density : 1;
  double a = rowsOfBlock * depth * bytes;
  double aRow = isWholeBlock ? a : contiguousDepth * bytes;
  double x = columns * xDepth * bytes;
  double xRow = (problem.xTransposed ? contiguousDepth * neighbourhood : columns) * bytes;
  return l2Bytes(a, aRow) / double(schedule.cluster) + l2Bytes(x, xRow);
}

static double sharedMemoryClocks(const Schedule &schedule, double elementBytes, double depth) {
  // Every consumer reads its rows of A and its columns of X.
  double rows = double(schedule.tileM / schedule.consumersM), columns = double(schedule.tileN / schedule.consumersN);
  double consumers = double(schedule.consumersM * schedule.consumersN);
  return consumers * (rows + columns) * depth * elementBytes / sharedMemoryBytesPerClock;
}

static double copyInstructionClocks(const Schedule &schedule, double elementBytes, double depth) {
  // One thread starts the copies of a producer.
  if (hasProducer(schedule))
    return 0;
  double elements = double(schedule.tileM + schedule.tileN) * depth;
  double elementsPerCopy = double(requiredAlignment(schedule, int64_t(elementBytes))) / elementBytes;
  // Two addresses and the copy itself, per warp of 32 threads.
  constexpr double instructionsPerCopy = 4;
  return elements / elementsPerCopy / 32 * instructionsPerCopy / instructionsPerClock;
}

static double l2Rate(const Chip &chip, double density, double activeSms) {
  double lockstep = sparseL2Efficiency + (1 - sparseL2Efficiency) * density;
  return std::min(l2BytesPerClockOfOneSm, chip.l2BytesPerClock * lockstep / activeSms);
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

  cost.tensor = tensorClocks(schedule, chip, steps.depth);
  cost.l2 = stepL2Bytes(schedule, problem, steps.depth) / rate;
  cost.sharedMemory = sharedMemoryClocks(schedule, double(bytesOf(problem.elementType)), steps.depth);
  cost.copyInstructions = copyInstructionClocks(schedule, double(bytesOf(problem.elementType)), steps.depth);
  // Consumers hold the slot they read; with two roles also the one before, until its chain is known to be complete.
  bool isOneRole = !hasProducer(schedule);
  int64_t slotsAhead = schedule.stages - (isOneRole ? 1 : 2);
  cost.latency = l2Latency / double(std::max<int64_t>(slotsAhead, 1)) / resident;
  cost.bound = boundOf(cost);

  double work = overlapped(std::array{cost.tensor, cost.l2, cost.sharedMemory, cost.copyInstructions});
  double step = slotsAhead > 0 ? std::max(work, cost.latency) : work + cost.latency;
  step += isOneRole && resident < 2 ? barrierClocks : 0;
  double main = steps.count * step + (isOneRole ? fillClocksOneRole : fillClocksTwoRoles) / resident;
  double tileElements = double(schedule.tileM * std::min(schedule.tileN, problem.n));
  cost.epilogue = tileElements * double(problem.outputBytes + problem.epilogueBytes) / rate;
  double tile = resident > 1 ? overlapped(std::array{main, cost.epilogue}) : main + cost.epilogue;

  cost.clocks = cost.tilesPerMultiprocessor * tile * (schedule.cluster > 1 ? clusterOverhead : 1);
  double usefulFlops = 2.0 * double(problem.m) * double(problem.k) * problem.density * double(problem.n);
  cost.usefulFlopsPerClock = usefulFlops / cost.clocks / double(chip.multiprocessors);
  return cost;
}

int64_t sparsec::chooseRaster(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip) {
  double workers = double(chip.multiprocessors * schedule.ctasPerSm / schedule.cluster);
  double depth = stepsOfTile(schedule, problem).depth;
  double l2 = stepL2Bytes(schedule, problem, depth) / (chip.l2BytesPerClock / double(chip.multiprocessors));
  // Where L2 is the limit even at its best rate, half of the workers share a panel of X.
  if (l2 > tensorClocks(schedule, chip, depth))
    return int64_t(std::bit_floor(uint64_t(workers / 2)));
  // Otherwise `raster` rows of A and workers / raster panels of X are read at a time: the least sum.
  double panel = double(schedule.tileN * schedule.cluster);
  return int64_t(std::bit_floor(uint64_t(std::max(1.0, std::sqrt(workers * panel / double(schedule.tileM))))));
}
