// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long a schedule is expected to take, in clocks of a multiprocessor (SM). Pure functions.
//
// A product is a number of tiles, a tile a number of steps. A step takes as long as its slowest resource; the tile adds
// its epilogue, which other CTAs on the SM can hide. The absolute figure matters little: the order of candidates does.

#ifndef SPARSEC_COMPILER_SCHEDULE_COSTMODEL_H
#define SPARSEC_COMPILER_SCHEDULE_COSTMODEL_H

#include "Schedule.h"
#include "TargetInfo.h"

#include <initializer_list>

namespace sparsec {

struct Cost {
  // Clocks of one step on each resource of one SM.
  double tensor = 0;
  double l2 = 0;
  double sharedMemory = 0;
  double copyInstructions = 0;
  /// The arithmetic of the scores; attention only.
  double softmax = 0;
  /// The least clocks between two steps that keep the ring ahead of the L2 latency.
  double latency = 0;

  double steps = 0;
  double epilogue = 0;
  double tilesPerMultiprocessor = 0;
  /// The cost of the whole product.
  double clocks = 0;
  double usefulFlopsPerClock = 0;
  /// The resource that takes longest: "tensor cores", "L2", ...
  const char *bound = "";
};

/// The time of activities that overlap on one SM.
double overlapped(std::initializer_list<double> times, const Chip &chip);

/// Expects a schedule whose instruction the chip has.
Cost estimateCost(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip);
Cost estimateCost(const Schedule &schedule, const SampledDescription &problem, const Chip &chip);

/// Tile rows that should share a column panel at a time when there is no plan. Expects an instruction of the chip.
int64_t chooseGroupM(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip);
int64_t chooseGroupM(const Schedule &schedule, const SampledDescription &problem, const Chip &chip);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_COSTMODEL_H
