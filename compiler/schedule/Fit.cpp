// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fit.h"
#include "SharedMemory.h"

#include <algorithm>
#include <fmt/format.h>

using namespace sparsec;

// What the hardware reserves beside the shared memory of each resident CTA.
static constexpr int64_t reservedSharedMemoryPerCta = 1024;
static constexpr int64_t maxThreadsPerCta = 1024;
static constexpr int64_t leastStages = 2;
// Addresses, loop counters and the epilogue, beside accumulators and fragments.
static constexpr int64_t usualOtherRegisters = 36;
static constexpr int64_t leastOtherRegisters = 24;
// What an epilogue adds where the whole budget is one number (mma_sync): with 128 accumulators in 255 registers a
// polynomial spills, measured with erf.
static constexpr int64_t epilogueRegisters = 52;

static Fit broken(Limit limit, std::string message) { return {limit, 0, 0, std::move(message)}; }

Fit sparsec::atMost(Limit limit, int64_t allowed, int64_t needed, const std::string &what) {
  if (needed <= allowed)
    return {};
  return {limit, allowed, needed,
          fmt::format("expects at most {} {}, but the schedule needs {} ({} too many)", allowed, what, needed,
                      needed - allowed)};
}

static Fit multipleOf(const char *field, int64_t value, int64_t multiple) {
  if (value % multiple == 0)
    return {};
  return broken(Limit::Geometry, fmt::format("expects {} to be a multiple of {}, but got {}", field, multiple, value));
}

static Fit inRange(const char *field, int64_t value, int64_t low, int64_t high) {
  if (low <= value && value <= high)
    return {};
  return broken(Limit::Geometry,
                fmt::format("expects {} to be between {} and {}, but got {}", field, low, high, value));
}

Fit sparsec::firstBroken(std::initializer_list<Fit> fits) {
  for (const Fit &fit : fits)
    if (!fit.ok())
      return fit;
  return {};
}

int64_t sparsec::estimatedRegisters(const Schedule &schedule, Origin origin) {
  int64_t otherRegisters = origin == Origin::Chosen ? usualOtherRegisters : leastOtherRegisters;
  if (schedule.instruction == MatrixInstruction::Wgmma)
    return schedule.tileN / schedule.consumersN / 2 + otherRegisters;
  int64_t rows = schedule.tileM / schedule.consumersM, columns = schedule.tileN / schedule.consumersN;
  int64_t accumulators = rows * columns / 32;
  // One step of depth 16: four registers for 16 rows of A, two for 8 columns of X.
  int64_t fragments = rows / 16 * 4 + columns / 8 * 2;
  return accumulators + fragments + otherRegisters;
}

int64_t sparsec::registerPool(const Chip &chip, int64_t threads, int64_t ctasPerSm) {
  int64_t perThread = std::min(chip.registersPerMultiprocessor / ctasPerSm / threads, chip.maxRegistersPerThread);
  return perThread / 8 * 8 * threads;
}

int64_t sparsec::consumerBudget(const Schedule &schedule, const Chip &chip) {
  if (schedule.consumerRegisters != 0)
    return schedule.consumerRegisters;
  int64_t count = threads(schedule);
  return registerPool(chip, count, schedule.ctasPerSm) / count;
}

Fit sparsec::checkFeatures(const Schedule &schedule, const Chip &chip) {
  auto missing = [&](const char *feature) {
    return broken(Limit::Instruction, fmt::format("expects what {} has, but got {}", chip.name, feature));
  };
  if (schedule.instruction == MatrixInstruction::Wgmma && !chip.hasWgmma)
    return missing("instruction = wgmma");
  if (schedule.copy == CopyMethod::Tma && !chip.hasTma)
    return missing("copy = tma");
  if (schedule.copy == CopyMethod::CpAsync && !chip.hasCpAsync)
    return missing("copy = cp_async");
  if (schedule.cluster > 1 && !chip.hasClusters)
    return missing("a cluster");
  return {};
}

