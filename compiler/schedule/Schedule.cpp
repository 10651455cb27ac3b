// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Schedule.h"

#include <fmt/format.h>

using namespace sparsec;

const char *sparsec::name(MatrixInstruction instruction) {
  return instruction == MatrixInstruction::Wgmma ? "wgmma" : "mma_sync";
}

const char *sparsec::name(CopyMethod copy) {
  switch (copy) {
  case CopyMethod::Tma:
    return "tma";
  case CopyMethod::CpAsync:
    return "cp_async";
  case CopyMethod::Gather:
    return "gather";
  }
  return "unknown";
}

std::string sparsec::describeRoles(const Schedule &schedule) {
  Schedule defaults;
  std::string text = fmt::format("consumers {}x{}", schedule.consumersM, schedule.consumersN);
  if (schedule.cluster != defaults.cluster)
    text += fmt::format(" cluster {}", schedule.cluster);
  if (schedule.producerRegisters != defaults.producerRegisters)
    text += fmt::format(" registers {}/{}", schedule.producerRegisters, schedule.consumerRegisters);
  else if (schedule.consumerRegisters != defaults.consumerRegisters)
    text += fmt::format(" registers {}", schedule.consumerRegisters);
  if (schedule.raster != defaults.raster)
    text += fmt::format(" raster {}", schedule.raster);
  if (schedule.ctasPerSm != defaults.ctasPerSm)
    text += fmt::format(" ctas_per_sm {}", schedule.ctasPerSm);
  if (schedule.tilesPerCta != defaults.tilesPerCta)
    text += fmt::format(" tiles_per_cta {}", schedule.tilesPerCta);
  return text;
}

std::string sparsec::toString(const Schedule &schedule) {
  return fmt::format("{} {} {}x{}x{} stages {} {}", name(schedule.instruction), name(schedule.copy), schedule.tileM,
                     schedule.tileN, schedule.tileK, schedule.stages, describeRoles(schedule));
}

int64_t sparsec::requiredAlignment(const Schedule &schedule, int64_t elementBytes) {
  return schedule.copy == CopyMethod::Gather ? elementBytes : 16;
}

int64_t sparsec::threads(const Schedule &schedule) {
  int64_t consumers = schedule.consumersM * schedule.consumersN * schedule.tilesPerCta;
  return schedule.instruction == MatrixInstruction::Wgmma ? 128 * (consumers + 1) : 32 * consumers;
}

int64_t sparsec::chunks(const Schedule &schedule, int64_t blockColumns) {
  return (blockColumns + schedule.tileK - 1) / schedule.tileK;
}

int64_t sparsec::blocksPerStep(const Schedule &schedule, int64_t blockColumns) {
  return schedule.tileK > blockColumns ? schedule.tileK / blockColumns : 1;
}
