// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules and problems that several tests start from.

#ifndef SPARSEC_TEST_UNIT_SCHEDULE_EXAMPLES_H
#define SPARSEC_TEST_UNIT_SCHEDULE_EXAMPLES_H

#include "Schedule.h"

namespace sparsec {

inline ProblemDescription problemWithBlock(int64_t rows, int64_t columns) {
  ProblemDescription problem;
  problem.blockRows = rows;
  problem.blockColumns = columns;
  return problem;
}

/// Two warpgroups of 64 x 256.
inline Schedule wgmma128x256() {
  Schedule schedule;
  schedule.instruction = MatrixInstruction::Wgmma;
  schedule.copy = CopyMethod::Tma;
  schedule.tileM = 128;
  schedule.tileN = 256;
  schedule.tileK = 64;
  schedule.stages = 4;
  schedule.consumersM = 2;
  schedule.consumersN = 1;
  schedule.cluster = 2;
  schedule.producerRegisters = 40;
  schedule.consumerRegisters = 232;
  return schedule;
}

/// The same for blocks of 64 rows: the warpgroups stand side by side.
inline Schedule wgmma64x512() {
  Schedule schedule = wgmma128x256();
  schedule.tileM = 64;
  schedule.tileN = 512;
  schedule.stages = 3;
  schedule.consumersM = 1;
  schedule.consumersN = 2;
  schedule.groupM = 128;
  return schedule;
}

/// Eight warps of 64 x 32.
inline Schedule mmaSync128x128() {
  Schedule schedule;
  schedule.instruction = MatrixInstruction::MmaSync;
  schedule.copy = CopyMethod::CpAsync;
  schedule.tileM = 128;
  schedule.tileN = 128;
  schedule.tileK = 32;
  schedule.stages = 4;
  schedule.consumersM = 2;
  schedule.consumersN = 4;
  return schedule;
}

} // namespace sparsec

#endif // SPARSEC_TEST_UNIT_SCHEDULE_EXAMPLES_H