static Fit checkInstruction(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip) {
  bool isWgmma = schedule.instruction == MatrixInstruction::Wgmma;
  if (Fit features = checkFeatures(schedule, chip); !features.ok())
    return features;
  if (isWgmma != (schedule.copy == CopyMethod::Tma))
    return broken(Limit::Instruction,
                  fmt::format("expects wgmma with tma, or mma_sync with cp_async or gather, but got {} with {}",
                              name(schedule.instruction), name(schedule.copy)));
  if (isWgmma && (problem.blockRows < 64 || problem.blockColumns < 64))
    return broken(Limit::Instruction, fmt::format("expects blocks of at least 64x64 for wgmma, but got {}x{}",
                                                  problem.blockRows, problem.blockColumns));
  return {};
}

Fit sparsec::checkRegisterRoles(const Schedule &schedule) {
  if ((schedule.producerRegisters == 0) == (schedule.consumerRegisters == 0))
    return {};
  return broken(Limit::Geometry, fmt::format("expects register counts for both roles or none, but got {}/{}",
                                             schedule.producerRegisters, schedule.consumerRegisters));
}

static Fit checkWgmmaGeometry(const Schedule &schedule, int64_t elementBytes) {
  if (schedule.tileM != 64 * schedule.consumersM)
    return broken(Limit::Geometry, fmt::format("expects tile_m to be 64 * consumers_m = {}, but got {}",
                                               64 * schedule.consumersM, schedule.tileM));
  // A row of a buffer is one 128-byte row of the swizzle.
  if (schedule.tileK * elementBytes != 128)
    return broken(Limit::Geometry,
                  fmt::format("expects tile_k to be {} for wgmma, but got {}", 128 / elementBytes, schedule.tileK));
  return firstBroken({checkRegisterRoles(schedule),
                      multipleOf("tile_n / consumers_n", schedule.tileN / schedule.consumersN, 64),
                      inRange("tile_n / consumers_n", schedule.tileN / schedule.consumersN, 64, 256),
                      inRange("cluster", schedule.cluster, 1, 2)});
}

static Fit powerOfTwo(const char *field, int64_t value) {
  if (value > 0 && (value & (value - 1)) == 0)
    return {};
  return broken(Limit::Geometry, fmt::format("expects {} to be a power of two, but got {}", field, value));
}

/// Rows of shared memory are stored in 16-byte units whose numbers are mixed with the row by xor: a row must have a
/// power of two or a multiple of 8 of them, and a warp's first unit no bit in common with its others.
static Fit checkMmaSyncGeometry(const Schedule &schedule) {
  if (schedule.producerRegisters != 0)
    return broken(Limit::Geometry,
                  fmt::format("expects no producer_registers for mma_sync, but got {}", schedule.producerRegisters));
  return firstBroken({multipleOf("tile_n / consumers_n", schedule.tileN / schedule.consumersN, 16),
                      powerOfTwo("tile_n / consumers_n", schedule.tileN / schedule.consumersN),
                      schedule.tileN % 64 == 0 ? Fit() : powerOfTwo("tile_n", schedule.tileN),
                      powerOfTwo("tile_k", schedule.tileK), inRange("cluster", schedule.cluster, 1, 1)});
}

static Fit checkGeometry(const Schedule &schedule, const ProblemDescription &problem) {
  if (schedule.stages < leastStages)
    return broken(Limit::Geometry,
                  fmt::format("expects stages to be at least {}, but got {}", leastStages, schedule.stages));
  if (schedule.tilesPerCta != 1)
    return broken(Limit::Geometry,
                  fmt::format("expects tiles_per_cta to be 1 for spmm, but got {}", schedule.tilesPerCta));
  if (schedule.tileK > problem.blockColumns && schedule.tileK % problem.blockColumns != 0)
    return broken(Limit::Geometry,
                  fmt::format("expects tile_k to be at most the block's {} columns or a multiple of them, but got {}",
                              problem.blockColumns, schedule.tileK));
  return schedule.instruction == MatrixInstruction::Wgmma ? checkWgmmaGeometry(schedule, problem.elementBytes)
                                                          : checkMmaSyncGeometry(schedule);
}

Fit sparsec::checkThreads(const Schedule &schedule, const Chip &chip) {
  int64_t needed = threads(schedule);
  return firstBroken({atMost(Limit::Threads, maxThreadsPerCta, needed, "threads per CTA"),
                      atMost(Limit::Threads, chip.maxThreadsPerMultiprocessor, needed * schedule.ctasPerSm,
                             fmt::format("threads per multiprocessor on {}", chip.name))});
}

