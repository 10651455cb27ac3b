// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TargetInfo.h"

using namespace sparsec;

static constexpr Chip table[] = {
#include "Targets.def"
};

std::span<const Chip> sparsec::chips() { return table; }

const InstructionRate *Chip::find(MatrixInstruction instruction) const {
  for (const InstructionRate &rate : instructions)
    if (rate.instruction == instruction)
      return &rate;
  return nullptr;
}

const Chip *sparsec::findChip(std::string_view name) {
  for (const Chip &chip : table)
    if (chip.name == name)
      return &chip;
  return nullptr;
}

bool sparsec::isKnownTarget(std::string_view name) { return name == hostTarget || findChip(name); }

std::string sparsec::knownTargets() {
  std::string names;
  for (const Chip &chip : table)
    names.append(chip.name).append(", ");
  return names.append(hostTarget);
}