Fit sparsec::checkRegisterCounts(const Schedule &schedule, const Chip &chip) {
  if (schedule.consumerRegisters == 0)
    return {};
  int64_t count = threads(schedule), pool = registerPool(chip, count, schedule.ctasPerSm), atLaunch = pool / count;
  auto expectThat = [&](bool isGood, const char *field, const char *bound, int64_t value) {
    return isGood ? Fit()
                  : broken(Limit::Registers,
                           fmt::format("expects {} to be {} {}, the registers of a thread at launch on {}, but got {}",
                                       field, bound, atLaunch, chip.name, value));
  };
  int64_t needed = 128 * schedule.producerRegisters + (count - 128) * schedule.consumerRegisters;
  return firstBroken(
      {atMost(Limit::Registers, pool, needed, fmt::format("registers per CTA on {}", chip.name)),
       expectThat(schedule.producerRegisters <= atLaunch, "producer_registers", "at most", schedule.producerRegisters),
       expectThat(schedule.consumerRegisters >= atLaunch, "consumer_registers", "at least",
                  schedule.consumerRegisters)});
}

Fit sparsec::checkRegistersOfOneRole(const Schedule &schedule, const Chip &chip) {
  int64_t count = threads(schedule);
  return firstBroken({atMost(Limit::Registers, chip.maxRegistersPerThread, schedule.consumerRegisters,
                             fmt::format("registers per thread on {}", chip.name)),
                      atMost(Limit::Registers, registerPool(chip, count, schedule.ctasPerSm),
                             schedule.consumerRegisters * count, fmt::format("registers per CTA on {}", chip.name))});
}

static Fit checkRegisters(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip,
                          Origin origin) {
  int64_t perThread = estimatedRegisters(schedule, origin);
  if (origin == Origin::Chosen && schedule.instruction == MatrixInstruction::MmaSync && problem.hasEpilogue)
    perThread += epilogueRegisters;
  int64_t limit = origin == Origin::Chosen ? chip.preferredRegistersPerThread : chip.maxRegistersPerThread;
  Fit fit = atMost(Limit::Registers, limit, perThread, fmt::format("registers per thread on {}", chip.name));
  if (!fit.ok())
    return fit;
  if (schedule.instruction == MatrixInstruction::Wgmma && schedule.consumerRegisters != 0)
    return firstBroken(
        {atMost(Limit::Registers, schedule.consumerRegisters, perThread, "registers per consumer thread"),
         checkRegisterCounts(schedule, chip)});
  int64_t count = threads(schedule);
  int64_t reserved = std::max(perThread, schedule.consumerRegisters);
  return firstBroken({atMost(Limit::Registers, schedule.consumerRegisters ? schedule.consumerRegisters : limit,
                             perThread, "registers per thread"),
                      atMost(Limit::Registers, registerPool(chip, count, schedule.ctasPerSm), reserved * count,
                             fmt::format("registers per CTA on {}", chip.name))});
}

Fit sparsec::checkSharedMemory(const Schedule &schedule, int64_t total, const Chip &chip) {
  return firstBroken({atMost(Limit::SharedMemory, chip.sharedMemoryPerCta, total,
                             fmt::format("bytes of shared memory on {}", chip.name)),
                      atMost(Limit::SharedMemory, chip.sharedMemoryPerMultiprocessor,
                             schedule.ctasPerSm * (total + reservedSharedMemoryPerCta),
                             fmt::format("bytes of shared memory for {} CTAs per multiprocessor on {}",
                                         schedule.ctasPerSm, chip.name))});
}

Fit sparsec::checkFit(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip, Origin origin) {
  Fit fit = checkInstruction(schedule, problem, chip);
  if (fit.ok())
    fit = checkGeometry(schedule, problem);
  if (fit.ok())
    fit = checkThreads(schedule, chip);
  if (fit.ok())
    fit = checkRegisters(schedule, problem, chip, origin);
  if (fit.ok())
    fit = checkSharedMemory(schedule, sharedMemoryLayout(schedule, problem).total, chip);
  return fit;
}
